# SPDX-License-Identifier: Apache-2.0
"""Axes and voxel sizes of arrays of xarray, and results in their form. xarray itself is not imported."""

from typing import Any, NamedTuple

import numpy as np

from . import _core

_LETTERS = {"t": "T", "time": "T", "c": "C", "channel": "C", "ch": "C", "z": "Z", "y": "Y", "x": "X"}
_SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_HERTZ = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
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
        step = even_step(np.asarray(coordinate, np.float64))
        if unit is not None and step is not None:
            found[letter] = step * unit
    return found


def even_step(values: np.ndarray) -> float | None:
    """Returns the distance of numbers that grow evenly, and None for others."""
    steps = np.diff(values)
    mean = float(steps.mean())
    return mean if steps[0] > 0 and np.abs(steps - mean).max() <= _EVEN * mean else None


class EvenCoordinate(NamedTuple):
    """An evenly spaced coordinate of an array of xarray."""

    first: Any
    distance: float
    """Between samples: of times of calendars in nanoseconds."""
    is_calendar: bool
    attrs: dict[str, Any]

    @classmethod
    def of(cls, array: Any, dimension: Any) -> "EvenCoordinate | None":
        """Returns the coordinate of a dimension, or None if there is none, or it is not even."""
        if dimension not in array.coords or array.sizes[dimension] < 2:
            return None
        coordinate = array.coords[dimension]
        values = np.asarray(coordinate)
        is_calendar = values.dtype.kind in "mM"
        if is_calendar:
            values = values.astype(f"{values.dtype.kind}8[ns]")
        elif values.dtype.kind not in "iuf":
            return None
        distance = even_step((values - values[0]).astype(np.float64))
        if distance is None:
            return None
        return cls(values[0], distance, is_calendar, dict(coordinate.attrs))

    def at(self, positions: np.ndarray, dimension: Any) -> Any:
        """Returns the coordinate at positions that count samples, as (dimension, values, attributes)."""
        offsets = positions * self.distance
        if self.is_calendar:
            return dimension, self.first + np.round(offsets).astype("m8[ns]"), self.attrs
        return dimension, float(self.first) + offsets, self.attrs

    def in_seconds(self) -> tuple[float, float] | None:
        """Returns first value and distance in seconds, calendars from 1970 on; None if the unit is not known."""
        if self.is_calendar:
            return float(self.first.astype(np.int64)) / 1e9, self.distance / 1e9
        seconds = _SECONDS.get(str(self.attrs.get("units", "")))
        return None if seconds is None else (float(self.first) * seconds, self.distance * seconds)

    def frequency_unit(self) -> tuple[float, str]:
        """Returns one cycle per sample as a frequency, and its unit."""
        seconds, unit = self.in_seconds(), str(self.attrs.get("units", ""))
        if seconds is not None:
            return 1 / seconds[1], "Hz"
        return 1 / self.distance, f"1/{unit}" if unit else ""


def hertz_of(array: Any, dimension: Any) -> np.ndarray | None:
    """Returns the coordinate of a dimension in Hz, or None if there is none in such a unit."""
    if dimension not in array.coords:
        return None
    hertz = _HERTZ.get(str(array.coords[dimension].attrs.get("units", "")))
    return None if hertz is None else np.asarray(array.coords[dimension], np.float64) * hertz


def in_form_of(result: np.ndarray, like: Any) -> Any:
    """Returns a result as an array of xarray with the dimensions, attributes and name of `like`, and the coordinates
    of axes that kept their extent."""
    if result.ndim != len(like.dims):
        return result
    extents = dict(zip(like.dims, result.shape))
    coordinates = {name: one for name, one in like.coords.items()
                   if all(extents[dimension] == like.sizes[dimension] for dimension in one.dims)}
    return type(like)(result, dims=like.dims, coords=coordinates, attrs=like.attrs, name=like.name)
