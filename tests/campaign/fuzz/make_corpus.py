# SPDX-License-Identifier: Apache-2.0
"""Writes small whole files from which fuzzing starts. make_corpus.py FOLDER: makes a folder in it for each target.

Ends with 77 (skipped) if a module is missing."""
import base64
import json
import os
import sys
import wave
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../io"))
try:
    import h5py
    import numpy as np
    import tifffile
    from tiff_files import JPEG_2000, lsm_table, ome_image, ome_text, write_lsm, write_page, write_pages, write_stk
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

root = sys.argv[1]
for target in ("tiff", "hdf5", "npy", "mrc", "wav", "raw", "description", "bdv", "text", "psf", "command"):
    os.makedirs(os.path.join(root, target), exist_ok=True)


def seed_path(target, name):
    return os.path.join(root, target, name)


samples = np.arange(2 * 6 * 5, dtype=np.uint16).reshape(2, 6, 5)
for number, options in enumerate(({"imagej": True, "metadata": {"axes": "ZYX", "spacing": 0.3, "unit": "um"}},
                                  {"ome": True, "metadata": {"axes": "ZYX", "PhysicalSizeX": 0.1}},
                                  {"compression": "zlib"},
                                  {"bigtiff": True}, {"byteorder": ">"}, {"tile": (16, 16)}, {"rowsperstrip": 2},
                                  {"metadata": {"axes": "ZYX"}})):
    tifffile.imwrite(seed_path("tiff", f"{number}.tif"), samples, photometric="minisblack", **options)
write_stk(seed_path("tiff", "a.stk"), samples, [0, 0.3], pixel=0.1)
write_lsm(seed_path("tiff", "a.lsm"), samples.reshape(1, 1, 2, 6, 5), lsm_table(2, 1, 1))
scifio = ("SCIFIO=0.46.0\naxes=X,Y,Channel\nlengths=5,6,2\nscales=0.1,0.1,1.0\nunits=micron,micron,null\nimages=2\n"
          "channels=2\n")
write_pages(seed_path("tiff", "scifio.tif"), samples, scifio)
write_pages(seed_path("tiff", "ome_label.tif"), samples, ome_text(
    ome_image(0, "i", [("ome_label.tif", "urn:uuid:1", 1)], 5, 6, 1) +
    ome_image(1, "label", [("ome_label.tif", "urn:uuid:1", 0)], 5, 6, 1), "urn:uuid:1"))
write_pages(seed_path("tiff", "foreign.tif"), samples, "scanimage.SI.hChannels = [1 2]")
tifffile.imwrite(seed_path("tiff", "scenes.tif"), samples, photometric="minisblack", metadata={"axes": "RYX"})
tifffile.imwrite(seed_path("tiff", "three.tif"), np.zeros((3, 6, 5), np.uint16), metadata={"axes": "ZYX"})
for bits, sample_format in ((1, 1), (12, 1), (16, 3), (64, 2)):
    write_page(seed_path("tiff", f"bits_{bits}.tif"), 4, 2, bits, bytes(range(64))[:bits], sample_format)
for bits, text in JPEG_2000.items():
    write_page(seed_path("tiff", f"jpeg_2000_{bits}.tif"), 8, 6, bits, base64.b64decode(text), compression=34712)
for number, options in enumerate(({}, {"chunks": (1, 3, 5)}, {"chunks": (1, 3, 5), "compression": 1},
                                  {"scaleoffset": 0})):
    for version in ("earliest", "latest"):
        with h5py.File(seed_path("hdf5", f"{number}_{version}.h5"), "w", libver=version) as file:
            file.create_dataset("data", data=samples, **options).attrs["element_size_um"] = [0.3, 0.1, 0.1]


def letters(text):
    """Returns a text as Imaris writes it: an array of single characters."""
    return np.frombuffer(text.encode(), dtype="S1")


