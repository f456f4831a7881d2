# SPDX-License-Identifier: Apache-2.0
"""Converts images between all formats and types, and compares pixels and metadata by tifffile, h5py and NumPy.
check_convert.py CONVOLUME HDF5.

Ends with 77 (skipped) if a module is missing."""
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
    import tifffile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

from png_oracle import read_png

if sys.argv[2] != "ON":
    print("SKIPPED: convolume is built without HDF5")
    sys.exit(77)
SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250611))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])
TARGETS = ("o.tif", "o.ome.tif", "o.h5", "o.h5:/run/1", "o.npy")


def run(*words, status=0, names=()):
    done = subprocess.run([command, "convert", *map(str, words)], capture_output=True, text=True)
    check(done.returncode == status, words, "ended with", done.returncode, done.stderr)
    if status:
        check(done.stderr.count("error:") == 1, words, "not one sentence:", done.stderr)
    for name in names:
        check(name in done.stderr, words, "do not name", name, ":", done.stderr)
    return done


def info(path):
    done = subprocess.run([command, "info", path, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def pixels(path):
    """Returns the pixels of a file as t, c, z, y, x without axes of extent 1."""
    if path.endswith(".npy"):
        return np.load(path).squeeze()
    if ".h5" in path:
        with h5py.File(path.split(":")[0]) as file:
            return file[path.partition(":")[2] or "data"][()].squeeze()
    with tifffile.TiffFile(path) as file:
        series = file.series[0]
        found = series.asarray()
        order = [series.axes.index(axis) for axis in "TCZYX" if axis in series.axes]
        return found.transpose(order).squeeze()


def write_source(path, image):
    """Writes t, c, z, y, x with voxel sizes and names of channels."""
    if path.endswith(".ome.tif"):
        tifffile.imwrite(path, image, ome=True, photometric="minisblack", metadata={
            "axes": "TCZYX", "PhysicalSizeX": 0.1, "PhysicalSizeY": 0.2, "PhysicalSizeZ": 0.3,
            "TimeIncrement": 2.5, "Channel": {"Name": ["DAPI", "GFP"]}})
    elif path.endswith(".tif"):
        frames, channels, planes = image.shape[:3]
        tifffile.imwrite(path, image.swapaxes(1, 2), imagej=True, resolution=(10, 5), metadata={
            "axes": "TZCYX", "unit": "um", "spacing": 0.3, "finterval": 2.5,
            "Labels": ["DAPI", "GFP"] * (frames * planes)})
    else:
        with h5py.File(path, "w") as file:
            data = file.create_dataset("data", data=image, chunks=(1, 1, 2, 5, 7))
            data.attrs["element_size_um"] = [0.3, 0.2, 0.1]
            data.attrs["channel_names"] = ["DAPI", "GFP"]
            data.attrs["frame_interval_s"] = 2.5
            for number, axis in enumerate("tczyx"):
                data.dims[number].label = axis


def check_formats():
    """Every format becomes every other one, with its pixels and metadata."""
    image = rng.integers(0, 60000, (3, 2, 4, 9, 11), dtype=np.uint16)
    for source in ("s.tif", "s.ome.tif", "s.h5"):
        write_source(source, image)
        for target in TARGETS:
            run(source, target, "-q", "--overwrite")
            check(np.array_equal(pixels(target), image) and pixels(target).dtype == image.dtype, source, target)
            if target == "o.npy":
                continue
            facts = info(target)
            check(facts["channel_names"] == ["DAPI", "GFP"], source, target, facts["channel_names"])
            check(np.allclose(facts["voxel_size_um"], (0.3, 0.2, 0.1)), source, target, facts["voxel_size_um"])
            check(facts["frame_interval_s"] == 2.5, source, target, facts["frame_interval_s"])
    for scheme in ("deflate", "lzw", "packbits"):
        run("s.h5", "packed.tif", "-q", "--overwrite", "--compression", scheme)
        run("packed.tif", "o.npy", "-q", "--overwrite")
        check(np.array_equal(pixels("o.npy"), image), scheme)
    np.save("plane.npy", image[0, 0, 0])
    run("plane.npy", "-o", "o.tif", "-q", "--overwrite", "--voxel", "1um,0.5um,0.25um")
    check(info("o.tif")["voxel_size_um"][1:] == [0.5, 0.25], "the voxel size that was given")


def check_selections():
    """Parts of an image, new names and voxel sizes."""
    image = rng.integers(0, 60000, (3, 2, 4, 9, 11), dtype=np.uint16)
    for source in ("s.tif", "s.ome.tif", "s.h5"):
        write_source(source, image)
        for target in TARGETS:
            run(source, target, "-q", "--overwrite", "--channel", 1, "--frame", "1:3", "--crop", "1:3,:,2:9")
            check(np.array_equal(pixels(target), image[1:3, 1, 1:3, :, 2:9]), source, target, "a part")
            if target != "o.npy":
                check(info(target)["channel_names"] == ["GFP"], source, target, "the name of the part")
        for target in TARGETS[:-1]:
            run(source, target, "-q", "--overwrite", "--channel-names", "Hoechst,Actin \u03b2", "--voxel", "0.5,1,2um")
            facts = info(target)
            check(facts["channel_names"] == ["Hoechst", "Actin \u03b2"], source, target, facts["channel_names"])
            check(np.allclose(facts["voxel_size_um"], (0.5, 1, 2)), source, target, facts["voxel_size_um"])
    run("s.tif", "x.tif", "--channel-names", "one", status=2, names=["--channel-names", "2 channels"])
    run("s.tif", "x.tif", "--channel", 2, status=2, names=["--channel"])
    run("s.tif", status=2, names=["IN OUT"])
    run("s.tif", "s.tif", status=2, names=["one of the inputs"])
    run("s.tif", "x.jpg", status=2, names=["x.jpg"])
    run("none.tif", "x.tif", status=66, names=["none.tif"])
    before = pixels("o.tif")
    run("s.tif", "o.tif", "--channel", 0, status=5, names=["--overwrite"])
    check(np.array_equal(pixels("o.tif"), before), "an output that exists was changed")
    done = run("s.tif", "dry.tif", "--dry-run", "--json")
    check(json.loads(done.stdout)["output"]["shape"] == [4, 9, 11] and not os.path.exists("dry.tif"), "dry run")
    check(not [name for name in os.listdir() if "partial" in name], "unfinished files", os.listdir())


def check_types():
    """Types are converted as NumPy does, after rounding and clamping."""
    values = rng.normal(100, 200, (4, 9, 11))
    for source in ("uint8", "int16", "uint32", "float32", "float64"):
        image = values.clip(0, 255).astype(source) if source[0] == "u" else values.astype(source)
        np.save("s.npy", image)
        for target in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"):
            done = run("s.npy", "o.npy", "-q", "--overwrite", "--output-type", target)
            want = image.astype(np.float64)
            low = high = 0
            if target[0] != "f":
                limits = np.iinfo(target)
                rounded = np.rint(want)
                low, high = (rounded < limits.min).sum(), (rounded > limits.max).sum()
                want = rounded.clip(limits.min, limits.max)
            got = np.load("o.npy")
            check(got.dtype == target and np.array_equal(got, want.astype(target)), source, "to", target)
            told = f"{low} values below and {high} above the range of {target}"
            check((told in done.stderr) == (low + high > 0), source, "to", target, done.stderr)
    np.save("s.npy", np.array([[1e300, 1], [2, 3]]))
    done = run("s.npy", "o.npy", "-q", "--overwrite", "--output-type", "float32")
    check("1 values" in done.stderr and "float32" in done.stderr, "values beyond float32", done.stderr)
    np.save("s.npy", np.array([[1 + 2j, 1], [2, 3]], np.complex64))
    run("s.npy", "x.npy", "--output-type", "float32", status=2, names=["complex"])


def check_scaled_values():
    """A conversion keeps the values that the file's scaling gives, or the samples with their scaling."""
    values = rng.normal(5, 2, (4, 9, 11)).astype(np.float32)
    np.save("s.npy", values)
    run("s.npy", "scaled.h5", "-q", "--overwrite", "--scale-output")
    with h5py.File("scaled.h5") as file:
        stored, attributes = file["data"][()].squeeze(), dict(file["data"].attrs)
    scale, offset = float(attributes["scale_factor"]), float(attributes.get("add_offset", 0))
    check(stored.dtype == np.uint16 and np.abs(stored * scale + offset - values).max() <= scale * 0.51, "scaled")
    run("scaled.h5", "o.tif", "-q", "--overwrite")
    check(np.array_equal(pixels("o.tif"), stored), "samples are as they were stored")
    check(np.isclose(info("o.tif")["value_scaling"]["scale"], scale), "the scaling is kept")
    run("scaled.h5", "o.npy", "-q", "--overwrite", "--output-type", "float32")
    found = np.load("o.npy").squeeze()
    check(np.allclose(found, stored * scale + offset, rtol=1e-6, atol=1e-6), "the scaling is applied")
    run("scaled.h5", "o.tif", "-q", "--overwrite", "--scale-output", "--output-type", "uint8")
    again = info("o.tif")["value_scaling"]
    found = pixels("o.tif") * again["scale"] + again["offset"]
    check(np.abs(found - values).max() <= again["scale"] * 0.51 + scale, "scaled again")


def check_pictures():
    image = rng.integers(0, 60000, (4, 9, 11), dtype=np.uint16)
    np.save("s.npy", image)
    run("s.npy", "o.png", "-q", "--crop", "2:3,:,:")
    check(np.array_equal(read_png("o.png"), image[2]), "a plane as PNG")
    run("s.npy", "x.png", status=2, names=["x.png", "planes"])
    run("s.npy", "x.png", "--crop", "2:3,:,:", "--scale-output", status=2, names=["--scale-output"])


def check_colors():
    """Red, green and blue stay colors in formats that have channels."""
    tifffile.imwrite("rgb.tif", rng.integers(0, 255, (4, 9, 11, 3), dtype=np.uint8), photometric="rgb")
    for target in ("o.tif", "o.ome.tif"):
        run("rgb.tif", target, "-q", "--overwrite")
        check(info(target)["channel_names"] == ["Red", "Green", "Blue"], target, info(target)["channel_names"])
    with tifffile.TiffFile("o.tif") as file:
        brightest = [list(table[:, -1]) for table in file.imagej_metadata["LUTs"]]
    check(brightest == [[255, 0, 0], [0, 255, 0], [0, 0, 255]], "lookup tables", brightest)
    with tifffile.TiffFile("o.ome.tif") as file:
        check(all(f'Color="{color}"' in file.ome_metadata for color in (-16776961, 16711935, 65535)),
              "colors", file.ome_metadata)


def check_formats_of_vendors():
    """Files that are not read are named by their first bytes."""
    for format, at, first in (("CZI", 0, b"ZISRAWFILE"), ("LIF", 0, b"p\0\0\0"), ("ND2", 0, b"\xda\xce\xbe\n"),
                              ("DV", 96, b"\xa0\xc0"), ("OIB", 0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
        with open("image.dat", "wb") as file:
            file.write(bytes(at) + first + bytes(500))
        run("image.dat", "x.tif", status=65, names=["image.dat is a", format, "Fiji"])


def check_large():
    """An image larger than what is held at a time."""
    image = rng.integers(0, 255, (300, 512, 1024), dtype=np.uint8)
    tifffile.imwrite("large.tif", image, compression="zlib", rowsperstrip=16, photometric="minisblack")
    done = run("large.tif", "large.h5", "--json", "-q", "--output-type", "uint16")
    check(np.array_equal(pixels("large.h5"), image), "a large image")
    peak = json.loads(done.stdout)["report"]["peak_buffer_bytes"]
    check(peak < 160 << 20, "held", peak, "bytes")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (check_formats, check_selections, check_types, check_scaled_values, check_pictures, check_colors,
                 check_formats_of_vendors, check_large):
        part()
    os.chdir("/")
finish(SEED)
