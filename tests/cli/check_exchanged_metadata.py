# SPDX-License-Identifier: Apache-2.0
"""Checks which metadata of an image the command keeps, makes anew, or says that it assumes: partly unknown voxel sizes,
display ranges, names of channels, images to choose from. tifffile and h5py read the files.

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

if sys.argv[2] != "ON":
    print("SKIPPED: convolume is built without HDF5")
    sys.exit(77)
command = os.path.abspath(sys.argv[1])
rng = np.random.default_rng(7)


def run(*words, expected=0):
    done = subprocess.run([command, *map(str, words)], capture_output=True, text=True)
    check(done.returncode == expected, words, "ended with", done.returncode, done.stderr)
    return done


def info(path, *options):
    return json.loads(run("info", path, "--json", *options).stdout)


def check_unknown_sizes():
    """Checks that a z spacing alone does not give pixels of 1 µm."""
    with h5py.File("z.h5", "w") as f:
        f.create_dataset("data", data=np.zeros((4, 6, 8), np.uint16)).attrs["element_size_um"] = [0.5, 0, 0]
    with h5py.File("yx.h5", "w") as f:
        f.create_dataset("data", data=np.zeros((4, 6, 8), np.uint16)).attrs["element_size_um"] = [0, 0.2, 0.1]
    for source, size in (("z.h5", [0.5, None, None]), ("yx.h5", [None, 0.2, 0.1])):
        for target in ("o.tif", "o.ome.tif", "o.h5"):
            run("convolve", source, "delta.npy", "-o", target, "-q", "--overwrite")
            found = info(target)["voxel_size_um"]
            check([s is None for s in found] == [s is None for s in size] and
                  np.allclose([s or 0 for s in found], [s or 0 for s in size]), source, target, found)
    run("convolve", "z.h5", "delta.npy", "-o", "o.tif", "-q", "--overwrite")
    with tifffile.TiffFile("o.tif") as tif:
        facts = tif.imagej_metadata
        check((facts["unit"], facts["zunit"], facts["spacing"]) == ("pixel", "um", 0.5), "ImageJ reads", facts)


def check_plane_labels():
    """Checks that labels and OME's facts of planes follow their planes where a result has more or fewer."""
    a = np.zeros((5, 8, 8), np.uint16)
    a[1] = 1000
    labels = [f"z{z}" for z in range(5)]
    tifffile.imwrite("labels.tif", a, imagej=True, metadata={"axes": "ZYX", "Labels": labels})
    times = [10.0 * z for z in range(5)]
    tifffile.imwrite("labels.ome.tif", a, metadata={"axes": "ZYX", "Plane": {"DeltaT": times}})
    kernel = np.zeros((3, 1, 1), np.float32)
    for center in (0, 1, 2):
        kernel[:] = 0
        kernel[center] = 1
        np.save("k.npy", kernel)
        for mode in ("full", "same", "valid"):
            for operation in ("convolve", "correlate"):
                words = ("k.npy", "--mode", mode, "--operation", operation, "--kernel-center", f"{center},0,0", "-q",
                         "--overwrite")
                run("convolve", "labels.tif", *words, "-o", "moved.tif")
                with tifffile.TiffFile("moved.tif") as tif:
                    planes, found = tif.asarray(), tif.imagej_metadata["Labels"]
                check(len(found) == len(planes), mode, operation, "has labels", found)
                bright = int(planes.max((1, 2)).argmax())
                check(planes.max() == 0 or found[bright] == "z1", mode, operation, center, "has labels", found)
                check([one for one in found if one] == [one for one in labels if one in found], "order of", found)
                run("convolve", "labels.ome.tif", *words, "-o", "moved.ome.tif")
                with tifffile.TiffFile("moved.ome.tif") as tif:
                    facts = tifffile.xml2dict(tif.ome_metadata)["OME"]["Image"]["Pixels"]["Plane"]
                of_bright = [f["DeltaT"] for f in facts if f["TheZ"] == bright]
                check(planes.max() == 0 or of_bright == [10.0], mode, operation, center, "has planes", facts)

    # Names of channels are labels of all planes, also of those that are new.
    two = np.zeros((4, 2, 8, 8), np.uint16)
    tifffile.imwrite("names.tif", two, imagej=True, metadata={"axes": "ZCYX", "Labels": ["DAPI", "GFP"] * 4})
    run("convolve", "names.tif", "k.npy", "-o", "names_full.tif", "--mode", "full", "-q")
    check(info("names_full.tif")["channel_names"] == ["DAPI", "GFP"], info("names_full.tif"))


