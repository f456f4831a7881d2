# SPDX-License-Identifier: Apache-2.0
"""Signals with their times and frequencies, in memory or in files (WAV, raw, NPY, HDF5)."""

import functools
import itertools
import math
import os
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np

from . import _core, _xarray
from ._argument_types import given_flag, names_wrong_types, shown
from ._arrays import readable
from ._errors import InvalidArgument, errors_name, optional_module, warn_of_changed
from ._stored_array import Picked, _StoredArray, basic_index

_SAMPLES_AT_ONCE = 1 << 22  # that are copied from file to file

Path = str | PathLike[str]
Layout = Literal["planar", "interleaved"]
ByteOrder = Literal["little", "big"]


class Signal(_StoredArray):
    """Signals with their sampling rate and times. Samples of a file are read when they are indexed.

    The last axis has the samples, and the axes before it count signals. ``np.asarray(signal)`` reads all samples,
    ``signal[…]`` a part, with the indices of a NumPy array. Slices that keep the last axis give a signal with its own
    times. Functions on signals, such as :func:`channelize`, give signals for signals. Arithmetic gives arrays.
    """

    _called = "a Signal"

    def __init__(self, reader: Any, array: np.ndarray | None, coordinates: Any, name: str = "",
                 reopen: "Callable[[], Signal] | None" = None) -> None:
        self._reader, self._array, self._coordinates = reader, array, coordinates
        self._name, self._reopen = name, reopen

    @classmethod
    @names_wrong_types
    def of_array(cls, array: Any, *, sampling_rate: float | None = None, start: float | None = None,
                 center_frequencies: Sequence[float] | None = None) -> "Signal":
        """Returns signals in memory.

        Parameters
        ----------
        array : array, xarray.DataArray or Signal
            The last axis has the samples.
        sampling_rate : float, optional
            Samples a second. By default that of a Signal, or of an evenly spaced coordinate of an xarray.DataArray
            whose unit is one of time (``attrs["units"]``, such as "s"), or that has calendar times.
        start : float, optional
            Time of the first sample in seconds. By default that of a Signal or an xarray.DataArray, of which calendar
            times count from 1970 on, else 0.
        center_frequencies : sequence of floats, optional
            Center frequencies of channels in Hz, along the axis before the samples. By default those of a Signal or an
            xarray.DataArray.

        Raises
        ------
        InvalidArgument
            A rate that is not above 0, or frequencies that do not fit the array (a ValueError).

        Examples
        --------
        >>> import numpy as np, convolume
        >>> signal = convolume.Signal.of_array(np.zeros((2, 100)), sampling_rate=50, start=3)
        >>> signal[:, 10:].start, signal[0, ::5].sampling_rate
        (3.2, 10.0)
        """
        in_file = array if isinstance(array, Signal) and array._array is None else None
        values = readable(array, "the signal") if in_file is None else None
        shape: tuple[int, ...] = array.shape if values is None else values.shape
        if not shape:
            raise InvalidArgument("a single number is no signal")
        known = _coordinates_of(array)
        rate = known.sampling_rate if sampling_rate is None else float(sampling_rate)
        first = known.start if start is None else float(start)
        frequencies = known.center_frequencies if center_frequencies is None else center_frequencies
        if rate is not None and not 0 < rate < math.inf:
            raise InvalidArgument(f"sampling_rate is {rate}: give a number of Hz above 0")
        if len(frequencies) and (len(shape) < 2 or len(frequencies) != shape[-2]):
            raise InvalidArgument(f"{len(frequencies)} center frequencies for an array of shape {shape}: give one for "
                                  "each channel along the axis before the last")
        numbers = [float(one) for one in frequencies]
        if not math.isfinite(first) or not np.isfinite(numbers).all():
            raise InvalidArgument("start and center_frequencies are finite numbers of seconds and Hz")
        coordinates = _core.SignalCoordinates(rate, first, numbers)
        return cls(None, values, coordinates) if in_file is None else cls(in_file._reader, None, coordinates,
                                                                           in_file._name)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes. The last one is the number of samples."""
        return tuple(self._reader.dims) if self._array is None else self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the samples after reading: float32 or float64 of WAV, complex64 of pairs of small integers."""
        dtype: np.dtype[Any] = self._reader.type if self._array is None else self._array.dtype
        return dtype

    @property
    def sampling_rate(self) -> float | None:
        """Samples a second; None if the file does not say."""
        rate: float | None = self._coordinates.sampling_rate
        return rate

    @property
    def start(self) -> float:
        """Time of the first sample in seconds, 0 if nothing else is known."""
        return float(self._coordinates.start)

    @property
    def times(self) -> np.ndarray | None:
        """Times of all samples in seconds; None without a sampling rate."""
        return None if self.sampling_rate is None else self.start + np.arange(self.shape[-1]) / self.sampling_rate

    @property
    def center_frequencies(self) -> np.ndarray | None:
        """Center frequencies in Hz of the channels along the axis before the samples; None if they are not known."""
        frequencies = np.array(self._coordinates.center_frequencies)
        return frequencies if len(frequencies) else None

    def __getitem__(self, key: Any) -> Any:
        """Returns the part that numbers and slices select, as a Signal if it keeps the axis of the samples. In a file,
        only that part is read. Numbers for all axes give a sample, and other indices of NumPy an array."""
        picked = basic_index(key, self.shape, f"the signal has {self.ndim} axes")
        if picked is None:
            return np.asarray(self)[key]
        values = self._part(key, picked)
        if not isinstance(picked[-1], range):
            return values
        return Signal(None, values, self._coordinates_of(picked), self._name)

    def _coordinates_of(self, picked: list[Picked]) -> Any:
        """Returns the times and frequencies of a part."""
        samples = picked[-1]
        assert isinstance(samples, range)
        rate = self.sampling_rate
        if rate is None or samples.step < 0:
            return _core.SignalCoordinates()
        channels = picked[-2] if len(picked) > 1 else 0
        frequencies = self._coordinates.center_frequencies
        kept = [frequencies[c] for c in channels] if frequencies and isinstance(channels, range) else []
        return _core.SignalCoordinates(rate / samples.step, self.start + samples.start / rate, kept)

    def _read(self, ranges: list[range]) -> np.ndarray:
        result = np.empty([len(one) for one in ranges], self.dtype)
        if result.size == 0:
            return result
        rows = result.reshape(-1, result.shape[-1])
        with errors_name(self._name):
            for row, place in zip(rows, itertools.product(*ranges[:-1])):
                number = int(np.ravel_multi_index(place, self.shape[:-1])) if place else 0
                self._reader.read(number, ranges[-1].start, row)
        return result

    def __reduce__(self) -> Any:
        if self._reopen is not None:
            return self._reopen, ()
        coordinates = self._coordinates
        return functools.partial(Signal.of_array, np.asarray(self), sampling_rate=coordinates.sampling_rate,
                                 start=coordinates.start, center_frequencies=coordinates.center_frequencies), ()

    def to_xarray(self) -> Any:
        """Returns an xarray.DataArray. Its dimension of samples is "time", in seconds, and that of channels with known
        frequencies "frequency", in Hz."""
        xarray = optional_module("xarray", "to_xarray() needs xarray: pip install xarray")
        frequencies, times = self.center_frequencies, self.times
        before = ["frequency" if frequencies is not None else "signal"] if self.ndim > 1 else []
        names = [f"batch_{axis}" for axis in range(self.ndim - 2)] + before + ["time"]
        coordinates: dict[str, Any] = {} if times is None else {"time": ("time", times, {"units": "s"})}
        if frequencies is not None:
            coordinates["frequency"] = ("frequency", frequencies, {"units": "Hz"})
        return xarray.DataArray(np.asarray(self), dims=names, coords=coordinates)

    def __repr__(self) -> str:
        rate = "" if self.sampling_rate is None else f", {self.sampling_rate:g} Hz from {self.start:g} s"
        return f"<Signal {'×'.join(map(str, self.shape))} {self.dtype}{rate}>"


