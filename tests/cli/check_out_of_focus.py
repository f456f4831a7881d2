# SPDX-License-Identifier: Apache-2.0
"""Deconvolves single planes of thick specimens with and without --out-of-focus: check_out_of_focus.py CONVOLUME. Ends
with 77 (skipped) if a module is missing.

Recordings are made by another way than the command's: NumPy adds the planes of the specimen, each blurred by its plane
of a deeper PSF of a sample with another index."""
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

OPTICS = ["--na", "1.2", "--ni", "1.33", "--wavelength", "520nm"]
SHAPE, MIDDLE = (24, 96, 96), 12


def run(folder, *arguments):
    return subprocess.run([sys.argv[1], *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)


def signal(truth, image):
    """Returns the peak signal-to-noise ratio in dB of an image whose scale and offset are fitted to the truth."""
    terms = np.stack([image.ravel(), np.ones(image.size)], 1)
    fit, *_ = np.linalg.lstsq(terms, truth.ravel(), rcond=None)
    return 10 * np.log10(truth.max() ** 2 / ((truth.ravel() - terms @ fit) ** 2).mean())


def plane_of(specimen, psf):
    """Returns the light that arrives in the plane MIDDLE."""
    padded = tuple(n + m - 1 for n, m in zip(specimen.shape[1:], psf.shape[1:]))
    light = np.zeros(padded)
    for z, objects in enumerate(specimen):
        light += np.fft.irfft2(np.fft.rfft2(objects, padded) * np.fft.rfft2(psf[MIDDLE - z + len(psf) // 2], padded),
                               padded)
    return light[tuple(slice(m // 2, m // 2 + n) for n, m in zip(specimen.shape[1:], psf.shape[1:]))]


def check_number_of_iterations(path, kind, recorded, truth):
    """Checks that --stop auto ends near the best number of iterations, though the PSF is not that of the recording."""
    np.save(path / "seen.npy", recorded.astype(np.uint16))

    def restored(*options):
        done = run(path, "deconvolve", "seen.npy", "-o", "out.npy", "--overwrite", *OPTICS, "--voxel", "200,100,100nm",
                   "--background", "0", "--out-of-focus", "2.4um", *options)
        assert done.returncode == 0, done.stderr
        return signal(truth, np.load(path / "out.npy"))

    found, few = restored("--stop", "auto"), [restored("--iterations", n) for n in (5, 10, 15)]
    best = max(*few, *(restored("--iterations", n) for n in (3, 7, 20, 30, 40)))
    before = signal(truth, recorded)
    print(f"{kind}, {recorded.max()} photons: recorded {before:.2f} dB, found {found:.2f} dB, best {best:.2f} dB, "
          f"after 5 to 15 iterations {min(few):.2f} dB or more")
    assert found > best - 0.7
    assert min(few) > before + 1


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        assert run(path, "psf", "-o", "deep.npy", *OPTICS, "--ns", "1.36", "--depth", "8um", "--voxel", "200,100,100nm",
                   "--size", "47,97,97").returncode == 0
        deep = np.load(path / "deep.npy").astype(float)
        for kind, count in (("mixed", 30), ("filaments", 40), ("shells", 12)):
            done = run(path, "phantom", "-o", f"{kind}.npy", "--kind", kind, "--count", count, "--size", "24,96,96",
                       "--voxel", "200,100,100nm", "--seed", "5")
            assert done.returncode == 0, done.stderr
            specimen = np.load(path / f"{kind}.npy").astype(float).reshape(SHAPE)
            light = plane_of(specimen, deep)
            recorded = np.random.default_rng(3).poisson(light * 1000 / light.max())
            np.save(path / "seen.npy", recorded.astype(np.uint16))
            truth = specimen[MIDDLE - 1:MIDDLE + 2].mean(0)
            found = {}
            for name, more in (("thin", []), ("thick", ["--out-of-focus", "2.4um"])):
                done = run(path, "deconvolve", "seen.npy", "-o", "out.npy", "--overwrite", *OPTICS, "--stop", "auto",
                           "--voxel", "200,100,100nm", "--background", "0", *more)
                assert done.returncode == 0, done.stderr
                assert "has one plane" not in done.stderr, done.stderr
                result = np.load(path / "out.npy")
                assert result.shape[-2:] == SHAPE[1:] and result.size == recorded.size
                found[name] = signal(truth, result)
            print(f"{kind}: recorded {signal(truth, recorded):.2f} dB, {found}")
            assert found["thick"] > found["thin"] + 2
            check_number_of_iterations(path, kind, recorded, truth)
            few_photons = np.random.default_rng(4).poisson(light * 150 / light.max())
            check_number_of_iterations(path, kind, few_photons, truth)
        np.save(path / "stack.npy", np.ones((3, 32, 32), np.uint16))
        for arguments, reason in (
                (["stack.npy"], "--out-of-focus is for images of one plane"),
                (["seen.npy", "--edges", "zero"], "--out-of-focus needs --edges extend"),
                (["seen.npy", "--psf-size", "5,9,9"], "leave out the one or the other"),
                (["seen.npy", "deep.npy"], "options of one that is to be made were given")):
            done = run(path, "deconvolve", *arguments, "-o", "refused.npy", *OPTICS, "--voxel", "200,100,100nm",
                       "--out-of-focus", "2um")
            assert done.returncode == 2 and reason in done.stderr, done.stderr
            assert not (path / "refused.npy").exists()


if __name__ == "__main__":
    main()
