# SPDX-License-Identifier: Apache-2.0
"""Resampling of signals by a rational factor."""

import functools
import importlib
import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _core
from ._argument_types import elements_of, names_wrong_types
from ._arrays import TYPES, host_numbers, readable, real_type, type_of
from ._device import is_on_gpu
from ._errors import InvalidArgument
from ._gpu_numbers import GpuNumbers
from ._linear_map import LinearMap, linear_operator
from ._options import axis_among, whole_numbers
from ._run import Device, parse_device, thread_count
from ._sums import Array, computable, precision_of

Extension = Literal["constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect",
                    "line"]
ResultCount = Literal["full", "same"] | int


class Resampling(NamedTuple):
    """A filter between a change of the sampling rate by up / down."""

    taps: np.ndarray
    up: int
    down: int
    origin: int = 0
    """Tap that meets sample 0 in result 0."""
    extension: Extension = "constant"
    value: complex = 0

    def options(self, dtype: np.dtype[Any], threads: int = 0) -> _core.ResampleOptions:
        """Returns the options of a resampler whose results have the type `dtype`."""
        return _core.ResampleOptions(self.up, self.down, self.origin, self.extension, complex(self.value),
                                     precision_of(dtype), threads)


def resampled(signals: Array, resampling: Resampling, count: ResultCount, axis: int, dtype: np.dtype[Any],
              device: Device = "auto", workers: int | None = None) -> Array:
    """Resamples signals along an axis. Returns results of type `dtype`, which must hold samples and taps."""
    axis = axis_among(axis, signals.ndim)
    if isinstance(signals, GpuNumbers):
        if parse_device(device)[0] == "cpu":
            raise InvalidArgument("the signals are in a GPU's memory: leave device as 'auto', or copy them to the host")
        return _on_gpu(signals, resampling, count, axis, dtype)
    if parse_device(device)[0] == "gpu":
        raise InvalidArgument("signals in host memory are resampled on the CPU: copy them to the GPU, for example by "
                              "cupy.asarray, and leave device as 'auto'")
    samples = computable(signals)
    plan = _core.Resampler(computable(resampling.taps), resampling.options(dtype, thread_count(workers)), samples.dtype)
    n = samples.shape[axis]
    results = _count(plan, count, n)
    out = np.empty((*samples.shape[:axis], results, *samples.shape[axis + 1:]), dtype)
    if out.size == 0:
        return out
    inner = int(np.prod(samples.shape[axis + 1:]))
    # Views of outer × inner × samples: samples along the axis, with their strides.
    plan.execute(*(array.reshape(-1, extent, inner).swapaxes(1, 2) for array, extent in ((samples, n), (out, results))))
    return out


def _count(plan: Any, count: ResultCount, samples: int) -> int:
    if isinstance(count, int):
        return count
    return int(plan.full_results(samples) if count == "full" else plan.same_results(samples))


def _on_gpu(signals: GpuNumbers, resampling: Resampling, count: ResultCount, axis: int,
            dtype: np.dtype[Any]) -> GpuNumbers:
    found = signals.astype(dtype).device_array().along_last(axis)
    taps = computable(resampling.taps)
    plan = _device_plan(taps.tobytes(), taps.dtype, dtype, found.device, *resampling[1:])
    results = _count(plan, count, found.shape[-1])
    out = found.empty((*found.shape[:-1], results), dtype)
    if 0 not in out.shape:
        plan.execute(int(np.prod(found.shape[:-1], dtype=np.int64)), found.shape[-1], found.address, results,
                     out.address, found.stream(None))
    if axis == len(found.shape) - 1:
        return GpuNumbers(out.array)
    module: Any = importlib.import_module(found.library)
    moved = module.moveaxis(out.array, -1, axis)
    # As on the host, the result has no gaps and its last axis is the fastest.
    return GpuNumbers(moved.contiguous() if found.library == "torch" else module.ascontiguousarray(moved))


