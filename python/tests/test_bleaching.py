# SPDX-License-Identifier: Apache-2.0
"""Light that falls from exposure to exposure is scaled back."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from scipy.stats import linregress

import convolume

COMMAND = os.environ.get("CONVOLUME_TEST_COMMAND") or shutil.which("convolume")
needs_command = pytest.mark.skipif(COMMAND is None, reason="the command was not built")
PLANES, EDGE, OFFSET = 16, 64, 100
OPTICS = ["--na", "1.2", "--wavelength", "520nm", "--ni", "1.33", "--voxel", "0.3um,0.1um,0.1um"]
CONFOCAL = ["--modality", "confocal", "--excitation", "488nm"]


def test_the_rate_is_that_of_a_regression():
    random = np.random.default_rng(3)
    light = 900 * np.exp(-0.02 * np.arange(40) + 0.01 * random.standard_normal(40))
    image = np.repeat(light, 9).reshape(40, 3, 3) + OFFSET
    corrected = convolume.correct_bleaching(image, 0, OFFSET)
    rate = -linregress(np.arange(40), np.log(light)).slope
    expected = OFFSET + (image - OFFSET) * np.exp(rate * np.arange(40))[:, None, None]
    np.testing.assert_allclose(corrected, expected, rtol=1e-5)
    # Recordings that end with the brightest plane are scaled to that one.
    np.testing.assert_allclose(convolume.correct_bleaching(image[::-1], 0, OFFSET)[::-1], expected, rtol=1e-5)


def test_chance_is_not_bleaching():
    random = np.random.default_rng(4)
    image = random.poisson(100, (20, 16, 16)) + OFFSET
    np.testing.assert_array_equal(convolume.correct_bleaching(image, 0, OFFSET), image.astype(np.float32))
    with_nan = image.astype(float) * np.exp(-0.1 * np.arange(20))[:, None, None]
    with_nan[3, 2:5] = np.nan
    assert np.isnan(convolume.correct_bleaching(with_nan, 0, 0)).sum() == 48
    with pytest.raises(convolume.InvalidArgument, match="axis"):
        convolume.correct_bleaching(image, 3, OFFSET)


@pytest.fixture(scope="module")
def specimen():
    """Returns the mean image of beads, blurred as a widefield microscope does, and the PSF."""
    psf = convolume.make_psf(na=1.2, wavelength="520nm", ni=1.33, shape=(31, 65, 65), spacing=(0.3, 0.1, 0.1))
    random = np.random.default_rng(8)
    beads = np.zeros((PLANES, EDGE, EDGE), np.float32)
    beads[tuple(random.integers((3, 12, 12), (13, 52, 52), (50, 3)).T)] = 20000
    return convolume.convolve(beads, psf, device="cpu").clip(0) + 20, np.asarray(psf)


def deconvolve(folder, image, *more):
    convolume.save(folder / "image.tif", image, axes="TZYX"[4 - image.ndim:], overwrite=True)
    run = subprocess.run([COMMAND, "deconvolve", folder / "image.tif", "-o", folder / "result.tif", "--overwrite",
                          "--json", "--device", "cpu", *OPTICS, *more], capture_output=True, text=True, check=True)
    return np.asarray(convolume.open(folder / "result.tif")), json.loads(run.stdout)


@needs_command
def test_planes_of_a_widefield_recording(tmp_path, specimen):
    light, _ = specimen
    random = np.random.default_rng(1)
    rate = 0.03
    fall = np.exp(-rate * np.arange(PLANES))[:, None, None]
    steady = (random.poisson(light) + OFFSET).astype(np.uint16)
    bleached = (random.poisson(light * fall) + OFFSET).astype(np.uint16)
    # A search for the background would take most of the time.
    plain = ["--iterations", "10", "--coarse-start", "0", "--offset", "100", "--background", "120"]
    expected, _ = deconvolve(tmp_path, steady, *plain)
    without, _ = deconvolve(tmp_path, bleached, *plain)
    result, facts = deconvolve(tmp_path, bleached, *plain, "--bleach", "auto")
    found = facts["report"]["bleaching"][0]
    assert abs(found["per_plane"] - rate) < 0.1 * rate and found["finding"].startswith("light falls by 3")
    slices = np.s_[11:15]

    def light_of(volume):
        return volume[slices].sum(dtype=float)

    assert abs(light_of(result) / light_of(expected) - 1) < 0.1 < abs(light_of(without) / light_of(expected) - 1)
    _, facts = deconvolve(tmp_path, steady, *plain, "--bleach", "auto")
    assert facts["report"]["bleaching"][0]["per_plane"] == 0


@needs_command
def test_times_of_any_recording(tmp_path, specimen):
    light, _ = specimen
    times = np.random.default_rng(2).poisson(np.stack([light[:6] * 0.7 ** t for t in range(4)])) + OFFSET
    saturated = int(np.quantile(times, 0.9999))
    image = np.minimum(times, saturated).astype(np.uint16)
    result, facts = deconvolve(tmp_path, image, "--iterations", "5", *CONFOCAL, "--offset", "100", "--background",
                               "120", "--saturation", str(saturated), "--bleach", "auto")
    assert facts["report"]["bleaching"][0]["per_time"] == pytest.approx(-np.log(0.7), rel=0.02)
    sums = result.reshape(4, -1).sum(axis=1, dtype=float)
    np.testing.assert_allclose(sums, sums[0], rtol=0.05)
    assert facts["report"]["volumes"][0]["saturated_pixels"] == np.count_nonzero(image[0] == saturated)


@needs_command
def test_what_tells_no_bleaching(tmp_path, specimen):
    light, _ = specimen
    image = (np.random.default_rng(1).poisson(light) + OFFSET).astype(np.uint16)
    _, facts = deconvolve(tmp_path, image, "--iterations", "2", *CONFOCAL, "--offset", "100", "--bleach", "auto")
    assert "the PSF does not keep the light of planes" in facts["report"]["bleaching"][0]["finding"]
    _, facts = deconvolve(tmp_path, image[3], "--iterations", "2", "--offset", "100", "--bleach", "auto")
    assert "one plane at one time" in facts["report"]["bleaching"][0]["finding"]