for version in ("earliest", "latest"):
    with h5py.File(seed_path("hdf5", f"texts_{version}.h5"), "w", libver=version) as file:
        data = file.create_dataset("group/data", data=samples.astype(">i2"), chunks=(2, 2, 5), shuffle=True,
                                   compression=1, fletcher32=True, maxshape=(None, 6, 5))
        data.attrs.update({"axistags": '{"axes": [{"key": "z"}, {"key": "y"}, {"key": "x"}]}', "unit": "um",
                           "name": np.bytes_("fixed"), "scale_factor": 0.5, "add_offset": 1, "frame_interval_s": 2.0})
        file["others"] = samples.astype("f4")
    with h5py.File(seed_path("hdf5", f"bdv_{version}.h5"), "w", libver=version) as file:
        for name in ("t00000/s00/0/cells", "t00000/s01/0/cells"):
            file.create_dataset(name, data=samples.astype("i2"), chunks=(1, 3, 5))
        file["s00/resolutions"] = [[1.0, 1.0, 1.0]]
    with h5py.File(seed_path("hdf5", f"imaris_{version}.h5"), "w", libver=version) as file:
        channel = file.create_group("DataSet/ResolutionLevel 0/TimePoint 0/Channel 0")
        channel.create_dataset("Data", data=samples, chunks=(2, 6, 5), compression=1)
        channel.attrs.update({f"ImageSize{axis}": letters(str(size)) for axis, size in zip("ZYX", (2, 5, 4))})
        image = file.create_group("DataSetInfo/Image")
        image.attrs.update({"Unit": letters("um"), **{f"ExtMin{axis}": letters("0") for axis in "012"},
                            **{f"ExtMax{axis}": letters("2.5") for axis in "012"}})
        file.create_group("DataSetInfo/Channel 0").attrs.update({"Name": letters("a"), "Color": letters("1 0.5 0")})
    with h5py.File(seed_path("hdf5", f"fiji_{version}.h5"), "w", libver=version) as file:
        for name in ("t0/channel0", "t0/channel1"):
            file.create_dataset(name, data=samples).attrs["element_size_um"] = [0.3, 0.1, 0.1]
        file["mask"] = samples > 20
    with h5py.File(seed_path("hdf5", f"scales_{version}.h5"), "w", libver=version) as file:
        data = file.create_dataset("image", data=samples)
        for i, name in enumerate("zyx"):
            file[name] = np.arange(samples.shape[i]) * 0.5
            file[name].make_scale(name)
            file[name].attrs["units"] = "um"
            data.dims[i].attach_scale(file[name])
            data.dims[i].label = name
        data.attrs["channel_names"] = ["a"]
    with h5py.File(seed_path("hdf5", f"types_{version}.h5"), "w", libver=version) as file:
        data = file.create_dataset("data", data=samples.astype("i8"), chunks=(1, 3, 5))
        data.attrs["axistags"] = '{"axes": [{"key": "z", "resolution": 0.5}, {"key": "y"}, {"key": "x"}]}'
        data.attrs["axis_units"] = '{"z": "um"}'
    for kind in ("f2", "?"):
        with h5py.File(seed_path("hdf5", f"{'half' if kind == 'f2' else 'bool'}_{version}.h5"), "w",
                       libver=version) as file:
            file["data"] = samples.astype(kind)
    # The file that is read is called /proc/self/fd/7 or similar: some of these links lead to the file itself.
    with h5py.File(seed_path("hdf5", f"links_{version}.h5"), "w", libver=version) as file:
        file["s00/resolutions"] = [[1.0, 1.0, 1.0]]
        file["s00"].attrs["dataType"] = "int16"
        file["data"] = samples.astype("i2")
        for number in range(3, 13):
            file[f"linked{number}"] = h5py.ExternalLink(str(number), "/data")
            file[f"group{number}"] = h5py.ExternalLink(str(number), "/")
        file["soft"] = h5py.SoftLink("/group7/data")
