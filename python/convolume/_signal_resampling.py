# SPDX-License-Identifier: Apache-2.0
"""Drop-ins for scipy.signal's functions of resampling. :mod:`convolume.signal` has their names."""

import importlib
import math
import operator
from typing import Any, Literal, get_args

import numpy as np

from ._argument_types import names_wrong_types, shown
from ._errors import InvalidArgument, optional_module
from ._gpu_numbers import GpuNumbers, on_host
from ._resample import Extension, Resampling, ResultCount, in_type_of, low_pass, resampled
from ._run import Device
from ._signal_axes import ResultAxes, give_back_signals
from ._sums import Array, given_back, numbers

_EXTENSIONS: tuple[Extension, ...] = get_args(Extension)
_MOST_ORDER = 2**20  # order of a filter of decimate()
_LEVELS = ("mean", "median", "minimum", "maximum")


@names_wrong_types
def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: complex = 0, *,
            device: Device = "auto", workers: int | None = None) -> Any:
    """Inserts zeros, filters, and keeps one of `down` results, as scipy.signal.upfirdn.

    No inserted zero is multiplied, and no result is computed that is not kept.

    Parameters
    ----------
    h : array
        Taps of the filter.
    x : array
        Signals along `axis`.
    up, down : int
        Factors by which the sampling rate is raised, then lowered.
    axis : int
        Axis of the samples. All other axes are a batch.
    mode : {"constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect", "line"}
        How signals continue beyond their ends: "smooth" along the line through the last two samples, "line" along the
        one through the first and the last sample.
    cval : number
        Value beyond the ends in mode "constant".
    device, workers
        See :class:`convolume.Run`. Arrays in host memory are resampled on the CPU.

    Returns
    -------
    array
        The results in the common type of `h`, `x` and float32.

    Raises
    ------
    InvalidArgument
        Factors below 1, a filter that is not one row of taps, an empty signal, or an unknown mode (a ValueError).

    Examples
    --------
    >>> from convolume.signal import upfirdn
    >>> upfirdn([1, 1, 1], [1, 2, 3], 3)
    array([1., 1., 1., 2., 2., 2., 3., 3., 3.])
    >>> upfirdn([.5, 1, .5], range(10), 2, 3)
    array([0. , 1. , 2.5, 4. , 5.5, 7. , 8.5])
    """
    signals, taps = numbers(x, "x"), on_host(numbers(h, "h"))
    if taps.ndim != 1 or taps.size == 0:
        raise InvalidArgument("h must be 1-D with non-zero length")
    up, down = int(up), int(down)
    if up < 1 or down < 1:
        raise InvalidArgument("Both up and down must be >= 1")
    resampling = Resampling(taps, up, down, 0, _extension(mode), cval)
    result = _resampled(signals, resampling, "full", axis, device, workers)
    return _timed(result, x, axis, down / up)


