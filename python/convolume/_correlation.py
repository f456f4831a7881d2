# SPDX-License-Identifier: Apache-2.0
"""Correlation banks: matched filters over long 1D signals, and the peaks of their signal-to-noise ratio."""

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import readable
from ._device import DeviceArray, host_copy, is_on_gpu, on_stream
from ._errors import InvalidArgument
from ._filters import FilterBank, FilterMethod, _Problem
from ._options import Mode, Nan, Precision, axis_among, defaults_of, with_keywords
from ._run import Devices, Progress, engines, progress_bar
from ._signal_axes import ResultAxes, give_back_signals

PeakPosition = Literal["sample", "parabola", "interpolated"]

#: Type of peaks: numbers of the signal and the template, position in samples, SNR, and phase in radians.
PEAK = np.dtype([("signal", np.int64), ("template", np.int64), ("position", np.float64), ("snr", np.float64),
                 ("phase", np.float64)])
# Keywords that are not those of filters.
_OWN = ("noise", "noise_block", "threshold", "window", "position", "per_template")


class _CommonKeywords(Devices, total=False):
    """Keywords of both :class:`CorrelationBank` and :func:`correlation_peaks`."""

    axis: int
    mode: Mode
    noise: float | None
    noise_block: int | None
    threshold: float
    window: int | None
    position: PeakPosition
    per_template: bool
    method: FilterMethod
    nan: Nan
    precision: Precision | None


class CorrelationKeywords(_CommonKeywords, total=False):
    """Keywords of :class:`CorrelationBank`."""

    dtype: Any


class PeakKeywords(_CommonKeywords, total=False):
    """Keywords of :func:`correlation_peaks`."""

    stream: Any
    progress: Progress


def _defaults(keywords: Any) -> dict[str, Any]:
    return defaults_of(keywords, "FilterOptions", "CorrelationOptions", axis=-1, dtype=np.float32, precision=None)


