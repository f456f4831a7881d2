# SPDX-License-Identifier: Apache-2.0
"""The forward model: how an object becomes the images of its views."""

import threading
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import readable, type_of
from ._deconvolve_options import Edges, deconvolution_defaults
from ._device import DeviceArray, is_on_gpu, on_stream
from ._errors import InvalidArgument
from ._linear_map import LinearMap, linear_operator
from ._options import triple_of, with_keywords
from ._run import Resources, byte_size, engines
from ._views import View, core_view, listed, shapes_of


class _ModelKeywords(Resources, total=False):
    """Keywords of :class:`ForwardModel`."""

    edges: Edges


class ForwardModel:
    """How an object becomes the images of its views, and the exact adjoint.

    The image of a view is ``mask * sum over k of psf_k convolved with (weight_k * G(object))``: G brings the object to
    the voxels of the view, by its transform, and the weights of its PSFs add up to 1. Voxels of a view that are larger
    than those of the object hold the mean of the object over their extents. Between voxels, the object is interpolated
    linearly. The object reaches beyond the result as far as the PSFs bring light from there, and is 0 outside.

    Parameters
    ----------
    views : sequence of View
        One for each recording. Their levels (background, gain, …) are not used.
    shapes : sequence of sequences of ints
        Extents of each recording: (z, y, x) or (y, x).
    shape : sequence of ints, optional
        Extents of the result, to whose voxels the transforms of the views lead. By default those of the first view.
    dtype : {"float32", "float64"}
        Type of the arithmetic, and of all arrays.
    edges : {"extend", "zero", "nearest", "reflect", "mirror", "wrap"}
        "extend": the object itself reaches beyond each view. Otherwise views continue what they see of it.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`convolume.Run`.

    Raises
    ------
    InvalidArgument
        Views that do not fit their shapes, or a transform without an inverse (a ValueError).
    BadData
        A PSF of zeros, or with NaN (a ValueError).
    OutOfMemory
        No plan fits the memory limits (a MemoryError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> psf = np.ones((3, 3, 3))
    >>> quarter = [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 7]]       # the second view is from the side
    >>> model = convolume.ForwardModel([convolume.View(psf), convolume.View(psf, quarter)], [(8, 8, 8), (8, 8, 8)])
    >>> model.object_shape, model.result
    ((10, 10, 10), (slice(1, 9, None), slice(1, 9, None), slice(1, 9, None)))
    >>> thing = np.zeros((8, 8, 8))
    >>> thing[2, 3, 5] = 27
    >>> front, side = model(thing)
    >>> [[round(float(image[z, 3, x]), 3) for z, x in ((2, 5), (2, 2))] for image in (front, side)]
    [[1.0, 0.0], [0.0, 1.0]]
    >>> model.adjoint([front, side]).shape
    (10, 10, 10)
    """

    shapes: list[tuple[int, ...]]
    """Extents of each view."""
    result_shape: tuple[int, ...]
    """Extents of the result."""
    object_shape: tuple[int, ...]
    """Extents of the object, which reaches beyond the result."""
    result: tuple[slice, ...]
    """Place of the result in the object."""
    dtype: np.dtype[Any]
    """Type of the arithmetic, and of all arrays."""

    @with_keywords(_ModelKeywords, deconvolution_defaults(_ModelKeywords))
    def __init__(self, views: Sequence[View], shapes: Sequence[Sequence[int]], *, shape: Sequence[int] | None = None,
                 dtype: Any = "float32", **options: Unpack[_ModelKeywords]) -> None:
        views = listed(views, "the views")
        self.shapes, self.result_shape = shapes_of(shapes, views, shape)
        self.dtype = type_of(dtype)
        if self.dtype.name not in ("float32", "float64"):
            raise InvalidArgument(f"a forward model of {self.dtype}: it computes with float32 or float64")
        edges = options.get("edges", "extend")
        made = [core_view(one, extents, edges, None, copies=True) for one, extents in zip(views, self.shapes)]
        extents, at = _core.object_grid(triple_of(self.result_shape), made)
        first = 3 - len(self.result_shape)
        self.object_shape = tuple(extents)[first:]
        self.result = tuple(slice(begin, begin + extent) for begin, extent in
                            zip(tuple(at)[first:], self.result_shape))
        self._solid = tuple(extents)
        self._views, self._gpu_bytes = made, byte_size(options.get("max_gpu_mem"))
        self._on_gpus: dict[int, _core.DeviceForwardModel] = {}
        self._lock = threading.Lock()
        self._core = _core.ForwardModel(triple_of(self.result_shape), made, self.dtype == np.float64,
                                        byte_size(options.get("max_host_mem")), engines(options))

    def __repr__(self) -> str:
        return f"<ForwardModel {self.object_shape} to {len(self.shapes)} views>"

    @names_wrong_types
    def __call__(self, thing: Any, *, stream: Any = None) -> list[Any]:
        """Returns the images of an object, a list with an array for each view.

        Parameters
        ----------
        thing : array
            The object, of `object_shape`; or of the shape of the result, with 0 around it. An array in a GPU's memory
            stays there, and so do the images.
        stream : stream of CuPy or PyTorch, or int, optional
            See :meth:`convolume.Convolver.__call__`.

        Raises
        ------
        InvalidArgument
            An array of another shape, or complex (a ValueError).
        """
        if is_on_gpu(thing, stream):
            with on_stream(thing, stream):
                return self._record_on_gpu(self._on_gpu(thing, "the object"), stream)
        given = self._real(thing, "the object")
        if self._is_of_result(given.shape):
            whole = np.zeros(self.object_shape, self.dtype)
            whole[self.result] = given
            given = whole
        images = []
        for number, shape in enumerate(self.shapes):
            image = np.empty(shape, self.dtype)
            self._core.record(number, given.reshape(self._solid), image.reshape(triple_of(shape)))
            images.append(image)
        return images

    @names_wrong_types
    def adjoint(self, images: Sequence[Any], *, stream: Any = None) -> Any:
        """Returns the adjoint of images, with the shape `object_shape`: light is sent back to where it may have come
        from. For images y of an object x, ``sum(model(x) * y) == sum(x * model.adjoint(y))``.

        Parameters
        ----------
        images : sequence of arrays
            One for each view, all in host memory or in that of one GPU.
        stream : stream of CuPy or PyTorch, or int, optional
            See :meth:`convolume.Convolver.__call__`.

        Raises
        ------
        InvalidArgument
            Another number of images, or shapes that do not fit (a ValueError).
        """
        images = listed(images, "the images")
        if len(images) != len(self.shapes):
            raise InvalidArgument(f"{len(images)} images where {len(self.shapes)} views were planned")
        if is_on_gpu(images[0], stream):
            with on_stream(images[0], stream):
                return self._add_back_on_gpu(images, stream)
        whole = np.zeros(self.object_shape, self.dtype)
        for number, (image, shape) in enumerate(zip(images, self.shapes)):
            given = self._real(image, f"the image of view {number + 1}")
            _check_image(given.shape, shape, number)
            self._core.add_back(number, given.reshape(triple_of(shape)), whole.reshape(self._solid))
        return whole

    def as_linear_operator(self) -> Any:
        """Returns the model as a scipy.sparse.linalg.LinearOperator, for solvers of SciPy and PyLops.

        Its matrix A has the shape (samples of all images, samples of the object). It is not stored: A x has the
        flattened images of the flattened object x, one view after the other, and Aᵀ y is the adjoint of such images.

        Raises
        ------
        Unavailable
            SciPy is not installed (a RuntimeError).

        Examples
        --------
        >>> import numpy as np, convolume
        >>> views = [convolume.View(np.ones((3, 3))), convolume.View(np.ones((1, 1)))]
        >>> operator = convolume.ForwardModel(views, [(8, 8), (8, 8)], device="cpu").as_linear_operator()
        >>> operator.shape
        (128, 100)
        """
        return linear_operator(self._as_linear_map())

    def _as_linear_map(self) -> LinearMap:
        return LinearMap(self.object_shape, self.shapes, self.dtype, self, self.adjoint)

    def _is_of_result(self, shape: tuple[int, ...]) -> bool:
        """Tells whether an object has the shape of the result, and not that of the object. Refuses all others."""
        if shape not in (self.object_shape, self.result_shape):
            raise InvalidArgument(f"an object of shape {shape} where {self.object_shape} was planned, or "
                                  f"{self.result_shape} with 0 around it")
        return shape != self.object_shape

    def _on_gpu(self, array: Any, what: str) -> DeviceArray:
        """Returns an array in a GPU's memory with the type of the arithmetic."""
        if not is_on_gpu(array):
            raise InvalidArgument(f"{what} is in host memory and others are in a GPU's: move them to one memory")
        found = DeviceArray.of(array, what)
        if found.dtype.kind == "c":
            raise InvalidArgument(f"{what} is complex: give its real part")
        return found.of_type(self.dtype)

    def _planned_on(self, device: int) -> _core.DeviceForwardModel:
        with self._lock:
            if device not in self._on_gpus:
                self._on_gpus[device] = _core.DeviceForwardModel(
                    triple_of(self.result_shape), self._views, self.dtype == np.float64, device, self._gpu_bytes)
            return self._on_gpus[device]

    def _record_on_gpu(self, given: DeviceArray, stream: Any) -> list[Any]:
        if self._is_of_result(given.shape):
            given = given.placed_in(self.object_shape, self.result)
        planned, on = self._planned_on(given.device), given.stream(stream)
        images = []
        for number, shape in enumerate(self.shapes):
            image = given.empty(shape, self.dtype)
            planned.record(number, given.address, image.address, on)
            images.append(given.give_back(image.array))
        return images

    def _add_back_on_gpu(self, images: Sequence[Any], stream: Any) -> Any:
        given = [self._on_gpu(image, f"the image of view {number + 1}") for number, image in enumerate(images)]
        first = given[0]
        planned, on = self._planned_on(first.device), first.stream(stream)
        whole = first.zeros(self.object_shape, self.dtype)
        for number, (image, shape) in enumerate(zip(given, self.shapes)):
            _check_image(image.shape, shape, number)
            if image.device != first.device:
                raise InvalidArgument("the images are on several GPUs: move them to one")
            planned.add_back(number, image.address, whole.address, on)
        return first.give_back(whole.array)

    def _real(self, array: Any, what: str) -> np.ndarray:
        values = readable(array, what)
        if values.dtype.kind == "c":
            raise InvalidArgument(f"{what} is complex: give its real part")
        return np.ascontiguousarray(values, self.dtype)


def _check_image(shape: tuple[int, ...], wanted: tuple[int, ...], number: int) -> None:
    if shape != wanted:
        raise InvalidArgument(f"the image of view {number + 1} has the shape {shape} where {wanted} was planned")
