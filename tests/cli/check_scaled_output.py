# SPDX-License-Identifier: Apache-2.0
"""Checks --scale-output with tifffile, h5py and SciPy: the stored range, the factor in the file, and the texts of info
and of warnings. check_scaled_output.py CONVOLUME HDF5.

Ends with 77 (skipped) if a module is missing."""
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
    from scipy import ndimage
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20240801))
rng = np.random.default_rng(SEED)
command, hdf5 = os.path.abspath(sys.argv[1]), sys.argv[2] == "ON"


def run(*arguments, status=0, names=""):
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    return done


def convolve(*arguments, **expected):
    return run("convolve", *arguments, "--overwrite", "--device", "cpu", **expected)


def read_scaled_imagej(path):
    with tifffile.TiffFile(path) as file:
        text = dict(line.split("=", 1) for line in file.pages[0].description.splitlines() if "=" in line)
        check(text.get("cf") == "0" and text.get("vunit"), path, "description", text)
        return file.asarray(), float(text["c1"]), float(text["c0"])


def read_scaled_ome(path):
    with tifffile.TiffFile(path) as file:
        root = ET.fromstring(file.ome_metadata)
        space = {"ome": "http://www.openmicroscopy.org/Schemas/OME/2016-06"}
        notes = root.findall("ome:StructuredAnnotations/ome:MapAnnotation", space)
        references = root.findall("ome:Image/ome:AnnotationRef", space)
        check(len(notes) == 1 and [r.get("ID") for r in references] == [n.get("ID") for n in notes], path,
              file.ome_metadata)
        order = [child.tag.split("}")[1] for child in root]
        check(order.index("Image") < order.index("StructuredAnnotations"), path, order)
        values = {m.get("K"): float(m.text) for m in notes[0].findall("ome:Value/ome:M", space)}
        return file.asarray(), values["scale"], values["offset"]


def read_scaled_hdf5(path):
    with h5py.File(path) as file:
        data = file["data"]
        return data[()], float(data.attrs["scale_factor"][0]), float(data.attrs["add_offset"][0])


READERS = {"r.tif": read_scaled_imagej, "r.ome.tif": read_scaled_ome}
if hdf5:
    READERS["r.h5"] = read_scaled_hdf5
LIMITS = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}


def check_range(name, wanted, stored, scale, offset, kind):
    """Checks that values are right to half a step, and that the whole range is used."""
    low, high = LIMITS[kind]
    check(stored.dtype == kind, name, "type", stored.dtype)
    values = stored.astype(float).reshape(wanted.shape) * scale + offset
    largest = np.abs(wanted).max()
    check(np.abs(values - wanted).max() <= 0.5 * scale + 2e-6 * largest, name, "values off by",
          np.abs(values - wanted).max() / scale, "steps")
    if low < 0:
        check(offset == 0 and max(-int(stored.min()), int(stored.max())) == high, name, "range", stored.min(),
              stored.max(), offset)
    elif wanted.min() >= 0:
        check(offset == 0 and stored.max() == high, name, "range", stored.max(), offset)
    else:
        check(stored.min() == low and stored.max() == high, name, "range", stored.min(), stored.max())
    return values