def _coordinates_of(array: Any) -> Any:
    """Returns what an array knows of its times and frequencies."""
    if isinstance(array, Signal):
        return array._coordinates
    if not _xarray.is_data_array(array) or array.ndim == 0:
        return _core.SignalCoordinates()
    times = _xarray.EvenCoordinate.of(array, array.dims[-1])
    in_seconds = None if times is None else times.in_seconds()
    if in_seconds is None:
        return _core.SignalCoordinates()
    frequencies = _xarray.hertz_of(array, array.dims[-2]) if array.ndim > 1 else None
    return _core.SignalCoordinates(1 / in_seconds[1], in_seconds[0], [] if frequencies is None else list(frequencies))


def _stored_type(dtype: Any) -> str | None:
    """Returns the name of a type of stored samples: a text, or a type of NumPy."""
    if dtype is None or isinstance(dtype, str):
        return dtype
    try:
        name: str = np.dtype(dtype).name
    except TypeError:
        raise InvalidArgument(f"dtype is {shown(dtype)}: give a type of NumPy, or a name such as 'ci16'") from None
    return name


@names_wrong_types
def open_signal(path: Path, *, dtype: Any = None, signals: int | None = None, layout: Layout | None = None,
                header: int | None = None, byte_order: ByteOrder | None = None,
                sampling_rate: float | None = None) -> Signal:
    """Opens signals in a file: WAV (also RF64, BW64, Wave64), NPY, HDF5 (``"file.h5:/dataset"``), or raw samples.

    Channels of WAV are signals, and its integers are fractions of full scale, from -1 to 1.

    Parameters
    ----------
    path : str or path
        Name of the file.
    dtype : type or str, optional
        Type of raw samples, if the file's extension (.f32, .c64, .i16, .ci16, …) does not name it: a type of NumPy, or
        "ci8", "ci16", "ci32", "cu8" for pairs of integers, real part first.
    signals : int, optional
        Number of signals of equal length in a raw file.
    layout : {"planar", "interleaved"}, optional
        Order of the samples of several signals in a raw file: all of a signal and then those of the next one, or one of
        each in turn. Nothing in the file tells it, so that it must be given.
    header : int, optional
        Bytes before the first sample of a raw file.
    byte_order : {"little", "big"}, optional
        Of the samples of a raw file; "little" by default.
    sampling_rate : float, optional
        Samples a second, in place of what the file says.

    Returns
    -------
    Signal
        Its samples are read when they are indexed.

    Raises
    ------
    InvalidArgument
        Options that do not fit the file, or several signals without a layout (a ValueError).
    InputNotFound
        There is no such file (a FileNotFoundError).
    BadData
        The file is damaged, or holds no signals (a ValueError).
    Unavailable
        This build does not read the format (a RuntimeError).

    Examples
    --------
    >>> import numpy as np, convolume, tempfile, os
    >>> name = os.path.join(tempfile.mkdtemp(), "tone.wav")
    >>> tone = np.sin(2 * np.pi * 440 / 8000 * np.arange(8000))
    >>> convolume.save_signal(name, tone, sampling_rate=8000, dtype="int16")
    >>> signal = convolume.open_signal(name)
    >>> signal.shape, signal.sampling_rate, signal[4000:].start
    ((8000,), 8000.0, 0.5)
    """
    name = os.fspath(path)
    with errors_name(name):
        reader = _core.SignalReader(name, _stored_type(dtype), signals, layout, header, byte_order)
    coordinates = reader.coordinates
    if sampling_rate is not None:
        if not 0 < sampling_rate < math.inf:
            raise InvalidArgument(f"sampling_rate is {sampling_rate}: give a number of Hz above 0")
        coordinates = _core.SignalCoordinates(sampling_rate, coordinates.start, coordinates.center_frequencies)
    reopen = functools.partial(open_signal, os.path.abspath(name), dtype=dtype, signals=signals, layout=layout,
                               header=header, byte_order=byte_order, sampling_rate=sampling_rate)
    return Signal(reader, None, coordinates, name, reopen)


