# SPDX-License-Identifier: Apache-2.0
"""Division of an array into the images of a batch, each with the PSF of its channel."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ._errors import InvalidArgument
from ._labels import chosen_axes, letters_of


class Batch:
    """The images of a batch in an array. An image has the axes that are convolved, in their order."""

    def __init__(self, array: Any, shape: tuple[int, ...], dimensions: int, axes: Sequence[int] | int | None,
                 channel_axis: int | None, channels: int) -> None:
        """`array` is the caller's, with names of axes if it has any. `channels` is the number of PSFs."""
        self.axes = chosen_axes(axes, array, len(shape), dimensions)
        self.image_shape = tuple(shape[axis] for axis in self.axes)
        others = [axis for axis in range(len(shape)) if axis not in self.axes]
        self.batch_shape = tuple(shape[axis] for axis in others)
        self._channel: int | None = None  # place of the channels among the other axes
        if channels == 1:
            return
        channel = _channel_axis(letters_of(array), len(shape), channel_axis, others)
        if channel is None or shape[channel] != channels:
            extent = "no axis of channels" if channel is None else f"{shape[channel]} channels along axis {channel}"
            raise InvalidArgument(f"{channels} PSFs for an image of shape {shape} with {extent}: give one PSF for each "
                                  "channel, and name their axis by channel_axis=…")
        self._channel = others.index(channel)

    def __len__(self) -> int:
        return int(np.prod(self.batch_shape, dtype=np.int64))

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Goes through the images: index in the batch, and number of the PSF."""
        for index in np.ndindex(self.batch_shape):
            yield index, 0 if self._channel is None else index[self._channel]

    def of(self, array: np.ndarray) -> np.ndarray:
        """Returns a view of an array whose last axes are the convolved ones."""
        return np.moveaxis(array, self.axes, list(range(-len(self.axes), 0)))


def _channel_axis(letters: str | None, dimensions: int, given: int | None, others: list[int]) -> int | None:
    """Returns the axis of channels: the given one, that with the name C, or the last one that is not convolved."""
    if given is not None:
        axis = given + dimensions if given < 0 else given
        if axis not in others:
            raise InvalidArgument(f"channel_axis={given} names no axis of a batch: the others are "
                                  f"{', '.join(map(str, others)) or 'none'}")
        return axis
    if letters is not None:
        return letters.index("C") if letters.count("C") == 1 else None
    return others[-1] if others else None


def progress_of_one_image(report: Callable[[float], object], number: int, of: int) -> Callable[[float], object]:
    """Returns a callback for the progress of one image that reports the progress of all images."""
    return lambda fraction: report((number + fraction) / of)
