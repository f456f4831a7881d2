# SPDX-License-Identifier: Apache-2.0
"""Pixels that a deconvolution leaves out (without data, hot, or of a mask) or takes as bounds (saturated)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import readable
from ._errors import InvalidArgument
from ._options import triple_of

MISSING_OPTIONS: tuple[str, ...] = tuple(one["keyword"] for one in _core.describe_options("MissingPixelOptions"))


def mask_of(given: Any, image_shape: tuple[int, ...]) -> np.ndarray | None:
    """Returns a mask, whose pixels with 0 are left out, as an array of real numbers; None if none is given."""
    if given is None:
        return None
    mask = np.asarray(readable(given, "the mask"))
    if mask.dtype not in (np.dtype("uint8"), np.dtype("float32")):
        mask = (mask if mask.dtype == bool else mask != 0).view(np.uint8)
    mask = np.ascontiguousarray(mask)
    if mask.shape != image_shape:
        raise InvalidArgument(f"the mask has the shape {mask.shape}: it must be that of one image, {image_shape}")
    return mask


def weights_of(given: Any, image_shape: tuple[int, ...], mask: np.ndarray | None) -> np.ndarray | None:
    """Returns the weights of pixels as an array of float32, 0 where the mask is, or None if none are given."""
    if given is None:
        return None
    weights = np.ascontiguousarray(readable(given, "the array of weights"), np.float32)
    if weights.shape != image_shape:
        raise InvalidArgument(f"the weights have the shape {weights.shape}: it must be that of one image, "
                              f"{image_shape}")
    return weights if mask is None else np.where(mask != 0, weights, np.float32(0))


def mark_missing(image: np.ndarray, psfs: Sequence[np.ndarray], options: Mapping[str, Any],
                 mask: np.ndarray | None,
                 camera_maximum: float | None) -> tuple[np.ndarray, _core.MissingPixels | None]:
    """Returns an image with its missing pixels marked, and what is missing or saturated; None of a complex image.

    `camera_maximum` is the largest value of the camera, if it is known.
    """
    method = options.get("method", "rl")
    if mask is not None:
        _core.require_option(method, "mask")
    search = _core.MissingPixelOptions(**{name: options[name] for name in MISSING_OPTIONS if name in options})
    search.find_saturated = isinstance(options.get("saturation", "auto"), str)
    search.camera_maximum = camera_maximum
    if image.dtype.kind == "c":  # which the plan refuses
        return image, None
    missing = _core.find_missing_pixels(image, [psf.reshape(triple_of(psf.shape)) for psf in psfs], method, search,
                                        mask, options.get("workers"))
    if missing.count > 0:
        marked = np.empty(image.shape, np.float32)
        missing.mark(image, marked)
        image = marked
    return image, missing