def check_display_ranges():
    """Checks that display ranges of the source, which has other values, are not copied."""
    a = rng.poisson(20, (2, 8, 16, 16)).astype(np.uint16)
    tifffile.imwrite("r.tif", a[0], imagej=True, metadata={"axes": "ZYX", "min": 3.0, "max": 9.0})
    ranged = {"axes": "ZCYX", "mode": "composite", "Ranges": (1.0, 2.0, 3.0, 4.0)}
    tifffile.imwrite("rr.tif", a.swapaxes(0, 1), imagej=True, metadata=ranged)
    for compression in ("none", "deflate", "lzw"):
        run("convolve", "r.tif", "blur.npy", "-o", "o.tif", "-q", "--overwrite", "--compression", compression)
        run("convolve", "rr.tif", "blur.npy", "-o", "oo.tif", "-q", "--overwrite", "--compression", compression)
        with tifffile.TiffFile("o.tif") as tif:
            pixels = tif.asarray() if compression != "lzw" else None
            facts = tif.imagej_metadata
            if pixels is not None:
                check(np.allclose([facts["min"], facts["max"]], [pixels.min(), pixels.max()]), compression, facts)
        if compression == "none":
            with tifffile.TiffFile("oo.tif") as tif:
                pixels = tif.asarray()  # z, c, y, x
                right = [f(pixels[:, c]) for c in range(2) for f in (np.min, np.max)]
                check(np.allclose(tif.imagej_metadata["Ranges"], right), "ranges of channels", tif.imagej_metadata)
    run("deconvolve", "r.tif", "blur.npy", "-o", "d.tif", "-q", "--overwrite", "--iterations", 2)
    with tifffile.TiffFile("d.tif") as tif:
        pixels, facts = tif.asarray(), tif.imagej_metadata
        check(np.allclose([facts["min"], facts["max"]], [pixels.min(), pixels.max()]), "deconvolved", facts)


def check_compression_for_imagej():
    """Checks that compressed files are ImageJ's, with a predictor that ImageJ and Bio-Formats know: horizontal
    differences of integers with LZW, or none."""
    for kind in ("uint8", "uint16", "float32"):
        for scheme in ("deflate", "lzw", "packbits"):
            for target in ("o.tif", "o.ome.tif"):
                run("convolve", "stack.tif", "delta.npy", "-o", target, "-q", "--overwrite", "--compression", scheme,
                    "--output-type", kind)
                with tifffile.TiffFile(target) as tif:
                    predictor = int(tif.pages[0].predictor)
                    check(predictor in ((1, 2) if (scheme, kind[0]) == ("lzw", "u") else (1,)), scheme, kind, target,
                          "predictor", predictor)
                    check(tif.is_imagej == (target == "o.tif"), scheme, kind, target, "ImageJ's description")


def check_sizes_in_zstandard():
    """Checks that each frame of Zstandard has the size of its content, which Bio-Formats needs (RFC 8878, 3.1.1.1)."""
    for kind in ("uint8", "uint16", "float32"):
        for target in ("o.tif", "o.ome.tif"):
            run("convolve", "tall.tif", "delta.npy", "-o", target, "-q", "--overwrite", "--compression", "zstd",
                "--output-type", kind, "--method", "direct")  # exact sums
            with open(target, "rb") as file, tifffile.TiffFile(target) as tif:
                page = tif.pages[1]
                check(len(page.dataoffsets) > 1, "the test needs several strips")
                for number, (offset, count) in enumerate(zip(page.dataoffsets, page.databytecounts)):
                    file.seek(offset)
                    frame = file.read(count)
                    rows = min(page.rowsperstrip, page.imagelength - number * page.rowsperstrip)
                    field = (frame[4] >> 6) if not frame[4] & 32 else 0
                    size = int.from_bytes(frame[6:6 + (1 << field)], "little")
                    check(frame[:4] == b"\x28\xb5\x2f\xfd" and field == 3, kind, target, "header", frame[:14].hex())
                    check(size == rows * page.imagewidth * page.dtype.itemsize, kind, target, "has a size of", size)
            run("convolve", target, "delta.npy", "-o", "o.npy", "-q", "--overwrite", "--output-type", "same",
                "--method", "direct")
            pixels = tifffile.imread("tall.tif").astype(kind)
            check(np.array_equal(np.load("o.npy"), pixels), kind, target, "other pixels")


