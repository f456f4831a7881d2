# SPDX-License-Identifier: Apache-2.0
"""Tests of resampling, against scipy.signal in double precision."""

import inspect
import itertools
import warnings

import numpy as np
import pytest
from drop_in_cases import COMPLEX, FLOATS, INTEGERS, layouts, random_array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal as original

import convolume
from convolume import signal as drop_in

NAMES = ("upfirdn", "resample", "resample_poly", "decimate")
EXTENSIONS = ("constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect", "line")
LEVELS = ("mean", "median", "minimum", "maximum")
types = st.sampled_from((*FLOATS, *COMPLEX, *INTEGERS, "bool", "float16"))
factors = st.one_of(st.integers(1, 12), st.sampled_from([147, 160, 441]))


def assert_close(found, want, double, *inputs):
    """Compares results of one call with SciPy's in double precision. Inputs may have less."""
    assert found.dtype == want.dtype.newbyteorder("=") and found.shape == want.shape
    scale = max(1.0, float(np.abs(double).max(initial=0)))
    single = any(array.dtype.char in "fF" for array in (found, *inputs))
    np.testing.assert_allclose(found / scale, double / scale, rtol=0, atol=2e-5 if single else 1e-12)


def exact(array):
    """Returns an array in double precision."""
    return array.astype(complex if array.dtype.kind == "c" else float)


@pytest.mark.parametrize("name", NAMES)
def test_parameters(name):
    expected = list(inspect.signature(getattr(original, name)).parameters.values())
    found = list(inspect.signature(getattr(drop_in, name)).parameters.values())
    assert [(one.name, one.default) for one in expected] == [(one.name, one.default) for one in found[:len(expected)]]
    assert {one.name for one in found[len(expected):]} == {"device", "workers"}
    assert all(one.kind is one.KEYWORD_ONLY for one in found[len(expected):])


@settings(max_examples=300)
@given(st.data(), types, types, factors, factors, layouts, seeds)
def test_upfirdn(data, tap_type, type_, up, down, layout, seed):
    shape = data.draw(st.lists(st.integers(2, 9), min_size=1, max_size=4))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    shape[axis] = data.draw(st.integers(2, 200))
    taps = random_array((data.draw(st.integers(1, 60)),), tap_type, seed)
    signals = random_array(shape, type_, seed + 1, layout)
    mode = data.draw(st.sampled_from(EXTENSIONS))
    cval = data.draw(st.sampled_from([0, 1.5])) if mode == "constant" else 0
    want = original.upfirdn(taps, signals, up, down, axis, mode, cval)
    double = original.upfirdn(exact(taps), exact(signals), up, down, axis, mode, cval)
    found = drop_in.upfirdn(taps, signals, up, down, axis, mode, cval, workers=data.draw(st.sampled_from([1, 3])))
    assert_close(found, want, double)


@settings(max_examples=200)
@given(st.data(), types, factors, factors, layouts, seeds)
def test_resample_poly(data, type_, up, down, layout, seed):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    shape[axis] = data.draw(st.integers(2, 300))
    signals = random_array(shape, type_, seed, layout)
    padtype = data.draw(st.sampled_from((*EXTENSIONS, *LEVELS)))
    if padtype in LEVELS and signals.dtype.kind == "c":
        padtype = "edge"  # complex numbers have no order
    window = data.draw(st.sampled_from([("kaiser", 5.0), ("kaiser", 9), "hamming", [1.0, 2, 1], np.ones(4)]))
    options = {"cval": 2.0} if padtype == "constant" and data.draw(st.booleans()) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # overflows of integers in SciPy's means
        # SciPy subtracts levels in the type of integers, where they wrap around.
        are_subtracted = padtype in LEVELS and signals.dtype.kind in "iub" and up != down
        source = signals.astype(np.float64) if are_subtracted else signals
        want = original.resample_poly(source, up, down, axis, window, padtype, **options)
        found = drop_in.resample_poly(signals, up, down, axis, window, padtype, **options, workers=1)
    if np.dtype(type_).kind in "iub" and padtype in LEVELS or up == down:
        double = want
    else:
        double = original.resample_poly(exact(signals), up, down, axis, window, padtype, **options)
    if found.dtype.kind in "iub":
        np.testing.assert_array_equal(found, want)
    elif signals.dtype.char == "e":
        np.testing.assert_allclose(found, want, rtol=2e-3, atol=2e-3 * float(np.abs(want).max(initial=1)))
    else:
        assert_close(found, want, double, signals)


