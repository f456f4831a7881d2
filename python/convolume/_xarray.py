# SPDX-License-Identifier: Apache-2.0
"""Axes and voxel sizes of arrays of xarray, and results in their form. xarray itself is not imported."""

from typing import Any

import numpy as np

from . import _core

_LETTERS = {"t": "T", "time": "T", "c": "C", "channel": "C", "ch": "C", "z": "Z", "y": "Y", "x": "X"}
_EVEN = 1e-3  # largest relative deviation of the steps between coordinates that still counts as even


def is_data_array(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "xarray" and hasattr(array, "coords")


def letters_of(array: Any) -> str:
    """Returns a letter of T, C, Z, Y, X for each dimension, and "?" for dimensions with other names."""
    return "".join(_LETTERS.get(str(name).lower(), "?") for name in array.dims)


def order_of_axes(array: Any) -> list[int]:
    """Returns the numbers of an array's axes in the order T, C, Z, Y, X, or as they are if not all have such names."""
    letters = letters_of(array)
    if "?" in letters or len(set(letters)) != len(letters):
        return list(range(len(letters)))
    return sorted(range(len(letters)), key=lambda axis: "TCZYX".index(letters[axis]))


def voxels_of(array: Any) -> dict[str, float]:
    """Returns the distances of coordinates in µm by the letter of their axis, where they are even and name a unit."""
    found = {}
    for name, letter in zip(array.dims, letters_of(array)):
        if letter not in "ZYX" or name not in array.coords or array.sizes[name] < 2:
            continue
        coordinate = array.coords[name]
        unit = _core.micrometers_per(str(coordinate.attrs.get("units", "")))
        steps = np.diff(np.asarray(coordinate, np.float64))
        if unit is not None and steps[0] > 0 and np.abs(steps - steps.mean()).max() <= _EVEN * steps.mean():
            found[letter] = float(steps.mean()) * unit
    return found


def in_form_of(result: np.ndarray, like: Any) -> Any:
    """Returns a result as an array of xarray with the dimensions, attributes and name of `like`, and the coordinates
    of axes that kept their extent."""
    if result.ndim != len(like.dims):
        return result
    extents = dict(zip(like.dims, result.shape))
    coordinates = {name: one for name, one in like.coords.items()
                   if all(extents[dimension] == like.sizes[dimension] for dimension in one.dims)}
    return type(like)(result, dims=like.dims, coords=coordinates, attrs=like.attrs, name=like.name)
