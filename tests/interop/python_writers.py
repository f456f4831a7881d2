# SPDX-License-Identifier: Apache-2.0
"""Writes TIFF files with other Python packages."""
from dataclasses import replace

import numpy as np
from registry import WRITERS
from specimen import COLUMNS, ROWS, ForeignFile, Specimen, file_name, make_specimen

UNKNOWN = (None, None, None)


@WRITERS.add("imageio", "imageio", ["imageio.v3", "tifffile"])
def imageio_files(folder):
    import imageio.v2
    import imageio.v3

    for planes, dtype in ((5, "uint16"), (3, "uint16"), (3, "uint8"), (5, "float32")):
        specimen = make_specimen("ZYX", dtype, UNKNOWN, planes=planes)
        path = file_name(folder, "imageio_v3", planes, dtype, extension=".tif")
        imageio.v3.imwrite(path, specimen.arranged("ZYX"))
        yield ForeignFile("imageio", f"v3.imwrite, {planes} planes, {dtype}", path, specimen)
    for planes in (5, 3):
        specimen = make_specimen(voxel=UNKNOWN, planes=planes)
        path = file_name(folder, "imageio_v2", planes, extension=".tif")
        imageio.v2.volwrite(path, specimen.arranged("ZYX"))
        yield ForeignFile("imageio", f"v2.volwrite, {planes} planes, uint16", path, specimen)
        path = file_name(folder, "imageio_mim", planes, extension=".tif")
        imageio.v2.mimwrite(path, list(specimen.arranged("ZYX")))
        yield ForeignFile("imageio", f"v2.mimwrite, {planes} planes, uint16", path, specimen)
    specimen = make_specimen("YX", "uint8", UNKNOWN)
    path = file_name(folder, "imageio_2d", extension=".tif")
    imageio.v3.imwrite(path, specimen.arranged("YX"))
    yield ForeignFile("imageio", "v3.imwrite, YX, uint8", path, specimen)


@WRITERS.add("scikit-image", "scikit-image", ["skimage.io"])
def skimage_files(folder):
    import skimage.io

    for planes, dtype in ((5, "uint16"), (3, "uint16"), (4, "uint8"), (5, "float32")):
        specimen = make_specimen("ZYX", dtype, UNKNOWN, planes=planes)
        path = file_name(folder, "skimage", planes, dtype, extension=".tif")
        skimage.io.imsave(path, specimen.arranged("ZYX"), check_contrast=False)
        yield ForeignFile("scikit-image", f"io.imsave, {planes} planes, {dtype}", path, specimen)
    for axes, dtype, channels in (("YX", "uint16", 1), ("YXC", "uint8", 3)):
        specimen = make_specimen(axes, dtype, UNKNOWN, channels=channels)
        path = file_name(folder, "skimage", axes, extension=".tif")
        skimage.io.imsave(path, specimen.arranged(axes), check_contrast=False)
        yield ForeignFile("scikit-image", f"io.imsave, {'RGB' if channels == 3 else axes}, {dtype}", path, specimen)


@WRITERS.add("Pillow", "Pillow", ["PIL.Image"])
def pillow_files(folder):
    from PIL import Image

    for dtype, scheme in (("uint8", None), ("uint16", None), ("float32", None), ("uint8", "tiff_lzw"),
                          ("uint16", "tiff_adobe_deflate"), ("float32", "tiff_lzw"), ("uint8", "packbits")):
        specimen = make_specimen("ZYX", dtype, UNKNOWN)
        path = file_name(folder, "pillow", dtype, scheme, extension=".tif")
        planes = [Image.fromarray(plane) for plane in specimen.arranged("ZYX")]
        planes[0].save(path, save_all=True, append_images=planes[1:], compression=scheme)
        yield ForeignFile("Pillow", f"5 planes, {dtype}, {scheme or 'raw'}", path, specimen)
    specimen = make_specimen("CYX", "uint8", UNKNOWN, channels=3)
    path = file_name(folder, "pillow_rgb", extension=".tif")
    Image.fromarray(specimen.arranged("YXC")).save(path)
    yield ForeignFile("Pillow", "RGB, uint8", path, specimen)
    specimen = make_specimen("YX", "uint8", UNKNOWN)
    path = file_name(folder, "pillow_bits", extension=".tif")
    Image.fromarray(specimen.arranged("YX") > 127).save(path, compression="group4")
    bits = replace(specimen, pixels=(specimen.pixels > 127).astype("uint8"))
    yield ForeignFile("Pillow", "YX, 1 bit, CCITT group 4", path, bits)
    path = file_name(folder, "pillow_jpeg", extension=".tif")
    color = np.zeros((ROWS, COLUMNS, 3), np.uint8)
    Image.fromarray(color).save(path, compression="jpeg")
    yield ForeignFile("Pillow", "RGB, JPEG", path, Specimen(np.zeros((1, 3, 1, ROWS, COLUMNS), np.uint8)))


