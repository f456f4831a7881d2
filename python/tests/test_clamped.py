# SPDX-License-Identifier: Apache-2.0
"""Tests that a warning counts the values that an integer type cannot hold, against SciPy in float64, with sums that are
whole numbers."""

import warnings

import numpy as np
import pytest

import convolume

ndimage = pytest.importorskip("scipy.ndimage")
KERNEL = np.float32([[1, 2, 1], [2, -20, 2], [1, 2, 1]])
LIMITS = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}


@pytest.fixture
def image(random):
    return random.integers(0, 200, (3, 40, 50)).astype(np.float32)


def expected(image, dtype, scale=1):
    exact = np.stack([ndimage.convolve(plane.astype(np.float64), scale * KERNEL.astype(np.float64), mode="constant")
                      for plane in image])
    low, high = LIMITS[dtype]
    return int((exact < low).sum()), int((exact > high).sum()), exact.clip(low, high)


def warnings_of(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert all(one.filename == __file__ for one in found)
    return [str(one.message) for one in found if issubclass(one.category, convolume.ConvolumeWarning)]


def sentence(low, high, dtype):
    return f"{low} values below and {high} above the range of {dtype} were clamped; choose a wider dtype to keep them"


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("function", [convolume.convolve, convolume.correlate])
def test_of_a_batch_in_one_sentence(image, dtype, function, device):
    scale = 40 if "16" in dtype else 1
    low, high, values = expected(image, dtype, scale)
    results = []
    found = warnings_of(lambda: results.append(function(image, scale * KERNEL, dtype=dtype, device=device)))
    assert found == ([sentence(low, high, dtype)] if low or high else []) and low > 0
    np.testing.assert_array_equal(results[0], values)


def test_into_an_array(image):
    low, high, values = expected(image[:1], "int8")
    blur, out = convolume.Convolver((40, 50), KERNEL, device="cpu"), np.empty((40, 50), np.int8)
    assert warnings_of(lambda: blur(image[0], out)) == [sentence(low, high, "int8")] and low > 0 and high > 0
    np.testing.assert_array_equal(out, values[0])
    assert warnings_of(lambda: blur(image[0], np.empty((40, 50), np.int16))) == []
    assert warnings_of(lambda: blur(image[0])) == []
    found = warnings_of(lambda: convolume.convolve(image[0], KERNEL, out=out, device="cpu"))
    assert found == [sentence(low, high, "int8")]


def test_of_types_that_wrap_in_scipy(image):
    """Drop-ins for SciPy's functions wrap values as SciPy does, without warnings."""
    from convolume import ndimage as drop_in
    assert warnings_of(lambda: drop_in.convolve(image[0].astype(np.uint8), KERNEL, device="cpu")) == []


def test_of_deconvolution(random, device):
    image = random.poisson(30.0, (16, 16)).astype(np.float32)
    image[7:9, 7:9] = 3000
    psf = np.ones((3, 3), np.float32) / 9
    exact = np.rint(convolume.richardson_lucy(image, psf, 5, device=device))
    high = int((exact > 255).sum())
    results = []
    for call in (lambda: results.append(convolume.richardson_lucy(image, psf, 5, dtype="uint8", device=device)),
                 lambda: results.append(convolume.Deconvolver(image.shape, psf, iterations=5, device=device)(
                     image, np.empty(image.shape, np.uint8)))):
        assert warnings_of(call) == [sentence(0, high, "uint8")] and high > 0
        np.testing.assert_array_equal(results[-1], exact.clip(0, 255))
    negative = np.zeros((16, 16), np.float32)
    negative[8, 8] = 9000
    exact = np.rint(convolume.wiener(negative, psf, 0.01, edges="zero", device=device))
    low, high = int((exact < 0).sum()), int((exact > 255).sum())
    assert warnings_of(lambda: convolume.wiener(negative, psf, 0.01, edges="zero", dtype="uint8", device=device)) == [
        sentence(low, high, "uint8")] and low > 0 and high > 0


def test_of_a_deconvolution_that_a_callback_ends(random):
    image = random.poisson(400.0, (12, 14)).astype(np.float32)
    plan = convolume.Deconvolver(image.shape, np.ones((3, 3)) / 9, iterations=9, background=0, device="cpu")
    kept = []

    def enough(iteration):
        kept.append(iteration.estimate)
        return iteration.number == 3

    found = warnings_of(lambda: plan(image, dtype="uint8", callback=enough))
    high = int((np.rint(kept[2]) > 255).sum())
    assert found == [sentence(0, high, "uint8")] and len(kept) == 3 and plan.report["clamped_high"] == high
