# SPDX-License-Identifier: Apache-2.0
"""Largest values of images, such as those of a correlation, with sub-pixel places."""

import operator
from typing import Any

import numpy as np

from ._argument_types import names_wrong_types
from ._arrays import finite_numbers
from ._errors import InvalidArgument


@names_wrong_types
def find_peaks(array: Any, threshold: float = 0.5, min_distance: int = 1, max_peaks: int | None = None) -> np.ndarray:
    """Finds the largest values of an array, such as a result of :func:`match_template`, with sub-pixel places.

    Parameters
    ----------
    array : array of real, finite numbers
        1 to 3 dimensions.
    threshold : float
        Smallest value of a peak.
    min_distance : int
        A peak has no larger value within this number of samples along every axis, and no other peak. Of equal values,
        the first one is the peak.
    max_peaks : int, optional
        Largest number of peaks. None: all.

    Returns
    -------
    peaks : structured array
        With the fields "position", the place of the peak along each axis, and "value", the value of its sample, in the
        order of falling values. A position is the vertex of the parabola through the sample and its two neighbors along
        the axis. At the ends of an axis it is the sample.

    Raises
    ------
    InvalidArgument
        Options that do not fit (a ValueError).
    BadData
        NaN or infinities (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> x = np.arange(50)
    >>> peaks = convolume.find_peaks(np.exp(-(x - 20.2)**2 / 20) + 0.8 * np.exp(-(x - 35.5)**2 / 20))
    >>> peaks["position"].round(1)
    array([[20.2],
           [35.5]])
    """
    values = finite_numbers(array, "the array")
    if not 1 <= values.ndim <= 3:
        raise InvalidArgument(f"an array of {values.ndim} dimensions: peaks are found in 1 to 3")
    distance, most = operator.index(min_distance), values.size if max_peaks is None else operator.index(max_peaks)
    if distance < 1 or most < 0:
        raise InvalidArgument(f"min_distance is {min_distance} and max_peaks {max_peaks}: give 1 or more, and None or "
                              "a number of peaks")
    candidates = np.argwhere((values >= threshold) & (values == _largest_near(values, distance)))
    order = np.argsort(-(values[tuple(candidates.T)].astype(np.float64)), kind="stable")
    taken = np.zeros(values.shape, bool)
    found: list[tuple[tuple[float, ...], float]] = []
    for place in candidates[order]:
        if len(found) == most:
            break
        index = tuple(int(one) for one in place)
        if taken[index]:
            continue
        taken[tuple(slice(max(0, i - distance), i + distance + 1) for i in index)] = True
        found.append((tuple(i + _vertex(values, index, axis) for axis, i in enumerate(index)), float(values[index])))
    return np.array(found, [("position", np.float64, (values.ndim,)), ("value", np.float64)])


def _vertex(values: np.ndarray, index: tuple[int, ...], axis: int) -> float:
    """Returns the offset of the vertex of the parabola through a largest sample and its neighbors along an axis."""
    if not 0 < index[axis] < values.shape[axis] - 1:
        return 0.0
    line = np.moveaxis(values, axis, -1)[index[:axis] + index[axis + 1:]]
    before, middle, after = (float(line[index[axis] + step]) for step in (-1, 0, 1))
    bend = before - 2 * middle + after
    return (before - after) / (2 * bend) if bend < 0 else 0.0


def _largest_near(values: np.ndarray, distance: int) -> np.ndarray:
    """Returns the largest value within a distance along every axis. Windows of double length are made of two."""
    for axis in range(values.ndim):
        reach = min(distance, values.shape[axis] - 1)
        widths = [(reach, reach) if one == axis else (0, 0) for one in range(values.ndim)]
        lines = np.moveaxis(np.pad(values, widths, "edge"), axis, 0)
        have, length = 1, 2 * reach + 1
        while have < length:
            step = min(have, length - have)
            lines = np.maximum(lines[:-step], lines[step:])
            have += step
        values = np.moveaxis(lines, 0, axis)
    return values
