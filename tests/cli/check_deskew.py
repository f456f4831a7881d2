# SPDX-License-Identifier: Apache-2.0
"""Compares deskewed images with sums in double precision, with SciPy and with known objects, and checks the metadata of
the files. check_deskew.py CONVOLUME HDF5.

Ends with 77 (skipped) if a module is missing."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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

from deskew_oracle import deskew

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20260711))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])
with_hdf5 = sys.argv[2] == "ON"
SCAN = ["--angle", "31.5", "--step", "400nm", "--pixel", "108nm"]
ANGLE, STEP, PIXEL = np.radians(31.5), 0.4, 0.108


def run(*arguments, status=0, names=""):
    done = subprocess.run([command, "deskew", *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    if status:
        check(done.stderr.count("\n") == 1, arguments, done.stderr)
    return done


def result_of(image, *options, scan=SCAN):
    np.save("in.npy", image)
    run("in.npy", "-o", "out.npy", "--overwrite", "-q", *scan, *options)
    return np.load("out.npy")


def check_near(got, want, tolerance, *what):
    check(got.shape == want.shape, *what, "shape", got.shape, "not", want.shape)
    if got.shape == want.shape:
        difference = np.abs(got - want).max()
        check(difference <= tolerance, *what, "differs by", difference)


def psnr(got, want):
    return 10 * np.log10(want.max() ** 2 / np.mean((got - want) ** 2))


def record(beads, shape, opposite, width, step=STEP, angle=ANGLE):
    """Returns the recording of Gaussian beads, whose positions and width are in um in the frame of the camera: that of
    voxel 0 of the deskewed image is 0. Every voxel is sampled where the scan sees it."""
    k, j, i = np.mgrid[:shape[0], :shape[1], :shape[2]].astype(float)
    shift = step * np.cos(angle) / PIXEL
    row = j - k * shift + np.ceil((shape[0] - 1) * shift) if opposite else j + k * shift
    z, y, x = k * step * np.sin(angle), row * PIXEL, i * PIXEL
    return sum(np.exp(-((z - a) ** 2 + (y - b) ** 2 + (x - c) ** 2) / (2 * width ** 2)) for a, b, c in beads)


def centroid(image, near, radius):
    """Returns the centroid within a box around an index."""
    corner = np.maximum(np.rint(near).astype(int) - radius, 0)
    box = image[tuple(slice(c, int(round(n)) + r + 1) for c, n, r in zip(corner, near, radius))]
    return corner + np.array(ndimage.center_of_mass(np.nan_to_num(box)))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)

    # Values are the weighted means of the definition, for every direction, axis, grid and interpolation.
    for shape in ((7, 9, 5), (16, 24, 8)):
        image = rng.normal(100, 10, shape).astype(np.float32)
        for kind in ("linear", "lanczos"):
            for opposite in (False, True):
                for voxel in (None, (PIXEL,) * 3, (0.1, 0.1, 0.1), (0.3, 0.25, 0.2), (0.07, 0.05, 0.06)):
                    want = deskew(image, 31.5, STEP, PIXEL, opposite, voxel is not None, voxel, kind, 7)
                    for axis in "yx":
                        options = ["--interpolation", kind, "--fill", "7", "--axis", axis]
                        options += ["--opposite-scan"] * opposite
                        if voxel:
                            edges = voxel if axis == "y" else (voxel[0], voxel[2], voxel[1])
                            options += ["--rotate", "--output-voxel", ",".join(map(str, edges)) + "um"]
                        got = result_of(image if axis == "y" else image.swapaxes(1, 2), *options)
                        check_near(got if axis == "y" else got.swapaxes(1, 2), want, 1e-4, kind, opposite, voxel, axis)

    # SciPy gives the same image by its affine transform of order 1: to rounding in float64.
    image = rng.normal(0, 1, (13, 21, 10))
    shift = STEP * np.cos(ANGLE) / PIXEL
    more = int(np.ceil(12 * shift))
    for opposite in (False, True):
        matrix = np.array([[1, 0, 0], [shift if opposite else -shift, 1, 0], [0, 0, 1]])
        want = ndimage.affine_transform(image, matrix, (0, -more if opposite else 0, 0), (13, 21 + more, 10), order=1)
        check_near(result_of(image, *["--opposite-scan"] * opposite), want, 1e-13, "SciPy", opposite)
    counts = rng.integers(0, 4000, (13, 21, 10)).astype(np.uint16)
    want = ndimage.affine_transform(counts.astype(float), np.array([[1, 0, 0], [-shift, 1, 0], [0, 0, 1]]),
                                    output_shape=(13, 21 + more, 10), order=1)
    check_near(result_of(counts).astype(float), want, 0.5 + 1e-3, "SciPy, uint16")
    # With displacements of whole pixels, rotation is SciPy's affine transform of the sheared image.
    step, angle = 2 * PIXEL / np.cos(ANGLE), ANGLE
    scan = ["--angle", "31.5", "--step", f"{step}um", "--pixel", "108nm"]
    sheared = result_of(image, scan=scan)
    rotated = result_of(image, "--rotate", "--fill", "nan", scan=scan)
    distance, sin, cos = step * np.sin(angle), np.sin(angle), np.cos(angle)
    low = (image.shape[1] - 1) * PIXEL * sin  # height of the last row of plane 0, which is the lowest
    to_camera = np.array([[cos / distance, sin / distance, 0], [-sin / PIXEL, cos / PIXEL, 0], [0, 0, 1 / PIXEL]])
    to_camera *= PIXEL
    start = np.array([-low * cos / distance, low * sin / PIXEL, 0])
    want = ndimage.affine_transform(sheared, to_camera, start, rotated.shape, order=1)
    inside = ndimage.affine_transform(ndimage.binary_erosion(np.pad(result_of(np.ones_like(image), scan=scan) > 0, 1),
                                                             np.ones((3, 3, 1)))[1:-1, 1:-1, 1:-1].astype(float),
                                      to_camera, start, rotated.shape, order=1) > 1 - 1e-9
    check(inside.sum() > 500, "voxels inside", inside.sum())
    check(np.abs(rotated - want)[inside].max() < 1e-12, "SciPy, rotated", np.abs(rotated - want)[inside].max())

    # Scans in the opposite direction are mirror images.
    for options in ([], ["--rotate"], ["--interpolation", "lanczos"]):
        check_near(result_of(image[:, ::-1], *options, "--opposite-scan")[:, ::-1], result_of(image, *options), 1e-12,
                   "mirrored", options)

    # Beads that are recorded at known places return there. The error of interpolation is small for this width.
    width, shape = 0.3, (60, 90, 40)
    beads = [(2.5, 9.1, 2.03), (7.77, 18.7, 1.5), (9.9, 19.65, 2.51)]
    least_psnr = {"linear": 65, "lanczos": 75}
    for opposite in (False, True):
        flags = ["--opposite-scan"] * opposite
        last = (np.ceil(59 * shift) + 89) * PIXEL
        places = [(z, last - y if opposite else y, x) for z, y, x in beads]
        recorded = record(places, shape, opposite, width).astype(np.float32) * 1000
        for kind, least in least_psnr.items():
            got = result_of(recorded, "--interpolation", kind, *flags)
            distance = STEP * np.sin(ANGLE)
            z, y, x = np.mgrid[tuple(map(slice, got.shape))]
            truth = 1000 * sum(np.exp(-((z * distance - a) ** 2 + (y * PIXEL - b) ** 2 + (x * PIXEL - c) ** 2) /
                                      (2 * width ** 2)) for a, b, c in places)
            covered = result_of(np.ones_like(recorded), *flags) > 0
            quality = psnr(got[covered], truth[covered])
            check(quality > least, opposite, kind, "PSNR", quality)
            print(f"{kind}, opposite {opposite}: PSNR {quality:.1f} dB")
            rotated = result_of(recorded, "--interpolation", kind, "--rotate", *flags)
            for bead, (z, y, x) in zip(beads, places):
                place = np.array((z / distance, y / PIXEL, x / PIXEL))
                off = np.abs(centroid(got, place, np.array((5, 10, 10))) - place).max()
                check(off < 0.05, opposite, kind, "bead", bead, "off by", off)
                # Turned by the angle, with the last row of plane 0 at the bottom, and mirrored if opposite.
                up = np.cos(ANGLE) * bead[0] - np.sin(ANGLE) * (bead[1] - 89 * PIXEL)
                along = np.cos(ANGLE) * bead[1] + np.sin(ANGLE) * bead[0]
                place = np.array((up, along, x)) / PIXEL
                if opposite:
                    place[1] = rotated.shape[1] - 1 - place[1]
                off = np.abs(centroid(rotated, place, np.array((10, 10, 10))) - place).max()
                check(off < 0.05, opposite, kind, "rotated bead", bead, "off by", off)

    # The inverse displaces planes around the middle one, and deskewing brings them back.
    straight = np.exp(-((np.arange(61) - 30)[:, None, None] ** 2 / 80 + (np.arange(81) - 40)[:, None] ** 2 / 60 +
                        (np.arange(21) - 10) ** 2 / 60))
    for opposite in (False, True):
        flags = ["--opposite-scan"] * opposite + ["--interpolation", "lanczos"]
        skewed = result_of(straight, "--inverse", *flags)
        more = int(np.ceil(30 * shift))
        check(skewed.shape == (61, 81 + 2 * more, 21), "skewed", skewed.shape)
        check(np.array_equal(skewed[30, more:-more], straight[30]), "middle plane")
        ridge = skewed[:, :, 10].argmax(axis=1) - (40 + more)
        slope = shift if opposite else -shift
        check(np.abs(ridge - slope * (np.arange(61) - 30)).max() <= 0.5 + 1e-9, "ridge", ridge)
        again = result_of(skewed, *flags)
        place = np.array(np.unravel_index(again.argmax(), again.shape))
        centers = np.array([centroid(again, place, np.array((30, 25, 10)))])
        check(np.abs(centers[0][[0, 2]] - (30, 10)).max() < 0.05 and again.max() > 0.99, opposite, "returned", centers)

    # A coarse grid loses details that it cannot hold, and does not turn them into others.
    fine = 1000 + 1000 * np.cos(np.pi * np.arange(200))[None, :, None] * np.ones((40, 1, 8))
    for kind in least_psnr:
        coarse = result_of(fine.astype(np.float32), "--rotate", "--output-voxel", "430,430,430nm", "--fill", "nan",
                           "--interpolation", kind)[4:-4]
        check(np.nanmax(np.abs(coarse - 1000)) < 60, kind, "aliases", np.nanmax(np.abs(coarse - 1000)))

    # Limits of memory hold, and give the same image.
    image = rng.integers(0, 60000, (40, 300, 200), dtype=np.uint16)
    tifffile.imwrite("large.tif", image, rowsperstrip=16, imagej=True, resolution=(1 / PIXEL,) * 2,
                     metadata={"axes": "ZYX", "spacing": STEP, "unit": "um"})
    for options in ([], ["--rotate"], ["--axis", "x"], ["--rotate", "--axis", "x", "--interpolation", "lanczos"]):
        scan = [*SCAN[:4], "-q", "--overwrite", *options]
        run("large.tif", "-o", "whole.npy", *scan)
        for limit in (4, 1):
            report = json.loads(run("large.tif", "-o", "p.npy", "--max-host-mem", f"{limit}M", "--json", *scan).stdout)
            check(report["plan"]["host_bytes"] <= limit << 20, options, limit, report["plan"])
            check(report["report"]["peak_buffer_bytes"] <= (limit << 20) + (256 << 10), options, limit,
                  report["report"]["peak_buffer_bytes"])
            check(np.array_equal(np.load("p.npy"), np.load("whole.npy")), options, limit, "values")
    run("large.tif", "-o", "p.npy", "--max-host-mem", "1K", *SCAN, "--overwrite", status=3, names="--max-host-mem")

    # Channels and times stay, and metadata are those of the result.
    stack = rng.integers(0, 60000, (2, 6, 3, 9, 11), dtype=np.uint16)  # t, z, c, y, x
    tifffile.imwrite("stack.ome.tif", stack, photometric="minisblack", metadata={
        "axes": "TZCYX", "PhysicalSizeX": PIXEL, "PhysicalSizeY": PIXEL, "PhysicalSizeZ": STEP,
        "TimeIncrement": 3.0, "Channel": {"Name": ["DAPI", "GFP", "Cy5"]}})
    for options, size in (([], (STEP * np.sin(ANGLE), PIXEL, PIXEL)), (["--rotate"], (PIXEL,) * 3),
                          (["--rotate", "--output-voxel", "300,200,250nm"], (0.3, 0.2, 0.25))):
        scan = [*SCAN[:4], "--overwrite", *options]
        said = run("stack.ome.tif", "-o", "d.ome.tif", *scan).stderr
        check("warning" not in said, said)
        with tifffile.TiffFile("d.ome.tif") as file:
            check(file.series[0].axes == "TCZYX", "axes", file.series[0].axes)
            got = file.asarray()
            pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
        for t in range(2):
            for c in range(3):
                want = result_of(stack[t, :, c], *options)
                check(np.array_equal(got[t, c], want), options, t, c, "values")
        check(np.allclose([pixels[f"PhysicalSize{a}"] for a in "ZYX"], size), options, "voxel", pixels)
        check([pixels[f"Size{a}"] for a in "ZYX"] == list(want.shape), options, "size", pixels)
        check([c["Name"] for c in pixels["Channel"]] == ["DAPI", "GFP", "Cy5"], options, "channels")
        check(pixels["TimeIncrement"] == 3.0, options, "interval")
        run("stack.ome.tif", "-o", "d.tif", *scan, "-q")
        with tifffile.TiffFile("d.tif") as file:
            check(np.isclose(file.imagej_metadata["spacing"], size[0]), options, file.imagej_metadata)
            across = file.pages[0].tags["XResolution"].value
            check(np.isclose(across[1] / across[0], size[2]), options, "resolution", across)
            check(np.array_equal(file.asarray().swapaxes(1, 2), got), options, "ImageJ")
        if with_hdf5:
            run("stack.ome.tif", "-o", "d.h5", *scan, "-q")
            with h5py.File("d.h5") as file:
                check(np.allclose(file["data"].attrs["element_size_um"], size), options, "HDF5 voxel")
    # Labels of planes stay with planes that are only shifted.
    tifffile.imwrite("labels.tif", stack[0, :, 0], imagej=True, resolution=(1 / PIXEL,) * 2, metadata={
        "axes": "ZYX", "spacing": 0.35, "unit": "um", "Labels": [f"plane {z}" for z in range(6)]})
    said = run("labels.tif", "-o", "d.tif", *SCAN[:4], "--overwrite").stderr
    check("says that its planes are 0.35 um apart, but --step is 0.4 um" in said, said)
    with tifffile.TiffFile("d.tif") as file:
        check(file.imagej_metadata["Labels"] == [f"plane {z}" for z in range(6)], file.imagej_metadata)
    run("labels.tif", "-o", "d.tif", *SCAN[:4], "--overwrite", "--rotate", "-q")
    with tifffile.TiffFile("d.tif") as file:
        check("plane 2" not in str(file.imagej_metadata.get("Labels")), file.imagej_metadata)

    # The map in the JSON is that of the voxels.
    told = json.loads(run("labels.tif", *SCAN[:4], "--dry-run", "--json", "-q", "--rotate").stdout)
    check(np.isclose(told["scan"]["shear_px"], shift), told["scan"])
    place = np.array(told["map"]["matrix"]) @ (3, 4, 5) + told["map"]["offset"]
    check(np.allclose(place, ((8 - 4) * np.sin(ANGLE), (4 * PIXEL * np.cos(ANGLE) + 3 * STEP) / PIXEL, 5)), place)

    # Fills, types, and mistakes.
    floats = rng.normal(0, 1, (4, 5, 6)).astype(np.float32)
    check(np.isnan(result_of(floats, "--fill", "nan")).sum() > 0, "fill nan")
    check(result_of(stack[0, :, 0], "--output-type", "float32").dtype == np.float32, "type")
    check(result_of(stack[0, :, 0]).dtype == np.uint16, "type")
    np.save("plain.npy", floats)
    np.save("flat.npy", floats[0])
    np.save("complex.npy", floats.astype(np.complex64))
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    run("plain.npy", "-o", "n.npy", *SCAN[:4], status=2, names="--pixel")
    run("plain.npy", "-o", "n.npy", "--angle", "30", status=2, names="--step")
    run("plain.npy", "-o", "n.npy", *SCAN[2:], status=2, names="--angle")
    run("plain.npy", "-o", "n.npy", *SCAN[2:], "--angle", "0", status=2, names="above 0, up to 90")
    run("plain.npy", "-o", "n.npy", *SCAN, "--output-voxel", "1,1,1um", status=2, names="--rotate")
    run("plain.npy", "-o", "n.npy", *SCAN, "--axis", "z", status=2, names="y or x")
    run("plain.npy", "-o", "n.npy", *SCAN, "--interpolation", "cubic", status=2, names="lanczos")
    run("plain.npy", "-o", "n.npy", *SCAN, "--output-type", "uint8", "--fill", "nan", status=2, names="--fill")
    run("plain.npy", "-o", "n.npy", *SCAN, "--inverse", "--rotate", status=2, names="leave out --rotate")
    run("labels.tif", "-o", "n.npy", *SCAN, "--inverse", status=2, names="0.208999 um along the optical axis")
    run("flat.npy", "-o", "n.npy", *SCAN, status=65, names="--axes")
    run("complex.npy", "-o", "n.npy", *SCAN, status=65, names="magnitude")
    run("plain.npy", "-o", "out.npy", *SCAN, status=5, names="--overwrite")
    run("plain.npy", *SCAN, status=2, names="-o")
    check({name: Path(name).read_bytes() for name in os.listdir()} == before, "files changed")

finish(SEED)
