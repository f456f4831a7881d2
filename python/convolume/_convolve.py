# SPDX-License-Identifier: Apache-2.0
"""Convolution of images with 1 to 3 dimensions, and of batches of them."""

import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from . import _core
from ._arrays import give_back, is_double, readable, result_type, writable
from ._device import DeviceArray, is_on_gpu, on_stream, to_host
from ._errors import InvalidArgument
from ._plan import Plan
from ._run import Device, Progress, byte_size, engines, progress_bar
from ._warnings import warn_of_clamped

Mode = Literal["full", "same", "valid"]
Boundary = Literal["zero", "constant", "nearest", "reflect", "mirror", "wrap"]
Origin = Literal["middle", "scipy", "peak", "centroid", "corner"] | Sequence[int]
Normalize = Literal["sum", "peak"] | None
Method = Literal["auto", "in-core", "dif", "tiled", "direct"]
Nan = Literal["error", "zero", "propagate"]
Precision = Literal["float32", "float64"]

# Other libraries' words for the same boundaries.
_BOUNDARIES = {"fill": "constant", "edge": "nearest", "symm": "reflect", "symmetric": "reflect",
               "grid-wrap": "wrap", "circular": "wrap", "grid-mirror": "reflect", "grid-constant": "constant"}


def _triple(shape: Sequence[int]) -> tuple[int, int, int]:
    padded = (1,) * (3 - len(shape)) + tuple(int(n) for n in shape)
    return padded[0], padded[1], padded[2]


def _center(origin: Origin, dimensions: int) -> str:
    if isinstance(origin, str):
        return origin
    index = [int(i) for i in origin]
    if len(index) != dimensions:
        raise InvalidArgument(f"origin has {len(index)} numbers where the kernel has {dimensions} dimensions")
    return ",".join(str(i) for i in [0] * (3 - dimensions) + index)


class _Problem:
    """What is to be convolved with what, before anything is planned."""

    def __init__(self, image_shape: Sequence[int], kernel: Any, dtype: Any, arguments: dict[str, Any]) -> None:
        taps = to_host(kernel, "the kernel") if is_on_gpu(kernel) else readable(kernel, "the kernel")
        shape = tuple(int(n) for n in image_shape)
        if not 1 <= len(shape) <= 3:
            raise InvalidArgument(f"an image of {len(shape)} dimensions where 1 to 3 are convolved: name the axes of a "
                                  "batch by convolume.convolve(axes=…)")
        if taps.ndim != len(shape):
            raise InvalidArgument(f"the kernel has {taps.ndim} dimensions and the image {len(shape)}: give the kernel "
                                  "as many, of length 1 where it does not reach")
        image_type = readable(np.empty(0, dtype), "dtype").dtype
        precision = arguments["precision"]
        if precision is None:
            precision = "float64" if is_double(image_type, taps.dtype) else "float32"
        self.arguments = {**arguments, "precision": precision}
        self.kernel = taps
        self.shape = shape
        self.dtype = image_type
        self.options = self._options(self.arguments)
        self.engines = engines(arguments)
        complex_data = image_type.kind == "c" or taps.dtype.kind == "c"
        self.natural = {"float32": ("float32", "complex64"), "float64": ("float64", "complex128")}[precision][
            complex_data]

    def _options(self, arguments: dict[str, Any]) -> _core.Options:
        boundary: str = arguments["boundary"]
        kind = _BOUNDARIES.get(boundary, boundary)
        if kind == "constant":
            kind = f"constant:{float(arguments['cval'])!r}"
        return _core.Options(mode=arguments["mode"], boundary=kind, operation=arguments["operation"],
                             center=_center(arguments["origin"], self.kernel.ndim),
                             normalization=arguments["normalize"] or "none",
                             precision=arguments["precision"], nan=arguments["nan"], method=arguments["method"],
                             max_host_bytes=byte_size(arguments["max_host_mem"]),
                             executions=arguments["executions"])

    def _filled(self) -> np.ndarray:
        return self.kernel.reshape(_triple(self.kernel.shape)) if self.kernel.ndim < 3 else self.kernel

    def for_host_arrays(self) -> _core.Convolver:
        return _core.Convolver(_triple(self.shape), self._filled(), self.options, self.engines, self.dtype.name,
                               self.natural)

    def for_arrays_on(self, device: int, dtype: np.dtype[Any]) -> _core.DeviceConvolver:
        return _core.DeviceConvolver(_triple(self.shape), self._filled(), self.options, device, dtype.name,
                                     byte_size(self.arguments["max_gpu_mem"]))


