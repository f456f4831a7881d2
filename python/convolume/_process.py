# SPDX-License-Identifier: Apache-2.0
"""Images larger than one machine: an operation block by block, from any image to OME-Zarr."""

import dataclasses
import importlib.metadata
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from . import _core
from ._argument_types import shown
from ._block_worker import BlockReport
from ._blocks import Blocks, Triple, block_range
from ._deconvolve_options import DeconvolverKeywords
from ._deskew import ScanKeywords
from ._errors import CannotCreate, InvalidArgument, OutputExists, WrongType, errors_name, option, warn
from ._files import Path
from ._image import Image
from ._local_engine import run_local
from ._manifest import COUNTS, EMPTY, Writer, read_manifest, recorded_counts, refuse_difference, write_manifest
from ._optics import Length
from ._options import Boundary, ImageNan, defaults_of, with_keywords
from ._output_names import check_target
from ._process_dask import cluster_of, run_dask
from ._process_report import BlocksFailed, ProcessReport
from ._process_request import CheckedRequest, checked_request, set_estimates, sources_of
from ._run import Resources
from ._views import View
from ._zarr_nodes import MANIFEST, Node, is_image, levels_of, node_at, remove_description
from ._zarr_save import refuse_existing
from ._zarr_store import Documents, Location
from ._zarr_target import ZarrTarget

Op = Literal["convolve", "deconvolve", "deskew", "fuse"] | Callable[[np.ndarray], Any]

MOST_FAILURES = 10
"""Number of failed blocks in a row after which a run ends. Blocks with damaged samples do not count."""


class RunKeywords(TypedDict, total=False):
    """Keywords of a run: its share of the blocks, its cluster, and whether it continues a target."""

    block_range: str | None
    client: Any
    dask: str | None
    resume: bool
    overwrite: bool
    log: Callable[[str], object] | bool


class SettingKeywords(TypedDict, total=False):
    """Settings of a run, without devices and memory."""

    kernel: Any
    psf: Any
    halo: Sequence[int] | None
    block: Sequence[int] | Literal["auto"]
    axes: str
    image: int | str | None
    level: int | None
    missing: Literal["fill", "error"]
    threshold: float | None
    mask: Path | None
    dtype: Any
    zarr_format: Literal[2, 3]
    chunks: Sequence[int] | None
    shards: Sequence[int] | None
    compression: str
    levels: int | None


class _SettledKeywords(Resources, SettingKeywords, total=False):
    """Settings of a run, with devices and memory."""


class _ShownKeywords(_SettledKeywords, RunKeywords, total=False):
    """Keywords in the signature of :func:`process`, which lists no options of operations."""


class ProcessKeywords(DeconvolverKeywords, ScanKeywords, SettingKeywords, RunKeywords, total=False):
    """Keywords of :func:`process`, with the options of all operations."""

    views: Sequence[View]
    shape: Sequence[int] | None
    angle: float
    step: Length
    pixel: Length | None

    boundary: Boundary
    cval: float
    normalize: Literal["sum", "peak"] | None
    nan: ImageNan


DEFAULTS: Mapping[str, Any] = MappingProxyType(defaults_of(
    _SettledKeywords, block="auto", axes="", missing="fill", zarr_format=3, compression="zstd"))
"""Default values of the settings of a run."""

_RUN_DEFAULTS = defaults_of(RunKeywords, resume=False, overwrite=False, log=False)


