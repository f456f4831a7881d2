# SPDX-License-Identifier: Apache-2.0
"""Tests of filters for live signals, against numpy.convolve."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convolume
from convolume import StreamFilter


def causal(signal, taps):
    return np.convolve(signal.astype(np.float64), taps)[:signal.size]


@settings(deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32), block=st.sampled_from([32, 48, 100, 256]),
       taps=st.integers(1, 3000), samples=st.integers(1, 4000), dtype=st.sampled_from([np.float32, np.float64]),
       kind=st.sampled_from(["row", "shared", "each", "matrix"]), tail=st.booleans())
def test_any_filter_and_division(data, seed, block, taps, samples, dtype, kind, tail):
    random = np.random.default_rng(seed)
    shape = {"row": (), "shared": (), "each": (3,), "matrix": (2, 3)}[kind]
    filters = random.standard_normal((*shape, taps))
    inputs = 1 if kind == "row" else 3
    stream = StreamFilter(filters, block, channels=3 if kind == "shared" else None, dtype=dtype)
    signal = random.standard_normal((inputs, samples))
    cuts = sorted(data.draw(st.lists(st.integers(0, samples), max_size=6)))
    pieces = np.split(signal[0] if kind == "row" else signal, cuts, axis=-1)
    got = np.concatenate(list(stream.filter_blocks(pieces, tail=tail)), axis=-1)
    if kind == "row":
        assert got.ndim == 1
        got = got[np.newaxis]
    padded = np.pad(signal, ((0, 0), (0, taps - 1))) if tail else signal
    if kind == "matrix":
        want = np.array([sum(causal(row, one) for row, one in zip(padded, filters[o], strict=True)) for o in range(2)])
    else:
        want = np.array([causal(row, filters[i] if kind == "each" else filters) for i, row in enumerate(padded)])
    bound = 1e-10 if dtype == np.float64 else 2e-5 * np.sqrt(taps) * 4
    np.testing.assert_allclose(got, want, rtol=0, atol=bound)
    stream.reset()
    whole = np.concatenate(list(stream.filter_blocks([signal], tail=tail)), axis=-1)
    assert np.array_equal(whole.reshape(got.shape), got)


def test_push_into_an_array():
    stream = StreamFilter(np.hanning(77), 64, channels=2)
    signal = np.random.default_rng(0).standard_normal((2, 640)).astype(np.float32)
    got = np.empty_like(signal)
    out = np.empty((2, 64), np.float32)
    for n in range(0, 640, 64):
        assert stream.push(signal[:, n:n + 64], out=out) is out
        got[:, n:n + 64] = out
    for row, want in zip(got, signal, strict=True):
        np.testing.assert_allclose(row, causal(want, np.hanning(77)), atol=1e-4)
    tail = stream.flush()
    assert tail.shape == (2, 76)
    np.testing.assert_allclose(tail[0], np.convolve(signal[0], np.hanning(77))[640:], atol=1e-4)
    assert np.array_equal(stream.push(signal[:, :64]), got[:, :64])


def test_replaced_filters():
    random = np.random.default_rng(1)
    old, new = random.standard_normal((2, 2000))
    signal = random.standard_normal(300 * 32)
    stream = StreamFilter(old, 32, dtype=np.float64)
    results = []
    for block in signal.reshape(-1, 32):
        if len(results) == 150:
            stream.replace(new, fade=100)
            assert stream.is_replacing
        results.append(stream.push(block))
    assert not stream.is_replacing
    got = np.concatenate(results)
    before, after = causal(signal, old), causal(signal, new)
    first = int(np.argmax(np.abs(got - before) > 1e-9))
    assert 150 * 32 <= first <= 150 * 32 + stream.max_replace_delay
    begin = first // 32 * 32
    weight = np.clip((np.arange(signal.size) - begin + 0.5) / 100, 0, 1)
    np.testing.assert_allclose(got, before + weight * (after - before), atol=1e-10)


def test_not_finite_samples():
    signal = np.ones(1000, np.float32)
    signal[200] = np.nan
    signal[300] = np.inf
    got = np.concatenate(list(StreamFilter(np.ones(50), 32).filter_blocks([signal])))
    assert np.flatnonzero(np.isnan(got)).tolist() == [*range(200, 250), *range(300, 350)]


def test_properties():
    stream = StreamFilter(np.ones((4, 100_000), np.int16), 128, max_taps=200_000, workers=2)
    assert (stream.block, stream.inputs, stream.outputs, stream.taps) == (128, 4, 4, 200_000)
    assert sum(count * taps for count, taps in stream.partitions) >= 200_000
    assert stream.dtype == np.float32
    assert stream.nbytes > 4 * 8 * 200_000
    assert "blocks of 128" in repr(stream)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: StreamFilter(np.ones(3), 31), "32"),
    (lambda: StreamFilter(np.ones(3), 37), "prime factor"),
    (lambda: StreamFilter(np.ones(3, complex)), "real"),
    (lambda: StreamFilter(np.ones((1, 1, 1, 1))), "channels × taps"),
    (lambda: StreamFilter(np.ones((2, 3)), channels=5), "5 channels"),
    (lambda: StreamFilter(np.ones(0)), "at least one"),
    (lambda: StreamFilter(np.ones(3), dtype=np.int16), "float32"),
    (lambda: StreamFilter([1, np.nan]), "finite"),
    (lambda: StreamFilter(np.ones(3)).push(np.ones(255)), "filter_blocks"),
    (lambda: StreamFilter(np.ones(3)).push(np.ones((2, 256))), "1 × 256"),
    (lambda: StreamFilter(np.ones((2, 3))).push(np.ones((256, 2))), "transpose"),
    (lambda: StreamFilter(np.ones(3)).push(np.ones(256, complex)), "complex"),
    (lambda: StreamFilter(np.ones(3)).push(np.ones(256), out=np.ones(256)), "out is"),
    (lambda: StreamFilter(np.ones(3)).replace(np.ones(4)), "max_taps"),
    (lambda: StreamFilter(np.ones(3)).replace(np.ones((1, 3))), "dimensions"),
    (lambda: StreamFilter(np.ones(3)).replace(np.ones(3), fade=0), "fade"),
])
def test_refusals(call, text):
    with pytest.raises((convolume.InvalidArgument, convolume.BadData)) as raised:
        call()
    assert text in str(raised.value)
