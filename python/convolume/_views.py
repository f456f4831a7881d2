# SPDX-License-Identifier: Apache-2.0
"""Several recordings (views) of one object: how they come from it, and what it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Unpack

import numpy as np

from . import _core
from ._argument_types import names_wrong_types, shown
from ._arrays import readable, result_type, writable
from ._deconvolve_options import Acceleration, Edges, core_keywords, deconvolution_defaults, require_used
from ._errors import InvalidArgument, WrongType, warn, warn_of_clamped
from ._image import Image
from ._iteration import Accepted, Callback, core_callback
from ._missing_pixels import find_missing
from ._options import Origin, boundary_name, center_of, extents_of, triple_of, whole_numbers, with_keywords
from ._psf import prepared_kernel, warn_of_psf
from ._run import Progress, Resources, byte_size, engines, log_plan, progress_bar

_WIDEST = 2**62  # more voxels than any image has
_Level = float | Literal["auto"]


@dataclass(frozen=True, eq=False)
class View:
    """One of several recordings of an object: what blurs it, and where its voxels are.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> psf = np.ones((3, 3, 3))
    >>> convolume.View(psf, transform=[[1, 0, 0, 0], [0, 1, 0, 2.5], [0, 0, 1, 0]]).light
    1.0
    """

    psf: Any
    """The PSF in voxels of the recording, with as many dimensions; its sum is made 1. With `positions`, a sequence of
    PSFs."""
    transform: Any = None
    """Affine map from voxels of the recording to those of the result: a matrix of 3 rows (z, y, x) and 4 columns (z, y,
    x, 1), or of 4 rows with a last one of 0, 0, 0, 1. Positions are those of voxels' centers, counted from 0. Two
    dimensions have one row and one column less. None moves nothing. :func:`voxel_transform` makes it of a map in
    µm."""
    positions: Sequence[Sequence[float]] | None = None
    """Place (z, y, x) in the recording of each of several PSFs. The places form a grid. Between them light is blurred
    by the nearest PSFs in proportion, and beyond the outermost by these alone."""
    mask: Any = None
    """Weight of each pixel of the recording, at least 0. :class:`ForwardModel` multiplies the image by it;
    :class:`ViewDeconvolver` takes it as the weight in the likelihood: pixels of 0 say nothing of the object."""
    background: _Level = "auto"
    """Light that is added to every pixel, with the camera's offset; "auto" estimates it from the image."""
    offset: _Level = "auto"
    """Value of a pixel without light, which has no photon noise; "auto" estimates it from the noise."""
    gain: float | None = None
    """Photons for each unit of the image. None estimates it from the noise."""
    light: float = 1.0
    """Light that the view records of the object, relative to the others: its exposure, or its illumination."""
    border: int = 0
    """Number of voxels at the borders of the recording over which the weights of its pixels rise from 0 to 1. Errors
    of the transform then make no edge where a view ends."""
    origin: Origin = "middle"
    """The PSF's sample that stands for no shift, see :class:`convolume.Convolver`."""


class _ModelKeywords(Resources, total=False):
    """Keywords of :class:`ForwardModel`."""

    edges: Edges


class ViewKeywords(Resources, total=False):
    """Keywords of :class:`ViewDeconvolver`."""

    method: Literal["rl", "rl-tv", "shb", "map"]
    iterations: int | None
    acceleration: Acceleration
    edges: Edges
    tv_weight: float | Literal["auto"]
    roughness: float | Literal["auto"]
    spacing: Sequence[float | None] | None
    stop: float | Literal["auto"] | None
    saturation: float | Literal["auto"] | None
    no_data: float | Literal["auto", "off"]
    hot_pixels: Literal["auto", "off"]
    nan: Literal["error", "missing"]


def _listed(values: Any, what: str) -> list[Any]:
    """Returns the members of a list, a tuple or an array."""
    if not isinstance(values, list | tuple | np.ndarray) or isinstance(values, np.ndarray) and values.ndim == 0:
        raise WrongType(f"{what} are {shown(values)}: give a list")
    return list(values)


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise WrongType(f"{name} of a view is {shown(value)}: give a number") from None


