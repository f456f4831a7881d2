# SPDX-License-Identifier: Apache-2.0
"""Deconvolution of several views block by block. Each block of the result is made from the parts of the views that show
it."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._arrays import clamped_to, readable, result_type
from ._block_samples import BlockSamples, brightest_box, read_samples
from ._block_worker import Source
from ._blocks import Block, Triple, symmetric_halo, triple
from ._errors import InvalidArgument, option, without_warnings
from ._image import Image
from ._operation import BlockResult, Operation, PlanCache, check_options, hash_of, plain_values
from ._operations import options_in_blocks, options_of_a_sample, weights_to_find
from ._psf import common_origin, prepared_kernel
from ._view_deconvolver import ViewDeconvolver, ViewKeywords
from ._views import PartOfView, View, border_of, listed, matrix_of, weights_of_view
from ._zarr_target import TargetFacts

_LEVELS = ("background", "offset", "gain")


@dataclass
class ViewSamples(BlockSamples):
    """Parts of the views that show a block. `values` is empty, and `inside` and `places` are those of the result."""

    parts: list[tuple[int, BlockSamples]] = field(default_factory=list)
    """Numbers of views and their samples."""

    def arrays(self) -> list[np.ndarray]:
        return [part.values for _, part in self.parts]


class Fusion(Operation):
    """Deconvolution of several views in blocks of the result, with a halo that is thrown away.

    Levels of the views, the start and the number of iterations are the same in all blocks. No block estimates them.
    """

    name = "fuse"
    nan = "error"

    def __init__(self, sources: Sequence[Source], views: Any = None, *, shape: Sequence[int] | None = None,
                 halo: Sequence[int] | None = None, dtype: Any = None, **options: Any) -> None:
        if views is None:
            raise InvalidArgument("fuse needs what is known of each view: views=[convolume.View(psf, …), …]")
        self._views = [_checked(view) for view in listed(views, "the views")]
        self._sources = list(sources)
        if len(self._views) != len(self._sources):
            raise InvalidArgument(f"there are {len(self._sources)} images and {len(self._views)} views: give a view "
                                  "for each image")
        self._images: list[Image] | None = None
        metadata = [one._metadata for one in self._opened()]
        if len({(one.frames, one.channels) for one in metadata}) > 1:
            raise InvalidArgument("the images of the views have other numbers of times or channels: bring them to the "
                                  "same")
        self._extents = [triple(one.shape, "an image") for one in metadata]
        self._shape = self._extents[0] if shape is None else triple(shape, "the result")
        check_options(options, ViewKeywords)
        self.options = options_in_blocks(options)
        if self.options.get("spacing") is not None:
            self.options["spacing"] = [None if one is None else float(one) for one in self.options["spacing"]]
        if self._views[0].transform is None and self.options.get("spacing") is None:
            self.options["spacing"] = list(metadata[0].spacing)
        self._views = [_with_voxels_of(view, self.options.get("spacing")) for view in self._views]
        self._maps = [_checked_map(view) for view in self._views]
        self._masks = [weights_of_view(view, extents) for view, extents in zip(self._views, self._extents)]
        self._ramps = [[np.asarray(_core.border_factors(extent, border_of(view)), np.float32) for extent in extents]
                       for view, extents in zip(self._views, self._extents)]
        # A block at a border, or under a mask, may have small weights alone, which count less than a penalty.
        # The library refuses weights that are not finite.
        self._full_weight = max(1.0 if one is None else float(np.max(one[np.isfinite(one)], initial=0))
                                for one in self._masks)
        reach = np.max([abs(matrix) @ _extents_of_psf(view) for (matrix, _), view in zip(self._maps, self._views)], 0)
        self.halo = symmetric_halo([int(np.ceil(one - 1e-9)) for one in reach] if halo is None else halo)
        self.dtype = result_type(dtype, "float32")
        self.voxel_bytes = 44.0
        self._levels: list[dict[str, Any]] = [{} for _ in self._views]
        self._light: float | None = None
        self._plans = PlanCache()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_images": None}

    def _opened(self) -> list[Image]:
        """Returns the images, which each copy of the operation opens for itself."""
        if self._images is None:
            self._images = [one.open() for one in self._sources]
        return self._images

    def facts(self) -> dict[str, Any]:
        named = ("positions", "origin", "background", "offset", "gain", "light", "border")
        views = [{"psf": [hash_of(readable(one, "a PSF")) for one in _psfs_of(view)],
                  "transform": [matrix.tolist(), offset.tolist()], "mask": None if mask is None else hash_of(mask),
                  **plain_values({name: getattr(view, name) for name in named})}
                 for view, (matrix, offset), mask in zip(self._views, self._maps, self._masks)]
        sources = [{"path": one.path, "state": one.fingerprint()} for one in self._sources[1:]]
        return {"name": self.name, "views": views, "sources": sources, "shape": list(self._shape),
                "halo": [low for low, _ in self.halo], **plain_values(self.options)}

    def result_of(self, facts: TargetFacts) -> TargetFacts:
        spacing = self.options.get("spacing")
        if self._views[0].transform is None:
            return dataclasses.replace(facts, shape=self._shape, spacing=spacing or facts.spacing)
        return dataclasses.replace(facts, shape=self._shape, spacing=spacing or [None] * 3, translation={})

    def read(self, image: Image, block: Block) -> ViewSamples:
        box = [slice(max(0, b - low), min(n, e + high))
               for b, e, n, (low, high) in zip(block.begin, block.end, self._shape, self.halo)]
        return self._read_around(box, block)

    def _read_around(self, box: Sequence[slice], block: Block) -> ViewSamples:
        """Reads the parts of the views that show a box of the result, which surrounds a block."""
        z, y, x = (slice(b - one.start, e - one.start) for b, e, one in zip(block.begin, block.end, box))
        places = [np.arange(one.start, one.stop) for one in box]
        parts = []
        for number, image in enumerate(self._opened()):
            samples = read_samples(image, block, self._part_of_view(number, box))
            if samples.values.size and self._shows(number, samples, box):
                parts.append((number, samples))
        return ViewSamples(np.empty(0, np.float32), (z, y, x), places, block, parts)

    def _shows(self, number: int, part: BlockSamples, box: Sequence[slice]) -> bool:
        """Tells whether a part of a view has a pixel in a box of the result that its mask does not leave out."""
        matrix, offset = self._maps[number]
        mask, (zs, ys, xs) = self._masks[number], part.places
        low, high = ([getattr(one, side) - 0.5 for one in box] for side in ("start", "stop"))
        for z in sorted(range(len(zs)), key=lambda z: abs(2 * z - len(zs))):  # the middle most probably shows it
            used = np.isfinite(part.values[z]) if self.options.get("nan") == "missing" else np.ones(
                (len(ys), len(xs)), bool)
            if mask is not None:
                used &= mask[zs[z], ys[0]:ys[-1] + 1, xs[0]:xs[-1] + 1] > 0
            for axis in range(3):
                at = matrix[axis, 0] * zs[z] + matrix[axis, 1] * ys[:, None] + matrix[axis, 2] * xs + offset[axis]
                used &= (at >= low[axis]) & (at <= high[axis])
            if used.any():
                return True
        return False

    def _part_of_view(self, number: int, box: Sequence[slice]) -> list[slice]:
        """Returns the box of a view with all pixels that lie in a box of the result."""
        matrix, offset = self._maps[number]
        corners = np.array(list(itertools.product(*((one.start - 0.5, one.stop - 0.5) for one in box))))
        at = np.linalg.solve(matrix, (corners - offset).T)
        first = [max(0, int(np.floor(one))) for one in at.min(1)]
        last = [min(n, int(np.ceil(one)) + 1) for one, n in zip(at.max(1), self._extents[number])]
        return [slice(b, max(b, e)) for b, e in zip(first, last)]

    def _parts_in_middle(self, extents: Triple) -> tuple[list[slice], list[list[slice]]]:
        """Returns a box of these extents in the middle of the result, and the box of each view with its pixels."""
        box = [slice((n - min(n, e)) // 2, (n + min(n, e)) // 2) for n, e in zip(self._shape, extents)]
        return box, [self._part_of_view(number, box) for number in range(len(self._views))]

    def needs_estimates(self) -> bool:
        return True

    def _ends_by_itself(self) -> bool:
        """Tells whether the images decide on the number of iterations."""
        named = {name: self.options[name] for name in ("method", "iterations", "stop") if name in self.options}
        return named.get("iterations") is None or _core.resolved(_core.DeconvolveOptions(**named), 1).stop is not None

    def find_estimates(self, sample_of: Callable[[int], BlockSamples]) -> dict[str, Any]:
        sample = sample_of(0)
        matrix, offset = self._maps[0]
        corners = np.array(list(itertools.product(*((one[0], one[-1]) for one in sample.places))))
        at = (matrix @ corners.T).T + offset
        box = [slice(min(max(0, int(low)), n - 1), max(1, min(n, int(np.ceil(high)) + 1)))
               for low, high, n in zip(at.min(0), at.max(0), self._shape)]
        begin, end = ((box[0].start, box[1].start, box[2].start), (box[0].stop, box[1].stop, box[2].stop))
        samples = self._read_around(box, Block(0, 0, sample.block.c, begin, end))
        options = options_of_a_sample(self.options)
        if not self._ends_by_itself():
            options["iterations"] = 1  # levels are those of the images
        levels: list[Any] = [_levels_of(view) for view in self._views]
        found: dict[str, Any] = {"views": levels}
        if not samples.parts:
            raise InvalidArgument("no view shows the part of the result where the first one is brightest: check the "
                                  "directions of the transforms, and the masks")
        weights = weights_to_find(self.options)
        if self._ends_by_itself() or None in levels or weights:
            reports = self._fused(samples, options)[0].reports
            for (number, _), report in zip(samples.parts, reports):
                levels[number] = {name: float(report[name]) for name in _LEVELS}
            for number in (number for number, known in enumerate(levels) if known is None):
                levels[number] = self._levels_alone(number, options | {"iterations": 1})
            if self._ends_by_itself():
                found["iterations"] = max(1, int(reports[0]["iterations"]))
            found |= {name: float(reports[0][name]) for name in weights}
        light = [part.values.size * part.start_above(levels[number]["background"]) / self._views[number].light
                 for number, part in samples.parts]
        found["light"] = sum(light) / sum(part.values.size for _, part in samples.parts)
        return found

    def _levels_alone(self, number: int, options: dict[str, Any]) -> dict[str, float]:
        """Returns the levels of a view that does not show the part of which the others' levels are known."""
        sample = brightest_box(self._opened()[number], 0)
        view = dataclasses.replace(self._view_of(number, sample, np.zeros(3)), transform=None)
        options.pop("stop", None)
        with without_warnings():
            made = ViewDeconvolver([view], [sample.values.shape], **options, **self._plans.run)
            made([sample.values])
        return {name: float(made.reports[0][name]) for name in _LEVELS}

    def set_estimates(self, found: Mapping[str, Any]) -> None:
        self._levels = [dict(one) for one in found["views"]]
        self._light = found["light"] or None
        self.options |= {name: value for name, value in found.items() if name not in ("views", "light")}
        if "iterations" in found:
            self.options.pop("stop", None)

    def voxels(self, block: Triple) -> int:
        _, parts = self._parts_in_middle(self.needed(block))
        return math.prod(self.needed(block)) + sum(_voxels_of(part) for part in parts)

    def device_bytes(self, shape: Triple) -> int:
        box, parts = self._parts_in_middle(shape)
        shown = [(number, part) for number, part in enumerate(parts) if _voxels_of(part)]
        if not shown:
            return 0
        views = [self._view_of(number, BlockSamples(np.empty(0), (slice(0), slice(0), slice(0)),
                                                    [np.arange(one.start, one.stop) for one in part]),
                               np.array([one.start for one in box])) for number, part in shown]
        made = self._planned(views, [[one.stop - one.start for one in part] for _, part in shown],
                             [one.stop - one.start for one in box], self.options)
        return int(made._cores[_core.missing_pixel].device_bytes)

    def __call__(self, samples: BlockSamples) -> BlockResult:
        assert isinstance(samples, ViewSamples)
        extents = [one.stop - one.start for one in samples.inside]
        if not samples.parts:
            return BlockResult(np.zeros(extents, self.dtype))
        _, estimate = self._fused(samples, self.options)
        if self.dtype.kind in "iu":
            return BlockResult(*clamped_to(estimate[samples.inside], self.dtype))
        return BlockResult(estimate[samples.inside].astype(self.dtype, copy=False))

    def _fused(self, samples: ViewSamples, options: Mapping[str, Any]) -> tuple[ViewDeconvolver, np.ndarray]:
        """Returns the deconvolver of the views that show a box of the result, and its estimate."""
        for number, part in samples.parts:
            if options.get("nan", "error") == "error":
                part.refuse_nonfinite(
                    f"this is view {number + 1}; leave such pixels out by {option('nan', 'missing')}, or repair it")
        first = np.array([one[0] for one in samples.places])
        extents = [len(one) for one in samples.places]
        views = [self._view_of(number, part, first) for number, part in samples.parts]
        made = self._planned(views, [part.values.shape for _, part in samples.parts], extents, options)
        # The mean light of a block would be another start than that of its neighbors.
        start = None if self._light is None else np.full(extents, self._light, np.float32)
        with without_warnings():  # pixels of halos would count several times
            return made, made([part.values for _, part in samples.parts], start=start)

    def _planned(self, views: list[View], shapes: Sequence[Sequence[int]], extents: Sequence[int],
                 options: Mapping[str, Any]) -> ViewDeconvolver:
        with without_warnings():  # the shape of a block says nothing about the image
            return ViewDeconvolver(views, shapes, shape=extents, **options, **self._plans.run)

    def _view_of(self, number: int, part: BlockSamples, first: np.ndarray) -> View:
        """Returns what is known of a part of a view, for a box of the result that begins at `first`."""
        view, (matrix, offset) = self._views[number], self._maps[number]
        begin = np.array([one[0] for one in part.places])
        box = tuple(slice(int(one[0]), int(one[-1]) + 1) for one in part.places)
        whole = self._masks[number]
        mask = None if whole is None else np.asarray(whole[box], np.float32)
        if view.border:
            z, y, x = np.ix_(*(ramp[one] for ramp, one in zip(self._ramps[number], box)))
            mask = z * y * x if mask is None else z * y * x * mask
        positions = None if view.positions is None else np.asarray(view.positions, np.float64) - begin
        known: dict[str, Any] = {one.name: getattr(view, one.name) for one in dataclasses.fields(view)}
        known |= {"transform": np.column_stack([matrix, matrix @ begin + offset - first]), "positions": positions,
                  "mask": mask, "border": 0, "full_weight": self._full_weight, **self._levels[number]}
        return PartOfView(**known)


