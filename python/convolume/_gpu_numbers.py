# SPDX-License-Identifier: Apache-2.0
"""Arrays in a GPU's memory with the names of NumPy that the drop-ins for other libraries' functions use."""

import importlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._device import DeviceArray, address_of, known
from ._errors import InvalidArgument
from ._problem import Problem
from ._psf import Kernel

_NEAR = 1e-9  # distance from an integer below which a sum counts as that integer


def on_host(array: Any) -> Any:
    """Returns an array of numbers in host memory."""
    return array.on_host() if isinstance(array, GpuNumbers) else array


def _arithmetic(operation: Callable[[Any, Any], Any]) -> "Callable[[GpuNumbers, Any], GpuNumbers]":
    def method(self: "GpuNumbers", other: Any) -> "GpuNumbers":
        return GpuNumbers(operation(self.array, other.array if isinstance(other, GpuNumbers) else other))

    return method


class GpuNumbers:
    """An array of CuPy or PyTorch in a GPU's memory. Operations are enqueued on the library's current stream."""

    def __init__(self, array: Any, host: np.ndarray | None = None) -> None:
        self.array = array
        self.dtype: np.dtype[Any] = np.dtype(array.__cuda_array_interface__["typestr"])
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.ndim = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self._host = host
        self._callers: Any = None  # the caller's array, which shares its memory with `array`

    @classmethod
    def of(cls, array: Any, what: str) -> "GpuNumbers":
        """Returns an array of any library, which must hold booleans or numbers."""
        found = cls(known(array, what))
        if found.dtype.kind not in "buifc":
            raise InvalidArgument(f"{what} is of type {found.dtype}: it must hold numbers")
        found._callers = array
        return found

    def beside(self, values: np.ndarray) -> "GpuNumbers":
        """Returns a copy of an array of the host in this GPU's memory."""
        if self._is_torch:
            return GpuNumbers(self.module.from_numpy(np.asarray(values, order="C")).to(self.array.device), values)
        with self.array.device:
            return GpuNumbers(self.module.asarray(values), values)

    def on_host(self) -> np.ndarray:
        """Returns a copy in host memory, where kernels are prepared."""
        if self._host is None:
            self._host = np.asarray(self.array.cpu().numpy() if self._is_torch else self.module.asnumpy(self.array))
        return self._host

    def given_back(self, like: Any) -> Any:
        """Returns the array in the library of `like`: the caller's own, if this is one."""
        if type(like).__module__.partition(".")[0] in ("jax", "jaxlib"):
            return importlib.import_module("jax.dlpack").from_dlpack(self.array)
        return self.array if self._callers is None else self._callers

    @property
    def module(self) -> Any:
        """The library of the array."""
        return importlib.import_module(type(self.array).__module__.partition(".")[0])

    @property
    def _is_torch(self) -> bool:
        return hasattr(self.array, "data_ptr")

    def device_array(self) -> DeviceArray:
        return DeviceArray.of(self.array, "the array")

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> "GpuNumbers":
        """Returns a new array on the same GPU."""
        if self._is_torch:
            return GpuNumbers(self.module.empty(tuple(shape), dtype=getattr(self.module, dtype.name),
                                                 device=self.array.device))
        with self.array.device:
            return GpuNumbers(self.module.empty(tuple(shape), dtype))

    def filled(self, shape: Sequence[int], dtype: np.dtype[Any], value: float) -> "GpuNumbers":
        result = self.empty(shape, dtype)
        result.array[...] = value
        return result

    def astype(self, dtype: np.dtype[Any], copy: bool = False) -> "GpuNumbers":
        """Returns the array in that type: the array itself, if it has that type and `copy` is not set."""
        if dtype == self.dtype and not copy:
            return self
        if self._is_torch:
            return GpuNumbers(self.array.to(getattr(self.module, dtype.name), copy=copy))
        return GpuNumbers(self.array.astype(dtype, copy=copy))

    def copy(self) -> "GpuNumbers":
        return self.astype(self.dtype, copy=True)

    def reshape(self, shape: Sequence[int]) -> "GpuNumbers":
        return GpuNumbers(self.array.reshape(tuple(shape)), None if self._host is None else self._host.reshape(shape))

    def max(self) -> Any:
        return self.array.max().item()

    def min(self) -> Any:
        return self.array.min().item()

    def any(self) -> bool:
        return bool((self.array != 0).any().item())

    def rounded(self) -> "GpuNumbers":
        return GpuNumbers((self.module.round if self._is_torch else self.module.rint)(self.array))

    def truncated(self) -> "GpuNumbers":
        """Rounds toward 0. A value that is near an integer counts as that integer."""
        return GpuNumbers(self.module.trunc(self.array + _NEAR * self.module.sign(self.array)))

    def wrapped(self, dtype: np.dtype[Any]) -> "GpuNumbers":
        """Converts whole numbers, modulo the range of an integer type; to booleans, whether they are not 0."""
        if dtype.kind == "b":
            return GpuNumbers(self.array != 0)
        return self.astype(np.dtype(np.int64)).astype(dtype)

    def clipped(self, low: float, high: float) -> "GpuNumbers":
        return GpuNumbers(self.module.clip(self.array, low, high))

    def __getitem__(self, where: Any) -> "GpuNumbers":
        return GpuNumbers(self.array[where], None if self._host is None else self._host[where])

    def __setitem__(self, where: Any, value: Any) -> None:
        self.array[where] = value.array if isinstance(value, GpuNumbers) else value

    __add__, __sub__ = _arithmetic(operator.add), _arithmetic(operator.sub)
    __mul__, __truediv__ = _arithmetic(operator.mul), _arithmetic(operator.truediv)


class GpuConvolver:
    """Convolves :class:`GpuNumbers` of one shape with one kernel, by a plan of the cache. A kernel in the same GPU's
    memory is prepared there."""

    def __init__(self, like: GpuNumbers, shape: Sequence[int], taps: np.ndarray | GpuNumbers,
                 arguments: dict[str, Any]) -> None:
        if arguments["device"] not in ("auto", "gpu"):
            raise InvalidArgument("the arrays are in a GPU's memory: leave device as 'auto', or copy them to the host")
        device = like.device_array().device
        self._kernel: DeviceArray | None = None
        if isinstance(taps, GpuNumbers) and taps.device_array().device == device:
            self._kernel = taps.device_array()
            known_by_shape = Kernel(np.broadcast_to(np.zeros((), taps.dtype), taps.shape), arguments["origin"], None)
            self._core = Problem(shape, known_by_shape, like.dtype, arguments).for_kernels_on(device, like.dtype)
            return
        self._core = Problem(shape, on_host(taps), like.dtype, arguments).cached_for_arrays_on(device, like.dtype)

    def __call__(self, image: GpuNumbers, out: GpuNumbers) -> None:
        source, target = image.device_array(), out.device_array()
        self._core.execute(source.address, target.address, source.stream(None),
                           self._kernel.address if self._kernel else 0)
        if target.address != address_of(out.array):  # a copy of an array that is not contiguous
            out[...] = GpuNumbers(target.array)


def both_on_one_side(first: Any, second: Any, names: tuple[str, str]) -> tuple[Any, Any]:
    """Returns two arrays of numbers, of which the second is copied to the GPU of the first if that is on one."""
    if isinstance(first, GpuNumbers) and isinstance(second, np.ndarray):
        return first, first.beside(second)
    if isinstance(second, GpuNumbers) and isinstance(first, np.ndarray):
        raise InvalidArgument(f"{names[0]} is in host memory and {names[1]} in a GPU's: move one of them")
    return first, second
