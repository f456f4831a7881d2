# SPDX-License-Identifier: Apache-2.0
"""A convolution problem: its keywords, its description for the library, and its plan."""

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from . import _core
from ._arrays import is_double, readable, type_of
from ._errors import InvalidArgument
from ._options import (
    Boundary,
    ImageNan,
    Mode,
    Origin,
    Precision,
    boundary_name,
    center_of,
    defaults_of,
    refuse_unused_cval,
    triple_of,
    whole_numbers,
)
from ._psf import Kernel, prepared_kernel
from ._run import Devices, Progress, Resources, byte_size, engines


class Plan:
    """The plan of a convolution, with its predicted time and memory. ``print(plan)`` shows a table."""

    def __init__(self, text: str, facts: dict[str, Any]) -> None:
        self._text = text
        self._facts = facts

    @property
    def method(self) -> str:
        """The method: "in-core", "dif", "tiled" or "direct"."""
        return str(self._facts["chosen"]["method"])

    @property
    def engines(self) -> list[str]:
        """Names of the engines that compute, such as "cpu:0" or "gpu:1"."""
        return list(self._facts["engines"])

    @property
    def seconds(self) -> float:
        """Predicted seconds for one image."""
        return float(self._facts["chosen"]["seconds"])

    @property
    def host_bytes(self) -> int:
        """Predicted bytes of host memory, the image and the result included."""
        return int(self._facts["chosen"]["host_bytes"])

    @property
    def device_bytes(self) -> int:
        """Predicted bytes of each GPU's memory; 0 if no GPU takes part."""
        return int(self._facts["chosen"]["engine_bytes"]) if self._facts["chosen"]["on_gpu"] else 0

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures of the plan, as `convolume convolve --dry-run --json` prints them."""
        return self._facts

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Plan {self.method} on {', '.join(self.engines)}>"


Method = Literal["auto", "in-core", "dif", "tiled", "direct"]
Operation = Literal["convolve", "correlate", "adjoint"]


class CommonKeywords(Resources, total=False):
    """Keywords of both :class:`Convolver` and :func:`convolve`."""

    mode: Mode
    boundary: Boundary
    cval: float
    origin: Origin
    normalize: Literal["sum", "peak"] | None
    method: Method
    nan: ImageNan
    precision: Precision | None


class ConvolverKeywords(CommonKeywords, total=False):
    """Keywords of :class:`Convolver`."""

    dtype: Any
    operation: Operation
    executions: int | None


class ConvolveKeywords(CommonKeywords, total=False):
    """Keywords of :func:`convolve`."""

    axes: Sequence[int] | int | None
    out: Any
    dtype: Any
    stream: Any
    progress: Progress


def convolution_defaults(keywords: Any, dtype: Any) -> dict[str, Any]:
    return defaults_of(keywords, "Options", cval=0.0, normalize=None, precision=None, dtype=dtype)


def result_shape(image: Sequence[int], kernel: Sequence[int], mode: Mode) -> list[int]:
    """Returns the shape of a convolution's result."""
    return [n + {"same": 0, "full": k - 1, "valid": 1 - k}[mode] for n, k in zip(image, kernel)]


natural_type = functools.cache(_core.sample_type)
"""Returns the type of results of a precision that are real or complex."""


