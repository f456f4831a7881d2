# SPDX-License-Identifier: Apache-2.0
"""Tests of convolume.signal, against scipy.signal."""

import functools
import inspect
import warnings

import numpy as np
import pytest
from drop_in_cases import COMPLEX, FLOATS, INTEGERS, assert_same, layouts, planning, random_array, seeds  # noqa: F401 (a fixture)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal as original

import convolume
from convolume import signal as drop_in

NAMES = ("convolve", "correlate", "fftconvolve", "oaconvolve")
SINGLE = ("float32", ">f4", "complex64", "float16")
modes = st.sampled_from(["full", "same", "valid"])
types = st.sampled_from((*FLOATS, *COMPLEX, *INTEGERS, "bool", "float16"))
lengths = st.integers(1, 9)


def norms(in1, in2):
    """Returns an upper bound of sums, to which errors are relative, as terms cancel."""
    return max(1, float(np.linalg.norm(in1.astype(complex)) * np.linalg.norm(in2.astype(complex))))


def call_both(name, *arguments):
    """Calls SciPy and convolume with equal arguments; returns the result or error of each."""
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function in (getattr(original, name), functools.partial(getattr(drop_in, name), device="cpu", workers=1)):
            try:
                results.append(function(*arguments))
            except ValueError as error:
                results.append(error)
    return results


@pytest.mark.parametrize("name", NAMES)
def test_parameters(name):
    expected = list(inspect.signature(getattr(original, name)).parameters.values())
    found = list(inspect.signature(getattr(drop_in, name)).parameters.values())
    assert [(one.name, one.default) for one in expected] == [(one.name, one.default) for one in found[:len(expected)]]
    assert {one.name for one in found[len(expected):]} == {"device", "workers", "max_host_mem", "max_gpu_mem"}
    assert all(one.kind is one.KEYWORD_ONLY for one in found[len(expected):])


@settings(max_examples=250, deadline=None)
@given(st.data(), st.sampled_from(["convolve", "correlate"]), modes, st.sampled_from(["auto", "direct", "fft"]), types,
       types, layouts, seeds)
def test_in_their_own_type(data, name, mode, method, type1, type2, layout, seed):
    dimensions = data.draw(st.integers(1, 3))
    shape1, shape2 = (data.draw(st.tuples(*[lengths] * dimensions)) for _ in range(2))
    in1, in2 = random_array(shape1, type1, seed, layout), random_array(shape2, type2, seed + 1)
    if type1 == type2 == "bool" and method == "fft":
        method = "auto"  # in SciPy's Fourier method, rounding errors of booleans become True
    expected, found = call_both(name, in1, in2, mode, method)
    if isinstance(expected, ValueError) and "type" in str(expected):
        return  # SciPy has no direct sums of some types
    if isinstance(expected, ValueError):
        assert isinstance(found, convolume.InvalidArgument)
    else:
        assert_same(found, expected, single=type1 in SINGLE or type2 in SINGLE, scale=norms(in1, in2))


@settings(max_examples=250, deadline=None)
@given(st.data(), st.sampled_from(["fftconvolve", "oaconvolve"]), modes, types, types, layouts, seeds)
def test_along_axes(data, name, mode, type1, type2, layout, seed):
    dimensions = data.draw(st.integers(1, 4))
    axes = data.draw(st.lists(st.integers(0, dimensions - 1), min_size=1, max_size=3, unique=True))
    shape1, shape2 = (list(data.draw(st.tuples(*[lengths] * dimensions))) for _ in range(2))
    for axis in set(range(dimensions)) - set(axes):
        wanted = data.draw(st.sampled_from(["equal", "first", "second"]))
        if wanted == "equal":
            shape2[axis] = shape1[axis]
        else:
            (shape2 if wanted == "first" else shape1)[axis] = 1
    given_axes = [axis - dimensions if data.draw(st.booleans()) else axis for axis in axes]
    if len(axes) == dimensions and data.draw(st.booleans()):
        given_axes = None
    in1, in2 = random_array(shape1, type1, seed, layout), random_array(shape2, type2, seed + 1)
    expected, found = call_both(name, in1, in2, mode, given_axes)
    if isinstance(expected, ValueError):
        assert isinstance(found, convolume.InvalidArgument)
    else:
        assert_same(found, expected, single=type1 in SINGLE or type2 in SINGLE, scale=norms(in1, in2))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_integers_wrap_as_direct_sums(name, dtype):
    rng = np.random.default_rng(3)
    limits = np.iinfo(dtype)
    in1, in2 = (rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in ((40, 23), (7, 12)))
    for mode in ("full", "same", "valid"):
        expected = getattr(original, name)(in1, in2, mode, "direct")
        for method in ("auto", "direct", "fft"):
            np.testing.assert_array_equal(getattr(drop_in, name)(in1, in2, mode, method, device="cpu"), expected)


