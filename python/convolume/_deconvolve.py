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
    """What is known after an iteration."""

    number: int
    """From 1."""
    of: int
    likelihood: float
    """Logarithm of the Poisson likelihood of the estimate that this iteration started from, relative to a perfect fit:
    at most 0. Not of methods "nnls" and "wiener"."""
    residual: float
    """What is left, relative: of method "wiener" of the right-hand side, of "nnls" of the image less its background."""
    searching: bool
    """With ``stop="auto"``: this is one of the iterations that find the number of them."""
    held_out: float
    """Then: root mean square of the photons set apart minus their prediction."""
    consenting: float
    """Of method "rlgc": the share of voxels that took the step."""
    _read: Callable[[np.ndarray], object] = field(repr=False)
    _shape: tuple[int, ...] = field(repr=False)

    @property
    def estimate(self) -> np.ndarray:
        """The estimate as it is now, float32, of the image's shape: fetched when it is asked for. Only in the
        callback."""
        values = np.empty(self._shape, np.float32)
        self._read(values)
        return values


Callback = Callable[[Iteration], object]


class _Enough(Exception):
    """The callback wants no further iterations."""

    def __init__(self, iteration: Iteration) -> None:
        super().__init__()
        self.iteration = iteration
        self.estimate = iteration.estimate


class _Model(Resources, total=False):
    edges: Edges
    origin: Origin
    background: float | Literal["auto"]


class _Likelihood(_Model, total=False):
    acceleration: Acceleration
    tv_weight: float
    spacing: Sequence[float] | None
    stop: float | Literal["auto"] | None
    saturation: float | None
    coarse_start: int


class DeconvolverKeywords(_Likelihood, total=False):
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


class RichardsonLucyKeywords(_Likelihood, total=False):
    """Keywords of :func:`richardson_lucy`."""

    out: Any
    dtype: Any
    callback: Callback | None
    progress: Progress


class WienerKeywords(_Model, total=False):
    """Keywords of :func:`wiener`."""

    num_iter: int
    stop: float | None
    out: Any
    dtype: Any
    progress: Progress


def _defaults(keywords: Any, **others: Any) -> dict[str, Any]:
    return defaults_of(keywords, "DeconvolveOptions", spacing=None, **others)


def _teller(callback: Callback, shape: tuple[int, ...]) -> Callable[[dict[str, Any], Any], None]:
    def tell(facts: dict[str, Any], read: Any) -> None:
        iteration = Iteration(**facts, _read=read, _shape=shape)
        if callback(iteration) is True:
            raise _Enough(iteration)

    return tell


