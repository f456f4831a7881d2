# SPDX-License-Identifier: Apache-2.0
"""Tests of warnings about doubtful images and PSFs, and of the log."""

import logging
import warnings

import numpy as np
import pytest

import convolume

AXIS = np.exp(-np.arange(-3, 4) ** 2 / 2)
PSF = np.outer(AXIS, AXIS)


def warnings_of(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert all(one.filename == __file__ and one.category is convolume.ConvolumeWarning for one in found)
    return [str(one.message) for one in found]


def deconvolve(image, psf=PSF, **options):
    return lambda: convolume.richardson_lucy(image, psf, 2, device="cpu", **options)


@pytest.fixture
def image(random):
    return random.poisson(100.0, (40, 50)).astype(np.uint16)


def test_nothing_to_say(image):
    assert warnings_of(deconvolve(image, background=90)) == []
    assert warnings_of(lambda: convolume.wiener(image, PSF, device="cpu")) == []
    assert warnings_of(deconvolve(image, np.ones((4, 4)))) == []  # has no peak


@pytest.mark.parametrize(("dtype", "value"), [(np.uint16, 4095), (np.uint16, 65535), (np.uint8, 255),
                                              (np.float32, 1023)])
def test_saturated_pixels(image, dtype, value):
    image = image.astype(dtype)
    image[3:7, 5:9] = value
    assert warnings_of(deconvolve(image)) == []  # they are bounds
    def least_squares():
        convolume.wiener(image, PSF, device="cpu")
    found = warnings_of(least_squares)
    assert len(found) == 1 and found[0].startswith(f"16 pixels (0.8 %) are saturated, at {value}: ")
    image[3:7, 5:9] = value - 1
    image[3, 3] = value  # a hot pixel
    assert warnings_of(least_squares) == []


def test_negative_pixels_and_samples(image):
    negative = image.astype(np.float32)
    negative[0, :7] = -2
    assert warnings_of(deconvolve(negative, background=90)) == ["7 negative pixels of the image were read as 0"]
    psf = PSF.copy()
    psf[0, :3] = -0.1
    assert warnings_of(deconvolve(image, psf)) == ["3 negative samples of the PSF were set to 0"]


def test_a_psf_off_its_center(image):
    moved = np.roll(np.pad(PSF, 4), (1, -2), (0, 1))
    found = warnings_of(deconvolve(image, moved))
    assert len(found) == 1 and "peak is z,y,x 0,1,-2 voxels from its center" in found[0]
    assert "origin peak keeps it" in found[0] and "corner" not in found[0]
    assert warnings_of(deconvolve(image, np.roll(np.pad(PSF, 4), 1, 1))) == []  # noise may do that
    assert warnings_of(deconvolve(image, moved, origin="peak")) == []
    assert warnings_of(deconvolve(image, moved, origin=(8, 5))) == []
    assert "give origin corner" in warnings_of(deconvolve(image, np.fft.ifftshift(PSF)))[0]
    assert warnings_of(deconvolve(image, np.fft.ifftshift(PSF), origin="corner")) == []


def test_a_background_above_the_darkest_regions(image):
    image[16:32, 16:32] -= 30
    found = warnings_of(deconvolve(image, background=95.0))
    assert len(found) == 1
    text = "the background of 95 is above the image's darkest regions, whose mean is "
    assert found[0].startswith(text)
    mean = image[16:32, 16:32].mean()
    assert float(found[0].removeprefix(text).split(":")[0]) == pytest.approx(mean, abs=2)
    assert warnings_of(deconvolve(image, background=60)) == []
    assert warnings_of(deconvolve(image)) == []  # the regions show the background


def test_no_region_is_dark(image):
    assert warnings_of(deconvolve(image)) == []
    y, x = np.ogrid[:40, :50]
    image += (300 + 250 * np.sin(0.3 * y) * np.sin(0.3 * x)).astype(np.uint16)
    found = warnings_of(deconvolve(image))
    assert len(found) == 1
    assert "between 0 and " in found[0] and ", the mean of the darkest regions, and is taken to be" in found[0]
    assert warnings_of(deconvolve(image, background=100)) == []


def test_planes_of_psfs(random):
    stack = random.poisson(100.0, (9, 20, 20)).astype(np.float32)
    flat = np.stack([PSF] * 5)
    found = warnings_of(deconvolve(stack, flat))
    assert len(found) == 1 and "the PSF has 5 planes, and the outermost hold 100 % " in found[0]
    assert "give a PSF of 17 planes" in found[0]
    assert warnings_of(deconvolve(stack, flat * np.float32([0.05, 0.5, 1, 0.5, 0.05])[:, None, None])) == []
    assert "the image has one plane, but the PSF has 5" in warnings_of(deconvolve(stack[:1], flat))[0]


def test_values_that_are_read_as_zero():
    image = np.ones((8, 9))
    image[2, 3:5] = np.nan
    found = warnings_of(lambda: convolume.convolve(image, PSF, nan="zero", device="cpu"))
    assert found == ["2 NaN or infinite values of the image were read as 0"]
    assert warnings_of(lambda: convolume.convolve(image, PSF, nan="propagate", device="cpu")) == []


def test_the_log_has_the_plan(image, caplog):
    with caplog.at_level(logging.INFO, "convolume"):
        deconvolve(image)()
        convolume.convolve(image, PSF, device="cpu")
    messages = [one.getMessage() for one in caplog.records if one.name == "convolume"]
    assert len(messages) == 2 and "memory" in messages[0] and "method" in messages[1]
    caplog.clear()
    with caplog.at_level(logging.WARNING, "convolume"):
        deconvolve(image)()
    assert caplog.records == []
