# SPDX-License-Identifier: Apache-2.0
"""Runs `convolume psf --from-beads` on stacks of simulated beads: check_beads.py CONVOLUME.

Beads are computed from formulas at their positions between voxels, so that nothing is interpolated. Ends with 77
(skipped) if a module is missing.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    import tifffile
    from scipy.special import j0
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250311))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])

SHAPE = (41, 240, 250)
VOXEL = np.array([0.2, 0.08, 0.08])
NA, NI, WAVELENGTH = 1.0, 1.33, 0.52
BACKGROUND = 100.0
PIXELS = 0.08 * np.arange(-180, 181)


RADII = np.arange(0, 15, 0.01)
PUPIL = (np.arange(400) + 0.5) / 400
WAVE_NUMBER = 2 * np.pi / WAVELENGTH
BESSEL = j0(WAVE_NUMBER * NA * np.outer(RADII, PUPIL))


def born_wolf(z):
    """Computes |2 ∫ J0(k NA r ρ) exp(i k z √(n² − NA²ρ²)) ρ dρ|² at RADII by the midpoint rule."""
    phase = np.exp(1j * WAVE_NUMBER * z * np.sqrt(NI ** 2 - (NA * PUPIL) ** 2)) * PUPIL
    return np.abs(2 * (BESSEL @ phase) / 400) ** 2


def widefield(z, r):
    return np.interp(r, RADII, born_wolf(z))


def gaussian(z, r):
    return np.exp(-(z / 0.35) ** 2 / 2 - (r / 0.11) ** 2 / 2)


def light_of_bead(psf, center, shape):
    """Returns a stack with the PSF at `center`, in voxels."""
    planes = []
    y = (np.arange(shape[1]) - center[1]) * VOXEL[1]
    x = (np.arange(shape[2]) - center[2]) * VOXEL[2]
    r = np.hypot(y[:, None], x[None, :])
    for z in range(shape[0]):
        planes.append(psf((z - center[0]) * VOXEL[0], r))
    return np.array(planes)


def fwhm(values, axis):
    """Returns the full width at half maximum through the brightest voxel; a cubic interpolates between samples."""
    peak = np.unravel_index(values.argmax(), values.shape)
    line = np.moveaxis(values, axis, 0)[(slice(None),) + tuple(p for a, p in enumerate(peak) if a != axis)]
    fine = np.linspace(0, len(line) - 1, 200 * (len(line) - 1) + 1)
    base = np.clip(np.floor(fine).astype(int), 1, len(line) - 3)
    u = fine - base
    a, b, c, d = (line[base + i] for i in (-1, 0, 1, 2))
    curve = (-u * (u - 1) * (u - 2) / 6 * a + (u + 1) * (u - 1) * (u - 2) / 2 * b - (u + 1) * u * (u - 2) / 2 * c
             + (u + 1) * u * (u - 1) / 6 * d)
    above = fine[curve >= curve.max() / 2]
    return above.max() - above.min()


def run(*options, status=0):
    done = subprocess.run([command, "psf", "--from-beads", "beads.tif", "-o", "psf.tif", "--overwrite", *options],
                          capture_output=True, text=True)
    print(done.stderr, end="")
    check(done.returncode == status, options, done.returncode, done.stderr)
    if status:
        return None, None, done.stderr
    return tifffile.imread("psf.tif").astype("f8"), json.load(open("psf.json")), done.stderr


def write_bead_image(psf, places, peaks, kind):
    stack = np.full(SHAPE, BACKGROUND)
    for center, peak in zip(places, peaks):
        stack += peak * light_of_bead(psf, center, SHAPE)
    stack = np.clip(rng.poisson(stack), 0, 65535).astype(kind)
    tifffile.imwrite("beads.tif", stack, imagej=True, resolution=(1 / VOXEL[2], 1 / VOXEL[1]),
                     metadata={"spacing": VOXEL[0], "unit": "um", "axes": "ZYX"})


def check_measured(name, psf, size, good, peaks, options, expected):
    values, measured, text = run(*options)
    if values is None:
        return None
    result = measured["measured"]
    for key, value in expected.items():
        check(result[key] == value, name, key, result[key], "instead of", value)
    check(values.shape == size, name, "size", values.shape)
    check(abs(values.sum() - 1) < 1e-5, name, "sum", values.sum())
    fluxes = []
    for bead in result["beads"]:
        away = np.abs(np.array(bead["center_voxels"]) - good)
        nearest = away.max(1).argmin()
        check(away[nearest].max() < 0.05, name, "bead at", good[nearest], "found at", bead["center_voxels"])
        center = good[nearest] - np.round(good[nearest]) + np.array(size) // 2
        fluxes.append(peaks[nearest] * light_of_bead(psf, center, size).sum())
    check(abs(result["flux"] / np.mean(fluxes) - 1) < 0.01, name, "flux", result["flux"], np.mean(fluxes))
    truth = light_of_bead(psf, np.array(size) // 2, size)
    for axis in range(3):
        want, got = fwhm(truth, axis), fwhm(values, axis)
        check(abs(got / want - 1) < 0.03, name, "width along", "zyx"[axis], got, "instead of", want)
    check(np.unravel_index(values.argmax(), size) == tuple(n // 2 for n in size), name, "peak is not in the middle")
    return measured, text


def places(rows, columns):
    """Returns positions of beads in rows, anywhere between voxels."""
    grid = [(20, 30 + i * 60, 32 + j * 60) for i in range(rows) for j in range(columns)]
    return np.array(grid) + rng.uniform(-0.5, 0.5, (len(grid), 3)) * (3, 8, 8)


def check_widefield():
    good = places(3, 4)
    bad = np.array([[20.2, 208.1, 30.3], [20.4, 214.6, 36.7],  # two beads close together
                    [19.7, 211.3, 95.2],                       # a saturated bead
                    [20.1, 209.4, 246.3],                      # a bead at the border
                    [20.3, 210.2, 160.4]])                     # a clump of beads
    peaks = np.concatenate([rng.uniform(3000, 6000, len(good)), [4000, 4000, 200000, 4000, 30000]])
    write_bead_image(widefield, np.concatenate([good, bad]), peaks, "u2")
    options = ["--na", str(NA), "--ni", str(NI), "--wavelength", f"{1e3 * WAVELENGTH}nm", "--model", "born-wolf",
               "--oversampling", "1", "--size", "25,41,41"]
    measured = check_measured("widefield", widefield, (25, 41, 41), good, peaks, options,
                              {"used": 12, "crowded": 2, "saturated": 1, "at_border": 1, "unusual": 1})
    if measured:
        residual = measured[0]["model"]["residual"]
        check(residual < 0.05, "residual of the right model", residual)
    wrong = list(options)
    wrong[1] = "0.7"
    check(run(*wrong)[1]["model"]["residual"] > 0.2, "residual of a wrong model")
    automatic = run(*options[:-2])
    check(all(n % 2 == 1 for n in automatic[0].shape), "automatic size", automatic[0].shape)


def check_eight_bits():
    """Single photons of a dark background are no beads."""
    good = places(2, 2)
    stack = sum(light_of_bead(gaussian, center, SHAPE) for center in good)
    stack = np.clip(rng.poisson(180 * stack + 0.02), 0, 255).astype("u1")
    tifffile.imwrite("beads.tif", stack, imagej=True, resolution=(1 / VOXEL[2], 1 / VOXEL[1]),
                     metadata={"spacing": VOXEL[0], "unit": "um", "axes": "ZYX"})
    measured = run("--size", "19,25,25")[1]["measured"]
    check(measured["found"] == 4 and measured["used"] == 4, "beads on a dark background", measured)


def check_gaussian():
    good = places(3, 4)
    peaks = rng.uniform(1500, 3000, len(good))
    write_bead_image(gaussian, good, peaks, "u2")
    check_measured("gaussian", gaussian, (19, 25, 25), good, peaks, ["--size", "19,25,25"],
                   {"used": 12, "crowded": 0, "saturated": 0, "at_border": 0, "unusual": 0})


class GibsonLanni:
    """Computes |2 ∫ J0(k NA r ρ) exp(i k OPD) ρ dρ|² by the midpoint rule, with the cover glass as designed. z counts
    from the brightest point."""

    def __init__(self, na, ni, ns, depth):
        self.k = 2 * np.pi / WAVELENGTH
        rho = (np.arange(600) + 0.5) / 600 * min(1, ns / na)
        self.na, self.rho = na, rho
        self.defocus = np.sqrt(ni ** 2 - (na * rho) ** 2)
        self.field = np.exp(1j * self.k * depth * np.sqrt(ns ** 2 - (na * rho) ** 2)) * rho
        self.bessel = j0(self.k * na * np.outer(RADII[:800], rho))
        z = np.arange(-2 * depth - 3, 3, 0.01)
        axis = np.abs(np.exp(1j * self.k * np.outer(z, self.defocus)) @ self.field)
        self.focus = z[axis.argmax()]

    def __call__(self, z, r):
        # A plane of higher index is focused deeper, where z is smaller.
        phase = np.exp(1j * self.k * (self.focus - z) * self.defocus) * self.field
        profile = np.abs(2 * (self.bessel @ phase) / 600) ** 2
        return np.interp(r, RADII[:800], profile, right=0)


def refined(*options):
    return run("--wavelength", "520nm", "--oversampling", "1", "--size", "25,37,37", *options)


def check_refined():
    microscope = ["--model", "gibson-lanni", "--ni", "1.33"]
    psf = GibsonLanni(1.15, 1.33, 1.37, 6)
    peak = psf(0, np.zeros(1))[0]
    good = places(3, 4)
    write_bead_image(lambda z, r: psf(z, r) / peak, good, rng.uniform(3000, 6000, len(good)), "u2")
    first = [*microscope, "--na", "1.05", "--ns", "1.34", "--depth", "6um"]
    measured = refined(*first)[0]
    values, side_file, text = refined(*first, "--refine", "na,index")
    found, parameters = side_file["refined"], side_file["psf"]
    check(abs(found["na"]["value"] - 1.15) < 0.01, "NA", found)
    check(abs(found["index"]["value"] - 1.37) < 0.005, "index", found)
    check(0 < found["na"]["deviation"] < 0.01 and 0 < found["index"]["deviation"] < 0.005, "deviations", found)
    check(not found["na"]["at_bound"] and found["residual"] < found["first_residual"], "residual", found)
    check("refined NA 1.1" in text and "warning" not in text, text)
    check(parameters["na"] == found["na"]["value"] and parameters["ns"] == found["index"]["value"], parameters)
    # The output is the measured PSF, except for the constant that the fit of the model subtracts.
    check(np.corrcoef(values.ravel(), measured.ravel())[0, 1] > 0.99999, "the measured PSF is written")

    values, side_file, _ = refined(*microscope, "--na", "1.1", "--ns", "1.37", "--depth", "3um", "--refine", "depth,na",
                                   "--write", "model")
    found = side_file["refined"]
    check(abs(found["depth_um"]["value"] - 6) < 0.3 and abs(found["na"]["value"] - 1.15) < 0.01, "depth", found)
    subprocess.run([command, "psf", "--from", "psf.json", "-o", "again.tif", "-q"], check=True)
    check(np.array_equal(tifffile.imread("again.tif").astype("f8"), values), "the model is written")
    truth = light_of_bead(lambda z, r: psf(z, r) / peak, np.array(values.shape) // 2, values.shape)
    check(np.abs(values / values.max() - truth / truth.max()).max() < 0.03, "the model is the PSF")

    text = refined(*microscope, "--na", "0.7", "--ns", "1.37", "--depth", "6um", "--refine", "na")[2]
    check("warning: the NA ended at the bound of its range, 0.42 to 0.98" in text, text)


def check_refined_refusals():
    known = ["--na", "1.0", "--ni", "1.33", "--wavelength", "520nm", "--size", "9,25,25"]
    good = places(3, 4)
    write_bead_image(gaussian, good, np.full(len(good), 60), "u2")  # at most 60 photons, on a background of 100
    text = run(*known, "--depth", "5um", "--ns", "1.36", "--refine", "index,depth", status=65)[2]
    check("does not determine the" in text and text.count("\n") <= 2, text)
    write_bead_image(gaussian, good, np.full(len(good), 3000), "u2")
    check("give --na and" in run("--size", "9,25,25", "--refine", "na", status=2)[2], "no first values")
    check("twice" in run(*known, "--refine", "na,na", status=2)[2], "twice")
    check("na, index and depth" in run(*known, "--refine", "focus", status=2)[2], "unknown")
    check("measured or model" in run(*known, "--refine", "na", "--write", "both", status=2)[2], "--write")
    check("add --refine" in run(*known, "--write", "model", status=2)[2], "--write alone")
    text = run(*known, "--model", "born-wolf", "--refine", "depth", status=2)[2]
    check("has no depth" in text, text)
    alone = subprocess.run([command, "psf", "-o", "new.tif", *known, "--voxel", "200,80,80nm", "--refine", "na"],
                           capture_output=True, text=True)
    check(alone.returncode == 2 and "add --from-beads" in alone.stderr, alone.stderr)
    tifffile.imwrite("beads.tif", tifffile.imread("beads.tif")[20])
    text = run(*known, "--voxel", "200,80,80nm", "--refine", "na", status=2)[2]
    check("1 plane;" in text, text)


def check_refusals():
    check("give the optics with --na and --wavelength" in run(status=2)[2], "size unknown")
    check("odd size" in run("--size", "5,6,7", status=2)[2], "even size")
    check("give an odd size from 3 up" in run("--size", "99,25,25", status=2)[2], "size above the stack's")
    check("none can be used" in run("--size", "19,151,151", status=2)[2], "all crowded")
    check("does not apply" in run("--size", "19,25,25", "--like", "beads.tif", status=2)[2], "--like")
    tifffile.imwrite("beads.tif", rng.poisson(100, (9, 40, 40)).astype("u2"))
    text = run("--size", "5,9,9", "--voxel", "200,80,80nm", status=2)[2]
    check("no bead stands out of the noise" in text, "noise only", text)


def check_many_regions():
    """More regions than files may be open at once."""
    centers = [(7, 8 + 16 * row, 8 + 16 * column) for row in range(6) for column in range(8)]
    z, y, x = np.mgrid[:15, :96, :128]
    stack = sum(2000 * np.exp(-((z - c) ** 2 + (y - a) ** 2 + (x - b) ** 2) / 4) for c, a, b in centers)
    tifffile.imwrite("beads.tif", np.asarray(stack + 100, "u2"))
    limited = ["sh", "-c", 'ulimit -n 24; exec "$@"', "sh", command, "psf", "--from-beads", "beads.tif", "-o", "r.npy",
               "--size", "7,9,9", "--voxel", "200,80,80nm", "--regions", "1,6,8"]
    done = subprocess.run(limited, capture_output=True, text=True)
    check(done.returncode == 0, "many regions", done.stderr)
    check(len([name for name in os.listdir() if name.startswith("r.0-")]) == 48, os.listdir())
    right = np.exp(-(np.arange(-4, 5) ** 2) / 4)
    psf = np.load("r.0-3-5.npy")
    check(np.abs(psf[3, 4] / psf[3, 4, 4] - right).max() < 0.03, psf[3, 4])


print("seed", SEED)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (check_widefield, check_eight_bits, check_gaussian, check_refusals, check_refined,
                 check_refined_refusals, check_many_regions):
        part()
    os.chdir("/")
finish()
