# SPDX-License-Identifier: Apache-2.0
"""Tests of filter banks, against numpy.convolve."""

import pickle
import warnings

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


def _rounded(values, dtype, step=1.0):
    """Rounds float64 values to a storage of 16 bits, ties to even, and counts those that int16 clamps."""
    if dtype != np.int16:
        return values.astype(dtype), 0, 0
    whole = np.rint(values / step)
    return whole.clip(-32768, 32767).astype(dtype), int((whole < -32768).sum()), int((whole > 32767).sum())


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int16"])
@pytest.mark.parametrize("method", ["direct", "overlap-save", "overlap-add", "partitioned"])
def test_storage_of_16_bits(name, method):
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)
    random = np.random.default_rng(6)
    values, taps = 10 * random.standard_normal((2, 3000)), random.standard_normal((3, 65)).astype(np.float32)
    steps = {"scale": 1 / 64, "output_scale": 1 / 200} if name == "int16" else {}
    signals, _, _ = _rounded(values, dtype, steps.get("scale", 1))
    exact = signals.astype(np.float64) * steps.get("scale", 1)
    want = np.array([[np.convolve(one, row)[32:][:3000] for row in taps.astype(np.float64)] for one in exact])
    near = 5e-6 * np.abs(want).max()
    bank = convolume.FilterBank(signals.shape, taps, dtype=dtype, output_dtype=name, method=method, device="cpu",
                                **steps)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        got = bank(signals)
    assert got.dtype == bank.dtype == dtype
    low, clamped_low, clamped_high = _rounded(want - near, dtype, steps.get("output_scale", 1))
    high, _, _ = _rounded(want + near, dtype, steps.get("output_scale", 1))
    numbers = got.astype(np.float64)
    assert (low.astype(np.float64) <= numbers).all() and (numbers <= high.astype(np.float64)).all()
    if name == "int16":
        assert clamped_low > 10
        assert f"{clamped_low} values below and {clamped_high} above the range of int16" in str(found[0].message)
    else:
        assert not found
    out = np.empty((2, 3, 3000), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (pickle.loads(pickle.dumps(bank))(signals[:, ::-1][:, ::-1]) == got).all()
        assert convolume.filter_bank(signals, taps, output_dtype=dtype, method=method, device="cpu", out=out,
                                     **steps) is out
    assert (out == got).all()
    # Results in float32 are those of signals in float32.
    plain = convolume.filter_bank(signals, taps, method=method, device="cpu", **{key: steps[key] for key in steps
                                                                                  if key == "scale"})
    assert plain.dtype == np.float32
    np.testing.assert_allclose(plain, want, rtol=0, atol=near)


@pytest.mark.parametrize(("options", "words"), [
    ({"output_dtype": "uint8"}, "not stored as uint8"), ({"output_dtype": "float64"}, "not stored as float64"),
    ({"scale": 0.5}, "int16 signals"), ({"output_scale": 2}, "int16 results"),
    ({"output_dtype": "float16", "window": ("peak", 5)}, "peaks"),
    ({"output_dtype": "float16", "precision": "float64"}, "float32"),
])
def test_storage_that_is_refused(options, words):
    signal = np.ones(100, np.float16)
    with pytest.raises(ValueError, match=words):
        convolume.filter_bank(signal, np.ones(5, np.float32), device="cpu", **options)
    with pytest.raises(ValueError, match="complex results are not stored as float16"):
        convolume.filter_bank(signal, [1j], output_dtype="float16", device="cpu")
    bank = convolume.FilterBank((100,), [1.0], dtype="float16", device="cpu")
    with pytest.raises(ValueError, match="float32 where this bank was planned for float16"):
        bank(signal.astype(np.float32))
