# SPDX-License-Identifier: Apache-2.0
"""Deconvolution: the object behind a recorded image."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from . import _core
from ._arrays import give_back, readable, result_type, writable
from ._device import DeviceArray, is_on_gpu, on_stream, to_host
from ._errors import InvalidArgument, warn_of_clamped
from ._options import Boundary, Origin, boundary_name, center_of, defaults_of, triple_of, with_keywords
from ._run import Devices, Progress, Resources, byte_size, engines, progress_bar

Acceleration = Literal["biggs-andrews", "none"]
Edges = Literal["extend"] | Boundary
Method = Literal["rl", "rl-tv", "shb", "wb", "rlgc", "nnls", "wiener"]


@dataclass(frozen=True)
class Iteration:
    """State of a deconvolution after an iteration, which callbacks get."""

    number: int
    """Number of the iteration, from 1."""
    of: int
    """Number of iterations that are planned."""
    likelihood: float
    """Logarithm of the Poisson likelihood of the estimate that this iteration started from, relative to a perfect fit:
    at most 0. Methods "nnls" and "wiener" do not compute it."""
    residual: float
    """Relative residual: for method "wiener" of the right-hand side, for "nnls" of the image less its background."""
    searching: bool
    """With ``stop="auto"``: this iteration is one of those that find the number of iterations."""
    held_out: float
    """While `searching`: root mean square difference between the held-out photons and their prediction."""
    consenting: float
    """For method "rlgc": share of the voxels that took the step."""
    _read: Callable[[np.ndarray], object] = field(repr=False)
    _shape: tuple[int, ...] = field(repr=False)

    @property
    def estimate(self) -> np.ndarray:
        """The current estimate, float32, with the image's shape. It is copied at access, within the callback only."""
        values = np.empty(self._shape, np.float32)
        self._read(values)
        return values


Callback = Callable[[Iteration], object]


class _Accepted(Exception):
    """The callback accepts the current estimate and ends the iterations."""

    def __init__(self, iteration: Iteration) -> None:
        super().__init__()
        self.iteration = iteration
        self.estimate = iteration.estimate


class _ModelKeywords(Resources, total=False):
    """Keywords of all methods."""

    edges: Edges
    origin: Origin
    background: float | Literal["auto"]


class _LikelihoodKeywords(_ModelKeywords, total=False):
    """Keywords of methods that have a likelihood."""

    acceleration: Acceleration
    tv_weight: float
    spacing: Sequence[float] | None
    stop: float | Literal["auto"] | None
    saturation: float | None
    coarse_start: int


class DeconvolverKeywords(_LikelihoodKeywords, total=False):
    """Keywords of :class:`Deconvolver`."""

    method: Method
    iterations: int
    balance: float
    unmatched: int
    consensus: float
    photons: tuple[float, float] | None
    image_dtype: Any


class CallKeywords(TypedDict, total=False):
    """Keywords of :meth:`Deconvolver.__call__`."""

    dtype: Any
    start: Any
    callback: Callback | None
    progress: Progress
    stream: Any


class RichardsonLucyKeywords(_LikelihoodKeywords, total=False):
    """Keywords of :func:`richardson_lucy`."""

    out: Any
    dtype: Any
    callback: Callback | None
    progress: Progress


class WienerKeywords(_ModelKeywords, total=False):
    """Keywords of :func:`wiener`."""

    num_iter: int
    stop: float | None
    out: Any
    dtype: Any
    progress: Progress


def _defaults(keywords: Any, **others: Any) -> dict[str, Any]:
    return defaults_of(keywords, "DeconvolveOptions", spacing=None, **others)


def _core_callback(callback: Callback, shape: tuple[int, ...]) -> Callable[[dict[str, Any], Any], None]:
    """Returns a function for the library that calls `callback` with an Iteration, and ends the work if it is True."""
    def call(facts: dict[str, Any], read: Any) -> None:
        iteration = Iteration(**facts, _read=read, _shape=shape)
        if callback(iteration) is True:
            raise _Accepted(iteration)

    return call


