# SPDX-License-Identifier: Apache-2.0
"""Compares how HDF5 files of Fiji, BigDataViewer, Imaris, ilastik, netCDF and h5py are read with what they mean.

Each file is made by h5py and read twice: directly, and by a helper process that contains damage, as the command does.
Ends with 77 (skipped) if a module is missing."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import h5py
    import numpy as np
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = 20250718
rng = np.random.default_rng(SEED)


def random_pixels(shape, dtype="uint16"):
    return rng.integers(0, 1000, shape).astype(dtype)


def dumped_pixels(path, axes, contained):
    done = subprocess.run([args.dump, path, "pixels.raw", axes, ""] + contained * ["contain"], capture_output=True,
                          text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    about = json.loads(done.stdout)
    return about, np.fromfile("pixels.raw", about["type"]).reshape(about["shape"])


def check_read(name, path, array, voxel=(None, None, None), notes=(), axes="", **facts):
    """Reads a file, and compares it with `array` (t, c, z, y, x). Note n must contain all words of `notes[n]`."""
    for contained in (False, True):
        about, data = dumped_pixels(path, axes, contained)
        if about is None:
            check(False, name, data)
            continue
        check(about["type"] == array.dtype.name, name, "type", about["type"])
        check(data.shape == array.shape and np.array_equal(data, array, equal_nan=data.dtype.kind == "f"), name,
              "pixels", data.shape)
        check(about["voxel"] == list(voxel), name, "voxel size", about["voxel"], "expected", voxel)
        said = about["notes"]
        check(len(said) == len(notes) and all(all(w in s for w in n) for n, s in zip(notes, said)), name, "notes",
              said)
        for key, value in facts.items():
            check(about[key] == value, name, key, about[key], "expected", value)


def check_refused(name, path, *words, axes=""):
    for contained in (False, True):
        about, text = dumped_pixels(path, axes, contained)
        check(about is None and all(w in text for w in words) and text.count("\n") == 0, name, "gave", about or text)


def imaris_string(text):
    """Returns a text as Imaris writes it: an array of single characters."""
    return np.array([c.encode() for c in text], "S1")


SIZES = [0.5, 0.25, 0.125]


def fiji():
    v = random_pixels((2, 3, 4, 6, 8))
    with h5py.File("fiji.h5", "w") as f:
        for t in range(2):
            for c in range(3):
                f.create_dataset(f"t{t}/channel{c}", data=v[t, c], compression=1 if c else None) \
                    .attrs["element_size_um"] = SIZES
    check_read("fiji", "fiji.h5", v, SIZES, format="Fiji HDF5", axes="TCZYX")
    check_read("fiji, one", "fiji.h5:/t1/channel2", v[1:, 2:], SIZES, axes="ZYX")
    check_refused("fiji, axes", "fiji.h5", "TCZYX", "name one", axes="ZYX")
    check_read("fiji, known axes", "fiji.h5", v, SIZES, axes="TCZYX")
    with h5py.File("fiji.h5", "a") as f:
        f["t1/channel2"].attrs["element_size_um"] = [1.0, 1, 1]
        f["other"] = v[0, 0]
    check_read("fiji, sizes differ", "fiji.h5", v, SIZES, [["/t1/channel2", "element_size_um"], ["1 other dataset"]])
    with h5py.File("fiji.h5", "a") as f:
        f["data"] = v[0]
    check_read("fiji and /data", "fiji.h5", v[:1], notes=[["CZYX", "assumed"], ["7 other datasets"]])
    with h5py.File("fiji.h5", "a") as f:
        del f["t1/channel1"], f["data"]
    check_refused("fiji, volume missing", "fiji.h5", "5 volumes for 2 times and 3 channels", "fiji.h5:/t0/channel0")
    with h5py.File("fiji.h5", "w") as f:  # channel 10 comes after channel 9
        for t in (2, 10):
            f[f"t{t}/channel0"] = v[t // 10, 0, 0]
    check_read("fiji, planes", "fiji.h5", v[:, :1, :1], axes="TYX")
    rgb = random_pixels((4, 6, 8, 3), "uint8")
    with h5py.File("fiji.h5", "w") as f:
        f["t0/channel0"] = rgb
    check_read("fiji, colors", "fiji.h5", np.moveaxis(rgb, 3, 0)[None], notes=[["colors"]])


def bdv_cells(file, v, prefix="", **attributes):
    for t in range(v.shape[0]):
        for s in range(v.shape[1]):
            file.create_dataset(f"{prefix}t{t:05}/s{s:02}/0/cells", data=v[t, s], chunks=(2, 4, 4), compression=1)
    bdv_tables(file, v.shape[1], **attributes)


def bdv_tables(file, setups, **attributes):
    for s in range(setups):
        file[f"s{s:02}/resolutions"] = np.ones((1, 3))
        file[f"s{s:02}/subdivisions"] = np.full((1, 3), 4, np.int32)
        file[f"s{s:02}"].attrs.update(attributes)


def bdv_types():
    v = random_pixels((1, 2, 4, 6, 8), "int16") - np.int16(500)
    for said, dtype in ((None, "uint16"), ("int16", "int16"), ("uint16", "uint16")):
        with h5py.File("b.h5", "w") as f:
            bdv_cells(f, v, **({"dataType": said} if said else {}))
        check_read(f"bdv, {said}", "b.h5", v.view(dtype), format="BigDataViewer HDF5")
    with h5py.File("b.h5", "a") as f:
        f["s00"].attrs["dataType"] = "int16"
    check_refused("bdv, types differ", "b.h5", "int16", "uint16", "/s00", "/s01")
    for dtype in ("uint8", "uint16", "float32"):
        with h5py.File("b.h5", "w") as f:
            bdv_cells(f, v.astype(dtype), dataType=dtype)
        check_read(f"bdv, {dtype}", "b.h5", v.astype(dtype))
    with h5py.File("b.h5", "a") as f:
        f["s00"].attrs["dataType"] = f["s01"].attrs["dataType"] = "uint8"
    check_read("bdv, wrong type", "b.h5", v.astype("float32"), notes=[["/s00", "uint8", "float32"], ["/s01"]])


def links():
    v = random_pixels((2, 1, 4, 6, 8), "uint16")
    os.mkdir("split")
    for t in range(2):
        with h5py.File(f"split/d-0{t}.h5", "w") as f:
            bdv_cells(f, v[t:t + 1])
    with h5py.File("split/contiguous.h5", "w") as f:
        f.create_dataset("before", data=v[0])
        f["image"] = v[1, 0]
        f["image"].attrs["element_size_um"] = SIZES
        f["to fiji"] = h5py.ExternalLink("../fiji/f.h5", "/")
    os.mkdir("fiji")
    with h5py.File("fiji/f.h5", "w") as f:
        f["t0/channel0"], f["t0/channel1"] = v[0, 0], v[1, 0]
    with h5py.File("split/d.h5", "w") as f:
        bdv_tables(f, 1)
        for t in range(2):
            f[f"t{t:05}/s00/0/cells"] = h5py.ExternalLink(f"d-0{t}.h5", "/t00000/s00/0/cells")
    check_read("bdv, split", "split/d.h5", v, format="BigDataViewer HDF5")
    check_read("bdv, split, one", "split/d.h5:/t00001/s00/0/cells", v[1:])
    with h5py.File("split/d.h5", "w") as f:
        bdv_tables(f, 1)
        f["t00000"] = h5py.ExternalLink("d-00.h5", "/t00000")
        f["t00001"] = h5py.ExternalLink(os.path.abspath("split/d-01.h5"), "/t00000")
    check_read("bdv, links to groups", "split/d.h5", v)
    with h5py.File("split/l.h5", "w") as f:
        f["data"] = h5py.ExternalLink("contiguous.h5", "/image")
        f["soft"] = h5py.SoftLink("/folder/contents/image")
        f["folder/contents"] = h5py.ExternalLink("contiguous.h5", "/")
    check_read("link to a dataset", "split/l.h5:/data", v[1:], SIZES)
    check_read("soft link through an external one", "split/l.h5:/soft", v[1:], SIZES)
    check_read("dataset of a linked group", "split/l.h5:/folder/contents/image", v[1:], SIZES)
    check_read("links of a linked file", "split/l.h5:/folder/contents/to fiji/t0/channel1", v[1:])
    check_refused("names through links", "split/l.h5:/nowhere", "/data", "/folder/contents/image",
                  "/folder/contents/to fiji/t0/channel0")
    with h5py.File("split/group.h5", "w") as f:
        f["t0"] = h5py.ExternalLink("../fiji/f.h5", "/t0")
    check_read("fiji, linked", "split/group.h5", np.stack([v[:, 0]]), format="Fiji HDF5")
    with h5py.File("split/l.h5", "w") as f:
        f["to self"] = h5py.ExternalLink("l.h5", "/")
        f["circle"] = h5py.ExternalLink("l.h5", "/circle")
        f["soft circle"] = h5py.SoftLink("/soft circle")
        f["data"] = v[0, 0]
    check_read("links to the file itself", "split/l.h5", v[:1])
    check_read("dataset through itself", "split/l.h5:/to self/to self/data", v[:1])
    for name in ("circle", "soft circle"):
        check_refused(name, "split/l.h5:/" + name, "16 links", name)
    os.rename("split/d-01.h5", "split/away.h5")
    with h5py.File("split/d.h5", "w") as f:
        bdv_tables(f, 1)
        for t in range(2):
            f[f"t{t:05}/s00/0/cells"] = h5py.ExternalLink(f"d-0{t}.h5", "/t00000/s00/0/cells")
        f["other"] = h5py.ExternalLink("d-00.h5", "/nothing")
    check_refused("bdv, partition missing", "split/d.h5", "d-01.h5", "does not exist", "split")
    check_read("bdv, the partition that is there", "split/d.h5:/t00000/s00/0/cells", v[:1])
    check_refused("link to no object", "split/d.h5:/other", "no dataset /other")
    with open("split/d-01.h5", "wb") as f:
        f.write(b"not HDF5, but a text")
    check_refused("bdv, partition of another kind", "split/d.h5", "d-01.h5", "cannot be read as HDF5")
    with open("split/away.h5", "rb") as whole, open("split/d-01.h5", "wb") as f:
        f.write(whole.read()[:-200])
    check_refused("bdv, partition cut", "split/d.h5", "d-01.h5")
    with h5py.File("split/tables.h5", "w") as f:
        bdv_tables(f, 1)
    check_refused("bdv, only tables", "split/tables.h5", "tables", "no image")
    with h5py.File("split/tables.h5", "a") as f:
        del f["s00/subdivisions"]
    check_refused("bdv, only one table", "split/tables.h5", "tables", "no image")
    # A dataset behind an external link is refused if it claims more than its own file can hold.
    with h5py.File("split/claims.h5", "w") as f:
        f.create_dataset("data", (10**5, 10**4, 10**4), "uint8", chunks=(1, 1000, 1000))
    with h5py.File("split/l.h5", "w") as f:
        f["data"] = h5py.ExternalLink("claims.h5", "/data")
    check_refused("size of a linked file", "split/l.h5", "claims.h5:/data", "cannot hold")


SPIM = """<?xml version="1.0" encoding="UTF-8"?>
<SpimData version="0.2"><BasePath type="relative">{base}</BasePath><SequenceDescription>
<ImageLoader format="{loader}"><hdf5 type="{kind}">{file}</hdf5></ImageLoader><ViewSetups>{setups}
<Attributes name="channel"><Channel><id>0</id><name>488</name></Channel><Channel><id>1</id><name>561</name></Channel>
</Attributes></ViewSetups></SequenceDescription></SpimData>"""
SETUP = """<ViewSetup><id>{id}</id><name>{name}</name><voxelSize><unit>µm</unit><size>{x} 0.25 0.5</size></voxelSize>
<attributes><channel>{channel}</channel><angle>{angle}</angle></attributes></ViewSetup>"""


def write_xml(path, setups=((0, "a", 0, 0), (1, "b", 1, 0)), base=".", loader="bdv.hdf5", kind="relative",
              file="b.h5", x=("0.125", "0.125")):
    text = "".join(SETUP.format(id=i, name=n, channel=c, angle=a, x=x[i]) for i, n, c, a in setups)
    with open(path, "w", encoding="utf-8") as f:
        f.write(SPIM.format(base=base, loader=loader, kind=kind, file=file, setups=text))


def bdv_xml():
    v = random_pixels((1, 2, 4, 6, 8))
    os.makedirs("xml/deep")
    with h5py.File("xml/deep/b.h5", "w") as f:
        bdv_cells(f, v, dataType="uint16")
    write_xml("xml/other name.xml", base="deep")
    check_read("xml", "xml/other name.xml", v, SIZES, channels=["488", "561"], format="BigDataViewer HDF5")
    check_read("xml, dataset", "xml/other name.xml:/t00000/s01/0/cells", v[:, 1:], SIZES, channels=["561"])
    write_xml("xml/absolute.xml", kind="absolute", file=os.path.abspath("xml/deep/b.h5"))
    check_read("xml, absolute", "xml/absolute.xml", v, SIZES)
    write_xml("xml/deep/b.xml", ((0, "left", 0, 0), (1, "right", 0, 1)), x=("0.125", "0.25"))
    check_read("xml beside, views", "xml/deep/b.h5", v, SIZES, [["setup 1", "voxel size"], ["angle", "2 views"]],
               channels=["left", "right"])
    with open("xml/deep/b.xml", "r+b") as f:
        whole = f.read()
        f.seek(0)
        f.write(b"\xef\xbb\xbf \n" + whole)
    check_read("xml after a byte order mark", "xml/deep/b.xml", v, SIZES, [["setup 1"], ["angle"]])
    write_xml("xml/loader.xml", loader="bdv.n5")
    check_refused("xml, other loader", "xml/loader.xml", "\"bdv.n5\"", "resave")
    write_xml("xml/missing.xml", file="nowhere.h5")
    check_refused("xml, file missing", "xml/missing.xml", "nowhere.h5", "does not exist")
    for text, words in (("<html><body>no image</body></html>", ("<html>", "SpimData")), ("<a", ("damaged",)),
                        ("<?xml version='1.0'?><SpimData/>", ("format \"\"", "resave"))):
        with open("xml/x.xml", "w") as f:
            f.write(text)
        check_refused("xml " + text, "xml/x.xml", *words)


def imaris(name, sizes=None, whole=(4, 6, 8), extents=(2, 0.6, 0.8), level=0, unit="um"):
    a = random_pixels((4, 6, 8))
    with h5py.File(name, "w") as f:
        info = f.create_group("DataSetInfo/Image")
        for axis, letter in enumerate("ZYX"):
            if whole:
                info.attrs[letter] = imaris_string(str(whole[axis]))
            info.attrs[f"ExtMin{2 - axis}"] = imaris_string("1")
            info.attrs[f"ExtMax{2 - axis}"] = imaris_string(str(1 + extents[axis]))
        info.attrs["Unit"] = imaris_string(unit)
        for number in range(level + 1):
            data = f.create_dataset(f"DataSet/ResolutionLevel {number}/TimePoint 0/Channel 0/Data",
                                    data=np.pad(a, ((0, 4), (0, 58), (0, 56))), chunks=(8, 64, 64))
            for axis, letter in enumerate("ZYX"):
                if sizes:
                    data.parent.attrs["ImageSize" + letter] = imaris_string(str(sizes[axis]))
    return a[None, None], np.pad(a, ((0, 4), (0, 58), (0, 56)))[None, None]


def imaris_sizes():
    a, padded = imaris("i.ims")
    check_read("imaris, sizes of the image", "i.ims", a, [0.5, 0.1, 0.1], format="Imaris HDF5")
    a, padded = imaris("i.ims", (4, 6, 8))
    check_read("imaris, both sizes", "i.ims", a, [0.5, 0.1, 0.1])
    a, padded = imaris("i.ims", (4, 6, 8), (4, 6, 9))
    check_read("imaris, sizes differ", "i.ims", a, [0.5, 0.1, 0.1], [["ImageSizeX", "8", "9"]])
    a, padded = imaris("i.ims", None, (9, 6, 8), (4, 0.6, 0.8))
    check_read("imaris, more than is stored", "i.ims", np.concatenate([a, 0 * a], 2), [0.5, 0.1, 0.1],
               [["8 samples along Z", "9"]])
    a, padded = imaris("i.ims", None, None, (4, 6.4, 6.4))
    check_read("imaris, no sizes", "i.ims", padded, [0.5, 0.1, 0.1], [["padding", "not in the file"]])
    a, padded = imaris("i.ims", None, level=1)
    check_read("imaris, another level", "i.ims:/DataSet/ResolutionLevel 1/TimePoint 0/Channel 0/Data", padded,
               [0.25, 0.009375, 0.0125], [["padding"]])


def axes():
    v = random_pixels((2, 3, 4, 6, 8))

    def write(array, labels=None, tags=None, **attributes):
        with h5py.File("a.h5", "w") as f:
            d = f.create_dataset("image", data=array)
            for i, label in enumerate(labels or ()):
                d.dims[i].label = label
            if tags:
                d.attrs["axistags"] = json.dumps({"axes": tags})
            d.attrs.update(attributes)

    write(v)
    check_read("5 dimensions", "a.h5", v, notes=[["TCZYX", "assumed", "--axes"]])
    write(v[0])
    check_read("4 dimensions", "a.h5", v[:1], notes=[["CZYX", "assumed", "--axes"]])
    check_read("4 dimensions, axes", "a.h5", v[0][:, None], axes="TZYX")
    write(v[0, 0])
    check_read("3 dimensions", "a.h5", v[:1, :1])
    for labels in (["t", "z", "y", "x"], ["Time", "depth", "row", "column"]):
        write(v[:, 0], labels)
        check_read(f"labels {labels}", "a.h5", v[:, :1], axes="TZYX")
    write(np.moveaxis(v[0], 0, 3), ["z", "y", "x", "channel"])
    check_read("labels, channels last", "a.h5", v[:1])
    write(v[0, 0], ["t", "y", "x"])
    check_read("labels tyx", "a.h5", v[0, 0][:, None, None])
    write(v[0], ["", "z", "y", "x"])
    check_read("labels of some", "a.h5", v[:1], notes=[["CZYX", "assumed"]])
    for labels in (["sample", "z", "y", "x"], ["z", "z", "y", "x"], ["", "c", "y", "x"], ["t", "c", "z", "y"]):
        write(v[0], labels)
        check_refused(f"labels {labels}", "a.h5", f"\"{labels[0]}\"", "--axes")
        check_read(f"labels {labels}, axes", "a.h5", v[:1], axes="CZYX")
    write(v[0, 0], ["a", "b", "c"])
    check_read("labels abc", "a.h5", v[:1, :1], notes=[["\"a\", \"b\", \"c\"", "ZYX is assumed"]])
    tags = [{"key": k, "typeFlags": 2, "resolution": r, "description": ""} for k, r in
            zip("tzyxc", (0, 500.0, 250.0, 125.0, 0))]
    write(np.moveaxis(v, 1, 4), tags=tags)
    check_read("axistags", "a.h5", v, notes=[["z, y, x", "without a unit"]])
    write(np.moveaxis(v, 1, 4), tags=tags, axis_units=json.dumps(dict.fromkeys("zyx", "nm")))
    check_read("axistags, units", "a.h5", v, SIZES)
    write(np.moveaxis(v, 1, 4), tags=tags, element_size_um=[1.0, 2, 3])
    check_read("axistags, element_size_um", "a.h5", v, [1, 2, 3])
    write(np.moveaxis(v, 1, 4), tags=tags, element_size_um=[1.0, 0, 0],
          axis_units=json.dumps({"y": "micron", "x": "furlong"}))
    check_read("axistags, some units", "a.h5", v, [1, 250, None], notes=[["along z, x", "without a unit"]])
    write(v[0], tags=[{"key": k} for k in "nzyx"])
    check_refused("axistags nzyx", "a.h5", "\"n\"", "--axes")
    write(v[0], tags=[{"key": k} for k in "zyx"])
    check_read("axistags of other rank", "a.h5", v[:1], notes=[["3 axes of 4"], ["assumed"]])


def netcdf():
    """Tests netCDF-4 and h5netcdf: dimension scales, one of them of a dimension without coordinates."""
    v = random_pixels((2, 4, 6, 8))
    z, y = np.arange(4) * 0.5, (1000 + np.arange(6) * 0.25).astype("f4")

    def write(x, unit="um", dtype="f8"):
        with h5py.File("n.nc", "w") as f:
            scales = {"time": np.arange(2.0), "z": z, "y": y, "x": np.asarray(x, dtype)}
            d = f.create_dataset("image", data=v)
            for i, (name, values) in enumerate(scales.items()):
                f[name] = values
                f[name].make_scale(name)
                f[name].attrs["units"] = "s" if name == "time" else unit
                d.dims[i].attach_scale(f[name])
            f["nobody's"] = np.arange(5)
            f["nobody's"].make_scale()

    write(np.arange(8) * 0.1)
    check_read("netcdf", "n.nc", v[:, None], [0.5, 0.25, 0.1], axes="TZYX")
    write(np.arange(8)[::-1] * 0.1, dtype="f4")
    check_read("netcdf, falling", "n.nc", v[:, None], [0.5, 0.25, 0.1])
    write(np.arange(8) * 100, "nm", "i4")
    check_read("netcdf, nm", "n.nc", v[:, None], [0.0005, 0.00025, 0.1])
    write(np.arange(8) * 0.1, "degrees_north")
    check_read("netcdf, no lengths", "n.nc", v[:, None])
    write(np.arange(8.0)**2)
    check_read("netcdf, uneven", "n.nc", v[:, None], [0.5, 0.25, None], [["along x", "not evenly spaced"]])
    with h5py.File("n.nc", "a") as f:
        f["mask"] = v[0] > 500
    check_refused("netcdf, two arrays", "n.nc", "which dataset", "/mask", "/image")


def choices():
    a, b = random_pixels((4, 6, 8)), random_pixels((4, 6, 8))
    for usual in ("data", "Data", "exported_data"):
        with h5py.File("c.h5", "w") as f:
            f[usual], f["table"], f["scalar"], f["words"] = a, np.arange(7), 3.0, ["text"]
        check_read(f"{usual} is the only array", "c.h5", a[None, None])
        with h5py.File("c.h5", "a") as f:
            f["a"] = f["z/deep"] = b
        check_read(f"{usual} of three", "c.h5", a[None, None], notes=[["2 other datasets", "c.h5:/NAME"]])
        check_read(f"{usual}, named", f"c.h5:/{usual}", a[None, None])
    with h5py.File("c.h5", "w") as f:
        f["stack"], f["times"], f["data"] = a, np.arange(4.0), np.arange(3)
    check_read("the only array of pixels", "c.h5", a[None, None])
    with h5py.File("c.h5", "w") as f:
        f["a"], f["b"] = a, b
    check_refused("two arrays", "c.h5", "which dataset", "/a", "/b")


def types():
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(4, 128, 128)
    for order in "<>":
        for options in ({}, {"chunks": (2, 64, 64), "compression": 1}):
            with h5py.File("t.h5", "w") as f:
                f.create_dataset("data", data=halves.astype(order + "f2"), **options)
            check_read(f"float16 {order} {options}", "t.h5", halves.astype("f4")[None, None])
    for dtype in ("int64", "uint64"):
        for order in "<>":
            for options in ({}, {"chunks": (2, 3, 4), "compression": 1}):
                a = random_pixels((4, 6, 8), dtype)
                a[1, 2, 3], a[0, 0, 0] = 2**53, 0 if dtype[0] == "u" else -2**53
                with h5py.File("t.h5", "w") as f:
                    f.create_dataset("data", data=a.astype(np.dtype(dtype).newbyteorder(order)), **options)
                check_read(f"{dtype} {order} {options}", "t.h5", a.astype("f8")[None, None])
                a[3, 4, 5] = 2**53 + 1
                with h5py.File("t.h5", "r+") as f:
                    f["data"][...] = a
                check_refused(f"{dtype} {order} {options}, large", "t.h5", "9007199254740993 at (3, 4, 5)", "2^53")
    a = random_pixels((4, 6, 8), "int64")
    a[2, 1, 0] = -2**53 - 1
    with h5py.File("t.h5", "w") as f:
        f["data"] = a
    check_refused("int64, very negative", "t.h5", "-9007199254740993 at (2, 1, 0)")
    mask = random_pixels((4, 6, 8)) > 500
    kinds = h5py.enum_dtype({"none": 0, "cell": 7, "border": 200}, "u1")
    signs = h5py.enum_dtype({"below": -1, "above": 1}, "i1")
    for options in ({}, {"chunks": (2, 3, 4), "compression": 1}, {"chunks": (2, 3, 4), "fletcher32": True}):
        with h5py.File("t.h5", "w") as f:
            f.create_dataset("bool", data=mask, **options)
            f.create_dataset("kinds", data=mask * np.uint8(200), dtype=kinds, **options)
            f.create_dataset("signs", data=2 * mask.astype("i1") - np.int8(1), dtype=signs, **options)
            f.create_dataset("long", data=mask.astype("i4"), dtype=h5py.enum_dtype({"a": 0, "b": 1}, "i4"), **options)
        check_read(f"bool {options}", "t.h5:/bool", mask.astype("u1")[None, None])
        check_read(f"enumeration {options}", "t.h5:/kinds", (mask * np.uint8(200))[None, None])
        check_read(f"signed enumeration {options}", "t.h5:/signs", (2 * mask.astype("i1") - np.int8(1))[None, None])
        check_refused(f"long enumeration {options}", "t.h5:/long", "type that is not supported")


def voxel_sizes():
    for sizes in ([0.5, 0, 0], [0, 0.25, 0.125], [0, 0, 0]):
        with h5py.File("v.h5", "w") as f:
            f["data"] = random_pixels((4, 6, 8))
            f["data"].attrs["element_size_um"] = sizes
            data = f["data"][()]
        known = [size or None for size in sizes]
        check_read(f"sizes {sizes}", "v.h5", data[None, None], known)
        subprocess.run([args.make, "w.h5", "copy", "v.h5"], check=True)
        check_read(f"sizes {sizes}, copied", "w.h5", data[None, None], known)
        with h5py.File("w.h5") as f:
            check(list(f["data"].attrs.get("element_size_um", [0, 0, 0])) == sizes, "element_size_um", sizes)


def channel_names():
    names = ["DAPI", "Größe µ 細胞", ""]
    v = random_pixels((1, 3, 4, 6, 8))
    with h5py.File("in.h5", "w") as f:
        f["data"] = v
        f["data"].attrs["channel_names"] = names
        f["one"] = v[0, 0]
        f["one"].attrs["channel_names"] = ["GFP"]
        f["wrong"] = v
        f["wrong"].attrs["channel_names"] = ["GFP", "RFP"]
    note = [["TCZYX", "assumed"]]
    check_read("channel names", "in.h5:/data", v, notes=note, channels=names)
    check_read("one channel name", "in.h5:/one", v[:, :1], channels=["GFP"])
    check_read("too few channel names", "in.h5:/wrong", v, notes=note, channels=[])
    for out, key in (("out.h5", "data"), ("deep.h5:/run/1", "run/1")):
        subprocess.run([args.make, out, "copy", "in.h5:/data"], check=True)
        check_read(f"channel names in {out}", out, v, channels=names)
        with h5py.File(out.split(":")[0]) as f:
            written = f[key].attrs.get("channel_names")
            check(written is not None and list(written) == names and
                  h5py.check_string_dtype(written.dtype).encoding == "utf-8", out, "channel_names", written)


def hints():
    a = random_pixels((4, 6, 8))
    with h5py.File("plain.h5", "w") as f:
        f["data"] = a
    layout = h5py.VirtualLayout(a.shape, a.dtype)
    layout[:] = h5py.VirtualSource("plain.h5", "data", a.shape)
    with h5py.File("virtual.h5", "w") as f:
        f.create_virtual_dataset("data", layout)
    with h5py.File("raw.h5", "w") as f:
        f.create_dataset("data", a.shape, a.dtype, external=[("raw.bin", 0, a.nbytes)])
    for name in ("virtual.h5", "raw.h5"):
        check_refused(name, name, name + ":/data", "h5repack -l CONTI")
    if h5py.h5z.filter_avail(h5py.h5z.FILTER_LZF):
        with h5py.File("lzf.h5", "w") as f:
            f.create_dataset("data", data=a, compression="lzf")
        check_refused("lzf", "lzf.h5", "32000 (lzf)", "h5repack lacks it", "h5py")
    # A version of the layout message that no HDF5 library knows.
    with open("plain.h5", "rb") as f:
        content = f.read()
    with h5py.File("plain.h5") as f:
        address = f["data"].id.get_offset().to_bytes(8, "little")
    at = content.index(b"\x03\x01" + address)  # layout message: version 3, contiguous
    with open("newer.h5", "wb") as f:
        f.write(content[:at] + b"\x09" + content[at + 1:])
    check_refused("newer", "newer.h5", "version", "newer HDF5 than ", "create_dataset")
    with open("cut.h5", "wb") as f:
        f.write(content[:len(content) // 2])
    check_refused("cut", "cut.h5", "copy it again")


parser = argparse.ArgumentParser()
for option in ("dump", "make"):
    parser.add_argument("--" + option, required=True, type=os.path.abspath)
args = parser.parse_args()
print("seed", SEED)
for part in (fiji, bdv_types, links, bdv_xml, imaris_sizes, axes, netcdf, choices, types, voxel_sizes, channel_names,
             hints):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        part()
        os.chdir("/")
finish()
