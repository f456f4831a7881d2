# SPDX-License-Identifier: Apache-2.0
"""Groups and arrays of Zarr stores, with their metadata, and the group of an image."""

import os
import re
from dataclasses import dataclass, field
from typing import Any

from ._errors import BadData
from ._ome_metadata import multiscale_of
from ._zarr_store import SCHEMES, Documents, Location

MANIFEST = ".convolume/manifest.json"


def is_zarr(name: str) -> bool:
    """Tells whether a path or URL names a Zarr store."""
    if name.partition("://")[0] in SCHEMES and "://" in name:
        return True
    if re.search(r"\.zarr(/|$)", name):
        return True
    return os.path.isdir(name) and any(os.path.exists(os.path.join(name, one))
                                       for one in ("zarr.json", ".zgroup", ".zattrs", ".zarray"))


@dataclass
class Node:
    """A group or an array of a store."""

    location: Location
    zarr_format: int
    is_array: bool
    attributes: dict[str, Any]
    document: dict[str, Any] = field(default_factory=dict)


def node_at(location: Location) -> Node | None:
    """Reads the metadata of the group or array at a location; returns None if there is none."""
    documents = Documents(location)
    found = documents.read_json("zarr.json")
    if found is not None:
        kind = found.get("node_type")
        if kind not in ("group", "array"):
            raise BadData(f"{location}/zarr.json is no Zarr metadata: its node_type is {kind!r}")
        return Node(location, 3, kind == "array", dict(found.get("attributes") or {}), found)
    array = documents.read_json(".zarray")
    if array is not None:
        return Node(location, 2, True, documents.read_json(".zattrs") or {}, array)
    attributes = documents.read_json(".zattrs")
    if attributes is None and documents.read_json(".zgroup") is None:
        return None
    return Node(location, 2, False, attributes or {})


def levels_of(node: Node) -> list[str]:
    """Returns the folders of an image's arrays, the finest level first; an empty list for a node that is no image."""
    image = multiscale_of(node.attributes, str(node.location))
    return [] if image is None else [level.path for level in image.levels]


def is_image(location: Location) -> bool:
    node = node_at(location)
    return node is not None and bool(levels_of(node))


def write_group(location: Location, zarr_format: int, attributes: dict[str, Any] | None) -> None:
    """Writes the attributes of an image's group. Those of an old image are removed, all others stay."""
    documents = Documents(location)
    node = node_at(location)
    kept = dict(node.attributes) if node is not None else {}
    ome = kept.pop("ome", {})
    for name in ("multiscales", "omero"):
        kept.pop(name, None)
        if isinstance(ome, dict):
            ome.pop(name, None)
    if zarr_format == 3:
        new = {**(attributes or {})}
        if ome or "ome" in new:
            new["ome"] = {**ome, **new.get("ome", {})}
        documents.write_json("zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {**kept, **new}})
    else:
        documents.write_json(".zgroup", {"zarr_format": 2})
        documents.write_json(".zattrs", {**kept, **(attributes or {})})


def remove_description(image: Node) -> None:
    """Removes the metadata that make a group an image."""
    write_group(image.location, image.zarr_format, None)