def _convolve_on_gpu(convolver: _core.DeviceConvolver, image: DeviceArray, out: Any, stream: Any) -> Any:
    shape = tuple(convolver.output_shape[3 - len(image.shape):])
    kind: np.dtype[Any] = np.dtype(convolver.output_type)
    result = image.empty(shape, kind) if out is None else DeviceArray.target(out, shape, kind, image.device)
    convolver.execute(image.address, result.address, image.stream(stream))
    return result.array if out is None else out


class Convolver:
    """Convolves images of one shape with one kernel: plan once, call often.

    Parameters
    ----------
    image_shape : sequence of 1 to 3 ints
        Extents of an image, slowest axis first: (z, y, x), (y, x) or (x,).
    kernel : array
        As many dimensions. It is copied.
    dtype : type, optional
        Of the images that will come. It sets the precision and enters the memory estimate.
    mode : {"same", "full", "valid"}
        Size of the result, as in scipy.signal: with extents n of the image and k of the kernel n, n + k - 1, or
        n - k + 1.
    boundary : {"zero", "constant", "nearest", "reflect", "mirror", "wrap"}
        What lies outside the image, in the words of scipy.ndimage. Every mode uses it.
    cval : float
        The value outside, for "constant".
    origin : {"middle", "scipy", "peak", "centroid", "corner"} or sequence of ints
        The kernel's sample that stands for no shift, for mode "same". "middle" is k // 2, as in scipy.ndimage and ITK,
        "scipy" is (k - 1) // 2, as in scipy.signal. "corner" is sample 0 of a kernel in FFT order, which is unwrapped
        first, as by numpy.fft.fftshift.
    normalize : {None, "sum", "peak"}
        Divide the kernel by its sum, or by its largest magnitude.
    operation : {"convolve", "correlate", "adjoint"}
    method : {"auto", "in-core", "dif", "tiled", "direct"}
        How it is computed. "auto" takes what is predicted to be fastest within the memory limits.
    nan : {"error", "zero", "propagate"}
        What to do with NaN and infinities in images.
    precision : {None, "float32", "float64"}
        None: float64 where `dtype` or the kernel holds more than float32 does.
    device, workers, max_host_mem, max_gpu_mem
        As of :class:`convolume.Run`.
    executions : int, optional
        How many images will come; by default so many that preparing the kernel does not count.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves or the shapes (a ValueError).
    BadData
        A kernel of zeros, or with NaN (a ValueError).
    OutOfMemory
        No plan fits the limits (a MemoryError).
    Unavailable
        A GPU is asked for and there is none (a RuntimeError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> blur = convolume.Convolver((4, 5), np.ones((3, 3)) / 9, device="cpu")
    >>> blur(np.eye(4, 5)).shape
    (4, 5)
    """

    def __init__(self, image_shape: Sequence[int], kernel: Any, *, dtype: Any = np.float32, mode: Mode = "same",
                 boundary: Boundary = "zero", cval: float = 0.0, origin: Origin = "middle",
                 normalize: Normalize = None, operation: Literal["convolve", "correlate", "adjoint"] = "convolve",
                 method: Method = "auto", nan: Nan = "error", precision: Precision | None = None,
                 device: Device = "auto", workers: int | None = None, max_host_mem: int | str | None = None,
                 max_gpu_mem: int | str | None = None, executions: int | None = None) -> None:
        self._problem = _Problem(image_shape, kernel, dtype, {
            "mode": mode, "boundary": boundary, "cval": cval, "origin": origin, "normalize": normalize,
            "operation": operation, "method": method, "nan": nan, "precision": precision, "device": device,
            "workers": workers, "max_host_mem": max_host_mem, "max_gpu_mem": max_gpu_mem, "executions": executions})
        self._core = self._problem.for_host_arrays()
        self._on_gpus: dict[tuple[int, np.dtype[Any]], _core.DeviceConvolver] = {}
        first = 3 - len(self._problem.shape)
        self.input_shape: tuple[int, ...] = tuple(self._core.input_shape[first:])
        self.output_shape: tuple[int, ...] = tuple(self._core.output_shape[first:])
        self._natural = np.dtype(self._problem.natural)

    @property
    def plan(self) -> Plan:
        """The plan in use now."""
        return Plan(self._core.plan_text, json.loads(self._core.plan_json))

    @property
    def dtype(self) -> np.dtype:
        """The type that results have where `out` does not say."""
        return self._natural

    def __call__(self, image: Any, out: Any = None, *, stream: Any = None, progress: Progress = None) -> Any:
        """The convolution of one image of `input_shape`, any type and strides.

        Parameters
        ----------
        image : array
        out : array of `output_shape`, optional
            Takes the result, in its type: integers are rounded and clamped, and a :class:`ConvolumeWarning` tells how
            many were clamped. Apart from the image in memory. For an image in a GPU's memory, a contiguous array there
            of :attr:`Convolver.dtype`.
        stream : stream of CuPy or PyTorch, or int, optional
            For an image in a GPU's memory: a stream of CuPy or PyTorch, or the address of one. The work is enqueued
            there, or on the library's current stream, and nothing waits for it.
        progress
            See :class:`convolume.Run`.

        Returns
        -------
        array of `output_shape`, of the library that `image` comes from
        """
        if type(image) is not np.ndarray and is_on_gpu(image):
            with on_stream(image, stream):
                return self._call_on_gpu(DeviceArray.of(image, "the image"), out, stream)
        pixels = readable(image, "the image")
        self._check_shape(pixels.shape)
        if out is None:
            result = np.empty(self.output_shape, self._natural)
        else:
            result = writable(out, self.output_shape)
        if progress is None:
            done = self._core.execute(pixels, result)
        else:
            with progress_bar(progress) as report:
                done = self._core.execute(pixels, result, report)
        warn_of_clamped(done.clamped_low, done.clamped_high, result.dtype)
        return result if pixels is image or out is not None else give_back(result, image)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self.input_shape:
            raise InvalidArgument(f"an image of shape {shape} where this convolver was planned for {self.input_shape}")

    def _call_on_gpu(self, image: DeviceArray, out: Any, stream: Any) -> Any:
        self._check_shape(image.shape)
        key = image.device, image.dtype
        if key not in self._on_gpus:
            self._on_gpus[key] = self._problem.for_arrays_on(*key)
        return _convolve_on_gpu(self._on_gpus[key], image, out, stream)

    def adjoint(self) -> "Convolver":
        """The exact adjoint: takes an image of `output_shape` and gives one of `input_shape`."""
        turned = {"convolve": "adjoint", "adjoint": "convolve"}.get(self._problem.arguments["operation"])
        if turned is None:
            raise InvalidArgument("the adjoint of a correlation is not offered: plan a convolution with the flipped "
                                  "kernel")
        arguments: dict[str, Any] = {**self._problem.arguments, "operation": turned}
        return Convolver(self._problem.shape, self._problem.kernel, dtype=self._problem.dtype, **arguments)

    def as_linear_operator(self) -> Any:
        """As a scipy.sparse.linalg.LinearOperator on flattened images."""
        linalg: Any = importlib.import_module("scipy.sparse.linalg")
        adjoint = self.adjoint()
        return linalg.LinearOperator(
            (int(np.prod(self.output_shape)), int(np.prod(self.input_shape))),
            matvec=lambda x: self(np.asarray(x, self._natural).reshape(self.input_shape)).ravel(),
            rmatvec=lambda y: adjoint(np.asarray(y, self._natural).reshape(self.output_shape)).ravel(),
            dtype=self._natural)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy plans anew
        problem = self._problem
        return _planned, (problem.shape, problem.kernel, problem.dtype.name, problem.arguments)

    def __repr__(self) -> str:
        return f"<Convolver {self.input_shape} -> {self.output_shape}, {self.plan!r}>"


