# SPDX-License-Identifier: Apache-2.0
"""Saves whole images as OME-Zarr, and replaces existing ones."""

import errno
import os
import shutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._block_samples import read_box
from ._blocks import Block
from ._errors import CannotCreate, InvalidArgument, OutputExists, option
from ._ome_metadata import ome_of
from ._zarr_nodes import MANIFEST, Node, levels_of, node_at
from ._zarr_store import Documents, Location
from ._zarr_target import Layout, TargetFacts, ZarrTarget, facts_of


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
        raise OutputExists(f"{location} exists: choose another name, or replace it by {option('overwrite', 'True')}")
    if node.is_array or "plate" in ome_of(node.attributes) or "well" in ome_of(node.attributes):
        raise OutputExists(f"{location} is {'an array' if node.is_array else 'a plate'}, not an image: it is not "
                           "replaced; choose another name")
    if node.zarr_format != zarr_format:
        raise InvalidArgument(f"{location} is of Zarr version {node.zarr_format} and version {zarr_format} is to be "
                              f"written: set zarr_format={node.zarr_format}, or choose another name")
    return node


class ZarrWriter:
    """An image that is written box by box. A local one has a temporary name until :meth:`commit`, and an image that it
    replaces stays until then."""

    def __init__(self, name: str, facts: TargetFacts, layout: Layout, overwrite: bool) -> None:
        location = Location.of(name)
        self._replaced = refuse_existing(location, layout.zarr_format, overwrite)
        self._path = path = location.local_path
        self._working = location
        if path is not None:
            folder = os.path.dirname(path)
            if not os.path.isdir(folder):
                raise CannotCreate(f'cannot write "{name}": the folder "{folder}" does not exist; create it first',
                                   name, errno.ENOENT)
            self._working = Location(os.path.join(folder, f".{location.name}.partial-{os.getpid()}"))
        self.target = ZarrTarget(self._working, facts, layout)
        self.piece = self.target.shards
        try:
            self.target.begin()
            if path is None and self._replaced is not None:
                for old in levels_of(self._replaced):
                    Documents(location).delete_all(old)
            self.target.open_arrays()
        except BaseException:
            self.discard()
            raise

    def write_box(self, t: int, c: int, box: Sequence[int], source: np.ndarray) -> None:
        """Writes a box of whole shards."""
        z0, z1, y0, y1, x0, x1 = box
        self.target.write(0, Block(0, t, c, (z0, y0, x0), (z1, y1, x1)), source)

    def commit(self) -> None:
        """Makes the smaller levels and the metadata, and gives the image its name."""
        for level in range(1, len(self.target.arrays)):
            for block in self.target.blocks(level):
                _core.throw_if_stopped()
                self.target.reduce(level, block)
        if self._path is not None and self._replaced is not None:
            _link_other_content(self._path, self._working.url, self._replaced)
        self.target.finish()
        if self._path is not None:
            _move_into_place(self._working.url, self._path)

    def discard(self) -> None:
        """Removes what was written, unless it is in an object store."""
        if self._path is not None:
            shutil.rmtree(self._working.url, ignore_errors=True)


def save_zarr(name: str, image: Any, like: Any, layout: Layout, overwrite: bool) -> None:
    facts = facts_of(image, image.dtype, Location.of(name).title, like)
    writer = ZarrWriter(name, facts, layout, overwrite)
    try:
        for block in writer.target.blocks(0):
            writer.target.write(0, block, read_box(image, block.t, block.c, block.slices))
        writer.commit()
    except BaseException:
        writer.discard()
        raise


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
