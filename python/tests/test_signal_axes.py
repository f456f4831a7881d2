# SPDX-License-Identifier: Apache-2.0
"""Times and frequencies of results: an event must be found where it was, and a tone in the channel at its frequency."""

import numpy as np
import pytest

import convolume
from convolume.signal import decimate, resample_poly, upfirdn

xarray = pytest.importorskip("xarray")

RATE, START, AT = 500.0, 12.0, 333
EVENT = START + AT / RATE


def signals(kind="array", samples=1200):
    """Returns two signals with an event in the second one."""
    values = np.zeros((2, samples))
    values[1, AT] = 1
    if kind == "signal":
        return convolume.Signal.of_array(values, sampling_rate=RATE, start=START)
    seconds = START + np.arange(samples) / RATE
    times = {"array": ("time", seconds, {"units": "s"}),
             "calendar": np.datetime64("1970-01-01", "ns") + np.round(seconds * 1e9).astype("m8[ns]")}[kind]
    return xarray.DataArray(values, dims=("detector", "time"), name="strain", attrs={"site": "north"}, coords={
        "time": times, "detector": ["a", "b"], "run": 7})


def check_event(result, rate, found_at=EVENT):
    """Tests the time of the largest sample. Its axis is the last one."""
    if isinstance(result, convolume.Signal):
        times, values = result.times, np.asarray(result)
        assert result.sampling_rate == pytest.approx(rate)
    else:
        assert isinstance(result, xarray.DataArray) and result.name == "strain" and result.attrs == {"site": "north"}
        assert result.dims[0] == "detector" and list(result.detector) == ["a", "b"] and result.run == 7
        times, values = np.asarray(result.time), result.values
        if times.dtype.kind == "M":
            times = times.astype("i8") / 1e9
    place = np.abs(values.reshape(-1, values.shape[-1])).max(0).argmax()
    np.testing.assert_allclose(np.diff(times), 1 / rate, rtol=1e-6)
    assert abs(times[place] - found_at) <= 0.5 / rate + 1e-6


KINDS = pytest.mark.parametrize("kind", ["array", "calendar", "signal"])


@KINDS
@pytest.mark.parametrize("options", [{}, {"mode": "full"}, {"mode": "valid"}, {"span": (40, 900)}])
def test_filters(kind, options):
    taps = np.zeros(7)
    taps[2] = 1
    check_event(convolume.filter_bank(signals(kind), taps, origin=2, device="cpu", **options), RATE)
    both = convolume.FilterBank((2, 1200), np.stack([taps, taps]), origin=2, device="cpu", **options)(signals(kind))
    check_event(both, RATE)
    assert both.shape[:2] == (2, 2) and (kind == "signal" or both.dims[1] == "filter")