@names_wrong_types
def save_signal(path: Path, signal: Any, *, sampling_rate: float | None = None, start: float | None = None,
                center_frequencies: Sequence[float] | None = None, dtype: Any = None,
                overwrite: bool = False) -> None:
    """Writes signals to a file. The extension selects the format: .wav, .npy, .h5 (``"file.h5:/dataset"``), or raw
    samples (.f32, .c64, .i16, .ci16, …, .raw).

    HDF5 holds times and frequencies as attributes of the dataset, and FILE.npy has a file FILE.npy.json beside it. WAV
    holds the sampling rate, a whole number, and raw files nothing. The file has a temporary name until it is complete.

    Parameters
    ----------
    path : str or path
        Name of the file.
    signal : Signal, xarray.DataArray or array
        The last axis has the samples, and the axes before it count signals. Signals of WAV are fractions of full scale,
        from -1 to 1; integers are refused there. In HDF5, integers become floating-point numbers.
    sampling_rate, start, center_frequencies
        See :meth:`Signal.of_array`.
    dtype : type or str, optional
        Type of stored samples in .wav ("uint8", "int16", "int24", "int32", "float32", "float64"), .npy and .raw files,
        also "float16" or "ci16". Integers are rounded and clamped, which is a :class:`ConvolumeWarning`. By default
        that of the array; float32 in WAV.
    overwrite : bool
        Replace a file that exists. A dataset is added to an HDF5 file without it, and replaced with it.

    Raises
    ------
    InvalidArgument
        Rate, frequencies or types that do not fit, or an unknown extension (a ValueError).
    OutputExists
        The file exists and `overwrite` is not set (a FileExistsError).
    CannotCreate, FileFailure
        The file cannot be created, or cannot be written to its end (OSErrors).

    Examples
    --------
    >>> import numpy as np, convolume, tempfile, os
    >>> name = os.path.join(tempfile.mkdtemp(), "noise.npy")
    >>> convolume.save_signal(name, np.zeros((2, 100), np.float32), sampling_rate=2e6, start=0.25)
    >>> convolume.open_signal(name)
    <Signal 2×100 float32, 2e+06 Hz from 0.25 s>
    """
    name = os.fspath(path)
    source = Signal.of_array(signal, sampling_rate=sampling_rate, start=start, center_frequencies=center_frequencies)
    stored = _stored_type(dtype)
    is_integer = source.dtype.kind in "iu"
    if is_integer and name.lower().endswith(".wav"):
        raise InvalidArgument(f"WAV holds fractions of full scale, from -1 to 1, and the signal is {source.dtype}: "
                              "divide it by full scale, such as 32768, and give dtype")
    computed = source.dtype
    if is_integer:
        computed = np.dtype(np.float32 if computed.itemsize <= 2 else np.float64)
        if stored is None and name.lower().endswith((".npy", ".raw", ".bin")):
            stored = source.dtype.name
    with errors_name(name):
        writer = _core.SignalWriter(name, source.shape, computed, source._coordinates, stored,
                                    given_flag(overwrite, "overwrite"))
        for number, place in enumerate(np.ndindex(source.shape[:-1])):
            for begin in range(0, source.shape[-1], _SAMPLES_AT_ONCE):
                row = np.asarray(source[(*place, slice(begin, begin + _SAMPLES_AT_ONCE))])
                writer.write(number, begin, np.ascontiguousarray(row, computed))
        writer.commit()
    low, high = writer.clamped
    warn_of_changed(stored or name, low, high)