@settings(max_examples=300)
@given(st.data(), types, layouts, seeds)
def test_resample(data, type_, layout, seed):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = shape[axis] = data.draw(st.integers(1, 60))
    num = data.draw(st.one_of(st.integers(1, 80), st.just(n)))
    domain = data.draw(st.sampled_from(["time", "freq"]))
    if type_ == "bool" or domain == "freq" and (type_ == "float16" or np.dtype(type_).kind in "iu"):
        type_ = "float32"  # SciPy takes none
    signals = random_array(shape, type_, seed, layout)
    factors = np.random.default_rng(seed).random(n)
    window = data.draw(st.sampled_from([None, "hamming", ("kaiser", 3.0), np.cos, factors]))
    times = data.draw(st.sampled_from([None, np.arange(n + 1) / 8 + 3]))
    want = original.resample(signals, num, times, axis, window, domain)
    found = drop_in.resample(signals, num, times, axis, window, domain, workers=1)
    if times is not None:
        np.testing.assert_allclose(found[1], want[1], rtol=1e-14)
        found, want = found[0], want[0]
    assert found.dtype == want.dtype and found.shape == want.shape
    scale = max(1.0, float(np.abs(want).max()))
    limit = 1e-5 if found.dtype.char in "fF" or signals.dtype.char in "eF" else 1e-13
    np.testing.assert_allclose(found / scale, want / scale, rtol=0, atol=limit)


@pytest.mark.parametrize("arguments, words", [
    ({"num": 0}, "become 0"), ({"num": 4, "domain": "space"}, "domain='space'"), ({"num": 4, "axis": 1}, "axis 1"),
    ({"num": 4, "window": np.ones(3)}, "number of frequency bins"), ({"num": 4, "window": "round"}, "round"),
    ({"num": 4, "t": [1]}, "two samples"), ({"num": 4, "device": "gpu"}, "on the CPU"),
])
def test_bad_arguments_of_resample(arguments, words):
    with pytest.raises(ValueError, match=words):
        drop_in.resample(np.ones(9), **arguments)
    with pytest.raises(TypeError, match="num"):
        drop_in.resample(np.ones(9), 4.7)


@given(st.data(), st.sampled_from((*FLOATS, *COMPLEX, "int16", "float16")), st.integers(1, 13), st.booleans(), seeds)
def test_decimate(data, type_, q, zero_phase, seed):
    axis = data.draw(st.sampled_from([0, -1]))
    shape = (300, 3) if axis == 0 else (2, 300)
    signals = random_array(shape, type_, seed)
    for ftype in ("fir", "iir", original.dlti([1, 2, 1], [1]), original.dlti([0.2], [1, -0.8])):
        if ftype == "iir" and type_ == ">f4" or q == 1 and ftype == "fir":
            continue  # SciPy's IIR filters do not take it; a cutoff of 1 is refused
        want = original.decimate(signals, q, ftype=ftype, axis=axis, zero_phase=zero_phase)
        found = drop_in.decimate(signals, q, ftype=ftype, axis=axis, zero_phase=zero_phase)
        assert_close(found, want, want)


@pytest.mark.parametrize("arguments, words", [
    ({"up": 0, "down": 1}, ">= 1"), ({"up": 1.5, "down": 1}, "integer"), ({"up": "a", "down": 1}, "integer"),
    ({"up": 2, "down": 1, "padtype": "odd"}, "padtype must be one of"),
    ({"up": 2, "down": 1, "padtype": "mean", "cval": 1}, "cval"), ({"up": 2, "down": 1, "window": np.eye(2)}, "1-D"),
    ({"up": 2, "down": 1, "axis": 3}, "axis 3"), ({"up": 2, "down": 1, "device": "gpu"}, "host memory"),
])
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        drop_in.resample_poly(np.ones(9), **arguments)


