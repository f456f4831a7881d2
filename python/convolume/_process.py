# SPDX-License-Identifier: Apache-2.0
"""Images larger than one machine: an operation over blocks, from any image to OME-Zarr."""

import dataclasses
import importlib.metadata
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from . import _core
from ._block_worker import BlockReport, Job, Source, run_local
from ._blocks import (
                      Block,
                      Blocks,
                      Triple,
                      block_range,
                      check_block,
                      default_block,
                      halo_overhead,
                      product,
                      triple,
)
from ._errors import CannotCreate, Error, InvalidArgument, OutputExists
from ._files import Image, Path
from ._files import open as open_image
from ._machine import free_host_bytes, gpu_devices
from ._manifest import (
                      EMPTY,
                      Writer,
                      hash_of_request,
                      is_alive,
                      read_manifest,
                      refuse_difference,
                      write_manifest,
                      writer_records,
)
from ._operations import Convolution, Deconvolution, Function, Operation, hash_of, read_box
from ._process_dask import cluster_of, run_dask
from ._run import Device, byte_size
from ._zarr_images import (
                      MANIFEST,
                      Layout,
                      Node,
                      ZarrTarget,
                      facts_of,
                      levels_of,
                      node_at,
                      refuse_existing,
                      remove_description,
)
from ._zarr_store import Documents, Location, ZarrArray

MOST_FAILURES = 10
"""A run ends when so many blocks have failed one after the other, but for blocks whose samples are damaged."""
_STATE_PLANES = 8


class BlocksFailed(Error, RuntimeError):
    """Some blocks failed; all others are complete."""


@dataclass
class ProcessReport:
    """What a run did."""

    blocks: int
    """Of this run: of its block range, or all."""
    done: int = 0
    """Computed by this run."""
    complete_before: int = 0
    empty: int = 0
    failed: int = 0
    seconds: float = 0.0
    bytes_read: int = 0
    bytes_written: int = 0
    finished: bool = False
    """The whole image is complete, with its smaller levels."""
    failures: list[str] = field(default_factory=list)


@dataclass
class ProcessPlan:
    """What a run would do. ``print(plan)`` is a table for people."""

    blocks: int
    block: Triple
    shards: Triple
    chunks: Triple
    halo: list[list[int]]
    bytes_read: int
    bytes_written: int
    halo_overhead: float
    """Samples read for each sample written."""
    block_bytes: int
    """Host memory of the blocks in flight, about."""
    compute_seconds: float | None
    """Of all blocks, by the plan of one; None where it is not known."""
    read_rate: float | None = None
    """Bytes a second, measured."""
    write_rate: float | None = None
    seconds: float | None = None
    """Predicted, of one process: reading, computing and writing overlap."""

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


@dataclass
class _Asked:
    """The arguments of a run, checked."""

    job: Job
    request: dict[str, Any]
    found: dict[str, Any]
    lanes: list[Mapping[str, Any]]