def same_json(name, path, scale, offset):
    about = json.loads(run("info", path, "--json").stdout)["value_scaling"]
    check(about == {"scale": scale, "offset": offset}, name, "info", about)
    check("values: stored * " in run("info", path).stdout, name, "info without scaling")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    # Two times and two channels, one of which is far brighter: all share one range.
    image = rng.normal(size=(2, 7, 2, 20, 23)).astype("float32")
    image[:, :, 1] *= 40
    kernel = rng.random((3, 5, 3)).astype("float32")
    tifffile.imwrite("kernel.tif", kernel, photometric="minisblack")
    for sign in ("signed", "positive"):
        data = np.abs(image) + 3 if sign == "positive" else image
        tifffile.imwrite("in.tif", data, imagej=True, metadata={"axes": "TZCYX"})
        wanted = np.empty(data.shape)
        for t in range(2):
            for c in range(2):
                wanted[t, :, c] = ndimage.convolve(data[t, :, c].astype(float), kernel / kernel.sum(dtype=float),
                                                   mode="nearest")
        for out, reader in READERS.items():
            by_volume = wanted if out == "r.tif" else wanted.transpose(0, 2, 1, 3, 4)
            for kind in LIMITS:
                name = f"{sign} {kind} {out}"
                options = [] if kind == "uint16" else ["--output-type", kind]
                done = convolve("in.tif", "kernel.tif", "-o", out, "--boundary", "nearest", "--scale-output", "--json",
                                *options)
                read = read_scaled_ome if out == "r.tif" and kind.startswith("int") else reader
                stored, scale, offset = read(out)
                order = wanted.transpose(0, 2, 1, 3, 4) if read is read_scaled_ome else by_volume
                check_range(name, order, stored, scale, offset, kind)
                same_json(name, out, scale, offset)
                check(json.loads(done.stdout)["output"]["value_scaling"]["scale"] == scale, name, "--json")
                check("clamped" not in done.stderr and "stored * " in done.stderr, name, done.stderr)

    # Results through the scratch file equal those in memory, with less memory.
    large = rng.random((60, 200, 256)).astype("float32")
    tifffile.imwrite("large.tif", large, imagej=True, metadata={"axes": "ZYX"})
    whole = json.loads(convolve("large.tif", "kernel.tif", "-o", "whole.tif", "--scale-output", "--json", "-q").stdout)
    for out in READERS:
        extra = [] if out == "r.tif" else ["--compression", "deflate"]
        limited = json.loads(convolve("large.tif", "kernel.tif", "-o", out, "--scale-output", "--json", "-q",
                                      "--max-host-mem", "6M", *extra).stdout)
        buffers, resident = (limited["report"][f"peak_{kind}_bytes"] for kind in ("buffer", "resident"))
        check(buffers <= (6 << 20) + 16384, out, "buffers beyond the limit:", buffers)
        check(resident < 70 << 20, out, "memory beyond the limit:", resident)
        a, b = tifffile.imread("whole.tif").astype(int), READERS[out](out)[0].astype(int)
        check(np.abs(a - b).max() <= 1, out, "differs from the result in memory by", np.abs(a - b).max())
    check(whole["report"]["peak_buffer_bytes"] > 12 << 20, "the limit would not have mattered")
    left = [n for n in os.listdir() if n.startswith(".")]
    check(not left, "left behind", left)

    # deconvolve scales its results as convolve does.
    blurred = np.stack([ndimage.gaussian_filter(rng.poisson(50, (9, 24, 24)).astype(float), 1) + 5 for _ in range(3)])
    tifffile.imwrite("t.tif", blurred.astype("float32"), imagej=True, metadata={"axes": "TZYX"})
    spot = np.zeros((5, 5, 5), "float32")
    spot[2, 2, 2] = 1
    tifffile.imwrite("spot.tif", ndimage.gaussian_filter(spot, 1).astype("float32"), photometric="minisblack")
    for limit in ("1G", None):
        options = ["--max-host-mem", limit] if limit else []
        run("deconvolve", "t.tif", "spot.tif", "-o", "d.tif", "--iterations", "5", "--overwrite", "--device", "cpu",
            *options)
        run("deconvolve", "t.tif", "spot.tif", "-o", "s.tif", "--iterations", "5", "--overwrite", "--device", "cpu",
            "--scale-output", "--output-type", "uint8", *options)
        exact = tifffile.imread("d.tif").astype(float)
        stored, scale, offset = read_scaled_imagej("s.tif")
        check_range("deconvolve", exact, stored, scale, offset, "uint8")

    # A scaled file is read as stored, with a warning, and the result does not inherit its factor.
    convolve("in.tif", "kernel.tif", "-o", "r.tif", "--scale-output", "-q")
    for out in READERS:
        convolve("in.tif", "kernel.tif", "-o", out, "--scale-output", "-q")
        done = convolve(out, "spot.tif", "-o", "again." + out.split(".", 1)[1], "--psf-resample", "ignore")
        check("warning" in done.stderr and "read as stored" in done.stderr, out, done.stderr)
        again = json.loads(run("info", "again." + out.split(".", 1)[1], "--json").stdout)
        check(again["value_scaling"] is None, out, "the factor went on", again)
        one = json.loads(run("info", out, "--json", "--stats").stdout)["stats"]
        check(one["max"] == 65535, out, one)

    # Results whose samples are all equal.
    for value in (0, 7.5, -3):
        tifffile.imwrite("flat.tif", np.full((4, 6, 6), value, "float32"))
        for kind in ("uint8", "int16"):
            convolve("flat.tif", "kernel.tif", "-o", "r.tif" if kind == "uint8" else "r.ome.tif", "--boundary",
                     "nearest", "--scale-output", "--output-type", kind, "-q")
            stored, scale, offset = read_scaled_imagej("r.tif") if kind == "uint8" else read_scaled_ome("r.ome.tif")
            check(np.allclose(stored * scale + offset, value, rtol=1e-5), "flat", value, kind, scale, offset)

    # Impossible requests are refused before anything is computed, and no file is left.
    before = sorted(os.listdir())
    def check_refused(status, names, *options, out="x.tif"):
        done = run("convolve", "in.tif", "kernel.tif", "-o", out, "--scale-output", *options, status=status,
                   names=names)
        check("plan" not in done.stderr or "NPY" in names or "deflate" in names, names, done.stderr)
        check(sorted(os.listdir()) == before, names, "left", set(os.listdir()) - set(before))
    check_refused(2, "float32; choose", "--output-type", "float32")
    check_refused(2, "uint32; choose", "--output-type", "uint32")
    check_refused(2, "cannot be NaN", "--nan", "propagate")
    check_refused(2, "NPY cannot say", out="x.npy")
    if hdf5:
        check_refused(2, "compressed by deflate", "--compression", "lzw", out="x.h5")
    tifffile.imwrite("complex.tif", (image[0, :, 0] + 1j).astype("complex64"))
    run("convolve", "complex.tif", "kernel.tif", "-o", "x.tif", "--scale-output", status=2, names="complex")

    # Files of other programs: ImageJ's signed 16 bits, and CF conventions.
    tifffile.imwrite("signed.tif", np.zeros((4, 5, 5), "uint16"), description="ImageJ=1.53t\nimages=4\nslices=4\n"
                     "cf=0\nc0=-32768.0\nc1=1.0\nvunit=Gray Value\n", metadata=None, photometric="minisblack")
    about = json.loads(run("info", "signed.tif", "--json").stdout)
    check(about["value_scaling"] == {"scale": 1, "offset": -32768}, "ImageJ's signed 16 bits", about)
    tifffile.imwrite("optical.tif", np.zeros((4, 5, 5), "uint16"), description="ImageJ=1.53t\nimages=4\nslices=4\n"
                     "cf=3\nc0=1\nc1=2.0\nc2=3\n", metadata=None, photometric="minisblack")
    check(json.loads(run("info", "optical.tif", "--json").stdout)["value_scaling"] is None, "a curve is no factor")
    if hdf5:
        with h5py.File("cf.h5", "w") as file:
            data = file.create_dataset("data", data=np.zeros((3, 5, 5), "int16"))
            data.attrs["scale_factor"] = 0.25
            data.attrs["add_offset"] = np.float32(100)
        about = json.loads(run("info", "cf.h5", "--json").stdout)
        check(about["value_scaling"] == {"scale": 0.25, "offset": 100}, "CF conventions", about)

finish(SEED)
