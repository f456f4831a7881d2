# SPDX-License-Identifier: Apache-2.0
"""Arrays of CuPy, PyTorch and JAX in a GPU's memory. Results are in the same memory, and no call waits for the GPU.

Work is enqueued on the library's current CUDA stream, or on the caller's. It therefore runs after the work that makes
the array, and before the work that uses the result.
"""

import contextlib
import importlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._arrays import TYPES, convert_counting
from ._errors import InvalidArgument, Unavailable

_DLPACK_CUDA = 2
_SHORT_FLOATS = ("float16", "bfloat16")


def is_on_gpu(array: Any, stream: Any = None) -> bool:
    """Tells whether an array lies in a CUDA device's memory. Refuses a CUDA stream that the caller gives for another
    array."""
    if not isinstance(array, np.ndarray):
        if hasattr(array, "__dlpack_device__"):
            if int(array.__dlpack_device__()[0]) == _DLPACK_CUDA:
                return True
        elif hasattr(array, "__cuda_array_interface__"):
            return True
    if stream is not None:
        raise InvalidArgument("stream is for arrays in a GPU's memory, and this one is in host memory: leave it out")
    return False


def known(array: Any, what: str) -> Any:
    """Returns an array in a GPU's memory as one of CuPy or PyTorch that shares its memory."""
    library = library_of(array)
    if library == "torch":
        return array.detach().resolve_conj().resolve_neg()
    if library == "cupy":
        return array
    for name in ("cupy", "torch"):
        with contextlib.suppress(ImportError):
            module: Any = importlib.import_module(name)
            if hasattr(array, "__dlpack__"):
                return module.from_dlpack(array)
            if hasattr(array, "__cuda_array_interface__"):
                return module.asarray(array) if name == "cupy" else module.as_tensor(array, device="cuda")
    raise Unavailable(f"{what} is an array of {library} in a GPU's memory: such arrays are taken by way of CuPy or "
                      "PyTorch, and neither is installed")


def address_of(array: Any) -> int:
    return int(array.data_ptr()) if hasattr(array, "data_ptr") else int(array.data.ptr)


def joined(arrays: list[Any]) -> Any:
    """Returns arrays of one dimension, of NumPy, CuPy or PyTorch, one after the other."""
    library: Any = np if isinstance(arrays[0], np.ndarray) else importlib.import_module(library_of(arrays[0]))
    return library.cat(arrays) if library.__name__ == "torch" else library.concatenate(arrays)


def library_of(array: Any) -> str:
    """Returns the name of the library that an array or a stream comes from."""
    return type(array).__module__.partition(".")[0]


def stream_address(stream: Any) -> int:
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    raise InvalidArgument("stream is one of CuPy or PyTorch, or the address of a CUDA stream")


def on_stream(array: Any, stream: Any) -> contextlib.AbstractContextManager[Any]:
    """Makes the caller's CUDA stream, if there is one, the current one of the array's library within a context.

    Copies, conversions and allocations of the library are then ordered with the work on that stream. Otherwise a copy
    might come after the work that reads it, or memory might be reused too early.
    """
    library = library_of(array)
    if stream is None or library not in ("cupy", "torch"):
        return contextlib.nullcontext()
    cuda: Any = importlib.import_module(library).cuda
    own = stream if library_of(stream) == library else cuda.ExternalStream(stream_address(stream))
    return cuda.stream(own) if library == "torch" else own  # type: ignore[no-any-return]


def storage_of(array: Any) -> str:
    """Returns "float16" or "bfloat16" of an array of such floats, else "plain"."""
    name = str(getattr(array, "dtype", "")).removeprefix("torch.")
    return name if name in _SHORT_FLOATS else "plain"


