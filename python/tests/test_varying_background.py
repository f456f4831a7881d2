# SPDX-License-Identifier: Apache-2.0
"""A background that varies over y and x, from Python and by the command."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from scipy import ndimage

import convolume

COMMAND = os.environ.get("CONVOLUME_TEST_COMMAND") or shutil.which("convolume")
SHAPE = 8, 80, 96
LIGHT = 40000.0  # of one object


@pytest.fixture(scope="module")
def recording():
    """Returns a recording of spots under a slope of stray light, the background, the PSF and the light of the spots."""
    random = np.random.default_rng(5)
    specimen = np.zeros(SHAPE)
    specimen[tuple(random.integers((2, 8, 8), (6, 72, 88), (30, 3)).T)] = LIGHT
    sigma = 1, 1.5, 1.5
    slope = 100 + 60 * np.linspace(0, 1, SHAPE[1])[:, None] + 80 * np.linspace(0, 1, SHAPE[2])
    image = random.poisson(ndimage.gaussian_filter(specimen, sigma) + slope).astype(np.uint16)
    impulse = np.zeros((7, 11, 11), np.float32)
    impulse[3, 5, 5] = 1
    return image, slope, ndimage.gaussian_filter(impulse, sigma, mode="constant"), specimen.sum()


def test_light_above_a_slope_is_kept(recording):
    image, slope, psf, light = recording
    options = {"iterations": 20, "device": "cpu"}
    smooth = convolume.Deconvolver(SHAPE, psf, background="smooth", **options)
    found = smooth(image).sum(dtype=float) / light
    assert abs(found - 1) < 0.1
    assert abs(smooth.report["background_range"] - np.ptp(slope)) < 0.1 * np.ptp(slope)
    assert abs(smooth.report["background"] - slope.mean()) < 0.02 * slope.mean()
    constant = convolume.Deconvolver(SHAPE, psf, background="auto", **options)
    assert abs(constant(image).sum(dtype=float) / light - 1) > 0.3
    assert constant.report["background_range"] is None


def test_functions_and_doubtful_values(recording):
    image, _, psf, _ = recording
    options = {"iterations": 3, "background": "smooth", "device": "cpu"}
    plan = convolume.Deconvolver(SHAPE, psf, **options)
    np.testing.assert_array_equal(convolume.richardson_lucy(image, psf, **options), plan(image))
    with pytest.raises(convolume.InvalidArgument, match="haze"):
        convolume.Deconvolver(SHAPE, np.ones((15, 41, 41)), **options)
    with pytest.raises(convolume.InvalidArgument, match="at least 64 pixels"):
        convolume.Deconvolver((8, 60, 96), psf, **options)
    with pytest.raises(TypeError, match="'auto' or 'smooth'"):
        convolume.Deconvolver(SHAPE, psf, background="even")
    with pytest.raises(convolume.InvalidArgument, match="in the whole image"):
        convolume.process(image, "unused.zarr", "deconvolve", kernel=psf, background="smooth", iterations=2)


@pytest.mark.skipif(COMMAND is None, reason="the command was not built")
def test_the_command_agrees(recording, tmp_path):
    image, _, psf, _ = recording
    np.save(tmp_path / "y.npy", image)
    np.save(tmp_path / "h.npy", psf)
    done = subprocess.run([COMMAND, "deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--background", "smooth",
                           "--iterations", "5", "--device", "cpu", "--json"], cwd=tmp_path, check=True,
                          capture_output=True, text=True)
    plan = convolume.Deconvolver(SHAPE, psf, iterations=5, background="smooth", device="cpu")
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), plan(image), rtol=1e-4, atol=1e-3)
    facts = json.loads(done.stdout)
    assert facts["report"]["volumes"][0]["background_range"] == pytest.approx(plan.report["background_range"])
    refused = subprocess.run([COMMAND, "deconvolve", "y.npy", "h.npy", "-o", "z.npy", "--background", "flat"],
                             cwd=tmp_path, check=False, capture_output=True, text=True)
    assert refused.returncode != 0 and "auto or smooth" in refused.stderr
