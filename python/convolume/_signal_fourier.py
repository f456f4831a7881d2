# SPDX-License-Identifier: Apache-2.0
"""Drop-in for scipy.signal.resample. :mod:`convolume.signal` has its name."""

from typing import Any, Literal

import numpy as np

from ._argument_types import names_wrong_types, shown
from ._errors import InvalidArgument, optional_module
from ._options import axis_among, whole_numbers
from ._run import Device, parse_device, thread_count
from ._signal_axes import ResultAxes, give_back_signals
from ._sums import numbers

Domain = Literal["time", "freq"]


@names_wrong_types
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: Domain = "time", *,
             device: Device = "auto", workers: int | None = None) -> Any:
    """Resamples signals to `num` samples by their Fourier transforms, as scipy.signal.resample.

    Signals count as periodic. It is computed by scipy.fft, which must be installed, on the CPU. For signals that are
    long or not periodic, see :func:`convolume.signal.resample_poly` and :func:`convolume.convert_rate`.

    Parameters
    ----------
    x : array
        Signals along `axis`, in host memory, or their spectra.
    num : int
        Number of samples of the result.
    t : array, optional
        Times of the samples, evenly spaced. The times of the results are then returned, too.
    axis : int
        Axis of the samples. All other axes are a batch.
    window : array, function, str or tuple, optional
        Factors of the spectrum, in the order of scipy.fft.fftfreq: an array, a function of the frequencies in cycles
        per sample, or a name for scipy.signal.get_window.
    domain : {"time", "freq"}
        Whether `x` holds samples or spectra, in the order of scipy.fft.fftfreq.
    device, workers
        See :class:`convolume.Run`. `device` must be "auto" or "cpu".

    Returns
    -------
    array or tuple of arrays
        Results, real if `x` is real and holds samples; with `t` a tuple of results and times.

    Raises
    ------
    InvalidArgument
        A number of samples below 1, a window of another length than the signal, an unknown domain, an empty signal,
        or an array in a GPU's memory (a ValueError).
    Unavailable
        SciPy is not installed (a RuntimeError).

    Examples
    --------
    >>> import numpy as np
    >>> from convolume.signal import resample
    >>> resample(np.cos(2 * np.pi * np.arange(8) / 8), 4).round(6) + 0
    array([ 1.,  0., -1.,  0.])
    """
    if domain not in ("time", "freq"):
        raise InvalidArgument(f"Parameter domain={domain!r} not in ('time', 'freq')!")
    signals = numbers(x, "x")
    if not isinstance(signals, np.ndarray) or parse_device(device)[0] == "gpu":
        raise InvalidArgument("resample computes on the CPU: copy x to host memory, and leave device as 'auto'")
    axis = axis_among(axis, signals.ndim)
    samples, [count] = signals.shape[axis], whole_numbers([num], "num")
    if count < 1 or samples < 1:
        raise InvalidArgument(f"{samples} samples cannot become {num}: both numbers are 1 at least")
    fft = optional_module("scipy.fft", "resample computes by scipy.fft, and SciPy is not installed: pip install scipy")
    is_exact = signals.dtype.kind == "b" or domain == "freq" and signals.dtype.kind in "iu"
    rows = np.moveaxis(signals.astype(np.float64) if is_exact else signals, axis, -1)
    factors = _factors(window, samples)
    with fft.set_workers(thread_count(workers) or -1):
        if domain == "time" and rows.dtype.kind != "c":
            spectrum = _resized_half(fft.rfft(rows), factors, samples, count)
            found = fft.irfft(spectrum * (count / samples), count, overwrite_x=True)
        else:
            spectrum = fft.fft(rows) if domain == "time" else rows
            found = fft.ifft(_resized(spectrum if factors is None else spectrum * factors, count) * (count / samples),
                             overwrite_x=True)
    axes = ResultAxes(axis, step=samples / count, is_timed=domain == "time")
    result = give_back_signals(np.moveaxis(found, -1, axis), x, axes)
    if t is None:
        return result
    times = numbers(t, "t")
    if times.ndim != 1 or len(times) < 2:
        raise InvalidArgument("t needs the times of two samples at least")
    return result, times[0] + (times[1] - times[0]) * (samples / count) * np.arange(count)


def _factors(window: Any, samples: int) -> np.ndarray | None:
    """Returns the factors of all frequencies, in the order of fftfreq."""
    if window is None:
        return None
    if callable(window):
        return np.asarray(window(np.fft.fftfreq(samples)))
    if hasattr(window, "shape"):
        factors = np.asarray(window)
        if factors.shape != (samples,):
            raise InvalidArgument(f"window.shape={factors.shape} != ({samples},), i.e., window length is not equal to "
                                  "number of frequency bins!")
        return factors
    module = optional_module("scipy.signal", "windows are made by SciPy, which is not installed: pip install scipy")
    try:
        return np.fft.fftshift(module.get_window(window, samples))
    except (TypeError, ValueError, IndexError) as error:  # a window that SciPy does not know
        raise InvalidArgument(f"window {shown(window)}: {error}") from None


def _resized_half(spectrum: np.ndarray, factors: np.ndarray | None, samples: int, count: int) -> np.ndarray:
    """Returns the spectrum of real signals, half of the frequencies, for another number of samples."""
    if factors is not None:  # those of a frequency and of its negative act on both alike
        both = (factors + np.roll(factors[::-1], 1)) / 2
        spectrum *= both[:spectrum.shape[-1]]
    least = min(samples, count)
    kept = spectrum[..., :least // 2 + 1].copy()
    if least % 2 == 0 and samples != count:
        kept[..., -1] *= 2 if count < samples else 0.5  # the Nyquist frequency stands for two frequencies or for one
    return kept


def _resized(spectrum: np.ndarray, count: int) -> np.ndarray:
    """Returns a whole spectrum for another number of samples."""
    samples = spectrum.shape[-1]
    least = min(samples, count)
    half = least // 2
    resized = np.zeros((*spectrum.shape[:-1], count), spectrum.dtype)
    resized[..., :least - half] = spectrum[..., :least - half]
    if half:
        resized[..., count - half:] = spectrum[..., samples - half:]
    if least % 2 == 0 and count < samples:
        resized[..., half] += spectrum[..., half]
    elif least % 2 == 0 and count > samples:
        resized[..., count - half] /= 2
        resized[..., half] = resized[..., count - half]
    return resized
