# SPDX-License-Identifier: Apache-2.0
"""Conversion of callers' arrays to NumPy arrays of a type that the library computes with, and back."""

import importlib
from typing import Any, NamedTuple

import numpy as np

from . import _core, _xarray
from ._array_operators import ArrayOperators
from ._errors import BadData, InvalidArgument, OutOfMemory, Unavailable, optional_module

#: Types of samples that the library reads and writes without a conversion.
TYPES = frozenset(np.dtype(name) for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32",
                                              "float64", "complex64", "complex128"))
_NAMES = frozenset({"bfloat16", "float16", "bool", "int64", "uint64", *(dtype.name for dtype in TYPES)})
_DLPACK_CPU = 1
_LARGEST_EXACT = 2**53  # float64 holds all whole numbers up to this one


class ArrayForm(NamedTuple):
    """Shape and type of an array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def is_double(*types: np.dtype) -> bool:
    """Tells whether one of these types holds numbers that float32 would round."""
    return any(_core.needs_float64(dtype) for dtype in types)


def real_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type of the real parts of numbers of a type."""
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def readable(array: Any, what: str) -> np.ndarray:
    """Returns `array` as a NumPy array of one of TYPES. Such an array is returned itself, with any strides of
    whole samples.

    `what` names the array in errors.
    """
    if type(array) is np.ndarray and array.dtype in TYPES and _has_whole_strides(array):
        return array
    return _converted(_without_mask(array, what), what)


def host_numbers(array: Any, what: str) -> np.ndarray:
    """Returns `array` as a NumPy array of booleans or numbers, with its own type in the machine's byte order."""
    found = _without_mask(array, what)
    if found.dtype.kind not in "buifc":
        raise InvalidArgument(f"{what} is of type {found.dtype}: it must hold numbers")
    return found if found.dtype.isnative else found.astype(found.dtype.newbyteorder("="))


def real_numbers(array: Any, what: str) -> np.ndarray:
    """Returns `array` as :func:`readable` does. Refuses complex numbers."""
    values = readable(array, what)
    if values.dtype.kind == "c":
        raise InvalidArgument(f"{what} is complex: give real numbers, such as its real and imaginary part one by one")
    return values


def finite_numbers(array: Any, what: str) -> np.ndarray:
    """Returns `array` as :func:`real_numbers` does. Refuses NaN and infinities, and arrays without samples."""
    values = real_numbers(array, what)
    if values.size == 0:
        raise InvalidArgument(f"{what} has the shape {values.shape} and no samples")
    if values.dtype.kind == "f":
        refuse_nonfinite(values, ~np.isfinite(values), what)
    return values


def refuse_nonfinite(values: np.ndarray, bad: np.ndarray, what: str) -> None:
    """Raises BadData, which names the first sample, if one is not finite. `bad` tells for each sample whether it is."""
    if bad.any():
        place = tuple(int(one) for one in np.unravel_index(int(bad.argmax()), bad.shape))
        raise BadData(f"{what} holds {values[place]} at {place}: give a finite number in its place")


def _without_mask(array: Any, what: str) -> np.ndarray:
    """Returns an array of any library as one of NumPy, without a mask."""
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            raise InvalidArgument(f"{what} is a masked array: fill the masked samples first, by .filled(value)")
        return array.data
    return array if isinstance(array, np.ndarray) else from_others(array, what)


def _has_whole_strides(array: np.ndarray) -> bool:
    """Tells whether samples are whole numbers of samples apart. A field of packed records may lack this."""
    return array.flags.c_contiguous or all(stride % array.itemsize == 0 for stride in array.strides)


def with_whole_strides(array: np.ndarray) -> np.ndarray:
    """Returns the array, or a copy if its samples are not whole numbers of samples apart."""
    return array if _has_whole_strides(array) else array.copy()


def from_others(array: Any, what: str) -> np.ndarray:
    """Returns an array of another library, or a sequence of numbers, as a NumPy array."""
    if isinstance(array, ArrayOperators):
        return np.asarray(array)
    if hasattr(array, "__dlpack_device__") and not hasattr(array, "__array_interface__"):
        try:
            if array.__dlpack_device__()[0] == _DLPACK_CPU:
                return np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:  # a type or gradients
            raise InvalidArgument(f"{what} cannot be shared with NumPy: {error}; convert it first, in PyTorch by "
                                  ".detach().float()") from None
        raise Unavailable(f"{what} is in a GPU's memory, which is not taken here: copy it to the host first")
    try:
        return np.asarray(array)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{what} is no array of numbers: {error}") from None
    except MemoryError:
        raise OutOfMemory(f"{what} does not fit in memory as an array: give a part of it") from None


