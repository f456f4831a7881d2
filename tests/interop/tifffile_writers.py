# SPDX-License-Identifier: Apache-2.0
"""Writes TIFF files with tifffile: plain with its own JSON, as ImageJ, as OME."""
import numpy as np
from registry import WRITERS
from specimen import COLUMNS, NAMES, ROWS, ForeignFile, Specimen, file_name, make_specimen

TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64", "complex64")
UNKNOWN = (None, None, None)
RESOLUTION_A_UM = (1 / 0.1, 1 / 0.104)
# Marks a file that can be read in several ways: it must be refused or read with a note.
AMBIGUOUS = ""


def plain(folder, contents, specimen, axes, options=(), refused_with=None, **arguments):
    import tifffile

    path = file_name(folder, "tifffile", contents, extension=".tif")
    tifffile.imwrite(path, specimen.arranged(axes), **arguments)
    return ForeignFile("tifffile", contents, path, specimen, tuple(options), refused_with)


@WRITERS.add("tifffile", "tifffile", ["tifffile"])
def plain_files(folder):
    import tifffile

    def write(contents, axes, dtype="uint16", planes=5, channels=2, specimen=None, **arguments):
        specimen = specimen or make_specimen(axes.replace("S", "C"), dtype, UNKNOWN, planes=planes, channels=channels)
        return plain(folder, f"plain, {contents}", specimen, axes.replace("S", "C"), **arguments)

    for dtype in TYPES:
        yield write(f"ZYX, {dtype}", "ZYX", dtype, metadata={"axes": "ZYX"})
    yield write("without a description", "ZYX", photometric="minisblack", metadata=None)
    yield write("YX", "YX")
    for planes in (2, 3, 4):
        yield write(f"{planes} planes, axes ZYX", "ZYX", planes=planes, metadata={"axes": "ZYX"})
        yield write(f"{planes} planes, uint8, no axes", "ZYX", "uint8", planes)
    yield write("3 planes, uint16, no axes", "ZYX", planes=3)
    for axes in ("TZCYX", "CZYX", "TYX"):
        yield write(axes, axes, photometric="minisblack", metadata={"axes": axes})
    calibrated = make_specimen("YX", voxel=(None, 0.125, 0.1))
    yield write("resolution per cm", "YX", specimen=calibrated, resolution=(1e5, 8e4), resolutionunit="CENTIMETER")
    yield write("big-endian BigTIFF", "ZYX", photometric="minisblack", byteorder=">", bigtiff=True)
    yield write("RGB", "YXS", "uint8", channels=3, photometric="rgb")
    yield write("RGB, 5 planes", "ZYXS", "uint8", channels=3, photometric="rgb", metadata={"axes": "ZYXS"})
    scenes = Specimen(np.zeros((1, 1, 24, ROWS, COLUMNS), np.uint16))
    path = file_name(folder, "tifffile", "scenes", extension=".tif")
    tifffile.imwrite(path, np.zeros((2, 2, 2, 3, ROWS, COLUMNS), np.uint16), photometric="minisblack",
                     metadata={"axes": "RTCZYX"})
    yield ForeignFile("tifffile", "plain, scenes (RTCZYX)", path, scenes, refused_with=AMBIGUOUS)
    path = file_name(folder, "tifffile", "two series", extension=".tif")
    specimen = make_specimen(voxel=UNKNOWN)
    with tifffile.TiffWriter(path) as file:
        file.write(specimen.arranged("ZYX"), photometric="minisblack")
        file.write(specimen.arranged("ZYX")[:, ::2, ::2], photometric="minisblack")
    yield ForeignFile("tifffile", "plain, two series of other shapes", path, specimen, refused_with=AMBIGUOUS)


@WRITERS.add("tifffile", "tifffile", ["tifffile"])
def compressed_files(folder):
    schemes = {"deflate": {"compression": "zlib"}, "deflate, predictor": {"compression": "zlib", "predictor": True},
               "LZW": {"compression": "lzw"}, "LZW, predictor": {"compression": "lzw", "predictor": True},
               "Zstandard": {"compression": "zstd"}, "Zstandard, predictor": {"compression": "zstd", "predictor": True},
               "PackBits": {"compression": "packbits"}, "LZMA": {"compression": "lzma"},
               "JPEG 2000": {"compression": "jpeg2000"}, "JPEG XL": {"compression": "jpegxl"},
               "LERC": {"compression": "lerc"}, "none, tiles of 16×16": {"tile": (16, 16)},
               "deflate, tiles of 16×16": {"tile": (16, 16), "compression": "zlib"}}
    for scheme, arguments in schemes.items():
        for dtype in ("uint8", "uint16", "float32"):
            if scheme.startswith("JPEG") and dtype == "float32":
                continue
            specimen = make_specimen("ZYX", dtype, UNKNOWN)
            try:
                yield plain(folder, f"compressed, {scheme}, {dtype}", specimen, "ZYX", photometric="minisblack",
                            **arguments)
            except (ImportError, KeyError, ValueError, RuntimeError):  # this environment lacks the codec
                continue