def process(source: Path | Image, target: Path, op: Literal["convolve", "deconvolve"] | Callable[[np.ndarray], Any],
            *, kernel: Any = None, halo: Sequence[int] | None = None, block: Sequence[int] | Literal["auto"] = "auto",
            block_range: str | None = None, client: Any = None, dask: str | None = None, resume: bool = False,
            overwrite: bool = False, axes: str = "", level: int | None = None,
            missing: Literal["fill", "error"] = "fill", threshold: float | None = None, mask: Path | None = None,
            dtype: Any = None, zarr_format: Literal[2, 3] = 3, chunks: Sequence[int] | None = None,
            shards: Sequence[int] | None = None, compression: str = "zstd", levels: int | None = None,
            device: Device = "auto", workers: int | None = None, max_host_mem: int | str | None = None,
            max_gpu_mem: int | str | None = None, log: Callable[[str], object] | bool = False,
            **options: Any) -> ProcessReport:
    """Applies an operation to an image of any size, block by block, and writes OME-Zarr.

    A block is what one task computes: whole shards of the target, which no other task touches. Each shard appears
    complete or not at all. A run that was stopped goes on with ``resume=True``. The metadata that make the target an
    image are written when all blocks are.

    Parameters
    ----------
    source : str, path or Image
        All that :func:`open` takes, also URLs. An :class:`Image` or array in memory is not for `client` and `dask`.
    target : str or path
        OME-Zarr: a path, or ``s3://bucket/name.zarr``.
    op : {"convolve", "deconvolve"} or callable
        A function takes an array (z, y, x) with the halo around, and gives the result with or without it. It needs
        `halo`.
    kernel : array or path
        Of "convolve" and "deconvolve". With two dimensions it is applied to every plane.
    halo : (z, y, x), optional
        Samples around a block that are read and computed with it. Of "convolve" it follows from the kernel, exactly.
        Of "deconvolve" it is the PSF's extents by default.
    block : (z, y, x) or "auto"
        Whole shards. "auto": as large as the memory allows while that spares halo.
    block_range : str, optional
        "i/n": only the i-th of n equal shares, from 0. Processes with different shares may run side by side. A run
        without it afterwards makes the smaller levels.
    client : distributed.Client, optional
        Computes on a cluster of Dask.
    dask : str, optional
        The same by a scheduler's address, or "local:N" for N processes on this machine.
    resume, overwrite : bool
        Go on with a target that was begun with the same options; replace an image that exists.
    axes, level, missing
        As of :func:`open`.
    threshold : float, optional
        Blocks that hold no larger sample, their halo included, are skipped: they are 0.
    mask : str or path, optional
        An image of any resolution: blocks where it is 0 are skipped.
    dtype : type, optional
        Of the result; float32 by default, float64 where image or kernel need it. Integers are rounded and clamped.
    zarr_format, chunks, shards, compression, levels
        As of :func:`save`.
    device, workers, max_host_mem, max_gpu_mem
        As of :class:`Run`. The limits are of each process.
    log : callable or bool
        Takes a line for each block; True writes it to standard error.
    **options
        Of "convolve": boundary, cval, origin, normalize, nan, as of :class:`Convolver`. Of "deconvolve": those of
        :class:`Deconvolver`; acceleration is "none" by default, as it would differ between blocks. Background and
        number of iterations that are found from the image (``background="auto"``, ``stop=…``) are found once, for all
        blocks. Of a function: boundary and cval.

    Returns
    -------
    ProcessReport

    Raises
    ------
    BlocksFailed
        Some blocks could not be read, computed or written (a RuntimeError). All others are complete.
    InvalidArgument
        Options that differ from those the target was begun with (a ValueError).
    OutputExists
        The target exists, or another process is writing it (a FileExistsError).

    Examples
    --------
    >>> import numpy as np, convolume, tempfile, os
    >>> name = os.path.join(tempfile.mkdtemp(), "blurred.zarr")
    >>> image = convolume.Image.of_array(np.ones((8, 40, 50), np.uint16))
    >>> report = convolume.process(image, name, "convolve", kernel=np.ones((3, 3, 3)) / 27, boundary="nearest",
    ...                            device="cpu")
    >>> report.done, convolume.open(name).shape
    (1, (8, 40, 50))
    """
    settings = {"op": op, "kernel": kernel, "halo": halo, "block": block, "axes": axes, "level": level,
                "missing": missing, "threshold": threshold, "mask": mask, "dtype": dtype, "zarr_format": zarr_format,
                "chunks": chunks, "shards": shards, "compression": compression, "levels": levels, "options": options,
                "device": device, "workers": workers, "max_host_mem": max_host_mem, "max_gpu_mem": max_gpu_mem}
    location = Location.of(target)
    if (client is not None or dask is not None) and not isinstance(source, (str, os.PathLike)):
        raise InvalidArgument("workers of Dask open the source themselves: give its path or URL")
    with ExitStack() as stack:
        sharing, patience = 1, 600.0
        if client is None and dask is not None:
            client, sharing = stack.enter_context(cluster_of(dask, device != "cpu"))
            patience = 20.0 if dask.startswith("local") else patience
        say = _teller(log)
        if client is not None:
            say(f"Dask's dashboard: {client.dashboard_link}")
        documents = _documents_of(location)
        begun = None if documents is None or overwrite else read_manifest(documents)
        asked = _asked(source, location, settings, None if begun is None else begun["request"], sharing,
                       None if begun is None else begun["found"])
        if begun is not None:
            refuse_difference(begun["request"], asked.request, str(location))
            if not resume and block_range is None:
                raise OutputExists(f"{location} was begun by an earlier run: go on with resume=True (--resume), or "
                                   "replace it by overwrite=True (--overwrite)")
        replaced = None if begun is not None else refuse_existing(location, zarr_format, overwrite)
        if replaced is not None and block_range is not None:
            raise InvalidArgument("a block range goes on with a target or begins one: it does not overwrite")
        _make_folder(location)
        documents = Documents(location)
        with Writer(documents, block_range) as writer:
            if replaced is not None:
                _remove(replaced, documents)
            if begun is None:
                manifest = write_manifest(documents, asked.request, asked.found, _versions())
                _fix(asked, manifest["found"])
            _warn_of_spacing(settings["kernel"], asked.job.source.open(), say)
            return _run(asked, documents, writer, client, patience, block_range, say)


