# SPDX-License-Identifier: Apache-2.0
"""What was noticed of the samples of blocks, as documents in the target.

The document of a block is written before its shards, so that a block that is complete has one. A block that is computed
again replaces it. So the sum over complete blocks holds after kills, retries and resumed runs, and for any number of
writers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ._manifest import COUNTS
from ._zarr_store import Documents


@dataclass
class BlockCounts:
    """Numbers of samples."""

    clamped_low: int = 0
    clamped_high: int = 0
    nonfinite: int = 0

    def __bool__(self) -> bool:
        return bool(self.clamped_low or self.clamped_high or self.nonfinite)

    def add(self, other: "BlockCounts") -> None:
        self.clamped_low += other.clamped_low
        self.clamped_high += other.clamped_high
        self.nonfinite += other.nonfinite


def record_counts(documents: Documents, block: int, counts: BlockCounts) -> None:
    """Writes the document of a block; blocks of which there is nothing to say have none."""
    name = f"{COUNTS}/{block}"
    if counts:
        documents.write_json(name, {"clamped_low": counts.clamped_low, "clamped_high": counts.clamped_high,
                                    "nonfinite": counts.nonfinite})
    else:
        documents.delete(name)  # that of a computation before, which differed


def recorded_counts(documents: Documents, blocks: Iterable[int]) -> BlockCounts:
    """Sums the documents of these blocks."""
    wanted = set(blocks)
    total = BlockCounts()
    names = [name for name in documents.names(COUNTS) if name.isdigit() and int(name) in wanted]
    for found in documents.read_many_json([f"{COUNTS}/{name}" for name in names]):
        total.add(BlockCounts(*(int(found.get(key, 0)) for key in ("clamped_low", "clamped_high", "nonfinite"))))
    return total
