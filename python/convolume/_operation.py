# SPDX-License-Identifier: Apache-2.0
"""What every operation on blocks has: what it needs, what it computes, and the plans and memory that it keeps."""

import hashlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._argument_types import check_types
from ._block_samples import BlockSamples, read_block
from ._blocks import Block, Halo, Triple
from ._errors import InvalidArgument, option
from ._image import Image
from ._zarr_target import TargetFacts


@dataclass
class BlockResult:
    """The results of a block, with counts of unusual samples."""

    values: np.ndarray
    """Results (z, y, x) without the halo."""
    clamped_low: int = 0
    """Number of values below the range of an integer type. NaN counts here."""
    clamped_high: int = 0
    """Number of values above the range of an integer type."""
    nonfinite: int = 0
    """Number of NaN and infinities in the block without its halo that were read as 0."""


class Operation:
    """An operation on arrays of (z, y, x). It is pickled and sent to workers."""

    name: str
    halo: Halo
    boundary: str | None = None
    """Continuation of the image outside its border. None: the operation continues it itself, and blocks at the border
    have less halo."""
    cval: float = 0.0
    """Value outside the image, for the boundary "constant"."""
    nan: str
    """Handling of NaN and infinities in the image, a policy of the library."""
    dtype: np.dtype[Any]
    """Type of the results."""
    voxel_bytes: float
    """Bytes of memory that the computation takes for each voxel, without the block and its result."""

    def facts(self) -> dict[str, Any]:
        """Returns everything that results depend on, for the manifest. The member "shape" has the extents (z, y, x) of
        the result, if they are not those of the image."""
        raise NotImplementedError

    def of_channel(self, channel: int) -> "Operation":
        """Returns the operation for blocks of a channel."""
        del channel
        return self

    def run_on(self, run: Mapping[str, Any]) -> None:
        """Sets devices, threads and memory limits. Copies of the operation in other processes make their own plans."""
        self._plans = PlanCache(run)

    def result_of(self, facts: TargetFacts) -> TargetFacts:
        """Returns the facts of the result of an image with these facts."""
        return facts

    def needed(self, block: Triple) -> Triple:
        """Returns the extents of the samples from which a block of this shape is computed."""
        z, y, x = (b + low + high for b, (low, high) in zip(block, self.halo))
        return z, y, x

    def voxels(self, block: Triple) -> int:
        """Returns the number of voxels by which the memory for a block of this shape grows."""
        return math.prod(self.needed(block))

    def bytes_in_flight(self, image: Image) -> float:
        """Returns the bytes of host memory for each voxel, with the blocks that are read and written meanwhile."""
        return self.voxel_bytes + 2 * image.dtype.itemsize + 3 * self.dtype.itemsize

    def read(self, image: Image, block: Block) -> BlockSamples:
        """Reads the samples from which a block is computed."""
        return read_block(image, block, self.halo, self.boundary, self.cval)

    def device_bytes(self, shape: Triple) -> int:
        """Returns the bytes of a GPU's memory that a block of this shape takes, halo included. It is 0 if no GPU
        computes, or if these bytes do not depend on the block."""
        del shape
        return 0

    def seconds(self, shape: Triple) -> float | None:
        """Returns the predicted seconds for a block of this shape, halo included; None if they are unknown."""
        del shape
        return None

    def needs_estimates(self) -> bool:
        """Tells whether values for all blocks must be estimated from the image before the first block."""
        return False

    def find_estimates(self, sample_of: Callable[[int], BlockSamples]) -> dict[str, Any]:
        """Estimates values for all blocks from `sample_of(channel)`, a part of the image."""
        raise NotImplementedError

    def set_estimates(self, found: Mapping[str, Any]) -> None:
        """Sets the results of :meth:`find_estimates` for all blocks."""

    def __call__(self, samples: BlockSamples) -> BlockResult:
        """Returns the results of a block that was read with its halo. They may be in memory that this thread's next
        call uses again."""
        raise NotImplementedError


def check_options(options: Mapping[str, Any], keywords: Any) -> None:
    """Refuses options that are not among the keywords of a TypedDict, or have another type."""
    unknown = options.keys() - keywords.__annotations__.keys()
    if unknown:
        raise InvalidArgument(f"the operation has no option {option(min(unknown))}")
    check_types(options, keywords)


def hash_of(array: np.ndarray) -> str:
    text = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(text + np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def plain_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns values for a JSON document. NaN becomes a text, as it would differ from itself."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        if isinstance(value, tuple | list):
            return [plain(one) for one in value]
        return "nan" if isinstance(value, float) and math.isnan(value) else value

    return {name: plain(value) for name, value in options.items()}


class PlanCache:
    """Cache of the plans for the last two shapes of blocks, as blocks at a border have another shape than others, and
    of memory for results."""

    def __init__(self, run: Mapping[str, Any] | None = None) -> None:
        self.run: dict[str, Any] = dict(run or {})
        self._plans: dict[tuple[int, ...], Any] = {}
        self._memory = threading.local()

    def plan(self, shape: tuple[int, ...], make: Callable[[], Any]) -> Any:
        found = self._plans.pop(shape, None)
        if found is None:
            while len(self._plans) > 1:
                del self._plans[next(iter(self._plans))]
            found = make()
        self._plans[shape] = found
        return found

    def array(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        """Returns an array in memory of this thread that the next call uses again. The system takes longer to give new
        memory than a GPU takes for a block."""
        count = math.prod(shape)
        size = count * np.dtype(dtype).itemsize
        held: np.ndarray | None = getattr(self._memory, "held", None)
        if held is None or held.nbytes < size:
            self._memory.held = None  # freed before more is taken
            held = self._memory.held = np.empty(size, np.uint8)
        array: np.ndarray = held[:size].view(dtype).reshape(shape)
        return array

    def __reduce__(self) -> tuple[Any, ...]:
        return PlanCache, (self.run,)
