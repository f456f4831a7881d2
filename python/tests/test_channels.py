# SPDX-License-Identifier: Apache-2.0
"""Tests of polyphase filter banks, against sums by NumPy in double precision."""

import gpu_stand_in
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import convolume


def reference(x, channels, taps, step, first, frames):
    """Returns y[m, n] = sum_l h[l] x[t - l] exp(-2j pi m (t - l) / M), t = first + n step."""
    modes = np.arange(channels)[:, None]
    result = np.zeros((channels, frames), complex)
    for n in range(frames):
        t = first + n * step - np.arange(len(taps))
        inside = (t >= 0) & (t < len(x))
        phases = np.exp(-2j * np.pi * (modes * t[inside] % channels) / channels)
        result[:, n] = phases @ (taps[inside] * x[t[inside]])
    return result


def random_signal(random, shape, dtype):
    signal = 50 * random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        signal = signal + 50j * random.standard_normal(shape)
    return signal.astype(dtype)


@given(data=st.data(), seed=st.integers(0, 2**32), samples=st.integers(0, 300), channels=st.integers(1, 40),
       taps_per_channel=st.integers(1, 7), first=st.integers(0, 30), tail=st.booleans(),
       dtype=st.sampled_from(["int8", "int16", "float32", "float64", "complex64", "complex128"]))
