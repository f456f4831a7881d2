# SPDX-License-Identifier: Apache-2.0
"""Arrays whose samples are in memory, or are read from a file by basic indices of NumPy: numbers and slices."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._array_operators import ArrayOperators, array_for_numpy

__all__ = ["Picked", "_StoredArray", "basic_index"]

Picked = range | int
"""Samples that an index picks along an axis: a range, or a number for an axis that is dropped."""


class _StoredArray(ArrayOperators):
    """Base of arrays whose samples are in memory, or in a file from which each index reads its part."""

    _called = ""
    """The array in errors, with its article."""
    _array: np.ndarray | None
    """The samples, if they are in memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of all samples."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> Any:
        # Methods of arrays, such as ravel() and copy(), are those of the samples.
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{self._called} has no attribute '{name}'")
        return getattr(np.asarray(self), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self._read([range(extent) for extent in self.shape]) if self._array is None else self._array
        return array_for_numpy(values, self._array is None, dtype, copy)

    def _read(self, ranges: list[range]) -> np.ndarray:
        """Reads a box from the file."""
        raise NotImplementedError

    def _part(self, key: Any, picked: list[Picked]) -> Any:
        """Returns the samples that the basic index `key` picks; from a file, only the box around them is read."""
        if self._array is not None:
            return self._array[key]
        return self._read([_box_of(one) for one in picked])[tuple(map(_index_in_box, picked))]


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


def _box_of(picked: Picked) -> range:
    """Returns the range around the samples that are picked along an axis."""
    if isinstance(picked, int):
        return range(picked, picked + 1)
    return range(min(picked[0], picked[-1]), max(picked[0], picked[-1]) + 1) if picked else range(0)


def _index_in_box(picked: Picked) -> slice | int:
    """Returns the index into the samples of :func:`_box_of` that picks the samples."""
    if isinstance(picked, int):
        return 0
    return slice(None, None, picked.step)  # the first one is at an end of the box
