# SPDX-License-Identifier: Apache-2.0
"""Measures the PSFs of regions of a field by `convolume psf --from-beads --regions`, and restores an image with their
list: check_field_psf.py CONVOLUME.

Beads and points are computed from formulas at their positions between voxels; the farther along y, the wider. Ends with
77 (skipped) if a module is missing."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    import tifffile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

rng = np.random.default_rng(int(os.environ.get("CONVOLUME_TEST_SEED", 20261130)))
command = os.path.abspath(sys.argv[1])
SHAPE, SIZE, VOXEL = (17, 150, 90), (11, 21, 21), (0.3, 0.1, 0.1)


def run(*arguments, status=0, says=""):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode == status and says in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    return done


def point(center, y, shape):
    """Returns the image of a point at `center` in a stack, with the width that the lens has at `y`; its sum is 1."""
    widths = (1.3, 1.3 + 0.012 * y, 1.2)
    lines = [np.exp(-((np.arange(n) - c) / w) ** 2 / 2) / (w * np.sqrt(2 * np.pi))
             for n, c, w in zip(shape, center, widths)]
    return np.einsum("i,j,k", *lines)


def save(name, values):
    tifffile.imwrite(name, values, imagej=True, resolution=(1 / VOXEL[2], 1 / VOXEL[1]),
                     metadata={"spacing": VOXEL[0], "unit": "um", "axes": "ZYX"})


os.chdir(tempfile.mkdtemp())
beads = [(8 + rng.uniform(-1, 1), y + rng.uniform(-3, 3), x + rng.uniform(-3, 3))
         for y in range(15, 150, 30) for x in (15, 45, 75)]
slide = np.full(SHAPE, 50.0)
for center in beads:
    slide += 2e5 * point(center, center[1], SHAPE)
save("beads.tif", rng.poisson(slide).astype("u2"))

size = ["--size", ",".join(map(str, SIZE))]
run("psf", "--from-beads", "beads.tif", *size, "-o", "global.tif")
done = run("psf", "--from-beads", "beads.tif", *size, "--regions", "1,5,1", "-o", "psf.tif", "--overwrite")
check("5 PSFs, listed in psf.csv" in done.stderr, done.stderr)
lines = Path("psf.csv").read_text().splitlines()
check(lines[0] == "z_um,y_um,x_um,psf" and len(lines) == 6, lines)
facts = json.loads(Path("psf.json").read_text())["regions"]
whole = tifffile.imread("global.tif").astype(float)
middle = np.array(SIZE) // 2
for k, line in enumerate(lines[1:]):
    *at, name = line.split(",")
    at = np.array(at, float) / VOXEL
    own = [bead for bead in beads if 30 * k <= bead[1] + 0.5 < 30 * (k + 1)]
    check(name == f"psf.0-{k}-0.tif" and len(own) == 3 == facts[k]["used"], name, facts[k]["used"])
    # x and z have one row of regions: the mean of all beads.
    mean = [np.mean([bead[0] for bead in beads]), np.mean([bead[1] for bead in own]),
            np.mean([bead[2] for bead in beads])]
    check(np.abs(at - mean).max() < 0.15 and np.allclose(at, facts[k]["at_voxels"]), at, mean)
    values = tifffile.imread(name).astype(float)
    truth = point(middle, at[1], SIZE)
    truth /= truth.sum()
    check(abs(values.sum() - 1) < 1e-5, name, values.sum())
    error, of_whole = (np.linalg.norm(one - truth) / np.linalg.norm(truth) for one in (values, whole))
    check(error < 0.05 and error < (1.0 if k == 2 else 0.4) * of_whole, name, error, of_whole)

# Points of light, recorded by the same lens.
specimen, image = np.zeros(SHAPE), np.full(SHAPE, 20.0)
for _ in range(120):
    place = tuple(rng.integers(3, n - 3) for n in SHAPE)
    specimen[place] += 6000
    image += 6000 * point(place, place[1], SHAPE)
save("image.tif", rng.poisson(image).astype("u2"))
errors = {}
for name in ("psf.csv", "global.tif"):
    run("fuse", "image.tif", "--psf", name, "--background", 20, "--iterations", 60, "-o", "out.tif", "--overwrite")
    result = tifffile.imread("out.tif").astype(float)
    errors[name] = np.linalg.norm(result - specimen) / np.linalg.norm(specimen)
check(errors["psf.csv"] < 0.97 * errors["global.tif"], errors)

# Datasets of HDF5 files are listed with the files, which fuse then finds.
run("psf", "--from-beads", "beads.tif", *size, "--regions", "1,2,1", "-o", "many.h5:/psf", "--overwrite")
listed = [line.split(",")[-1] for line in Path("many.csv").read_text().splitlines()[1:]]
check(listed == ["many.0-0-0.h5:/psf", "many.0-1-0.h5:/psf"], listed)
run("fuse", "image.tif", "--psf", "many.csv", "-o", "by_datasets.tif", "--iterations", 1)

beads_of = ["psf", "--from-beads", "beads.tif", *size, "-o", "bad.tif"]
run(*beads_of, "--regions", "1,30,1", status=2, says="none is in region 0,")
run(*beads_of, "--regions", "18,1,1", status=2, says="18 regions along z of a stack of 17")
run(*beads_of, "--regions", "1,100,100", status=2, says="at most 4096")
run(*beads_of, "--regions", "1,2,1", "--refine", "na", "--na", 1, "--wavelength", "520nm", status=2, says="--regions")
run("psf", "--regions", "1,2,1", "-o", "bad.tif", status=2, says="add --from-beads")
run("psf", "--from-beads", "beads.tif", *size, "--regions", "1,5,1", "-o", "psf.tif", status=5, says="psf.")
check(not [name for name in os.listdir() if name.startswith("bad")], os.listdir())
finish()