@with_keywords(_ShownKeywords, {**DEFAULTS, **_RUN_DEFAULTS}, takes_others=True)
def process(source: Path | Image | Sequence[Any], target: Path, op: Op,
            **options: Unpack[ProcessKeywords]) -> ProcessReport:
    """Applies an operation to an image of any size, block by block, and writes OME-Zarr.

    A block is computed by one task. It consists of whole shards of the target, which no other task writes. A shard
    exists only when it is complete, and the image's metadata only when all blocks are. ``resume=True`` continues a run
    that was stopped.

    Parameters
    ----------
    source : str, path or Image
        A source of :func:`open`, also a URL; or an :class:`Image` or array in memory, unless `client` or `dask` is
        given. For "fuse" a list of these, one for each view.
    target : str or path
        OME-Zarr: a path, or ``s3://bucket/name.zarr``.
    op : {"convolve", "deconvolve", "deskew", "fuse"} or callable
        Operation. A function takes an array (z, y, x) with the `halo`, and returns the result with or without it. It is
        also told `channel`, `time` and `place`, the index (z, y, x) in the image of the block's first sample without
        the halo, if it has parameters of these names without a default, or behind a ``*``.
    kernel, psf : array, path, sequence or mapping
        Kernel of "convolve", or PSF of "deconvolve", for which both names are taken. One of two dimensions is applied
        to every plane. A sequence has one for each channel, in their order; a mapping such as ``{"DAPI": "a.tif",
        "GFP": "b.tif"}`` has them by channel, by number or name, and with the key "" one for all others.
    halo : (z, y, x), optional
        Numbers of samples around a block that are read and computed with it. "convolve" takes the exact halo of its
        kernel. "deconvolve" and "fuse" take the PSF's extents by default.
    block : (z, y, x) or "auto"
        Extents of a block, in whole shards. "auto" takes larger blocks, within the memory limits, while they reduce the
        share of the halo.
    block_range : str, optional
        "i/n" computes only the i-th of n equal shares, from 0. Processes with different shares may run at the same
        time. A later run without it makes the smaller levels.
    client, dask : optional
        Cluster of Dask that computes: a distributed.Client, or the scheduler's address, or "local:N" for N processes on
        this machine.
    resume : bool
        Continue a target that was begun with the same options.
    overwrite : bool
        Replace an image that exists.
    axes, image, level, missing
        See :func:`open`.
    threshold : float, optional
        Blocks without a larger sample, their halo included, are skipped: they are 0.
    mask : str or path, optional
        Name of an image of any resolution. Blocks in which it is 0 are skipped.
    dtype : type, optional
        Type of the result: by default float32, or float64 if image or kernel need it. Integers are rounded and clamped,
        and a :class:`ConvolumeWarning` tells how many were clamped.
    zarr_format, chunks, shards, compression, levels
        See :func:`save`.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`Run`. The limits hold for each process.
    log : callable or bool
        Function that is called with a line of text for each block. True writes these lines to standard error.
    **options
        Options of the operation. For "deskew": those of :func:`deskew`, of which angle and step are required. The
        result has other extents than the image, and `mask` and `block` are in its voxels. For "fuse": views, which are
        required, shape and the options of :class:`ViewDeconvolver`; levels of the views that are not given, and the
        number of iterations, are estimated once. For "convolve": boundary,
        cval, origin and normalize of :class:`Convolver`. For
        "deconvolve": those of :class:`Deconvolver`, with acceleration "none" by default, as its steps would differ
        between blocks. Background, offset and the number of iterations are estimated once, for all blocks, if they
        are not given. For a function: boundary and cval. For all: nan, which is "error" (the default), "zero" or,
        except for "deconvolve", "propagate" (the default of functions), and for "convolve" "missing".

    Returns
    -------
    ProcessReport
        Numbers of blocks, bytes and seconds, of values that were clamped, and of NaN and infinities that were read as
        0.

    Raises
    ------
    BlocksFailed
        Some blocks could not be read, computed or written (a RuntimeError). All others are complete. If NaN and
        infinities are refused, it names the first one of a block by t, c, z, y, x in the image.
    InvalidArgument
        Options that contradict themselves, or differ from those the target was begun with. A target with the extension
        of another format, or one that is the source, the kernel or the mask, contains one of them, or lies inside one
        (a ValueError).
    OutputExists
        The target exists, or another process is writing it (a FileExistsError).

    Examples
    --------
    >>> import numpy as np, convolume, tempfile, os
    >>> name = os.path.join(tempfile.mkdtemp(), "blurred.zarr")
    >>> image = convolume.Image.of_array(np.ones((8, 40, 50), np.uint16))
    >>> report = convolume.process(image, name, "convolve", kernel=np.ones((3, 3, 3)) / 27, device="cpu")
    >>> report.done, convolume.open(name).shape
    (1, (8, 40, 50))
    """
    run: Any = {name: value for name, value in options.items() if name in _RUN_DEFAULTS}
    report = run_process(source, target, settings_of(op, options), **run)
    for sentence in report.sentences():
        warn(sentence)
    return report


