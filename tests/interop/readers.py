# SPDX-License-Identifier: Apache-2.0
"""Reads our files with Python packages.

Each reader returns a `ProgramReading` or raises; `None` stands for properties that a program reads from no file."""
import functools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from registry import READERS

TIFF = (".tif", ".ome.tif")
NOT_TOLD = "not told"


@dataclass(frozen=True)
class ProgramReading:
    """Result of reading a file with a program. Without axes, pixels are in the order of the file's pages."""

    pixels: np.ndarray | None
    axes: str | None = None
    voxel_um: tuple | None = None
    channel_names: tuple | None = None
    frame_interval_s: float | None | str = NOT_TOLD
    sizes: tuple | None = None


def reader(name, distribution, modules, suffixes):
    """Registers a function that reads one file."""
    def register(function):
        def read_all(files, folder):
            for file in files:
                try:
                    yield file, function(file.path)
                except Exception as error:  # noqa: BLE001 - the exception is the program's answer
                    yield file, error
        READERS.add(name, distribution, modules, suffixes=suffixes)(read_all)
        return function
    return register


def pixels_of_pages(pages):
    return np.stack([np.asarray(page) for page in pages])


@reader("tifffile", "tifffile", ["tifffile"], TIFF)
def read_tifffile(path):
    import tifffile

    with tifffile.TiffFile(path) as file:
        series = file.series[0]
        pixels, axes = series.asarray(), series.axes
        if file.is_ome:
            about = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
            channels = about["Channel"] if isinstance(about["Channel"], list) else [about["Channel"]]
            names = tuple(channel.get("Name", "") for channel in channels)
            voxel = tuple(about.get(f"PhysicalSize{axis}") for axis in "ZYX")
            return ProgramReading(pixels, axes, voxel, names, about.get("TimeIncrement"))
        about = file.imagej_metadata or {}
        x, y = (file.pages[0].tags[name].value for name in ("XResolution", "YResolution"))
        voxel = (about.get("spacing"), y[1] / y[0], x[1] / x[0])
        labels = about.get("Labels", [])
        names = tuple(labels[:about.get("channels", 1)])
        return ProgramReading(pixels, axes, voxel, names, about.get("finterval"))


@reader("scikit-image", "scikit-image", ["skimage.io"], TIFF)
def read_skimage(path):
    import skimage.io

    return ProgramReading(skimage.io.imread(path))


@reader("imageio", "imageio", ["imageio.v3"], TIFF)
def read_imageio(path):
    import imageio.v3

    return ProgramReading(imageio.v3.imread(path))


@reader("Pillow", "Pillow", ["PIL.Image"], TIFF)
def read_pillow(path):
    from PIL import Image, ImageSequence

    with Image.open(path) as image:
        return ProgramReading(pixels_of_pages(page.copy() for page in ImageSequence.Iterator(image)))


@reader("OpenCV", "opencv-python-headless", ["cv2"], TIFF)
def read_opencv(path):
    import cv2

    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    done, pages = cv2.imreadmulti(str(path), flags=cv2.IMREAD_UNCHANGED)
    if not done:
        raise ValueError("OpenCV reads nothing")
    return ProgramReading(pixels_of_pages(pages))


@reader("SimpleITK", "SimpleITK", ["SimpleITK"], TIFF)
def read_itk(path):
    import SimpleITK

    SimpleITK.ProcessObject.GlobalWarningDisplayOff()
    return ProgramReading(SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))))


@reader("napari", "napari", ["napari.components"], TIFF)
def read_napari(path):
    from napari.components import ViewerModel
    from napari.plugins import _initialize_plugins

    _initialize_plugins()
    layers = ViewerModel().open(str(path))
    pixels = pixels_of_pages(layer.data for layer in layers)
    return ProgramReading(pixels[0] if len(layers) == 1 else pixels)


def read_bioio(path, image_reader):
    import bioio

    image = bioio.BioImage(str(path), reader=image_reader)
    voxel = tuple(image.physical_pixel_sizes)
    return ProgramReading(image.data, image.dims.order, voxel, tuple(image.channel_names or ()))


@reader("bioio-ome-tiff", "bioio-ome-tiff", ["bioio", "bioio_ome_tiff"], (".ome.tif",))
def read_bioio_ome(path):
    import bioio_ome_tiff

    return read_bioio(path, bioio_ome_tiff.Reader)


@reader("bioio-tifffile", "bioio-tifffile", ["bioio", "bioio_tifffile"], TIFF)
def read_bioio_tifffile(path):
    import bioio_tifffile

    reading = read_bioio(path, bioio_tifffile.Reader)
    return ProgramReading(reading.pixels, reading.axes)


@reader("ome-types", "ome-types", ["ome_types"], (".ome.tif",))
def read_ome_types(path):
    import ome_types

    about = ome_types.from_tiff(path).images[0].pixels
    voxel = tuple(getattr(about, f"physical_size_{axis}") for axis in "zyx")
    sizes = tuple(getattr(about, f"size_{axis}") for axis in "tczyx")
    return ProgramReading(None, None, voxel, tuple(channel.name for channel in about.channels), about.time_increment,
                        sizes)


@reader("xmlschema (OME 2016-06)", "xmlschema", ["xmlschema", "ome_types", "tifffile"], (".ome.tif",))
def validate_ome(path):
    import tifffile

    with tifffile.TiffFile(path) as file:
        ome_schema().validate(file.pages[0].description)
    return ProgramReading(None)


@functools.cache
def ome_schema():
    import ome_types
    import xmlschema

    return xmlschema.XMLSchema(str(Path(ome_types.__file__).parent / "ome-2016-06.xsd"))


@reader("h5py", "h5py", ["h5py"], (".h5",))
def read_h5py(path):
    import h5py

    with h5py.File(path) as file:
        data = file["data"]
        axes = "".join(axis["key"] for axis in json.loads(data.attrs["axistags"])["axes"]).upper()
        voxel = tuple(float(size) or None for size in data.attrs["element_size_um"])
        return ProgramReading(data[()], axes, voxel)


@reader("NumPy", "numpy", ["numpy"], (".npy",))
def read_numpy(path):
    return ProgramReading(np.load(path))


@reader("mrcfile", "mrcfile", ["mrcfile"], (".mrc",))
def read_mrcfile(path):
    import mrcfile

    if not mrcfile.validate(path):
        raise ValueError("mrcfile finds faults in the header")
    with mrcfile.open(path) as file:
        axes = "TZYX" if file.is_volume_stack() else "ZYX"[3 - file.data.ndim:]
        size = file.voxel_size
        voxel = tuple(float(size[axis]) / 1e4 or None for axis in "zyx")
        return ProgramReading(file.data.copy(), axes, voxel if "Z" in axes else (None, *voxel[1:]))
