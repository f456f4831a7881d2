# SPDX-License-Identifier: Apache-2.0
"""Checks PSFs of stage scans: a recording that is deconvolved before it is deskewed, metadata, and mistakes.
check_skewed_psf.py CONVOLUME

Ends with 77 (skipped) if a module is missing."""
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
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command = os.path.abspath(sys.argv[1])
SCAN = ["--angle", "31.5", "--step", "400nm"]
LENS = ["--na", "1.1", "--ni", "1.33", "--wavelength", "520nm", "--modality", "light-sheet", "--sheet", "1um"]
OF_SCAN = ["--scan-angle", "31.5", "--scan-step", "400nm"]
RECORDED = ["--voxel", "400,108,108nm"]


def run(*arguments, status=0, names=""):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    return done


def quietly(*arguments):
    return run(*arguments, "-q", "--overwrite")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    quietly("phantom", "-o", "cell.tif", "--kind", "cells", "--size", "41,72,64", "--voxel", "209,108,108nm",
            "--seed", "3")
    quietly("deskew", "cell.tif", "--inverse", *SCAN, "-o", "specimen.tif")
    quietly("psf", *LENS, *RECORDED, *OF_SCAN, "--size", "11,75,31", "-o", "psf.tif")
    quietly("psf", *LENS, *RECORDED, "--size", "11,75,31", "-o", "straight.tif")
    quietly("simulate", "specimen.tif", "psf.tif", "-o", "recorded.tif", "--photons", "3000", "--truth", "light.tif")

    # The file says the step of the stage, as the recording does, so that nothing is resampled.
    said = run("deconvolve", "recorded.tif", "psf.tif", "--dry-run", "--json")
    told = json.loads(said.stdout)
    check(told["kernel"]["resampled"] is None and "resampled" not in said.stderr, "resampled", said.stderr)
    with tifffile.TiffFile("psf.tif") as file:
        check(np.isclose(file.imagej_metadata["spacing"], 0.4), file.imagej_metadata)
    with open("psf.json", encoding="utf-8") as file:
        parameters = json.load(file)["psf"]
    check(parameters["scan_angle_deg"] == 31.5 and parameters["voxel_um"][0] == 0.4, parameters)
    with open("straight.json", encoding="utf-8") as file:
        check(not any(key.startswith("scan_") for key in json.load(file)["psf"]), "parameters of no scan")

    # Deconvolved with the PSF of the scan and then deskewed, the specimen is nearer than with others.
    def error_of(name):
        quietly("deskew", name, *SCAN, "-o", "deskewed.tif")
        image = tifffile.imread("deskewed.tif").astype(float)
        return np.sqrt(np.mean((image * (np.vdot(image, truth) / np.vdot(image, image)) - truth) ** 2)) / truth.std()

    quietly("deskew", "specimen.tif", *SCAN, "-o", "truth.tif")
    truth = tifffile.imread("truth.tif").astype(float)
    errors = {"blurred": error_of("light.tif")}
    for psf in ("psf", "straight"):
        quietly("deconvolve", "recorded.tif", f"{psf}.tif", "-o", f"by_{psf}.tif", "--iterations", "20", "--device",
                "cpu", "--background", "100")
        errors[psf] = error_of(f"by_{psf}.tif")
    print("relative RMS errors:", errors)
    check(errors["psf"] < 0.6 * min(errors["blurred"], errors["straight"]), errors)

    # deconvolve makes the same PSF itself, and one that is read from parameters is the same.
    quietly("psf", "--from", "psf.json", "-o", "same.tif")
    check(np.array_equal(tifffile.imread("same.tif"), tifffile.imread("psf.tif")), "PSF of parameters")
    for options in (["--psf-size", "11,75,31", *LENS, "--scan-angle", "31.5"], ["psf.tif"]):
        quietly("deconvolve", "recorded.tif", *options, "-o", f"made{len(options)}.tif", "--iterations", "3",
                "--device", "cpu", "--background", "0")
    made, read = (tifffile.imread(f"made{n}.tif") for n in (len(LENS) + 4, 1))
    check(np.allclose(made, read, rtol=1e-4, atol=1e-3), "made PSF", np.abs(made - read).max())
    # The size that suits an image holds the displaced planes.
    quietly("psf", *LENS, "--like", "recorded.tif", *OF_SCAN, "-o", "like.tif")
    like = tifffile.imread("like.tif")
    check(like.shape[1] > 31 + 2 * (like.shape[0] // 2) * 3, like.shape)

    # Mistakes: another distance of planes, options that do not go together.
    said = run("deconvolve", "recorded.tif", "psf.tif", "--voxel", "209,108,108nm", "--dry-run").stderr
    check("the PSF is for a stage scan with steps of 0.4 um, but planes of the image are 0.209 um apart" in said, said)
    said = run("deconvolve", "recorded.tif", "straight.tif", "--voxel", "209,108,108nm", "--dry-run").stderr
    check("stage scan" not in said, said)
    run("psf", *LENS, *RECORDED, "--scan-step", "400nm", "-o", "n.tif", status=2, names="--scan-angle")
    run("psf", *LENS, *RECORDED, "--scan-angle", "31.5", "--scan-step", "300nm", "-o", "n.tif", status=2,
        names="--voxel")
    run("psf", *LENS, "--like", "recorded.tif", "--scan-angle", "31.5", "--scan-step", "300nm", "-o", "n.tif", status=2,
        names='"recorded.tif" is 0.4 um')
    run("psf", *LENS, *RECORDED, "--scan-angle", "95", "-o", "n.tif", status=2, names="up to 90")
    run("psf", *LENS, *RECORDED, *OF_SCAN, "--scan-axis", "z", "-o", "n.tif", status=2, names="y or x")
    run("psf", "--from-beads", "recorded.tif", *LENS, *OF_SCAN, "-o", "n.tif", status=2, names="--scan-angle")
    run("deconvolve", "recorded.tif", *LENS, "--scan-angle", "31.5", "--depth-range", "0,5um", "-o", "n.tif", status=2,
        names="--depth-range")
    check(not os.path.exists("n.tif"), "a file of a refused run")

finish()
