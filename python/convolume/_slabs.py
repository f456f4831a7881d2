# SPDX-License-Identifier: Apache-2.0
"""Images whose planes are in the memory of several GPUs: lists of arrays, which are slabs along z.

Each slab is an array of CuPy or PyTorch on its GPU. Results are slabs, too, and no call waits for the GPUs.
"""

import contextlib
import importlib
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from ._device import DeviceArray, is_on_gpu, library_of, on_stream
from ._errors import InvalidArgument
from ._problem import Problem


def are_slabs(image: Any) -> bool:
    """Tells whether an image is a list of arrays in GPUs' memory."""
    return isinstance(image, (list, tuple)) and bool(image) and all(is_on_gpu(array) for array in image)


@contextlib.contextmanager
def _in_place(array: Any, stream: Any) -> Generator[None]:
    """Makes the GPU of an array, and the caller's CUDA stream if there is one, the current ones."""
    library = library_of(array)
    on_device: Any = contextlib.nullcontext()
    if library == "cupy":
        on_device = array.device
    elif library == "torch":
        on_device = importlib.import_module("torch").cuda.device(array.device)
    with on_device, on_stream(array, stream):
        yield


def _streams_of(stream: Any, slabs: int) -> list[Any]:
    if stream is None:
        return [None] * slabs
    if not isinstance(stream, (list, tuple)) or len(stream) != slabs:
        raise InvalidArgument(f"stream of an image in {slabs} slabs is a list of {slabs} streams, one for each slab")
    return list(stream)


def _check_slabs(slabs: list[DeviceArray], shape: Sequence[int]) -> None:
    """Rejects slabs that are not an image of that shape."""
    if len(shape) != 3:
        raise InvalidArgument(f"an image of {len(shape)} dimensions in slabs: only images with z, y and x are divided "
                              "among GPUs, give one array")
    for slab in slabs:
        if len(slab.shape) != 3 or slab.shape[1:] != tuple(shape[1:]) or slab.dtype != slabs[0].dtype:
            raise InvalidArgument(f"a slab of shape {slab.shape} and type {slab.dtype} in an image of shape "
                                  f"{tuple(shape)} and type {slabs[0].dtype}: slabs differ in their planes alone")
    planes = sum(slab.shape[0] for slab in slabs)
    if planes != shape[0]:
        raise InvalidArgument(f"slabs with {planes} planes where this convolver was planned for {shape[0]}")


def shape_of_slabs(image: Sequence[Any]) -> tuple[int, ...]:
    """Returns the shape of the whole image."""
    shapes = [tuple(array.shape) for array in image]
    if any(len(shape) == 0 for shape in shapes):
        raise InvalidArgument("a slab without dimensions: slabs are arrays of planes, (z, y, x)")
    return sum(shape[0] for shape in shapes), *shapes[0][1:]


class SlabConvolvers:
    """Convolvers of one problem for images in slabs, one for each division and type."""

    def __init__(self, problem: Problem, input_shape: tuple[int, ...], from_cache: bool = False) -> None:
        self._problem = problem
        self._input_shape = input_shape
        self._from_cache = from_cache
        self._made: dict[Any, Any] = {}

    def __call__(self, image: Sequence[Any], out: Any = None, stream: Any = None) -> list[Any]:
        """Enqueues the convolution of an image in slabs, and returns the slabs of the result."""
        streams = _streams_of(stream, len(image))
        sources = []
        for array, own in zip(image, streams):
            with _in_place(array, own):
                sources.append(DeviceArray.of(array, "a slab of the image"))
        _check_slabs(sources, self._input_shape)
        if out is not None and (not are_slabs(out) or len(out) != len(sources)):
            raise InvalidArgument(f"out of an image in {len(sources)} slabs is a list of {len(sources)} arrays in the "
                                  "memory of the same GPUs")
        convolver = self._convolver(sources, None if out is None else [array.shape[0] for array in out])
        targets, addresses = [], []
        for number, (source, own) in enumerate(zip(sources, streams)):
            shape = convolver.output_planes[number], *convolver.output_shape[1:]
            kind: np.dtype[Any] = convolver.output_type
            with _in_place(source.array, own):
                targets.append(source.empty(shape, kind) if out is None
                               else DeviceArray.target(out[number], shape, kind, source.device))
                addresses.append(source.stream(own))
        convolver.execute_slabs([source.address for source in sources], [target.address for target in targets],
                                addresses)
        return list(out) if out is not None else [source.give_back(target.array)
                                                  for source, target in zip(sources, targets)]

    def _convolver(self, sources: list[DeviceArray], output_planes: list[int] | None) -> Any:
        devices, planes = [source.device for source in sources], [source.shape[0] for source in sources]
        key = tuple(devices), tuple(planes), None if output_planes is None else tuple(output_planes), sources[0].dtype
        if key not in self._made:
            self._made[key] = self._problem.for_slabs(devices, planes, output_planes or [], sources[0].dtype,
                                                      self._from_cache)
        return self._made[key]
