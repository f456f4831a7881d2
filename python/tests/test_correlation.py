# SPDX-License-Identifier: Apache-2.0
"""Tests of correlation banks: against numpy.correlate in double precision, and with events of known places."""

import gpu_stand_in
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import convolume

TYPES = ("int16", "float32", "float64", "complex64", "complex128")


def random_signal(random, shape, dtype):
    values = 20 * random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 20j * random.standard_normal(shape)
    return values.astype(dtype)


def series_of(signal, template, longest, mode, noise=1.0):
    """Returns the SNR by its formula, and the position of its first value."""
    signal, template = signal.astype(complex), template.astype(complex)
    whole = np.correlate(signal, template, "full") / (noise * np.linalg.norm(template))
    # whole[i] belongs to position i - (template.size - 1); positions of a bank begin with its longest template's.
    whole = np.concatenate([np.zeros(longest - template.size), whole])
    first = {"full": 1 - longest, "same": 0, "valid": 0}[mode]
    count = {"full": signal.size + longest - 1, "same": signal.size, "valid": signal.size - longest + 1}[mode]
    return whole[first + longest - 1:][:count], first


def peaks_of(series, first, window, threshold):
    """Returns (position, template) of the peaks in rows of series that compete. Rejects series whose peaks depend on
    rounding."""
    heights = np.abs(series)
    strongest = []
    for begin in range(0, heights.shape[1], window):
        part = heights[:, begin:begin + window]
        template, place = np.unravel_index(part.argmax(), part.shape)
        assume(part.size == 1 or np.sort(part, None)[-2] < (1 - 1e-4) * part.max() or part.max() < 0.9 * threshold)
        strongest.append((part[template, place], begin + place, template))
    found = []
    for i, (height, place, template) in enumerate(strongest):
        if height < 0.9 * threshold:
            continue
        assume(abs(height / threshold - 1) > 1e-6)
        beside = [strongest[other] for other in (i - 1, i + 1) if 0 <= other < len(strongest)
                  and abs(strongest[other][1] - place) <= window]
        assume(all(abs(other[0] / height - 1) > 1e-4 for other in beside))
        if height >= threshold and all(other[0] < height for other in beside):
            found.append((first + place, template))
    return found


@given(seed=st.integers(0, 2**32), dtype=st.sampled_from(TYPES), template_type=st.sampled_from(TYPES),
       lengths=st.lists(st.integers(1, 30), min_size=1, max_size=4), samples=st.integers(30, 400),
       mode=st.sampled_from(["same", "full", "valid"]), noise=st.sampled_from([None, 0.25]))
def test_series(seed, dtype, template_type, lengths, samples, mode, noise):
    random = np.random.default_rng(seed)
    signals = random_signal(random, (2, samples), dtype)
    templates = [1 + np.abs(random_signal(random, n, template_type)) for n in lengths]
    bank = convolume.CorrelationBank(signals.shape, templates, dtype=dtype, mode=mode, noise=noise, device="cpu")
    got = bank.snr(signals)
    for i, k in np.ndindex(2, len(templates)):
        want, _ = series_of(signals[i], templates[k], max(lengths), mode, noise or 1.0)
        np.testing.assert_allclose(got[i, k], want, rtol=0, atol=1e-5 * max(1, np.abs(want).max()))


@given(seed=st.integers(0, 2**32), dtype=st.sampled_from(TYPES), complex_templates=st.booleans(),
       lengths=st.lists(st.integers(1, 30), min_size=1, max_size=4), samples=st.integers(30, 400),
       mode=st.sampled_from(["same", "full", "valid"]), window=st.sampled_from([None, 1, 2, 7, 64, 1000]),
       per_template=st.booleans(), axis=st.sampled_from([0, 1, -1]))
def test_peaks(seed, dtype, complex_templates, lengths, samples, mode, window, per_template, axis):
    random = np.random.default_rng(seed)
    signals = random_signal(random, (2, samples), dtype)
    templates = [random_signal(random, n, "complex128" if complex_templates else "float64") for n in lengths]
    assume(dtype != "int16" or min(lengths) > 1)  # whole numbers are often equal
    threshold = 30.0
    got = convolume.correlation_peaks(np.moveaxis(signals, -1, axis), templates, axis=axis, mode=mode, window=window,
                                      threshold=threshold, per_template=per_template, position="sample", device="cpu")
    want = []
    for i in range(2):
        rows = [series_of(signals[i], template, max(lengths), mode) for template in templates]
        first, all_series = rows[0][1], np.array([row[0] for row in rows])
        width = min(window or max(lengths), all_series.shape[1])
        found = ([(place, k) for k in range(len(rows))
                  for place, _ in peaks_of(all_series[k:k + 1], first, width, threshold)]
                 if per_template else peaks_of(all_series, first, width, threshold))
        for place, k in sorted(found):
            value = all_series[k, place - first]
            want.append((i, k, place, np.abs(value), np.angle(value)))
    assert len(got) == len(want)
    for row, (signal, template, place, snr, phase) in zip(got, want, strict=True):
        assert (row["signal"], row["template"], row["position"]) == (signal, template, place)
        assert row["snr"] == pytest.approx(snr, rel=1e-9)
        assert np.exp(1j * row["phase"]) == pytest.approx(np.exp(1j * phase), abs=1e-6)