def test_bad_signals():
    with pytest.raises(ValueError, match="without samples"):
        drop_in.upfirdn([1.0], np.empty((2, 0)))
    with pytest.raises(ValueError, match="Unknown mode"):
        drop_in.upfirdn([1.0], [1.0], mode="around")
    with pytest.raises(ValueError, match="invalid ftype"):
        drop_in.decimate(np.ones(99), 3, ftype="cic")
    with pytest.raises(ValueError, match="tap 1"):
        drop_in.upfirdn([1.0, np.nan], [1.0])
    assert drop_in.upfirdn([1.0], np.empty((0, 4)), 2).shape == (0, 7)


def test_nan_stays_local():
    signal = np.ones(1000, np.float32)
    signal[500] = np.nan
    found = drop_in.resample_poly(signal, 160, 147)
    # SciPy multiplies the zeros that fill up its phases, so that NaN reach further there.
    assert 0 < np.isnan(found).sum() <= np.isnan(original.resample_poly(signal, 160, 147)).sum()


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16"])
@pytest.mark.parametrize("signals", [None, 3])
def test_blocks_have_the_bits_of_one_call(dtype, signals, random):
    whole = random_array((signals or 1, 20000), dtype, 3)
    want = drop_in.resample_poly(whole, 160, 147, axis=-1)
    resampler = convolume.Resampler(160, 147, dtype=dtype, signals=signals)
    for _ in range(2):  # a resampler takes several signals
        cuts = np.sort(random.integers(0, 20000, 30))
        blocks = np.split(whole, cuts, axis=-1)
        given_blocks = blocks if signals else [block[0] for block in blocks]
        found = np.concatenate(list(resampler.blocks(given_blocks)), -1)
        assert found.dtype == resampler.dtype == want.dtype
        np.testing.assert_array_equal(found, want if signals else want[0])


def test_blocks_of_other_shapes_and_types():
    resampler = convolume.Resampler(3, 2)
    with pytest.raises(convolume.InvalidArgument, match="one row"):
        resampler.push(np.ones((2, 3), np.float32))
    with pytest.raises(convolume.InvalidArgument, match="complex"):
        resampler.push(np.ones(3, complex))
    with pytest.raises(convolume.BadData, match="without samples"):
        resampler.finish()
    with pytest.raises(convolume.InvalidArgument, match="from 1 to"):
        convolume.Resampler(0, 1)


def test_tones_keep_amplitude_and_phase():
    # Half the band passes; the error is that of SciPy's default filter.
    for up, down in itertools.product([2, 3, 160], [1, 5, 147]):
        times = np.arange(6000)
        frequency = 0.2 * min(1, up / down)
        tone = np.exp(2j * np.pi * frequency * times)
        found = drop_in.resample_poly(tone, up, down)
        want = np.exp(2j * np.pi * frequency * np.arange(len(found)) * down / up)
        inner = slice(len(found) // 4, -len(found) // 4)
        assert np.abs(found - want)[inner].max() < 5e-3


@pytest.mark.parametrize("zeros", [[0.5j], [0.2 + 0.5j, 0.1]])
@pytest.mark.parametrize("zero_phase", [False, True])
def test_decimate_by_a_filter_with_complex_zeros(zeros, zero_phase, random):
    samples = random.standard_normal(200)
    system = original.dlti(zeros, [0.3, -0.4], 1.0)
    b, a = original.zpk2tf(system.zeros, system.poles, system.gain)
    want = (original.filtfilt if zero_phase else original.lfilter)(b, a, samples)[::2]
    found = drop_in.decimate(samples, 2, ftype=system, zero_phase=zero_phase)
    np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-10)


def test_factors_that_are_no_whole_numbers():
    assert convolume.Resampler(3.0, 2).push(np.ones(8, np.float32)).dtype == np.float32
    with pytest.raises(convolume.InvalidArgument, match="up, down"):
        convolume.Resampler(2.5, 3)