def _core_keywords(options: Mapping[str, Any], dimensions: int) -> dict[str, Any]:
    """Returns keywords of the library's DeconvolveOptions: only those that the caller gives."""
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
    """Deconvolves images of one shape with one point spread function (PSF): prepared once, called often.

    Parameters
    ----------
    image_shape : sequence of 1 to 3 ints
        (z, y, x), (y, x) or (x,).
    psf : array
        As many dimensions. Negative samples are read as 0, and its sum is made 1.
    method : {"rl", "rl-tv", "shb", "wb", "rlgc", "nnls", "wiener"}
        Richardson–Lucy; the same with total variation (Dey 2006); with the scaled heavy ball (Wang and Miller 2014);
        with a Wiener–Butterworth back projector (Guo 2020); with gradient consensus, which ends itself (Manton and York
        2023); non-negative least squares (Beck and Teboulle 2009); least squares with a penalty.
    iterations : int
    acceleration : {"biggs-andrews", "none"}
    edges : {"extend", "zero", "nearest", "reflect", "mirror", "wrap"}
        "extend" estimates the object as far outside the image as the PSF carries light into it, so that what lies
        outside does not ring (Bertero and Boccacci 2005). Otherwise the object has the image's extents.
    origin
        The PSF's sample that stands for no shift, as of :class:`convolume.Convolver`.
    background : float or "auto"
        Added light of every pixel. "auto" estimates it from each image.
    tv_weight : float
        Of method "rl-tv".
    spacing : sequence of floats, optional
        Edge lengths of a voxel, for the gradient of "rl-tv".
    balance : float
        Of method "wiener": noise to signal, where the PSF sums to 1.
    unmatched : int
        Of method "wb": so many steps with its back projector.
    consensus : float
        Of method "rlgc": ends when hardly more than this share of the voxels agrees.
    stop : float or "auto", optional
        Ends when an iteration lowers the misfit by less than this fraction. "auto": photons that are set apart find the
        number of iterations; `iterations` is the most that are tried.
    photons : (gain, offset), optional
        A pixel's value stands for gain * (value - offset) photons, for "auto" and "rlgc". None: seen from the noise.
    saturation : float, optional
        Pixels of at least this value are saturated and are left out. Not of methods "nnls" and "wiener".
    coarse_start : int
        Above 0: begins with so many iterations on each of one or two coarser images, and so reaches the same quality
        sooner; 20 are usual. `iterations` are those that follow. Of methods "rl", "rl-tv" and "shb", and of arrays in
        host memory. Where ``start`` is given, it does nothing.
    image_dtype : type, optional
        Of all images, if it is known: uint8 and uint16 then take 2 bytes a pixel of a GPU's memory instead of 4, and
        images of types that do not fit are refused.
    device, workers, max_host_mem, max_gpu_mem
        As of :class:`convolume.Run`.

    Raises
    ------
    InvalidArgument, BadData, OutOfMemory, Unavailable

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
        """Where arrays lie and how much memory they take, as text."""
        return str(self._core.plan_text)

    @property
    def report(self) -> Mapping[str, Any]:
        """Facts about the last call: iterations done, likelihood, background, seconds, …; clamped_low and clamped_high:
        the numbers of values below and above the range of an integer result."""
        return self._report

    @with_keywords(CallKeywords, _defaults(CallKeywords))
    def __call__(self, image: Any, out: Any = None, **run: Unpack[CallKeywords]) -> Any:
        """The deconvolved image, of the same shape, float32 by default.

        Parameters
        ----------
        image : array of `image_shape`, real and finite
            Arrays of CuPy and PyTorch in a GPU's memory stay there, and so does the result; a plan for that GPU is made
            with the first of them.
        out : array, optional
            Takes the result, where `image` lies. It may be `image`.
        dtype : type, optional
            Of the result; integers are rounded and clamped, and a :class:`ConvolumeWarning` tells how many were
            clamped.
        start : array of `image_shape`, optional
            The estimate to begin with: an earlier result, or that of the time point before.
        callback : callable, optional
            Called with an :class:`Iteration` after each; ``iteration.estimate`` is the estimate. Where it returns True,
            that is the result. What it raises ends the work.
        stream : optional
            For arrays in a GPU's memory: the CUDA stream whose work comes first; None: the library's current one.
        progress
            See :class:`convolume.Run`.
        """
        if type(image) is not np.ndarray and is_on_gpu(image):
            with on_stream(image, run.get("stream")):
                return self._call_on_gpu(DeviceArray.of(image, "the image"), out, run)
        pixels = readable(image, "the image")
        if pixels.shape != self.image_shape:
            raise InvalidArgument(f"an image of shape {pixels.shape} where {self.image_shape} was planned")
        dtype = result_type(run.get("dtype"), "float32")
        result = np.empty(pixels.shape, dtype) if out is None else writable(out, pixels.shape)
        enough = self._execute(lambda *calls: self._core.execute(pixels, result, *calls), run)
        if enough is not None:
            low, high = _core.convert(enough, result)
            self._report = MappingProxyType({**self._report, "clamped_low": low, "clamped_high": high})
        self._warn_of_clamped(result.dtype)
        return result if out is not None or pixels is image else give_back(result, image)

    def _execute(self, execute: Callable[..., dict[str, Any]], run: CallKeywords) -> np.ndarray | None:
        """The estimate that the callback found good enough, if it did."""
        callback, start = run.get("callback"), run.get("start")
        tell = None if callback is None else _teller(callback, self.image_shape)
        first = None if start is None else readable(start, "start")
        with progress_bar(run.get("progress")) as report:
            try:
                self._report = MappingProxyType(execute(first, tell, report))
            except _Enough as enough:
                self._report = MappingProxyType({"iterations": enough.iteration.number,
                                                 "likelihood": enough.iteration.likelihood})
                return enough.estimate
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
        enough = self._execute(lambda *calls: deconvolver.execute(*where, *calls), run)
        if enough is not None:
            self._report = MappingProxyType({**self._report, **result.fill_from(enough)})
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
    """Richardson–Lucy deconvolution, accelerated, of an object that goes on beyond the image.

    For scikit-image's function of this name, with its defaults, see :func:`convolume.restoration.richardson_lucy`.

    Parameters
    ----------
    image : array of 1 to 3 dimensions, real and finite
    psf : array of as many dimensions
    num_iter : int
    tv_weight : float
        Above 0: with total variation.
    callback, out, dtype, progress
        As of :meth:`Deconvolver.__call__`.
    spacing, acceleration, background, edges, origin, stop, saturation, coarse_start, device, workers, max_host_mem,
    max_gpu_mem
        As of :class:`Deconvolver`.

    Returns
    -------
    array of the image's shape, float32 by default

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
    """Least squares with a penalty: (AᵀA + balance) x = Aᵀ(image - background), by conjugate gradients.

    With ``edges="wrap"`` this is Wiener's filter for white noise. Results may be negative.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.wiener(np.ones((8, 8)), np.ones((3, 3)), device="cpu").shape
    (8, 8)
    """
    iterations = options.pop("num_iter", 30)
    return _deconvolve(image, psf, {"method": "wiener", "iterations": iterations, "balance": balance, **options})