def gaussian(delay, samples, width=6.0, center=40.0):
    return np.exp(-(((np.arange(samples) - center - delay) / width) ** 2))


@pytest.mark.parametrize(("position", "bound"), [("sample", 0.5), ("parabola", 3e-3), ("interpolated", 3e-5)])
def test_places_between_samples(position, bound):
    template = gaussian(0, 81)
    delays = 500 * np.arange(1, 20) + np.linspace(-0.5, 0.5, 19)
    signal = sum(gaussian(delay, 10_500) for delay in delays)
    peaks = convolume.correlation_peaks(signal, template, threshold=0.1, position=position, device="cpu")
    errors = np.abs(peaks["position"] - delays)
    assert len(peaks) == 19
    assert errors.max() <= bound
    assert errors.max() > bound / 100  # the bound is not idle
    if position != "sample":
        bound = 2e-3 if position == "parabola" else 1e-7
        np.testing.assert_allclose(peaks["snr"], np.linalg.norm(template), rtol=bound)


def test_a_carrier_is_placed_within_its_cycle():
    """The correlation of a real pulse with a carrier changes its sign from sample to sample."""
    def pulse(delay, samples):
        return gaussian(delay, samples, 15) * np.cos(2 * np.pi * 0.3 * (np.arange(samples) - 40 - delay))
    signal = -pulse(300.3, 1000)
    peaks = convolume.correlation_peaks(signal, pulse(0, 81), threshold=1, position="interpolated", device="cpu")
    assert len(peaks) == 1
    assert peaks["position"][0] == pytest.approx(300.3, abs=1e-4)
    assert peaks["phase"][0] == pytest.approx(np.pi)


@pytest.mark.parametrize("position", ["sample", "parabola"])
def test_an_event_that_began_before(position):
    """Its strongest position in mode "same" is sample 0, and in mode "full" the position before the signal."""
    template = gaussian(0, 81)
    signal = np.concatenate([template[10:], np.zeros(300)])
    same, full = (convolume.correlation_peaks(signal, template, threshold=0.1, mode=mode, position=position,
                                              device="cpu") for mode in ("same", "full"))
    assert same["position"].tolist() == [0.0]
    np.testing.assert_allclose(full["position"], [-10], atol=1e-6)


def test_complex_events_have_a_phase():
    samples, delay, phase = 4000, 1000.4, 0.7
    t = np.arange(samples)
    chirp = np.exp(2j * np.pi * 1e-3 * (t - 200 - delay) ** 2 / 2) * gaussian(delay, samples, 60, 200)
    template = np.exp(2j * np.pi * 1e-3 * (np.arange(401) - 200) ** 2 / 2) * gaussian(0, 401, 60, 200)
    peaks = convolume.correlation_peaks(np.exp(1j * phase) * chirp, template, threshold=3, position="interpolated",
                                        device="cpu")
    assert len(peaks) == 1
    assert peaks["position"][0] == pytest.approx(delay, abs=1e-4)
    assert peaks["phase"][0] == pytest.approx(phase, abs=1e-4)


