# SPDX-License-Identifier: Apache-2.0
"""Saves whole images as OME-Zarr, and replaces existing ones."""

import errno
import os
import shutil
from typing import Any

import numpy as np

from ._blocks import Block
from ._errors import CannotCreate, InvalidArgument, OutputExists
from ._ome_metadata import AXES, ome_of
from ._zarr_nodes import MANIFEST, Node, levels_of, node_at
from ._zarr_store import Documents, Location
from ._zarr_target import Layout, ZarrTarget, facts_of


def refuse_existing(location: Location, zarr_format: int, overwrite: bool) -> Node | None:
    """Returns the image that will be replaced, or None if there is none. Raises an error if that is not allowed."""
    if location.read_only:
        raise InvalidArgument(f"{location}: http(s):// is read only; write to a path or to s3://")
    node = node_at(location)
    path = location.local_path
    if node is None:
        if path is not None and os.path.lexists(path) and (not os.path.isdir(path) or
                                                             set(os.listdir(path)) - {os.path.dirname(MANIFEST)}):
            raise OutputExists(f"{location} exists and is no Zarr group: choose another name")
        return None
    if not overwrite:
        raise OutputExists(f"{location} exists: choose another name, or replace it by overwrite=True (--overwrite)")
    if node.is_array or "plate" in ome_of(node.attributes) or "well" in ome_of(node.attributes):
        raise OutputExists(f"{location} is {'an array' if node.is_array else 'a plate'}, not an image: it is not "
                           "replaced; choose another name")
    if node.zarr_format != zarr_format:
        raise InvalidArgument(f"{location} is of Zarr version {node.zarr_format} and version {zarr_format} is to be "
                              f"written: set zarr_format={node.zarr_format}, or choose another name")
    return node


def save_zarr(name: str, image: Any, like: Any, layout: Layout, overwrite: bool) -> None:
    location = Location.of(name)
    replaced = refuse_existing(location, layout.zarr_format, overwrite)
    path = location.local_path
    working = location
    if path is not None:
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            raise CannotCreate(f'cannot write "{name}": the folder "{folder}" does not exist; create it first', name,
                               errno.ENOENT)
        working = Location(os.path.join(os.path.dirname(path), f".{location.name}.partial-{os.getpid()}"))
    title = location.name.removesuffix(".zarr").removesuffix(".ome")
    target = ZarrTarget(working, facts_of(image, image.dtype, title, like), layout)
    try:
        if path is None and replaced is not None:
            target.begin()
            for old in levels_of(replaced):
                Documents(location).delete_all(old)
        target.begin()
        target.open_arrays()
        for block in target.blocks(0):
            target.write(0, block, _box_of(image, block))
        for level in range(1, len(target.arrays)):
            for block in target.blocks(level):
                target.reduce(level, block)
        if path is not None and replaced is not None:
            _link_other_content(path, working.url, replaced)
        target.finish()
        if path is not None:
            _move_into_place(working.url, path)
    except BaseException:
        if path is not None:
            shutil.rmtree(working.url, ignore_errors=True)
        raise


def _box_of(image: Any, block: Block) -> np.ndarray:
    z, y, x = (slice(b, e) for b, e in zip(block.begin, block.end))
    by_axis = dict(zip(AXES, (block.t, block.c, z, y, x)))
    return np.ascontiguousarray(image[tuple(by_axis[axis] for axis in image.axes)]).reshape(block.shape)


def _link_other_content(old: str, new: str, node: Node) -> None:
    """Links labels, and all else that is not an array of the old image, into the new folder, and copies the group's
    attributes."""
    ours = {level.partition("/")[0] for level in levels_of(node)} | set(os.listdir(new)) | {".convolume"}
    for name in os.listdir(old):
        if name not in ours:
            source, copy = os.path.join(old, name), os.path.join(new, name)
            if os.path.isdir(source):
                shutil.copytree(source, copy, copy_function=os.link)
            else:
                os.link(source, copy)
    for name in ("zarr.json", ".zattrs"):
        if os.path.exists(os.path.join(old, name)):
            shutil.copyfile(os.path.join(old, name), os.path.join(new, name))


def _move_into_place(new: str, path: str) -> None:
    """Renames the complete folder `new` to `path`, and removes an old image there."""
    if not os.path.lexists(path):
        os.rename(new, path)
        return
    aside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.replaced-{os.getpid()}")
    os.rename(path, aside)
    os.rename(new, path)
    shutil.rmtree(aside, ignore_errors=True)
