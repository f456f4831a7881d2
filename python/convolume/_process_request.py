# SPDX-License-Identifier: Apache-2.0
"""The request of a run: its arguments, checked, with values for those that the caller leaves open."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from ._argument_types import shown
from ._block_samples import brightest_box
from ._block_worker import Job, Source
from ._blocks import Triple, check_block, default_block, triple
from ._channel_operations import ChannelOperations, are_several, kernels_of_channels
from ._deskew_blocks import Deskewing
from ._errors import InvalidArgument, WrongType, option
from ._files import Path, warn_of_notes
from ._files import open as open_image
from ._image import Image
from ._labels import sizes_of, voxels_of
from ._manifest import hash_of_request
from ._operation import Operation
from ._operations import Convolution, Deconvolution, Function
from ._psf import prepared_kernel, warn_of_unknown_voxels
from ._run import byte_size, gpu_devices, parse_device
from ._view_blocks import Fusion
from ._zarr_store import Location
from ._zarr_target import Layout, ZarrTarget, facts_of

_OPERATIONS = "convolve, deconvolve, deskew or fuse"
_SHARE_OF_A_GPU = 0.9  # share of a GPU's free memory that a block may take


@dataclass
class CheckedRequest:
    """The checked arguments of a run."""

    job: Job
    request: dict[str, Any]
    """The request as the manifest has it."""
    found: dict[str, Any]
    """Values that were estimated from the image for all blocks."""
    lanes: list[Mapping[str, Any]]
    """Devices, threads and memory limits of each lane."""


def _source_of(source: Path | Image, settings: Mapping[str, Any]) -> Source:
    if not isinstance(source, (str, os.PathLike)):
        named = {"image": settings["image"], "level": settings["level"],
                 "missing": None if settings["missing"] == "fill" else settings["missing"],
                 "axes": settings["axes"] or None if isinstance(source, Image) else None}
        for name, value in named.items():
            if value is not None:
                raise InvalidArgument(f"{name} says how a file is opened, and the source is in memory; leave it out")
    if isinstance(source, Image):
        return Source("an image in memory", image=source)
    if not isinstance(source, (str, os.PathLike)):
        return Source("an image in memory", image=Image.of_array(source, axes=settings["axes"] or None))
    name = os.fspath(source)
    if "://" not in name:
        name = os.path.abspath(name)
    return Source(name, settings["axes"], settings["image"], settings["level"], settings["missing"])


def sources_of(source: Any, op: Any) -> list[Any]:
    """Returns the images of a run: those of all views for "fuse", else one."""
    if not isinstance(op, str) or op != "fuse":
        return [source]
    if not isinstance(source, list | tuple) or not source:
        raise InvalidArgument("fuse takes a list of images, one for each view: give [first, second]")
    return list(source)


def _operation_of(settings: Mapping[str, Any], image: Image, sources: list[Source]) -> Operation:
    """Returns the operation, or those of the channels if there are kernels for each."""
    if isinstance(settings["op"], str) and settings["op"] == "fuse":
        _refuse(settings, ("kernel",))
        return Fusion(sources, halo=settings["halo"], dtype=settings["dtype"], **settings["options"])
    takes_kernel = isinstance(settings["op"], str) and settings["op"] in ("convolve", "deconvolve")
    if not takes_kernel or not are_several(settings["kernel"]):
        return _operation_with(settings["kernel"], settings, image)
    kernels = kernels_of_channels(settings["kernel"], image)
    return ChannelOperations([_operation_with(kernel, settings, image) for kernel in kernels])


def _refuse(settings: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if settings[name] is not None:
            raise InvalidArgument(f"{settings['op']} takes no {option(name)}: leave it out")


def _operation_with(kernel: Any, settings: Mapping[str, Any], image: Image) -> Operation:
    op, options = settings["op"], dict(settings["options"])
    if not isinstance(op, str) and not callable(op):
        raise WrongType(f"op is {shown(op)}: choose {_OPERATIONS}, or give a function")
    if op in ("convolve", "deconvolve"):
        if kernel is None:
            raise InvalidArgument(f"{op} needs a kernel: {option('kernel', '…')}")
        if isinstance(kernel, (str, os.PathLike)):
            kernel = open_image(kernel)
        origin = options.get("origin", "middle")
        if op == "deconvolve":
            warn_of_unknown_voxels(image._metadata.shape, sizes_of(voxels_of(image)), kernel, "the PSF")
        prepared = prepared_kernel(kernel, "the kernel", 3, origin, voxels_of(image))
        kernel = prepared.taps
        if prepared.origin is not origin:
            options["origin"] = prepared.origin
    elif kernel is not None and callable(op):
        raise InvalidArgument("a function has no kernel: hand it one by functools.partial")
    try:
        if op == "convolve":
            if settings["halo"] is not None:
                raise InvalidArgument("the halo of a convolution follows from its kernel: leave it out")
            return Convolution(kernel, image.dtype, dtype=settings["dtype"], **options)
        if op == "deconvolve":
            return Deconvolution(kernel, halo=settings["halo"], dtype=settings["dtype"], **options)
        if op == "deskew":
            _refuse(settings, ("kernel", "halo"))
            return Deskewing(image, dtype=settings["dtype"], **options)
        if callable(op):
            return Function(op, image.dtype, halo=settings["halo"], dtype=settings["dtype"], **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        named = re.search(r"argument '([^']*)'", str(error))
        name = named.group(1) if named else str(error)
        raise InvalidArgument(f"the operation has no option {option(name)}") from None
    raise InvalidArgument(f"there is no operation '{op}': choose {_OPERATIONS}, or give a function")


def _lanes(settings: Mapping[str, Any], limit: int, sharing: int, on_cluster: bool) -> list[Mapping[str, Any]]:
    """Returns the options of each lane. Several GPUs have a lane each, and compute different blocks. Otherwise there is
    one lane, also in a worker of a cluster.

    `limit` is the host memory in bytes, `sharing` the number of workers that share this machine.
    """
    device = settings["device"]
    threads = settings["workers"]
    if threads is None and sharing > 1:
        threads = max(1, len(os.sched_getaffinity(0)) // sharing)
    run = {"workers": threads, "fft": settings["fft"], "max_gpu_mem": settings["max_gpu_mem"],
           "max_host_mem": max(1 << 26, limit)}
    if on_cluster:
        return [{**run, "device": device}]
    kind, several = parse_device(device)
    if kind != "cpu" and not several:
        several = [gpu.number for gpu in gpu_devices() if gpu.usable]
    elif len(several) == 1:
        device = several[0]
    if len(several) > 1:
        return [{**run, "device": number, "max_host_mem": max(1 << 26, limit // len(several))} for number in several]
    return [{**run, "device": device}]


def checked_request(source: Path | Image | Sequence[Any], location: Location, settings: Mapping[str, Any],
                    before: Mapping[str, Any] | None, sharing: int, found: dict[str, Any] | None,
                    on_cluster: bool = False) -> CheckedRequest:
    """Checks the arguments of a run, and sets those that the caller leaves open.

    `before` is the request of an earlier run of the target, whose values are taken, and `found` has its estimates. Both
    are None for a new target.
    """
    sources = [_source_of(one, settings) for one in sources_of(source, settings["op"])]
    for one in sources:
        if one.image is None:
            warn_of_notes(one.open(), one.path)
    opened = sources[0]
    image = opened.open()
    operation = _operation_of(settings, image, sources)
    limit = _core.host_limit_bytes(byte_size(settings["max_host_mem"])) // sharing
    lanes = _lanes(settings, limit // 2, sharing, on_cluster)
    operation.run_on(lanes[0])
    layout = Layout(settings["zarr_format"], settings["chunks"], settings["shards"], settings["compression"],
                    settings["levels"], shard_bytes=limit // len(lanes) // 32)
    if before is not None:
        earlier = before["target"]
        layout.chunks = layout.chunks or earlier["chunks"]
        layout.shards = layout.shards or earlier["shards"]
    facts = operation.result_of(facts_of(image, operation.dtype, location.title))
    target = ZarrTarget(location, facts, layout)
    layout.chunks, layout.shards = target.chunks, target.shards
    if str(settings["block"]) != "auto":
        given = triple(settings["block"], "a block")
        is_fixed = settings["shards"] or before
        block = given if is_fixed else _adjusted_block(given, target, layout, facts, settings["chunks"] is None)
        target = ZarrTarget(location, facts, layout)
        check_block(block, target.shards)
    elif before is not None:
        block = triple(before["block"], "a block")
    else:
        room = _device_room(operation, facts.shape, target.shards, lanes)
        block = default_block(facts.shape, target.shards, operation.needed, operation.voxels,
                              operation.bytes_in_flight(image), limit // len(lanes), device=room)
    whole = {"axes": "", "image": None, "level": None, "missing": "fill"}
    mask = None if settings["mask"] is None else _source_of(settings["mask"], whole)
    if mask is not None and mask.image is None:
        warn_of_notes(mask.open(), mask.path)
    threshold = None if settings["threshold"] is None else float(settings["threshold"])
    job = Job("", opened, location, facts, layout, operation, block, threshold, mask)
    request = {
        "source": {"path": opened.path, "level": opened.level, "image": settings["image"],
                   "axes": image.axes, "shape": list(image.shape),
                   "type": image.dtype.name, "missing": opened.missing, "state": opened.fingerprint()},
        "operation": operation.facts(),
        "target": {"type": operation.dtype.name, "zarr_format": layout.zarr_format, "chunks": list(target.chunks),
                   "shards": list(target.shards), "compression": layout.compression,
                   "levels": len(target.shapes)},
        "block": list(block),
        "empty": {"threshold": threshold, "mask": None if mask is None else mask.path}}
    job.hash = hash_of_request(request)
    checked = CheckedRequest(job, request, {}, lanes)
    if operation.needs_estimates():
        if found is None:
            found = operation.find_estimates(lambda channel: brightest_box(image, channel))
        set_estimates(checked, found)
    return checked


def _device_room(operation: Operation, shape: Triple, shards: Triple, lanes: list[Mapping[str, Any]],
                 ) -> tuple[float, float] | None:
    """Returns the bytes that a voxel takes in a GPU's memory, by the plan of one shard, and the bytes that the smallest
    computing GPU has; None if the block does not depend on a GPU.

    A block that does not fit would be divided again, or be computed on the CPU.
    """
    devices = [lane["device"] for lane in lanes]
    if devices == ["cpu"]:
        return None
    free = [gpu.free_bytes for gpu in gpu_devices() if gpu.usable and (devices[0] in ("auto", "gpu")
                                                                       or gpu.number in devices)]
    if not free:
        return None
    block = operation.needed(triple([min(s, n) for s, n in zip(shards, shape)], "a block"))
    plan_bytes = operation.device_bytes(block)
    if plan_bytes == 0:
        return None
    most = byte_size(lanes[0]["max_gpu_mem"]) or min(free) * _SHARE_OF_A_GPU
    return plan_bytes / math.prod(block), most


def _adjusted_block(given: Triple, target: ZarrTarget, layout: Layout, facts: Any, may_set_chunks: bool) -> Triple:
    """Returns the caller's block, rounded up to whole shards, and sets shards in `layout` that divide it, also chunks
    if the caller gives none.

    Along an axis that the given extents cover, the block has whole shards too.
    """
    chunks, shards = [], []
    for b, c, s, n in zip(given, target.chunks, target.shards, facts.shape):
        if b % c and b < n:
            if not may_set_chunks:
                raise InvalidArgument(f"a block of {given} is not made of whole chunks of {target.chunks}: give "
                                      f"multiples of them, or leave out {option('chunks')}")
            c = _divisor_near(b, c)
        chunks.append(c)
        shards.append(s if (b % s == 0 and s % c == 0) or b >= n else c)
    layout.chunks, layout.shards = chunks, shards
    block = [b if b % s == 0 else -(-b // s) * s for b, s in zip(given, shards)]
    return triple(block, "a block")


def _divisor_near(extent: int, wanted: int) -> int:
    """Returns the divisor of `extent` whose ratio to `wanted` is nearest to 1."""
    divisors = [d for d in range(1, extent + 1) if extent % d == 0]
    return min(divisors, key=lambda d: max(d, wanted) / min(d, wanted))


def set_estimates(request: CheckedRequest, found: Mapping[str, Any]) -> None:
    """Sets values that were estimated from the image for all blocks."""
    request.found = dict(found)
    if found:
        request.job.operation.set_estimates(found)