@WRITERS.add("OpenCV", "opencv-python-headless", ["cv2"])
def opencv_files(folder):
    import cv2

    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    for dtype in ("uint8", "uint16", "float32"):
        specimen = make_specimen("ZYX", dtype, UNKNOWN)
        path = file_name(folder, "opencv", dtype, extension=".tif")
        cv2.imwritemulti(str(path), list(specimen.arranged("ZYX")))
        yield ForeignFile("OpenCV", f"imwritemulti, 5 planes, {dtype}", path, specimen)
    specimen = make_specimen("CYX", "uint8", UNKNOWN, channels=3)
    path = file_name(folder, "opencv_rgb", extension=".tif")
    cv2.imwrite(str(path), specimen.arranged("YXC")[..., ::-1])
    yield ForeignFile("OpenCV", "imwrite, RGB, uint8", path, specimen)


@WRITERS.add("SimpleITK", "SimpleITK", ["SimpleITK"])
def itk_files(folder):
    import SimpleITK

    for dtype, scheme in (("uint8", None), ("uint16", None), ("float32", None), ("uint16", "Deflate"),
                          ("uint16", "LZW"), ("uint16", "PackBits")):
        # ITK's lengths are in mm; its TIFF stores only pixels per cm along y and x, as integers.
        specimen = make_specimen("ZYX", dtype, (None, 0.125, 0.1))
        image = SimpleITK.GetImageFromArray(specimen.arranged("ZYX"))
        image.SetSpacing((0.1e-3, 0.125e-3, 0.3e-3))
        path = file_name(folder, "simpleitk", dtype, scheme, extension=".tif")
        SimpleITK.WriteImage(image, str(path), useCompression=scheme is not None, compressor=scheme or "")
        yield ForeignFile("SimpleITK", f".tif, ZYX, {dtype}, {scheme or 'raw'}", path, specimen)
    specimen = make_specimen(voxel=UNKNOWN)
    image = SimpleITK.GetImageFromArray(specimen.arranged("ZYX"))
    for extension in (".nrrd", ".mha", ".nii"):
        path = file_name(folder, "simpleitk", extension=extension)
        SimpleITK.WriteImage(image, str(path))
        yield ForeignFile("SimpleITK", f"{extension}, ZYX", path, specimen, refused_with="is not a TIFF")
    path = file_name(folder, "simpleitk", extension=".h5")
    SimpleITK.WriteImage(image, str(path))
    yield ForeignFile("SimpleITK", ".h5, dataset named", f"{path}:/ITKImage/0/VoxelData", specimen)


@WRITERS.add("napari", "napari", ["napari.components"])
def napari_files(folder):
    from napari.components import ViewerModel
    from napari.plugins import _initialize_plugins

    _initialize_plugins()
    for planes, dtype in ((5, "uint16"), (3, "uint16"), (5, "float32")):
        specimen = make_specimen("ZYX", dtype, UNKNOWN, planes=planes)
        path = file_name(folder, "napari", planes, dtype, extension=".tif")
        viewer = ViewerModel()
        viewer.add_image(specimen.arranged("ZYX"), scale=(0.3, 0.104, 0.1))
        viewer.layers.save(str(path))
        yield ForeignFile("napari", f"layers.save, {planes} planes, {dtype}", path, specimen)


@WRITERS.add("libtiff's tiffcp", modules=["tifffile"], executable="tiffcp")
def tiffcp_files(folder):
    import subprocess

    import tifffile

    schemes = ("none", "packbits", "lzw", "lzw:2", "lzw:3", "zip", "zip:2", "zip:3", "zstd", "zstd:3", "lzma", "lerc")
    for dtype in ("uint16", "float32"):
        specimen = make_specimen("ZYX", dtype, UNKNOWN)
        source = file_name(folder, "tiffcp_source", dtype, extension=".tif")
        tifffile.imwrite(source, specimen.arranged("ZYX"), photometric="minisblack", metadata=None)
        for scheme in schemes:
            if scheme.endswith(":2") and dtype == "float32" or scheme.endswith(":3") and dtype != "float32":
                continue
            for layout in ([], ["-t", "-w", "16", "-l", "16"]):
                path = file_name(folder, "tiffcp", dtype, scheme, *layout[:1], extension=".tif")
                subprocess.run(["tiffcp", "-c", scheme, *layout, source, path], check=True, capture_output=True)
                contents = f"{'tiles' if layout else 'strips'}, {scheme}, {dtype}"
                yield ForeignFile("libtiff's tiffcp", contents, path, specimen)
