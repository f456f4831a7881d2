# SPDX-License-Identifier: Apache-2.0
"""Tests that functions take arrays of the Python array API standard, and return arrays of the same namespace, by the
library array-api-strict, which has nothing but the standard."""

import numpy as np
import pytest

import convolume
from convolume import ndimage, restoration, signal

strict = pytest.importorskip("array_api_strict")

RANDOM = np.random.default_rng(1)
IMAGE = RANDOM.random((6, 7, 8)).astype(np.float32)
KERNEL = RANDOM.random((3, 3, 3)).astype(np.float32)
WAVES = RANDOM.standard_normal((2, 400)).astype(np.float32)
ANALYTIC = (WAVES + 1j * WAVES[::-1]).astype(np.complex64)
FILTERS = RANDOM.random((2, 5)).astype(np.float32)
CPU = {"device": "cpu"}

# Functions of an array, with others that `a` makes.
CALLS = {
    "convolve": lambda a: convolume.convolve(a(IMAGE), a(KERNEL), **CPU),
    "convolve a batch": lambda a: convolume.convolve(a(IMAGE), a(KERNEL[0]), mode="full", **CPU),
    "correlate": lambda a: convolume.correlate(a(ANALYTIC), a(ANALYTIC[0, :5]), **CPU),
    "Convolver": lambda a: convolume.Convolver(IMAGE.shape, a(KERNEL), **CPU)(a(IMAGE)),
    "richardson_lucy": lambda a: convolume.richardson_lucy(a(IMAGE), a(KERNEL), 2, **CPU),
    "wiener": lambda a: convolume.wiener(a(IMAGE), a(KERNEL), iterations=2, **CPU),
    "Deconvolver": lambda a: convolume.Deconvolver(IMAGE.shape, a(KERNEL), iterations=2, **CPU)(a(IMAGE)),
    "correct_bleaching": lambda a: convolume.correct_bleaching(a(IMAGE), axis=0, offset=0.0),
    "filter_bank": lambda a: convolume.filter_bank(a(WAVES), a(FILTERS), **CPU),
    "FilterBank": lambda a: convolume.FilterBank(WAVES.shape, a(FILTERS), **CPU)(a(WAVES)),
    "channelize": lambda a: convolume.channelize(a(ANALYTIC), 8, **CPU),
    "synthesize": lambda a: convolume.synthesize(a(ANALYTIC.reshape(8, -1)), 8, **CPU),
    "divide_by_noise": lambda a: convolume.divide_by_noise(a(WAVES), 16),
    "CorrelationBank": lambda a: convolume.CorrelationBank(WAVES.shape, a(FILTERS), **CPU).snr(a(WAVES)),
    "CorrelationBank with blocks": lambda a: convolume.CorrelationBank(WAVES.shape, a(FILTERS), noise_block=50,
                                                                       **CPU).snr(a(WAVES)),
    "match_template": lambda a: convolume.match_template(a(IMAGE), a(IMAGE[1:4, 1:4, 1:4]), mask=a(KERNEL > 0.2),
                                                         **CPU),
    "masked_correlation": lambda a: convolume.masked_correlation(a(IMAGE), a(KERNEL), fixed_mask=a(IMAGE > 0.1),
                                                                 **CPU),
    "signal.fftconvolve": lambda a: signal.fftconvolve(a(IMAGE), a(KERNEL), "same"),
    "signal.oaconvolve": lambda a: signal.oaconvolve(a(WAVES), a(WAVES[:, :30]), axes=1),
    "signal.convolve": lambda a: signal.convolve(a(IMAGE), a(KERNEL)),
    "signal.correlate": lambda a: signal.correlate(a(ANALYTIC), a(ANALYTIC[:, :9])),
    "signal.resample_poly": lambda a: signal.resample_poly(a(WAVES), 3, 2, axis=1),
    "signal.upfirdn": lambda a: signal.upfirdn(a(FILTERS[0]), a(WAVES), 3, 2),
    "signal.decimate": lambda a: signal.decimate(a(WAVES), 3, ftype="fir"),
    "ndimage.convolve": lambda a: ndimage.convolve(a(IMAGE), a(KERNEL)),
    "ndimage.correlate1d": lambda a: ndimage.correlate1d(a(IMAGE), a(FILTERS[0])),
    "ndimage.gaussian_filter": lambda a: ndimage.gaussian_filter(a(IMAGE), 1.0),
    "ndimage.uniform_filter": lambda a: ndimage.uniform_filter(a(IMAGE), 3),
    "restoration.richardson_lucy": lambda a: restoration.richardson_lucy(a(IMAGE), a(KERNEL / KERNEL.sum()), 2),
    "restoration.wiener": lambda a: restoration.wiener(a(IMAGE), a(KERNEL), 0.1),
}


@pytest.mark.filterwarnings("ignore::convolume.ConvolumeWarning")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_results_are_of_the_namespace_of_the_array(call):
    want, got = call(lambda array: array), call(strict.asarray)
    assert got.__array_namespace__() is strict
    assert isinstance(want, np.ndarray) and str(got.dtype).endswith(f".{want.dtype}")
    np.testing.assert_array_equal(np.from_dlpack(got), want)


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                  "float32", "float64", "complex64", "complex128"])
def test_all_types_of_the_standard(name):
    image = (10 * IMAGE).astype(name)
    got = convolume.convolve(strict.asarray(image), strict.asarray(KERNEL), **CPU)
    np.testing.assert_array_equal(np.from_dlpack(got), convolume.convolve(image, KERNEL, **CPU))


def test_results_are_on_the_device_of_the_array():
    for device in (strict.Device("CPU_DEVICE"), strict.Device("device1")):
        got = convolume.convolve(strict.asarray(IMAGE, device=device), KERNEL, **CPU)
        assert got.device == device
        back = got.to_device(strict.Device("CPU_DEVICE"))
        np.testing.assert_array_equal(np.from_dlpack(back), convolume.convolve(IMAGE, KERNEL, **CPU))


def test_types_of_the_namespace_and_arrays_for_results():
    image, kernel = strict.asarray(IMAGE), strict.asarray(KERNEL)
    assert convolume.convolve(image, kernel, dtype=strict.float64, **CPU).dtype == strict.float64
    assert convolume.Convolver(IMAGE.shape, kernel, dtype=strict.float64, **CPU).dtype == np.float64
    steps = convolume.filter_bank(strict.asarray(WAVES), FILTERS, output_dtype=strict.int16, output_scale=0.01, **CPU)
    assert steps.dtype == strict.int16
    assert convolume.StreamFilter(np.ones(9), 64, dtype=strict.float64).dtype == np.float64
    out = strict.asarray(np.zeros_like(IMAGE))
    assert convolume.convolve(image, kernel, out=out, **CPU) is out
    np.testing.assert_array_equal(np.from_dlpack(out), convolume.convolve(IMAGE, KERNEL, **CPU))
    for wrong in ("float31", strict, object()):
        with pytest.raises((TypeError, ValueError), match="dtype|type"):
            convolume.convolve(image, kernel, dtype=wrong, **CPU)


def test_results_without_a_form_in_the_standard_are_of_numpy():
    found = convolume.find_peaks(strict.asarray(IMAGE), 0.9)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, convolume.find_peaks(IMAGE, 0.9))
    assert isinstance(convolume.correlation_peaks(strict.asarray(WAVES), FILTERS, threshold=1.0, **CPU), np.ndarray)
