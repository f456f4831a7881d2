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
from ._labels import Voxels, sizes_of, voxels_of
from ._options import Origin, center_of, triple_of, whole_numbers
from ._run import log


@dataclass(frozen=True)
class Kernel:
    """A kernel for images of some number of dimensions."""

    taps: np.ndarray
    origin: Origin
    voxels: Voxels | None
    """Voxel sizes of `taps`; None for arrays that never have any."""

    def with_axes(self, dimensions: int) -> "Kernel":
        """Returns the kernel with at least this number of axes. Missing ones come first, with one sample."""
        missing = max(0, dimensions - self.taps.ndim)
        origin = self.origin if isinstance(self.origin, str) else [0] * missing + list(self.origin)
        return Kernel(self.taps.reshape((1,) * missing + self.taps.shape), origin, self.voxels)

    def in_order(self) -> tuple[np.ndarray, list[int]]:
        """Returns the taps with axes z, y and x, shifted if their origin is a corner, and the index of the origin."""
        is_wrapped = self.origin == "corner"
        taps = (np.fft.fftshift(self.taps) if is_wrapped else self.taps).reshape(triple_of(self.taps.shape))
        origin = center_of("middle" if is_wrapped else self.origin, self.taps.ndim)
        return taps, _core.center_index(_core.Options(origin=origin), taps)


def prepared_kernel(kernel: Any, what: str, dimensions: int, origin: Origin, image: Voxels | None = None) -> Kernel:
    """Returns a kernel with at most `dimensions` axes, resampled to the voxels of the image if both are known and
    differ. An Image may have leading axes of one sample beyond these, which are dropped."""
    taps = to_host(kernel, what) if is_on_gpu(kernel) else readable(kernel, what)
    if not isinstance(origin, str):
        origin = whole_numbers(origin, "origin")
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
    if image is None or voxels is None or not 1 <= taps.ndim <= 3:
        return Kernel(taps, origin, voxels)
    sizes = sizes_of(image), sizes_of(voxels)
    different = _core.differing_voxels(*sizes, triple_of(taps.shape))
    if different is None:
        return Kernel(taps, origin, voxels)
    solid, center = Kernel(taps, origin, voxels).in_order()
    doubt = _core.check_resampling(solid.shape, center, *different, _core.voxel_difference(*sizes, what))
    if doubt is not None:
        warn(doubt)
    values, middle = _core.resample_kernel(solid, center, *different)
    log.info("%s is resampled to the voxels of the image: %s", what, _core.voxel_difference(*sizes, what))
    first = 3 - taps.ndim
    return Kernel(values.reshape(values.shape[first:]), list(middle)[first:], {**voxels, **image})


def common_origin(kernels: Sequence[Kernel], what: str) -> Origin:
    """Returns the origin of kernels. Refuses different ones; `what` names the kernels in errors."""
    if len({one.origin if isinstance(one.origin, str) else tuple(one.origin) for one in kernels}) > 1:
        raise InvalidArgument(f"{what} have different origins: bring them to one order of samples")
    return kernels[0].origin


def check_voxels(image: Any, kernel: Kernel, what: str, cure: str) -> None:
    """Refuses an image whose voxels differ from those of a kernel that was prepared before."""
    sizes = sizes_of(voxels_of(image)), sizes_of(kernel.voxels)
    if 1 <= kernel.taps.ndim <= 3 and _core.differing_voxels(*sizes, triple_of(kernel.taps.shape)) is not None:
        raise InvalidArgument(f"{_core.voxel_difference(*sizes, what)}; {cure}")


def warn_of_unknown_voxels(shape: Sequence[int], spacing: Sequence[float | None] | None, psf: Any, what: str) -> None:
    """Issues a warning if only one of image and PSF knows its voxel sizes. `shape` and `spacing` are those of the
    image along the axes of the PSF."""
    of_psf = voxels_of(psf)
    if not spacing and not of_psf:
        return
    extents = (psf.shape if hasattr(psf, "shape") else readable(psf, what).shape)[-3:]
    of_image = [None] * (3 - len(shape)) + list(spacing or [None] * len(shape))
    sentence = _core.voxel_warning(of_image, triple_of(shape), sizes_of(of_psf), triple_of(extents), what,
                                   "give it by convolume.Image.of_array(…, spacing=…)")
    if sentence is not None:
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
        return [psf[c] for c in range(len(psf))]
    return [psf]