def _planned(shape: tuple[int, ...], kernel: np.ndarray, dtype: str, arguments: dict[str, Any]) -> Convolver:
    return Convolver(shape, kernel, dtype=dtype, **arguments)


def _axes(axes: Sequence[int] | int | None, dimensions: int, kernel_dimensions: int) -> list[int]:
    """Of the image that are convolved, ascending in the kernel's order."""
    if axes is None:
        if kernel_dimensions > dimensions:
            raise InvalidArgument(f"the kernel has {kernel_dimensions} dimensions and the image only {dimensions}")
        found = list(range(dimensions - kernel_dimensions, dimensions))
    else:
        given = [axes] if isinstance(axes, int) else list(axes)
        found = [axis + dimensions if axis < 0 else axis for axis in given]
        if any(not 0 <= axis < dimensions for axis in found) or len(set(found)) != len(found):
            raise InvalidArgument(f"axes {tuple(given)} do not name axes of an image of {dimensions} dimensions once "
                                  "each")
    if len(found) != kernel_dimensions:
        raise InvalidArgument(f"{len(found)} axes and a kernel of {kernel_dimensions} dimensions: both must agree")
    if not 1 <= len(found) <= 3:
        raise InvalidArgument(f"{len(found)} axes: 1 to 3 can be convolved, others are a batch")
    return found