@dataclass(frozen=True)
class DeviceArray:
    """An array in a GPU's memory with its address, shape, type and device.

    `library` is the name of its library, CuPy or PyTorch, and `given` that of the caller's array. `storage` names
    floats of 16 bits that are computed with as float32, which is their type then.
    """

    array: Any
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: int
    library: str
    given: str = ""
    storage: str = "plain"

    @classmethod
    def of(cls, array: Any, what: str, *others: np.dtype[Any], takes_short_floats: bool = False) -> "DeviceArray":
        """Returns the array with its facts. Its type is one of TYPES, or one of `others`."""
        given, array = library_of(array), known(array, what)
        library = library_of(array)
        array = array.contiguous() if library == "torch" else importlib.import_module("cupy").ascontiguousarray(array)
        storage = storage_of(array) if takes_short_floats else "plain"
        name = str(array.dtype).removeprefix("torch.") if storage == "plain" else "float32"
        try:
            dtype: np.dtype[Any] = np.dtype(name)
        except TypeError:  # PyTorch has types that NumPy does not have
            raise InvalidArgument(f"{what} is of type {array.dtype}: convert it to float32 first") from None
        if dtype not in TYPES and dtype not in others:
            raise InvalidArgument(f"{what} is of type {dtype}: convert it to float32 or float64 first")
        device = array.device.index if library == "torch" else array.device.id
        return cls(array, address_of(array), tuple(array.shape), dtype, int(device), library, given, storage)

    @classmethod
    def target(cls, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any] | None, device: int,
               takes_short_floats: bool = False) -> "DeviceArray":
        """Checks a contiguous array for a result, and returns it. Its type must be `dtype`, if that is not None."""
        others = () if dtype is None else (dtype,)
        found = (cls.of(out, "out", *others, takes_short_floats=takes_short_floats)
                 if is_on_gpu(out) and library_of(out) in ("cupy", "torch") else None)
        # of() copies an array that is not contiguous, so that the address differs.
        if (found is None or found.address != address_of(out) or found.shape != shape or found.device != device
                or dtype not in (None, found.dtype)):
            others_too = ", float16 or bfloat16" if takes_short_floats and dtype == np.float32 else ""
            kind = "" if dtype is None else f" of {dtype}{others_too}"
            raise InvalidArgument(f"out must be a contiguous array{kind}, shape {shape}, on the GPU of the image")
        return found

    @property
    def module(self) -> Any:
        """The library of the array."""
        return importlib.import_module(self.library)

    def give_back(self, result: Any) -> Any:
        """Returns an array of `library` as one of the library of the caller's array."""
        if self.given in ("jax", "jaxlib"):
            return importlib.import_module("jax.dlpack").from_dlpack(result)
        return result

    def along_last(self, axis: int) -> "DeviceArray":
        """Returns a contiguous array whose last axis is `axis` of this one."""
        if axis == len(self.shape) - 1:
            return self
        return DeviceArray.of(self.module.moveaxis(self.array, axis, -1), "the array", self.dtype)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> "DeviceArray":
        """Returns a new array on the same GPU."""
        return self._like(self.empty_of_any(shape, dtype), "the result", dtype)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> "DeviceArray":
        """Returns a new array of zeros on the same GPU."""
        made = self.empty(shape, dtype)
        with self._current():
            made.array[...] = 0
        return made

    def placed_in(self, shape: tuple[int, ...], where: tuple[slice, ...]) -> "DeviceArray":
        """Returns a new array that has this one in a place, and zeros around it."""
        made = self.zeros(shape, self.dtype)
        with self._current():
            made.array[where] = self.array
        return made

    def _like(self, array: Any, what: str, *others: np.dtype[Any]) -> "DeviceArray":
        """Returns an array that is given back in the caller's library, as this one is."""
        return replace(DeviceArray.of(array, what, *others), given=self.given)

    def _current(self) -> contextlib.AbstractContextManager[Any]:
        """Makes this GPU the current one of CuPy, whose work goes there. PyTorch follows its tensors."""
        if self.library == "torch":
            return contextlib.nullcontext()
        return self.module.cuda.Device(self.device)  # type: ignore[no-any-return]

    def empty_of_any(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Returns a new array of the same library on the same GPU, also with a type that convolume cannot compute
        with."""
        if self.library == "torch":
            return self.module.empty(shape, dtype=getattr(self.module, dtype.name), device=self.array.device)
        with self._current():
            return self.module.empty(shape, dtype)

    def of_type(self, dtype: np.dtype[Any]) -> "DeviceArray":
        """Returns this array if it has that type, else a copy that is converted on the device."""
        if dtype == self.dtype:
            return self
        converted = (self.array.to(getattr(self.module, dtype.name)) if self.library == "torch"
                     else self.array.astype(dtype))
        return self._like(converted, "the converted array")

    def fill_from(self, values: np.ndarray) -> dict[str, int]:
        """Copies an array of the host into this one. Integers are rounded and clamped; returns how many were
        clamped."""
        converted = np.empty(values.shape, self.dtype)
        counts = convert_counting(values, converted)
        if self.library == "torch":
            self.array.copy_(self.module.from_numpy(converted))
        else:
            self.array[...] = self.module.asarray(converted)
        return counts

    def stream(self, given: Any) -> int:
        """Returns the address of the caller's CUDA stream, or of the library's current one if `given` is None."""
        if given is None:
            given = (self.module.cuda.current_stream(self.array.device) if self.library == "torch"
                     else self.module.cuda.get_current_stream())
        return stream_address(given)


def to_host(array: Any, what: str) -> np.ndarray:
    """Copies an array in a GPU's memory to host memory, where kernels are prepared."""
    return host_copy(DeviceArray.of(array, what).array)


def host_copy(array: Any) -> np.ndarray:
    """Returns a copy in host memory of an array of CuPy or PyTorch."""
    if library_of(array) == "torch":
        return np.asarray(array.cpu().numpy())
    return np.asarray(importlib.import_module("cupy").asnumpy(array))
