# SPDX-License-Identifier: Apache-2.0
"""Reads our files with ImageJ and Bio-Formats."""
import numpy as np
from java_programs import BIO_FORMATS, IMAGEJ
from readers import TIFF, ProgramReading
from registry import READERS

MICROMETERS = {"micron": 1, "um": 1, "µm": 1, "nm": 1e-3, "mm": 1e3, "cm": 1e4}
SAMPLES = {"8": ">u1", "16": ">u2", "24": ">u4", "32": ">f4"}
NAMES_OF_TYPES = {"float": "float32", "double": "float64", "complex": "complex64"}


def read_with(program, files, folder, parse):
    """Yields each file with its reading or error. The raw pixels are written to the folder."""
    raw = {str(file.path): folder / f"{file.path.name}.{program.name}.raw" for file in files}
    found = program.read(folder, list(raw.items()))
    for file in files:
        fields = found.get(str(file.path), ("error", "no answer"))
        if fields[0] == "error":
            yield file, ValueError(fields[1])
            continue
        try:
            yield file, parse(fields[1:], raw[str(file.path)])
        except ValueError as error:
            yield file, error


@READERS.add("ImageJ", program=IMAGEJ, suffixes=TIFF)
def read_imagej(files, folder):
    yield from read_with(IMAGEJ, files, folder, parse_imagej)


def parse_imagej(fields, raw):
    bits, width, height, channels, planes, times, x, y, z, unit, interval, labels = fields
    pixels = np.fromfile(raw, SAMPLES[bits.removesuffix("s")])
    if bits.endswith("s"):
        pixels = (pixels.astype(np.int32) - 32768).astype(np.int16)
    shape = [int(n) for n in (times, planes, channels, height, width)]
    scale = MICROMETERS.get(unit.replace("\\u00B5", "µ"))
    voxel = tuple(float(size) * scale if scale else None for size in (z, y, x))
    if shape[1] == 1:  # ImageJ reports 1 for an unknown depth
        voxel = (None, *voxel[1:])
    # ImageJ labels a single plane with the name of its file.
    names = tuple(label for label in labels.split("|") if label != raw.name.removesuffix(f".{IMAGEJ.name}.raw"))
    return ProgramReading(pixels.reshape(shape), "TZCYX", voxel, names if any(names) else (),
                        float(interval) or None)


@READERS.add("Bio-Formats", program=BIO_FORMATS, suffixes=TIFF)
def read_bio_formats(files, folder):
    yield from read_with(BIO_FORMATS, files, folder, parse_bio_formats)


def parse_bio_formats(fields, raw):
    kind, width, height, channels, planes, times, order, images, x, y, z, endian, _, names = fields
    if images != "1":
        raise ValueError(f"{images} images")
    pixels = np.fromfile(raw, np.dtype(NAMES_OF_TYPES.get(kind, kind)).newbyteorder(endian))
    sizes = dict(zip("XYCZT", map(int, (width, height, channels, planes, times))))
    axes = order[::-1]
    voxel = tuple(float(size) if size else None for size in (z, y, x))
    named = tuple(names.split("|"))
    return ProgramReading(pixels.reshape([sizes[axis] for axis in axes]), axes, voxel, named if any(named) else ())
