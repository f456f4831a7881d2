# SPDX-License-Identifier: Apache-2.0
"""Checks `convolume simulate --views` against SciPy: turned views, a PSF that varies over the field, masks, light and
background of each view; and that `convolume fuse` restores the phantom from them. check_simulate_views.py CONVOLUME.

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

rng = np.random.default_rng(int(os.environ.get("CONVOLUME_TEST_SEED", 20261130)))
command = os.path.abspath(sys.argv[1])
SHAPE = (14, 20, 18)
VOXEL = 0.2  # µm, all edges


def run(*arguments, status=0, says=""):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode == status and says in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    if status:
        check(done.stderr.count("\n") == 1, arguments, done.stderr)
    return done


def gaussian(shape, sigma, shift=(0, 0, 0)):
    grids = np.meshgrid(*[np.arange(extent) - extent // 2 - s for extent, s in zip(shape, shift)], indexing="ij")
    values = np.exp(-0.5 * sum((grid / width) ** 2 for grid, width in zip(grids, sigma)))
    return (values / values.sum()).astype(np.float32)


def save(name, values):
    tifffile.imwrite(name, values.astype(np.float32), imagej=True, resolution=(1 / VOXEL, 1 / VOXEL),
                     metadata={"spacing": VOXEL, "unit": "um", "axes": "ZYX"})


def weights_along(places, positions):
    """Linear weights of the places along an axis, 1 beyond the outermost."""
    return [np.interp(positions, places, np.eye(len(places))[k]) for k in range(len(places))]


def image_of(shape, matrix, offset, field):
    """Returns the image of the phantom in a view. `field` has pairs of a PSF and its weights along y."""
    reach = np.array(field[0][0].shape) // 2
    around = -reach
    # Linear interpolation reaches one voxel beyond the phantom, as into zeros.
    padded = np.pad(phantom.astype(float), 2)
    seen = ndimage.affine_transform(padded, matrix, matrix @ around + offset + 2, tuple(shape + 2 * reach), order=1)
    rows = np.arange(seen.shape[1]) - reach[1]
    return sum(signal.fftconvolve(seen * of_row(rows)[:, None], psf.astype(float), mode="valid")
               for psf, of_row in field)


os.chdir(tempfile.mkdtemp())
phantom = np.zeros(SHAPE)
for _ in range(30):
    phantom[tuple(rng.integers(0, extent) for extent in SHAPE)] += rng.uniform(1, 9)
phantom = ndimage.gaussian_filter(phantom, 0.8).astype(np.float32)
save("phantom.tif", phantom)
psf = gaussian((9, 5, 5), (1.8, 0.8, 0.8))
corner = gaussian((9, 5, 5), (1.2, 1.4, 0.7), (0, 0.4, 0))
save("psf.tif", psf)
save("corner.tif", corner)
Path("field.csv").write_text("# two places\nz_um,y_um,x_um,psf\n"
                             f"0,{3 * VOXEL},0,psf.tif\n0,{15 * VOXEL},0,corner.tif\n")
Path("field_voxels.csv").write_text("z,y,x,psf\n0,3,0,psf.tif\n0,15,0,corner.tif\n")
sides = np.array((18, 16, 15))
mask = rng.uniform(0.2, 1, sides).astype(np.float32)
mask[:, :4] = 0
save("mask.tif", mask)
angle = 0.6
turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
offset = np.array([-1.3, 1.7, 6.2])
rows_xyz = np.hstack([turn[::-1, ::-1], offset[::-1, None]])
np.savetxt("side.txt", rows_xyz)

expected = [image_of(np.array(SHAPE), np.eye(3), np.zeros(3), [(psf, np.ones_like)]),
            mask * image_of(sides, turn, offset, [
                (psf, lambda y: weights_along((3, 15), y)[0]), (corner, lambda y: weights_along((3, 15), y)[1])])]
common = ["simulate", "phantom.tif", "--views", 2, "--psf", "psf.tif", "--psf", "field.csv", "--transform", "side.txt",
          "--transform-unit", "voxel", "--view-size", "14,20,18", "--view-size", "18,16,15"]
run(*common, "--mask", "mask.tif", "-o", "v.tif", status=65, says="the mask")
ones = np.ones(SHAPE)
save("ones.tif", ones)
done = run(*common, "--mask", "ones.tif", "--mask", "mask.tif", "--light", 1, "--light", 0.5, "--background", 7,
           "--background", 20, "--photons-per-unit", 50, "--truth", "truth.tif", "-o", "v.tif", "--json",
           "--device", "cpu")
for number, (image, light, background) in enumerate(zip(expected, (1, 0.5), (7, 20)), 1):
    truth = tifffile.imread(f"truth.{number}.tif")
    right = 50 * light * np.maximum(image, 0) + background
    check(truth.shape == right.shape and np.abs(truth - right).max() < 2e-5 * right.max(), number,
          truth.shape, np.abs(truth - right).max(), right.max())
    # Noise is that of the camera: electrons of 0.8 per photon, 0.5 per count, above 100 counts.
    counts = tifffile.imread(f"v.{number}.tif").astype(float)
    electrons = 0.8 * truth + 0.006
    normal = ((counts - 100) * 0.5 - electrons) / np.sqrt(electrons + 1.6 ** 2 + 0.5 ** 2 / 12)
    check(abs(normal.mean()) < 5 / np.sqrt(normal.size) and abs(normal.std() - 1) < 0.06, number, normal.mean(),
          normal.std())
found = json.loads(done.stdout)
check([one["light"] for one in found["views"]] == [1, 0.5], found["views"])
check(abs(found["recorded"]["peak_photons"] - max(50 * expected[0].max(), 25 * expected[1].max())) < 1e-2, found)
check([one["camera"]["seed"] for one in found["views"]] == [1, 2], found["views"])

# Positions in voxels, and without noise: a count is 1.6 photons.
run(*[one if one != "field.csv" else "field_voxels.csv" for one in common], "--no-noise", "--photons", 400, "-o",
    "quiet.tif")
factor = 400 / max(expected[0].max(), image_of(sides, turn, offset, [
    (psf, lambda y: weights_along((3, 15), y)[0]), (corner, lambda y: weights_along((3, 15), y)[1])]).max())
quiet = tifffile.imread("quiet.1.tif").astype(float)
check(np.abs((quiet - 100) / 1.6 - factor * expected[0]).max() < 0.35, np.abs((quiet - 100) / 1.6).max())

# Coarse planes: each is the mean of the object over the extent of its voxels.
run("simulate", "phantom.tif", "--views", 1, "--psf", "psf.tif", "--step", f"{2 * VOXEL}um", "-o", "coarse.tif",
    "--no-noise")
with tifffile.TiffFile("coarse.1.tif") as file:
    check(file.asarray().shape == (7, 20, 18) and abs(file.imagej_metadata["spacing"] - 2 * VOXEL) < 1e-6,
          file.asarray().shape, file.imagej_metadata)

# The recordings and the files that made them are what fuse restores the phantom from.
run(*common, "--photons", 2000, "--background", 20, "-o", "w.tif", "-q")
fused = ["--psf", "psf.tif", "--psf", "field.csv", "--transform", "side.txt", "--transform-unit", "voxel"]
steps = ["--iterations", 40, "--background", 100 + 20 * 0.8 / 0.5, "-q"]
run("fuse", "w.1.tif", "w.2.tif", *fused, "-o", "fused.tif", *steps)
run("fuse", "w.1.tif", "--psf", "psf.tif", "-o", "alone.tif", *steps)


def error_of(name):
    result = tifffile.imread(name).astype(float)
    scale = (result * phantom).sum() / (result ** 2).sum()
    return np.linalg.norm(scale * result - phantom) / np.linalg.norm(phantom)


check(error_of("fused.tif") < 0.93 * error_of("alone.tif"), error_of("fused.tif"), error_of("alone.tif"))
# A mask leaves a damaged region out: without it, the region is taken for the specimen's light.
spoiled = tifffile.imread("w.2.tif")
spoiled[5:9, 6:10, 5:9] += 3000
tifffile.imwrite("spoiled.tif", spoiled, imagej=True, resolution=(1 / VOXEL, 1 / VOXEL),
                 metadata={"spacing": VOXEL, "unit": "um", "axes": "ZYX"})
keep = np.ones(spoiled.shape)
keep[5:9, 6:10, 5:9] = 0
save("keep.tif", keep)
run("fuse", "w.1.tif", "spoiled.tif", *fused, "-o", "spoiled_out.tif", *steps)
run("fuse", "w.1.tif", "spoiled.tif", *fused, "--mask", "ones.tif", "--mask", "keep.tif", "-o", "kept.tif", *steps)
check(error_of("kept.tif") < 0.5 * error_of("spoiled_out.tif"), error_of("kept.tif"), error_of("spoiled_out.tif"))

# The light of the background is noise of a view, too.
peaks = [json.loads(run("simulate", "phantom.tif", *one, "--photons", 400, "--background", 1000, "-o", "dim.tif", "-q",
                        "--json", "--overwrite").stdout)["recorded"]["peak_signal_to_noise"]
         for one in (["--views", 1, "--psf", "psf.tif"], ["psf.tif"])]
check(abs(peaks[0] / peaks[1] - 1) < 0.01, peaks)

pair = ["simulate", "phantom.tif", "-o", "bad.tif"]
run(*pair, "--views", 2, status=2, says="add --psf")
run(*pair, "psf.tif", "--transform", "side.txt", status=2, says="add --views N")
run(*pair, "psf.tif", "--background", 1, "--background", 2, status=2, says="once for each view")
run(*pair, "--views", 3, "--psf", "psf.tif", "--psf", "psf.tif", status=2, says="there are 3 views")
run(*pair, "--views", 1, "psf.tif", "--parts", 2, status=2, says="leave --method and --parts out")
run(*pair, "--views", 1, "--psf", "0=psf.tif", status=2, says="names the channel")
run(*pair, "--views", 1, "--psf", "psf.tif", "--background", "auto", status=2, says="give numbers")
run(*pair, "--views", 1, "--psf", "none.csv", status=66, says="cannot open the list of PSFs")
for text, says in (("z,y,psf\n", "its first line is"), ("z,y,x,psf\n", "has no PSF"),
                   ("z,y,x,psf\n1,2,three,psf.tif\n", '"three" where a position'),
                   ("z,y,x,psf\n1,2,3\n", "names no file"), ("z,y,x,psf\n0,0,0,psf.tif\n0,3,3,psf.tif\n", "grid")):
    Path("list.csv").write_text(text)
    run(*pair, "--views", 1, "--psf", "list.csv", status=2 if says == "grid" else 65, says=says)
check(not Path("bad.1.tif").exists(), "a failed run leaves no file")
# Light larger than the memory limit is in files, and the recordings are the same.
save("psf_small.tif", gaussian((5, 5, 5), (1, 1, 1)))
large = np.zeros((2, 24, 96, 96), np.float32)
large[:, ::3, ::7, ::5] = rng.uniform(1, 9, large[:, ::3, ::7, ::5].shape)
tifffile.imwrite("large.tif", large.transpose(1, 0, 2, 3), imagej=True, metadata={"axes": "ZCYX"})
results = {}
for name, limit in (("free", []), ("bound", ["--max-host-mem", "9M"])):
    done = run("simulate", "large.tif", "--views", "8", "--psf", "psf_small.tif", "-o", f"{name}.npy", "--truth",
               f"{name}_truth.npy", "--json", "-q", "--device", "cpu", "--threads", "2", *limit)
    facts = json.loads(done.stdout)
    check(facts["plan"]["light_in_file"] == bool(limit), facts["plan"])
    if limit:  # that of all views takes 16 times 0.84 MiB
        check(facts["report"]["peak_buffer_bytes"] <= 9 << 20, facts["report"]["peak_buffer_bytes"])
    results[name] = [[np.load(f"{name}{what}.{v}.npy") for v in range(1, 9)] for what in ("", "_truth")]
for one, other in zip(results["free"][1], results["bound"][1]):
    check(np.allclose(one, other, atol=1e-4 * one.max()), np.abs(one - other).max())
check(np.mean(np.array(results["free"][0]) == np.array(results["bound"][0])) > 0.99, "recordings differ")
check(not [name for name in os.listdir(".") if "scratch" in name], os.listdir("."))
run("simulate", "large.tif", "--views", "2", "--psf", "psf_small.tif", "-o", "never.npy", "--max-host-mem", "2M",
    status=3, says="raise it (--max-host-mem)")
finish()
