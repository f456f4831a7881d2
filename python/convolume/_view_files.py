# SPDX-License-Identifier: Apache-2.0
"""What the options of ``convolume process --op fuse`` say of several views."""

from typing import Any

import numpy as np

from . import _core
from ._errors import InvalidArgument
from ._files import open as open_image
from ._files import open_quietly
from ._image import Image
from ._labels import voxels_of
from ._options import Origin
from ._output_names import refuse_input_as_output
from ._psf import common_origin, prepared_kernel
from ._views import View


def take_views(source: str, target: str, given: dict[str, Any]) -> list[str]:
    """Replaces the options of views by the arguments `views`, `shape` and `spacing` of :func:`process`; returns the
    images of all views. Refuses a target that is one of the files."""
    sources = [source, *given.pop("view", [])]
    count = len(sources)
    psfs = given.pop("kernel", [])
    if isinstance(psfs, dict):
        raise InvalidArgument("--psf names channels, but with --op fuse it names the PSF of each view: leave them out")
    psfs = [psfs] if isinstance(psfs, str) else psfs
    lights, transforms, masks = (given.pop(name, []) for name in ("light", "transform", "view_mask"))
    backgrounds = given.pop("background", [])
    _core.check_view_counts(count, len(psfs), len(masks), len(backgrounds), len(lights), len(transforms))
    refuse_input_as_output(target, [*psfs, *transforms, *masks])
    opening: dict[str, Any] = {"axes": given.get("axes", ""), "image": given.get("image"), "level": given.get("level")}
    images = [open_quietly(one, **opening) for one in sources]
    to_result = _take_grid(given, images[0])
    unit = given.pop("transform_unit", "")
    if unit not in ("", "um", "voxel"):
        raise InvalidArgument(f"--transform-unit is um or voxel, not '{unit}': choose one of these")
    maps = _core.read_view_maps(transforms, unit, sources, [image._metadata for image in images], to_result)
    matrices = [np.column_stack([matrix, offset]) for matrix, offset in maps]
    origin, border = given.pop("origin", "middle"), given.pop("border", 0)
    given["views"] = [
        View(**_psfs(_of_view(psfs, number, ""), target, origin, image),
             # None: its voxels are those of the result.
             transform=matrix if "shape" in given or not np.array_equal(matrix, np.eye(3, 4)) else None,
             mask=_mask(_of_view(masks, number, None), image), background=_of_view(backgrounds, number, "auto"),
             light=_of_view(lights, number, 1.0), border=border)
        for number, (image, matrix) in enumerate(zip(images, matrices))]
    return sources


def _of_view(values: list[Any], number: int, default: Any) -> Any:
    """Returns the value for a view among those of an option that is given once for all views, or once for each."""
    return values[number if len(values) > 1 else 0] if values else default


def _mask(path: str | None, view: Image) -> np.ndarray | None:
    """Returns the weights of the pixels of a view from a file."""
    if path is None:
        return None
    image = open_image(path)
    _core.check_view_mask(path, image._metadata, view._metadata.shape)
    return np.asarray(image).reshape(view._metadata.shape)


def _take_grid(given: dict[str, Any], first: Image) -> list[list[float]]:
    """Sets the extents and voxels of a result with voxels of its own; returns the matrix from the first view's voxels
    to these."""
    if "result_voxel" not in given:
        return [[float(one) for one in row] for row in np.eye(3)]
    text = given.pop("result_voxel")
    edge = _core.parse_lengths_um("--result-voxel", f"{text},{text},{text}")[0]
    shape, matrix = _core.cube_grid(first._metadata, first._name, edge, "--result-voxel")
    given["shape"], given["spacing"] = tuple(shape), (edge,) * 3
    return [list(row) for row in matrix]


def _psfs(path: str, target: str, origin: Origin, image: Image) -> dict[str, Any]:
    """Returns what a :class:`View` says of its PSFs, which are brought to the voxels of its image."""
    placed = _core.read_field_psfs(path, image._metadata)
    paths = [file for _, file in placed] or [path]
    refuse_input_as_output(target, paths)
    kernels = [prepared_kernel(open_image(one), "the PSF of a view", 3, origin, voxels_of(image)) for one in paths]
    common = common_origin(kernels, f"the PSFs of '{path}'")
    if not placed:
        return {"psf": kernels[0].taps, "origin": common}
    return {"psf": [one.taps for one in kernels], "positions": [at for at, _ in placed], "origin": common}
