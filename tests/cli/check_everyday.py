# SPDX-License-Identifier: Apache-2.0
"""Deconvolves recordings as registration, cameras and other programs leave them: check_everyday.py CONVOLUME. Ends with
77 (skipped) if a module is missing.

A recording is restored as it is, and then with one disturbance. Away from the disturbance the results must agree."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    from scipy import ndimage
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

VOXEL = ["--voxel", "200,100,100nm"]
SHAPE = 16, 88, 96
INNER = np.s_[3:13, 16:72, 16:80]
failed = []


def run(folder, *arguments):
    done = subprocess.run([sys.argv[1], *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")
    return done


def check(is_right, what):
    print("right" if is_right else "WRONG", what)
    if not is_right:
        failed.append(what)


def restored(folder, image, *options):
    np.save(folder / "image.npy", image)
    done = run(folder, "deconvolve", "image.npy", "psf.tif", "-o", "out.npy", "--device", "cpu", *VOXEL, "--json",
               "--overwrite", *options)
    return np.load(folder / "out.npy").astype(float), json.loads(done.stdout)["report"]["volumes"][0], done.stderr


def record(folder):
    """Returns counts of a camera with offset and read noise of a phantom of cells."""
    run(folder, "phantom", "-o", "cells.tif", "--kind", "cells", "--size", ",".join(map(str, SHAPE)), *VOXEL,
        "--seed", 4, "-q")
    run(folder, "psf", "-o", "psf.tif", "--na", 1.2, "--ni", 1.33, "--wavelength", "520nm", *VOXEL,
        "--size", "21,35,35", "-q")
    run(folder, "convolve", "cells.tif", "psf.tif", "-o", "blurred.npy", "--device", "cpu", "-q")
    light = np.load(folder / "blurred.npy").clip(0)
    random = np.random.default_rng(2)
    counts = 2 * random.poisson(light * 150 / light.max() + 4) + random.normal(300, 1, SHAPE)
    return np.rint(counts).astype(np.uint16)


def check_disturbances(folder):
    clean = record(folder)
    reference, report, _ = restored(folder, clean)
    check(report["missing_pixels"] == 0, "nothing is left out of a clean recording")

    def compare(name, image, *options, most=0.1, most_light=1.05):
        result, found, said = restored(folder, image, *options)
        error = np.linalg.norm(result[INNER] - reference[INNER]) / np.linalg.norm(reference[INNER])
        light = result[INNER].sum() / reference[INNER].sum()
        check(error <= most and 1 / most_light <= light <= most_light,
              f"{name}: error {error:.3f} (at most {most}), light x {light:.3f}")
        return found, said

    random = np.random.default_rng(3)
    boxes = {"a plane": np.s_[0], "a box": np.s_[:, 2:14, 3:16], "rows": np.s_[:, :3], "columns": np.s_[:, :, -6:]}
    for name, place in boxes.items():
        image = clean.copy()
        image[place] = 0
        found, _ = compare(f"{name} of 0", image)
        check(found["missing_pixels"] == image[place].size, f"{name} of 0 has no data")
    image = clean.copy()
    for place in (np.s_[:, :2], np.s_[:, -2:], np.s_[:, 2:-2, :2], np.s_[:, 2:-2, -2:]):
        image[place] = np.rint(image[place] * 0.7)
    compare("a dim rim", image)
    image = clean.copy()
    image[tuple(random.integers(0, n, 30) for n in SHAPE)] = 60000
    compare("hot voxels", image)
    image = clean.copy()
    for _ in range(6):
        image[:, random.integers(18, 72), random.integers(18, 80)] += 4000
    compare("hot pixels of the camera", image)
    shifted = np.rint(ndimage.shift(clean.astype(float), (0, 0, 0.5), order=1, mode="nearest")).astype(np.uint16)
    for name, image in {"shifted by half a pixel": shifted,
                        "median filter": ndimage.median_filter(clean, (1, 3, 3))}.items():
        _, said = compare(name, image, most=0.25, most_light=1.1)
        check("neighboring pixels share their noise" in said, f"{name}: a warning says so")
    limit = int(np.quantile(clean, 0.98))
    cut = np.minimum(clean, limit)
    errors = [np.linalg.norm(restored(folder, cut, *options)[0][INNER] - reference[INNER])
              for options in ([], ["--saturation", limit])]
    # A recording that reaches the limit of a camera of 12 bits is found without the option.
    scaled = np.rint((clean - 300.0) * (4095 - 300) / (limit - 300) + 300).astype(np.uint16)
    reference_of_scaled = restored(folder, scaled)[0][INNER]
    full = np.minimum(scaled, 4095)
    by_default, report, _ = restored(folder, full)
    check(report["saturated_pixels"] == np.count_nonzero(full == 4095), "pixels at 4095 are saturated")
    differences = [np.linalg.norm(result[INNER] - reference_of_scaled)
                   for result in (restored(folder, full, "--saturation", "off")[0], by_default)]
    check(differences[1] < differences[0], f"saturated at 4095: error {differences[1]:.4g}, else {differences[0]:.4g}")
    command = [sys.argv[1], "deconvolve", "image.npy", "psf.tif", "-o", "nnls.npy", "--method", "nnls",
               "--iterations", "2"]

    def ended(*options):
        return subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, check=False)

    refused = ended("--no-data", "0")
    check(refused.returncode == 2 and "--no-data does not apply to the method nnls" in refused.stderr,
          "--no-data is refused with nnls")
    accepted = ended("--no-data", "off", "--hot-pixels", "off")
    check(accepted.returncode == 0, f"options that ask for nothing are accepted with nnls: {accepted.stderr}")
    check(errors[1] < errors[0], f"saturated pixels as bounds: error {errors[1]:.4g}, else {errors[0]:.4g}")


def check_wrong_optics(folder):
    run(folder, "phantom", "-o", "nuclei.tif", "--kind", "cells", "--size", "12,48,48", *VOXEL, "-q")
    lens = ["--na", 1.2, "--ni", 1.33, "--wavelength", "520nm"]
    run(folder, "simulate", "nuclei.tif", "-o", "recorded.tif", *lens, "--photons", 10000, "-q")
    for optics, warns in ([], False), (["--ns", 1.45, "--depth", "10um"], True):
        said = run(folder, "deconvolve", "recorded.tif", "-o", "restored.tif", *lens, *optics, "--device", "cpu",
                   "--overwrite").stderr
        check(("index of the sample 1.45 → 1.33 fits better" in said) == warns and ("does not fit" in said) == warns,
              f"a misfit with {optics} names its cause: {said}")


with tempfile.TemporaryDirectory() as name:
    check_disturbances(Path(name))
    check_wrong_optics(Path(name))
sys.exit(1 if failed else 0)
