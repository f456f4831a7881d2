# SPDX-License-Identifier: Apache-2.0
"""Checks the forward model and the measures of bench/restoration, and runs its comparison on small images:
check_restoration.py CONVOLUME. Ends with 77 (skipped) if a module is missing."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "restoration"))
from checks import check, finish

try:
    import numpy as np
    import recordings
    from scipy import ndimage
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)


def check_forward_model():
    psf = recordings.make_psf((15, 31, 31), *recordings.SPECIMEN)
    check(abs(psf.sum() - 1) < 1e-12 and psf.argmax() == psf.size // 2, "PSF:", psf.sum(), psf.argmax())
    check(np.abs(psf - psf[:, ::-1, ::-1]).max() < 1e-12 * psf.max(), "the PSF is symmetric about its axis")
    check(np.abs(psf - psf[::-1]).max() > 0.01 * psf.max(), "the PSF is aberrated along the axis")
    rng = np.random.default_rng(3)
    specimen = rng.random((20, 24, 22))
    want = ndimage.convolve(specimen, psf, mode="constant")
    check(np.abs(recordings.blur(specimen, psf) - want).max() < 1e-10 * want.max(), "blur")
    recording = recordings.record("cells", 300, 1, (12, 40, 40))
    again = recordings.record("cells", 300, 1, (12, 40, 40))
    check((recording.image == again.image).all(), "a seed gives the same recording")
    brightest = recording.image.max() - recordings.OFFSET - recordings.background(300)
    check(240 < brightest < 380, "photons of the brightest pixel:", brightest)


def check_measures():
    rng = np.random.default_rng(5)
    truth = rng.random((16, 32, 32))
    check(recordings.psnr(truth, 3 * truth + 7) > 200, "an affine change costs nothing")
    noise = rng.standard_normal(truth.shape)
    noise -= noise.mean()
    noise -= (noise * (truth - truth.mean())).sum() / ((truth - truth.mean()) ** 2).sum() * (truth - truth.mean())
    x = truth + 0.1 * noise
    shrink = truth.var() / x.var()  # the affine fit divides the signal's variance by the sum of both
    want = 10 * np.log10(truth.max() ** 2 / ((1 - shrink) * truth.var()))
    check(abs(recordings.psnr(truth, x) - want) < 1e-6, "PSNR", recordings.psnr(truth, x), "instead of", want)
    check(abs(recordings.ssim(truth, truth) - 1) < 1e-12 and recordings.ssim(truth, x) < 0.99, "SSIM")
    sharp, blurred = (recordings.resolution(truth, v + 0.2 * noise) for v in
                      (truth, ndimage.gaussian_filter(truth, (1, 2, 2))))
    check(sharp < blurred, "resolution", sharp, blurred)


def compare(*options):
    """Returns the figures of the program, or None if it fails."""
    command = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        program = Path(recordings.__file__).with_name("compare.py")
        done = subprocess.run([sys.executable, program, *options, "--psfs", "matched", "--build", command.parents[1],
                               "--json", file], capture_output=True, text=True, check=False)
        check(done.returncode == 0, done.stderr)
        return json.loads(file.read_text()) if done.returncode == 0 else None


def check_comparison():
    result = compare("--small", "--kinds", "cells,filaments", "--photons", "100")
    if result is None:
        return
    check(len(result["rows"]) == 2 and result["summary"]["recordings"] == 2, "rows", result)
    for row in result["rows"]:
        default = row["programs"]["default"]
        check(default["psnr"] > row["recorded"]["psnr"] + 0.5, row["recording"], default, row["recorded"])
        check(default["psnr"] > row["best"] - 0.3, row["recording"], default, row["best"])


def check_light():
    """The backgrounds of specimens and microscopes that no rule was chosen by."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        program = Path(recordings.__file__).with_name("light.py")
        done = subprocess.run([sys.executable, program, "--build", Path(sys.argv[1]).resolve().parents[1], "--levels",
                               "--kinds", "slab,membranes,neuron", "--microscopes", "water,oil,sheet", "--json", file],
                              capture_output=True, text=True, check=False)
        check(done.returncode == 0, done.stderr)
        rows = json.loads(file.read_text())["rows"] if done.returncode == 0 else []
    for row in rows:
        check(0.67 < row["light_of_level"] < 1.5, row)
    check(sum(row["is_held"] for row in rows) >= 0.9 * len(rows), "ranges hold the right level")


check_forward_model()
check_measures()
check_comparison()
check_light()
finish()