# Found by fuzzing: HDF5 reads beyond an attribute's memory, or memory that it has freed.
for number, packed in enumerate((
    "eNrtVblOw0AQfbuOg0kIYM4QjoT7hoDDXQSkBKUCBBR0SSRcIBEaghRRU8AnwBfwC/wBPR9kxngWxRYIWpBf8zSzsztj6c3zQ6mwn4ilYnBh"
    "GIigE81wGA3DH6vzCrNgvmd+liovPs6SnDf5/WDd6XGx6FY7Aag+2YjHBr6EQIh/jVJx78jlM46VSl+lv+68Wq+SSn8UxN0v+wpEvbeEijc9"
    "1ryEah9l1pm/y2s0ueD5ZdOX6KRsNy+lFJ7OvY2hNiz5hm+uNt48Qfd7kKzYl3bNvqqXry9u7fJNDWYmzxd3kYsj52g8vxA8B3xsSViW9ZZ/"
    "enTx8snBjTs5OCy4G62yGS3UZogQfxeCfEij/75OXtVCe92KGOLkLwm0o4PcxUQXusljetGHfnKlAaQwiCEMYwRpZDCKMYxjApOYwjRmMIs5"
    "zGMBi1jCMrJYwSos5LCGdWyQe25hGzt4BzTkSh0=",
    "eNrtVUtOAkEQfT0DOoKIGBeIv/H/VxD8L9AEDCs16sIdkjgLE3EjJsQT6BH0BF7BK7h161nE7ulqGGZh0Giipl8yqdRnqqvTr/LuCrndSCgR"
    "goBlIYBueFEjVK1mX+VtU1rm8xtx5ubilI9R/1vq9mjI+PFhPi+qRW9R/0ZnqL7JgLQ0BtQ8LYN9nPbfS+N3oZDfORD2hHzF0lNf3VmpUlLP"
    "PezhzVcpwtDmxhlT/rq0pgwQfXlVcw9/PEjW5JOLGpt/AZd3UcpbbtwwDCZ5LjeGH0NMrzbN1Uk3Z7xfL2pwLpzy82uleHV+4xSvy4jZWfpx"
    "G5kwMjW1j3QRsz6PRNrFS/bhXuCpbhsbJ3G0t58TG221tlaakH5CpozvISQ0ITUhPwHxHs6leI+f6c/+1W00VTRVNP4QGBc4kwtYkAtcOxeD"
    "DoQQ5qIUQReiXJJi6PEwIY4+JNCPAQxiiMuyjRGMYgzjmMAkpjCNGcxiDvNYwCKWkEQKy0gjgxWsYo1L7gY2sYV3q9KAig==")):
    with open(seed_path("hdf5", f"attributes_{number}.h5"), "wb") as file:
        file.write(zlib.decompress(base64.b64decode(packed)))
for number, dtype in enumerate(("<u2", ">f4", "<f8", "<c8", "<i8")):
    np.save(seed_path("npy", f"{number}.npy"), samples.astype(dtype))
for mode, order in ((0, "<"), (1, ">"), (2, "<"), (4, "<"), (6, ">"), (12, "<")):
    header = np.zeros(256, f"{order}i4")
    header[[0, 1, 2, 3, 7, 8, 9, 16, 17, 18, 22]] = 5, 4, 3, mode, 5, 4, 3, 1, 2, 3, 1
    header[10:13] = np.array([10, 8, 6], f"{order}f4").view(f"{order}i4")
    text = bytearray(header.tobytes())
    text[208:214] = b"MAP " + (b"DD" if order == "<" else b"\x11\x11")
    with open(seed_path("mrc", f"{mode}.mrc"), "wb") as file:
        file.write(text + bytes(60 * {0: 1, 2: 4, 4: 8}.get(mode, 2)))
for width in (1, 2, 3):
    with wave.open(seed_path("wav", f"{width}.wav"), "wb") as file:
        file.setparams((2, width, 48000, 0, "NONE", ""))
        file.writeframes(bytes(60 * width))
samples.tofile(seed_path("raw", "a.ci16"))


def write_texts(target, texts):
    for number, text in enumerate(texts):
        with open(seed_path(target, str(number)), "w") as file:
            file.write(text)