def _share(report: Callable[[float], object], number: int, of: int) -> Callable[[float], object]:
    """Progress of one image among others."""
    return lambda fraction: report((number + fraction) / of)


def _apply(operation: Literal["convolve", "correlate"], image: Any, kernel: Any, axes: Sequence[int] | int | None,
           out: Any, dtype: Any, progress: Progress, stream: Any, arguments: dict[str, Any]) -> Any:
    if is_on_gpu(image):
        with on_stream(image, stream):
            return _apply_on_gpu(operation, image, kernel, axes, out, dtype, stream, arguments)
    pixels, taps = readable(image, "the image"), readable(kernel, "the kernel")
    chosen = _axes(axes, pixels.ndim, taps.ndim)
    last = list(range(-len(chosen), 0))
    moved = np.moveaxis(pixels, chosen, last)
    batch, shape = moved.shape[:-len(chosen)], moved.shape[-len(chosen):]
    images = int(np.prod(batch, dtype=np.int64))
    convolver = Convolver(shape, taps, dtype=pixels.dtype, operation=operation,
                          executions=max(1, images), **arguments)
    target_type = result_type(dtype, convolver.dtype.name)
    target_shape = list(pixels.shape)
    for axis, extent in zip(chosen, convolver.output_shape):
        target_shape[axis] = extent
    result = np.empty(target_shape, target_type) if out is None else writable(out, tuple(target_shape))
    targets = np.moveaxis(result, chosen, last)
    low = high = 0
    with progress_bar(progress) as report:
        for number, index in enumerate(np.ndindex(batch)):
            step = None if report is None else _share(report, number, images)
            done = convolver._core.execute(moved[index], targets[index], step)
            low, high = low + done.clamped_low, high + done.clamped_high
    warn_of_clamped(low, high, result.dtype)
    return result if out is not None or pixels is image else give_back(result, image)


