# SPDX-License-Identifier: Apache-2.0
"""Deconvolution of several recordings (views) of one object."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Unpack

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import convert_counting, readable, result_type, writable
from ._deconvolve_options import (
    PhotonKeywords,
    UncertaintyKeywords,
    core_keywords,
    deconvolution_defaults,
    require_used,
)
from ._errors import InvalidArgument, warn, warn_of_changed
from ._image import Image
from ._iteration import Callback, executed
from ._missing_pixels import mark_missing, mask_of
from ._options import triple_of, with_keywords
from ._run import Progress, engines, log_plan, progress_bar
from ._views import View, core_view, listed, shapes_of

ViewUpdates = Literal["simultaneous", "sequential", "efficient"]


class ViewKeywords(PhotonKeywords, total=False):
    """Keywords of :class:`ViewDeconvolver` that also apply to views in blocks."""

    method: Literal["rl", "rl-tv", "shb", "map"]
    iterations: int | None
    view_updates: ViewUpdates
    roughness: float | Literal["auto"]
    nan: Literal["error", "missing"]


class ViewPlanKeywords(ViewKeywords, UncertaintyKeywords, total=False):
    """Keywords of :class:`ViewDeconvolver`."""


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
    view_updates : {"simultaneous", "sequential", "efficient"}
        How the views change the estimate in an iteration of "rl": all at once; one after the other, as ordered subsets
        (Hudson and Larkin 1994), which takes fewer iterations; or one after the other by back projectors that hold what
        the other views say (Preibisch et al. 2014), which takes fewest and does not end at the most probable object.
        The last two are not accelerated, and refuse `acceleration` unless it is "none".
    acceleration, edges, tv_weight, roughness, spacing, stop, saturation, no_data, hot_pixels, nan
        See :class:`Deconvolver`. `spacing` is that of the result. The PSF of a view without a transform, if it knows
        its voxels, is resampled to them.
    uncertainty, seed
        See :class:`Deconvolver`: calls then return two arrays, the result and its standard deviation. The photons of
        all views are divided in each split.
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

    @with_keywords(ViewPlanKeywords, deconvolution_defaults(ViewPlanKeywords, iterations=None))
    def __init__(self, views: Sequence[View], shapes: Sequence[Sequence[int]], *, shape: Sequence[int] | None = None,
                 **options: Unpack[ViewPlanKeywords]) -> None:
        require_used(options)
        self.views = listed(views, "the views")
        self.shapes, self.result_shape = shapes_of(shapes, self.views, shape)
        self._arguments: dict[str, Any] = dict(options)
        self._made = [core_view(one, extents, self._arguments.get("edges", "extend"), self._arguments.get("spacing"))
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

        With `uncertainty`, returns the estimate and its standard deviation.

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
        images = listed(images, "the images")
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
        deviation = np.empty(self.result_shape, np.float32) if self._arguments.get("uncertainty") else None
        target = result.reshape(triple_of(self.result_shape))
        with progress_bar(progress) as report:
            begin, second = (None if one is None else one.reshape(target.shape) for one in (first, deviation))
            facts = executed(lambda called: core.execute(pixels, target, begin, called, report, second),
                             lambda estimate: convert_counting(estimate, result),
                             callback, self.result_shape, (), self._arguments)
        if not isinstance(facts, list):  # of an estimate that was accepted
            facts = [dict(facts) for _ in pixels]
        self._finish(facts, findings, result.dtype)
        given = result if out is None else out
        return given if deviation is None else (given, deviation)

    def _marked(self, image: np.ndarray, view: View, given: Any) -> tuple[np.ndarray, list[str], float | None]:
        """Returns an image with its missing pixels marked, what is missing, and its saturation."""
        psf = readable(view.psf if view.positions is None else view.psf[0], "the PSF of a view")
        maximum = given._metadata.camera_maximum if isinstance(given, Image) else None
        image, missing = mark_missing(image, [psf], self._arguments, mask_of(view.mask, image.shape), maximum)
        return (image, [], None) if missing is None else (image, missing.findings, missing.saturation)

    def _finish(self, facts: list[dict[str, Any]], findings: list[list[str]], dtype: np.dtype[Any]) -> None:
        reports = [one.pop("of_library") for one in facts if "of_library" in one]
        self._reports = tuple(MappingProxyType(one | {"left_out": left_out}) for one, left_out in zip(facts, findings))
        if reports:
            for sentence in _core.restoration_warnings(reports, _core.DeconvolveOptions(
                    **core_keywords(self._arguments, len(self.result_shape))), ""):
                warn(sentence)
        warn_of_changed(dtype, facts[0].get("clamped_low", 0), facts[0].get("clamped_high", 0))