def _remove(image: Node, documents: Documents) -> None:
    """An image's arrays, finished or not: first what makes it an image, last what says how it was made."""
    manifest = documents.read_json(MANIFEST) or {}
    begun = range(int(manifest.get("request", {}).get("target", {}).get("levels", 0)))
    names = [*levels_of(image), *map(str, begun)]
    remove_description(image)
    for name in dict.fromkeys(names):
        documents.delete_all(name)
    documents.delete_all(EMPTY)
    documents.delete(MANIFEST)


def _warn_of_spacing(kernel: Any, image: Image, say: Callable[[str], object]) -> None:
    if not isinstance(kernel, (str, os.PathLike)):
        return
    for own, other in zip(reversed(open_image(kernel).spacing), reversed(image.spacing)):
        if own and other and abs(own - other) > 0.01 * other:
            say(f"warning: the kernel's voxels are of {own:g} µm where the image's are of {other:g} µm: resample it "
                "by convolume.resample_kernel")
            return


def _teller(log: Callable[[str], object] | bool) -> Callable[[str], object]:
    if callable(log):
        return log
    return (lambda line: print(line, file=sys.stderr, flush=True)) if log else (lambda line: None)


def _documents_of(location: Location) -> Documents | None:
    path = location.local_path
    return Documents(location) if path is None or os.path.isdir(path) else None


def _make_folder(location: Location) -> None:
    path = location.local_path
    if path is not None:
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise CannotCreate(f"{path} cannot be made: {error.strerror}") from None