def _core_keywords(options: Mapping[str, Any], dimensions: int) -> dict[str, Any]:
    """Returns the keywords of the library's DeconvolveOptions that the caller gives."""
    own = {name: value for name, value in options.items() if name not in Devices.__annotations__}
    spacing = own.get("spacing") or [1.0] * dimensions
    own["spacing"] = [1.0] * (3 - dimensions) + [float(s) for s in spacing]
    if len(own["spacing"]) != 3:
        raise InvalidArgument(f"spacing has {len(spacing)} numbers for {dimensions} dimensions")
    own["max_host_mem"] = byte_size(own.get("max_host_mem"))
    if "edges" in own:
        own["edges"] = boundary_name(own["edges"])
    if "origin" in own:
        own["origin"] = center_of(own["origin"], dimensions)
    if own.get("image_dtype") is not None:
        own["image_dtype"] = np.dtype(own["image_dtype"]).name
    return own


class Deconvolver:
    """Deconvolves images of one shape with one point spread function (PSF). It is prepared once and may be called
    often.

    Parameters
    ----------
    image_shape : sequence of 1 to 3 ints
        Extents of an image: (z, y, x), (y, x) or (x,).
    psf : array
        The PSF, with as many dimensions as the image. Negative samples are read as 0, and its sum is made 1.
    method : {"rl", "rl-tv", "shb", "wb", "rlgc", "nnls", "wiener"}
        "rl" is Richardson–Lucy (Richardson 1972, Lucy 1974). Variants of it are "rl-tv" with total variation (Dey
        2006), "shb" with the scaled heavy ball (Wang and Miller 2014), "wb" with a Wiener–Butterworth back projector
        (Guo 2020), and "rlgc" with gradient consensus, which ends itself (Manton and York 2023). "nnls" is non-negative
        least squares (Beck and Teboulle 2009), "wiener" least squares with a penalty.
    iterations : int
        Number of iterations.
    acceleration : {"biggs-andrews", "none"}
        "biggs-andrews" starts each step from an extrapolation of the last two estimates (Biggs and Andrews 1997).
    edges : {"extend", "zero", "nearest", "reflect", "mirror", "wrap"}
        "extend" estimates the object as far outside the image as the PSF carries light into it, so that light from
        outside causes no ringing (Bertero and Boccacci 2005). Otherwise the object has the image's extents.
    origin
        The PSF's sample that stands for no shift, see :class:`convolume.Convolver`.
    background : float or "auto"
        Light that is added to every pixel, in units of the image. "auto" estimates it from each image: the level that
        most pixels are near, or 0 if the darkest region is much darker.
    tv_weight : float
        For method "rl-tv": weight of the total variation.
    spacing : sequence of floats, optional
        For method "rl-tv": edge lengths of a voxel, in any unit, for its gradient.
    balance : float
        For method "wiener": ratio of noise to signal, for a PSF of sum 1.
    unmatched : int
        For method "wb": number of first iterations that use its back projector.
    consensus : float
        For method "rlgc": share of agreeing voxels at which the iterations end.
    stop : float or "auto", optional
        A number ends the iterations when one of them lowers the misfit by less than this fraction. With "auto",
        held-out photons find the number of iterations, and at most `iterations` are tried.
    photons : (gain, offset), optional
        A pixel's value stands for gain * (value - offset) photons, for ``stop="auto"`` and method "rlgc". None
        estimates both from the noise.
    saturation : float, optional
        Pixels of at least this value are left out. Methods "nnls" and "wiener" do not offer it.
    coarse_start : int
        Number of iterations on each of one or two coarser images, before the `iterations` on the image itself. They
        reach the same quality sooner; 20 are usual. For methods "rl", "rl-tv" and "shb", and arrays in host memory. A
        call with ``start`` ignores it.
    image_dtype : type, optional
        Type of all images, if it is known. Images of uint8 and uint16 then take 2 bytes a pixel of a GPU's memory
        instead of 4, and images of types that do not fit are refused.
    device, workers, max_host_mem, max_gpu_mem
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

    @with_keywords(DeconvolverKeywords, _defaults(DeconvolverKeywords))
    def __init__(self, image_shape: Sequence[int], psf: Any, **options: Unpack[DeconvolverKeywords]) -> None:
        taps = to_host(psf, "the PSF") if is_on_gpu(psf) else readable(psf, "the PSF")
        shape = tuple(int(n) for n in image_shape)
        if not 1 <= len(shape) <= 3:
            raise InvalidArgument(f"an image of {len(shape)} dimensions: deconvolve its parts of 1 to 3 one "
                                  "by one")
        if taps.ndim != len(shape):
            raise InvalidArgument(f"the PSF has {taps.ndim} dimensions and the image {len(shape)}: both must have as "
                                  "many")
        max_gpu_mem = options.get("max_gpu_mem")
        own = _core.DeconvolveOptions(**_core_keywords(options, len(shape)))
        self._core = _core.Deconvolver(triple_of(shape), taps.reshape(triple_of(taps.shape)), own, engines(options))
        self._psf, self._options, self._max_gpu_bytes = taps, own, byte_size(max_gpu_mem)
        self._on_gpus: dict[tuple[int, str, str], _core.DeviceDeconvolver] = {}
        self.image_shape = shape
        self._report: Mapping[str, Any] = MappingProxyType({})

    @property
    def plan(self) -> str:
        """The plan as text: the memory in which arrays are, and their bytes."""
        return str(self._core.plan_text)

    @property
    def report(self) -> Mapping[str, Any]:
        """Facts about the last call: iterations, likelihood, background, seconds, and others. clamped_low and
        clamped_high are the numbers of values below and above the range of an integer result."""
        return self._report

    @with_keywords(CallKeywords, _defaults(CallKeywords))
    def __call__(self, image: Any, out: Any = None, **run: Unpack[CallKeywords]) -> Any:
        """Deconvolves an image; returns the estimate, with the image's shape, as float32 by default.

        Parameters
        ----------
        image : array of `image_shape`, real and finite
            Arrays of CuPy and PyTorch in a GPU's memory stay there, and so does the result. The first of them makes a
            plan for that GPU.
        out : array, optional
            Receives the result, in the same memory as `image`. It may be `image` itself.
        dtype : type, optional
            Type of the result. Integers are rounded and clamped, and a :class:`ConvolumeWarning` tells how many were
            clamped.
        start : array of `image_shape`, optional
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
        """
        if type(image) is not np.ndarray and is_on_gpu(image):
            with on_stream(image, run.get("stream")):
                return self._call_on_gpu(DeviceArray.of(image, "the image"), out, run)
        pixels = readable(image, "the image")
        if pixels.shape != self.image_shape:
            raise InvalidArgument(f"an image of shape {pixels.shape} where {self.image_shape} was planned")
        dtype = result_type(run.get("dtype"), "float32")
        result = np.empty(pixels.shape, dtype) if out is None else writable(out, pixels.shape)
        accepted = self._execute(lambda *calls: self._core.execute(pixels, result, *calls), run)
        if accepted is not None:
            low, high = _core.convert(accepted, result)
            self._report = MappingProxyType({**self._report, "clamped_low": low, "clamped_high": high})
        self._warn_of_clamped(result.dtype)
        return result if out is not None or pixels is image else give_back(result, image)

    def _execute(self, execute: Callable[..., dict[str, Any]], run: CallKeywords) -> np.ndarray | None:
        """Calls `execute`; returns the estimate that the callback accepted, or None if all iterations were done."""
        callback, start = run.get("callback"), run.get("start")
        core_callback = None if callback is None else _core_callback(callback, self.image_shape)
        first = None if start is None else readable(start, "start")
        with progress_bar(run.get("progress")) as report:
            try:
                self._report = MappingProxyType(execute(first, core_callback, report))
            except _Accepted as accepted:
                self._report = MappingProxyType({"iterations": accepted.iteration.number,
                                                 "likelihood": accepted.iteration.likelihood})
                return accepted.estimate
        return None

    def _warn_of_clamped(self, dtype: np.dtype[Any]) -> None:
        warn_of_clamped(self._report["clamped_low"], self._report["clamped_high"], dtype)

    def _call_on_gpu(self, image: DeviceArray, out: Any, run: CallKeywords) -> Any:
        if image.shape != self.image_shape:
            raise InvalidArgument(f"an image of shape {image.shape} where {self.image_shape} was planned")
        result = (image.empty(image.shape, result_type(run.get("dtype"), "float32")) if out is None
                  else DeviceArray.target(out, image.shape, None, image.device))
        key = image.device, image.dtype.name, result.dtype.name
        if key not in self._on_gpus:
            self._on_gpus[key] = _core.DeviceDeconvolver(
                triple_of(self.image_shape), self._psf.reshape(triple_of(self._psf.shape)), self._options, image.device,
                image.dtype, result.dtype, self._max_gpu_bytes)
        deconvolver = self._on_gpus[key]
        where = image.address, result.address, image.stream(run.get("stream"))
        accepted = self._execute(lambda *calls: deconvolver.execute(*where, *calls), run)
        if accepted is not None:
            self._report = MappingProxyType({**self._report, **result.fill_from(accepted)})
        self._warn_of_clamped(result.dtype)
        return result.array if out is None else out


def _deconvolve(image: Any, psf: Any, options: dict[str, Any]) -> Any:
    if is_on_gpu(image):
        shape, image_dtype = DeviceArray.of(image, "the image").shape, None
    else:
        pixels = readable(image, "the image")
        shape = pixels.shape
        image_dtype = pixels.dtype if pixels.dtype.name in ("uint8", "uint16") else None
    out = options.pop("out", None)
    run: Any = {name: options.pop(name) for name in CallKeywords.__annotations__ if name in options}
    return Deconvolver(shape, psf, image_dtype=image_dtype, **options)(image, out, **run)


@with_keywords(RichardsonLucyKeywords, _defaults(RichardsonLucyKeywords, tv_weight=0.0))
def richardson_lucy(image: Any, psf: Any, num_iter: int = 30, **options: Unpack[RichardsonLucyKeywords]) -> Any:
    """Deconvolves an image by Richardson–Lucy, accelerated, for an object that continues beyond the image.

    For scikit-image's function of this name, with its defaults, see :func:`convolume.restoration.richardson_lucy`.
    Sources: Richardson (1972), Lucy (1974), and for the acceleration Biggs and Andrews (1997).

    Parameters
    ----------
    image : array of 1 to 3 dimensions, real and finite
        An image (z, y, x), (y, x) or (x,).
    psf : array of as many dimensions
        The point spread function. Its sum is made 1.
    num_iter : int
        Number of iterations.
    tv_weight : float
        Weight of the total variation (Dey 2006); 0 is without.
    callback, out, dtype, progress
        See :meth:`Deconvolver.__call__`.
    spacing, acceleration, background, edges, origin, stop, saturation, coarse_start, device, workers, max_host_mem,
    max_gpu_mem
        See :class:`Deconvolver`.

    Returns
    -------
    array of the image's shape, float32 by default

    Raises
    ------
    InvalidArgument, BadData, OutOfMemory, Unavailable
        See :class:`Deconvolver`.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> image = np.zeros((9, 9)); image[3:6, 3:6] = 1
    >>> sharp = convolume.richardson_lucy(image, np.ones((3, 3)), 20, edges="zero", device="cpu")
    >>> bool(sharp[4, 4] > 5)
    True
    """
    method = "rl-tv" if options.get("tv_weight", 0.0) > 0 else "rl"
    return _deconvolve(image, psf, {"method": method, "iterations": num_iter, **options})


@with_keywords(WienerKeywords, _defaults(WienerKeywords, num_iter=30))
def wiener(image: Any, psf: Any, balance: float = 0.01, **options: Unpack[WienerKeywords]) -> Any:
    """Deconvolves an image by least squares with a penalty.

    Conjugate gradients solve the following equation for x, where A is the convolution with the PSF:

        (AᵀA + balance) x = Aᵀ (image - background)

    With ``edges="wrap"`` this is Wiener's filter for white noise. Results may be negative.

    Parameters
    ----------
    image : array of 1 to 3 dimensions, real and finite
        An image (z, y, x), (y, x) or (x,).
    psf : array of as many dimensions
        The point spread function. Its sum is made 1.
    balance : float
        Ratio of noise to signal.
    num_iter : int
        Number of steps of conjugate gradients.
    out, dtype, progress
        See :meth:`Deconvolver.__call__`.
    background, edges, origin, stop, device, workers, max_host_mem, max_gpu_mem
        See :class:`Deconvolver`.

    Returns
    -------
    array of the image's shape, float32 by default

    Raises
    ------
    InvalidArgument, BadData, OutOfMemory, Unavailable
        See :class:`Deconvolver`.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.wiener(np.ones((8, 8)), np.ones((3, 3)), device="cpu").shape
    (8, 8)
    """
    iterations = options.pop("num_iter", 30)
    return _deconvolve(image, psf, {"method": "wiener", "iterations": iterations, "balance": balance, **options})