def settings_of(op: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a run, with the options of the operation as the entry "options"."""
    own = {name: value for name, value in options.items() if name not in DEFAULTS and name not in _RUN_DEFAULTS}
    settings = {**DEFAULTS, **{name: options[name] for name in options if name in DEFAULTS}, "op": op, "options": own}
    psf = settings.pop("psf")
    if psf is not None:
        if settings["kernel"] is not None:
            raise InvalidArgument("kernel and psf are two names of one argument: give one of them")
        if not isinstance(op, str) or op != "deconvolve":
            raise InvalidArgument("psf is for the operation deconvolve: give a kernel by kernel=…")
        settings["kernel"] = psf
    return settings


def run_process(source: Path | Image | Sequence[Any], target: Path, settings: Mapping[str, Any],
                **run: Unpack[RunKeywords]) -> ProcessReport:
    """Runs :func:`process` with `settings`, which have the options of :data:`DEFAULTS`, "op" and "options". It does
    not issue the warnings of the report."""
    client, dask, block_range = run.get("client"), run.get("dask"), run.get("block_range")
    overwrite = run.get("overwrite", False)
    location = Location.of(target)
    for one in sources_of(source, settings["op"]):
        check_target(one, target, settings)
        if (client is not None or dask is not None) and not isinstance(one, (str, os.PathLike)):
            raise InvalidArgument("workers of Dask open the source themselves: give its path or URL")
    with errors_name(str(location)), ExitStack() as stack:
        sharing, patience = 1, 600.0
        if client is None and dask is not None:
            client, sharing = stack.enter_context(cluster_of(dask, settings["device"] != "cpu"))
            patience = 20.0 if dask.startswith("local") else patience
        say = _log_function(run.get("log", False))
        if client is not None and not hasattr(client, "dashboard_link"):
            raise WrongType(f"client is {shown(client)}: give a distributed.Client")
        if client is not None:
            say(f"Dask's dashboard: {client.dashboard_link}")
        exists = location.local_path is None or os.path.isdir(location.local_path)
        begun = read_manifest(Documents(location)) if exists and not overwrite else None
        request = checked_request(source, location, settings, None if begun is None else begun["request"], sharing,
                                  None if begun is None else begun["found"], client is not None)
        if begun is not None:
            refuse_difference(begun["request"], request.request, str(location))
            if not run.get("resume") and block_range is None:
                raise OutputExists(f"{location} was begun by an earlier run: go on with {option('resume', 'True')}, or "
                                   f"replace it by {option('overwrite', 'True')}")
        replaced = None if begun is not None else refuse_existing(location, settings["zarr_format"], overwrite)
        if replaced is not None and block_range is not None:
            raise InvalidArgument("a block range goes on with a target or begins one: it does not overwrite")
        _make_folder(location)
        documents = Documents(location)
        with Writer(documents, block_range) as writer:
            if replaced is not None:
                _remove(replaced, documents)
            if begun is None:
                manifest = write_manifest(documents, request.request, request.found, _versions())
                set_estimates(request, manifest["found"])
            return _run(request, documents, writer, client, patience, block_range, say)


def _remove(image: Node, documents: Documents) -> None:
    """Removes an image's arrays, finished or not. The metadata that make it an image go first, its manifest last."""
    manifest = documents.read_json(MANIFEST) or {}
    begun = range(int(manifest.get("request", {}).get("target", {}).get("levels", 0)))
    names = [*levels_of(image), *map(str, begun)]
    remove_description(image)
    for name in dict.fromkeys(names):
        documents.delete_all(name)
    documents.delete_all(EMPTY)
    documents.delete_all(COUNTS)
    documents.delete(MANIFEST)


def _log_function(log: Callable[[str], object] | bool) -> Callable[[str], object]:
    """Returns the function for the argument `log`: the caller's, one that prints, or one that does nothing."""
    if callable(log):
        return log
    return (lambda line: print(line, file=sys.stderr, flush=True)) if log else (lambda line: None)


def _make_folder(location: Location) -> None:
    path = location.local_path
    if path is not None:
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise CannotCreate(f"{path} cannot be made: {error.strerror}", path, error.errno) from None


def _versions() -> dict[str, str]:
    found = {"convolume": str(_core.version())}
    for name in ("tensorstore", "numpy", "distributed"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _complete_blocks(target: ZarrTarget, level: int, block: Triple, documents: Documents) -> np.ndarray:
    """Tells for each block of a level whether it is complete, by one listing of its shards. For level 0,
    blocks that were skipped as empty are complete, too."""
    if level:
        return target.complete(level)
    done = target.complete(0, block)
    empty = [int(name) for name in documents.names(EMPTY) if name.isdigit()]
    done[[number for number in empty if number < len(done)]] = True
    return done


def _run(request: CheckedRequest, documents: Documents, writer: Writer, client: Any, patience: float, share: str | None,
         say: Callable[[str], object]) -> ProcessReport:
    begin = time.perf_counter()
    job = request.job
    report, complete = ProcessReport(0), np.zeros(0, bool)
    target = ZarrTarget(job.location, job.facts, job.layout)
    if node_at(job.location) is None or not is_image(job.location):
        target.begin()
    target.open_arrays()
    for level in range(len(target.arrays)):
        if level and not complete.all():  # a later run makes this level, when the other shares are complete
            break
        level_job = dataclasses.replace(job, level=level, hash=f"{job.hash}-{level}" if level else job.hash)
        blocks = level_job.blocks()
        complete = _complete_blocks(target, level, job.block, documents)
        numbers = range(len(blocks)) if share is None else block_range(share, len(blocks))
        to_do = (np.flatnonzero(~complete[numbers.start:numbers.stop]) + numbers.start).tolist()
        of_level = ProcessReport(len(numbers), complete_before=len(numbers) - len(to_do))
        if to_do:
            writer.record["to_do"] += len(to_do)
            engine = (run_local(level_job, to_do, request.lanes, writer.add_helper) if client is None
                      else run_dask(level_job, to_do, client, _worker_options(request), patience))
            _add_outcomes(engine, blocks, of_level, writer, say, f"level {level}, " if level else "")
            complete = _complete_blocks(target, level, job.block, documents)
        if level == 0:
            report = of_level
            total = recorded_counts(documents, (number for number in numbers if complete[number]))
            report.dtype = job.facts.dtype.name
            report.clamped_low, report.clamped_high = total.clamped_low, total.clamped_high
            report.nonfinite_inputs = total.nonfinite
        report.seconds = time.perf_counter() - begin
        if of_level.failed:
            raise BlocksFailed(f"{of_level.failed} of {len(numbers)} blocks failed, the others are complete; go on "
                               f"with {option('resume', 'True')}. The first: {of_level.failures[0]}")
    if share is None:
        target.finish()
        report.finished = True
    report.seconds = time.perf_counter() - begin
    return report


def _worker_options(request: CheckedRequest) -> dict[str, Any]:
    """Returns the options for workers of a cluster, whose processes see their own GPU only."""
    run = dict(request.lanes[0])
    if not isinstance(run["device"], str):
        run["device"] = "gpu"
    return run


def _add_outcomes(engine: Iterator[BlockReport], blocks: Blocks, report: ProcessReport, writer: Writer,
            say: Callable[[str], object], prefix: str = "") -> None:
    """Adds the blocks' outcomes to the report and to the writer's record, and logs a line for each."""
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
