# SPDX-License-Identifier: Apache-2.0
"""Deconvolution: the object behind a recorded image."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np

from . import _core
from ._arrays import convert_counting, give_back, readable, result_type, writable
from ._batch import Batch, progress_of_one_image
from ._deconvolve_options import CallKeywords, PlanKeywords, core_keywords, deconvolution_defaults, require_used
from ._device import DeviceArray, is_on_gpu, on_stream
from ._errors import InvalidArgument, warn, warn_of_changed
from ._image import Image
from ._iteration import executed
from ._labels import chosen_axes
from ._missing_pixels import mark_missing, mask_of, weights_of
from ._options import extents_of, triple_of, with_keywords
from ._psf import Kernel, check_voxels, prepared_kernel, psfs_of, warn_of_psf
from ._run import byte_size, engines, log_plan, progress_bar

# Facts that add up.
_COUNTS = ("negative_pixels", "saturated_pixels", "missing_pixels", "seconds", "clamped_low", "clamped_high")

class Deconvolver:
    """Deconvolves images of one shape with one point spread function (PSF). It is prepared once and may be called
    often.

    Parameters
    ----------
    image_shape : sequence of 1 to 3 ints
        Extents of an image: (z, y, x), (y, x) or (x,).
    psf : array
        The PSF. One of fewer dimensions than the image is for its last axes, whose extents are then `image_shape`: the
        planes of an image (z, y, x) are restored one by one with a PSF (y, x). Negative samples are read as 0, and its
        sum is made 1. A sequence of arrays, or an Image with channels, has a PSF for each channel, or with `depths` for
        each depth.
    depths : sequence of floats, optional
        Depth of each PSF, for a PSF that varies with depth: its distance from the image's first plane, in µm. Between
        two depths, both PSFs blur a plane in proportion, and beyond the first and the last depth one does. `spacing`
        gives the distance of planes. Edges are "extend" or "zero", and the method is not "wb". Only the convolution
        along z takes longer than with one PSF.
    method : {"rl", "rl-tv", "shb", "wb", "rlgc", "nnls", "wiener", "map"}
        "rl" is Richardson–Lucy (Richardson 1972, Lucy 1974). Variants of it are "rl-tv" with total variation (Dey
        2006), "shb" with the scaled heavy ball (Wang and Miller 2014), "wb" with a Wiener–Butterworth back projector
        (Guo 2020), and "rlgc" with gradient consensus, which ends itself (Manton and York 2023). "nnls" is non-negative
        least squares (Beck and Teboulle 2009), "wiener" least squares with a penalty. "map" is the most probable object
        under a prior on its roughness (Good and Gaskins 1971), by iterations that converge (De Pierro 1995).
    iterations : int, optional
        Number of iterations. With None and no `stop`, methods "rl", "rl-tv" and "shb" search for it as with
        ``stop="auto"``; others do 30. Arrays in a GPU's memory have 30 as well. "map" does at most 300.
    acceleration : {"biggs-andrews", "none"}
        "biggs-andrews" starts each step from an extrapolation of the last two estimates (Biggs and Andrews 1997).
    edges : {"extend", "zero", "nearest", "reflect", "mirror", "wrap"}
        "extend" estimates the object as far outside the image as the PSF carries light into it, so that light from
        outside causes no ringing (Bertero and Boccacci 2005). Otherwise the object has the image's extents.
    origin
        The PSF's sample that stands for no shift, see :class:`convolume.Convolver`.
    background : float, "auto" or "smooth"
        Light that is added to every pixel, in units of the image. "auto" estimates it from each image: the level that
        most pixels are near, or, under haze, the level with which coarse restorations predict held-out photons best.
        "smooth" also finds how it rises evenly over y and x. It takes arrays in host memory of at least 64 pixels
        along y and x, and a PSF without haze, such as a confocal one.
    tv_weight : float or "auto"
        For method "rl-tv": weight of the total variation. "auto" chooses it from the noise of each image.
    spacing : sequence of floats, optional
        Edge lengths of the images' voxels in µm. A PSF that knows its own, such as one of :func:`make_psf`, is
        resampled if they differ. Methods "rl-tv" and "map" use them for their gradients.
    roughness : float or "auto"
        For method "map": weight of the roughness; a larger one gives a smoother result. "auto" searches for the one
        with which two halves of the photons agree best. Arrays in a GPU's memory, and PSFs that vary with depth, have
        1 / N instead, where N is the number of photons of bright voxels.
    balance : float
        For methods "wiener" and "wb": ratio of noise to signal, for a PSF of sum 1.
    unmatched : int
        For method "wb": number of first iterations that use its back projector.
    consensus : float
        For method "rlgc": share of agreeing voxels at which the iterations end.
    stop : float or "auto", optional
        A number ends the iterations when one of them lowers the misfit by less than this fraction. "auto" takes the
        number of iterations at which two halves of the photons agree best, at most `iterations`, or 200 with None.
        Methods "wiener" and "map" end when their residual is at most the number, by default 0.001 and 0.0002.
    gain : float, optional
        Photons for each unit of the image, for ``stop="auto"``, `uncertainty`, method "rlgc", and the weights of
        "rl-tv" and "map". None estimates it from the noise.
    offset : float or "auto"
        Value of a pixel without light, which the camera adds and which has no photon noise: what is above it is
        compared. "auto" is the value at which the noise of each image vanishes, or 0 if the noise does not tell it. It
        makes no difference to methods "nnls" and "wiener".
    read_noise : float
        Read noise of the camera in photoelectrons, for a given `offset`: its square divided by the gain is subtracted
        from that.
    saturation : float, "auto" or None
        Pixels of at least this value are lower bounds, which more light does not contradict. "auto" is the largest
        value of the type or the camera, if pixels of an array in host memory have it. Methods "nnls" and "wiener"
        do not offer it.
    no_data : float, "auto" or "off"
        Pixels without data, which are left out: those of one value. "auto" finds regions of one value that photons
        cannot repeat, and margins darker than all else. Methods "nnls" and "wiener" compare all pixels.
    hot_pixels : "auto" or "off"
        "auto" leaves out pixels that are brighter beside their neighbors than the PSF allows, and dead ones.
    nan : {"error", "missing"}
        "missing" leaves out NaN and infinities of arrays in host memory.
    coarse_start : int, optional
        Number of iterations on each of one or two coarser images, before the `iterations` on the image itself. They
        reach the same quality sooner. With ``stop="auto"`` it is the largest number, and the search finds that of each
        coarser image. None is at most 100 with a search and several planes, and else 0: single planes lose by it. For
        methods "rl", "rl-tv" and "shb", and arrays in host memory. A call with ``start`` ignores it.
    uncertainty : bool or int
        True: calls return two arrays, the result, and for each voxel the standard deviation that the noise of photons
        gives it, as float32. It is found by dividing the photons 8 times into random halves and restoring each of
        them, which takes 16 runs of as many iterations. A number from 2 to 64 is that of the divisions. Errors of the
        PSF are not in it. For arrays in host memory.
    seed : int
        Seed of these divisions.
    image_dtype : type, optional
        Type of all images, if it is known. Images of uint8 and uint16 then take 2 bytes a pixel of a GPU's memory
        instead of 4, and images of types that do not fit are refused.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`convolume.Run`.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves or the shapes (a ValueError).
    BadData
        A PSF of zeros, or with NaN (a ValueError).
    OutOfMemory
        No plan fits the memory limits (a MemoryError).
    Unavailable
        A GPU is requested and there is none (a RuntimeError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> psf = np.ones((3, 3)) / 9
    >>> sharpen = convolume.Deconvolver((16, 16), psf, iterations=5, device="cpu")
    >>> sharpen(np.ones((16, 16))).shape
    (16, 16)
    """

    _from_cache = False  # whether plans are taken from the cache, and left there

    @with_keywords(PlanKeywords, deconvolution_defaults(PlanKeywords, iterations=None, coarse_start=None))
    def __init__(self, image_shape: Sequence[int], psf: Any, **options: Unpack[PlanKeywords]) -> None:
        shape = extents_of(image_shape)
        if not 1 <= len(shape) <= 3:
            raise InvalidArgument(f"an image of {len(shape)} dimensions where 1 to 3 are deconvolved: give the extents "
                                  "of one image; calls also take batches of them")
        spacing = options.get("spacing")
        known = [] if spacing is None else list(spacing[:3])
        require_used(options)
        voxels = {axis: float(one) for axis, one in zip("ZYX"[3 - len(shape):], known) if one is not None}
        psfs = [prepared_kernel(one, "the PSF", len(shape), options.get("origin", "middle"), voxels)
                for one in psfs_of(psf)]
        planes = psfs[0].taps.ndim
        if 1 <= planes < len(shape) and options.get("depths") is None:
            if len(known) == len(shape):
                options["spacing"] = known[-planes:]
            shape = shape[-planes:]
        for one in psfs:
            if one.taps.ndim != len(shape):
                raise InvalidArgument(f"the PSF has {one.taps.ndim} dimensions and the image {len(shape)}: give one of "
                                      "at least one, and no more than the image has")
            warn_of_psf(one, shape)
        if options.get("depths") is not None:
            _check_depths(shape, psfs, options)
        self._set_up(shape, psfs, dict(options))
        negative = sum(core.negative_psf_samples for core in self._cores)
        if negative > 0:
            warn(_core.negative_samples_warning(negative))

    def _set_up(self, shape: tuple[int, ...], psfs: list[Kernel], arguments: dict[str, Any]) -> None:
        """Plans for PSFs that are prepared."""
        self.image_shape = shape
        self._psfs = psfs
        self._arguments = arguments
        at_depths = arguments.get("depths") is not None
        self._cores = ([self._core_at_depths()] if at_depths
                       else [self._core_of(number) for number in range(len(self._psfs))])
        # Plans for images with missing or saturated pixels, by their PSFs and the saturation.
        self._marked_cores: dict[tuple[int, float | None, bool], _core.Deconvolver] = {}
        self._on_gpus: dict[tuple[int, str, str], _core.DeviceDeconvolver] = {}
        self._report: Mapping[str, Any] = MappingProxyType({})
        log_plan(lambda: self.plan, arguments)

    def _core_of(self, number: int, saturation: float | None = None, has_weights: bool = False) -> _core.Deconvolver:
        """Plans for one of the PSFs. With a saturation, images may have missing pixels."""
        taps = self._psfs[number].taps
        return _core.deconvolver(triple_of(self.image_shape), taps.reshape(triple_of(taps.shape)),
                                 self._options_of(number, saturation, has_weights), engines(self._arguments),
                                 self._from_cache)

    def _core_at_depths(self, saturation: float | None = None, has_weights: bool = False) -> _core.Deconvolver:
        """Plans for PSFs at depths."""
        taps, centers = zip(*(psf.in_order() for psf in self._psfs))
        return _core.deconvolver_at_depths(triple_of(self.image_shape), taps, self._arguments["depths"], centers,
                                           self._options_of(0, saturation, has_weights), engines(self._arguments))

    def _options_of(self, number: int, saturation: float | None = None,
                    has_weights: bool = False) -> _core.DeconvolveOptions:
        arguments = {**self._arguments, "origin": self._psfs[number].origin}
        if saturation is not None:
            arguments |= {"image_dtype": None, "saturation": saturation}
        options = _core.DeconvolveOptions(**core_keywords(arguments, len(self.image_shape)))
        options.has_pixel_weights = has_weights
        return options

    def _marked(self, number: int, image: np.ndarray, mask: np.ndarray | None, weights: np.ndarray | None,
                camera_maximum: float | None) -> tuple[_core.Deconvolver, np.ndarray, list[str], str]:
        """Returns the plan for an image, the image with its missing pixels marked, what is missing, and a sentence on
        saturated pixels that the method compares."""
        method = self._arguments.get("method", "rl")
        if weights is not None:
            _core.require_option(method, "weights")
            mask = weights
        psfs = self._psfs if self._arguments.get("depths") is not None else [self._psfs[number]]
        image, missing = mark_missing(image, [psf.taps for psf in psfs], self._arguments, mask, camera_maximum)
        saturation = self._arguments.get("saturation", "auto")
        if isinstance(saturation, str):
            saturation = None if missing is None else missing.saturation
        elif saturation is not None:
            saturation = float(saturation)  # of a type that can be a key
        findings: list[str] = []
        if missing is not None and missing.count > 0:
            findings, saturation = missing.findings, saturation or _core.missing_pixel
        elif not _core.has_likelihood(method):
            return self._cores[number], image, [], "" if missing is None else missing.saturated
        if saturation is None and weights is None:
            return self._cores[number], image, findings, ""
        return self._core_for(number, saturation, weights is not None), image, findings, ""

    def _core_for(self, number: int, saturation: float | None, has_weights: bool) -> _core.Deconvolver:
        """Returns the plan for images with missing or saturated pixels, or with weights of pixels."""
        key = number, saturation, has_weights
        if key not in self._marked_cores:
            at_depths = self._arguments.get("depths") is not None
            self._marked_cores[key] = (self._core_at_depths(saturation, has_weights) if at_depths
                                       else self._core_of(*key))
        return self._marked_cores[key]

    def __reduce__(self) -> tuple[Any, ...]:  # a copy makes a plan of its own
        return _planned, (self.image_shape, self._psfs, self._arguments)

    def __repr__(self) -> str:
        return f"<Deconvolver {self.image_shape}, {self._arguments.get('method', 'rl')}>"

    @property
    def plan(self) -> str:
        """The plan as text: the memory in which arrays are, and their bytes. Of several PSFs, for the first."""
        return str(self._cores[0].plan_text)

    @property
    def report(self) -> Mapping[str, Any]:
        """Facts about the last call: iterations, likelihood, background, seconds, and others. clamped_low and
        clamped_high are the numbers of values below and above the range of an integer result. Of a batch, counts and
        seconds are those of all images, other facts those of the last one."""
        return self._report

    @with_keywords(CallKeywords, deconvolution_defaults(CallKeywords))
    def __call__(self, image: Any, out: Any = None, **run: Unpack[CallKeywords]) -> Any:
        """Deconvolves an image; returns the estimate, with the image's shape, as float32 by default.

        With `uncertainty`, returns the estimate and its standard deviation.

        Parameters
        ----------
        image : array, real and finite
            Of `image_shape`, or with further axes, which are a batch. Arrays of CuPy, PyTorch and JAX in a GPU's memory
            stay there, and so does the result. They are one image, and the first of them makes a plan for that GPU.
        out : array, optional
            Receives the result, in the same kind of memory as `image`. It may be `image` itself.
        axes : sequence of ints, optional
            The image's axes that are deconvolved, one for each of `image_shape`. None takes z, y, x of an Image or an
            xarray.DataArray, else the last ones.
        channel_axis : int, optional
            If there are several PSFs: the axis of the channels. None takes C of an Image or an xarray.DataArray, else
            the last axis that is not deconvolved.
        dtype : type, optional
            Type of the result. Integers are rounded and clamped, and a :class:`ConvolumeWarning` tells how many were
            clamped.
        mask : array of one image's shape, optional
            Pixels that are 0 or False there are left out: they say nothing of the object.
        weights : array of one image's shape, optional
            Weight of each pixel in the likelihood, at least 0, as a share of the largest weight. Pixels of weight 0 are
            left out, and voxels that send their light only into pixels of less than 0.01 stay 0. There is no coarse
            start then, and the search for the number of iterations takes all pixels to be alike. Of methods "rl",
            "rl-tv", "shb", "wb" and "map".
        start : array of the image's shape, optional
            First estimate: an earlier result, or the result of the previous time point.
        callback : callable, optional
            Called with an :class:`Iteration` after each iteration; ``iteration.estimate`` is the estimate. If it
            returns True, this estimate is the result. An exception that it raises ends the work.
        stream : optional
            For arrays in a GPU's memory: the CUDA stream whose work comes first. None takes the library's current one.
        progress
            See :class:`convolume.Run`.

        Raises
        ------
        InvalidArgument
            An image or an array for the result that does not fit (a ValueError).
        BadData
            An image with NaN or infinities (a ValueError).

        Examples
        --------
        A column of the camera has no data. With a mask it is left out, and the object follows from the light beside it:

        >>> import numpy as np, convolume
        >>> image = np.full((16, 16), 100.0)
        >>> image[:, 7] = 0
        >>> sharpen = convolume.Deconvolver(image.shape, np.ones((3, 3)) / 9, iterations=20, background=0, device="cpu")
        >>> bool(np.allclose(sharpen(image, mask=image > 0), 100, rtol=1e-3))
        True
        >>> sharpen.report["left_out"]
        ['16 pixels are 0 in the mask']
        >>> bool(sharpen(image)[8, 6:9].max() < 1e-3)     # without a mask, the zeros say that there is no object
        True
        """
        if is_on_gpu(image, run.get("stream")):
            with on_stream(image, run.get("stream")):
                return self._call_on_gpu(DeviceArray.of(image, "the image"), out, run)
        pixels = readable(image, "the image")
        batch = Batch(image, pixels.shape, len(self.image_shape), run.get("axes"), run.get("channel_axis"),
                      len(self._cores))
        if batch.image_shape != self.image_shape:
            raise InvalidArgument(f"an image of shape {batch.image_shape} where {self.image_shape} was planned")
        for psf in self._psfs:
            check_voxels(image, psf, "the PSF", "pass spacing=image.spacing to Deconvolver, which resamples the PSF")
        result = (np.empty(pixels.shape, result_type(run.get("dtype"), "float32")) if out is None
                  else writable(out, pixels.shape))
        first = None if run.get("start") is None else readable(run.get("start"), "start")
        if first is not None and first.shape != pixels.shape:
            raise InvalidArgument(f"start has the shape {first.shape} and the image {pixels.shape}: both must be equal")
        starts = None if first is None else batch.of(first)
        mask = mask_of(run.get("mask"), self.image_shape)
        weights = weights_of(run.get("weights"), self.image_shape, mask)
        camera_maximum = image._metadata.camera_maximum if isinstance(image, Image) else None
        deviation = np.empty(pixels.shape, np.float32) if self._arguments.get("uncertainty") else None
        sources, targets, reports = batch.of(pixels), batch.of(result), []
        deviations = None if deviation is None else batch.of(deviation)
        with progress_bar(run.get("progress")) as report:
            for number, (index, psf_number) in enumerate(batch):
                core, source, left_out, saturated = self._marked(psf_number, sources[index], mask, weights,
                                                                   camera_maximum)
                step = None if report is None else progress_of_one_image(report, number, len(batch))
                begin, second = (None if one is None else one[index] for one in (starts, deviations))
                facts = executed(
                    lambda called: core.execute(source, targets[index], begin, called, step, second, weights),  # noqa: B023
                    lambda estimate: convert_counting(estimate, targets[index]),  # noqa: B023
                    run.get("callback"), self.image_shape, index, self._arguments)
                reports.append(facts | {"left_out": left_out, "saturated": saturated})
        self._finish(reports, result.dtype, _core.resolved(self._options_of(0), triple_of(self.image_shape)[0]))
        given = out if out is not None else result if pixels is image else give_back(result, image)
        if deviation is None:
            return given
        return given, deviation if pixels is image else give_back(deviation, image)

    def _finish(self, reports: list[dict[str, Any]], dtype: np.dtype[Any], options: _core.DeconvolveOptions) -> None:
        """Sets the report: counts and seconds of all images, other facts of the last one. Issues its warnings."""
        merged: dict[str, Any] = dict(reports[-1]) if reports else {}
        for name in _COUNTS:
            if any(name in one for one in reports):
                merged[name] = sum(one.get(name, 0) for one in reports)
        merged.pop("of_library", None)
        merged.pop("saturated", None)
        self._report = MappingProxyType(merged)
        of_library = [one["of_library"] for one in reports if "of_library" in one]
        saturated = next((one["saturated"] for one in reports if one.get("saturated")), "")
        for sentence in _core.restoration_warnings(of_library, options, saturated):
            warn(sentence)
        warn_of_changed(dtype, merged.get("clamped_low", 0), merged.get("clamped_high", 0))

    def _call_on_gpu(self, image: DeviceArray, out: Any, run: CallKeywords) -> Any:
        if self._arguments.get("uncertainty"):
            raise InvalidArgument("the uncertainty is for arrays in host memory, and the image is in a GPU's: pass a "
                                  "NumPy array; GPUs compute with it, too")
        for name in ("mask", "weights"):
            if run.get(name) is not None:
                raise InvalidArgument(f"{name} is for arrays in host memory, and the image is in a GPU's: pass a NumPy "
                                      "array; GPUs compute with it, too")
        if self._arguments.get("depths") is not None:
            raise InvalidArgument("a PSF that varies with depth is for arrays in host memory, and the image is in a "
                                  "GPU's: pass a NumPy array; GPUs compute with it, too")
        axes = chosen_axes(run.get("axes"), None, len(image.shape), len(self.image_shape))
        if image.shape != self.image_shape or axes != list(range(len(axes))) or len(self._psfs) > 1:
            raise InvalidArgument(f"an image of shape {image.shape} where {self.image_shape} and one PSF were planned: "
                                  "of arrays in a GPU's memory, loop over a batch")
        result = (image.empty(image.shape, result_type(run.get("dtype"), "float32")) if out is None
                  else DeviceArray.target(out, image.shape, None, image.device))
        key = image.device, image.dtype.name, result.dtype.name
        if key not in self._on_gpus:
            taps = self._psfs[0].taps
            self._on_gpus[key] = _core.device_deconvolver(
                triple_of(self.image_shape), taps.reshape(triple_of(taps.shape)), self._options_of(0), image.device,
                image.dtype, result.dtype, byte_size(self._arguments.get("max_gpu_mem")), self._from_cache)
        start = None if run.get("start") is None else readable(run.get("start"), "start")
        where = image.address, result.address, image.stream(run.get("stream")), start
        with progress_bar(run.get("progress")) as report:
            facts = executed(lambda called: self._on_gpus[key].execute(*where, called, report), result.fill_from,
                             run.get("callback"), self.image_shape, (), self._arguments)
        self._finish([facts], result.dtype, self._options_of(0))
        return image.give_back(result.array) if out is None else out


def _check_depths(shape: tuple[int, ...], psfs: list[Kernel], options: Mapping[str, Any]) -> None:
    depths, spacing = options["depths"], options.get("spacing")
    if len(shape) != 3:
        raise InvalidArgument(f"depths are for images of three dimensions, not of {len(shape)}: leave them out")
    if len(depths) != len(psfs):
        raise InvalidArgument(f"there are {len(psfs)} PSFs and {len(depths)} depths: give a depth for each PSF")
    if spacing is None or len(spacing) == 0 or spacing[0] is None:
        raise InvalidArgument("depths are in µm, and the distance of planes is not known: give spacing")


def _planned(shape: tuple[int, ...], psfs: list[Kernel], arguments: dict[str, Any]) -> Deconvolver:
    made = Deconvolver.__new__(Deconvolver)
    made._set_up(shape, psfs, arguments)
    return made
