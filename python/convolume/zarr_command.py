# SPDX-License-Identifier: Apache-2.0
"""The command ``convolume-zarr``, which runs a command of convolume on OME-Zarr images.

``convolume convolve``, ``deconvolve``, ``simulate``, ``convert``, ``diff``, ``info`` and ``preview`` start it if an
argument names such an image. It copies each image to OME-TIFF, runs the command on the copies, and converts its result
to OME-Zarr.
"""

import errno
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._block_samples import read_box
from ._errors import CannotCreate, InvalidArgument, Unavailable
from ._files import open_quietly, refuse_scaled_zarr, save, warn_of_notes
from ._image import Image
from ._output_names import refuse_input_as_output
from ._terminal_names import relayed_terminal
from ._zarr_nodes import is_zarr, levels_of, node_at
from ._zarr_save import refuse_existing
from ._zarr_store import Location
from .process_command import ends_as_by_control_c, report_error, signals_call, warnings_of_the_command

_WRITERS = ("convolve", "deconvolve", "simulate", "convert")
_FLAGS = ("--overwrite", "--scale-output", "--dry-run", "--json", "-q", "--quiet", "-v", "--verbose")
"""Options of `convert` without a value."""
_PREVIEW_SAMPLES = 2048
"""Largest extent of a level that is drawn: `preview` takes the first level without larger extents."""
_INTERRUPTED = 130
"""Exit code of an interrupted command."""
_SECOND_OUTPUTS = ("--uncertainty", "--truth")
"""Options that name a second output, which only files can be."""


