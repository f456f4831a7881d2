# SPDX-License-Identifier: Apache-2.0
"""Deskewing block by block. Blocks of the result have other voxels than the recording, and each needs a part of it."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core
from ._arrays import result_type
from ._block_samples import BlockSamples, read_samples
from ._blocks import Block, Triple, triple
from ._deskew import ScanKeywords, core_options, take_pixels
from ._image import Image
from ._operation import BlockResult, Operation, check_options, plain_values
from ._optics import length_um, voxel_um
from ._zarr_target import TargetFacts


class Deskewing(Operation):
    """Deskewing of blocks, whose results are those of the whole stack."""

    name = "deskew"
    halo = (0, 0), (0, 0), (0, 0)
    nan = "propagate"
    voxel_bytes = 4.0

    def __init__(self, image: Image, *, dtype: Any = None, angle: Any = None, step: Any = None,
                 pixel: Any = None, **options: Any) -> None:
        _core.check_scan_is_given(angle is not None, step is not None)
        check_options(options, ScanKeywords)
        if options.get("output_spacing") is not None:
            options["output_spacing"] = list(voxel_um("output_spacing", options["output_spacing"]))
        made = core_options(angle, step, options)
        take_pixels(made, image._metadata, image._name, pixel)
        self._scan: dict[str, Any] = {"angle": float(angle), "step": length_um("step", step),
                                      "pixels": list(made.pixels)}
        self._options = options
        self._recorded = triple(image._metadata.shape, "a recording")
        self._made: _core.DeskewOptions | None = None
        shape, spacing, _, self._offset = _core.deskewed_grid(self._recorded, self._core_options())
        self._shape, self._spacing = triple(shape, "a deskewed image"), list(spacing)
        self.dtype = result_type(dtype, image.dtype.name)
        _core.check_deskew(self._recorded, image.dtype, self.dtype, self._core_options())

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": None}

    def _core_options(self) -> _core.DeskewOptions:
        if self._made is None:
            self._made = core_options(**self._scan, options=self._options)
        return self._made

    def facts(self) -> dict[str, Any]:
        return {"name": self.name, **plain_values(self._scan | self._options), "shape": list(self._shape)}

    def run_on(self, run: Mapping[str, Any]) -> None:
        self._made = core_options(**self._scan, options={**self._options, "workers": run.get("workers")})

    def result_of(self, facts: TargetFacts) -> TargetFacts:
        """The first recorded voxel keeps its place, unless axes are turned, which changes the meaning of places."""
        places = {} if self._options.get("rotate") else {
            axis: facts.translation[axis] - first * edge
            for axis, first, edge in zip("ZYX", self._offset, self._spacing) if axis in facts.translation}
        others = {axis: place for axis, place in facts.translation.items() if axis not in "ZYX"}
        return dataclasses.replace(facts, shape=self._shape, spacing=self._spacing, translation={**others, **places})

    def needed(self, block: Triple) -> Triple:
        extents = [min(b, n) for b, n in zip(block, self._shape)]
        begin = [(n - b) // 2 for b, n in zip(extents, self._shape)]
        box = self._box_for(begin, [b + e for b, e in zip(begin, extents)])
        return triple([max(1, one.stop - one.start) for one in box], "a part of a recording")

    def voxels(self, block: Triple) -> int:
        return max(math.prod(self.needed(block)), math.prod([min(b, n) for b, n in zip(block, self._shape)]))

    def _box_for(self, begin: Any, end: Any) -> list[slice]:
        first, last = _core.deskew_needs(self._recorded, begin, end, self._core_options())
        return [slice(b, max(b, e)) for b, e in zip(first, last)]

    def read(self, image: Image, block: Block) -> BlockSamples:
        return read_samples(image, block, self._box_for(block.begin, block.end))

    def __call__(self, samples: BlockSamples) -> BlockResult:
        block = samples.block
        begin = [int(one[0]) if len(one) else 0 for one in samples.places]
        result = np.empty(block.shape, self.dtype)
        low, high = _core.deskew_block(self._recorded, np.ascontiguousarray(samples.values), begin, block.begin, result,
                                       self._core_options())
        return BlockResult(result, low, high)