@KINDS
def test_windows_and_their_positions(kind):
    power, where = convolume.filter_bank(signals(kind), [1.0], post="power", window=("peak", 10), positions=True,
                                         device="cpu")
    check_event(power, RATE / 10, START + AT // 10 * 10 / RATE)
    assert type(where) is type(power) and np.asarray(where)[1, AT // 10] == AT


@KINDS
@pytest.mark.parametrize("options, taps", [({}, 128), ({"step": 5}, 128), ({"first": 90, "step": 3}, 128),
                                           ({"prototype": np.hanning(33), "step": 2}, 33)])
def test_channels(kind, options, taps):
    frames = convolume.channelize(signals(kind), 16, **options)
    step = options.get("step", 16)
    check_event(frames, RATE / step)
    first = (options.get("first", 0) - (taps - 1) / 2) / RATE
    if kind == "signal":
        assert frames.start == pytest.approx(START + first)
        frequencies = frames.center_frequencies
    else:
        assert frames.dims == ("detector", "frequency", "time") and frames.frequency.attrs == {"units": "Hz"}
        frequencies = np.asarray(frames.frequency)
    np.testing.assert_allclose(frequencies, np.arange(9) * RATE / 16)
    # The synthesis brings the samples back to their times, up to the rounding of starts to float64.
    if "prototype" not in options and step < 16:
        joined = convolume.synthesize(convolume.channelize(signals(kind), 16, tail=True, **options), 16,
                                      dtype=np.float64, samples=1200, **options)
        check_event(joined, RATE)


@pytest.mark.parametrize("tone", [0, 62.5, -125, -218.75])
def test_frequencies_of_complex_channels(tone):
    times = START + np.arange(4000) / RATE
    x = xarray.DataArray(np.exp(2j * np.pi * tone * times), dims="t", coords={"t": ("t", times * 1e3, {"units": "ms"})})
    frames = convolume.channelize(x, 16)
    assert frames.dims == ("frequency", "t") and frames.t.attrs == {"units": "ms"}
    assert frames.frequency[int(np.abs(frames[:, 100:]).values.sum(1).argmax())] == pytest.approx(tone)
    plain = convolume.channelize(x.drop_vars("t"), 16)
    assert "t" not in plain.coords and plain.frequency.attrs == {"units": "cycles/sample"}
    np.testing.assert_allclose(plain.frequency * RATE, frames.frequency)
    twice = convolume.channelize(frames, 4)
    assert twice.dims == ("frequency", "frequency_2", "t")


@KINDS
def test_resampling(kind):
    for axis_options in ({"axis": 1}, {"axis": -1}):
        check_event(resample_poly(signals(kind), 3, 2, **axis_options), RATE * 1.5)
        check_event(resample_poly(signals(kind), 2, 2, **axis_options), RATE)
    check_event(decimate(signals(kind), 3, ftype="fir"), RATE / 3)
    check_event(decimate(signals(kind), 3), RATE / 3)
    check_event(upfirdn([1.0], signals(kind), 1, 3), RATE / 3)


@KINDS
@pytest.mark.parametrize("options", [{"noise": 0.1}, {"noise_block": 600}])
def test_templates(kind, options):
    pulse = np.hanning(51)
    x = signals(kind)
    values = np.asarray(x) * 0 + np.random.default_rng(1).normal(0, 1e-3, (2, 1200))
    values[1, AT:AT + 51] += pulse
    x = convolume.Signal.of_array(values, sampling_rate=RATE, start=START) if kind == "signal" else x.copy(data=values)
    for mode in ("same", "full"):
        snr = convolume.CorrelationBank((2, 1200), [pulse, pulse[:9]], mode=mode, device="cpu", **options).snr(x)
        check_event(snr[:, :1], RATE)
        assert kind == "signal" or snr.dims == ("detector", "template", "time")
    check_event(convolume.divide_by_noise(x, 600), RATE, EVENT + 25 / RATE)


def test_other_axes_and_uneven_times():
    x = signals().T.copy()
    result = convolume.filter_bank(x, np.ones((3, 5)), axis=0, mode="full", device="cpu")
    assert result.dims == ("filter", "time", "detector") and result.time[0] == pytest.approx(START - 2 / RATE)
    frames = convolume.channelize(x, 8, axis=0)
    assert frames.dims == ("frequency", "time", "detector")
    uneven = signals().assign_coords(time=np.arange(1200.0) ** 2)
    assert "time" not in convolume.filter_bank(uneven, [1.0, 2], mode="full", device="cpu").coords
    assert np.array_equal(convolume.filter_bank(uneven, [1.0, 2], device="cpu").time, uneven.time)
    pairs = xarray.DataArray(np.arange(400.0), dims="t", coords={"t": np.arange(400.0)})
    assert convolume.channelize(pairs, 4, interleaved=True).coords == {}
    kept = signals().assign_coords(quality=("time", np.arange(1200)))
    assert "quality" in convolume.filter_bank(kept, [1.0], device="cpu").coords
    assert "quality" not in convolume.channelize(kept, 8).coords
