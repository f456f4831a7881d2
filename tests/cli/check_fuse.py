# SPDX-License-Identifier: Apache-2.0
"""Checks `convolume fuse` against recordings of a known object, made by SciPy, with transforms of all kinds of files.
check_fuse.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
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
    from scipy import ndimage, signal
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

rng = np.random.default_rng(int(os.environ.get("CONVOLUME_TEST_SEED", 20261129)))
command = os.path.abspath(sys.argv[1])
SHAPE = (20, 22, 24)
VOXEL = 0.2  # µm, all edges


def run(*arguments, status=0, says=""):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode == status and says in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    if status:
        check(done.stderr.count("\n") == 1, arguments, done.stderr)
    return done


def gaussian(shape, sigma):
    grids = np.meshgrid(*[np.arange(extent) - extent // 2 for extent in shape], indexing="ij")
    values = np.exp(-0.5 * sum((grid / width) ** 2 for grid, width in zip(grids, sigma)))
    return (values / values.sum()).astype(np.float32)


def save(name, values, z=VOXEL):
    tifffile.imwrite(name, values.astype(np.float32), imagej=True, resolution=(1 / VOXEL, 1 / VOXEL),
                     metadata={"spacing": z, "unit": "um", "axes": "ZYX"})


def error_of(name):
    result = tifffile.imread(name)
    check(result.shape == specimen.shape, name, result.shape)
    return np.linalg.norm(result - specimen) / np.linalg.norm(specimen)


def recorded(thing, background):
    return rng.poisson(np.maximum(signal.fftconvolve(thing, psf, mode="same"), 0) + background)


os.chdir(tempfile.mkdtemp())
psf = gaussian((13, 5, 5), (2.5, 0.8, 0.8))
specimen = np.zeros(SHAPE)
for _ in range(40):
    specimen[tuple(rng.integers(3, extent - 3) for extent in SHAPE)] += 3000
specimen = ndimage.gaussian_filter(specimen, 0.7)
save("psf.tif", psf)
save("front.tif", recorded(specimen, 30))
# The side view is turned by a quarter: its voxel (z, y, x) is voxel (x, y, 23 - z) of the specimen.
save("side.tif", recorded(specimen.transpose(2, 1, 0)[::-1], 50))
MATRIX = [[-0.0, 0, -1, 23], [0, 1, 0, 0], [1, 0, 0, 0]]  # rows and columns x, y, z


def rows(matrix):
    return "\n".join(" ".join(str(number) for number in row) for row in matrix) + "\n"


Path("side.txt").write_text("# side to front\n" + rows(MATRIX))
Path("side_um.txt").write_text(rows([[*row[:3], row[3] * VOXEL] for row in MATRIX] + [[0, 0, 0, 1]]))
linear = np.array(MATRIX)[:, :3]
inverse = np.linalg.inv(linear)
center = np.array([3.0, 4.0, 5.0])
# ITK: T(p) = M (p - c) + c + t, from the front (fixed) to the side (moving).
moved = -inverse @ np.array(MATRIX)[:, 3] - center + inverse @ center
Path("side.tfm").write_text("#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
                            f"Parameters: {' '.join(map(str, [*inverse.ravel(), *moved]))}\n"
                            f"FixedParameters: {' '.join(map(str, center))}\n")
# BigStitcher: the last transform that is listed is applied first. Both setups share a further one.
further = [[2, 0, 0, 7], [0, 2, 0, -3], [0, 0, 2, 1]]


def registration(setup, *matrices):
    inner = "".join(f'<ViewTransform type="affine"><affine>{" ".join(str(n) for row in one for n in row)}</affine>'
                    "</ViewTransform>" for one in matrices)
    return f'<ViewRegistration timepoint="0" setup="{setup}">{inner}</ViewRegistration>'


Path("dataset.xml").write_text('<?xml version="1.0"?><SpimData version="0.2"><ViewRegistrations>'
                               + registration(0, further) + registration(1, further, MATRIX)
                               + "</ViewRegistrations></SpimData>")

run("fuse", "front.tif", "--psf", "psf.tif", "-o", "alone.tif")
alone = error_of("alone.tif")
errors = {}
for name, options in {
        "voxel": ["--transform", "side.txt", "--transform-unit", "voxel"],
        "um": ["--transform", "side_um.txt", "--transform-unit", "um"],
        "itk": ["--transform", "side.tfm", "--transform-unit", "voxel"],
        "xml": ["--transform", "dataset.xml:0", "--transform", "dataset.xml:1"]}.items():
    done = run("fuse", "front.tif", "side.tif", "--psf", "psf.tif", *options, "-o", f"{name}.tif", "--json")
    errors[name] = error_of(f"{name}.tif")
    check(errors[name] < 0.8 * alone, name, errors[name], "alone", alone)
    check(abs(errors[name] - errors["voxel"]) < 1e-3, name, errors)
    found = json.loads(done.stdout)
    check([abs(level["background"] - right) < 6 for level, right in zip(found["levels"], (30, 50))] == [True, True],
          name, found["levels"])
    with tifffile.TiffFile(f"{name}.tif") as file:
        check(abs(file.imagej_metadata["spacing"] - VOXEL) < 1e-6, name, file.imagej_metadata)

# The front with planes two voxels apart, into cubes: the grid begins at the center of the first plane.
save("coarse.tif", tifffile.imread("front.tif")[::2], z=2 * VOXEL)
save("coarse_psf.tif", psf[::2] / psf[::2].sum(), z=2 * VOXEL)
run("fuse", "coarse.tif", "side.tif", "--psf", "coarse_psf.tif", "--psf", "psf.tif", "--transform", "side_um.txt",
    "--transform-unit", "um", "--result-voxel", f"{VOXEL}um", "-o", "cubes.tif")
cubes = tifffile.imread("cubes.tif")
check(cubes.shape == (19, 22, 24), cubes.shape)
error = np.linalg.norm(cubes - specimen[:19]) / np.linalg.norm(specimen)
check(error < 0.9 * alone, "coarse planes", error, alone)

save("masked.tif", np.where(np.arange(24)[:, None, None] == 5, 0, tifffile.imread("side.tif")))
done = run("fuse", "front.tif", "masked.tif", "--psf", "psf.tif", "--transform", "side.txt", "--transform-unit",
           "voxel", "-o", "masked_out.tif")
check("left out" in done.stderr, done.stderr)
check(error_of("masked_out.tif") < 0.85 * alone, "a plane without data", error_of("masked_out.tif"))

run("fuse", "front.tif", "side.tif", "--psf", "psf.tif", "--transform", "side.txt", "--transform-unit", "voxel",
    "--dry-run")

# One view has the uncertainty of a single image. A second recording by the same PSF is as twice the photons.
known = ["--psf", "psf.tif", "--iterations", "6", "--gain", "1", "--offset", "0", "--background", "20", "--splits", "3"]
run("deconvolve", "front.tif", *known, "-o", "single.tif", "--uncertainty", "alone_sd.tif")
run("fuse", "front.tif", *known, "-o", "one.tif", "--uncertainty", "one_sd.tif", "--device", "cpu")
right, one = (tifffile.imread(name) for name in ("alone_sd.tif", "one_sd.tif"))
check(right.max() > 10 and np.abs(one - right).max() < 1e-3 * right.max(), "one view", np.abs(one - right).max())
save("repeated.tif", recorded(specimen, 30))
done = run("fuse", "front.tif", "repeated.tif", *known, "-o", "two.tif", "--uncertainty", "two_sd.tif", "--json")
facts = json.loads(done.stdout)
check(facts["output"]["uncertainty"] == "two_sd.tif" and facts["plan"]["further_runs"] == 6, done.stdout)
done = run("fuse", "front.tif", "repeated.tif", *known, "-o", "planned.tif", "--uncertainty", "planned_sd.tif",
           "--dry-run", "-v")
grid = "×".join(map(str, facts["plan"]["grid"]))
check(f"of 2 views, transforms of at most {grid}\n" in done.stderr, done.stderr)
two = tifffile.imread("two_sd.tif")
check(two.dtype == np.float32 and two.shape == right.shape, two.dtype, two.shape)
ratio = np.sqrt(np.mean(two**2) / np.mean(right**2))
check(0.64 < ratio < 0.77, "uncertainty of two recordings", ratio)
run("fuse", "front.tif", "repeated.tif", *known[:-2], "-o", "again.tif", "--uncertainty", "again_sd.tif", "--splits",
    "2", "--seed", "4")
check(np.array_equal(tifffile.imread("again.tif"), tifffile.imread("two.tif")), "another seed changes the result")
check(not np.allclose(tifffile.imread("again_sd.tif"), two, rtol=0.05), "another seed makes the same uncertainty")

pair = ["fuse", "front.tif", "side.tif", "--psf", "psf.tif", "-o", "bad.tif"]
run("fuse", "front.tif", "-o", "bad.tif", status=2, says="add --psf")
run(*pair, "--transform", "side.txt", status=2, says="--transform-unit um or voxel")
run(*pair, "--psf", "psf.tif", "--psf", "psf.tif", status=2, says="--psf is given 3 times")
run(*pair, "--transform", "missing.txt", status=66, says="cannot open the transform")
Path("short.txt").write_text("1 0 0 0\n0 1 0\n")
run(*pair, "--transform", "short.txt", status=65, says="has 7 numbers")
Path("words.txt").write_text("one two\n")
run(*pair, "--transform", "words.txt", status=65, says='"one" where a number')
Path("flat.txt").write_text(rows([[1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 1, 0]]))
run(*pair, "--transform", "flat.txt", status=65, says="has no inverse")
Path("spline.tfm").write_text("#Insight Transform File V1.0\n#Transform 0\nTransform: BSplineTransform_double_3_3\n"
                              "Parameters: 1 2 3\nFixedParameters:\n")
run(*pair, "--transform", "spline.tfm", status=65, says="convert it to an AffineTransform")
run(*pair, "--transform", "dataset.xml", status=65, says="add the number of the setup")
run(*pair, "--transform", "dataset.xml:0", "--transform", "dataset.xml:7", status=65, says='no setup "7"')
run(*pair, "--method", "nnls", status=2, says="choose rl")
run(*pair, "--splits", "4", status=2, says="--splits is of --uncertainty")
run(*pair, "--uncertainty", "bad.tif", status=2, says="two outputs")
run(*pair, "--uncertainty", "psf.tif", status=2, says="one of the inputs")
for updates in ("sequential", "efficient"):
    run(*pair, "--view-updates", updates, "--acceleration", "biggs-andrews", status=2,
        says=f"--acceleration does not apply to --view-updates {updates}")
run(*pair, "--view-updates", "sequential", "--acceleration", "none", "--dry-run")
run(*pair, "--max-host-mem", "1M", status=3, says="of host memory instead")
check(not Path("bad.tif").exists(), "a failed run leaves no file")
finish()