def test_integers_of_many_samples_are_exact():
    rng = np.random.default_rng(4)
    in1, in2 = rng.integers(0, 2**16, 70_000, np.uint16), rng.integers(0, 2**16, 5000, np.uint16)
    found = drop_in.convolve(in1.astype(np.int64), in2.astype(np.int64), "valid", device="cpu")
    at = rng.integers(0, len(found), 50)
    flipped = in2[::-1].astype(np.int64)
    np.testing.assert_array_equal(found[at], [in1[i:i + 5000].astype(np.int64) @ flipped for i in at])


@pytest.mark.parametrize("shape, kernel", [((60, 50, 40), (21, 17, 13)), ((4000,), (700,)), ((200, 150), (41, 60))])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_larger_ones(shape, kernel, dtype):
    in1, in2 = random_array(shape, dtype, 1), random_array(kernel, dtype, 2)
    for mode in ("full", "same", "valid"):
        assert_same(drop_in.fftconvolve(in1, in2, mode, device="cpu"), original.fftconvolve(in1, in2, mode))


def test_published_examples():
    """Small examples of SciPy's documentation have its results."""
    assert drop_in.convolve([1, 2, 3], [0, 1, 0.5], device="cpu") == pytest.approx([0, 1, 2.5, 4, 1.5])
    signal, window = np.repeat([0.0, 1.0, 0.0], 100), original.windows.hann(50)
    smooth = drop_in.convolve(signal, window, mode="same", device="cpu") / sum(window)
    assert smooth == pytest.approx(original.convolve(signal, window, mode="same") / sum(window), abs=1e-13)
    bits = np.repeat([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0], 128)
    found = drop_in.correlate(bits, np.ones(128), mode="same", device="cpu") / 128
    assert found[np.arange(64, len(bits), 128)] == pytest.approx([0, 1, 1, 0, 1, 0, 0, 1], abs=1e-12)
    noise = np.random.default_rng(0).standard_normal(1000)
    whole = drop_in.fftconvolve(noise, noise[::-1], mode="full", device="cpu")
    assert np.argmax(whole) == 999 and len(whole) == 1999
    taps = original.firwin(512, 0.01)
    assert drop_in.oaconvolve(noise, taps, device="cpu") == pytest.approx(original.oaconvolve(noise, taps), abs=1e-13)


def test_scalars_and_empty_inputs():
    for name, arguments in (("convolve", (3, 4)), ("correlate", (3, 4j)), ("fftconvolve", (3, 4.5)),
                            ("oaconvolve", (2, 2)), ("fftconvolve", (np.zeros((0, 3)), np.ones((2, 2)))),
                            ("oaconvolve", ([], [1.0])),
                            ("convolve", (np.zeros((0, 2)), np.ones((1, 1)), "full", "direct"))):
        assert_same(getattr(drop_in, name)(*arguments, device="cpu"), getattr(original, name)(*arguments))
    with pytest.raises(convolume.InvalidArgument, match="empty input"):
        drop_in.convolve([], [1.0])


def test_nan_stays_local_in_direct_sums():
    image, kernel = np.ones(200), np.ones(5)
    image[100] = np.nan
    np.testing.assert_array_equal(drop_in.convolve(image, kernel, method="direct", device="cpu"),
                                  original.convolve(image, kernel, method="direct"))
    assert np.isnan(drop_in.fftconvolve(image, kernel, device="cpu")[100:105]).all()