def _matrix_of(transform: Any, dimensions: int) -> tuple[list[list[float]], list[float]]:
    """Returns the matrix and the offset along z, y and x of a transform of some dimensions."""
    if transform is None:
        return np.eye(3).tolist(), [0.0, 0.0, 0.0]
    try:
        given = np.asarray(transform, np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"the transform of a view is {type(transform).__name__!r}: give a matrix of numbers") \
            from None
    rows = dimensions + 1
    if given.shape == (rows, rows) and not np.array_equal(given[-1], np.eye(rows)[-1]):
        raise InvalidArgument(f"the last row of a view's transform is {given[-1].tolist()}: it must be 0, …, 0, 1, as "
                              "the map is affine")
    if given.shape not in ((rows - 1, rows), (rows, rows)):
        raise InvalidArgument(f"the transform of a view has the shape {given.shape}: give {dimensions} rows and "
                              f"{rows} columns")
    whole = np.eye(4)
    first = 3 - dimensions
    whole[first:3, first:] = given[:dimensions]
    return whole[:3, :3].tolist(), whole[:3, 3].tolist()


def _core_view(view: View, shape: tuple[int, ...], edges: str, spacing: Sequence[float | None] | None) -> _core.View:
    """Returns a view of the library."""
    if not isinstance(view, View):
        raise InvalidArgument(f"a view is {type(view).__name__!r}: give convolume.View(psf, …)")
    dimensions = len(shape)
    places = None if view.positions is None else _listed(view.positions, "the positions of a view's PSFs")
    given = [view.psf] if places is None else _listed(view.psf, "the PSFs of a view")
    if places is not None and len(given) != len(places):
        raise InvalidArgument(f"a view has {len(given)} PSFs and {len(places)} positions: give a position for "
                              "each PSF")
    known = [] if spacing is None else list(spacing)[:3]
    voxels = {axis: float(one) for axis, one in zip("ZYX"[3 - dimensions:], known) if one is not None}
    psfs, centers = [], []
    for one in given:
        kernel = prepared_kernel(one, "the PSF of a view", dimensions, view.origin,
                                 voxels if view.transform is None else None)
        if kernel.taps.ndim != dimensions:
            raise InvalidArgument(f"the PSF of a view has {kernel.taps.ndim} dimensions and its image {dimensions}: "
                                  "both must have as many")
        warn_of_psf(kernel, shape)
        in_order = kernel.origin != "corner"
        taps = np.ascontiguousarray(kernel.taps if in_order else np.fft.fftshift(kernel.taps))
        psfs.append(taps.reshape(triple_of(taps.shape)))
        centers.append(_core.center_index(
            _core.Options(origin=center_of(kernel.origin if in_order else "middle", dimensions)), psfs[-1]))
    positions = []
    for place in places or []:
        try:
            numbers = np.asarray(place, np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (dimensions,):
            raise InvalidArgument(f"the position of a view's PSF is {shown(place)}: give {dimensions} numbers")
        positions.append([0.0] * (3 - dimensions) + numbers.tolist())
    mask = None if view.mask is None else np.ascontiguousarray(readable(view.mask, "the mask of a view"), np.float32)
    if mask is not None and mask.shape != shape:
        raise InvalidArgument(f"the mask of a view has the shape {mask.shape} and its image {shape}: both must be "
                              "equal")
    made = _core.View(triple_of(shape), psfs, centers, positions, *_matrix_of(view.transform, dimensions),
                      None if mask is None else mask.reshape(triple_of(shape)))
    made.edges = boundary_name(edges)
    background, offset = (None if isinstance(one, str) and one == "auto" else _number(one, name)
                          for one, name in ((view.background, "background"), (view.offset, "offset")))
    gain = None if view.gain is None else _number(view.gain, "gain")
    made.set_levels(background, offset, gain, _number(view.light, "light"),
                    max(-1, min(whole_numbers([view.border], "border")[0], _WIDEST)))
    return made


def _shapes_of(shapes: Any, views: Sequence[View], shape: Sequence[int] | None) -> tuple[list[tuple[int, ...]],
                                                                                         tuple[int, ...]]:
    """Returns the extents of each view, and those of the result."""
    extents = [extents_of(one) for one in _listed(shapes, "the shapes of the views")]
    if len(extents) != len(views) or not extents:
        raise InvalidArgument(f"there are {len(extents)} shapes and {len(views)} views: give a shape for each view, "
                              "and at least one")
    result = extents[0] if shape is None else extents_of(shape)
    if any(len(one) != len(result) for one in extents) or not 1 <= len(result) <= 3:
        raise InvalidArgument(f"views of the shapes {', '.join(str(one) for one in extents)} and a result of {result}: "
                              "all must have as many dimensions, at most 3")
    return extents, result


@names_wrong_types
def voxel_transform(transform: Any, *, spacing: Sequence[float], to_spacing: Sequence[float]) -> np.ndarray:
    """Returns a view's transform in voxels, from one in µm.

    Parameters
    ----------
    transform : array of 3 rows (z, y, x) and 4 columns (z, y, x, 1)
        Map from positions in µm in the recording to those in the result. Both count from the center of the first voxel.
    spacing, to_spacing : sequence of 3 floats
        Edge lengths (z, y, x) of the voxels of the recording and of the result.

    Returns
    -------
    array of shape (3, 4)

    Raises
    ------
    InvalidArgument
        A matrix of another shape, or lengths that are not positive (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> moved_by_1_um = np.eye(4)[:3] + [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    >>> convolume.voxel_transform(moved_by_1_um, spacing=(0.5, 0.1, 0.1), to_spacing=(0.2, 0.2, 0.2)).tolist()
    [[2.5, 0.0, 0.0, 5.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0]]
    """
    matrix, offset = _matrix_of(transform, 3)
    for name, edges in (("spacing", spacing), ("to_spacing", to_spacing)):
        if len(edges) != 3 or not all(0 < float(one) < float("inf") for one in edges):
            raise InvalidArgument(f"{name} is {tuple(edges)}: give three lengths above 0")
    made = _core.between_voxels(matrix, offset, [float(one) for one in spacing], [float(one) for one in to_spacing])
    return np.column_stack([np.asarray(made[0]), np.asarray(made[1])])


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

    @with_keywords(_ModelKeywords, deconvolution_defaults(_ModelKeywords))
    def __init__(self, views: Sequence[View], shapes: Sequence[Sequence[int]], *, shape: Sequence[int] | None = None,
                 dtype: Any = "float32", **options: Unpack[_ModelKeywords]) -> None:
        views = _listed(views, "the views")
        self.shapes, self.result_shape = _shapes_of(shapes, views, shape)
        self._type = np.dtype(dtype)
        if self._type.name not in ("float32", "float64"):
            raise InvalidArgument(f"a forward model of {self._type}: it computes with float32 or float64")
        edges = options.get("edges", "extend")
        made = [_core_view(one, extents, edges, None) for one, extents in zip(views, self.shapes)]
        extents, at = _core.object_grid(triple_of(self.result_shape), made)
        first = 3 - len(self.result_shape)
        self.object_shape = tuple(extents)[first:]
        self.result = tuple(slice(begin, begin + extent) for begin, extent in
                            zip(tuple(at)[first:], self.result_shape))
        self._solid = tuple(extents)
        self._core = _core.ForwardModel(triple_of(self.result_shape), made, self._type == np.float64,
                                        byte_size(options.get("max_host_mem")), engines(options))

    def __repr__(self) -> str:
        return f"<ForwardModel {self.object_shape} to {len(self.shapes)} views>"

    @names_wrong_types
    def __call__(self, thing: Any) -> list[np.ndarray]:
        """Returns the images of an object, a list with an array for each view.

        Parameters
        ----------
        thing : array
            The object, of `object_shape`; or of the shape of the result, with 0 around it.

        Raises
        ------
        InvalidArgument
            An array of another shape, or complex (a ValueError).
        """
        given = self._real(thing, "the object")
        if given.shape == self.result_shape != self.object_shape:
            whole = np.zeros(self.object_shape, self._type)
            whole[self.result] = given
            given = whole
        if given.shape != self.object_shape:
            raise InvalidArgument(f"an object of shape {given.shape} where {self.object_shape} was planned, or "
                                  f"{self.result_shape} with 0 around it")
        images = []
        for number, shape in enumerate(self.shapes):
            image = np.empty(shape, self._type)
            self._core.record(number, given.reshape(self._solid), image.reshape(triple_of(shape)))
            images.append(image)
        return images

    @names_wrong_types
    def adjoint(self, images: Sequence[Any]) -> np.ndarray:
        """Returns the adjoint of images, with the shape `object_shape`: light is sent back to where it may have come
        from. For images y of an object x, ``sum(model(x) * y) == sum(x * model.adjoint(y))``.

        Parameters
        ----------
        images : sequence of arrays
            One for each view.

        Raises
        ------
        InvalidArgument
            Another number of images, or shapes that do not fit (a ValueError).
        """
        images = _listed(images, "the images")
        if len(images) != len(self.shapes):
            raise InvalidArgument(f"{len(images)} images where {len(self.shapes)} views were planned")
        whole = np.zeros(self.object_shape, self._type)
        for number, (image, shape) in enumerate(zip(images, self.shapes)):
            given = self._real(image, f"the image of view {number + 1}")
            if given.shape != shape:
                raise InvalidArgument(f"the image of view {number + 1} has the shape {given.shape} where {shape} was "
                                      "planned")
            self._core.add_back(number, given.reshape(triple_of(shape)), whole.reshape(self._solid))
        return whole

    def _real(self, array: Any, what: str) -> np.ndarray:
        values = readable(array, what)
        if values.dtype.kind == "c":
            raise InvalidArgument(f"{what} is complex: give its real part")
        return np.ascontiguousarray(values, self._type)


class ViewDeconvolver:
    """Deconvolves several recordings (views) of one object together, or one whose PSF varies over the field.

    The result is the object under which the photons of all views are most probable. Each step of Richardson and Lucy is
    a mean over the views (Shepp and Vardi 1982)::

        x <- x / sum(A_v' w_v) * sum(A_v' (w_v y_v / (A_v x + b_v)))

    A_v is the model of a view (:class:`ForwardModel`), A_v' its adjoint, b_v its background, and w_v the weights of its
    pixels: `View.mask`, a ramp over `View.border`, and 0 where a pixel lies outside the result. Background, offset and
    gain are found in each view; missing, hot and saturated pixels are treated as :class:`Deconvolver` does.

    Parameters
    ----------
    views : sequence of View
        One for each recording.
    shapes : sequence of sequences of ints
        Extents of each recording: (z, y, x) or (y, x).
    shape : sequence of ints, optional
        Extents of the result, to whose voxels the transforms of the views lead. By default those of the first view.
    method : {"rl", "rl-tv", "shb", "map"}
        See :class:`Deconvolver`.
    iterations : int, optional
        Number of iterations. With None and no `stop`, the number is found that predicts one photon in eight of each
        view best.
    acceleration, edges, tv_weight, roughness, spacing, stop, saturation, no_data, hot_pixels, nan
        See :class:`Deconvolver`. `spacing` is that of the result. The PSF of a view without a transform, if it knows
        its voxels, is resampled to them.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`convolume.Run`.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves, or views that do not fit their shapes (a ValueError).
    BadData
        A PSF of zeros, or with NaN (a ValueError).
    OutOfMemory
        No plan fits the memory limits (a MemoryError).
    Unavailable
        A GPU is requested and there is none (a RuntimeError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> psf = np.ones((5, 3, 3))                                    # blurs along z most
    >>> quarter = [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 15]]      # from the side
    >>> views = [convolume.View(psf, background=0), convolume.View(psf, quarter, background=0)]
    >>> thing = np.zeros((16, 16, 16))
    >>> thing[8, 8, 6:11] = 1000
    >>> shapes = [thing.shape, thing.shape]
    >>> images = convolume.ForwardModel(views, shapes)(thing)
    >>> restored = convolume.ViewDeconvolver(views, shapes, iterations=50, device="cpu")(images)
    >>> bool(np.linalg.norm(restored - thing) < 0.01 * np.linalg.norm(thing))
    True
    """

    views: list[View]
    """The views."""
    shapes: list[tuple[int, ...]]
    """Extents of each view."""
    result_shape: tuple[int, ...]
    """Extents of the result."""

    @with_keywords(ViewKeywords, deconvolution_defaults(ViewKeywords, iterations=None))
    def __init__(self, views: Sequence[View], shapes: Sequence[Sequence[int]], *, shape: Sequence[int] | None = None,
                 **options: Unpack[ViewKeywords]) -> None:
        require_used(options)
        self.views = _listed(views, "the views")
        self.shapes, self.result_shape = _shapes_of(shapes, self.views, shape)
        self._arguments: dict[str, Any] = dict(options)
        self._made = [_core_view(one, extents, self._arguments.get("edges", "extend"), self._arguments.get("spacing"))
                      for one, extents in zip(self.views, self.shapes)]
        self._cores: dict[float, _core.ViewDeconvolver] = {}
        self._reports: tuple[Mapping[str, Any], ...] = ()
        self._core_for(_core.missing_pixel)
        log_plan(lambda: self.plan, self._arguments)

    def _core_for(self, saturation: float) -> _core.ViewDeconvolver:
        """Plans for images whose pixels of at least this value are saturated, or missing."""
        if saturation not in self._cores:
            arguments = {name: value for name, value in self._arguments.items() if name != "image_dtype"}
            if _core.has_likelihood(arguments.get("method", "rl")):
                arguments["saturation"] = saturation
            options = _core.DeconvolveOptions(**core_keywords(arguments, len(self.result_shape)))
            self._cores[saturation] = _core.ViewDeconvolver(triple_of(self.result_shape), self._made, options,
                                                            engines(self._arguments))
        return self._cores[saturation]

    def __repr__(self) -> str:
        return f"<ViewDeconvolver {len(self.shapes)} views to {self.result_shape}>"

    @property
    def plan(self) -> str:
        """The plan as text: the memory in which arrays are, and their bytes."""
        return str(self._cores[_core.missing_pixel].plan_text)

    @property
    def reports(self) -> tuple[Mapping[str, Any], ...]:
        """Facts about the last call, for each view, as :attr:`Deconvolver.report`. Iterations are those of all."""
        return self._reports

    @names_wrong_types
    def __call__(self, images: Sequence[Any], out: Any = None, *, start: Any = None, dtype: Any = None,
                 callback: Callback | None = None, progress: Progress = None) -> Any:
        """Deconvolves the images of all views; returns the estimate, by default as float32.

        Parameters
        ----------
        images : sequence of arrays, real and finite
            One for each view, of its shape.
        out : array, optional
            Receives the result.
        start : array, optional
            First estimate, of the result's shape.
        dtype : type, optional
            Type of the result. Integers are rounded and clamped.
        callback : callable, optional
            Called with an :class:`Iteration` after each iteration. If it returns True, its estimate is the result.
        progress
            See :class:`convolume.Run`.

        Raises
        ------
        InvalidArgument
            Another number of images, or shapes that do not fit (a ValueError).
        BadData
            An image with NaN or infinities (a ValueError).
        """
        images = _listed(images, "the images")
        if len(images) != len(self.shapes):
            raise InvalidArgument(f"{len(images)} images where {len(self.shapes)} views were planned")
        pixels, findings, saturation = [], [], self._arguments.get("saturation", "auto")
        bound = None if saturation is None or isinstance(saturation, str) else float(saturation)
        for number, (image, view, shape) in enumerate(zip(images, self.views, self.shapes)):
            given = readable(image, f"the image of view {number + 1}")
            if given.shape != shape:
                raise InvalidArgument(f"the image of view {number + 1} has the shape {given.shape} where {shape} was "
                                      "planned")
            given, left_out, found = self._marked(given, view, image)
            pixels.append(given.reshape(triple_of(shape)))
            findings.append(left_out)
            if found is not None and isinstance(saturation, str):
                bound = found if bound is None else min(bound, found)
        core = self._core_for(_core.missing_pixel if bound is None else bound)
        result = (np.empty(self.result_shape, result_type(dtype, "float32")) if out is None
                  else writable(out, self.result_shape))
        first = None if start is None else np.ascontiguousarray(readable(start, "start"), np.float32)
        if first is not None and first.shape != self.result_shape:
            raise InvalidArgument(f"start has the shape {first.shape} and the result {self.result_shape}: both must be "
                                  "equal")
        called = None if callback is None else core_callback(callback, self.result_shape, (),
                                                             self._arguments.get("stop") == "auto")
        target = result.reshape(triple_of(self.result_shape))
        with progress_bar(progress) as report:
            try:
                facts = core.execute(pixels, target, None if first is None else first.reshape(target.shape), called,
                                     report)
            except Accepted as accepted:
                low, high = _core.convert(accepted.estimate, result)
                facts = [{"iterations": accepted.iteration.number, "likelihood": accepted.iteration.likelihood,
                          "clamped_low": low, "clamped_high": high} for _ in pixels]
        self._finish(facts, findings, result.dtype)
        return result if out is None else out

    def _marked(self, image: np.ndarray, view: View, given: Any) -> tuple[np.ndarray, list[str], float | None]:
        """Returns an image with its missing pixels marked, what is missing, and its saturation."""
        psf = readable(view.psf if view.positions is None else view.psf[0], "the PSF of a view")
        maximum = given._metadata.camera_maximum if isinstance(given, Image) else None
        mask = None if view.mask is None else np.ascontiguousarray(readable(view.mask, "the mask") != 0, np.uint8)
        missing = find_missing(image, psf, self._arguments, mask, maximum)
        if missing is None:
            return image, [], None
        if missing.count == 0:
            return image, [], missing.saturation
        marked = np.empty(image.shape, np.float32)
        missing.mark(image, marked)
        return marked, missing.findings, missing.saturation

    def _finish(self, facts: list[dict[str, Any]], findings: list[list[str]], dtype: np.dtype[Any]) -> None:
        reports = [one.pop("of_library") for one in facts if "of_library" in one]
        self._reports = tuple(MappingProxyType(one | {"left_out": left_out}) for one, left_out in zip(facts, findings))
        if reports:
            for sentence in _core.restoration_warnings(reports, _core.DeconvolveOptions(
                    **core_keywords(self._arguments, len(self.result_shape))), ""):
                warn(sentence)
        warn_of_clamped(facts[0].get("clamped_low", 0), facts[0].get("clamped_high", 0), dtype)