def _voxels_of(box: Sequence[slice]) -> int:
    return math.prod(int(one.stop - one.start) for one in box)


def _levels_of(view: View) -> dict[str, float] | None:
    """Returns the levels of a view; None if some are to be found."""
    known = [getattr(view, name) for name in _LEVELS]
    return None if any(one is None or isinstance(one, str) for one in known) else dict(zip(_LEVELS, map(float, known)))


def _psfs_of(view: View) -> list[Any]:
    return [view.psf] if view.positions is None else listed(view.psf, "the PSFs of a view")


def _extents_of_psf(view: View) -> np.ndarray:
    extents = np.max([np.shape(one) for one in _psfs_of(view)], 0)
    return np.where(extents == 1, 0, extents)


def _with_voxels_of(view: View, spacing: Sequence[float | None] | None) -> View:
    """Returns a view whose PSFs have the voxels of the recording, if it has those of the result, which are known."""
    if view.transform is not None or spacing is None:
        return view
    voxels = {axis: float(one) for axis, one in zip("ZYX", spacing) if one is not None}
    kernels = [prepared_kernel(one, "the PSF of a view", 3, view.origin, voxels) for one in _psfs_of(view)]
    taps = kernels[0].taps if view.positions is None else [one.taps for one in kernels]
    return dataclasses.replace(view, psf=taps, origin=common_origin(kernels, "the PSFs of a view"))


def _checked_map(view: View) -> tuple[np.ndarray, np.ndarray]:
    matrix, offset = map(np.array, matrix_of(view.transform, 3))
    if not np.isfinite(matrix).all() or not np.isfinite(offset).all() or np.linalg.matrix_rank(matrix) < 3:
        raise InvalidArgument("the transform of a view has no inverse, or is not finite: correct it")
    return matrix, offset


def _checked(view: Any) -> View:
    if not isinstance(view, View):
        raise InvalidArgument(f"a view is {type(view).__name__!r}: give convolume.View(psf, …)")
    if any(np.ndim(one) != 3 for one in _psfs_of(view)):
        raise InvalidArgument("the PSFs of views in blocks have three dimensions (z, y, x): add the missing one")
    return view
