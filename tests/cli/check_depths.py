# SPDX-License-Identifier: Apache-2.0
"""Deconvolves a stack that is 10 µm deep with PSFs of several depths: check_depths.py CONVOLUME. Ends with 77 (skipped)
if a module is missing.

Recordings are made by another way than the command's: NumPy adds the planes of the specimen, each blurred by the PSF of
its own depth."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

OPTICS = ["--na", "1.4", "--ns", "1.38", "--wavelength", "520nm", "--model", "gibson-lanni"]
VOXEL = ["--voxel", "500,100,100nm"]
SHAPE, SIZE, PLANE_UM = (21, 48, 48), (19, 33, 33), 0.5


def run(folder, *arguments, code=0):
    done = subprocess.run([sys.argv[1], *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{arguments}: {done.returncode}: {done.stderr}"
    return done


def specimen_of(random):
    """Returns overlapping balls of different brightness."""
    z, y, x = np.ogrid[:SHAPE[0], :SHAPE[1], :SHAPE[2]]
    specimen = np.zeros(SHAPE)
    for _ in range(60):
        at = random.uniform([0, 4, 4], [SHAPE[0], SHAPE[1] - 4, SHAPE[2] - 4])
        inside = (5 * (z - at[0])) ** 2 + (y - at[1]) ** 2 + (x - at[2]) ** 2 < 4.5 ** 2
        specimen += inside * random.uniform(2000, 8000)
    return specimen


def recorded_from(specimen, psfs, random):
    """Returns counts of photons over a background of 2."""
    padded = tuple(n + m - 1 for n, m in zip(specimen.shape, SIZE))
    light = np.zeros(padded)
    for z, psf in enumerate(psfs):
        plane = np.zeros(specimen.shape)
        plane[z] = specimen[z]
        light += np.fft.irfftn(np.fft.rfftn(plane, padded) * np.fft.rfftn(psf.astype(float), padded), padded)
    middle = light[tuple(slice(m // 2, m // 2 + n) for n, m in zip(specimen.shape, SIZE))]
    return random.poisson(np.maximum(middle, 0) + 2).astype(np.float32)


def signal(truth, image):
    return 10 * np.log10(truth.max() ** 2 / ((truth - image) ** 2).mean())


def check_quality(path):
    random = np.random.default_rng(4)
    depths = [PLANE_UM * z for z in range(SHAPE[0])]
    size = ["--size", ",".join(map(str, SIZE))]
    run(path, "psf", "-o", "psf.npy", *OPTICS, *VOXEL, *size, "--depths", ",".join(map(str, depths)) + "um", "-q")
    psfs = [np.load(path / f"psf.{depth:g}um.npy").reshape(SIZE) for depth in depths]
    assert json.loads((path / "psf.2.5um.json").read_text())["psf"]["depth_um"] == 2.5
    specimen = specimen_of(random)
    np.save(path / "seen.npy", recorded_from(specimen, psfs, random))
    common = ["deconvolve", "seen.npy", "--overwrite", *VOXEL, "--background", "2", "--iterations", "80", "-o"]
    made = [*OPTICS, "--psf-size", ",".join(map(str, SIZE))]
    found = {}
    for name, more in (("glass", [*made, "--depth", "0um"]), ("middle", [*made, "--depth", "5um"]),
                       ("four", [*made, "--depth-range", "0,10um"]),
                       ("eleven", [word for z in range(0, SHAPE[0], 2)
                                   for word in ("--psf", f"{depths[z]}um=psf.{depths[z]:g}um.npy")])):
        run(path, *common, f"{name}.npy", *more)
        found[name] = signal(specimen, np.load(path / f"{name}.npy").reshape(SHAPE))
    print(found)
    assert found["four"] > found["glass"] + 2
    assert found["four"] > found["middle"] + 0.8
    assert found["four"] > found["eleven"] - 0.3


def check_reports(path):
    two = ["--psf", "0um=psf.0um.npy", "--psf", "5um=psf.5um.npy"]
    done = run(path, "deconvolve", "seen.npy", *VOXEL, *two, "--dry-run")
    assert "planes 0, 5 µm from the first one" in done.stderr + done.stdout, done.stderr
    kernel = json.loads(run(path, "deconvolve", "seen.npy", *VOXEL, *two, "--dry-run", "--json").stdout)["kernel"]
    assert kernel["depth_um"] == 0 and [one["depth_um"] for one in kernel["deeper"]] == [5]


def check_refusals(path):
    two = ["--psf", "0um=psf.0um.npy", "--psf", "5um=psf.5um.npy"]
    np.save(path / "plane.npy", np.ones((1, 32, 32), np.uint16))
    for arguments, code, reason in (
            (["seen.npy", *VOXEL, "--psf", "0um=psf.0um.npy"], 2, "at least two"),
            (["seen.npy", *VOXEL, *two, "--psf", "1=psf.1um.npy"], 2, "some without"),
            (["seen.npy", *VOXEL, "--psf", "0um=psf.0um.npy", "--psf", "0nm=psf.5um.npy"], 2, "two PSFs are of"),
            (["seen.npy", *two], 2, "add --voxel"),
            (["seen.npy", *VOXEL, *two, "--edges", "reflect"], 2, "extend or zero"),
            (["seen.npy", *VOXEL, *two, "--method", "wb"], 2, "choose another method"),
            (["seen.npy", *VOXEL, *two, "--max-host-mem", "3MiB"], 3, "no plan for the deconvolution"),
            (["seen.npy", *VOXEL, *OPTICS, "--depth-range", "0,10um", "--depth", "1um"], 2, "several"),
            (["seen.npy", *VOXEL, *OPTICS, "--depth-range", "0um"], 2, "two depths"),
            (["seen.npy", *VOXEL, *OPTICS, "--depth-range", "10,0um"], 2, "turn a stack"),
            (["seen.npy", *VOXEL, *OPTICS, "--depth-psfs", "3"], 2, "add it"),
            (["seen.npy", *VOXEL, *OPTICS, "--depth-range", "0,1um", "--depth-psfs", "9"], 2, "from 2 to 8"),
            (["seen.npy", *VOXEL, "--na", "1.4", "--wavelength", "520nm", "--model", "born-wolf", "--depth-range",
              "0,1um"], 2, "no layers"),
            (["plane.npy", *VOXEL, *OPTICS, "--depth-range", "0,1um"], 2, "one plane")):
        done = run(path, "deconvolve", *arguments, "-o", "refused.npy", code=code)
        assert reason in done.stderr, f"{arguments}: {done.stderr}"
        assert not (path / "refused.npy").exists()
    for more, reason in ((["--depths", "1,2um", "--json"], "several PSFs"), (["--depths", "1,1um"], "twice"),
                         (["--depths", "1,2"], "with a unit"), (["--depths", "1,2um", "--depth", "1um"], "for one")):
        done = run(path, "psf", "-o", "more.npy", *OPTICS, *VOXEL, "--size", "3,5,5", *more, code=2)
        assert reason in done.stderr, done.stderr
    run(path, "psf", "-o", "psf.npy", *OPTICS, *VOXEL, "--size", "3,5,5", "--depths", "30,0um", code=5)
    assert not (path / "psf.30um.npy").exists()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        check_quality(path)
        check_reports(path)
        check_refusals(path)


if __name__ == "__main__":
    main()
