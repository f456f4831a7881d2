# SPDX-License-Identifier: Apache-2.0
"""Writes HDF5 and NPY files with other programs."""

import json
from dataclasses import replace

import numpy as np
from registry import WRITERS
from specimen import VOXEL_UM, ForeignFile, Specimen, file_name, make_specimen

UNKNOWN = (None, None, None)
AMBIGUOUS = ""


def axistags(axes):
    """Returns the attribute by which ilastik and vigra name axes."""
    kinds = {"t": 8, "c": 1, "z": 2, "y": 2, "x": 2}
    return json.dumps({"axes": [{"key": axis, "typeFlags": kinds[axis], "resolution": 0, "description": ""}
                                for axis in axes.lower()]})


@WRITERS.add("h5py", "h5py", ["h5py"])
def h5py_files(folder):
    import h5py

    def write(contents, specimen, axes, attributes=None, refused_with=None, **arguments):
        path = file_name(folder, "h5py", contents, extension=".h5")
        with h5py.File(path, "w") as file:
            data = file.create_dataset("data", data=specimen.arranged(axes), **arguments)
            for name, value in (attributes or {}).items():
                data.attrs[name] = value
        return ForeignFile("h5py", contents, path, specimen, refused_with=refused_with)

    for dtype in ("uint8", "int16", "uint16", "uint32", "float32", "float64", "complex64"):
        yield write(f"plain, ZYX, {dtype}", make_specimen("ZYX", dtype, UNKNOWN), "ZYX")
    filters = {"deflate": {"compression": "gzip"}, "deflate and shuffle": {"compression": "gzip", "shuffle": True},
               "LZF": {"compression": "lzf"}, "Fletcher-32": {"fletcher32": True}, "chunks": {"chunks": (2, 7, 9)},
               "scale-offset": {"scaleoffset": 0}}
    for name, arguments in filters.items():
        yield write(f"plain, ZYX, {name}", make_specimen("ZYX", "uint16", UNKNOWN), "ZYX", **arguments)
    sizes = make_specimen()
    yield write("plain, ZYX, element_size_um", sizes, "ZYX", {"element_size_um": np.float32(VOXEL_UM)})
    for axes in ("TZYXC", "TCZYX", "ZYXC", "CZYX", "TYX", "XYZ"):
        specimen = make_specimen(axes, "uint16", UNKNOWN)
        yield write(f"axistags, {axes}", specimen, axes, {"axistags": axistags(axes)})
        if len(axes) > 3:
            # The order t, c, z, y, x is documented; any other must not be assumed without a note.
            unexpected = None if "TCZYX".endswith(axes) else AMBIGUOUS
            yield write(f"axes not named, {axes}", specimen, axes, refused_with=unexpected)
    path = file_name(folder, "h5py_labels", extension=".h5")
    specimen = make_specimen("TCZYX", "uint16", UNKNOWN)
    with h5py.File(path, "w") as file:
        data = file.create_dataset("data", data=specimen.arranged("ZTYXC"))
        for i, label in enumerate("ztyxc"):
            data.dims[i].label = label
    yield ForeignFile("h5py", "dimension labels, ZTYXC", path, specimen)
    path = file_name(folder, "h5py_two", extension=".h5")
    with h5py.File(path, "w") as file:
        file["a"] = make_specimen(voxel=UNKNOWN).arranged("ZYX")
        file["b"] = make_specimen(voxel=UNKNOWN, planes=3).arranged("ZYX")
    yield ForeignFile("h5py", "dataset not named, two datasets", path, make_specimen(), refused_with="which dataset")


@WRITERS.add("npy2bdv", "npy2bdv", ["npy2bdv"])
def npy2bdv_files(folder):
    import npy2bdv

    for channels, frames in ((1, 1), (2, 1), (2, 3)):
        axes = ("T" if frames > 1 else "") + ("C" if channels > 1 else "") + "ZYX"
        specimen = make_specimen(axes, "uint16")
        path = file_name(folder, "npy2bdv", axes, extension=".h5")
        writer = npy2bdv.BdvWriter(str(path), nchannels=channels, subsamp=((1, 1, 1), (1, 2, 2)), overwrite=True,
                                   blockdim=((4, 16, 16), (4, 16, 16)))
        for t in range(frames):
            for c in range(channels):
                writer.append_view(specimen.pixels[t, c], time=t, channel=c, voxel_size_xyz=VOXEL_UM[::-1],
                                   voxel_units="um")
        writer.write_xml()
        writer.close()
        yield ForeignFile("npy2bdv", f"BigDataViewer .h5, {axes}", path, specimen)
        yield ForeignFile("npy2bdv", f"BigDataViewer .xml, {axes}", path.with_suffix(".xml"), specimen)


@WRITERS.add("pybdv", "pybdv", ["pybdv"])
def pybdv_files(folder):
    import pybdv

    for axes in ("ZYX", "CZYX"):
        specimen = make_specimen(axes, "uint16")
        path = file_name(folder, "pybdv", axes, extension=".h5")
        for c in range(specimen.pixels.shape[1]):
            pybdv.make_bdv(specimen.pixels[0, c], str(path), downscale_factors=[[1, 2, 2]], resolution=list(VOXEL_UM),
                           unit="micrometer", setup_id=c, setup_name=f"channel {c}",
                           attributes={"channel": {"id": c}})
        names = tuple(f"channel {c}" for c in range(specimen.pixels.shape[1]))
        yield ForeignFile("pybdv", f"BigDataViewer, {axes}", path, replace(specimen, channel_names=names))


@WRITERS.add("NumPy", "numpy", ["numpy"])
def numpy_files(folder):
    for contents, dtype, order in (("uint8", "u1", "C"), ("uint16", "u2", "C"), ("float32", "f4", "C"),
                                   ("float64", "f8", "C"), ("complex64", "c8", "C"), ("big-endian uint16", ">u2", "C"),
                                   ("Fortran order, uint16", "u2", "F"), ("float16", "f2", "C"),
                                   ("int64", "i8", "C")):
        specimen = make_specimen("ZYX", "uint16" if dtype in "i8f2" else np.dtype(dtype).newbyteorder("="), UNKNOWN)
        path = file_name(folder, "numpy", contents, extension=".npy")
        pixels = specimen.arranged("ZYX").astype(dtype, order=order)
        np.save(path, pixels)
        if dtype in ("f2", "i8"):  # read as a wider type, as no pixel type has this format
            wider = "float32" if dtype == "f2" else "float64"
            specimen = replace(specimen, pixels=specimen.pixels.astype(dtype).astype(wider))
        yield ForeignFile("NumPy", f"save, ZYX, {contents}", path, specimen)
    for axes in ("TCZYX", "CZYX", "ZYXC"):
        specimen = make_specimen(axes, "uint16", UNKNOWN, channels=3)
        path = file_name(folder, "numpy", axes, extension=".npy")
        np.save(path, specimen.arranged(axes))
        yield ForeignFile("NumPy", f"save, {axes} with --axes", path, specimen, ("--axes", axes))
        unexpected = None if "TCZYX".endswith(axes) else AMBIGUOUS
        yield ForeignFile("NumPy", f"save, {axes}", path, specimen, refused_with=unexpected)
    path = file_name(folder, "numpy", "archive", extension=".npz")
    np.savez(path, Specimen(np.zeros((1, 1, 2, 3, 4))).pixels)
    yield ForeignFile("NumPy", "savez", path, make_specimen(), refused_with="is not a TIFF")
