# SPDX-License-Identifier: Apache-2.0
"""Pixels that a deconvolution leaves out (without data, hot, or of a mask) or takes as bounds (saturated)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core
from ._arrays import readable
from ._errors import InvalidArgument
from ._options import triple_of


def _is_auto(option: Any) -> bool:
    return isinstance(option, str) and option == "auto"


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


def find_missing(image: np.ndarray, psf: np.ndarray, options: Mapping[str, Any],
                 mask: np.ndarray | None, camera_maximum: float | None) -> _core.MissingPixels | None:
    """Returns the pixels of an image that are left out, or saturated; None of a complex image.

    `camera_maximum` is the largest value of the camera, if it is known.
    """
    method, no_data = options.get("method", "rl"), options.get("no_data", "auto")
    hot_pixels = options.get("hot_pixels", "auto")
    compares_all = not _core.has_likelihood(method)
    if mask is not None:
        _core.require_option(method, "mask")
    nan = options.get("nan", "error")
    if nan not in ("error", "missing"):
        raise InvalidArgument(f"nan is 'error' or 'missing', not {nan!r}")
    if hot_pixels not in ("auto", "off") or isinstance(no_data, str) and no_data not in ("auto", "off"):
        raise InvalidArgument("no_data is a number, 'auto' or 'off', and hot_pixels is 'auto' or 'off'")
    if image.dtype.kind == "c":  # which the plan refuses
        return None
    return _core.find_missing_pixels(image, psf.reshape(triple_of(psf.shape)),
                                        _is_auto(no_data) and not compares_all,
                                        None if isinstance(no_data, str) else float(no_data),
                                        _is_auto(hot_pixels) and not compares_all,
                                        _is_auto(options.get("saturation", "auto")), nan == "missing", mask,
                                        camera_maximum, options.get("workers"))