@pytest.mark.parametrize("call, message", [
    (lambda: drop_in.fftconvolve(np.ones((2, 2)), np.ones(2)), "in1 has 2 dimensions and in2 1"),
    (lambda: drop_in.convolve(np.ones(3), np.ones(3), "middle"), "no mode 'middle'"),
    (lambda: drop_in.convolve(np.ones(3), np.ones(3), "full", "quick"), "no method 'quick'"),
    (lambda: drop_in.fftconvolve(np.ones((2, 2)), np.ones((2, 2)), axes=[]), "axes cannot be empty"),
    (lambda: drop_in.fftconvolve(np.ones((2, 2)), np.ones((2, 2)), axes=[0, -2]), "axes must be unique"),
    (lambda: drop_in.fftconvolve(np.ones((2, 2)), np.ones((2, 2)), axes=2), "axes exceeds dimensionality"),
    (lambda: drop_in.fftconvolve(np.ones((2, 2)), np.ones((3, 2)), axes=1), "differ along axis 0"),
    (lambda: drop_in.convolve(np.ones((2, 5)), np.ones((5, 2)), "valid"), "For 'valid' mode, one must be"),
    (lambda: drop_in.convolve(np.ones((2,) * 4), np.ones((2,) * 4)), "reaches along 4 axes: 1 to 3"),
    (lambda: drop_in.convolve(np.array(["a"]), np.ones(1)), "it must hold numbers"),
    (lambda: drop_in.convolve(np.ma.masked_equal([1.0, 2.0], 2.0), np.ones(1)), "masked"),
])
def test_errors(call, message):
    with pytest.raises(convolume.InvalidArgument, match=message):
        call()


def test_nan_in_fourier_methods_warns():
    image, kernel = np.zeros(50), np.ones(7)
    image[40] = np.nan
    with pytest.warns(RuntimeWarning, match="Use of fft convolution"):
        drop_in.convolve(image, kernel, "same", "fft", device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drop_in.convolve(image, kernel, "same", "direct", device="cpu")


def test_products_that_are_multiples_of_the_range():
    for exponent in (30, 32, 52, 62):
        large = np.array([2**exponent, 2**exponent])
        for method in ("fft", "direct"):
            np.testing.assert_array_equal(drop_in.convolve(large, large, method=method, device="cpu"),
                                          original.convolve(large, large, method="direct"))


def test_kernels_with_nan_are_refused():
    with pytest.raises(convolume.BadData, match="the kernel holds NaN"):
        drop_in.fftconvolve(np.ones(5), [1.0, np.nan], device="cpu")


def test_more_axes_of_length_one_are_no_more_axes():
    in1, in2 = random_array((1, 5, 4, 1, 6), "float64", 1), random_array((3, 2, 1, 4, 3), "float64", 2)
    assert_same(drop_in.fftconvolve(in1, in2, device="cpu"), original.fftconvolve(in1, in2))


def test_inputs_are_left_alone():
    image = np.arange(5.0)
    image.setflags(write=False)
    found = drop_in.convolve(image, [1.0], device="cpu")
    assert found.flags.writeable and not np.may_share_memory(found, image)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shape, taps", [((40_000,), (257,)), ((40_000,), (4,)), ((3, 2, 20_000), (1, 1, 50)),
                                         ((2, 20_000), (2, 33))])
def test_long_signals(random, mode, shape, taps):
    for dtype, tolerance in (("float32", 1e-4), ("float64", 1e-11), ("int16", 1e-7)):
        signals, kernel = (random.normal(0, 9, extents).astype(dtype) for extents in (shape, taps))
        found = drop_in.oaconvolve(signals, kernel, mode, device="cpu")
        expected = original.oaconvolve(signals.astype("float64"), kernel.astype("float64"), mode)
        assert found.dtype == original.oaconvolve(signals, kernel, mode).dtype
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
    signals = random.random(shape)
    signals[..., 15_000] = np.nan
    assert np.isnan(drop_in.oaconvolve(signals, kernel.astype(float), mode, device="cpu")).any()
