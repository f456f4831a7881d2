# SPDX-License-Identifier: Apache-2.0
"""Arrays in a GPU's memory, of CuPy and PyTorch: results are in the same memory, and nothing waits for the GPU.

Work is enqueued on the library's current stream, or the one that is passed, so that it follows what made the array and
comes before what uses the result.
"""

import contextlib
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._arrays import TYPES
from ._errors import InvalidArgument, Unavailable

_DLPACK_CUDA = 2


def is_on_gpu(array: Any) -> bool:
    """Whether an array lies in a CUDA device's memory."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return False
    return int(array.__dlpack_device__()[0]) == _DLPACK_CUDA


def address_of(array: Any) -> int:
    return int(array.data_ptr()) if hasattr(array, "data_ptr") else int(array.data.ptr)


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _stream_address(stream: Any) -> int:
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    raise InvalidArgument("stream is one of CuPy or PyTorch, or the address of a CUDA stream")


def on_stream(array: Any, stream: Any) -> contextlib.AbstractContextManager[Any]:
    """Where the caller names a stream, the array's library copies, converts and allocates there meanwhile: else a copy
    would not be ordered with the work that reads it, and memory could be given to others too early."""
    library = _library(array)
    if stream is None or library not in ("cupy", "torch"):
        return contextlib.nullcontext()
    cuda: Any = importlib.import_module(library).cuda
    own = stream if _library(stream) == library else cuda.ExternalStream(_stream_address(stream))
    return cuda.stream(own) if library == "torch" else own  # type: ignore[no-any-return]


@dataclass(frozen=True)
class DeviceArray:
    """What the library needs to know of an array, and the module that it comes from."""

    array: Any
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: int
    library: str

    @classmethod
    def of(cls, array: Any, what: str) -> "DeviceArray":
        library = _library(array)
        if library not in ("cupy", "torch"):
            raise Unavailable(f"{what} is an array of {library} in a GPU's memory: those of CuPy and PyTorch are taken")
        if library == "torch":
            array = array.detach()
        array = array.contiguous() if library == "torch" else importlib.import_module("cupy").ascontiguousarray(array)
        facts = array.__cuda_array_interface__
        dtype: np.dtype[Any] = np.dtype(facts["typestr"])
        if dtype not in TYPES:
            raise InvalidArgument(f"{what} is of type {dtype}: convert it to float32 or float64 first")
        device = int(array.__dlpack_device__()[1])
        return cls(array, int(facts["data"][0]), tuple(facts["shape"]), dtype, device, library)

    @classmethod
    def target(cls, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any] | None, device: int) -> "DeviceArray":
        """An array that takes a result, as it is: of that type (None: any) and contiguous."""
        found = cls.of(out, "out") if is_on_gpu(out) else None
        # What is not contiguous has been copied.
        if (found is None or found.address != address_of(out) or found.shape != shape or found.device != device
                or dtype not in (None, found.dtype)):
            kind = "" if dtype is None else f" of {dtype}"
            raise InvalidArgument(f"out must be a contiguous array{kind}, shape {shape}, on the GPU of the image")
        return found

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> "DeviceArray":
        """A new array beside this one."""
        return DeviceArray.of(self.empty_of_any(shape, dtype), "the result")

    def empty_of_any(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """The same as the library's own array, of types that are not computed with as well."""
        module: Any = importlib.import_module(self.library)
        if self.library == "torch":
            return module.empty(shape, dtype=getattr(module, dtype.name), device=self.array.device)
        with module.cuda.Device(self.device):
            return module.empty(shape, dtype)

    def of_type(self, dtype: np.dtype[Any]) -> "DeviceArray":
        """This array, or a copy that is converted on the device."""
        if dtype == self.dtype:
            return self
        module: Any = importlib.import_module(self.library)
        converted = (self.array.to(getattr(module, dtype.name)) if self.library == "torch"
                     else self.array.astype(dtype))
        return DeviceArray.of(converted, "the converted array")

    def fill_from(self, values: np.ndarray) -> dict[str, int]:
        """Copies an array of the host, converted: integers are rounded and clamped. Returns how many were clamped."""
        module: Any = importlib.import_module(self.library)
        converted = np.empty(values.shape, self.dtype)
        low, high = _core.convert(values, converted)
        values = converted
        if self.library == "torch":
            self.array.copy_(module.from_numpy(values))
        else:
            self.array[...] = module.asarray(values)
        return {"clamped_low": low, "clamped_high": high}

    def stream(self, given: Any) -> int:
        """A CUDA stream's address: the caller's, or the library's current one."""
        module: Any = importlib.import_module(self.library)
        if given is None:
            given = (module.cuda.current_stream(self.array.device) if self.library == "torch"
                     else module.cuda.get_current_stream())
        return _stream_address(given)


def to_host(array: Any, what: str) -> np.ndarray:
    """A kernel may lie on a GPU as well; it is prepared from host memory."""
    source = DeviceArray.of(array, what)
    if source.library == "torch":
        return np.asarray(source.array.cpu().numpy())
    return np.asarray(importlib.import_module("cupy").asnumpy(source.array))
