# SPDX-License-Identifier: Apache-2.0
"""Basic indices of NumPy, numbers and slices, of arrays whose samples are in a file."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Picked = range | int
"""Samples that an index picks along an axis: a range, or a number for an axis that is dropped."""


def basic_index(key: Any, shape: Sequence[int], what: str) -> list[Picked] | None:
    """Returns the samples that a basic index of NumPy picks along each axis, or None for other indices. `what` names
    the array and its axes in errors."""
    keys = list(key) if isinstance(key, tuple) else [key]
    whole = [one is Ellipsis for one in keys]
    if sum(whole) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if any(whole):
        place = whole.index(True)
        keys[place:place + 1] = [slice(None)] * (len(shape) - len(keys) + 1)
    if not all(isinstance(one, slice | int | np.integer) and not isinstance(one, bool) for one in keys):
        return None
    if len(keys) > len(shape):
        raise IndexError(f"too many indices: {what}")
    picked: list[Picked] = []
    for one, extent in zip(keys + [slice(None)] * (len(shape) - len(keys)), shape):
        if isinstance(one, slice):
            picked.append(range(*one.indices(extent)))
            continue
        index = int(one) + (extent if int(one) < 0 else 0)
        if not 0 <= index < extent:
            raise IndexError(f"index {one} is out of bounds for an axis of {extent}")
        picked.append(index)
    return picked


def box_of(picked: Picked) -> range:
    """Returns the range around the samples that are picked along an axis."""
    if isinstance(picked, int):
        return range(picked, picked + 1)
    return range(min(picked[0], picked[-1]), max(picked[0], picked[-1]) + 1) if picked else range(0)


def index_in_box(picked: Picked) -> slice | int:
    """Returns the index into the samples of :func:`box_of` that picks the samples."""
    if isinstance(picked, int):
        return 0
    return slice(None, None, picked.step)  # the first one is at an end of the box
