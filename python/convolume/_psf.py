# SPDX-License-Identifier: Apache-2.0
"""Kernels and PSFs brought to the voxels of an image, and what is doubtful about images and PSFs."""

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

_MOST, _MANY = 100, 10  # factors between voxel sizes that are refused, and that are doubtful


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
    if of_image is None or of_psf is None:
        return
    axes = set(of_image or of_psf)  # axes that arrays do not have are not known by either
    sizes = [[voxels.get(axis) if axis in axes else None for axis in "ZYX"] for voxels in (of_image, of_psf)]
    for sentence in _core.voxel_warning(*sizes):
        warn(sentence)


def warn_of_psf(psf: Kernel, image_shape: Sequence[int]) -> None:
    """Issues a warning for each doubtful property of a PSF for images of that shape."""
    taps = psf.taps
    if taps.dtype.kind == "c" or taps.size == 0:
        return
    solid = taps.reshape(triple_of(taps.shape))
    is_wrapped = psf.origin == "corner"
    origin = "middle" if is_wrapped else center_of(psf.origin, taps.ndim)
    center = _core.center_index(_core.Options(origin=origin), solid)
    for sentence in _core.psf_warnings(solid, center, psf.origin != "middle", is_wrapped, triple_of(image_shape)):
        warn(sentence)


def psfs_of(psf: Any) -> list[Any]:
    """Returns the PSFs of the channels: the members of a sequence of arrays, or the channels of an image; else one."""
    if isinstance(psf, list | tuple) and psf and all(getattr(one, "ndim", 0) > 0 for one in psf):
        return list(cast("Sequence[Any]", psf))
    if isinstance(psf, Image) and psf.axes[0] == "C":
        return [Image.of_array(psf[c], axes=psf.axes[1:], spacing=psf.spacing) for c in range(len(psf))]
    return [psf]
