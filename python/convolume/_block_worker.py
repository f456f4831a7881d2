# SPDX-License-Identifier: Apache-2.0
"""What one task does: reads a block with its halo, computes, writes whole shards."""

import os
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._block_samples import BlockSamples, read_block, read_box
from ._blocks import Block, Blocks, Triple
from ._errors import BadData, DeviceFailure, Error, InvalidArgument, OutOfMemory, Unavailable
from ._files import open_quietly
from ._image import Image
from ._manifest import EMPTY, BlockCounts, record_counts
from ._operations import Operation
from ._zarr_store import Documents, Location
from ._zarr_target import Layout, TargetFacts, ZarrTarget

FATAL = (InvalidArgument, OutOfMemory, Unavailable)
"""Errors that every block would meet."""


@dataclass(frozen=True)
class Source:
    """An image as workers open it: a path and what `open` takes; or one that is open, for this process alone."""

    path: str
    axes: str = ""
    number: int | str | None = None
    """Which image of a file that holds several: its number or its name."""
    level: int | None = None
    missing: str = "fill"
    image: Image | None = None

    def open(self) -> Image:
        """Opens it without the warnings of its notes."""
        if self.image is not None:
            return self.image
        return open_quietly(self.path, axes=self.axes, image=self.number, level=self.level,
                            missing="error" if self.missing == "error" else "fill")

    def __reduce__(self) -> tuple[Any, ...]:
        if self.image is not None:
            raise InvalidArgument("workers of Dask open the source themselves: give its path or URL")
        return Source, (self.path, self.axes, self.number, self.level, self.missing)


@dataclass
class Job:
    """All that a worker needs to know. It is pickled."""

    hash: str
    source: Source
    location: Location
    facts: TargetFacts
    layout: Layout
    operation: Operation
    block: Triple
    threshold: float | None = None
    mask: Source | None = None
    dry: bool = False
    """Blocks are neither read nor written: for measurements."""
    level: int = 0
    """Above 0: blocks of this level of the target are made from the level before."""

    def blocks(self) -> Blocks:
        if self.level:
            return ZarrTarget(self.location, self.facts, self.layout).blocks(self.level)
        return Blocks(self.facts.frames, self.facts.channels, self.facts.shape, self.block)


@dataclass
class BlockReport:
    """What became of a block."""

    number: int
    empty: bool = False
    error: str | None = None
    damaged: bool = False
    """The error is of the source's samples there."""
    seconds: dict[str, float] = field(default_factory=dict)
    bytes_read: int = 0
    bytes_written: int = 0
    counts: BlockCounts = field(default_factory=BlockCounts)

    def fail(self, error: BaseException) -> None:
        self.error = sentence(error)
        self.damaged = isinstance(error, BadData)


class Worker:
    """Opened once for each process, or for each device."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.blocks = job.blocks()
        if job.dry:
            return
        self.target = ZarrTarget(job.location, job.facts, job.layout)
        self.target.open_arrays()
        self._documents = Documents(job.location)
        if job.level:
            return
        self.image = job.source.open()
        self.mask = None if job.mask is None else job.mask.open()

    def read(self, block: Block, report: BlockReport) -> BlockSamples | None:
        """The samples with their halo; None of an empty block."""
        begin = time.perf_counter()
        if self._masked_out(block):
            return None
        operation = self.job.operation
        samples = read_block(self.image, block, operation.halo, operation.boundary, operation.cval)
        check = getattr(self.image._reader, "check_there", None)
        if check is not None:
            check()
        report.seconds["read"] = time.perf_counter() - begin
        report.bytes_read = samples.values.nbytes
        if self.job.threshold is not None and not bool((samples.values > self.job.threshold).any()):
            if operation.nan == "zero":
                report.counts.nonfinite = samples.count_nonfinite_inside()
            return None
        return samples

    def _masked_out(self, block: Block) -> bool:
        """Whether the mask, which may be coarser than the image, is 0 all over the block."""
        if self.mask is None:
            return False
        metadata = self.mask._metadata
        box = [slice(b * m // n, max(b * m // n + 1, -(-e * m // n)))
               for b, e, m, n in zip(block.begin, block.end, metadata.shape, self.job.facts.shape)]
        t, c = min(block.t, metadata.frames - 1), min(block.c, metadata.channels - 1)
        return not bool(read_box(self.mask, t, c, box).any())

    def compute(self, samples: BlockSamples, block: Block, report: BlockReport) -> np.ndarray:
        begin = time.perf_counter()
        result = self.job.operation(samples)
        if result.values.shape != block.shape:
            raise InvalidArgument(f"the operation gave {result.values.shape} for a block of {block.shape}")
        report.counts = BlockCounts(result.clamped_low, result.clamped_high, result.nonfinite)
        report.seconds["compute"] = time.perf_counter() - begin
        return result.values

    def record(self, block: Block, report: BlockReport) -> None:
        """Writes what was noticed of a block, before its shards."""
        if self.job.operation.dtype.kind in "iu" or self.job.operation.nan == "zero":
            record_counts(self._documents, block.number, report.counts)

    def write(self, block: Block, result: np.ndarray | None, report: BlockReport) -> None:
        begin = time.perf_counter()
        self.record(block, report)
        if result is None:
            report.empty = True
            self._documents.write(f"{EMPTY}/{block.number}", b"")
            return
        self.target.write(0, block, result)
        report.seconds["write"] = time.perf_counter() - begin
        report.bytes_written = result.nbytes

    def _reduce(self, block: Block, report: BlockReport) -> None:
        begin = time.perf_counter()
        self.target.reduce(self.job.level, block)
        report.seconds["reduce"] = time.perf_counter() - begin
        report.bytes_written = block.voxels * self.job.facts.dtype.itemsize

    def run(self, number: int) -> BlockReport:
        """One block, one step after the other."""
        report = BlockReport(number)
        if self.job.dry:
            return report
        block = self.blocks[number]
        if self.target.holds(self.job.level, block):  # stored by a process that was lost before it could say so
            return report
        try:
            if self.job.level:
                self._reduce(block, report)
                return report
            samples = self.read(block, report)
            self.write(block, None if samples is None else self.compute(samples, block, report), report)
        except (*FATAL, KeyboardInterrupt):
            raise
        except Exception as error:  # a function of the caller raises what it likes
            report.fail(error)
        return report


def sentence(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, Error) else f"{type(error).__name__}: {text}"


def after_device_failure(error: Exception) -> None:
    """A process whose GPU failed cannot use it again: it ends, and its nanny starts another."""
    if isinstance(error, DeviceFailure):
        os._exit(1)

