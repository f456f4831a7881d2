# SPDX-License-Identifier: Apache-2.0
"""Writes files with the command, from images with known pixels and metadata."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from command import Refused
from specimen import Specimen, file_name, make_specimen

COMPRESSIONS = ("none", "deflate", "lzw", "packbits", "zstd")
# Axes of images for the tests of readers; the numbers are planes or channels.
SHAPES = {"YX": {}, "ZYX": {}, "ZYX of 3 planes": {"planes": 3}, "CYX of 3 channels": {"channels": 3}, "CZYX": {},
          "TYX": {}, "TCZYX": {}}


@dataclass(frozen=True)
class OurFile:
    """A file that the command wrote. `group` names its table in the report."""

    group: str
    contents: str
    path: Path
    specimen: Specimen


def write_our_files(command, folder):
    """Yields the files of all groups. A file that the command refuses to write is reported and left out."""
    for extension in (".tif", ".ome.tif", ".h5", ".npy", ".mrc"):
        yield from files_of_shapes(command, folder, extension)
    for extension in (".tif", ".ome.tif"):
        for dtype in ("uint8", "uint16", "float32"):
            for scheme in COMPRESSIONS:
                specimen = make_specimen("ZYX", dtype, names=True)
                yield from write(command, folder, "compression", f"{extension}, {dtype}, {scheme}", specimen,
                                 extension, "--compression", scheme)
    for dtype in ("uint8", "uint16", "float32"):
        specimen = make_specimen("ZYX", dtype, names=True)
        yield from write(command, folder, "arrays", f".h5, {dtype}, deflate", specimen, ".h5",
                         "--compression", "deflate")


def write_our_zarr(folder):
    """Yields OME-Zarr that the Python package writes, of both versions of the format."""
    import convolume

    for zarr_format in (3, 2):
        for axes, dtype in (("YX", "uint16"), ("ZYX", "uint16"), ("ZYX", "float32"), ("CZYX", "uint8"),
                            ("TCZYX", "uint16")):
            # OME-Zarr names channels only in images with the axis C.
            specimen = make_specimen(axes, dtype, names="C" in axes, interval=2.5 if "T" in axes else None)
            contents = f".zarr, format {zarr_format}, {axes}, {dtype}"
            source = file_name(folder, "source", contents, extension=".ome.tif")
            write_source(source, specimen)
            image = convolume.open(source)
            path = file_name(folder, "ours", contents, extension=".zarr")
            convolume.save(path, image, zarr_format=zarr_format)
            yield OurFile("zarr", contents, path, specimen)


def files_of_shapes(command, folder, extension):
    groups = ("arrays", "arrays") if extension in (".h5", ".npy", ".mrc") else ("shape", "type")
    for shape, counts in SHAPES.items():
        axes = shape.split()[0]
        specimen = make_specimen(axes, names=True, interval=2.5 if "T" in axes else None, **counts)
        yield from write(command, folder, groups[0], f"{extension}, {shape}, uint16", specimen, extension)
    for dtype in ("uint8", "int8", "int16", "uint32", "int32", "float32", "float64", "complex64"):
        specimen = make_specimen("ZYX", dtype, names=True)
        yield from write(command, folder, groups[1], f"{extension}, ZYX, {dtype}", specimen, extension)


def write(command, folder, group, contents, specimen, extension, *options):
    source = file_name(folder, "source", contents, extension=".ome.tif")
    if not source.exists():
        write_source(source, specimen)
    path = file_name(folder, "ours", group, contents, extension=extension)
    try:
        command.copy(source, path, "--output-type", "same", *options)
    except Refused as refusal:
        print(f"not written: {contents}: {refusal}")
        return
    yield OurFile(group, contents, path, specimen)


def write_source(path, specimen):
    """Writes the source image as an OME-TIFF with tifffile."""
    import tifffile

    facts = {f"PhysicalSize{axis}": size for axis, size in zip("ZYX", specimen.voxel_um) if size is not None}
    if specimen.frame_interval_s is not None:
        facts.update(TimeIncrement=specimen.frame_interval_s, TimeIncrementUnit="s")
    if specimen.channel_names:
        facts["Channel"] = {"Name": list(specimen.channel_names)}
    tifffile.imwrite(path, np.ascontiguousarray(specimen.pixels), ome=True, photometric="minisblack",
                     metadata={"axes": "TCZYX", **facts})
