# SPDX-License-Identifier: Apache-2.0
"""Compares the measures of diff with NumPy and SciPy, and with scikit-image if it is installed.
check_diff.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    import tifffile
    from scipy import ndimage
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)
try:
    from skimage.metrics import structural_similarity
except ImportError:
    structural_similarity = None

from png_oracle import read_png

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250611))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])


def run(*words, status=0, names=()):
    done = subprocess.run([command, "diff", *map(str, words)], capture_output=True, text=True)
    check(done.returncode == status, words, "ended with", done.returncode, done.stderr)
    for name in names:
        check(name in done.stderr, words, "do not name", name, ":", done.stderr)
    return done


def measures(*words, status=0):
    return json.loads(run(*words, "--json", "-q", status=status).stdout)["channels"]


def ssim_of_plane(a, b, span):
    """SSIM of Wang et al. (2004): the mean over all windows that lie within the plane."""
    def mean(image):
        return ndimage.gaussian_filter(image, 1.5, truncate=3.5)

    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    ma, mb = mean(a), mean(b)
    va, vb, vab = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    values = (2 * ma * mb + c1) * (2 * vab + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))
    found = values[5:-5, 5:-5].mean()
    if structural_similarity is not None:
        library = structural_similarity(a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
                                        data_range=span)
        check(math.isclose(library, found, rel_tol=1e-12), "the two oracles", library, found)
    return found


def check_measures(found, a, b, span, *what):
    """Compares the measures of a channel with those of the arrays t, z, y, x."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    difference = np.abs(a - b)
    at = np.unravel_index(difference.argmax(), difference.shape)
    rms = math.sqrt((difference ** 2).mean())
    check(found["samples"] == a.size and found["different"] == (a != b).sum(), *what, "counts")
    check(math.isclose(found["largest_difference"], difference.max(), rel_tol=1e-12), *what, "largest difference")
    place = found["largest_at"]
    check((place["frame"], *place["index"]) == at, *what, "place", place, at)
    check((place["first"], place["second"]) == (a[at], b[at]), *what, "samples", place)
    check(math.isclose(found["rms"], rms, rel_tol=1e-10), *what, "RMS", found["rms"], rms)
    check(math.isclose(found["range"], span, rel_tol=1e-12), *what, "range", found["range"], span)
    check(math.isclose(found["psnr_db"], 20 * math.log10(span / rms), rel_tol=1e-10), *what, "PSNR")
    planes = [ssim_of_plane(p, q, span) for p, q in zip(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *a.shape[-2:]))]
    check(math.isclose(found["ssim"], np.mean(planes), rel_tol=1e-9), *what, "SSIM", found["ssim"], np.mean(planes))


def check_against_arrays():
    """Types, channels, times, ranges and sizes that need one box or many."""
    for kind_a, kind_b in (("uint8", "uint8"), ("uint16", "float32"), ("float64", "int16")):
        a = rng.uniform(0, 200, (2, 3, 4, 37, 150))  # t, c, z, y, x
        b = (a + rng.normal(0, 5, a.shape)).clip(0, 255)
        a, b = a.astype(kind_a), b.astype(kind_b)
        np.save("a.npy", a)
        np.save("b.npy", b)
        found = measures("a.npy", "b.npy", "--axes", "TCZYX")
        check([one["channel"] for one in found] == [0, 1, 2], "channels", found)
        for c, one in enumerate(found):
            check_measures(one, a[:, c], b[:, c], float(a[:, c].max()) - float(a[:, c].min()), kind_a, kind_b,
                           "channel", c)
    check_measures(measures("a.npy", "b.npy", "--axes", "TCZYX", "--range", 300)[1], a[:, 1], b[:, 1], 300,
                   "a given range")
    part = measures("a.npy", "b.npy", "--axes", "TCZYX", "--channel", 2, "--frame", 1, "--crop", "1:3,:,20:")[0]
    check((part["channel"], part["largest_at"]["frame"]) == (2, 1), "numbers of the file", part)
    difference = np.abs(a[1, 2, 1:3, :, 20:] - b[1, 2, 1:3, :, 20:].astype(np.float64))
    z, y, x = np.unravel_index(difference.argmax(), difference.shape)
    check(part["largest_at"]["index"] == [z + 1, y, x + 20], "place in the file", part)
    for shape in ((70, 300, 400), (2, 2500, 2600)):  # many plane groups, and planes in groups of rows
        a = rng.integers(0, 4000, shape, dtype=np.uint16)
        b = (a + rng.normal(0, 40, shape)).clip(0, 65535).astype(np.uint16)
        tifffile.imwrite("a.tif", a, photometric="minisblack", rowsperstrip=7, compression="zlib")
        tifffile.imwrite("b.tif", b, photometric="minisblack")
        check_measures(measures("a.tif", "b.tif", "--range", "type")[0], a[None], b[None], 65535, shape)


