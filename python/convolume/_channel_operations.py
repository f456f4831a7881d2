# SPDX-License-Identifier: Apache-2.0
"""Operations with a kernel for each channel: which kernel a channel has, and the operation of all channels."""

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._block_samples import BlockSamples
from ._blocks import Triple
from ._errors import InvalidArgument
from ._image import Image
from ._operation import Operation


def are_several(kernel: Any) -> bool:
    """Tells whether an argument names kernels of channels: a mapping, or a sequence of paths or arrays."""
    return isinstance(kernel, Mapping) or isinstance(kernel, (list, tuple)) and len(kernel) > 0 and all(
        isinstance(one, (str, os.PathLike, Image)) or isinstance(one, np.ndarray) and one.ndim > 1 for one in kernel)


def kernels_of_channels(kernel: Any, image: Image) -> list[Any]:
    """Returns the kernel of each channel, from a sequence in their order or a mapping of numbers or names."""
    named = list(kernel.items()) if isinstance(kernel, Mapping) else [("", one) for one in kernel]
    found = _core.kernels_of_channels("kernel", image._name, [str(channel) for channel, _ in named], image._metadata)
    return [named[number][1] for number in found]


class ChannelOperations(Operation):
    """An operation of each channel, which differ in their kernels."""

    def __init__(self, channels: Sequence[Operation]) -> None:
        self.channels = list(channels)
        first = self.channels[0]
        self.name, self.boundary, self.cval = first.name, first.boundary, first.cval
        self.nan, self.dtype = first.nan, first.dtype
        if any(one.dtype != self.dtype for one in self.channels):
            raise InvalidArgument("the results of the channels would differ in type, as their kernels do: convert the "
                                  "kernels to one type")
        self.voxel_bytes = max(one.voxel_bytes for one in self.channels)
        low, high = ([max(one.halo[axis][side] for one in self.channels) for axis in range(3)] for side in range(2))
        self.halo = ((low[0], high[0]), (low[1], high[1]), (low[2], high[2]))

    def __copy__(self) -> "ChannelOperations":
        return ChannelOperations([copy.copy(one) for one in self.channels])

    def facts(self) -> dict[str, Any]:
        return {"name": self.name, "channels": [one.facts() for one in self.channels]}

    def of_channel(self, channel: int) -> Operation:
        return self.channels[channel]

    def run_on(self, run: Mapping[str, Any]) -> None:
        for one in self.channels:
            one.run_on(run)

    def device_bytes(self, shape: Triple) -> int:
        return max(one.device_bytes(shape) for one in self.channels)

    def needs_estimates(self) -> bool:
        return any(one.needs_estimates() for one in self.channels)

    def find_estimates(self, sample_of: Callable[[int], BlockSamples]) -> dict[str, Any]:
        def sample_of_own(number: int) -> Callable[[int], BlockSamples]:
            return lambda _: sample_of(number)

        return {"channels": [one.find_estimates(sample_of_own(number)) for number, one in enumerate(self.channels)]}

    def set_estimates(self, found: Mapping[str, Any]) -> None:
        for one, values in zip(self.channels, found["channels"]):
            one.set_estimates(values)