@functools.lru_cache(maxsize=16)
def _device_plan(taps: bytes, tap_type: np.dtype[Any], dtype: np.dtype[Any], device: int,
                 *form: Any) -> Any:
    """Returns a resampler of a GPU. Kept ones save the allocation of the taps, which would stop the GPU."""
    resampling = Resampling(np.frombuffer(taps, tap_type), *form)
    return _core.DeviceResampler(resampling.taps, resampling.options(dtype), device, dtype)


def in_type_of(taps: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Returns real taps in the precision of the samples if these are floating-point numbers, as SciPy does."""
    return taps.astype(real_type(dtype)) if dtype.kind in "fc" else taps


@functools.lru_cache(maxsize=16)
def low_pass(up: int, down: int, dtype: np.dtype[Any], kaiser: float = 5.0) -> np.ndarray:
    """Returns the taps of the low-pass filter of :func:`convolume.signal.resample_poly` for samples of a type."""
    taps = in_type_of(np.asarray(_core.resample_taps(up, down, 10, kaiser)) / up, dtype) * up
    taps.flags.writeable = False
    return taps


class BlockForm(NamedTuple):
    """The form of blocks that a stream takes: samples, or signals × samples."""

    dtype: np.dtype[Any]
    signals: int | None

    @classmethod
    def of(cls, dtype: Any, signals: int | None) -> "BlockForm":
        """Raises :class:`InvalidArgument` for types that are not resampled."""
        samples = type_of(dtype)
        if samples not in TYPES:
            raise InvalidArgument(f"signals of type {samples} are not resampled: convert them to float32")
        return cls(samples, signals)

    def result_type(self) -> np.dtype[Any]:
        """Returns the type of results: that of the samples, and float64 for integers."""
        return np.result_type(self.dtype if self.dtype.kind in "fc" else np.float64, np.float32)

    def read(self, block: Any) -> np.ndarray:
        """Returns a block of the caller as an array of the type."""
        samples = host_numbers(block, "the block")
        if samples.ndim != (1 if self.signals is None else 2):
            raise InvalidArgument(f"a block of shape {samples.shape} where " + (
                "one row of samples is meant" if self.signals is None else "signals × samples are meant"))
        if samples.shape[-1] == 0:
            samples = np.empty((*samples.shape[:-1], 0), self.dtype)
        if not np.can_cast(samples.dtype, self.dtype, "same_kind"):
            raise InvalidArgument(f"a block of {samples.dtype} where {self.dtype} is resampled: name it as dtype")
        return samples.astype(self.dtype, copy=False)

    def shaped(self, results: Any) -> np.ndarray:
        """Returns results of the library in the form of the blocks."""
        made = np.asarray(results)
        return made.reshape((-1,) if self.signals is None else (self.signals, made.shape[-1]))


class _BlockStream:
    """A signal in blocks of any lengths, whose results have another rate."""

    _form: BlockForm
    _core: Any
    push: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of results."""
        found: np.dtype[Any] = self._core.result_type
        return found

    def finish(self) -> np.ndarray:
        """Ends the signal, and returns its last results. Another signal may follow.

        Returns
        -------
        array
        """
        return self._form.shaped(self._core.finish())

    @names_wrong_types
    def blocks(self, blocks: Iterable[Any]) -> Iterator[np.ndarray]:
        """Takes all blocks of a signal. Yields results as they are complete.

        Parameters
        ----------
        blocks : iterable of arrays

        Yields
        ------
        array
        """
        for block in elements_of(blocks, "blocks"):
            results = self.push(block)
            if results.shape[-1]:
                yield results
        yield self.finish()


class Resampler(_BlockStream):
    """Resamples signals by up / down that come in blocks of any sizes. The results have the bits of one call.

    Parameters
    ----------
    up, down : int
        Factors of the sampling rate.
    taps : array, optional
        A filter for signals of `up` times the sampling rate, whose middle tap stands for no delay. By default the
        low-pass filter of :func:`convolume.signal.resample_poly`.
    dtype : type
        Type of the samples. Results have it too, if it is a floating-point type; results of integers are float64.
    signals : int, optional
        Number of signals. Blocks then have the shape (signals, samples), and (samples,) by default.
    workers : int, optional
        See :class:`convolume.Run`.

    Raises
    ------
    InvalidArgument
        Factors below 1, or a filter that is not one row of taps (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> resampler = convolume.Resampler(160, 147)
    >>> blocks = [resampler.push(np.ones(4410, np.float32)) for _ in range(10)]
    >>> len(np.concatenate([*blocks, resampler.finish()]))
    48000
    """

    @names_wrong_types
    def __init__(self, up: int, down: int, *, taps: Any = None, dtype: Any = np.float32, signals: int | None = None,
                 workers: int | None = None) -> None:
        up, down = whole_numbers((up, down), "up, down")
        if taps is None:
            common = math.gcd(up, down) or 1
            up, down = up // common, down // common
            filter_taps = low_pass(up, down, type_of(dtype)) if up != down else np.ones(1)
        else:
            filter_taps = readable(taps, "taps")
        self._form = BlockForm.of(dtype, signals)
        result: np.dtype[Any] = np.result_type(self._form.result_type(), *([np.complex64]
                                                                           if filter_taps.dtype.kind == "c" else []))
        self._resampling = Resampling(filter_taps, up, down, (filter_taps.size - 1) // 2)
        self._workers = workers
        self._core = _core.ResampleStream(computable(filter_taps),
                                          self._resampling.options(result, thread_count(workers)), self._form.dtype,
                                          signals or 1)

    @names_wrong_types
    def as_linear_operator(self, samples: int) -> Any:
        """Returns the resampling of whole signals as a scipy.sparse.linalg.LinearOperator.

        Its matrix A has the shape (samples of all results, samples of all signals). It is not stored: A x has the
        flattened results of the flattened signals x, and Aᴴ y is the exact adjoint.

        Parameters
        ----------
        samples : int
            Number of samples of a signal.

        Raises
        ------
        InvalidArgument
            Complex taps for real signals (a ValueError).
        BadData
            Signals without samples (a ValueError).
        Unavailable
            SciPy is not installed (a RuntimeError).

        Examples
        --------
        >>> import numpy as np, convolume
        >>> convolume.Resampler(3, 2, dtype=float).as_linear_operator(100).shape
        (150, 100)
        """
        return linear_operator(self._as_linear_map(samples))

    def _as_linear_map(self, samples: int) -> LinearMap:
        (count,) = whole_numbers((samples,), "samples")
        if self.dtype.kind != self._form.dtype.kind == "f":
            raise InvalidArgument(f"the taps are complex and the signals {self._form.dtype}: name {self.dtype} as "
                                  "dtype")
        # With results y[n], the sums of h[n D + o - k U] x[k], sample k of the adjoint is the sum of
        # conj(h[n D + o - k U]) y[n]: a resampling by D / U with the taps in reverse order.
        taps, up, down, origin = self._resampling[:4]
        back = Resampling(np.ascontiguousarray(taps[::-1].conj()), down, up, taps.size - 1 - origin)
        batch = () if self._form.signals is None else (self._form.signals,)
        plan = _core.Resampler(computable(taps), self._resampling.options(self.dtype), self._form.dtype)
        return LinearMap(
            (*batch, count), [(*batch, plan.same_results(count))], self.dtype,
            lambda signals: [self._resampled(signals, self._resampling, "same")],
            lambda results: self._resampled(results[0], back, count))

    def _resampled(self, signals: Any, resampling: Resampling, count: ResultCount) -> Any:
        """Resamples whole signals in host memory or in that of a GPU."""
        if is_on_gpu(signals):
            return resampled(GpuNumbers.of(signals, "the signals"), resampling, count, -1, self.dtype).array
        return resampled(signals, resampling, count, -1, self.dtype, workers=self._workers)

    @names_wrong_types
    def push(self, block: Any) -> np.ndarray:
        """Takes the next samples, and returns the results that they complete.

        Parameters
        ----------
        block : array

        Returns
        -------
        array
            Possibly without samples.
        """
        return self._form.shaped(self._core.push(self._form.read(block)))
