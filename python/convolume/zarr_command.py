# SPDX-License-Identifier: Apache-2.0
"""The command ``convolume-zarr``: the commands of convolume with OME-Zarr as a format of images.

``convolume`` starts it if an argument names such an image. The commands then run in the process of Python, and read
and write OME-Zarr box by box. Only pictures are drawn by ``convolume`` itself, from copies.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._errors import InvalidArgument, Unavailable
from ._files import axes_of, open_quietly, save
from ._image import Image
from ._zarr_nodes import is_zarr
from ._zarr_reader import ZarrReader, open_zarr
from ._zarr_save import ZarrWriter
from ._zarr_store import Location
from ._zarr_target import Layout, TargetFacts, omero_entries
from .process_command import ends_as_by_control_c, flags_in_messages, report_error

_OWN = "ome_zarr"
"""Name of the text in the metadata that has what only OME-Zarr stores."""
_COMPRESSIONS = {"none": "zstd", "zstd": "zstd", "deflate": "gzip"}
_MOST_SHARD_BYTES = 64 << 20
_DRAWN_SAMPLES = 2048
"""Largest extent of a level that is drawn: pictures show the first level without larger extents."""


def _open(path: str, options: Mapping[str, Any]) -> ZarrReader:
    reader = open_zarr(path, options["axes"], options["image"] or None)
    if reader.channels or any(reader.translation.values()):
        reader.metadata.text = {_OWN: json.dumps({"translation": reader.translation, "channels": reader.channels})}
    return reader


def _create(path: str, metadata: Any, options: Mapping[str, Any]) -> ZarrWriter:
    _core.refuse_scaling(metadata, "OME-Zarr")
    compression = options["compression"]
    if compression not in _COMPRESSIONS:
        raise InvalidArgument(f"OME-Zarr is compressed by zstd or deflate, not {compression}; choose one of these")
    own: dict[str, Any] = json.loads(metadata.text.get(_OWN, "{}"))
    facts = TargetFacts.of(metadata, axes_of(metadata), metadata.type, Location.of(path).title,
                           omero_entries(metadata, own.get("channels", [])), own.get("translation", {}))
    layout = Layout(compression=_COMPRESSIONS[compression],
                    shard_bytes=min(_core.host_limit_bytes(None) // 64, _MOST_SHARD_BYTES))
    return ZarrWriter(path, facts, layout, options["overwrite"])


def _drawn_level(name: str) -> Image:
    image, level = open_quietly(name), 0
    while name.endswith(".zarr") and max(image.shape) > _DRAWN_SAMPLES:
        level += 1
        try:
            image = open_quietly(name, level=level)
        except (ValueError, OSError):
            break
    return image


def _draw(words: Sequence[str]) -> int:
    """Runs a command that draws pictures, with a copy in place of each image."""
    command = os.environ.get("CONVOLUME_COMMAND") or shutil.which("convolume")
    if command is None:
        raise Unavailable("the command convolume, which draws pictures, is not on the PATH")
    arguments = [command, *words]
    with tempfile.TemporaryDirectory(prefix="convolume-") as folder, ends_as_by_control_c():
        for number, word in enumerate(words, 1):
            option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
            if is_zarr(value):
                place = os.path.join(folder, str(number))
                os.mkdir(place)
                title = os.path.basename(value).partition(".")[0]  # pictures show it
                copy = os.path.join(place, f"{title}.ome.tif")
                save(copy, _drawn_level(value) if words[0] == "preview" else open_quietly(value))
                arguments[number] = f"{option}{equals}{copy}"
        return subprocess.run(arguments, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code, which docs/commands/common.md explains."""
    given = sys.argv[1:] if arguments is None else arguments
    words = [word.rstrip("/") if word.rstrip("/").endswith(".zarr") else word for word in given]
    try:
        _core.register_format("OME-Zarr", [".zarr"], lambda path, head: is_zarr(path), _open, _create)
        if words[:1] == ["preview"] or any(word.startswith("--picture") for word in words):
            return _draw(words)
    except (Exception, KeyboardInterrupt) as error:
        return report_error(error, "interrupted; nothing was written")
    sys.stdout.flush()
    with flags_in_messages():
        return int(_core.run_command(words))


if __name__ == "__main__":
    sys.exit(main())