def _apply_on_gpu(operation: Literal["convolve", "correlate"], image: Any, kernel: Any,
                  axes: Sequence[int] | int | None, out: Any, dtype: Any, stream: Any,
                  arguments: dict[str, Any]) -> Any:
    source = DeviceArray.of(image, "the image")
    taps = to_host(kernel, "the kernel") if is_on_gpu(kernel) else readable(kernel, "the kernel")
    if _axes(axes, len(source.shape), taps.ndim) != list(range(len(source.shape))):
        raise InvalidArgument("of an array in a GPU's memory all axes are convolved, in their order: loop over a batch "
                              "with a Convolver")
    problem = _Problem(source.shape, taps, source.dtype, {**arguments, "operation": operation, "executions": 1})
    if dtype is not None and np.dtype(dtype) != problem.natural:
        raise InvalidArgument(f"results in a GPU's memory are of type {problem.natural}: convert them there")
    return _convolve_on_gpu(problem.for_arrays_on(source.device, source.dtype), source, out, stream)


def convolve(image: Any, kernel: Any, *, axes: Sequence[int] | int | None = None, out: Any = None,
             dtype: Any = None, stream: Any = None, mode: Mode = "same", boundary: Boundary = "zero", cval: float = 0.0,
             origin: Origin = "middle", normalize: Normalize = None, method: Method = "auto", nan: Nan = "error",
             precision: Precision | None = None, device: Device = "auto", workers: int | None = None,
             max_host_mem: int | str | None = None, max_gpu_mem: int | str | None = None,
             progress: Progress = None) -> Any:
    """The linear convolution of an image, or of a batch of images, with a kernel.

    Parameters
    ----------
    image : array
        Any shape; strides do not matter.
    kernel : array
        1 to 3 dimensions.
    axes : sequence of ints, optional
        The image's axes that are convolved, one for each of the kernel's. All others are a batch. None: the last ones.
    out : array, optional
        Takes the result.
    dtype : type, optional
        Of the result: float32, float64 or their complex types by default, by the precision. Integers are rounded and
        clamped, and a :class:`ConvolumeWarning` tells how many were clamped.
    stream : stream of CuPy or PyTorch, or int, optional
        For arrays in a GPU's memory: as of :meth:`Convolver.__call__`.
    mode, boundary, cval, origin, normalize, method, nan, precision
        As of :class:`Convolver`.
    device, workers, max_host_mem, max_gpu_mem, progress
        As of :class:`Run`.

    Returns
    -------
    array, of the library that `image` comes from

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.convolve([1., 2., 3.], [1., 1.], mode="full", device="cpu")
    array([1., 3., 5., 3.])
    """
    options = {"mode": mode, "boundary": boundary, "cval": cval, "origin": origin, "normalize": normalize,
               "method": method, "nan": nan, "precision": precision, "device": device, "workers": workers,
               "max_host_mem": max_host_mem, "max_gpu_mem": max_gpu_mem}
    return _apply("convolve", image, kernel, axes, out, dtype, progress, stream, options)


def correlate(image: Any, kernel: Any, *, axes: Sequence[int] | int | None = None, out: Any = None,
              dtype: Any = None, stream: Any = None, mode: Mode = "same", boundary: Boundary = "zero",
              cval: float = 0.0, origin: Origin = "middle", normalize: Normalize = None, method: Method = "auto",
              nan: Nan = "error", precision: Precision | None = None, device: Device = "auto",
              workers: int | None = None, max_host_mem: int | str | None = None, max_gpu_mem: int | str | None = None,
              progress: Progress = None) -> Any:
    """The correlation: convolution with the kernel flipped and conjugated. Parameters as of :func:`convolve`.

    In mode "same" sample i is the sum of conj(kernel[j]) image[i + j - c], c the kernel's origin.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.correlate([1., 2., 3.], [0., 0., 1.], device="cpu")
    array([2., 3., 0.])
    """
    options = {"mode": mode, "boundary": boundary, "cval": cval, "origin": origin, "normalize": normalize,
               "method": method, "nan": nan, "precision": precision, "device": device, "workers": workers,
               "max_host_mem": max_host_mem, "max_gpu_mem": max_gpu_mem}
    return _apply("correlate", image, kernel, axes, out, dtype, progress, stream, options)
