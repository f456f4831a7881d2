# SPDX-License-Identifier: Apache-2.0
"""Tests of filter banks, against numpy.convolve."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import convolume


@given(data=st.data(), seed=st.integers(0, 2**32), samples=st.integers(1, 300), filters=st.integers(1, 4),
       mode=st.sampled_from(["same", "full", "valid"]),
       dtype=st.sampled_from(["int16", "float32", "float64", "complex64"]),
       method=st.sampled_from(["auto", "direct", "overlap-save", "overlap-add", "partitioned"]))
def test_any_bank(data, seed, samples, filters, mode, dtype, method):
    random = np.random.default_rng(seed)
    taps = data.draw(st.integers(1, samples))
    signals = (50 * random.standard_normal((2, 3, samples))).astype(dtype)
    bank = random.standard_normal((filters, taps))
    axis = data.draw(st.sampled_from([0, 1, 2, -1]))
    got = convolume.filter_bank(np.moveaxis(signals, -1, axis), bank, axis=axis, mode=mode, method=method, device="cpu")
    place = axis % 3
    got = np.moveaxis(got, (place, place + 1), (-2, -1))
    for i, j, k in np.ndindex(2, 3, filters):
        full = np.convolve(signals[i, j].astype(np.complex128), bank[k])
        want = {"full": full, "same": full[(taps - 1) // 2:][:samples], "valid": full[taps - 1:samples]}[mode]
        np.testing.assert_allclose(got[i, j, k], want, rtol=1e-8, atol=1e-6)


def test_on_every_device(device):
    signal = np.random.default_rng(1).standard_normal(100_000).astype(np.float32)
    taps = np.hanning(301).astype(np.float32)
    got = convolume.filter_bank(signal, taps, origin="causal", device=device)
    np.testing.assert_allclose(got, np.convolve(signal, taps)[:signal.size], atol=1e-3)


def test_filters_of_many_lengths():
    signal = np.arange(50.0)
    got = convolume.filter_bank(signal, [[1.0], [0.0, 1.0], [1.0, 1.0, 1.0]], origin="causal", device="cpu")
    assert got.shape == (3, 50)
    np.testing.assert_allclose(got[1, 1:], signal[:-1])


def test_peaks_and_their_positions():
    signal = np.zeros(100)
    signal[[7, 55, 98]] = 1, 3, 2
    for origin, delay in (("center", 0), ("causal", 2)):
        values, places = convolume.filter_bank(signal, [0.1, 0.5, 1.0, 0.5, 0.1], origin=origin, window=("peak", 50),
                                               positions=True, device="cpu")
        np.testing.assert_allclose(values, [1, 3])
        np.testing.assert_array_equal(places, [7 + delay, 55 + delay])


def test_power_and_span():
    signal = np.exp(2j * np.pi * 0.1 * np.arange(200))
    got = convolume.filter_bank(signal, np.ones(10), post="power", span=(50, 60), device="cpu")
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, np.abs(np.convolve(signal, np.ones(10)))[50:60] ** 2, atol=1e-12)


REFUSED = [
    (lambda: convolume.filter_bank(1.0, [1.0]), "signal"),
    (lambda: convolume.filter_bank([1.0, 2.0], []), "filters"),
    (lambda: convolume.filter_bank([1.0, 2.0], np.ones((2, 2, 2))), "filters"),
    (lambda: convolume.filter_bank([1.0, 2.0], [1.0], positions=True), "peak"),
    (lambda: convolume.filter_bank([1.0, 2.0], [1.0, 2.0, 3.0], mode="valid", device="cpu"), "valid"),
    (lambda: convolume.filter_bank([1.0, np.nan], [1.0], device="cpu"), "nan"),
    (lambda: convolume.filter_bank([1.0, 2.0], [1.0], origin="late", device="cpu"), "late"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused_in_one_sentence(case):
    call, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        call()


def test_a_planned_bank_is_the_function():
    random = np.random.default_rng(3)
    signals = random.standard_normal((5, 400, 2)).astype(np.float32)
    taps = random.standard_normal((3, 21)).astype(np.float32)
    bank = convolume.FilterBank(signals.shape, taps, axis=1, mode="full", device="cpu")
    want = convolume.filter_bank(signals, taps, axis=1, mode="full", device="cpu")
    assert bank.result_shape == want.shape == (5, 3, 420, 2) and bank.dtype == want.dtype
    np.testing.assert_array_equal(bank(signals), want)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(bank))(signals), want)
    assert bank.plan.engine == "cpu:0" and bank.plan.method in repr(bank) and bank.plan.seconds > 0
    assert bank.plan.method in str(bank.plan)
    with pytest.raises(ValueError, match="planned for"):
        bank(signals[:2])
    with pytest.raises(ValueError, match="axis 3"):
        convolume.FilterBank(signals.shape, taps, axis=3)


@pytest.mark.parametrize("axis", [0, 1])
def test_results_into_an_array(axis):
    random = np.random.default_rng(4)
    signals = random.standard_normal((60, 60)).astype(np.float32)
    taps = random.standard_normal((2, 7)).astype(np.float32)
    want = convolume.filter_bank(signals, taps, axis=axis, device="cpu")
    for out in (np.zeros(want.shape, want.dtype), np.zeros((*want.shape[:-1], 120), want.dtype)[..., ::2]):
        assert convolume.filter_bank(signals, taps, axis=axis, device="cpu", out=out) is out
        np.testing.assert_array_equal(out, want)
    # Results overwrite the signals.
    signals_again = signals.copy()
    convolume.filter_bank(signals_again, taps[0], axis=axis, device="cpu", out=signals_again)
    np.testing.assert_array_equal(signals_again, convolume.filter_bank(signals, taps[0], axis=axis, device="cpu"))
    for bad in (np.zeros(want.shape), np.zeros(want.shape[1:], np.float32), [0.0]):
        with pytest.raises(ValueError, match="out"):
            convolume.filter_bank(signals, taps, axis=axis, device="cpu", out=bad)