def _converted(array: np.ndarray, what: str) -> np.ndarray:
    """Returns the array in one of TYPES that holds every value of it."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    dtype = array.dtype
    if dtype in TYPES:
        return with_whole_strides(array)
    if dtype.kind == "b":
        return array.view(np.uint8)
    if dtype.kind == "f" and dtype.itemsize == 2:
        return array.astype(np.float32)
    if dtype.kind in "iu":  # integers of 8 bytes, as TYPES has all others
        if array.size and max(abs(int(array.max())), abs(int(array.min()))) > _LARGEST_EXACT:
            raise BadData(f"{what} has whole numbers beyond 2**53, which float64 does not hold: scale them, or convert "
                          "them yourself")
        return array.astype(np.float64)
    raise InvalidArgument(f"{what} is of type {dtype}: convert it to float64 or complex128, where that loses nothing")


def storable(array: Any, what: str) -> np.ndarray:
    """Returns `array` as a NumPy array of one of TYPES, in which it is saved: integers of 8 bytes as int32 or uint32.

    `what` names the array in errors.
    """
    values = array if isinstance(array, np.ndarray) else from_others(array, what)
    if isinstance(values, np.ma.MaskedArray) or values.dtype.kind not in "iu" or values.dtype.itemsize != 8:
        return readable(values, what)
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    for name in ("int32", "uint32"):
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return values.astype(name)
    raise InvalidArgument(f"{what} has whole numbers from {low} to {high}, which integers of 32 bits do not hold: "
                          "convert it to float64, which is exact up to 2**53")


def clamped_to(array: np.ndarray, dtype: np.dtype[Any]) -> tuple[np.ndarray, int, int]:
    """Converts real values to an integer type: rounds and clamps them.

    Parameters
    ----------
    array : array of 1 to 3 dimensions, real
    dtype : one of TYPES, an integer

    Returns
    -------
    array : array of that type
    low, high : int
        Numbers of values below and above its range. NaN becomes 0 and counts as below.
    """
    if array.dtype.kind == "c":
        raise InvalidArgument(f"complex results are not written as {dtype}: choose complex64 or complex128")
    if array.dtype.kind in "iu" and array.dtype.itemsize > 4:  # float64 may not hold these integers
        limits = np.iinfo(dtype)
        low, high = np.count_nonzero(array < limits.min), np.count_nonzero(array > limits.max)
        return array.clip(limits.min, limits.max).astype(dtype), int(low), int(high)
    values = readable(array, "the result")
    result = np.empty(values.shape, dtype)
    low, high = _core.convert(values, result)
    return result, low, high


def convert_counting(values: np.ndarray, target: np.ndarray) -> dict[str, int]:
    """Copies values into an array of another type. Integers are rounded and clamped; returns how many were clamped."""
    return dict(zip(("clamped_low", "clamped_high"), _core.convert(values, target)))


def give_back(result: np.ndarray, like: Any) -> Any:
    """Returns `result` as an array of the library that `like` comes from, if that is PyTorch, xarray or a library of
    the Python array API standard; else itself."""
    if isinstance(like, np.ndarray):
        return result
    if type(like).__module__.partition(".")[0] == "torch":  # whose arrays have no namespace
        return importlib.import_module("torch").from_dlpack(result)
    if _xarray.is_data_array(like):
        return _xarray.in_form_of(result, like)
    if not hasattr(like, "__array_namespace__") or isinstance(like, np.generic):
        return result
    given = like.__array_namespace__().from_dlpack(result)
    return given if given.device == like.device else given.to_device(like.device)


def writable(out: Any, shape: tuple[int, ...], *others: np.dtype[Any]) -> np.ndarray:
    """Checks the caller's array for a result, in host memory, and returns it as a NumPy array of the same memory. Its
    type is one of TYPES, or one of `others`."""
    array: np.ndarray = out if isinstance(out, np.ndarray) else _shared(out)
    if array.shape != shape:
        raise InvalidArgument(f"out has the shape {array.shape} where the result has {shape}")
    if array.dtype not in TYPES and array.dtype not in others:
        raise InvalidArgument(f"out is of type {array.dtype}, which results are not written in")
    if not array.flags.writeable:
        raise InvalidArgument("out cannot be written: its memory is read-only")
    if not _has_whole_strides(array):
        raise InvalidArgument(f"out has strides of {array.strides} bytes, which are no whole samples of "
                              f"{array.itemsize}: take an array of its own, and copy the result")
    return array


def _shared(out: Any) -> np.ndarray:
    """Returns a NumPy array that shares the memory of an array of another library."""
    refusal = f"out is a {type(out).__name__}: it must be a NumPy array, or one of host memory that NumPy can share"
    try:
        if _xarray.is_data_array(out) and isinstance(out.data, np.ndarray):  # it may be of Dask
            found: np.ndarray = out.data
            return found
        if type(out).__module__.partition(".")[0] == "torch":  # NumPy takes its DLPack form as read-only
            return np.asarray(out.numpy())
        if hasattr(out, "__array_interface__"):
            return np.asarray(out)
        if hasattr(out, "__dlpack__"):
            return np.from_dlpack(out)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise InvalidArgument(f"{refusal} ({error})") from None
    raise InvalidArgument(refusal)


def type_of(dtype: Any) -> np.dtype[Any]:
    """Returns the NumPy type of a type of any library, by its name: also if that is one of ml_dtypes."""
    try:
        name = dtype if isinstance(dtype, str) else np.dtype(dtype)
    except TypeError:
        name = str(dtype).rpartition(".")[2]  # as of torch.float32 and array_api_strict.float32
        if name not in _NAMES:
            raise
    if isinstance(name, str) and name == "bfloat16":
        name = optional_module("ml_dtypes", "bfloat16 is a type of the package ml_dtypes: install it").bfloat16
    found: np.dtype[Any] = np.dtype(name)
    return found


def result_type(dtype: Any, natural: str) -> np.dtype[Any]:
    """Returns the type of a result: the caller's `dtype`, or `natural` if that is None."""
    if dtype is None:
        return np.dtype(natural)
    found = type_of(dtype)
    if found not in TYPES:
        raise InvalidArgument(f"results are not written as {found}: choose one of "
                              + ", ".join(sorted(str(one) for one in TYPES)))
    return found
