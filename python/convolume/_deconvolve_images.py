# SPDX-License-Identifier: Apache-2.0
"""Deconvolution in one call, which plans and computes."""

from typing import Any, Unpack

from ._arrays import readable
from ._deconvolve import Deconvolver
from ._deconvolve_options import CallKeywords, RichardsonLucyKeywords, WienerKeywords, deconvolution_defaults
from ._device import DeviceArray, is_on_gpu
from ._labels import chosen_axes, deconvolved_dimensions, spacing_for
from ._options import with_keywords
from ._psf import psfs_of, warn_of_unknown_voxels


class _CachedDeconvolver(Deconvolver):
    """A deconvolver of a function that plans and computes in one call. Its plans stay in the cache."""

    _from_cache = True


def _deconvolve(image: Any, psf: Any, options: dict[str, Any]) -> Any:
    if is_on_gpu(image):
        image_shape, image_dtype = DeviceArray.of(image, "the image").shape, None
    else:
        pixels = readable(image, "the image")
        axes = options.get("axes")
        dimensions = deconvolved_dimensions(psfs_of(psf)[0], image, pixels.ndim, axes)
        chosen = chosen_axes(axes, image, pixels.ndim, dimensions)
        image_shape = tuple(pixels.shape[axis] for axis in chosen)
        image_dtype = pixels.dtype if pixels.dtype.name in ("uint8", "uint16") else None
        if options.get("spacing") is None:
            options["spacing"] = spacing_for(image, chosen)
            warn_of_unknown_voxels(image_shape, options["spacing"], psfs_of(psf)[0], "the PSF")
    out = options.pop("out", None)
    run: Any = {name: options.pop(name) for name in CallKeywords.__annotations__ if name in options}
    return _CachedDeconvolver(image_shape, psf, image_dtype=image_dtype, **options)(image, out, **run)


@with_keywords(RichardsonLucyKeywords, deconvolution_defaults(RichardsonLucyKeywords, tv_weight=0.0, coarse_start=None))
def richardson_lucy(image: Any, psf: Any, iterations: int | None = None,
                    **options: Unpack[RichardsonLucyKeywords]) -> Any:
    """Deconvolves an image by Richardson–Lucy, accelerated, for an object that continues beyond the image.

    For scikit-image's function of this name, with its defaults, see :func:`convolume.restoration.richardson_lucy`.
    Sources: Richardson (1972), Lucy (1974), and for the acceleration Biggs and Andrews (1997).

    Parameters
    ----------
    image : array, real and finite
        An image (z, y, x), (y, x) or (x,), or a batch of images. An Image, or an xarray.DataArray with units of its
        coordinates, knows its voxel size.
    psf : array of 1 to 3 dimensions, or sequence of arrays
        The point spread function, or one for each channel. Its sum is made 1. It is resampled if image and PSF know
        their voxel sizes, and these differ.
    iterations : int, optional
        Number of iterations. With None and no `stop`, a search finds it, see :class:`Deconvolver`.
    tv_weight : float or "auto"
        Weight of the total variation (Dey 2006); 0 is without, "auto" chooses it from the image's noise.
    depths : sequence of floats, optional
        Depths of several PSFs, see :class:`Deconvolver`.
    axes, channel_axis, mask, weights, callback, out, dtype, progress
        See :meth:`Deconvolver.__call__`.
    spacing, acceleration, background, edges, origin, stop, saturation, no_data, hot_pixels, nan, coarse_start,
    uncertainty, seed, device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`Deconvolver`.

    Returns
    -------
    array of the image's shape, float32 by default, of the library that `image` comes from; with
    `uncertainty` two of them

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
    method = "rl" if options.get("tv_weight", 0.0) == 0 else "rl-tv"
    return _deconvolve(image, psf, {"method": method, "iterations": iterations, **options})


@with_keywords(WienerKeywords, deconvolution_defaults(WienerKeywords, iterations=30))
def wiener(image: Any, psf: Any, balance: float = 0.01, **options: Unpack[WienerKeywords]) -> Any:
    """Deconvolves an image by least squares with a penalty.

    Conjugate gradients solve the following equation for x, where A is the convolution with the PSF:

        (AᵀA + balance) x = Aᵀ (image - background)

    With ``edges="wrap"`` this is Wiener's filter for white noise. Results may be negative.

    Parameters
    ----------
    image : array, real and finite
        An image (z, y, x), (y, x) or (x,), or a batch of images. An Image, or an xarray.DataArray with units of its
        coordinates, knows its voxel size.
    psf : array of 1 to 3 dimensions, or sequence of arrays
        The point spread function, or one for each channel. Its sum is made 1. It is resampled if image and PSF know
        their voxel sizes, and these differ.
    balance : float
        Ratio of noise to signal.
    iterations : int
        Number of steps of conjugate gradients.
    axes, channel_axis, out, dtype, progress
        See :meth:`Deconvolver.__call__`.
    background, edges, origin, spacing, stop, uncertainty, seed, device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`Deconvolver`.

    Returns
    -------
    array of the image's shape, float32 by default, of the library that `image` comes from; with
    `uncertainty` two of them

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
    return _deconvolve(image, psf, {"method": "wiener", "balance": balance, **options})
