# SPDX-License-Identifier: Apache-2.0
"""Prediction of a run over blocks: its blocks, bytes and time."""

import math
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._argument_types import names_wrong_types
from ._block_samples import read_box
from ._block_worker import Job
from ._blocks import Block, Triple, read_share, triple
from ._files import Path
from ._image import Image
from ._output_names import check_target
from ._process import Op, settings_of
from ._process_request import checked_request, sources_of
from ._zarr_store import Location
from ._zarr_target import ZarrTarget


@dataclass
class ProcessPlan:
    """Blocks, bytes and predicted time of a run. ``print(plan)`` shows a table. Extents are (z, y, x)."""

    blocks: int
    """Number of blocks."""
    block: Triple
    shards: Triple
    chunks: Triple
    halo: list[list[int]]
    """Numbers of samples before and after a block, along z, y and x."""
    bytes_read: int
    bytes_written: int
    halo_overhead: float
    """Number of samples that are read for each sample that is written."""
    block_bytes: int
    """Approximate bytes of host memory for the blocks in flight."""
    compute_seconds: float | None
    """Seconds to compute all blocks, by the plan of one; None if they are unknown."""
    read_rate: float | None = None
    """Measured bytes a second that the source gives."""
    write_rate: float | None = None
    """Measured bytes a second that the storage of the target takes."""
    seconds: float | None = None
    """Predicted seconds of the run in one process, whose reading, computing and writing overlap."""

    def __str__(self) -> str:
        def text(numbers: Iterable[int]) -> str:
            return "×".join(map(str, numbers))

        lines = [f"blocks       {self.blocks} of {text(self.block)} (z,y,x), shards {text(self.shards)}, chunks "
                 f"{text(self.chunks)}",
                 f"halo         {', '.join(f'{low}+{high}' for low, high in self.halo)} (z, y, x): "
                 f"{self.halo_overhead:.2f} samples are read for each one written",
                 f"read         {_bytes(self.bytes_read)}{_rate(self.read_rate)}",
                 f"written      {_bytes(self.bytes_written)}, not compressed{_rate(self.write_rate)}",
                 f"memory       about {_bytes(self.block_bytes)} for the blocks in flight"]
        if self.compute_seconds is not None:
            lines.append(f"computing    {self.compute_seconds:.1f} s on this machine")
        if self.seconds is not None:
            lines.append(f"predicted    {self.seconds:.1f} s with one process on this machine")
        return "\n".join(lines)


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.1f} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1024
    return f"{count:.1f} PiB"


def _rate(rate: float | None) -> str:
    return "" if rate is None else f", {_bytes(rate)}/s measured"


@names_wrong_types
def plan_process(source: Path | Image | Sequence[Any], target: Path, op: Op, *, measure: bool = True,
                 **settings: Any) -> ProcessPlan:
    """Predicts blocks, bytes and time of :func:`process` with the same arguments.

    With `measure`, the rates of the storage are measured: a part of the source is read, and a hidden folder beside a
    local target is written and removed. Otherwise nothing is written.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> image = convolume.Image.of_array(np.ones((8, 40, 50), np.uint16))
    >>> kernel = np.ones((3, 3, 3)) / 27
    >>> plan = convolume.plan_process(image, "blurred.zarr", "convolve", kernel=kernel, device="cpu", measure=False)
    >>> plan.blocks, plan.halo
    (1, [[1, 1], [1, 1], [1, 1]])
    """
    location = Location.of(target)
    checked = settings_of(op, settings)
    for one in sources_of(source, op):
        check_target(one, target, checked)
    request = checked_request(source, location, checked, None, 1, None)
    job = request.job
    blocks, operation = job.blocks(), job.operation
    shape = job.facts.shape
    image = job.source.open()
    overhead = read_share(job.block, operation.needed, shape)
    voxels = math.prod(shape) * job.facts.frames * job.facts.channels
    block = triple([min(b, n) for b, n in zip(job.block, shape)], "a block")
    plan = ProcessPlan(
        len(blocks), job.block, triple(job.layout.shards or (), "a shard"), triple(job.layout.chunks or (), "a chunk"),
        [list(one) for one in operation.halo], int(voxels * overhead) * image.dtype.itemsize,
        voxels * operation.dtype.itemsize, overhead, int(operation.bytes_in_flight(image) * operation.voxels(block)),
        None)
    box = operation.needed(block)
    seconds = [operation.of_channel(channel).seconds(box) for channel in range(job.facts.channels)]
    known = [one for one in seconds if one is not None]
    if len(known) == len(seconds):
        of_block = sum(known) / len(known)
        plan.compute_seconds = of_block * voxels / math.prod(block)
    if measure:
        _measure(plan, image, job)
        parts = [part for part in (plan.compute_seconds, plan.bytes_read / plan.read_rate if plan.read_rate else None,
                                   plan.bytes_written / plan.write_rate if plan.write_rate else None)
                 if part is not None]
        plan.seconds = max(parts) if plan.compute_seconds is not None else None
    return plan


def _measure(plan: ProcessPlan, image: Image, job: Job) -> None:
    """Measures the rates of the storage: reads the box of one shard from the source, and writes a shard beside a local
    target."""
    begin = time.perf_counter()
    values = read_box(image, 0, 0, [slice(0, min(s, n)) for s, n in zip(plan.shards, image._metadata.shape)])
    plan.read_rate = values.nbytes / max(1e-6, time.perf_counter() - begin)
    path = job.location.local_path
    if path is None or not os.path.isdir(os.path.dirname(path)):
        return
    folder = os.path.join(os.path.dirname(path), f".{job.location.name}.rate-{os.getpid()}")
    facts = job.facts
    try:
        trial = ZarrTarget(Location(folder), facts, job.layout)
        trial.factors, trial.shapes = [], trial.shapes[:1]
        trial.open_arrays()
        first = Block(0, 0, 0, (0, 0, 0), triple([min(s, n) for s, n in zip(plan.shards, facts.shape)], "a block"))
        result = np.resize(values, first.shape).astype(facts.dtype)
        begin = time.perf_counter()
        trial.write(0, first, result)
        plan.write_rate = result.nbytes / max(1e-6, time.perf_counter() - begin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