@WRITERS.add("tifffile", "tifffile", ["tifffile"])
def imagej_files(folder):
    import tifffile

    def write(contents, axes, dtype="uint16", metadata=None, specimen=None, channels=2, **arguments):
        contents = f"ImageJ, {contents}"
        interval = (metadata or {}).get("finterval")
        specimen = specimen or make_specimen(axes.replace("S", "C"), dtype, channels=channels, interval=interval)
        path = file_name(folder, "tifffile", contents, extension=".tif")
        z = {"spacing": 0.3} if specimen.voxel_um[0] is not None else {}
        tifffile.imwrite(path, specimen.arranged(axes.replace("S", "C")), imagej=True, resolution=RESOLUTION_A_UM,
                         metadata={"axes": axes, "unit": "um", **z, **(metadata or {})}, **arguments)
        return ForeignFile("tifffile", contents, path, specimen)

    for dtype in ("uint8", "uint16", "float32"):
        yield write(f"ZYX, {dtype}", "ZYX", dtype)
    for axes in ("YX", "ZCYX", "CYX"):
        yield write(axes, axes)
    yield write("3 planes", "ZYX", specimen=make_specimen(planes=3))
    for axes in ("TYX", "TZYX", "TZCYX"):
        yield write(axes, axes, metadata={"finterval": 2.5})
    yield write("TZCYX of 1 time and 1 channel", "TZCYX", specimen=make_specimen())
    labels = [f"{NAMES[c]} z {z}" for z in range(5) for c in range(2)]
    yield write("labels of planes", "ZCYX", metadata={"Labels": labels})
    yield write("unit nm", "ZYX", metadata={"unit": "nm"}, specimen=make_specimen(voxel=(0.0003, 0.000104, 0.0001)))
    yield write("display range", "ZYX", metadata={"min": 100.0, "max": 2000.0})
    yield write("RGB", "YXS", "uint8", channels=3)
    yield write("RGB, 5 planes", "ZYXS", "uint8", channels=3)


@WRITERS.add("tifffile", "tifffile", ["tifffile"])
def ome_files(folder):
    import tifffile

    def write(contents, axes, dtype="uint16", metadata=None, names=False, channels=2, extension=".ome.tif", planes=5,
              **arguments):
        contents = f"OME, {contents}"
        interval = (metadata or {}).get("TimeIncrement")
        specimen = make_specimen(axes.replace("S", "C"), dtype, names=names, channels=channels, interval=interval,
                                 planes=planes)
        path = file_name(folder, "tifffile", contents, extension=extension)
        facts = {f"PhysicalSize{axis}": size for axis, size in zip("ZYX", specimen.voxel_um) if size is not None}
        if names:
            facts["Channel"] = {"Name": list(specimen.channel_names)}
        tifffile.imwrite(path, specimen.arranged(axes.replace("S", "C")), ome=True,
                         metadata={"axes": axes, **facts, **(metadata or {})}, **arguments)
        return ForeignFile("tifffile", contents, path, specimen)

    gray = {"photometric": "minisblack"}
    for dtype in ("uint8", "int16", "uint16", "float32", "float64", "complex64"):
        yield write(f"ZYX, {dtype}", "ZYX", dtype, **gray)
    yield write("YX", "YX", **gray)
    yield write("3 planes", "ZYX", planes=3, **gray)
    yield write("3 planes, photometric not given", "ZYX", planes=3)
    for axes in ("TCZYX", "TZCYX", "CZYX", "CYX"):
        yield write(f"{axes}, channel names", axes, names=True, **gray)
    yield write("TYX", "TYX", metadata={"TimeIncrement": 2.5, "TimeIncrementUnit": "s"}, **gray)
    nanometers = {f"PhysicalSize{axis}Unit": "nm" for axis in "XYZ"}
    nanometers.update({"PhysicalSizeX": 100.0, "PhysicalSizeY": 104.0, "PhysicalSizeZ": 300.0})
    yield write("unit nm", "ZYX", metadata=nanometers, **gray)
    yield write("BigTIFF, .ome.btf", "ZYX", bigtiff=True, extension=".ome.btf", **gray)
    yield write("RGB", "YXS", "uint8", channels=3, photometric="rgb")
    yield write("RGB, 5 planes", "ZYXS", "uint8", channels=3, photometric="rgb")
    path = file_name(folder, "tifffile", "OME pyramid", extension=".ome.tif")
    specimen = make_specimen()
    with tifffile.TiffWriter(path) as file:
        file.write(specimen.arranged("ZYX"), subifds=1, photometric="minisblack", tile=(16, 16),
                   metadata={"axes": "ZYX", "PhysicalSizeX": 0.1, "PhysicalSizeY": 0.104, "PhysicalSizeZ": 0.3})
        file.write(specimen.arranged("ZYX")[:, ::2, ::2], subfiletype=1, photometric="minisblack", tile=(16, 16))
    yield ForeignFile("tifffile", "OME, pyramid in SubIFDs", path, specimen)
    path = file_name(folder, "tifffile", "OME two images", extension=".ome.tif")
    with tifffile.TiffWriter(path, ome=True) as file:
        for planes in (5, 3):
            file.write(make_specimen(planes=planes).arranged("ZYX"), photometric="minisblack", metadata={"axes": "ZYX"})
    yield ForeignFile("tifffile", "OME, two images", path, Specimen(make_specimen().pixels), refused_with=AMBIGUOUS)
