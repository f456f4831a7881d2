# SPDX-License-Identifier: Apache-2.0
"""Tests of conversions between any rates, against signals whose values are known at every time."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convolume


def chirp(times):
    """Returns a sum of a tone and of a chirp from 0.02 to 0.3 cycles per sample."""
    turns = 0.02 * times + 0.28 / 2 * times**2 / 40000
    return np.exp(2j * np.pi * turns) + 0.5 * np.cos(2 * np.pi * 0.11 * times)


def times_of(ratios):
    """Returns the times of results, by their definition."""
    times, time = [], np.longdouble(0)
    while time < len(ratios):
        times.append(time)
        time += 1 / np.longdouble(ratios[int(time)])
    return np.array(times)


def test_signals_keep_their_values_at_any_time(random):
    ratio = 48000.5 / 44100
    signal = chirp(np.arange(40000.0))
    want = chirp(np.arange(0, 40000, 1 / ratio))
    for samples, limit in ((signal, 2e-6), (signal.astype(np.complex64), 4e-6), (signal.real, 2e-6)):
        found = convolume.convert_rate(samples, ratio)
        expected = want if samples.dtype.kind == "c" else want.real
        assert found.dtype == samples.dtype and found.shape == want.shape
        assert np.abs(found - expected)[200:-200].max() < limit
    found = convolume.convert_rate(signal, ratio, attenuation=160)
    assert np.abs(found - want)[300:-300].max() < 2e-8


def test_a_ratio_for_each_sample(random):
    ratios = 1 + 0.2 * np.sin(np.arange(20000) / 999) + 0.01 * random.random(20000)
    times = times_of(ratios)
    found = convolume.convert_rate(chirp(np.arange(20000.0)), ratios)
    assert found.shape == times.shape
    assert np.abs(found - chirp(times.astype(float)))[200:-200].max() < 2e-6


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(["float32", "complex128", "int16"]), st.sampled_from([None, 3]))
def test_blocks_have_the_bits_of_one_call(data, dtype, signals):
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    whole = (1000 * random.standard_normal((signals or 1, 3000))).astype(dtype)
    ratios = random.uniform(0.7, 1.9, 3000)
    want = convolume.convert_rate(whole, ratios, lowest_ratio=0.7)
    converter = convolume.RateConverter(1.5, lowest_ratio=0.7, dtype=dtype, signals=signals)
    cuts = sorted(data.draw(st.lists(st.integers(0, 3000), max_size=9)))
    parts = [converter.push(block if signals else block[0], part)
             for block, part in zip(np.split(whole, cuts, axis=-1), np.split(ratios, cuts))]
    found = np.concatenate([*parts, converter.finish()], -1)
    assert found.dtype == converter.dtype == want.dtype
    np.testing.assert_array_equal(found, want if signals else want[0])
    assert converter.ratio == (ratios[-1] if len(cuts) == 0 or cuts[-1] < 3000 else ratios[cuts[-1] - 1])


def test_a_ratio_that_is_set(random):
    whole = random.standard_normal(6000)
    converter = convolume.RateConverter(1.2, dtype=float)
    found = [converter.push(whole[:2500])]
    converter.ratio = 1.3
    found.append(converter.push(whole[2500:]))
    want = convolume.convert_rate(whole, np.repeat([1.2, 1.3], [2500, 3500]))
    np.testing.assert_array_equal(np.concatenate([*found, converter.finish()]), want)
    blocks = list(convolume.RateConverter(1.2, dtype=float).blocks(np.split(whole, 3)))
    np.testing.assert_array_equal(np.concatenate(blocks), convolume.convert_rate(whole, 1.2))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_axes_and_types(axis, random):
    whole = random.integers(-99, 99, (40, 41, 42))
    found = convolume.convert_rate(whole, 1.1, axis)
    assert found.dtype == np.float64 and found.flags.c_contiguous
    for index in ((3, 4), (0, 7)):
        row = np.moveaxis(whole, axis, -1)[index]
        np.testing.assert_array_equal(np.moveaxis(found, axis, -1)[index], convolume.convert_rate(row, 1.1))
    for dtype, result in (("float16", "float32"), ("bool", "float64"), (">f4", "float32"), ("longdouble", "float64")):
        assert convolume.convert_rate(whole.astype(dtype)[0, 0], 2.5).dtype == result
    assert convolume.convert_rate(np.empty((0, 9)), 2).shape == (0, 18)


def test_times_of_signals():
    signal = convolume.Signal.of_array(np.ones((2, 1000)), sampling_rate=1000.0, start=5.0)
    found = convolume.convert_rate(signal, 1.25)
    assert found.sampling_rate == pytest.approx(1250) and found.start == 5
    assert getattr(convolume.convert_rate(signal, np.full(1000, 1.25)), "sampling_rate", None) is None


@pytest.mark.parametrize("arguments, words", [
    ({"ratio": 0}, "from 0.0001 to 10000"), ({"ratio": np.nan}, "ratio"), ({"ratio": [1, 2]}, "2 ratios for 9 samples"),
    ({"ratio": np.r_[1, np.inf, np.ones(7)]}, "of sample 1 is inf"), ({"ratio": np.eye(9)}, "for each sample"),
    ({"ratio": 1, "lowest_ratio": 2}, "lowest_ratio"), ({"ratio": 1, "attenuation": 5}, "from 20 to 180 dB"),
    ({"ratio": 1, "pass_band": 1}, "pass band"), ({"ratio": 1, "axis": 3}, "axis 3"), ({"ratio": "a"}, "ratio"),
])
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        convolume.convert_rate(np.ones(9), **arguments)


def test_bad_blocks():
    converter = convolume.RateConverter()
    with pytest.raises(convolume.InvalidArgument, match="lowest_ratio"):
        converter.ratio = 0.999
    with pytest.raises(convolume.InvalidArgument, match="one row"):
        converter.push(np.ones((2, 3), np.float32))
    with pytest.raises(convolume.InvalidArgument, match="2 ratios for 3 samples"):
        converter.push(np.ones(3, np.float32), [1, 1])
    with pytest.raises(convolume.BadData, match="without samples"):
        converter.finish()
    assert converter.push([1, 2, 3]).size == 0 and converter.finish().size == 3
    with pytest.raises(convolume.BadData, match="without samples"):
        convolume.convert_rate([], 2)
    with pytest.raises(convolume.InvalidArgument, match="at least"):
        convolume.RateConverter(signals=0)


def test_a_ratio_with_an_empty_block_holds_for_later_ones():
    converter = convolume.RateConverter(1.0)
    assert converter.push(np.ones(0, np.float32), 1.5).size == 0
    assert converter.ratio == 1.5
    with pytest.raises(convolume.InvalidArgument, match="ratio"):
        converter.push(np.ones(0, np.float32), 99e9)
    with pytest.raises(TypeError, match="ratio"):
        converter.ratio = "a"


def test_threads_may_share_a_stream():
    for stream in (convolume.RateConverter(1.37), convolume.Resampler(160, 147)):
        def push(stream=stream):
            for _ in range(200):
                stream.push(np.ones(300, np.float32))

        threads = [threading.Thread(target=push) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert np.all(np.isfinite(stream.finish()))