class Problem:
    """A convolution problem before it is planned: shape and type of the image, kernel, options and engines."""

    def __init__(self, image_shape: Sequence[int], kernel: Any, dtype: Any, arguments: dict[str, Any]) -> None:
        shape = tuple(whole_numbers(image_shape, "the image's shape"))
        prepared = (kernel if isinstance(kernel, Kernel)
                    else prepared_kernel(kernel, "the kernel", len(shape), arguments.get("origin", "middle")))
        if 1 <= prepared.taps.ndim < len(shape):
            prepared = prepared.with_axes(len(shape))
        taps = prepared.taps
        if not 1 <= len(shape) <= 3:
            raise InvalidArgument(f"an image of {len(shape)} dimensions where 1 to 3 are convolved: name the axes of a "
                                  "batch by convolume.convolve(axes=…)")
        if taps.ndim != len(shape):
            raise InvalidArgument(f"the kernel has {taps.ndim} dimensions and the image {len(shape)}: give one of at "
                                  "least one, and no more than the image has")
        image_type = readable(np.empty(0, type_of(dtype)), "dtype").dtype
        if arguments.get("precision") is None:
            arguments["precision"] = "float64" if is_double(image_type, taps.dtype) else "float32"
        arguments["origin"] = prepared.origin
        self.arguments = arguments
        self.prepared = prepared
        self.kernel = taps
        self.shape = shape
        self.dtype = image_type
        self.options = self._options(arguments)
        self.engines = engines(arguments)
        is_complex = image_type.kind == "c" or taps.dtype.kind == "c"
        self.natural = natural_type(arguments["precision"], is_complex)

    def _options(self, arguments: dict[str, Any]) -> _core.Options:
        own = {name: value for name, value in arguments.items() if name not in Devices.__annotations__}
        cval = float(own.pop("cval", 0.0))
        own["boundary"] = boundary_name(own.get("boundary", "zero"))
        refuse_unused_cval(cval, own["boundary"])
        if own["boundary"] == "constant":
            if math.isfinite(cval) and own["precision"] == "float32" and abs(cval) > np.finfo(np.float32).max:
                raise InvalidArgument(f"cval is {cval:g}, which float32 does not hold: take precision='float64'")
            own["boundary"] = f"constant:{cval!r}"
        own["origin"] = center_of(own.get("origin", "middle"), self.kernel.ndim)
        own["max_host_mem"] = byte_size(own.get("max_host_mem"))
        return _core.Options(**own)

    def filled_kernel(self) -> np.ndarray:
        """Returns the kernel with axes z, y and x."""
        return self.kernel.reshape(triple_of(self.kernel.shape)) if self.kernel.ndim < 3 else self.kernel

    def for_host_arrays(self, from_cache: bool = False) -> _core.Convolver:
        """Plans for arrays in host memory, or takes the plan from the cache."""
        if from_cache:
            return self.of_cache().convolver(self.filled_kernel())
        return _core.Convolver(triple_of(self.shape), self.filled_kernel(), self.options, self.engines, self.dtype,
                               self.natural)

    def of_cache(self) -> _core.CachedConvolution:
        """Returns the convolutions that differ from this one only in values of the image and the kernel."""
        return _core.CachedConvolution(triple_of(self.shape), self.options, self.engines, self.dtype, self.natural)

    def for_kernels_on(self, device: int, dtype: np.dtype[Any]) -> _core.DeviceConvolver:
        """Takes a plan from the cache for images and kernels in a GPU's memory. Only the kernel's shape and type count
        in it."""
        return _core.cached_device_convolver_without_kernel(
            triple_of(self.shape), triple_of(self.kernel.shape), self.kernel.dtype, self.options, device, dtype,
            byte_size(self.arguments.get("max_gpu_mem")))

    def for_arrays_on(self, device: int, dtype: np.dtype[Any], *storages: str) -> _core.DeviceConvolver:
        """Plans for arrays in a GPU's memory, of an image and of a result, and their storages."""
        return _core.DeviceConvolver(triple_of(self.shape), self.filled_kernel(), self.options, device, dtype,
                                     byte_size(self.arguments.get("max_gpu_mem")), *storages)

    def cached_for_arrays_on(self, device: int, dtype: np.dtype[Any]) -> _core.DeviceConvolver:
        """Takes a plan from the cache for arrays in a GPU's memory."""
        return _core.cached_device_convolver(triple_of(self.shape), self.filled_kernel(), self.options, device, dtype,
                                             byte_size(self.arguments.get("max_gpu_mem")))

    def for_slabs(self, devices: list[int], input_planes: list[int], output_planes: list[int], dtype: np.dtype[Any],
                  from_cache: bool = False) -> _core.DeviceConvolver:
        """Plans for images in slabs in the memory of several GPUs, or takes the plan from the cache. The result is
        divided evenly if `output_planes` is empty."""
        return _core.slab_convolver(triple_of(self.shape), self.filled_kernel(), self.options, devices, input_planes,
                                    output_planes, dtype, byte_size(self.arguments.get("max_gpu_mem")), from_cache)
