# SPDX-License-Identifier: Apache-2.0
"""OME-Zarr as a format of images for the library, whose commands then read and write it."""

import json
from collections.abc import Mapping
from typing import Any

from . import _core
from ._errors import InvalidArgument
from ._files import axes_of, refuse_scaled_zarr
from ._zarr_nodes import is_zarr
from ._zarr_reader import ZarrReader, open_zarr
from ._zarr_save import ZarrWriter
from ._zarr_store import Location
from ._zarr_target import Layout, TargetFacts, omero_entries

_OWN = "ome_zarr"
"""Name of the text in the metadata that has what only OME-Zarr stores."""
_COMPRESSIONS = {"none": "zstd", "zstd": "zstd", "deflate": "gzip"}
_MOST_SHARD_BYTES = 64 << 20


def _open(path: str, options: Mapping[str, Any]) -> ZarrReader:
    reader = open_zarr(path, options["axes"], options["image"] or None)
    if reader.channels or any(reader.translation.values()):
        reader.metadata.text = {_OWN: json.dumps({"translation": reader.translation, "channels": reader.channels})}
    return reader


def _create(path: str, metadata: Any, options: Mapping[str, Any]) -> ZarrWriter:
    if metadata.scaling is not None:
        refuse_scaled_zarr()
    compression = options["compression"]
    if compression not in _COMPRESSIONS:
        raise InvalidArgument(f"OME-Zarr is compressed by zstd or deflate, not {compression}; choose one of these")
    own: dict[str, Any] = json.loads(metadata.text.get(_OWN, "{}"))
    facts = TargetFacts.of(metadata, axes_of(metadata), metadata.type, Location.of(path).title,
                           omero_entries(metadata, own.get("channels", [])), own.get("translation", {}))
    layout = Layout(compression=_COMPRESSIONS[compression],
                    shard_bytes=min(_core.host_limit_bytes(None) // 64, _MOST_SHARD_BYTES))
    return ZarrWriter(path, facts, layout, options["overwrite"])


def register() -> None:
    """Registers OME-Zarr in this process."""
    _core.register_format("OME-Zarr", [".zarr"], lambda path, head: is_zarr(path), _open, _create)
