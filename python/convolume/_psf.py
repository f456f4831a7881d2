# SPDX-License-Identifier: Apache-2.0
"""Kernels and PSFs brought to the voxels of an image, and what is doubtful about images and PSFs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from . import _core, _xarray
from ._arrays import readable
from ._device import is_on_gpu, to_host
from ._errors import InvalidArgument, warn
from ._image import Image
from ._labels import Voxels, differing_voxels, text_of, voxels_of
from ._options import Origin, center_of, triple_of
from ._run import log

_MOST, _MANY = 100, 10  # factors between voxel sizes that are refused, and that are doubtful
_NOTICEABLE_LIGHT = 0.1  # share of the light of a result that an unsure background makes doubtful
_BRIGHT = 0.1  # share of the brightest plane's light that is bright for an outermost plane


@dataclass(frozen=True)
class Kernel:
    """A kernel for images of some number of dimensions."""

    taps: np.ndarray
    origin: Origin
    voxels: Voxels | None
    """Voxel sizes of `taps`; None for arrays that never have any."""


def extents_of(taps: np.ndarray) -> dict[str, int]:
    return dict(zip("ZYX"[max(0, 3 - taps.ndim):], taps.shape))


def prepared_kernel(kernel: Any, what: str, dimensions: int, origin: Origin, image: Voxels | None = None) -> Kernel:
    """Returns a kernel with at most `dimensions` axes, resampled to the voxels of the image if both are known and
    differ. An Image may have leading axes of one sample beyond these, which are dropped."""
    taps = to_host(kernel, what) if is_on_gpu(kernel) else readable(kernel, what)
    if _xarray.is_data_array(kernel):
        order = _xarray.order_of_axes(kernel)
        taps = taps.transpose(order)
        if not isinstance(origin, str) and len(origin) == taps.ndim:
            origin = [origin[axis] for axis in order]
    while isinstance(kernel, Image) and taps.ndim > dimensions and taps.shape[0] == 1:
        taps = taps[0]
        if not isinstance(origin, str) and len(origin) > taps.ndim:
            origin = list(origin)[1:]
    voxels = voxels_of(kernel)
    different = differing_voxels(image or {}, voxels or {}, extents_of(taps))
    if not different or image is None or voxels is None or not 1 <= taps.ndim <= 3:
        return Kernel(taps, origin, voxels)
    factors = [voxels[axis] / image[axis] for axis in different]
    before = [extents_of(taps)[axis] for axis in different]
    after = [max(1, round(n * factor)) for n, factor in zip(before, factors)]
    sizes = (f"voxel sizes differ: the image has {text_of(image)}, {what} {text_of(voxels)}, and resampling would make "
             f"{after} samples of {before} along {', '.join(different).lower()}; correct one of the sizes")
    if not all(1 / _MOST <= factor <= _MOST for factor in factors):
        raise InvalidArgument(sizes)
    if not all(1 / _MANY <= factor <= _MANY for factor in factors):
        warn(sizes)
    if origin == "corner":
        taps, origin = np.fft.fftshift(taps), "middle"
    solid = taps.reshape(triple_of(taps.shape))
    center = _core.center_index(_core.Options(origin=center_of(origin, taps.ndim)), solid)
    lengths = [tuple(sizes[axis] if axis in different else 1.0 for axis in "ZYX") for sizes in (voxels, image)]
    values, middle = _core.resample_kernel(solid, center, *lengths)
    first = 3 - taps.ndim
    return Kernel(values.reshape(values.shape[first:]), list(middle)[first:], {**voxels, **image})


def check_voxels(image: Any, kernel: Kernel, what: str, cure: str) -> None:
    """Refuses an image whose voxels differ from those of a kernel that was prepared before."""
    voxels = voxels_of(image) or {}
    if differing_voxels(voxels, kernel.voxels or {}, extents_of(kernel.taps)):
        raise InvalidArgument(f"voxel sizes differ: the image has {text_of(voxels)}, {what} "
                              f"{text_of(kernel.voxels or {})}; {cure}")


def warn_of_unknown_voxels(image: Any, psf: Any) -> None:
    """Issues a warning if one of image and PSF has voxel sizes, and the other could have some but has none."""
    of_image, of_psf = voxels_of(image), voxels_of(psf)
    if of_image is None or of_psf is None or bool(of_image) == bool(of_psf):
        return
    known, unknown = ("the image", "the PSF") if of_image else ("the PSF", "the image")
    warn(f"{known} has voxels of {text_of(of_image or of_psf)}, but {unknown} does not say its own and is taken to "
         "have the same; give them by spacing")


def warn_of_psf(psf: Kernel, image_shape: Sequence[int]) -> None:
    """Issues a warning for each doubtful property of a PSF for images of that shape. That it has too few planes is only
    logged, as many a PSF has."""
    taps = psf.taps
    if taps.dtype.kind == "c" or taps.size == 0 or psf.origin in ("peak", "corner"):
        return
    center = _core.center_index(_core.Options(origin=center_of(psf.origin, taps.ndim)),
                                taps.reshape(triple_of(taps.shape)))[3 - taps.ndim:]
    largest = float(taps.max())
    if all(0 <= i < n for i, n in zip(center, taps.shape)) and float(taps[tuple(center)]) < 0.999 * largest:
        peak = [int(i) for i in np.unravel_index(int(taps.argmax()), taps.shape)]
        away = tuple(i - c for i, c in zip(peak, center))
        in_fft_order = not any(peak) and taps.ndim > 0
        warn(f"the PSF's peak is {away} samples from its center, and shifts the result by as much; "
             + ("if it is in FFT order pass origin='corner', else " if in_fft_order else "")
             + "origin='peak' keeps the result in place")
    if taps.ndim == 3 and image_shape[0] == 1 < taps.shape[0]:
        warn(f"the image has one plane, but the PSF has {taps.shape[0]}: the specimen above and below the plane is "
             "estimated as well, unless edges are given, which is right if it is thick; for a thin one use a PSF of "
             "one plane")
    elif taps.ndim == 3 and taps.shape[0] < 2 * image_shape[0] - 1:
        light = taps.clip(0).sum((1, 2), dtype=np.float64)
        share = min(light[0], light[-1]) / light.max() if light.max() > 0 else 0.0
        if share > _BRIGHT:
            planes = "1 plane" if len(taps) == 1 else f"{len(taps)} planes"
            log.warning("the PSF has %s, and the outermost hold %.3g %% of the light of the brightest: light from "
                        "farther away will stay as haze in an image of %d planes; make a PSF of %d", planes,
                        100 * share, image_shape[0], 2 * image_shape[0] - 1)


def warn_of_filter(is_searched: bool) -> None:
    """Issues the warning of an image whose noise is not that of photons."""
    warn("neighboring pixels share their noise: the image was filtered, resampled, denoised or compressed, and its "
         "noise does not tell how many photons it has"
         + (f"; the usual {_core.filtered_iterations} iterations were taken, not those that held-out photons find; "
            "restore the image as it was recorded, or give iterations=…" if is_searched
            else "; give gain=…, or restore the image as it was recorded"))


def _doubtful_light(report: dict[str, Any]) -> float:
    """Returns the share of its light by which a result may be wrong if its background is."""
    if not report.get("is_under_haze") or report["background_error"] is None or report["light"] <= 0:
        return 0.0
    return float(report["background_error"] / report["light"])


def _doubt_of(report: dict[str, Any]) -> str:
    share = _doubtful_light(report)
    wrong = f"; the light of the result may be wrong by {math.ceil(100 * share)} %" if share > 0 else ""
    return f"{wrong}; give it by background if it is known"


def warn_of_background(reports: list[dict[str, Any]]) -> None:
    """Issues a warning if the background contradicts an image's darkest region, or if no region is dark."""
    contradicted = [report for report in reports if report.get("darkest") is not None]
    if not contradicted:
        hazy = [report for report in reports if _doubtful_light(report) > _NOTICEABLE_LIGHT]
        if hazy:
            report = max(hazy, key=_doubtful_light)
            warn(f"haze lies over the image, so that its background is doubtful: it is taken to be "
                 f"{report['background']:.6g} ± {report['background_error']:.2g}{_doubt_of(report)}")
        return
    report = min(contradicted, key=lambda one: one["darkest"])
    if report["background"] > report["darkest"]:
        warn(f"the background of {report['background']:.6g} is above the image's darkest region, whose mean is "
             f"{report['darkest']:.6g}: dim structures vanish; lower background, or use background='auto'")
    else:
        warn(f"the image may have no dark region: its background is between {report['offset']:.6g} and "
             f"{report['darkest']:.6g}, the mean of the darkest region, and is taken to be "
             f"{report['background']:.6g}{_doubt_of(report)}")


def psfs_of(psf: Any) -> list[Any]:
    """Returns the PSFs of the channels: the members of a sequence of arrays, or the channels of an image; else one."""
    if isinstance(psf, list | tuple) and psf and all(getattr(one, "ndim", 0) > 0 for one in psf):
        return list(cast("Sequence[Any]", psf))
    if isinstance(psf, Image) and psf.axes[0] == "C":
        return [Image.of_array(psf[c], axes=psf.axes[1:], spacing=psf.spacing) for c in range(len(psf))]
    return [psf]