def _versions() -> dict[str, str]:
    found = {"convolume": str(_core.version())}
    for name in ("tensorstore", "numpy", "distributed"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _source_of(source: Path | Image, settings: Mapping[str, Any]) -> Source:
    if isinstance(source, Image):
        return Source("an image in memory", image=source)
    if not isinstance(source, (str, os.PathLike)):
        return Source("an image in memory", image=Image.of_array(source, axes=settings["axes"] or None))
    name = os.fspath(source)
    if "://" not in name:
        name = os.path.abspath(name)
    return Source(name, settings["axes"], settings["level"], settings["missing"])


def _operation_of(settings: Mapping[str, Any], image: Image) -> Operation:
    op, options = settings["op"], dict(settings["options"])
    kernel = settings["kernel"]
    if op in ("convolve", "deconvolve"):
        if kernel is None:
            raise InvalidArgument(f"{op} needs a kernel: kernel=… (--kernel)")
        if isinstance(kernel, (str, os.PathLike)):
            kernel = np.asarray(open_image(kernel))
    elif kernel is not None:
        raise InvalidArgument("a function has no kernel: hand it one by functools.partial")
    try:
        if op == "convolve":
            if settings["halo"] is not None:
                raise InvalidArgument("the halo of a convolution follows from its kernel: leave it out")
            return Convolution(kernel, image.dtype, dtype=settings["dtype"], **options)
        if op == "deconvolve":
            return Deconvolution(kernel, halo=settings["halo"], dtype=settings["dtype"], **options)
        if callable(op):
            return Function(op, image.dtype, halo=settings["halo"], dtype=settings["dtype"], **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        name = str(error).rpartition("argument ")[2].strip("'\"")
        raise InvalidArgument(f"the operation has no option {name}") from None
    raise InvalidArgument(f"there is no operation '{op}': choose convolve, deconvolve, or give a function")


def _lanes(settings: Mapping[str, Any], limit: int, sharing: int) -> list[Mapping[str, Any]]:
    """Several GPUs take blocks of their own; otherwise one block is computed at a time."""
    device = settings["device"]
    threads = settings["workers"]
    if threads is None and sharing > 1:
        threads = max(1, len(os.sched_getaffinity(0)) // sharing)
    run = {"workers": threads, "max_gpu_mem": settings["max_gpu_mem"], "max_host_mem": max(1 << 26, limit)}
    several: list[int] = []
    if device in ("auto", "gpu"):
        several = [gpu.number for gpu in gpu_devices() if gpu.usable]
    elif not isinstance(device, (str, int)):
        several = [int(number) for number in device]
    if len(several) > 1:
        return [{**run, "device": number, "max_host_mem": max(1 << 26, limit // len(several))} for number in several]
    return [{**run, "device": device}]


def _asked(source: Path | Image, location: Location, settings: Mapping[str, Any], before: Mapping[str, Any] | None,
           sharing: int, found: dict[str, Any] | None) -> _Asked:
    """Checks the arguments and settles what they leave open: as the run before did, or by rules."""
    opened = _source_of(source, settings)
    image = opened.open()
    operation = _operation_of(settings, image)
    limit = (byte_size(settings["max_host_mem"]) or free_host_bytes()) // sharing
    lanes = _lanes(settings, limit // 2, sharing)
    operation.run_on(lanes[0])
    layout = Layout(settings["zarr_format"], settings["chunks"], settings["shards"], settings["compression"],
                    settings["levels"], shard_bytes=limit // len(lanes) // 32)
    if before is not None:
        earlier = before["target"]
        layout.chunks = layout.chunks or earlier["chunks"]
        layout.shards = layout.shards or earlier["shards"]
    name = location.name.removesuffix(".zarr").removesuffix(".ome")
    facts = facts_of(image, operation.dtype, name)
    target = ZarrTarget(location, facts, layout)
    layout.chunks, layout.shards = target.chunks, target.shards
    voxel_bytes = operation.voxel_bytes + 2 * image.dtype.itemsize + 3 * operation.dtype.itemsize
    if settings["block"] != "auto":
        given = triple(settings["block"], "a block")
        block = given if settings["shards"] or before else _fitting(given, target, layout, facts)
        target = ZarrTarget(location, facts, layout)
        check_block(block, target.shards)
    elif before is not None:
        block = triple(before["block"], "a block")
    else:
        block = default_block(facts.shape, target.shards, operation.halo, voxel_bytes, limit // len(lanes))
    mask = None if settings["mask"] is None else _source_of(settings["mask"], {"axes": "", "level": None,
                                                                             "missing": "fill"})
    job = Job("", opened, location, facts, layout, operation, block, settings["threshold"], mask)
    request = {
        "source": {"path": opened.path, "level": opened.level, "axes": image.axes, "shape": list(image.shape),
                   "type": image.dtype.name, "missing": opened.missing, "state": _state_of(opened)},
        "operation": operation.facts(),
        "target": {"type": operation.dtype.name, "zarr_format": layout.zarr_format, "chunks": list(target.chunks),
                   "shards": list(target.shards), "compression": layout.compression,
                   "levels": len(target.shapes)},
        "block": list(block),
        "empty": {"threshold": settings["threshold"], "mask": None if mask is None else mask.path}}
    job.hash = hash_of_request(request)
    asked = _Asked(job, request, {}, lanes)
    if isinstance(operation, Deconvolution) and operation.to_be_found():
        _fix(asked, operation.find(_sample(image)) if found is None else found)
    return asked


def _fitting(given: Triple, target: ZarrTarget, layout: Layout, facts: Any) -> Triple:
    """A block of given extents: shards are chosen to divide it, and an axis that it covers is covered whole."""
    shards = []
    for b, c, s, n in zip(given, target.chunks, target.shards, facts.shape):
        if b % c and b < n:
            raise InvalidArgument(f"a block of {given} is not made of whole chunks of {target.chunks}: give multiples "
                                  "of them, or chunks and shards of your own")
        shards.append(s if b % s == 0 or b >= n else c)
    layout.shards = shards
    block = [b if b % s == 0 else -(-b // s) * s for b, s in zip(given, shards)]
    return triple(block, "a block")


def _fix(asked: _Asked, found: Mapping[str, Any]) -> None:
    asked.found = dict(found)
    if found and isinstance(asked.job.operation, Deconvolution):
        asked.job.operation.fix(found)


def _state_of(source: Source) -> str | None:
    """What tells one content from another: of files their size and time, of Zarr the metadata, of images in memory some
    planes."""
    if source.image is not None and not hasattr(source.image._reader, "document"):
        image = source.image
        depth, height, width = image._metadata.shape
        planes = sorted({depth * i // _STATE_PLANES for i in range(_STATE_PLANES)})
        return hash_of(np.stack([read_box(image, 0, 0, [slice(z, z + 1), slice(0, height), slice(0, width)])
                                 for z in planes]))
    path = source.path.partition(":/")[0] if not os.path.exists(source.path) else source.path
    if os.path.isfile(path):
        facts = os.stat(path)
        return f"{facts.st_size} bytes of {facts.st_mtime_ns}"
    node = getattr(source.open()._reader, "document", None)
    return None if node is None else hash_of_request(node)


def _sample(image: Image) -> np.ndarray:
    """The brightest of some boxes, from which what holds for all blocks is found."""
    shape = image._metadata.shape
    size = [min(n, e) for n, e in zip(shape, (64, 256, 256))]
    best, light = None, -1.0
    for place in np.ndindex(2, 2, 2):
        begin = [(n - s) * (2 * p + 1) // 4 for n, s, p in zip(shape, size, place)]
        values = read_box(image, 0, 0, [slice(b, b + s) for b, s in zip(begin, size)])
        mean = float(np.mean(values, dtype=np.float64))
        if mean > light:
            best, light = values, mean
    assert best is not None
    return best


def _done(target: ZarrTarget, level: int, block: Triple, documents: Documents) -> np.ndarray:
    """Which blocks of a level are complete, by one listing of its shards; and of level 0 one of the empty blocks."""
    if level:
        return target.complete(level)
    done = target.complete(0, block)
    empty = [int(name) for name in documents.names(EMPTY) if name.isdigit()]
    done[[number for number in empty if number < len(done)]] = True
    return done


def _run(asked: _Asked, documents: Documents, writer: Writer, client: Any, patience: float, share: str | None,
         say: Callable[[str], object]) -> ProcessReport:
    begin = time.perf_counter()
    job = asked.job
    report, complete = ProcessReport(0), np.zeros(0, bool)
    target = ZarrTarget(job.location, job.facts, job.layout)
    if node_at(job.location) is None or not _is_image(job.location):
        target.begin()
    target.open_arrays()
    for level in range(len(target.arrays)):
        if level and not complete.all():  # by other shares, later
            break
        part = dataclasses.replace(job, level=level, hash=f"{job.hash}-{level}" if level else job.hash)
        blocks = part.blocks()
        complete = _done(target, level, job.block, documents)
        numbers = range(len(blocks)) if share is None else block_range(share, len(blocks))
        to_do = (np.flatnonzero(~complete[numbers.start:numbers.stop]) + numbers.start).tolist()
        of_level = ProcessReport(len(numbers), complete_before=len(numbers) - len(to_do))
        if to_do:
            writer.record["to_do"] += len(to_do)
            engine = (run_local(part, to_do, asked.lanes) if client is None
                      else run_dask(part, to_do, client, _on_a_worker(asked), patience))
            _follow(engine, blocks, of_level, writer, say, f"level {level}, " if level else "")
            complete = _done(target, level, job.block, documents)
        report = of_level if level == 0 else report
        report.seconds = time.perf_counter() - begin
        if of_level.failed:
            raise BlocksFailed(f"{of_level.failed} of {len(numbers)} blocks failed, the others are complete; go on "
                               f"with resume=True (--resume). The first: {of_level.failures[0]}")
    if share is None:
        target.finish()
        report.finished = True
    report.seconds = time.perf_counter() - begin
    return report


def _on_a_worker(asked: _Asked) -> dict[str, Any]:
    """A worker's process sees its own GPU only."""
    run = dict(asked.lanes[0])
    if not isinstance(run["device"], str):
        run["device"] = "gpu"
    return run


def _is_image(location: Location) -> bool:
    node = node_at(location)
    return node is not None and bool(levels_of(node))


def _follow(engine: Iterator[BlockReport], blocks: Blocks, report: ProcessReport, writer: Writer,
            say: Callable[[str], object], prefix: str = "") -> None:
    """Counts and tells what becomes of the blocks."""
    in_a_row = 0
    for one in engine:
        block = blocks[one.number]
        if one.error is not None:
            in_a_row += not one.damaged
            report.failed += 1
            sentence = f"{prefix}block {one.number} ({block}): {one.error}"
            if len(report.failures) < MOST_FAILURES:
                report.failures.append(sentence)
            writer.record["failures"] = report.failures[-5:]
            say(f"failed: {sentence}")
        else:
            in_a_row = 0
            report.done += 1
            report.empty += one.empty
            report.bytes_read += one.bytes_read
            report.bytes_written += one.bytes_written
            number = report.done + report.complete_before
            what = "empty" if one.empty else ", ".join(f"{name} {s:.2f} s" for name, s in one.seconds.items())
            say(f"{number} of {report.blocks}: {prefix}block {one.number} ({block}): {what}")
        if not prefix:
            for name in ("done", "empty", "failed", "bytes_read", "bytes_written"):
                writer.record[name] = getattr(report, name)
        if in_a_row >= MOST_FAILURES:
            return


def plan_process(source: Path | Image, target: Path, op: Any, *, measure: bool = True,
                 **settings: Any) -> ProcessPlan:
    """What :func:`process` would do with the same arguments: blocks, bytes, and the predicted time.

    Nothing is written but, with `measure`, a hidden file beside a local target, for the storage's rate.
    """
    every = {"kernel": None, "halo": None, "block": "auto", "axes": "", "level": None, "missing": "fill",
             "threshold": None, "mask": None, "dtype": None, "zarr_format": 3, "chunks": None, "shards": None,
             "compression": "zstd", "levels": None, "device": "auto", "workers": None, "max_host_mem": None,
             "max_gpu_mem": None}
    location = Location.of(target)
    options = {name: value for name, value in settings.items() if name not in every}
    asked = _asked(source, location, {**every, **settings, "op": op, "options": options}, None, 1, None)
    job = asked.job
    blocks, operation = job.blocks(), job.operation
    shape = job.facts.shape
    image = job.source.open()
    overhead = halo_overhead(job.block, operation.halo, shape)
    voxels = product(shape) * job.facts.frames * job.facts.channels
    plan = ProcessPlan(
        len(blocks), job.block, triple(job.layout.shards or (), "a shard"), triple(job.layout.chunks or (), "a chunk"),
        [list(one) for one in operation.halo], int(voxels * overhead) * image.dtype.itemsize,
        voxels * operation.dtype.itemsize, overhead,
        int((operation.voxel_bytes + 2 * image.dtype.itemsize + 3 * operation.dtype.itemsize)
            * product([min(b, n) + low + high for b, n, (low, high) in zip(job.block, shape, operation.halo)])), None)
    if isinstance(operation, Convolution):
        convolver = operation.convolver([min(b, n) + low + high for b, n, (low, high) in
                                         zip(job.block, shape, operation.halo)])
        plan.compute_seconds = convolver.plan.seconds * voxels / product([min(b, n) for b, n in zip(job.block, shape)])
    if measure:
        _measure(plan, image, job)
        parts = [part for part in (plan.compute_seconds, plan.bytes_read / plan.read_rate if plan.read_rate else None,
                                   plan.bytes_written / plan.write_rate if plan.write_rate else None)
                 if part is not None]
        plan.seconds = max(parts) if plan.compute_seconds is not None else None
    return plan


def _measure(plan: ProcessPlan, image: Image, job: Job) -> None:
    """Reads one shard's box of the source, and writes a shard beside a local target."""
    shape = [min(s, n) for s, n in zip(plan.shards, job.facts.shape)]
    begin = time.perf_counter()
    values = read_box(image, 0, 0, [slice(0, n) for n in shape])
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
        first = Block(0, 0, 0, (0, 0, 0), triple(shape, "a block"))
        result = values.astype(facts.dtype)
        begin = time.perf_counter()
        trial.write(0, first, result)
        plan.write_rate = result.nbytes / max(1e-6, time.perf_counter() - begin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def process_status(target: Path) -> dict[str, Any]:
    """How far the runs of a target are, from its files alone: also while they work, and from any machine.

    Returns
    -------
    dict
        blocks, done, empty, failed, blocks_per_second, seconds_left (None where nothing is at work), writers,
        failures, finished
    """
    location = Location.of(target)
    documents = Documents(location)
    manifest = read_manifest(documents)
    if manifest is None:
        raise InvalidArgument(f"{location} has no manifest: no run of convolume process has begun it")
    request, facts = manifest["request"], manifest["request"]["source"]
    extents = dict(zip(facts["axes"], facts["shape"]))
    shape = triple([extents.get(axis, 1) for axis in "ZYX"], "an image")
    blocks = Blocks(extents.get("T", 1), extents.get("C", 1), shape, triple(request["block"], "a block"))
    array = node_at(location.child("0"))
    empty = [int(name) for name in documents.names(EMPTY) if name.isdigit()]
    done = np.zeros(len(blocks), bool)
    if array is not None:
        stored = ZarrArray.open(array.location, array.zarr_format).stored_shards()
        done = blocks.complete(triple(request["target"]["shards"], "a shard"), stored)
    done[empty] = True
    now = time.time()
    records = list(writer_records(documents).values())
    alive = [record for record in records if is_alive(record, now)]
    rate = sum(record["done"] / max(1e-3, record["updated"] - record["began"]) for record in alive)
    left = len(blocks) - int(done.sum())
    return {"blocks": len(blocks), "done": int(done.sum()), "empty": len(empty),
            "failed": sum(record["failed"] for record in alive) if alive else
            max((record["failed"] for record in records), default=0),
            "blocks_per_second": rate, "seconds_left": left / rate if rate > 0 else None,
            "writers": [{name: record[name] for name in ("host", "pid", "range", "done", "to_do")}
                        for record in alive],
            "failures": [line for record in records for line in record["failures"]][-5:],
            "finished": _is_image(location)}