def check_channel_names():
    a = rng.poisson(100, (2, 8, 16, 16)).astype(np.uint16)
    tifffile.imwrite("a.ome.tif", a, ome=True, photometric="minisblack",
                     metadata={"axes": "CZYX", "Channel": {"Name": ["DAPI", "G\u03b2"]}})
    for target in ("o.ome.tif", "o.tif", "o.h5", "o.h5:/run/1"):
        run("convolve", "a.ome.tif", "delta.npy", "-o", target, "-q", "--overwrite")
        check(info(target)["channel_names"] == ["DAPI", "G\u03b2"], target, info(target)["channel_names"])
    run("convolve", "a.ome.tif", "delta.npy", "-o", "o.tif", "-q", "--overwrite", "--compression", "deflate")
    check(info("o.tif")["channel_names"] == ["DAPI", "G\u03b2"], "compressed", info("o.tif")["channel_names"])
    labels = [f"plane {z}" for z in range(8)]
    tifffile.imwrite("l.tif", a[0], imagej=True, metadata={"axes": "ZYX", "Labels": labels})
    check(info("l.tif")["channel_names"] == [], "labels of planes are no names", info("l.tif")["channel_names"])
    run("convolve", "l.tif", "delta.npy", "-o", "o.tif", "-q", "--overwrite")
    with tifffile.TiffFile("o.tif") as tif:
        check(tif.imagej_metadata["Labels"] == labels, "labels of planes", tif.imagej_metadata)


def check_notes_and_images():
    a = rng.poisson(20, (2, 3, 6, 8)).astype(np.uint16)
    tifffile.imwrite("two.tif", a, photometric="minisblack", metadata={"axes": "RZYX"})
    done = run("convolve", "two.tif", "delta.npy", "-o", "o.npy", "--output-type", "same", "--overwrite")
    check("2 images" in done.stderr and "--image" in done.stderr, "no word of the second image:", done.stderr)
    check(np.array_equal(np.load("o.npy"), a[0]), "the first image")
    done = run("convolve", "two.tif", "delta.npy", "-o", "o.npy", "--output-type", "same", "--overwrite", "--image", 1)
    check("images" not in done.stderr, "a word of images after a choice:", done.stderr)
    check(np.array_equal(np.load("o.npy"), a[1]), "the second image")
    run("convolve", "two.tif", "delta.npy", "-o", "o.npy", "--overwrite", "--image", 2, expected=2)
    done = run("convolve", "two.tif", "delta.npy", "-o", "o.tif", "--overwrite", "--compression", "zstd")
    check("zstd" in done.stderr and "ImageJ" in done.stderr and "Bio-Formats" not in done.stderr,
          "no word of who opens zstd:", done.stderr)
    done = run("convolve", "two.tif", "delta.npy", "-o", "o.tif", "--overwrite", "--compression", "deflate")
    check("ImageJ" not in done.stderr, "a word of ImageJ for deflate:", done.stderr)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("delta.npy", np.ones((1, 1, 1), np.float32))
    tifffile.imwrite("stack.tif", rng.poisson(20, (3, 9, 16)).astype(np.uint16), imagej=True, metadata={"axes": "ZYX"})
    tifffile.imwrite("tall.tif", rng.poisson(20, (2, 1000, 300)).astype(np.uint16), imagej=True,
                     metadata={"axes": "ZYX"})
    np.save("blur.npy", np.full((1, 3, 3), 1 / 9, np.float32))
    for part in (check_unknown_sizes, check_display_ranges, check_compression_for_imagej, check_sizes_in_zstandard,
                 check_channel_names, check_plane_labels, check_notes_and_images):
        part()
    os.chdir("/")
finish()
