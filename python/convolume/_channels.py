# SPDX-License-Identifier: Apache-2.0
"""Polyphase filter banks: signals divided into channels, and put together again."""

import importlib
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np

from . import _core
from ._argument_types import given_flag, names_wrong_types
from ._arrays import is_double, readable, real_type
from ._device import DeviceArray, is_on_gpu, known, library_of, on_stream
from ._errors import InvalidArgument, warn_of_changed
from ._options import Nan, Precision, axis_among, defaults_of, with_keywords
from ._prototypes import taps_of
from ._run import Devices, Progress, engines, progress_bar
from ._signal_axes import ResultAxes, give_back_signals


class _BankKeywords(Devices, total=False):
    """Keywords of all filter banks."""

    axis: int
    taps_per_channel: int
    step: int | None
    first: int
    window: str
    prototype: Any
    precision: Precision | None


class _CallKeywords(TypedDict, total=False):
    """Keywords of the functions that plan and compute in one call."""

    stream: Any
    progress: Progress


class _SplitKeywords(_BankKeywords, total=False):
    """Keywords of both :class:`Channelizer` and :func:`channelize`."""

    interleaved: bool
    nan: Nan


class ChannelizerKeywords(_SplitKeywords, total=False):
    """Keywords of :class:`Channelizer`."""

    dtype: Any


class ChannelizeKeywords(_SplitKeywords, _CallKeywords, total=False):
    """Keywords of :func:`channelize`."""

    tail: bool


class SynthesizerKeywords(_BankKeywords, total=False):
    """Keywords of :class:`Synthesizer`."""

    dtype: Any
    synthesis_taps: Any


class SynthesizeKeywords(SynthesizerKeywords, _CallKeywords, total=False):
    """Keywords of :func:`synthesize`."""

    samples: int | None


def _defaults(keywords: Any) -> dict[str, Any]:
    return defaults_of(keywords, "ChannelizerOptions", axis=-1, dtype=np.complex64, tail=False, precision=None,
                       step=None)


def _options(channels: int, arguments: dict[str, Any], double: bool) -> _core.ChannelizerOptions:
    if arguments.get("precision") is None:
        arguments["precision"] = "float64" if double else "float32"
    for name in ("window", "taps_per_channel"):
        if arguments.get("prototype") is not None and arguments.get(name) is not None:
            raise InvalidArgument(f"{name} is for a filter that is designed here, and the prototype is given: leave "
                                  "one of them out")
    keywords = ("taps_per_channel", "step", "first", "window", "precision", "interleaved", "nan")
    options = _core.ChannelizerOptions(**{name: arguments[name] for name in keywords
                                          if arguments.get(name) is not None})
    try:
        options.channels = operator.index(channels)
    except TypeError:
        raise InvalidArgument(f"channels is {channels!r}: give a whole number") from None
    if arguments.get("step") is not None and options.step < 1:
        raise InvalidArgument(f"step is {options.step}: give a number of samples from 1 on, or None for one of each "
                              "channel")
    options.prototype = taps_of(arguments.get("prototype"), "the prototype")
    return options


def _axis(arguments: dict[str, Any], dimensions: int, what: str) -> int:
    return axis_among(int(arguments.get("axis", -1)), dimensions, what)


class _Bank:
    """State of a bank that takes a stream in blocks."""

    _stream: Any = None
    _batch: tuple[int, ...] = ()
    """Shape of the batch of the stream."""

    def _stream_of(self, batch: tuple[int, ...], begin: Callable[[], Any]) -> Any:
        """Returns the stream that a block of a batch belongs to, which the first block begins."""
        if self._stream is None:
            self._stream, self._batch = begin(), batch
        elif batch != self._batch:
            raise InvalidArgument(f"a block of a batch of shape {batch} in a stream of {self._batch}")
        return self._stream

    def reset(self) -> None:
        """Starts a new stream."""
        self._stream = None


