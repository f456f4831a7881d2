# SPDX-License-Identifier: Apache-2.0
"""Conversion of signals between any sampling rates, whose ratio may vary."""

import math
from typing import Any

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import host_numbers
from ._errors import InvalidArgument
from ._options import axis_among
from ._resample import BlockForm, _BlockStream
from ._run import thread_count
from ._signal_axes import ResultAxes, give_back_signals
from ._sums import computable, numbers, precision_of

_NO_RATIOS = np.empty(0)


def _options(ratio: float, lowest_ratio: float | None, attenuation: float, pass_band: float, result: np.dtype[Any],
             workers: int | None) -> _core.RateOptions:
    return _core.RateOptions(ratio, lowest_ratio or 0, attenuation, pass_band, precision_of(result),
                             thread_count(workers))


def _ratios(ratio: Any) -> np.ndarray:
    """Returns a number, or the numbers of samples. Raises :class:`InvalidArgument` for other arrays."""
    found = host_numbers(ratio, "ratio")
    if found.ndim > 1 or found.dtype.kind == "c":
        raise InvalidArgument(f"ratio has the shape {found.shape} and the type {found.dtype}: give a number, or a real "
                              "number for each sample")
    return found.astype(np.float64, order="C")


@names_wrong_types
def convert_rate(x: Any, ratio: Any, axis: int = -1, *, lowest_ratio: float | None = None, attenuation: float = 120.0,
                 pass_band: float = 0.9, workers: int | None = None) -> Any:
    """Converts signals between two sampling rates of any ratio, which may vary from sample to sample.

    Result 0 is at sample 0. A result at sample i, or between samples i and i + 1, is followed by one after
    1 / ratio[i] samples. Results have no delay, and are low-pass filtered. Signals are zero beyond their ends. NaN
    reach the results whose taps meet them. For rational factors, :func:`convolume.signal.resample_poly` is faster.

    Parameters
    ----------
    x : array
        Signals along `axis`, in host memory. All other axes are a batch.
    ratio : float or array
        Sampling rate of the results, divided by that of the samples, from 1e-4 to 1e4: a number, or one for each
        sample.
    axis : int
        Axis of the samples.
    lowest_ratio : float, optional
        Ratio that the filter is made for, by default the lowest one of `ratio`.
    attenuation : float
        Bound of the error of results, from 20 to 180 dB below a tone's amplitude: for tones in the pass band, and for
        what is left of tones in the stop band. Results in float32 have rounding errors beside it, of -125 to -135 dB.
    pass_band : float
        End of the pass band, as a part of the lower of both Nyquist frequencies. The stop band begins there.
    workers
        See :class:`convolume.Run`.

    Returns
    -------
    array
        Results in the type of `x` if that is a floating-point type, and else in float64. Their number is that of the
        samples times the ratio, rounded up.

    Raises
    ------
    InvalidArgument
        Ratios out of range, of another number than the samples, or below `lowest_ratio`; an empty signal; an array in
        a GPU's memory (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.convert_rate(np.ones(44100, np.float32), 48000.5 / 44100).shape
    (48001,)
    >>> drift = np.linspace(1, 1.0001, 44100)
    >>> convolume.convert_rate(np.ones(44100, np.float32), drift).shape
    (44103,)
    """
    signals = numbers(x, "x")
    if not isinstance(signals, np.ndarray):
        raise InvalidArgument("x is in a GPU's memory, and rates are converted on the CPU: copy it to host memory")
    axis = axis_among(axis, signals.ndim)
    samples = computable(signals)
    ratios = _ratios(ratio)
    is_constant = ratios.ndim == 0
    if not is_constant and len(ratios) != samples.shape[axis]:
        raise InvalidArgument(f"there are {len(ratios)} ratios for {samples.shape[axis]} samples: give one for each "
                              "sample, or one number")
    constant = float(ratios) if is_constant else 1.0
    result = BlockForm.of(samples.dtype if samples.dtype.kind != "b" else np.uint8, None).result_type()
    options = _options(constant, lowest_ratio, attenuation, pass_band, result, workers)
    rows = np.moveaxis(samples, axis, -1)
    made = np.asarray(_core.convert_rate(rows.reshape(math.prod(rows.shape[:-1]), 1, rows.shape[-1]), options,
                                         _NO_RATIOS if is_constant else ratios))
    found = np.ascontiguousarray(np.moveaxis(made.reshape(*rows.shape[:-1], made.shape[-1]), -1, axis))
    axes = ResultAxes(axis, step=1 / constant, is_timed=is_constant)
    return give_back_signals(found, x, axes)


class RateConverter(_BlockStream):
    """Converts signals that come in blocks of any sizes between two sampling rates, whose ratio may vary.

    The results have the bits of one call of :func:`convert_rate`. They come `taps` / 2 samples late.

    Parameters
    ----------
    ratio : float
        Sampling rate of the results, divided by that of the samples, from 1e-4 to 1e4. It can be set later.
    lowest_ratio : float, optional
        Lowest ratio that the signals may have, for which the filter is made. By default `ratio`, so that it can only
        rise.
    attenuation, pass_band
        See :func:`convert_rate`.
    dtype : type
        Type of the samples. Results have it too, if it is a floating-point type; results of integers are float64.
    signals : int, optional
        Number of signals. Blocks then have the shape (signals, samples), and (samples,) by default.
    workers : int, optional
        See :class:`convolume.Run`.

    Raises
    ------
    InvalidArgument
        Numbers out of range (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> converter = convolume.RateConverter(48000 / 44100, lowest_ratio=1.08)
    >>> first = converter.push(np.ones(4410, np.float32))
    >>> converter.ratio *= 1.0001  # of the samples that follow
    >>> second = converter.push(np.ones(4410, np.float32))
    >>> third = converter.push(np.ones(4410, np.float32), ratio=np.linspace(1.0885, 1.0884, 4410))
    >>> len(first) + len(second) + len(third) + len(converter.finish())
    14401
    """

    @names_wrong_types
    def __init__(self, ratio: float = 1.0, *, lowest_ratio: float | None = None, attenuation: float = 120.0,
                 pass_band: float = 0.9, dtype: Any = np.float32, signals: int | None = None,
                 workers: int | None = None) -> None:
        self._form = BlockForm.of(dtype, signals)
        options = _options(ratio, lowest_ratio, attenuation, pass_band, self._form.result_type(), workers)
        self._core = _core.RateConverter(options, self._form.dtype, 1 if signals is None else signals)

    @property
    def taps(self) -> int:
        """The number of samples that a result reads. Half of them come after its time."""
        return int(self._core.taps)

    @property
    def ratio(self) -> float:
        """The ratio of the samples that come next. It can be set."""
        return float(self._core.ratio)

    @ratio.setter
    @names_wrong_types
    def ratio(self, ratio: float) -> None:
        self._core.ratio = ratio

    @names_wrong_types
    def push(self, block: Any, ratio: Any = None) -> np.ndarray:
        """Takes the next samples, and returns the results that they complete.

        Parameters
        ----------
        block : array
        ratio : float or array, optional
            The ratio of these samples: a number, or one for each. Its last value becomes `ratio` of the converter.

        Returns
        -------
        array
            Possibly without samples.
        """
        samples = self._form.read(block)
        ratios = _NO_RATIOS if ratio is None else _ratios(ratio)
        if ratios.ndim == 0:
            self._core.ratio, ratios = float(ratios), _NO_RATIOS
        return self._form.shaped(self._core.push(samples, ratios))