class _Arguments:
    """The arguments of a command, with the positions of its output and of its inputs that are OME-Zarr."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.all = list(arguments)
        self.command = self.all[0] if self.all else ""
        self.output: int | None = None
        self.inputs: list[int] = []
        for number, text in enumerate(self.all[1:], 1):
            option, equals, value = text.partition("=")
            if option in ("-o", "--output"):
                if equals:
                    self.all[number:number + 1] = [option, value]
                self.output = number + 1
            elif option in ("--list", "--output-dir"):
                raise InvalidArgument(f"{option} is for files: give one OME-Zarr image at a time")
        if self.command == "convert" and self.output is None:
            self.output = next(iter(self._positions()[1:]), None)
        for option in _SECOND_OUTPUTS:
            second = self.value_of(option)
            if second is not None and is_zarr(second.rstrip("/")):
                raise InvalidArgument(f'{option} writes no OME-Zarr, which "{second}" names; name a TIFF file')
        if self.value_of("--dump-every") is not None and self.zarr_output() is not None:
            raise InvalidArgument("--dump-every writes its estimates beside the output, as files of the same format, "
                                  "which OME-Zarr cannot be; name a TIFF file as the output")
        for number, text in enumerate(self.all):
            if number not in (0, self.output) and is_zarr(text.rstrip("/").split("=")[-1]):
                if text.startswith("-") or "=" in text:
                    raise InvalidArgument(f"{text}: OME-Zarr is taken as an argument of its own only")
                self.inputs.append(number)
        if self.command in _WRITERS and (self.output is None or self.output >= len(self.all)):
            raise InvalidArgument(f"{self.command} of OME-Zarr needs a name for its result: "
                                  f"{'convolume convert IN OUT' if self.command == 'convert' else '-o OUT'}")

    def _positions(self) -> list[int]:
        """Returns the positions of the arguments of `convert` that are neither options nor their values."""
        found = []
        is_value = False
        for number, text in enumerate(self.all[1:], 1):
            is_option = text.startswith("-")
            if not is_option and not is_value:
                found.append(number)
            is_value = is_option and "=" not in text and text not in _FLAGS
        return found

    def inputs_of_convert(self) -> list[str]:
        """Returns the names of the inputs of `convert`; nothing for other commands."""
        positions = self._positions() if self.command == "convert" else []
        return [self.all[number] for number in positions if number != self.output]

    def value_of(self, option: str) -> str | None:
        """Returns the value of an option that is given as "--image 1" or "--image=1", else None."""
        for number, text in enumerate(self.all):
            name, equals, value = text.partition("=")
            if name == option and (equals or number + 1 < len(self.all)):
                return value if equals else self.all[number + 1]
        return None

    def refuse_input_as_output(self) -> None:
        """Raises InvalidArgument if the output would replace an input. The command sees only copies of OME-Zarr, and a
        file instead of an output in OME-Zarr."""
        if self.output is None or self.output >= len(self.all):
            return
        names = [self.all[number] for number in self.inputs]
        if self.zarr_output() is not None:
            values = [text.rpartition("=")[2] for number, text in enumerate(self.all) if number not in (0, self.output)]
            names += [value for value in values if os.path.exists(value.partition(":/")[0])]
        refuse_input_as_output(self.all[self.output], names)

    def zarr_output(self) -> str | None:
        name = None if self.output is None or self.output >= len(self.all) else self.all[self.output]
        return name if name is not None and is_zarr(name.rstrip("/")) else None


def _refuse_scaled_output(arguments: _Arguments) -> None:
    """Raises InvalidArgument if the result in OME-Zarr would have scaled values: those of --scale-output, or those of a
    file that `convert` copies as stored."""
    if "--scale-output" in arguments.all:
        refuse_scaled_zarr()
    names = [name for name in arguments.inputs_of_convert() if not is_zarr(name)]
    for name in names:
        try:
            image = open_quietly(name, axes=arguments.value_of("--axes") or "", image=arguments.value_of("--image"))
        except (ValueError, OSError, RuntimeError):
            continue  # the command reports it
        if image.scaling is not None and arguments.value_of("--output-type") in (None, "same", image.dtype.name):
            refuse_scaled_zarr()


def _folder_for(arguments: _Arguments) -> str:
    """Returns the folder for copies: beside a local output, as copies may be large, else the system's for temporary
    files."""
    if arguments.output is None or arguments.command not in _WRITERS:
        return tempfile.gettempdir()
    name = arguments.all[arguments.output]
    path = Location.of(name).local_path if is_zarr(name.rstrip("/")) else name.partition(":/")[0]
    if path is None:
        return tempfile.gettempdir()
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise CannotCreate(f'cannot write "{name}": the folder "{folder}" does not exist; create it first', name,
                           errno.ENOENT)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotCreate(f'cannot write "{name}": the folder "{folder}" is not writable; choose another', name,
                           errno.EACCES)
    return folder


def _copy_in(folder: str, part: str, name: str) -> str:
    """Returns the path of a copy of the image `name`, in the new folder `part` of `folder`. Its file has the image's
    own name, which messages and pictures show."""
    parts = Location.of(name).url.split("/")
    own = next((one for one in reversed(parts) if one.endswith(".zarr")), parts[-1])
    own = own.removesuffix(".zarr").removesuffix(".ome")
    plain = re.sub(r"[{}*?\[\]:]", "_", own)[:200]  # without the letters of patterns and datasets
    os.mkdir(os.path.join(folder, part))
    return os.path.join(folder, part, f"{plain or 'image'}.ome.tif")


def _opened(name: str, command: str) -> Image:
    image = open_quietly(name)
    if command != "preview" or not name.rstrip("/").endswith(".zarr"):
        return image
    level = 0
    while max(image.shape) > _PREVIEW_SAMPLES:
        level += 1
        try:
            image = open_quietly(name, level=level)
        except (ValueError, OSError):
            break
    return image


def _require_space(folder: str, images: Sequence[Image], writes: bool) -> None:
    needed = sum(image.dtype.itemsize * _count(image) for image in images)
    if writes:  # the result, as float32
        needed += max((4 * _count(image) for image in images), default=0)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise CannotCreate(f"copies of the images take {needed / 2**30:.1f} GiB in {folder}, where {free / 2**30:.1f} "
                           "GiB are free: convolume process needs no copies")


def _count(image: Image) -> int:
    count = 1
    for extent in image.shape:
        count *= extent
    return count


_BOX_BYTES = 256 << 20
"""Bytes of samples that `info --stats` reads at once."""


def _statistics(image: Image) -> dict[str, Any]:
    """Reads all samples, and returns what the command calls the statistics of a file. Complex samples count by their
    magnitude, NaN only in their number."""
    extents = dict(zip(image.axes, image.shape))
    depth, height, width = (extents.get(axis, 1) for axis in "ZYX")
    planes = max(1, _BOX_BYTES // max(1, height * width * image.dtype.itemsize))
    rows = height if planes > 1 else max(1, _BOX_BYTES // max(1, width * image.dtype.itemsize))
    least, most, total, missing = np.inf, -np.inf, 0.0, 0
    places = itertools.product(range(extents.get("T", 1)), range(extents.get("C", 1)), range(0, depth, planes),
                               range(0, height, rows))
    for t, c, z, y in places:
        box = [slice(z, min(depth, z + planes)), slice(y, min(height, y + rows)), slice(0, width)]
        values = read_box(image, t, c, box)
        if values.dtype.kind == "c":
            values = np.abs(values)
        if values.dtype.kind == "f":
            is_nan = np.isnan(values)
            missing += int(np.count_nonzero(is_nan))
            values = values[~is_nan]
        if values.size:
            least, most = min(least, float(values.min())), max(most, float(values.max()))
            total += float(values.sum(dtype=np.float64))
    count = _count(image) - missing
    return {"min": least, "max": most, "mean": total / count if count else np.nan, "sum": total, "nan": missing}


def _information(names: Sequence[str], arguments: _Arguments) -> None:
    as_json = "--json" in arguments.all
    for name in names:
        image = open_quietly(name, axes=arguments.value_of("--axes") or "", image=arguments.value_of("--image"))
        location = Location.of(name)
        node = node_at(location)
        levels = len(levels_of(node)) if node is not None and not node.is_array else 1
        extents = dict(zip(image.axes, image.shape))
        shape = [extents.get(axis, 1) for axis in "ZYX"]
        facts: dict[str, Any] = {
            "file": name, "format": "OME-Zarr", "axes": image.axes, "frames": extents.get("T", 1),
            "channels": extents.get("C", 1), "shape": shape, "type": image.dtype.name,
            "voxel_size_um": list(image.spacing), "levels": levels, "channel_names": image.channel_names,
            "bytes": image.dtype.itemsize * _count(image)}
        if image.images > 1:
            facts["images_in_file"] = image.images
            facts["image"] = {"number": image.image, "name": image.image_name}
        if image.notes:
            facts["notes"] = image.notes
        statistics = _statistics(image) if "--stats" in arguments.all else {}
        if as_json:
            if statistics:
                facts["stats"] = {key: value if np.isfinite(value) else None for key, value in statistics.items()}
            print(json.dumps(facts, indent=2))
            continue
        print(f"format: OME-Zarr\ntype: {facts['type']}\naxes: {image.axes}\ntimes: {facts['frames']}\n"
              f"channels: {facts['channels']}\nshape (z,y,x): {'×'.join(map(str, shape))}")
        for axis, size in zip("zyx", image.spacing):
            print(f"voxel size {axis}: {'unknown' if size is None else f'{size:g} µm'}")
        if image.images > 1:
            name_of_image = f" ({image.image_name})" if image.image_name else ""
            print(f"images in the file: {image.images}\nimage: {image.image}{name_of_image}")
        print(f"levels: {levels}\nbytes: {facts['bytes']}")
        for note in image.notes:
            print(f"note: {note}")
        if statistics:
            print("minimum: {min:g}\nmaximum: {max:g}\nmean: {mean:g}\nsum: {sum:g}\nNaN: {nan}".format(**statistics))


def _run_command(arguments: Sequence[str], names: dict[str, str]) -> int:
    """Runs convolume, and replaces the names of copies in its output by the user's names. Signals that end this
    program are sent to convolume, which then ends by itself and removes what it has begun."""
    command = os.environ.get("CONVOLUME_COMMAND") or shutil.which("convolume")
    if command is None:
        raise Unavailable("the command convolume is not on the PATH")
    terminal = relayed_terminal(sys.stderr, names)
    # Without one, progress on a terminal is worth more than the names.
    errors_to = subprocess.PIPE if not sys.stderr.isatty() else terminal.theirs if terminal else None
    process: subprocess.Popen[str] | None = None
    received: list[int] = []

    def forward(number: int, frame: Any) -> None:
        received.append(number)
        if process is not None:
            process.send_signal(number)

    def pause(number: int, frame: Any) -> None:
        for one in (signal.SIGSTOP, signal.SIGCONT):
            if process is not None:
                process.send_signal(one)
            if one == signal.SIGSTOP:
                os.kill(os.getpid(), one)  # returns when this program continues

    with signals_call(forward, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)), signals_call(pause, (signal.SIGTSTP,)):
        # In a session of its own, convolume gets Ctrl-C once: from here.
        process = subprocess.Popen([command, *arguments], env={**os.environ, "CONVOLUME_COMMAND": command},
                                   start_new_session=True, stdout=subprocess.PIPE, stderr=errors_to, text=True)
        if terminal is not None:
            terminal.start()
        if received:  # before `process` was set
            process.send_signal(received[-1])
        output, errors = process.communicate()
        if terminal is not None:
            terminal.end()
    if received and process.returncode != _INTERRUPTED:
        raise KeyboardInterrupt
    for text, stream in ((output, sys.stdout), (errors, sys.stderr)):
        for copy, name in names.items():
            text = (text or "").replace(copy, name)
        stream.write(text)
    return process.returncode


def _run(given: Sequence[str]) -> int:
    arguments = _Arguments(given)
    chosen = [arguments.all[number] for number in arguments.inputs]
    if arguments.command == "info":
        _information(chosen, arguments)
        return 0
    arguments.refuse_input_as_output()
    target = arguments.zarr_output()
    overwrite = "--overwrite" in arguments.all
    dry = "--dry-run" in arguments.all
    if target is not None:
        _refuse_scaled_output(arguments)
        refuse_existing(Location.of(target), 3, overwrite)
    folder_for_copies = _folder_for(arguments)
    images = [_opened(name, arguments.command) for name in chosen]
    for image, name in zip(images, chosen):  # the copies lack the notes
        warn_of_notes(image, name)
    with tempfile.TemporaryDirectory(prefix=".convolume-", dir=folder_for_copies) as folder:
        _require_space(folder, images, target is not None)
        names = {}
        result = "" if target is None else _copy_in(folder, "result", target)
        for number, name, image in zip(arguments.inputs, chosen, images):
            copy = _copy_in(folder, str(number), name)
            save(copy, image)
            arguments.all[number] = copy
            names[copy] = name
        if target is not None and arguments.output is not None:
            arguments.all[arguments.output] = result
            names[result] = target
        code = _run_command(arguments.all, names)
        if code == 0 and target is not None and not dry:
            save(target, open_quietly(result), like=images[0] if images else None, overwrite=overwrite)
        return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code, which docs/commands/common.md explains."""
    try:
        with ends_as_by_control_c(), warnings_of_the_command():
            return _run(sys.argv[1:] if arguments is None else arguments)
    except (Exception, KeyboardInterrupt) as error:
        return report_error(error, "interrupted; nothing was written")


if __name__ == "__main__":
    sys.exit(main())