class Channelizer(_Bank):
    """Divides signals into channels: a polyphase filter bank that is planned once.

    Parameters
    ----------
    channels : int
        Number of channels of a complex signal. A real signal has the first ``channels // 2 + 1`` of them.
    dtype : type, optional
        Type of the signals that will come. It sets the precision, and whether they are complex. With `interleaved`,
        float32 by default.
    axis : int
        Axis of the samples.
    taps_per_channel, step, first, window, prototype, interleaved, nan, precision
        See :func:`channelize`.
    device, workers, max_gpu_mem, fft
        See :class:`convolume.Run`.

    Examples
    --------
    Blocks of a signal give the frames of one call, bit by bit:

    >>> import numpy as np, convolume
    >>> noise = np.random.default_rng(1).standard_normal(1000)
    >>> bank = convolume.Channelizer(16, dtype=noise.dtype)
    >>> parts = [bank.push(block) for block in np.split(noise, 10)]
    >>> np.array_equal(np.concatenate(parts, -1), bank(noise))
    True
    """

    @with_keywords(ChannelizerKeywords, _defaults(ChannelizerKeywords))
    def __init__(self, channels: int, **options: Unpack[ChannelizerKeywords]) -> None:
        self._arguments: dict[str, Any] = dict(options)
        usual = np.float32 if options.get("interleaved") else np.complex64
        self.dtype: np.dtype[Any] = readable(np.empty(0, options.get("dtype", usual)), "dtype").dtype
        self._options = _options(channels, self._arguments, is_double(self.dtype))
        self._core = _core.Channelizer(self._options, self.dtype, engines(self._arguments))
        self._on_gpus: dict[tuple[Any, ...], _core.DeviceChannelizer] = {}
        self._numbers = 2 if options.get("interleaved") else 1
        self.channels: int = self._core.channels

    def _rows(self, signals: Any) -> tuple[np.ndarray, int, tuple[int, ...]]:
        samples = readable(signals, "the signal")
        if not samples.ndim:
            raise InvalidArgument("a single number is no signal")
        axis = _axis(self._arguments, samples.ndim, "signals")
        batch = samples.shape[:axis] + samples.shape[axis + 1:]
        flat = np.moveaxis(samples, axis, -1).reshape(int(np.prod(batch, dtype=np.int64)), samples.shape[axis])
        return flat, axis, batch

    def _shaped(self, frames: np.ndarray, axis: int, batch: tuple[int, ...]) -> np.ndarray:
        """Returns frames (signals, frames, channels) with the axes of the caller's signals."""
        whole = np.swapaxes(frames.reshape(*batch, *frames.shape[1:]), -1, -2)
        return np.moveaxis(whole, (-2, -1), (axis, axis + 1))

    def _divide_on_gpu(self, signals: DeviceArray, tail: bool, stream: Any) -> Any:
        axis = _axis(self._arguments, len(signals.shape), "signals")
        batch = signals.shape[:axis] + signals.shape[axis + 1:]
        kind: np.dtype[Any] = self._core.signal_type
        if self._numbers == 2:
            kind = signals.dtype if signals.dtype.name in ("int8", "int16") else real_type(kind)
        samples = signals.along_last(axis).of_type(kind)
        count, rows = samples.shape[-1] // self._numbers, int(np.prod(batch, dtype=np.int64))
        key = signals.device, kind, rows, count, tail
        if key not in self._on_gpus:
            self._on_gpus[key] = _core.DeviceChannelizer(self._options, count, signals.device, kind, rows, tail)
        bank = self._on_gpus[key]
        frames = signals.empty((*batch, bank.frames, self.channels), self._core.frame_type)
        bank.execute(samples.address, frames.address, signals.stream(stream))
        module: Any = importlib.import_module(signals.library)
        return signals.give_back(module.moveaxis(frames.array, (-1, -2), (axis, axis + 1)))

    @names_wrong_types
    def __call__(self, signals: Any, *, tail: bool = False, stream: Any = None, progress: Progress = None) -> Any:
        """Divides whole signals. Returns what :func:`channelize` does."""
        if is_on_gpu(signals, stream):
            with on_stream(signals, stream):
                return self._divide_on_gpu(DeviceArray.of(signals, "the signal"), tail, stream)
        flat, axis, batch = self._rows(signals)
        tail = given_flag(tail, "tail")
        frames = np.empty((len(flat), self._core.frames(flat.shape[1] // self._numbers, tail), self.channels),
                          self._core.frame_type)
        with progress_bar(progress) as report:
            nonfinite = self._core.execute(flat, frames, report)
        warn_of_changed(frames.dtype, 0, 0, nonfinite, "signal")
        if isinstance(signals, np.ndarray):  # which needs no frequencies
            return self._shaped(frames, axis, batch)
        core = self._core
        axes = ResultAxes(axis, core.first_middle, core.step, "frequency", np.array(core.center_frequencies),
                          is_timed=self._numbers == 1)
        return give_back_signals(self._shaped(frames, axis, batch), signals, axes)

    @names_wrong_types
    def push(self, block: Any) -> np.ndarray:
        """Takes the next samples of a stream, and returns the frames that are now complete.

        The first block sets the shape of the batch, until :meth:`Channelizer.reset`.
        """
        flat, axis, batch = self._rows(block)
        stream = self._stream_of(batch, lambda: _core.ChannelizerStream(self._core, len(flat)))
        frames = np.empty((len(flat), stream.frames(flat.shape[1] // self._numbers), self.channels),
                          self._core.frame_type)
        stream.push(flat, frames)
        return self._shaped(frames, axis, batch)

    @property
    def plan(self) -> str:
        """How signals are divided, in words."""
        return self._core.plan

    def __repr__(self) -> str:
        return f"<Channelizer of {self.channels} channels for {self.dtype}>"


@with_keywords(ChannelizeKeywords, _defaults(ChannelizeKeywords))
def channelize(signals: Any, channels: int, **options: Unpack[ChannelizeKeywords]) -> Any:
    """Divides a signal into channels of equal width by a polyphase filter bank.

    Channel m is the signal shifted in frequency by -m / channels of the sampling rate, lowpass filtered, and decimated
    by `step`:

        y[m, n] = sum_l h[l] x[t(n) - l] exp(-2j pi m (t(n) - l) / channels),    t(n) = first + n step

    Parameters
    ----------
    signals : array
        Samples lie along `axis`; all other axes are a batch. Samples before the first one are zero. Arrays of CuPy,
        PyTorch and JAX in a GPU's memory stay there, and so do the frames. They are not searched for NaN.
    channels : int
        Number of channels. Of real signals the first ``channels // 2 + 1`` are returned; the others are conjugates.
    axis : int
        Axis of the samples.
    taps_per_channel : int
        The prototype has ``taps_per_channel * channels`` taps: :func:`prototype_filter`.
    window : {"hamming", "hann", "kaiser:BETA", "rectangular"}
        Window of the prototype.
    prototype : array of taps, optional
        Another prototype h, of any number of taps, instead.
    step : int, optional
        Samples from frame to frame, at most `channels`. None stands for `channels`: critically sampled.
    first : int
        The sample that frame 0 ends with. With ``channels * taps_per_channel - 1``, no frame depends on samples before
        the signal.
    tail : bool
        Also return the frames after the signal's end that still depend on it.
    interleaved : bool
        Real numbers are pairs along `axis`, as receivers record them: real part, imaginary part.
    stream : stream of CuPy or PyTorch, or int, optional
        For arrays in a GPU's memory: see :meth:`FilterBank.__call__`.
    nan, precision, device, workers, max_gpu_mem, fft, progress
        See :class:`Convolver` and :class:`convolume.Run`. Signals in host memory are divided on the CPU.

    Returns
    -------
    array
        Axes (channels, frames) in place of `axis`. Complex.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> tone = np.exp(2j * np.pi * 3 / 8 * np.arange(800))
    >>> np.abs(convolume.channelize(tone, 8)[:, -1]).round(2)
    array([0., 0., 0., 1., 0., 0., 0., 0.])
    """
    tail, progress, stream = options.pop("tail", False), options.pop("progress", None), options.pop("stream", None)
    form: Any = options
    if is_on_gpu(signals, stream):
        bank = Channelizer(channels, dtype=DeviceArray.of(signals, "the signal").dtype, **form)
        return bank(signals, tail=tail, stream=stream)
    bank = Channelizer(channels, dtype=readable(signals, "the signal").dtype, **form)
    return bank(signals, tail=tail, progress=progress)


class Synthesizer(_Bank):
    """Puts signals together from the channels of a :class:`Channelizer` with the same options.

    Parameters
    ----------
    channels : int
        Number of channels of the :class:`Channelizer`.
    dtype : type, optional
        Type of the signals: complex or real, and their precision.
    axis : int
        Axis of the channels; the frames are along the next one. Counted from the end, as -1, it is the axis of
        the samples that come out.
    synthesis_taps : array of taps, optional
        Taps to use in place of those of :func:`dual_prototype`.
    taps_per_channel, step, first, window, prototype, precision
        See :func:`channelize`.
    device, workers, max_gpu_mem, fft
        See :class:`convolume.Run`.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> noise = np.random.default_rng(1).standard_normal(1000)
    >>> frames = convolume.channelize(noise, 16, step=8, tail=True)
    >>> joined = convolume.Synthesizer(16, step=8, dtype=noise.dtype)
    >>> np.allclose(joined(frames, samples=1000), noise)
    True
    """

    @with_keywords(SynthesizerKeywords, _defaults(SynthesizerKeywords))
    def __init__(self, channels: int, **options: Unpack[SynthesizerKeywords]) -> None:
        self._arguments: dict[str, Any] = dict(options)
        dtype = readable(np.empty(0, options.get("dtype", np.complex64)), "dtype").dtype
        self._options = _options(channels, self._arguments, is_double(dtype))
        self._core = _core.Synthesizer(self._options, dtype, engines(self._arguments),
                                       taps_of(options.get("synthesis_taps"), "synthesis_taps"))
        self._on_gpus: dict[tuple[int, ...], _core.DeviceSynthesizer] = {}
        self.dtype: np.dtype[Any] = self._core.signal_type
        self.channels: int = self._core.channels

    @property
    def error(self) -> float | None:
        """RMS error of the reconstruction of white noise, relative to the noise. None with `synthesis_taps`."""
        return self._core.error

    def _layout(self, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Checks the shape of frames. Returns the axis of the channels, and the shape of the batch."""
        if len(shape) < 2:
            raise InvalidArgument("frames have at least two axes: channels and frames")
        axis = _axis(self._arguments, len(shape) - 1, "signals")
        if shape[axis] != self.channels:
            raise InvalidArgument(f"frames of {shape[axis]} channels along axis {axis} where this has {self.channels}")
        return axis, shape[:axis] + shape[axis + 2:]

    def _count(self, frames: int, samples: int | None) -> int:
        count = self._core.samples(frames) if samples is None else samples
        if count < 0:
            raise InvalidArgument(f"a signal of {count} samples")
        return count

    def _frames(self, frames: Any) -> tuple[np.ndarray, int, tuple[int, ...]]:
        values = readable(frames, "the frames")
        axis, batch = self._layout(values.shape)
        flat = np.moveaxis(values, (axis + 1, axis), (-2, -1))
        flat = flat.reshape(int(np.prod(batch, dtype=np.int64)), *flat.shape[-2:])
        return flat if flat.dtype.kind == "c" else flat.astype(self._core.frame_type), axis, batch

    def _join_on_gpu(self, frames: Any, samples: int | None, stream: Any) -> Any:
        values = known(frames, "the frames")
        axis, batch = self._layout(tuple(values.shape))
        given, rows = int(values.shape[axis + 1]), int(np.prod(batch, dtype=np.int64))
        module: Any = importlib.import_module(library_of(values))
        # Frames of channelize() are in this order in memory, so that they are not copied.
        source = DeviceArray.of(module.moveaxis(values, (axis + 1, axis), (-2, -1)), "the frames")
        source = replace(source.of_type(self._core.frame_type), given=library_of(frames))
        count = self._count(given, samples)
        signals = source.empty((*batch, count), self.dtype)
        if rows > 0:
            key = source.device, rows, given, count
            if key not in self._on_gpus:
                self._on_gpus[key] = _core.DeviceSynthesizer(self._options, self._core, given, source.device, rows,
                                                             count)
            self._on_gpus[key].execute(source.address, signals.address, source.stream(stream))
        return source.give_back(module.moveaxis(signals.array, -1, axis))

    @names_wrong_types
    def __call__(self, frames: Any, *, samples: int | None = None, stream: Any = None,
                 progress: Progress = None) -> Any:
        """Returns the first `samples` samples. None stands for those that the frames determine.

        `stream` is for frames in a GPU's memory: see :meth:`FilterBank.__call__`.
        """
        if is_on_gpu(frames, stream):
            with on_stream(frames, stream):
                return self._join_on_gpu(frames, samples, stream)
        flat, axis, batch = self._frames(frames)
        count = self._count(flat.shape[1], samples)
        signals = np.empty((len(flat), count), self.dtype)
        with progress_bar(progress) as report:
            self._core.execute(np.ascontiguousarray(flat), signals, report)
        # Times of frames count from the middle of the samples that frame 0 depends on.
        core = self._core
        axes = ResultAxes(axis + 1, -core.first_middle / core.step, 1 / core.step, joins=True)
        return give_back_signals(np.moveaxis(signals.reshape(*batch, count), -1, axis), frames, axes)

    @names_wrong_types
    def push(self, block: Any) -> np.ndarray:
        """Takes the next frames of a stream, and returns the samples that are now determined."""
        flat, axis, batch = self._frames(block)
        stream = self._stream_of(batch, lambda: _core.SynthesizerStream(self._core, len(flat)))
        signals = np.empty((len(flat), stream.samples(flat.shape[1])), self.dtype)
        stream.push(np.ascontiguousarray(flat), signals)
        return np.moveaxis(signals.reshape(*batch, signals.shape[1]), -1, axis)

    def __repr__(self) -> str:
        return f"<Synthesizer of {self.channels} channels to {self.dtype}>"


@with_keywords(SynthesizeKeywords, _defaults(SynthesizeKeywords))
def synthesize(frames: Any, channels: int, **options: Unpack[SynthesizeKeywords]) -> Any:
    """Puts a signal together from the frames that :func:`channelize` gives with the same options.

    Parameters
    ----------
    frames : array
        Axes (channels, frames) in place of `axis`. Arrays of CuPy, PyTorch and JAX in a GPU's memory stay there, and so
        does the signal.
    channels : int
        Number of channels that :func:`channelize` was given.
    samples : int, optional
        Number of samples to return. None stands for those that the frames determine.
    stream : stream of CuPy or PyTorch, or int, optional
        For arrays in a GPU's memory: see :meth:`FilterBank.__call__`.
    axis, dtype, synthesis_taps, taps_per_channel, step, first, window, prototype, precision
        See :class:`Synthesizer`.
    device, workers, max_gpu_mem, fft, progress
        See :class:`convolume.Run`.

    Returns
    -------
    array of type `dtype`
        Oversampled signals are reconstructed up to rounding for ``channels / step >= 2 - 1 / taps_per_channel``, and
        otherwise with the error that :func:`dual_prototype` states.
    """
    samples, progress, stream = options.pop("samples", None), options.pop("progress", None), options.pop("stream", None)
    form: Any = options
    if "dtype" not in form and str(getattr(frames, "dtype", "")).endswith("complex128"):
        form["dtype"] = np.complex128
    return Synthesizer(channels, **form)(frames, samples=samples, stream=stream, progress=progress)