class CorrelationBank:
    """Correlates signals of one shape with a bank of templates. It is planned once and may be called often.

    The SNR of a template h at position n of a signal x, where the template begins, is the sum over k of
    ``conj(h[k]) * x[n + k] / s[n + k]``, divided by ``sqrt(sum(abs(h)**2))``. Here s is the standard deviation of the
    noise. In white noise alone, the mean of ``abs(snr)**2`` is 1 for every template (Turin, IRE Trans. Inf. Theory
    6:311, 1960).

    Parameters
    ----------
    shape : sequence of ints
        Shape of the signals. All axes but `axis` are a batch.
    templates : array of samples, array of templates × samples, or a list of arrays of any lengths
        The templates, which are copied.
    axis : int
        Axis of the samples.
    dtype : type, optional
        Type of the signals that will come. It sets the precision, and whether they are complex.
    mode, noise, noise_block, threshold, window, position, per_template, method
        See :func:`correlation_peaks`.
    nan, precision
        See :class:`Convolver`. SNR and position of peaks are computed in double precision.
    device, workers, max_gpu_mem, fft
        See :class:`convolume.Run`; for signals in host memory.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves or the shapes (a ValueError).
    BadData
        A template of zeros, or with NaN (a ValueError).
    OutOfMemory
        No plan fits the memory limits (a MemoryError).
    Unavailable
        No device has the method, or a GPU is requested and there is none (a RuntimeError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> pulses = [np.hanning(20), np.hanning(60)]
    >>> bank = convolume.CorrelationBank((1000,), pulses, noise=0.1, device="cpu")
    >>> signal = np.zeros(1000)
    >>> signal[300:360] = pulses[1]
    >>> bank.peaks(signal)[["template", "position"]]
    array([(1, 300.)],
          dtype={'names': ['template', 'position'], 'formats': ['<i8', '<f8'], 'offsets': [8, 16], 'itemsize': 40})
    >>> bank.snr(signal).shape
    (2, 1000)
    """

    @with_keywords(CorrelationKeywords, _defaults(CorrelationKeywords))
    def __init__(self, shape: Sequence[int], templates: Any, **options: Unpack[CorrelationKeywords]) -> None:
        arguments: dict[str, Any] = dict(options)
        own = {name: arguments.pop(name) for name in _OWN if name in arguments}
        self._problem = _Problem(shape, templates, arguments.pop("dtype", np.float32), arguments)
        self._noise: float | None = own.get("noise")
        self._block: int | None = own.get("noise_block")
        problem = self._problem
        self._core = _core.CorrelationBank(problem.signals, problem.shape[problem.axis], problem.rows, problem.options,
                                           _core.CorrelationOptions(**own), engines(arguments), problem.dtype)
        self._series: FilterBank | None = None
        self._maxima: FilterBank | None = None
        self.shape: tuple[int, ...] = problem.shape
        self.window: int = self._core.window

    def _filters(self, shape: tuple[int, ...], single: bool, **options: Any) -> FilterBank:
        """Plans a bank of the conjugated, reversed templates."""
        problem = self._problem
        taps: list[np.ndarray] = [row.reshape(-1) for row in _core.matched_filters(problem.rows, self._noise or 1.0)]
        return FilterBank(shape, taps[0] if single else taps, dtype=problem.dtype, origin="anticausal",
                          **problem.arguments | options)

    @names_wrong_types
    def snr(self, signals: Any, out: Any = None, *, stream: Any = None, progress: Progress = None) -> Any:
        """Returns the SNR of every template at every position.

        Parameters
        ----------
        signals, out, stream, progress
            As of :meth:`FilterBank.__call__`: arrays in host memory or in a GPU's.

        Returns
        -------
        snr : array
            Along `axis`, with the signals' other axes, real or complex. If `templates` is not one array of samples,
            an axis of templates comes before `axis`. Element i of mode "same" is that of a template that begins at
            sample i.
        """
        problem = self._problem
        if self._series is None:
            self._series = self._filters(problem.shape, problem.single)
            self._series._problem.rows_name = "template"
        divided = signals if self._block is None else self._divided(signals)
        return self._series(divided, out, stream=stream, progress=progress)

    def _divided(self, signals: Any) -> Any:
        """Returns signals in host memory, divided by the level of their noise."""
        self._refuse_block_on_gpu(signals)
        self._problem.check_shape(readable(signals, "the signals").shape)
        return divide_by_noise(signals, self._block or 0, axis=self._problem.axis,
                               precision=self._problem.arguments["precision"])

    def _refuse_block_on_gpu(self, signals: Any) -> None:
        if self._block is not None and is_on_gpu(signals):
            raise InvalidArgument("noise_block estimates the noise of signals in host memory: give noise instead, or "
                                  "copy them to the host")

    @names_wrong_types
    def peaks(self, signals: Any, *, stream: Any = None, progress: Progress = None) -> np.ndarray:
        """Finds the peaks of the SNR.

        Parameters
        ----------
        signals, stream, progress
            As of :meth:`FilterBank.__call__`. Of arrays in a GPU's memory, the largest SNR of each window and the
            samples beside peaks are copied to the host.

        Returns
        -------
        peaks : structured array
            See :func:`correlation_peaks`.
        """
        problem = self._problem
        if is_on_gpu(signals, stream):
            self._refuse_block_on_gpu(signals)
            with on_stream(signals, stream):
                return self._peaks_on_gpu(DeviceArray.of(signals, "the signals"), stream)
        samples = readable(signals, "the signals")
        problem.check_shape(samples.shape)
        flat = np.moveaxis(samples, problem.axis, -1).reshape(problem.signals, problem.shape[problem.axis])
        with progress_bar(progress) as report:
            return _structured(self._core.peaks(flat, report))

    def _peaks_on_gpu(self, signals: DeviceArray, stream: Any) -> np.ndarray:
        problem = self._problem
        problem.check_shape(signals.shape)
        rows, samples = problem.signals, problem.shape[problem.axis]
        if self._maxima is None:
            self._maxima = self._filters((rows, samples), False, axis=-1, post="power", window=("peak", self.window),
                                         positions=True)
        flat = signals.along_last(problem.axis).array.reshape(rows, samples)
        powers, positions = (host_copy(array) for array in self._maxima(flat, stream=stream))

        def read(signal: int, begin: int, count: int) -> np.ndarray:
            return np.ascontiguousarray(host_copy(flat[signal, begin:begin + count]))

        return _structured(self._core.peaks_of_maxima(powers, positions + (max(map(len, problem.rows)) - 1),
                                                      signals.dtype, read))

    def __repr__(self) -> str:
        return f"<CorrelationBank {self.shape}, {len(self._problem.rows)} templates, windows of {self.window}>"


def _structured(rows: Any) -> np.ndarray:
    names = PEAK.names or ()
    rows = rows.reshape(-1, len(names))
    peaks = np.empty(len(rows), PEAK)
    for name, column in zip(names, rows.T, strict=True):
        peaks[name] = column
    return peaks