@pytest.mark.parametrize(("is_complex", "is_complex_template"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_noise_has_the_snr_one(is_complex, is_complex_template):
    random = np.random.default_rng(3)
    sigma = 7.0
    noise = random.normal(0, sigma, 400_000)
    if is_complex:
        noise = (noise + 1j * random.normal(0, sigma, noise.size)) / np.sqrt(2)
    templates = [random_signal(random, n, "complex128" if is_complex_template else "float64") for n in (5, 300)]
    for options in ({"noise": sigma}, {"noise_block": 20_000}):
        bank = convolume.CorrelationBank(noise.shape, templates, dtype=noise.dtype, mode="valid", device="cpu",
                                         **options)
        np.testing.assert_allclose((np.abs(bank.snr(noise)) ** 2).mean(-1), 1, atol=0.1)


@given(seed=st.integers(0, 2**32), samples=st.integers(1, 500), block=st.integers(16, 120),
       dtype=st.sampled_from(TYPES))
def test_levels_of_noise(seed, samples, block, dtype):
    signal = random_signal(np.random.default_rng(seed), samples, dtype)
    blocks = max(1, samples // block)
    ends = [block * (i + 1) for i in range(blocks - 1)] + [samples]
    median = np.sqrt(np.log(2)) if np.iscomplexobj(signal) else 0.6744897501960817
    wide = signal.astype(complex)
    levels = [np.median(np.abs(wide[block * i:end])) / median for i, end in enumerate(ends)]
    centers = [(block * i + end - 1) / 2 for i, end in enumerate(ends)]
    got = convolume.divide_by_noise(signal, block, precision="float64")
    if min(levels) == 0:  # of a single sample that is zero
        assert not np.any(got)
    else:
        np.testing.assert_allclose(got, wide / np.interp(np.arange(samples), centers, levels), rtol=1e-9, atol=1e-12)


def test_silence_takes_the_level_before():
    noise = np.random.default_rng(1).standard_normal(1000)
    noise[:100] = noise[300:400] = 0
    noise[340] = 3  # would be an infinite SNR if the level of its block, 0, counted
    got = convolume.divide_by_noise(noise, 100, precision="float64")
    level = np.median(np.abs(noise[200:300])) / 0.6744897501960817
    assert got[340] == pytest.approx(3 / level)
    assert np.all(np.isfinite(got))
    assert not np.any(convolume.divide_by_noise(np.zeros(100), 50))


def test_weak_events_in_noise_that_rises():
    random = np.random.default_rng(11)
    samples = 200_000
    level = np.linspace(1, 5, samples)
    signal = random.standard_normal(samples) * level
    template = np.hanning(200)
    places = np.arange(10_000, samples - 1000, 20_000)
    for place in places:
        signal[place:place + 200] += 15 * level[place] * template / np.linalg.norm(template)
    peaks = convolume.correlation_peaks(signal, template, noise_block=5000, threshold=8, device="cpu")
    assert len(peaks) == len(places)
    assert np.abs(peaks["position"] - places).max() < 20
    np.testing.assert_allclose(peaks["snr"], 15, atol=3.5)


def test_an_event_gives_one_peak():
    """Neighboring templates and positions respond to an event too, and so does the next window."""
    widths = [10, 14, 20, 28, 40, 56]
    templates = [np.hanning(width) for width in widths]
    signal = np.random.default_rng(2).normal(0, 0.02, 20_000)
    places = [1000, 5599, 9000]  # 5600 is a seam of windows
    for place, k in zip(places, (1, 3, 5), strict=True):
        signal[place:place + widths[k]] += templates[k]
    options = {"noise": 0.02, "threshold": 12, "window": 400, "device": "cpu"}
    peaks = convolume.correlation_peaks(signal, templates, **options)
    assert peaks["template"].tolist() == [1, 3, 5]
    np.testing.assert_allclose(peaks["position"], places, atol=0.5)
    assert len(convolume.correlation_peaks(signal, templates, per_template=True, **options)) == 18


def test_chirps_lose_at_most_the_mismatch():
    samples, frequency, drift, mismatch = 400, (0.1, 0.12), (-2e-4, 1e-4), 0.1
    templates, chirps = convolume.chirp_bank(samples, frequency, drift, mismatch=mismatch)
    assert chirps["frequency"].min() == frequency[0] and chirps["frequency"].max() == frequency[1]
    assert chirps["drift"].min() == drift[0] and chirps["drift"].max() == drift[1]
    random = np.random.default_rng(4)
    u = np.arange(samples) - (samples - 1) / 2
    np.testing.assert_allclose(templates[7], np.exp(2j * np.pi * (chirps["frequency"][7] * u
                                                                  + chirps["drift"][7] * u * u / 2)), atol=1e-5)
    f, d = random.uniform(*frequency, 1000), random.uniform(*drift, 1000)
    signals = np.exp(2j * np.pi * (np.outer(u, f) + np.outer(u * u / 2, d)))
    losses = 1 - np.abs(templates.conj() @ signals).max(0) / samples
    assert losses.max() <= mismatch
    assert losses.max() > 0.6 * mismatch  # the grid is not finer than it has to be


def test_spectra_of_drifting_tones():
    samples = 4096
    templates, drifts = convolume.spectral_chirp_bank(40, mismatch=0.03)
    u = np.arange(samples) / samples
    middle = (templates.shape[1] - 1) // 2
    tone = np.exp(2j * np.pi * (1000 * u + 12 * u * u / 2))  # from bin 1000 to 1012
    spectrum = np.fft.fft(tone) / samples
    response = templates[np.argmin(np.abs(drifts - 12))]
    assert drifts[np.argmin(np.abs(drifts - 12))] == 12
    np.testing.assert_allclose(response, spectrum[1006 - middle:1006 + middle + 1], atol=2e-3)
    noise = np.random.default_rng(6).standard_normal((2, samples))
    noisy = np.fft.fft(0.15 * tone + (noise[0] + 1j * noise[1]) / np.sqrt(2)) / np.sqrt(samples)
    peaks = convolume.correlation_peaks(noisy, templates, noise=1, threshold=7, window=64, device="cpu")
    assert len(peaks) == 1
    assert peaks["position"][0] + middle == pytest.approx(1006, abs=0.6)
    assert drifts[peaks["template"][0]] == pytest.approx(12, abs=3)
    assert peaks["snr"][0] == pytest.approx(0.15 * np.sqrt(samples), abs=3)


def test_on_every_device(device):
    random = np.random.default_rng(10)
    signals = random.standard_normal((2, 300_000)).astype(np.float32)
    templates = [random.standard_normal(n).astype(np.float32) for n in (20, 700)]
    options = {"noise_block": 5000, "threshold": 4, "window": 1000}
    got = convolume.correlation_peaks(signals, templates, device=device, **options)
    assert len(got) > 20
    np.testing.assert_array_equal(got, convolume.correlation_peaks(signals, templates, device="cpu", method="direct",
                                                                   **options))


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex64"])
def test_signals_in_the_memory_of_a_gpu(monkeypatch, dtype):
    cupy = gpu_stand_in.install(monkeypatch)
    random = np.random.default_rng(9)
    signals = random_signal(random, (3000, 2), dtype)
    templates = [random_signal(random, n, "float32") for n in (20, 50)]
    for position in ("parabola", "interpolated"):
        options = {"axis": 0, "threshold": 60, "window": 30, "position": position, "mode": "full"}
        want = convolume.correlation_peaks(signals, templates, device="cpu", **options)
        got = convolume.correlation_peaks(cupy.asarray(signals), templates, **options)
        assert len(want) > 5
        np.testing.assert_array_equal(got, want)
    bank = convolume.CorrelationBank(signals.shape, templates, axis=0, dtype=dtype)
    assert type(bank.snr(cupy.asarray(signals))) is gpu_stand_in.GpuArray
    with pytest.raises(convolume.InvalidArgument, match="noise_block"):
        convolume.correlation_peaks(cupy.asarray(signals), templates, noise_block=100)


REFUSED = [
    (lambda: convolume.correlation_peaks(np.ones(9), []), "filters"),
    (lambda: convolume.correlation_peaks(np.ones(9), [0.0, 0.0]), "template 0 is zero everywhere"),
    (lambda: convolume.correlation_peaks(np.ones(9), [[1.0], [np.nan]]), "template 1 holds NaN"),
    (lambda: convolume.correlation_peaks([1.0, np.nan], [1.0]), "sample 1"),
    (lambda: convolume.correlation_peaks(np.ones(9), [1.0], noise=0), "noise"),
    (lambda: convolume.correlation_peaks(np.ones(9), [1.0], noise=1.0, noise_block=16), "leave out one"),
    (lambda: convolume.correlation_peaks(np.ones(9), [1.0], noise_block=15), "at least 16"),
    (lambda: convolume.correlation_peaks(np.ones(9), [1.0], threshold=-1), "threshold"),
    (lambda: convolume.correlation_peaks(np.ones(9), [1.0], window=0), "window"),
    (lambda: convolume.correlation_peaks(np.ones(9), [1.0], position="nearest"), "parabola"),
    (lambda: convolume.correlation_peaks(np.ones(2), np.ones(3), mode="valid"), "valid"),
    (lambda: convolume.chirp_bank(100, (0.1, 0.6), (0, 0)), "half the sampling rate"),
    (lambda: convolume.chirp_bank(100, (0.2, 0.1), (0, 0)), "lower end first"),
    (lambda: convolume.chirp_bank(100, (0.1, 0.2), (0, 0), mismatch=0), "mismatch"),
    (lambda: convolume.chirp_bank(10_000, (0.1, 0.4), (-1e-6, 1e-6), most_chirps=50), "most_chirps"),
    (lambda: convolume.spectral_chirp_bank(-1), "drift"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)