@names_wrong_types
def resample_poly(x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0), padtype: str = "constant",
                  cval: float | None = None, *, device: Device = "auto", workers: int | None = None) -> Any:
    """Resamples signals by up / down with a low-pass filter without delay, as scipy.signal.resample_poly.

    Parameters
    ----------
    x : array
        Signals along `axis`.
    up, down : int
        Factors by which the sampling rate is raised, then lowered.
    axis : int
        Axis of the samples. All other axes are a batch.
    window : str, tuple or array
        Window of the low-pass filter, as of scipy.signal.get_window, or the filter itself: taps for signals of `up`
        times the sampling rate, after division of `up` and `down` by common factors. Windows other than Kaiser's need
        SciPy.
    padtype : str
        How signals continue beyond their ends: a mode of :func:`convolume.signal.upfirdn`, or "mean", "median",
        "minimum" or "maximum" of the samples along `axis`.
    cval : number, optional
        Value beyond the ends with padtype "constant", 0 by default.
    device, workers
        See :class:`convolume.Run`. Arrays in host memory are resampled on the CPU.

    Returns
    -------
    array
        Samples · up / down results, rounded up, in the type of `x` if that is float32, float64 or complex, and else in
        float64.

    Raises
    ------
    InvalidArgument
        Factors that are not whole numbers from 1 on, an unknown padtype, `cval` with another padtype than "constant",
        or an empty signal (a ValueError).
    Unavailable
        A window that needs SciPy, which is not installed (a RuntimeError).

    Examples
    --------
    >>> import numpy as np
    >>> from convolume.signal import resample_poly
    >>> resample_poly(np.ones(44100, np.float32), 160, 147).shape
    (48000,)
    """
    signals = numbers(x, "x")
    up, down = _whole(up, "up"), _whole(down, "down")
    if up < 1 or down < 1:
        raise InvalidArgument("up and down must be >= 1")
    if cval is not None and padtype != "constant":
        raise InvalidArgument(f"cval has no effect when padtype is {padtype}")
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == down == 1:
        return _timed(signals.copy(), x, axis, 1)
    taps = _filter(signals, up, down, window)
    if padtype not in (*_EXTENSIONS, *_LEVELS):
        raise InvalidArgument(f"padtype must be one of: {', '.join((*_LEVELS, *_EXTENSIONS))}")
    if padtype in _LEVELS and signals.dtype.kind in "biu":  # differences of unsigned integers would wrap around
        signals = signals.astype(np.dtype(np.float64))
    level = _level(signals, padtype, axis) if padtype in _LEVELS else None
    extension: Extension = "constant" if level is not None else _extension(padtype)
    resampling = Resampling(taps, up, down, (taps.size - 1) // 2, extension, cval or 0)
    result = _resampled(signals if level is None else signals - level, resampling, "same", axis, device, workers)
    return _timed(result if level is None else result + level, x, axis, down / up)


@names_wrong_types
def decimate(x: Any, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True, *,
             device: Device = "auto", workers: int | None = None) -> Any:
    """Lowers the sampling rate by a whole factor after a low-pass filter, as scipy.signal.decimate.

    FIR filters are computed here, one of `q` results alone. IIR filters are computed by SciPy, which must be installed,
    and on a GPU by CuPy.

    Parameters
    ----------
    x : array
        Signals along `axis`.
    q : int
        Factor.
    n : int, optional
        Order of the filter: taps - 1 of an FIR filter. By default 20 · q for "fir" and 8 for "iir".
    ftype : {"iir", "fir"} or scipy.signal.dlti
        Kind of filter, or the filter.
    axis : int
        Axis of the samples. All other axes are a batch.
    zero_phase : bool
        Whether the results have no delay.
    device, workers
        See :class:`convolume.Run`. Arrays in host memory are decimated on the CPU.

    Returns
    -------
    array
        Samples / q results, rounded up.

    Raises
    ------
    InvalidArgument
        An unknown kind of filter, or an empty signal (a ValueError).
    Unavailable
        SciPy, which designs the filter, is not installed (a RuntimeError).

    Examples
    --------
    >>> import numpy as np
    >>> from convolume.signal import decimate
    >>> decimate(np.ones(1000), 10, ftype="fir").shape
    (100,)
    """
    q = operator.index(q)
    if q < 1:
        raise InvalidArgument(f"q is {q}: give a whole number, 1 at least")
    if n is not None and not 0 <= n <= _MOST_ORDER:
        raise InvalidArgument(f"a filter of order {n}: give n from 0 to {_MOST_ORDER}")
    n = None if n is None else operator.index(n)
    signals = numbers(x, "x")
    taps = _fir_taps(q, n, ftype)
    own = _computed_type(signals.dtype) if signals.dtype.kind in "fc" and signals.dtype.char != "e" else np.dtype("d")
    if taps is None:
        signals = signals.astype(own) if signals.dtype.char in "gG" else signals
        result = _decimated_by_iir(signals, q, 8 if n is None else n, ftype, axis, zero_phase, own)
        return _timed(result, x, axis, q)
    if q == 1 and zero_phase:  # SciPy leaves the signal as it is
        return _timed(signals.copy(), x, axis, 1)
    taps = in_type_of(taps, own) if isinstance(ftype, str) else taps
    origin = (taps.size - 1) // 2 if zero_phase else 0
    result = _resampled(signals, Resampling(taps, 1, q, origin), "same", axis, device, workers)
    return _timed(result, x, axis, q)


def _timed(result: Any, signals: Any, axis: int, step: float) -> Any:
    """Returns a result in the form of the signals, of which result n is at sample n * step."""
    if not isinstance(result, np.ndarray) or result.ndim == 0:
        return given_back(result, signals)
    return give_back_signals(result, signals, ResultAxes(axis % result.ndim, step=step))


def _whole(factor: Any, name: str) -> int:
    try:
        whole = int(factor)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be an integer: {factor!r}") from None
    if whole != factor:
        raise InvalidArgument(f"{name} must be an integer: {factor!r}")
    return whole


def _extension(mode: str) -> Extension:
    for known in _EXTENSIONS:
        if known == mode.lower():
            return known
    raise InvalidArgument(f"Unknown mode: {mode}: write one of {', '.join(_EXTENSIONS)}")


def _resampled(signals: Array, resampling: Resampling, count: ResultCount, axis: int, device: Device,
               workers: int | None) -> Array:
    dtype = _computed_type(np.result_type(resampling.taps.dtype, signals.dtype, np.float32))
    return resampled(signals, resampling, count, axis, dtype, device, workers)


def _computed_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns a floating-point type, or double precision in place of long double."""
    return np.dtype({"g": "d", "G": "D"}.get(dtype.char, dtype.char))


def _filter(signals: Array, up: int, down: int, window: Any) -> np.ndarray:
    """Returns the taps of resample_poly() for its argument `window`."""
    if not isinstance(window, (str, tuple, float)) and window is not None:
        taps: np.ndarray = on_host(numbers(window, "window"))
        if taps.ndim != 1 or taps.size == 0:
            raise InvalidArgument("window must be 1-D, with one tap at least")
        return taps * up
    rate = max(up, down)
    try:
        if isinstance(window, tuple) and len(window) == 2 and window[0] in ("kaiser", "ksr"):
            return low_pass(up, down, signals.dtype, float(window[1]))
        module = _scipy_signal("a window other than Kaiser's")
        taps = module.firwin(20 * rate + 1, 1 / rate, window=window)
    except (TypeError, ValueError, IndexError) as error:  # a window that SciPy does not know
        raise InvalidArgument(f"window {shown(window)}: {error}") from None
    return in_type_of(taps, signals.dtype) * up


def _fir_taps(q: int, n: int | None, ftype: Any) -> np.ndarray | None:
    """Returns the taps of decimate(), or None for an IIR filter."""
    if isinstance(ftype, str):
        if ftype not in ("fir", "iir"):
            raise InvalidArgument(f"invalid ftype '{ftype}': write 'iir', 'fir', or give a scipy.signal.dlti")
        if ftype == "iir":
            return None
        order = 20 * q if n is None else n
        return np.asarray(_scipy_signal("the filter of a decimation").firwin(order + 1, 1 / q, window="hamming"))
    if not hasattr(ftype, "to_zpk"):
        raise InvalidArgument("invalid ftype: write 'iir', 'fir', or give a scipy.signal.dlti")
    if ftype.to_zpk().poles.shape[0]:
        return None
    system = ftype.to_tf()
    return np.asarray(system.num / system.den)


def _decimated_by_iir(signals: Array, q: int, order: int, ftype: Any, axis: int, zero_phase: bool,
                      dtype: np.dtype[Any]) -> Any:
    """Computes decimate() by an IIR filter, through SciPy or CuPy."""
    is_on_gpu = isinstance(signals, GpuNumbers)
    if is_on_gpu and signals.module.__name__ != "cupy":
        raise InvalidArgument("an IIR filter on a GPU is computed by CuPy: give its arrays, or choose ftype 'fir'")
    module: Any = (importlib.import_module("cupyx.scipy.signal") if is_on_gpu
                   else _scipy_signal("a decimation by an IIR filter"))
    samples = signals.array if is_on_gpu else signals
    if not -signals.ndim <= operator.index(axis) < signals.ndim:
        raise InvalidArgument(f"axis {axis} exceeds the {signals.ndim} dimensions of x")
    if isinstance(ftype, str):
        sections = module.cheby1(order, 0.05, 0.8 / q, output="sos").astype(dtype)
    else:
        zpk = ftype.to_zpk()
        if np.iscomplex(np.concatenate([zpk.zeros, zpk.poles, np.atleast_1d(zpk.gain)])).any():
            system = ftype.to_tf()
            filtered = (module.filtfilt if zero_phase else module.lfilter)(system.num, system.den, samples, axis=axis)
            return filtered[_every(q, axis, filtered.ndim)]
        sections = module.zpk2sos(zpk.zeros, zpk.poles, zpk.gain).astype(dtype)
    try:
        filtered = (module.sosfiltfilt if zero_phase else module.sosfilt)(sections, samples, axis=axis)
    except ValueError as error:  # a signal that is shorter than the filter
        raise InvalidArgument(str(error)) from None
    return filtered[_every(q, axis, filtered.ndim)]


def _every(q: int, axis: int, dimensions: int) -> tuple[slice, ...]:
    """Returns the index of one of q samples along an axis."""
    return (slice(None),) * (axis % dimensions) + (slice(None, None, q),)


def _level(signals: Array, kind: Literal["mean", "median", "minimum", "maximum"] | str, axis: int) -> Array:
    """Returns the value that stands for the samples beyond the ends, with an extent of 1 along the axis."""
    if isinstance(signals, GpuNumbers):
        raise InvalidArgument(f"padtype '{kind}' is for arrays in host memory: use 'constant' with cval, or 'edge'")
    function: Any = {"mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max}[kind]
    return function(signals, axis=axis, keepdims=True)


def _scipy_signal(what: str) -> Any:
    return optional_module("scipy.signal", f"{what} is computed by SciPy, which is not installed: pip install scipy")
