# SPDX-License-Identifier: Apache-2.0
"""Reads our files with tifffile, h5py and NumPy, and theirs with our readers: pixels, axes, voxel sizes.

Ends with 77 (skipped) if a module is missing."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import h5py
    import numpy as np
    import tifffile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = 20240611
rng = np.random.default_rng(SEED)


def random_pixels(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "ui":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, endpoint=True, dtype=dtype.newbyteorder("=")).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def dumped_pixels(path, axes=None):
    raw = path.split(":")[0] + ".raw"
    done = subprocess.run([args.dump, path, raw] + ([axes] if axes else []), capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    about = json.loads(done.stdout)
    data = np.fromfile(raw, about["type"]).reshape(about["shape"])
    os.remove(raw)
    check(done.stderr == "", path, "printed", done.stderr)
    return about, data


def check_read(name, path, array, voxel=None, axes=None, **facts):
    """Reads a file, and compares it with `array` (t, c, z, y, x) and with metadata."""
    about, data = dumped_pixels(path, axes)
    if about is None:
        check(False, name, data)
        return
    native = array.dtype.newbyteorder("=")
    check(about["type"] == native.name, name, "type", about["type"])
    check(data.shape == array.shape and np.array_equal(data, array.astype(native)), name, "pixels", data.shape)
    if voxel is not None:
        near = [(a is None) == (b is None) and (a is None or abs(a - b) <= 1e-7 * abs(b))
                for a, b in zip(about["voxel"], voxel)]
        check(all(near), name, "voxel size", about["voxel"], "expected", voxel)
    for key, value in facts.items():
        check(about[key] == value, name, key, about[key], "expected", value)


def check_refused(name, path, *words):
    about, text = dumped_pixels(path)
    check(about is None and all(w in text for w in words) and text.count("\n") == 0, name, "gave", about or text)


UNKNOWN = [None, None, None]
VOXEL = [0.3, 0.104, 0.1]
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"]


def read_tifffile_files(folder):
    file = os.path.join(folder, "t.tif")
    for dtype in TYPES:
        for order in "<>":
            for big in (False, True):
                a = random_pixels((5, 31, 17), np.dtype(dtype).newbyteorder(order))
                tifffile.imwrite(file, a, byteorder=order, bigtiff=big, photometric="minisblack")
                check_read(f"plain {dtype} {order} big={big}", file, a[None, None], UNKNOWN)
    a = random_pixels((5, 31, 17), "float32")
    for options in ({"compression": "zlib"}, {"rowsperstrip": 4}, {"tile": (16, 32)}, {"metadata": None},
                    {"compression": "zlib", "tile": (16, 16)}, {"contiguous": False}, {"truncate": True}):
        for order in "<>":
            tifffile.imwrite(file, a, byteorder=order, photometric="minisblack", **options)
            check_read(f"plain {order} {options}", file, a[None, None], UNKNOWN)
    a = random_pixels((3, 4, 20, 12), "uint16")
    tifffile.imwrite(file, a, photometric="minisblack", metadata={"axes": "TZYX"})
    check_read("shaped TZYX", file, a[:, None], axes=None)
    tifffile.imwrite(file, a, photometric="minisblack")
    check_read("shaped 4D", file, a[None])
    check_read("shaped 4D as time", file, a[:, None], axes="TZYX")
    tifffile.imwrite(file, a[0], photometric="minisblack", metadata=None)
    check_read("pages as time", file, a[0][:, None, None], axes="TYX")
    for planar in ("contig", "separate"):
        for options in ({}, {"compression": "zlib"}, {"tile": (16, 16)}):
            rgb = random_pixels((4, 20, 12, 3) if planar == "contig" else (4, 3, 20, 12), "uint8")
            tifffile.imwrite(file, rgb, photometric="rgb", planarconfig=planar, **options)
            wanted = np.moveaxis(rgb, 3 if planar == "contig" else 1, 0)
            check_read(f"rgb {planar} {options}", file, wanted[None])
    tifffile.imwrite(file, a[0], photometric="minisblack", resolution=(1e5, 5e4), resolutionunit="CENTIMETER")
    check_read("resolution in cm", file, a[:1][None], [None, 0.2, 0.1])
    tifffile.imwrite(file, a[0], photometric="minisblack", resolution=(72, 72), resolutionunit="INCH")
    check_read("screen resolution", file, a[:1][None], UNKNOWN)
    with tifffile.TiffWriter(file) as writer:
        for level in range(2):
            writer.write(a[0, 0, ::level + 1, ::level + 1], subfiletype=level, photometric="minisblack", metadata=None)
    check_read("thumbnail skipped", file, a[:1, :1][None])


def read_imagej_files(folder):
    file = os.path.join(folder, "ij.tif")
    for dtype in ("uint8", "uint16", "float32"):
        for order in "<>":
            a = random_pixels((2, 5, 3, 31, 17), dtype)
            tifffile.imwrite(file, a, imagej=True, byteorder=order, resolution=(1 / 0.104, 1 / 0.208),
                             metadata={"axes": "TZCYX", "unit": "um", "spacing": 0.3, "finterval": 2.5,
                                       "Labels": [f"p{i}" for i in range(30)]})
            check_read(f"imagej {dtype} {order}", file, a.transpose(0, 2, 1, 3, 4), [0.3, 0.208, 0.104],
                       format="ImageJ TIFF", interval=2.5)
            # Our copy must keep the labels of slices, in either byte order.
            copied = os.path.join(folder, "copy.tif")
            subprocess.run([args.make, copied, "copy", file], check=True)
            with tifffile.TiffFile(copied) as tif:
                check(tif.imagej_metadata["Labels"] == [f"p{i}" for i in range(30)], "labels", dtype, order)
                check(np.array_equal(tif.asarray(), a), "copied", dtype, order)
    for unit, factor in (("nm", 1e-3), ("\\u00B5m", 1), ("micron", 1), ("mm", 1e3), ("cm", 1e4), ("inch", 25400)):
        a = random_pixels((4, 9, 8), "uint8")
        tifffile.imwrite(file, a, imagej=True, resolution=(2, 4),
                         metadata={"axes": "ZYX", "unit": unit, "spacing": 3.0})
        check_read(f"imagej unit {unit}", file, a[None, None], [3 * factor, factor / 4, factor / 2])
    tifffile.imwrite(file, a, imagej=True, resolution=(2, 4), metadata={"axes": "ZYX", "unit": "pixel", "spacing": 3.0})
    check_read("imagej pixels", file, a[None, None], UNKNOWN)
    tifffile.imwrite(file, a, imagej=True, resolution=(2, 4), metadata={"axes": "ZYX", "unit": "um"})
    check_read("imagej without spacing", file, a[None, None], [None, 0.25, 0.5])
    rgb = random_pixels((4, 9, 8, 3), "uint8")
    tifffile.imwrite(file, rgb, imagej=True, metadata={"axes": "ZYXS"})
    check_read("imagej rgb", file, np.moveaxis(rgb, 3, 0)[None])


def read_ome_files(folder):
    file = os.path.join(folder, "o.ome.tif")
    sizes = {"PhysicalSizeX": 100.0, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.104, "PhysicalSizeYUnit": "µm",
             "PhysicalSizeZ": 0.3, "TimeIncrement": 2.5, "Channel": {"Name": ["GFP", "RFP", "DAPI"]}}
    for dtype in TYPES + ["complex64", "complex128"]:
        for order in "<>":
            a = random_pixels((2, 3, 4, 9, 8), np.dtype(dtype).newbyteorder(order))
            tifffile.imwrite(file, a, ome=True, byteorder=order, photometric="minisblack",
                             metadata={"axes": "TCZYX", **sizes})
            check_read(f"ome {dtype} {order}", file, a, VOXEL, format="OME-TIFF", interval=2.5,
                       channels=["GFP", "RFP", "DAPI"])
    for axes in ("CTZYX", "ZCTYX", "TZCYX"):
        a = random_pixels([{"T": 2, "C": 3, "Z": 4}[x] for x in axes[:3]] + [9, 8], "uint16")
        tifffile.imwrite(file, a, ome=True, photometric="minisblack", metadata={"axes": axes, **sizes})
        check_read(f"ome {axes}", file, a.transpose([axes.index(x) for x in "TCZYX"]), VOXEL)
    with tifffile.TiffWriter(file, ome=True) as writer:
        pyramid = random_pixels((4, 32, 48), "uint16")
        writer.write(pyramid, subifds=1, tile=(16, 16), photometric="minisblack", metadata={"axes": "ZYX"})
        writer.write(pyramid[:, ::2, ::2], subfiletype=1, tile=(16, 16), photometric="minisblack")
    check_read("ome pyramid", file, pyramid[None, None])


def check_written_tiff(folder):
    for name, compressions in (("w.tif", ["none", "deflate", "lzw", "zstd", "packbits"]),
                               ("w.ome.tif", ["none", "deflate"])):
        file = os.path.join(folder, name)
        for dtype in TYPES + ["complex64", "complex128"]:
            for t, c, z in ((1, 1, 1), (1, 1, 5), (2, 3, 4), (3, 1, 1), (1, 2, 1)):
                a = random_pixels((t, c, z, 31, 17), dtype)
                # Strips are compressed alike wherever they are.
                for compression in compressions if (t, c, z) == (2, 3, 4) else compressions[:1]:
                    what = f"{name} {dtype} {t},{c},{z} {compression}"
                    done = subprocess.run([args.make, file, dtype, compression, str(t), str(c), str(z), "31", "17"],
                                          input=a.tobytes(), capture_output=True)
                    check(done.returncode == 0 and not done.stderr, what, done.stderr)
                    check_read(what, file, a, VOXEL, interval=2.5)
                    check_with_tifffile(what, file, a, compression, name)
    check(not [f for f in os.listdir(folder) if "partial" in f], "partial files left")


def check_with_tifffile(what, file, a, compression, name):
    t, c, z = a.shape[:3]
    with tifffile.TiffFile(file) as tif:
        page = tif.pages[0]
        check(page.software == "convolume test", what, "software")
        check(len(tif.pages) == t * c * z, what, "pages", len(tif.pages))
        check(all(tag in page.tags for tag in (282, 283, 296, 339)), what, "tags")
        if tif.is_imagej:
            check(compression != "zstd" and "ome" not in name, what, "imagej")
            facts = tif.imagej_metadata
            # ImageJ reads differences of neighbors in LZW for 8 and 16 bits only.
            check(page.predictor == (2 if compression == "lzw" and a.dtype.kind == "u" else 1), what, "predictor")
            ranges = [limit for channel in range(c) for limit in (a[:, channel].min(), a[:, channel].max())]
            check([facts["min"], facts["max"]] == [float(r) for r in ranges[:2]], what, "display range", facts)
            check(c == 1 or list(facts["Ranges"]) == ranges, what, "display ranges", facts.get("Ranges"), ranges)
            labels = facts["Labels"] if t * c * z > 1 else [facts["Labels"]]
            check(labels == [f"dye {i}" for i in range(c)] * (t * z), what, "labels", labels)
            x, y = page.tags[282].value, page.tags[283].value
            check(abs(x[1] / x[0] - 0.1) < 1e-12 and abs(y[1] / y[0] - 0.104) < 1e-12, what, "resolution", x, y)
            check(facts["unit"] == "um" and facts["spacing"] == 0.3 and facts["finterval"] == 2.5, what, facts)
            wanted = a.transpose(0, 2, 1, 3, 4)
        else:
            check(tif.is_ome, what, "ome")
            tree = ET.fromstring(tif.ome_metadata)
            ns = {"o": "http://www.openmicroscopy.org/Schemas/OME/2016-06"}
            facts = tree.find(".//o:Pixels", ns).attrib
            check([float(facts["PhysicalSize" + i]) for i in "ZYX"] == VOXEL, what, facts)
            check([int(facts["Size" + i]) for i in "TCZYX"] == list(a.shape), what, facts)
            check([n.get("Name") for n in tree.iterfind(".//o:Channel", ns)] == [f"dye {i}" for i in range(c)], what)
            wanted = a
        if compression not in ("none", "deflate"):
            return  # tifffile needs imagecodecs to decode other codecs
        if compression != "none" and page.predictor != 1:
            return
        got = tif.asarray()
        check(got.dtype == a.dtype and np.array_equal(got.ravel(), wanted.ravel()), what, "in tifffile", got.shape)


def read_hdf5(folder):
    file = os.path.join(folder, "h.h5")
    for dtype in TYPES + ["complex64", "complex128"]:
        for order in "<>":
            for options in ({}, {"chunks": (2, 8, 8)}, {"chunks": (3, 7, 5), "compression": "gzip", "shuffle": True}):
                a = random_pixels((5, 31, 17), np.dtype(dtype).newbyteorder(order))
                with h5py.File(file, "w") as h:
                    d = h.create_dataset("a/b c", data=a, **options)
                    d.attrs["element_size_um"] = np.array([0.3, 0.104, 0.1], "float32")
                check_read(f"h5 {dtype} {order} {options}", file, a[None, None], VOXEL)
                check_read(f"h5 {dtype} {order} {options} named", file + ":/a/b c", a[None, None], VOXEL)
    a = random_pixels((2, 3, 4, 9, 8), "uint16")
    with h5py.File(file, "w") as h:
        h["exported_data"] = a
        h["other"] = 1
        h["yx"] = a[0, 0, 0]
        h["czyx"] = a[0]
        h["zyxc"] = np.moveaxis(a[0], 0, 3)
        h["zyxc"].attrs["axistags"] = json.dumps({"axes": [{"key": k, "typeFlags": 2} for k in "zyxc"]})
        h["xyz"] = a[0, 0].T
        h["scalar"] = 3.0
        h["empty"] = np.zeros((3, 0, 4))
        h["text"] = "words"
        h["vlen"] = np.array(["a", "b"], dtype=h5py.string_dtype())
        for key in ("exported_data", "yx"):
            h[key].attrs["element_size_um"] = "not numbers"
            h[key].attrs["unit"] = 3
            h[key].attrs["note"] = "variable"
            h[key].attrs["many"] = np.array(["a", "b"], dtype=h5py.string_dtype())
        h.create_dataset("void", (10**6, 10**5, 10**5), "uint8", chunks=(1, 1000, 1000))
    check_read("h5 exported_data", file, a, UNKNOWN)
    check_read("h5 yx", file + ":/yx", a[0, 0, 0][None, None, None])
    check_read("h5 czyx", file + ":/czyx", a[:1])
    check_read("h5 czyx as time", file + ":/czyx", a[0][:, None], axes="tzyx")
    check_read("h5 axistags", file + ":/zyxc", a[:1])
    check_read("h5 xyz", file + ":/xyz", a[:1, :1], axes="XYZ")
    check_refused("h5 unknown path", file + ":/nowhere", "/nowhere", "/czyx", "/exported_data")
    for key in ("scalar", "empty", "text", "vlen", "void"):
        check_refused("h5 " + key, file + ":/" + key, key)
    with h5py.File(file, "w") as h:
        h["one"] = a
        h["two"] = a
    check_refused("h5 ambiguous", file, "/one, /two")


def read_layouts(folder):
    a = random_pixels((2, 3, 4, 9, 8), "uint16")
    file = os.path.join(folder, "bdv.h5")
    with h5py.File(file, "w") as h:
        for t in range(2):
            for s in range(3):
                h.create_dataset(f"t{t:05}/s{s:02}/0/cells", data=a[t, s].view("int16"), chunks=(2, 4, 4))
                h.create_dataset(f"t{t:05}/s{s:02}/1/cells", data=a[t, s, :, ::2, ::2].view("int16"))
        for s in range(3):
            h[f"s{s:02}/resolutions"] = np.array([[1, 1, 1], [2, 2, 1]], "f8")
            h[f"s{s:02}/subdivisions"] = np.array([[4, 4, 2]] * 2, "i4")
    check_read("bdv without xml", file, a, UNKNOWN, format="BigDataViewer HDF5")
    with open(os.path.join(folder, "bdv.xml"), "w") as xml:
        xml.write("<SpimData><SequenceDescription><ViewSetups>" + "".join(
            f"<ViewSetup><id>{s}</id><voxelSize><unit>micron</unit><size>0.1 0.104 0.3</size></voxelSize></ViewSetup>"
            for s in range(3)) + "</ViewSetups></SequenceDescription></SpimData>")
    check_read("bdv", file, a, VOXEL)
    check_read("bdv one", file + ":/t00001/s02/0/cells", a[1:, 2:], VOXEL)
    check_read("bdv level", file + ":/t00001/s02/1/cells", a[1:, 2:, :, ::2, ::2], [0.3, 0.208, 0.2])

    def imaris_string(text):
        return np.array([c.encode() for c in text], "S1")

    file = os.path.join(folder, "i.ims")
    with h5py.File(file, "w") as h:
        for t in range(2):
            for c in range(3):
                g = h.create_group(f"DataSet/ResolutionLevel 0/TimePoint {t}/Channel {c}")
                g.create_dataset("Data", data=np.pad(a[t, c], ((0, 4), (0, 7), (0, 8))), chunks=(4, 8, 8),
                                 compression="gzip")
                for axis, size in zip("XYZ", (8, 9, 4)):
                    g.attrs["ImageSize" + axis] = imaris_string(str(size))
                h[f"DataSet/ResolutionLevel 1/TimePoint {t}/Channel {c}/Data"] = a[t, c, :, ::2, ::2]
        image = h.create_group("DataSetInfo/Image")
        image.attrs["Unit"] = imaris_string("um")
        for i, (low, high) in enumerate(((5, 5.8), (-1, -1 + 9 * 0.104), (0, 1.2))):
            image.attrs[f"ExtMin{i}"] = imaris_string(str(low))
            image.attrs[f"ExtMax{i}"] = imaris_string(str(high))
        for c in range(3):
            h.create_group(f"DataSetInfo/Channel {c}").attrs["Name"] = imaris_string(f"dye {c}")
    check_read("imaris", file, a, VOXEL, format="Imaris HDF5", channels=["dye 0", "dye 1", "dye 2"])


def check_written_hdf5(folder):
    for spec, key in (("w.h5", "data"), ("w.hdf5:/x/y", "x/y")):
        file = os.path.join(folder, spec)
        for dtype in TYPES + ["complex64", "complex128"]:
            for t, c, z in ((1, 1, 5), (2, 3, 4)):
                for compression in ("none", "deflate"):
                    a = random_pixels((t, c, z, 31, 17), dtype)
                    subprocess.run([args.make, file, dtype, compression, str(t), str(c), str(z), "31", "17"],
                                   input=a.tobytes(), check=True)
                    check_read(f"our h5 {dtype} {compression}", file, a, VOXEL, interval=2.5)
                    with h5py.File(file.split(":")[0], "r") as h:
                        d = h[key]
                        check(d.dtype == a.dtype and np.array_equal(d[()], a if t > 1 else a[0, 0]), file, dtype)
                        check(np.allclose(d.attrs["element_size_um"], VOXEL, rtol=1e-7), file, "element_size_um")
                        check(d.attrs["software"] == "convolume test", file, "software")
                        check((d.compression == "gzip") == (compression == "deflate"), file, "compression")
                        check((d.chunks is None) == (compression == "none"), file, "chunks", d.chunks)
                        check(d.shuffle == (compression == "deflate"), file, "shuffle")


def read_npy(folder):
    file = os.path.join(folder, "n.npy")
    shapes = [(7,), (9, 8), (5, 9, 8), (3, 5, 9, 8), (2, 3, 5, 9, 8)]
    for dtype in TYPES + ["complex64", "complex128"]:
        for order in "<>":
            # Types with all numbers of axes; the others have one.
            for shape in shapes if dtype in ("uint16", "complex64") else shapes[2:3]:
                a = random_pixels(shape, np.dtype(dtype).newbyteorder(order))
                five = a.reshape((1,) * (5 - a.ndim) + a.shape)
                for fortran in (False, True):
                    np.save(file, np.asfortranarray(a) if fortran else a)
                    check_read(f"npy {dtype} {order} {shape} {fortran}", file, five, UNKNOWN)
    for order in "<>":
        for fortran in (False, True):
            half = np.array([[1.5, -2.25, 6.1e-5], [5.96e-8, 65504, -0.0]], order + "f2")
            np.save(file, np.asfortranarray(half) if fortran else half)
            check_read(f"npy half {order} {fortran}", file, half.astype("f4")[None, None, None])
            for kind, low in (("i8", -(2**53)), ("u8", 0)):
                whole = np.array([[2**53, 7, low], [1, 2, 3]], order + kind)
                np.save(file, np.asfortranarray(whole) if fortran else whole)
                check_read(f"npy {order}{kind} {fortran}", file, whole.astype("f8")[None, None, None])
                whole[1, 2] = 2**53 + 1
                np.save(file, whole)
                check_refused(f"npy {order}{kind} beyond", file, str(2**53 + 1), "2^53")
    for version in ((2, 0), (3, 0)):
        with open(file, "wb") as f:
            np.lib.format.write_array(f, a, version)
        check_read(f"npy {version}", file, five)
    a = random_pixels((5, 9, 8), "uint16")
    np.save(file, a)
    check_read("npy as time", file, a[:, None, None], axes="TYX")
    check_read("npy as xyz", file, a.T[None, None], axes="XYZ")
    for dtype in TYPES + ["complex64", "complex128"]:
        for t, c, z in ((1, 1, 5), (2, 3, 4), (1, 1, 1)):
            a = random_pixels((t, c, z, 31, 17), dtype)
            subprocess.run([args.make, file, dtype, "none", str(t), str(c), str(z), "31", "17"], input=a.tobytes(),
                           check=True)
            got = np.load(file)
            check(got.dtype == a.dtype and np.array_equal(got, a if t > 1 else a[0, 0]), "our npy", dtype)


def read_large(folder):
    """Tests several TIFF strips and HDF5 chunks along every axis, the last ones cut."""
    a = (random_pixels((1, 2, 5, 310, 530), "uint16") & 0x30F).astype("uint16")
    a[0, 0, 2] = 0
    names = [("l.npy", "none")]
    if args.tiff == "ON":
        names += [("l.tif", "none"), ("l.tif", "deflate"), ("l.ome.tif", "lzw"), ("l.tif", "zstd")]
    if args.hdf5 == "ON":
        names += [("l.h5", "none"), ("l.h5", "deflate")]
    for name, compression in names:
        file = os.path.join(folder, name)
        what = f"large {name} {compression}"
        subprocess.run([args.make, file, "uint16", compression, "1", "2", "5", "310", "530"], input=a.tobytes(),
                       check=True)
        check_read(what, file, a)
        if name.endswith(".npy"):
            check(np.array_equal(np.load(file), a), what, "in NumPy")
        elif name.endswith(".h5"):
            with h5py.File(file, "r") as h:
                check(np.array_equal(h["data"][()], a), what, "in h5py")
        elif compression == "none":
            with tifffile.TiffFile(file) as tif:
                check(np.array_equal(tif.asarray().swapaxes(0, 1), a[0]), what, "in tifffile")
    if args.tiff == "ON":
        for options in ({"compression": "zlib", "rowsperstrip": 7}, {"compression": "zlib", "tile": (48, 80)},
                        {"tile": (48, 80)}, {"rowsperstrip": 7}):
            for order in "<>":
                file = os.path.join(folder, "t.tif")
                tifffile.imwrite(file, a[0, 0].astype(order + "u2"), byteorder=order, photometric="minisblack",
                                 **options)
                check_read(f"large {order} {options}", file, a[:, :1])


parser = argparse.ArgumentParser()
for option in ("dump", "make", "tiff", "hdf5"):
    parser.add_argument("--" + option, required=True)
args = parser.parse_args()
print("seed", SEED)
parts = [read_npy, read_large]
if args.tiff == "ON":
    parts += [read_tifffile_files, read_imagej_files, read_ome_files, check_written_tiff]
if args.hdf5 == "ON":
    parts += [read_hdf5, read_layouts, check_written_hdf5]
for part in parts:
    with tempfile.TemporaryDirectory() as folder:
        part(folder)
finish()