def test_any_bank(data, seed, samples, channels, taps_per_channel, first, tail, dtype):
    random = np.random.default_rng(seed)
    step = data.draw(st.integers(1, channels))
    signals = random_signal(random, (2, samples), dtype)
    is_complex = signals.dtype.kind == "c"
    interleaved = not is_complex and data.draw(st.booleans())
    meant = signals.astype(complex)
    if interleaved:
        signals = random_signal(random, (2, 2 * samples), dtype)
        meant = signals[:, ::2] + 1j * signals[:, 1::2]
    taps = convolume.prototype_filter(channels, taps_per_channel)
    axis = data.draw(st.sampled_from([0, 1, -1]))
    got = convolume.channelize(np.moveaxis(signals, -1, axis), channels, taps_per_channel=taps_per_channel, step=step,
                               first=first, tail=tail, axis=axis, interleaved=interleaved)
    got = np.moveaxis(got, (axis % 2, axis % 2 + 1), (-2, -1))
    end = samples + (len(taps) - 1 if tail and samples else 0)
    frames = max(0, -(-(end - first) // step))
    stored = channels if is_complex or interleaved else channels // 2 + 1
    assert got.shape == (2, stored, frames)
    scale = np.abs(taps).sum() * 500 * (1e-6 if got.dtype == np.complex64 else 1e-13)
    for one, x in zip(got, meant, strict=True):
        np.testing.assert_allclose(one, reference(x, channels, taps, step, first, frames)[:stored], rtol=0, atol=scale)


@given(data=st.data(), seed=st.integers(0, 2**32), channels=st.integers(1, 20), taps_per_channel=st.integers(1, 5),
       sizes=st.lists(st.integers(0, 100), min_size=1, max_size=8),
       dtype=st.sampled_from(["int16", "float32", "complex64", "complex128"]))
def test_blocks_give_the_bits_of_one_call(data, seed, channels, taps_per_channel, sizes, dtype):
    step = data.draw(st.integers(1, channels))
    signal = random_signal(np.random.default_rng(seed), sum(sizes), dtype)
    bank = convolume.Channelizer(channels, taps_per_channel=taps_per_channel, step=step, dtype=dtype)
    whole = bank(signal)
    parts = [bank.push(block) for block in np.split(signal, np.cumsum(sizes)[:-1])]
    assert np.concatenate(parts, -1).tobytes() == np.ascontiguousarray(whole).tobytes()

    joined = convolume.Synthesizer(channels, taps_per_channel=taps_per_channel, step=step, dtype=dtype
                                   if np.dtype(dtype).kind != "i" else "float32")
    signal = joined(whole)
    parts = [joined.push(block) for block in np.array_split(whole, 3, axis=-1)]
    assert np.concatenate(parts, -1).tobytes() == signal.tobytes()


@pytest.mark.parametrize("window", ["hamming", "hann", "kaiser:8.5", "rectangular"])
def test_prototypes_are_those_of_scipy(window):
    firwin = pytest.importorskip("scipy.signal").firwin
    of_scipy = {"kaiser:8.5": ("kaiser", 8.5), "rectangular": "boxcar"}.get(window, window)
    for channels, taps in ((8, 4), (5, 7), (64, 16)):
        np.testing.assert_allclose(convolume.prototype_filter(channels, taps, window),
                                   firwin(channels * taps, 1 / channels, window=of_scipy), rtol=0, atol=1e-15)


@given(seed=st.integers(0, 2**32), channels=st.integers(2, 24), taps_per_channel=st.integers(1, 8),
       window=st.sampled_from(["hamming", "kaiser:6"]), is_complex=st.booleans())
def test_oversampled_signals_are_reconstructed(seed, channels, taps_per_channel, window, is_complex):
    step = max(1, int(channels / (2 - 1 / taps_per_channel)))
    signal = random_signal(np.random.default_rng(seed), (2, 400), "complex128" if is_complex else "float64")
    options = {"taps_per_channel": taps_per_channel, "step": step, "window": window}
    frames = convolume.channelize(signal, channels, tail=True, **options)
    again = convolume.synthesize(frames, channels, samples=400, dtype=signal.dtype, **options)
    np.testing.assert_allclose(again, signal, atol=1e-6)


@pytest.mark.parametrize(("dtype", "options"), [
    ("complex64", {}), ("float32", {"step": 6}), ("complex128", {"tail": True}), ("int16", {"interleaved": True}),
    ("int8", {"interleaved": True, "first": 3}), ("int16", {}), ("float32", {"interleaved": True})])
def test_signals_in_the_memory_of_a_gpu(monkeypatch, dtype, options):
    cupy = gpu_stand_in.install(monkeypatch)
    signals = random_signal(np.random.default_rng(2), (400, 3), dtype)
    got = convolume.channelize(cupy.asarray(signals), 8, axis=0, **options)
    want = convolume.channelize(signals, 8, axis=0, device="cpu", **options)
    assert type(got) is gpu_stand_in.GpuArray
    assert got.values.dtype == want.dtype
    np.testing.assert_array_equal(got.values, want)


@pytest.mark.parametrize(("dtype", "options"), [
    ("complex64", {}), ("float32", {"step": 6}), ("complex128", {"samples": 50}), ("float64", {"first": 3, "axis": 1}),
    ("float32", {"axis": -2, "precision": "float64"}), ("complex64", {"samples": 0})])
def test_frames_in_the_memory_of_a_gpu(monkeypatch, dtype, options):
    cupy = gpu_stand_in.install(monkeypatch)
    random = np.random.default_rng(3)
    channels = 8 if np.dtype(dtype).kind == "c" else 5
    shape = [3, 4]
    shape[options.get("axis", -1)] = channels
    shape.insert(options.get("axis", -1) % 2 + 1, 60)
    frames = random_signal(random, shape, "complex128" if dtype == "complex128" else "complex64")
    got = convolume.synthesize(cupy.asarray(frames), 8, dtype=dtype, **options)
    want = convolume.synthesize(frames, 8, dtype=dtype, **options)
    assert type(got) is gpu_stand_in.GpuArray
    assert got.values.dtype == want.dtype
    np.testing.assert_array_equal(got.values, want)
    # A second call takes the plan of the first one, and another number of frames another plan.
    options.pop("samples", None)
    joined = convolume.Synthesizer(8, dtype=dtype, **options)
    for part in (frames, frames, np.take(frames, range(17), options.get("axis", -1) % 2 + 1)):
        np.testing.assert_array_equal(joined(cupy.asarray(part)).values, joined(part))
    assert len(joined._on_gpus) == 2


def test_frames_on_a_gpu_that_are_refused(monkeypatch):
    cupy = gpu_stand_in.install(monkeypatch)
    with pytest.raises(ValueError, match="3 channels"):
        convolume.synthesize(cupy.asarray(np.ones((3, 9), complex)), 4)
    with pytest.raises(ValueError, match="two axes"):
        convolume.synthesize(cupy.asarray(np.ones(4, complex)), 4)
    with pytest.raises(ValueError, match="-1 samples"):
        convolume.synthesize(cupy.asarray(np.ones((4, 9), complex)), 4, samples=-1)


def test_precision_follows_frames():
    signal = np.random.default_rng(5).standard_normal(400) + 1j
    frames = convolume.channelize(signal, 8, step=4, tail=True)
    again = convolume.synthesize(frames, 8, step=4, samples=400)
    assert again.dtype == np.complex128 and np.abs(again - signal).max() < 1e-12


def test_a_tone_is_in_its_channel():
    tone = np.exp(2j * np.pi * 5 / 32 * np.arange(5000))
    power = np.abs(convolume.channelize(tone, 32, taps_per_channel=12)[:, -10:]) ** 2
    np.testing.assert_allclose(power[5], 1, atol=1e-3)
    assert np.delete(power, [4, 5, 6], 0).max() < 1e-5


def test_noise_power_is_kept_by_critical_reconstruction():
    taps = convolume.prototype_filter(64, 8)
    dual, error = convolume.dual_prototype(taps, 64)
    noise = np.random.default_rng(5).standard_normal(64 * 400)
    again = convolume.synthesize(convolume.channelize(noise, 64, tail=True), 64, samples=noise.size, dtype=noise.dtype,
                                 synthesis_taps=dual)
    assert np.linalg.norm(again - noise) / np.linalg.norm(noise) == pytest.approx(error, rel=0.1)


REFUSED = [
    (lambda: convolume.channelize(np.ones(9), 0), "0 channels"),
    (lambda: convolume.channelize(np.ones(9), 4, step=5), "a step of 5"),
    (lambda: convolume.channelize(np.ones(9), 4, axis=1), "axis 1"),
    (lambda: convolume.channelize(3.0, 4), "no signal"),
    (lambda: convolume.channelize(np.ones(9), 4, window="blackman"), "hamming"),
    (lambda: convolume.channelize(np.ones(9), 4, prototype=np.ones((2, 2))), "one array"),
    (lambda: convolume.channelize(np.ones(9), 4, prototype=[1, np.nan]), "tap 1"),
    (lambda: convolume.channelize(np.ones(9), 4, interleaved=True), "pairs"),
    (lambda: convolume.channelize(np.ones(8, complex), 4, interleaved=True), "complex already"),
    (lambda: convolume.channelize([1, np.nan, 3], 2), "sample 1"),
    (lambda: convolume.channelize(np.ones(9), 4, device="gpu"), "CPU"),
    (lambda: convolume.Channelizer(4, dtype=np.float32)(np.ones(8, complex)), "real numbers"),
    (lambda: convolume.synthesize(np.ones((3, 9), complex), 4), "3 channels"),
    (lambda: convolume.synthesize(np.ones((4, 9), complex), 4, synthesis_taps=np.ones(100)), "100 taps"),
]


@pytest.mark.parametrize(("call", "word"), REFUSED)
def test_bad_input_is_one_sentence(call, word):
    with pytest.raises((convolume.InvalidArgument, convolume.BadData, convolume.Unavailable)) as error:
        call()
    assert word in str(error.value)


def test_interleaved_numbers_are_float32_by_default():
    bank = convolume.Channelizer(16, interleaved=True)
    samples = np.random.default_rng(1).standard_normal((500, 2)).astype(np.float32)
    want = convolume.Channelizer(16)(samples.view(np.complex64).ravel())
    assert bank.dtype == np.float32 and np.array_equal(bank(samples.ravel()), want)