descriptions = [tifffile.TiffFile(seed_path("tiff", f"{number}.tif")).pages[0].description for number in (0, 1, 7)]
descriptions.append(scifio)
write_texts("description", [
    *descriptions,
    'ImageJ=1.53t\nimages=12\nchannels=2\nslices=3\nframes=2\nhyperstack=true\nunit=micron\nspacing=0.3\n'
    'finterval=1.5\ncf=0\nc0=-32768.0\nc1=1.0\n',
    '{"shape": [2, 6, 6, 5], "axes": "CZYX", "spacing": 0.3, "unit": "um"}'])
write_texts("bdv", ["""<?xml version="1.0" encoding="UTF-8"?>
<SpimData version="0.2"><BasePath type="relative">.</BasePath><SequenceDescription><ViewSetups><ViewSetup><id>0</id>
<size>5 6 2</size><voxelSize><unit>um</unit><size>0.1 0.1 0.3</size></voxelSize></ViewSetup></ViewSetups>
</SequenceDescription></SpimData>""", """<SpimData><BasePath type="relative">.</BasePath><SequenceDescription>
<ImageLoader format="bdv.hdf5"><hdf5 type="relative">a.h5</hdf5></ImageLoader><ViewSetups><ViewSetup><id>0</id>
<name>a</name><voxelSize><unit>um</unit><size>0.1 0.1 0.3</size></voxelSize>
<attributes><channel>0</channel><angle>1</angle></attributes>
</ViewSetup><Attributes name="channel"><Channel><id>0</id><name>GFP</name></Channel></Attributes></ViewSetups>
</SequenceDescription></SpimData>"""])
# The first letter chooses the parser: see fuzz_text.cpp.
write_texts("text", ("a8G", "a1.5GiB", "breflect", "bconstant:3", "ccenter", "c3,4,5", "duint16", "eci16",
                     "fa.h5:/data", "g1.5um", "h200,65,65nm", "h0.2um,65nm,65nm", "i0.52um", "i520",
                     "j64,256,256", "kpeak:7", "l10:200", "mcausal", "nmicron", "o\\u00B5m"))
psf = {"model": "gibson-lanni", "modality": "confocal", "na": 1.2, "wavelength_um": 0.52, "excitation_um": 0.488,
       "pinhole_au": 1, "ni": 1.33, "ni0": 1.33, "ng": 1.5, "ng0": 1.5, "ns": 1.33, "ti0_um": 150, "tg_um": 170,
       "tg0_um": 170, "depth_um": 5, "voxel_um": [0.2, 0.1, 0.1], "size": [9, 9, 9], "oversampling": 2, "focus_um": 0.4}
write_texts("psf", [json.dumps(psf), json.dumps({key: psf[key] for key in ("na", "wavelength_um", "voxel_um", "size")}),
                    json.dumps({**psf, "modality": "light-sheet", "sheet_fwhm_um": 2})])
write_texts("command", ["\n".join(words.split()) for words in (
    "convolve a.tif k.tif -o b.tif --mode same --boundary constant:3 --method tiled --max-host-mem 8G --overwrite -q",
    "convolve a.tif b.tif --kernel k.tif --output-dir out --device gpu:0,1 --tiles 1,2,2 --json",
    "deconvolve a.tif k.tif -o b.tif --iterations 10 --background auto --tv 0.002",
    "filter x.npy h.npy -o y.npy --post power --window peak:100 --range 10:200 --raw-type ci16",
    "psf --na 1.4 --wavelength 520nm --voxel 200,65,65nm --size 9,33,33 -o p.tif --model gibson-lanni",
    "phantom --size 12,40,36 --count 3 --seed 1 -o p.tif",
    "simulate p.tif k.tif --voxel 200,100,100nm -o s.tif --seed 5",
    "info a.tif --stats --json", "preview a.tif -o b.png", "project a.tif -o b.tif", "doctor --json",
    "compare a.tif k.tif --repeat 3 -o report", "process a.zarr k.tif -o b.zarr", "convolve --help")])
