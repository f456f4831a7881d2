# SPDX-License-Identifier: Apache-2.0
"""Writes MRC files with mrcfile."""
from dataclasses import replace

import numpy as np
from registry import WRITERS
from specimen import ForeignFile, file_name, make_specimen

UNKNOWN = (None, None, None)


@WRITERS.add("mrcfile", "mrcfile", ["mrcfile"])
def mrc_files(folder):
    import mrcfile

    def write(contents, specimen, axes="ZYX", extension=".mrc", pixels=None, change=None):
        path = file_name(folder, "mrcfile", contents, extension=extension)
        with mrcfile.new(path) as file:
            file.set_data(specimen.arranged(axes) if pixels is None else pixels)
            if axes == "ZYX":
                (file.set_volume if extension == ".mrc" else file.set_image_stack)()
            if specimen.voxel_um != UNKNOWN:
                z, y, x = (1e4 * (size or 0) for size in specimen.voxel_um)
                file.voxel_size = (x, y, z)
            if change is not None:
                change(file)
        return ForeignFile("mrcfile", contents, path, specimen)

    for dtype in ("int8", "int16", "uint16", "float32", "complex64"):
        yield write(f"volume, ZYX, {dtype}", make_specimen("ZYX", dtype))
    specimen = make_specimen("ZYX", "float32")
    halves = specimen.arranged("ZYX").astype(np.float16)
    specimen = replace(specimen, pixels=halves.astype(np.float32).reshape(specimen.pixels.shape))
    yield write("volume, ZYX, float16", specimen, pixels=halves)
    big = make_specimen("ZYX", "uint16")
    yield write("volume, ZYX, big-endian uint16", big, pixels=big.arranged("ZYX").astype(">u2"))
    yield write("volume, ZYX, extended header", make_specimen("ZYX", "int16"),
                change=lambda file: file.set_extended_header(np.zeros(100, "V16")))
    yield write("volume, ZYX, no voxel size", make_specimen("ZYX", "int16", UNKNOWN))
    yield write("volume stack, TZYX", make_specimen("TZYX", "int16"), "TZYX")
    yield write("image, YX", make_specimen("YX", "float32"), "YX")
    yield write("image stack, ZYX", make_specimen("ZYX", "float32"), extension=".mrcs")