@with_keywords(PeakKeywords, _defaults(PeakKeywords))
def correlation_peaks(signals: Any, templates: Any, **options: Unpack[PeakKeywords]) -> np.ndarray:
    """Finds templates in signals of any length: peaks of the signal-to-noise ratio (SNR) of matched filters.

    :class:`CorrelationBank` has the formula of the SNR.

    Parameters
    ----------
    signals : array
        Samples lie along `axis`; all other axes are a batch. Arrays of CuPy, PyTorch and JAX in a GPU's memory are
        correlated there.
    templates : array of samples, array of templates × samples, or a list of arrays of any lengths
    axis : int
        Axis of the samples.
    mode : {"same", "full", "valid"}
        Where templates begin: at every sample of the signal, also before it, or only where the longest template fits.
        The signal is zero outside.
    noise : float, optional
        Standard deviation of the noise; of complex noise, the root of the mean of ``abs(noise)**2``. None is 1.
    noise_block : int, optional
        Estimate the noise along the signal instead: see :func:`divide_by_noise`.
    threshold : float
        Smallest SNR of a peak.
    window : int, optional
        A peak is the strongest position of its window of `window` positions, and those of the windows beside it are
        not stronger or farther away than a window. None takes the samples of the longest template.
    position : {"parabola", "sample", "interpolated"}
        Place of a peak: the vertex of the parabola through the largest sample and its neighbors, that sample itself, or
        the largest value of the band-limited interpolation, for templates without frequencies above 0.4 of the sampling
        rate.
    per_template : bool
        Whether each template has peaks of its own. If not, an event gives one peak, of the template that fits best.
    stream : stream of CuPy or PyTorch, or int, optional
        For arrays in a GPU's memory: see :meth:`FilterBank.__call__`.
    method, nan, precision, device, workers, max_gpu_mem, fft, progress
        See :class:`convolume.Run` and :func:`convolume.convolve`.

    Returns
    -------
    peaks : structured array
        With the fields "signal" (number of the signal in the batch, in C order), "template", "position" (sample of the
        signal where the template begins, with its fraction), "snr" (the absolute value) and "phase" (in radians).
        Peaks are in the order of signals and positions.

    Raises
    ------
    InvalidArgument, BadData, OutOfMemory, Unavailable
        See :class:`CorrelationBank`.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> t = np.arange(64)
    >>> pulse = np.exp(-((t - 31.5) / 8)**2)
    >>> signal = np.exp(-((np.arange(5000) - 2000.25 - 31.5) / 8)**2)
    >>> signal += np.random.default_rng(1).normal(0, 0.01, 5000)
    >>> peaks = convolume.correlation_peaks(signal, pulse, noise=0.01, position="interpolated", device="cpu")
    >>> len(peaks), round(float(peaks["position"][0]), 1)
    (1, 2000.2)
    """
    arguments: dict[str, Any] = dict(options)
    stream, progress = arguments.pop("stream", None), arguments.pop("progress", None)
    if is_on_gpu(signals, stream):
        there = DeviceArray.of(signals, "the signals")
        bank = CorrelationBank(there.shape, templates, dtype=there.dtype, **arguments)
        return bank.peaks(signals, stream=stream)
    samples = readable(signals, "the signals")
    return CorrelationBank(samples.shape, templates, dtype=samples.dtype, **arguments).peaks(samples, progress=progress)


@names_wrong_types
def divide_by_noise(signals: Any, block: int, *, axis: int = -1, precision: Precision = "float32") -> Any:
    """Returns signals divided by the level of their noise.

    The level of a block is ``median(abs(x)) / 0.6745``, of complex signals ``median(abs(x)) / sqrt(log(2))``: the
    standard deviation of Gaussian noise, which short events do not change. It is interpolated linearly between the
    centers of blocks. Where a median is 0, the level before holds.

    Parameters
    ----------
    signals : array
    block : int
        Samples of a block, at least 16. The last block has up to twice as many.
    axis : int
        Axis of the samples.
    precision : {"float32", "float64"}
        Precision of the result.

    Raises
    ------
    InvalidArgument
        Blocks that are too short, or no such axis (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> noise = np.random.default_rng(1).normal(0, 5, 100_000)
    >>> round(float(convolume.divide_by_noise(noise, 10_000).std()), 2)
    1.0
    """
    samples = readable(signals, "the signals")
    axis = axis_among(axis, samples.ndim)
    moved = np.moveaxis(samples, axis, -1)
    flat = moved.reshape(int(np.prod(moved.shape[:-1], dtype=np.int64)), moved.shape[-1])
    quotients: Any = _core.divide_by_noise(flat, block, precision)
    return give_back_signals(np.moveaxis(quotients.reshape(moved.shape), -1, axis), signals, ResultAxes(axis))