def check_special_values():
    """Equal images, small planes, NaN and infinities, constant images, and scaled values."""
    a = rng.uniform(1, 9, (3, 20, 30)).astype(np.float32)
    np.save("a.npy", a)
    done = run("a.npy", "a.npy", "--tolerance", 0, "--require-psnr", 1e9)
    check("0 of 1800" in done.stdout and "infinite" in done.stdout and "SSIM: 1\n" in done.stdout, done.stdout)
    one = measures("a.npy", "a.npy")[0]
    check((one["psnr_db"], one["ssim"], one["largest_at"]) == (None, 1.0, None), one)
    b = a.copy()
    b[1, 2, 3] = np.nan
    np.save("b.npy", b)
    one = measures("a.npy", "b.npy")[0]
    check(one["different"] == 1 and one["largest_difference"] is None and one["ssim"] is None, one)
    check(one["largest_at"]["index"] == [1, 2, 3], one)
    check(measures("b.npy", "b.npy")[0]["different"] == 0, "NaN at one place are equal")
    run("a.npy", "b.npy", "--tolerance", 1e300, status=6)
    np.save("small.npy", a[:, :10, :])
    done = run("small.npy", "small.npy")
    check("11\u00d711" in done.stdout, "why there is no SSIM", done.stdout)
    np.save("flat.npy", np.ones_like(a))
    one = measures("flat.npy", "a.npy")[0]
    check(one["psnr_db"] is None and one["range"] == 0, one)
    run("flat.npy", "a.npy", "--require-psnr", 1, status=2, names=["--range"])
    subprocess.run([command, "convert", "a.npy", "scaled.tif", "--scale-output", "-q"], check=True)
    one = measures("a.npy", "scaled.tif")[0]
    check(one["largest_difference"] < 1e-4 and one["psnr_db"] > 90, "scaled values are compared", one)


def check_limits_and_refusals():
    a = rng.integers(0, 4000, (4, 20, 30), dtype=np.uint16)
    b = a.copy()
    b[1, 2, 3] += 7
    np.save("a.npy", a)
    np.save("b.npy", b)
    psnr = measures("a.npy", "b.npy")[0]["psnr_db"]
    run("a.npy", "b.npy", "-q", "--tolerance", 7, "--require-psnr", psnr - 0.01)
    run("a.npy", "b.npy", "-q", "--tolerance", 6.5, status=6, names=["7", "1,2,3", "--tolerance"])
    run("a.npy", "b.npy", "-q", "--require-psnr", psnr + 0.01, status=6, names=["--require-psnr"])
    check(len(measures("a.npy", "b.npy", "--tolerance", 0, status=6)) == 1, "JSON beyond a limit")
    np.save("c.npy", a[:, :, 1:])
    run("a.npy", "c.npy", status=2, names=["4\u00d720\u00d730", "4\u00d720\u00d729", "--crop"])
    np.save("d.npy", np.stack([a, a]))
    run("a.npy", "d.npy", "-q", status=2, names=["2 channels"])
    run("a.npy", "none.npy", status=66, names=["none.npy"])
    np.save("z.npy", a.astype(np.complex64))
    run("a.npy", "z.npy", status=65, names=["complex"])
    np.save("f.npy", a.astype(np.float32))
    run("f.npy", "a.npy", "--range", "type", status=2, names=["float32"])
    run("a.npy", "b.npy", "--range", "-1", status=2, names=["--range"])
    run("a.npy", status=2)
    told = subprocess.run([command, "compare", "a.npy", "b.npy"], capture_output=True, text=True)
    check(told.returncode == 2 and "convolume diff" in told.stderr and told.stderr.count("\n") == 1, told.stderr)
    told = subprocess.run([command, "compare", "--help"], capture_output=True, text=True)
    check("convolume diff" in " ".join(told.stdout.split()), "compare --help", told.stdout[:400])


def check_picture():
    a = np.zeros((8, 60, 80), np.float32)
    b = a.copy()
    b[5, 30, 40] = -4
    np.save("a.npy", a)
    np.save("b.npy", b)
    run("a.npy", "b.npy", "--picture", "d.png", "-q")
    drawn = read_png("d.png")
    check(drawn.max() == 255 and len(np.unique(drawn)) > 2, "the picture has no bright spot")
    run("a.npy", "b.npy", "--picture", "d.png", "-q", status=5, names=["--overwrite"])
    run("b.npy", "a.npy", "--picture", "d.png", "-q", "--overwrite")
    run("a.npy", "b.npy", "--picture", "d.jpg", status=2, names=[".png"])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (check_against_arrays, check_special_values, check_limits_and_refusals, check_picture):
        part()
    os.chdir("/")
finish(SEED)
