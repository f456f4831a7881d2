# SPDX-License-Identifier: Apache-2.0
"""Work of one task: it reads a block with its halo, computes, and writes whole shards."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._block_samples import BlockSamples, read_box
from ._blocks import Block, Blocks, Triple
from ._errors import BadData, Error, InvalidArgument, OutOfMemory, Unavailable, messages_name_flags
from ._files import open_quietly
from ._image import Image
from ._manifest import EMPTY, BlockCounts, hash_of_request, record_counts
from ._operation import Operation, hash_of
from ._zarr_store import Documents, Location
from ._zarr_target import Layout, TargetFacts, ZarrTarget

_STATE_PLANES = 8  # number of planes whose hash stands for the content of an image in memory

FATAL = (InvalidArgument, OutOfMemory, Unavailable)
"""Errors that would occur again in every other block."""


@dataclass(frozen=True)
class Source:
    """A source image: the arguments of `open` with which workers open it, or an open image for this process alone."""

    path: str
    axes: str = ""
    number: int | str | None = None
    """Number or name of the image, in a file that holds several."""
    level: int | None = None
    missing: str = "fill"
    image: Image | None = None

    def open(self) -> Image:
        """Opens the image without warnings."""
        if self.image is not None:
            return self.image
        return open_quietly(self.path, axes=self.axes, image=self.number, level=self.level,
                            missing="error" if self.missing == "error" else "fill")

    def fingerprint(self) -> str | None:
        """Returns a text that changes with the content: size and time of a file, a hash of the metadata of Zarr, or a
        hash of some planes of an image in memory."""
        if self.image is not None and not hasattr(self.image._reader, "document"):
            depth, height, width = self.image._metadata.shape
            planes = sorted({depth * i // _STATE_PLANES for i in range(_STATE_PLANES)})
            return hash_of(np.stack([
                read_box(self.image, 0, 0, [slice(z, z + 1), slice(0, height), slice(0, width)]) for z in planes]))
        path = self.path.partition(":/")[0] if not os.path.exists(self.path) else self.path
        if os.path.isfile(path):
            facts = os.stat(path)
            return f"{facts.st_size} bytes of {facts.st_mtime_ns}"
        node = getattr(self.open()._reader, "document", None)
        return None if node is None else hash_of_request(node)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.image is not None:
            raise InvalidArgument("workers of Dask open the source themselves: give its path or URL")
        return Source, (self.path, self.axes, self.number, self.level, self.missing)


@dataclass
class Job:
    """Description of a run for its workers, which get it pickled."""

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
    """Whether blocks are neither read nor written, for benchmarks."""
    level: int = 0
    """Level of the target that is written. Above 0, its blocks are made from the level before."""
    names_flags: bool = field(default_factory=messages_name_flags)
    """Whether messages of workers name options as the command does, as those of the process that makes the job do."""

    def blocks(self) -> Blocks:
        if self.level:
            return ZarrTarget(self.location, self.facts, self.layout).blocks(self.level)
        return Blocks(self.facts.frames, self.facts.channels, self.facts.shape, self.block)


@dataclass
class BlockReport:
    """Outcome of one block: its error, times, bytes and counts."""

    number: int
    empty: bool = False
    error: str | None = None
    damaged: bool = False
    """Whether the source's samples in this block are the reason of the error."""
    seconds: dict[str, float] = field(default_factory=dict)
    bytes_read: int = 0
    bytes_written: int = 0
    counts: BlockCounts = field(default_factory=BlockCounts)

    def fail(self, error: BaseException) -> None:
        self.error = sentence(error)
        self.damaged = isinstance(error, BadData)

    @contextmanager
    def failing(self) -> Generator[None]:
        """Notes an error within the context, unless it would occur again in every other block."""
        try:
            yield
        except FATAL:
            raise
        except Exception as error:  # a function of the caller may raise anything
            self.fail(error)


class Worker:
    """Reads, computes and writes blocks with one set of open arrays: one worker for each process, or each device."""

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
        """Returns the samples of a block with its halo, or None for a block that is skipped as empty."""
        begin = time.perf_counter()
        if self._masked_out(block):
            return None
        operation = self.job.operation.of_channel(block.c)
        samples = operation.read(self.image, block)
        check = getattr(self.image._reader, "check_unchanged", None)
        if check is not None:
            check()
        report.seconds["read"] = time.perf_counter() - begin
        report.bytes_read = sum(one.nbytes for one in samples.arrays())
        threshold = self.job.threshold
        if threshold is not None and not any(bool((one > threshold).any()) for one in samples.arrays()):
            if operation.nan == "zero":
                report.counts.nonfinite = samples.count_nonfinite_inside()
            return None
        return samples

    def _masked_out(self, block: Block) -> bool:
        """Tells whether the mask, which may be coarser than the image, is 0 all over the block."""
        if self.mask is None:
            return False
        metadata = self.mask._metadata
        box = [slice(b * m // n, max(b * m // n + 1, -(-e * m // n)))
               for b, e, m, n in zip(block.begin, block.end, metadata.shape, self.job.facts.shape)]
        t, c = min(block.t, metadata.frames - 1), min(block.c, metadata.channels - 1)
        return not bool(read_box(self.mask, t, c, box).any())

    def compute(self, samples: BlockSamples, block: Block, report: BlockReport) -> np.ndarray:
        begin = time.perf_counter()
        result = self.job.operation.of_channel(block.c)(samples)
        if result.values.shape != block.shape:
            raise InvalidArgument(f"the operation gave {result.values.shape} for a block of {block.shape}")
        report.counts = BlockCounts(result.clamped_low, result.clamped_high, result.nonfinite)
        report.seconds["compute"] = time.perf_counter() - begin
        return result.values

    def record(self, block: Block, report: BlockReport) -> None:
        """Writes the counts of a block. This comes before its shards, whose presence says that the block is
        complete."""
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

    def run(self, number: int) -> BlockReport:
        """Reads, computes and writes one block."""
        report = BlockReport(number)
        if self.job.dry:
            return report
        block = self.blocks[number]
        if self.target.has_all_shards(self.job.level, block):  # a process stored it, and was lost before it reported
            return report
        with report.failing():
            if self.job.level:
                begin = time.perf_counter()
                self.target.reduce(self.job.level, block)
                report.seconds["reduce"] = time.perf_counter() - begin
                report.bytes_written = block.voxels * self.job.facts.dtype.itemsize
            else:
                samples = self.read(block, report)
                self.write(block, None if samples is None else self.compute(samples, block, report), report)
        return report


def sentence(error: BaseException) -> str:
    """Returns the message of an error in one line, with the type of errors of other packages."""
    text = " ".join(str(error).split())
    return text if isinstance(error, Error) else f"{type(error).__name__}: {text}"
