# SPDX-License-Identifier: Apache-2.0
"""Checks the colors of merged channels: those of OME-XML, of ImageJ's lookup tables, of names, and chosen ones.
check_preview.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    import tifffile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

from png_oracle import read_png

command = os.path.abspath(sys.argv[1])
SIDE = 60  # width and height of the image, which is drawn four times as large


def run(*arguments, status=0, names=""):
    done = subprocess.run([command, "preview", *arguments], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    return done


def panel_color(*arguments):
    """Returns the color of most pixels that are not background, for an image that is constant."""
    run(*arguments, "-o", "p.png", "--limits", "0,200", "--scale", "4", "--overwrite", "-q")
    pixels = read_png("p.png").astype(int) @ (1 << 16, 1 << 8, 1)  # numbers are sorted faster than rows of three
    colors = [(int(n), (c >> 16, c >> 8 & 255, c & 255)) for c, n in zip(*np.unique(pixels, return_counts=True))]
    count, color = max(there for there in colors if there[1] != (16, 18, 22))
    check(count > 0.6 * (4 * SIDE) ** 2, arguments, "covers", count)
    return color


def light(*parts):
    """Returns the sum of lights, each (level, color)."""
    return tuple(min(255, sum(int(np.floor(level * color[i] + 0.5)) for level, color in parts)) for i in range(3))


def write(name, levels, **metadata):
    stack = np.ones((len(levels), SIDE, SIDE), np.uint8) * np.array(levels, np.uint8)[:, None, None]
    tifffile.imwrite(name, stack, photometric="minisblack", metadata={"axes": "CYX", **metadata})


RED, GREEN, BLUE, CYAN, MAGENTA, YELLOW, ORANGE = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 255, 255),
                                                   (255, 0, 255), (255, 255, 0), (255, 128, 0))
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    half, part = 100 / 200, 30 / 200

    # Channels without colors and names are cyan, magenta and yellow.
    write("plain.ome.tif", [100, 30, 0])
    check(panel_color("plain.ome.tif") == light((half, CYAN), (part, MAGENTA)), panel_color("plain.ome.tif"))
    write("plain.ome.tif", [0, 30, 100])
    check(panel_color("plain.ome.tif") == light((part, MAGENTA), (half, YELLOW)), "the third channel")
    write("plain.ome.tif", [200, 200, 200])
    check(panel_color("plain.ome.tif") == (255, 255, 255), "not clamped")

    # Known names of channels decide the colors, also beside unknown names.
    names = {"DAPI": BLUE, "Hoechst 33342": BLUE, "GFP": GREEN, "EGFP": GREEN, "FITC": GREEN, "RFP": RED,
             "mCherry": RED, "Texas Red": RED, "TRITC": ORANGE, "Cy3": ORANGE, "Cy5": MAGENTA, "Cy5.5": MAGENTA,
             "iRFP670": MAGENTA, "Alexa Fluor 488": GREEN, "AF405": BLUE, "ATTO 647N": MAGENTA, "561 nm": ORANGE,
             "YFP": YELLOW, "CFP": CYAN, "Red channel": RED, "DIC": (255, 255, 255)}
    for name, color in names.items():
        write("named.ome.tif", [100, 0], Channel={"Name": [name, "other"]})
        check(panel_color("named.ome.tif") == light((half, color)), name, panel_color("named.ome.tif"))
    for name in ("infrared", "indicator", "x", "channel 12"):
        write("named.ome.tif", [100, 0], Channel={"Name": [name, "other"]})
        check(panel_color("named.ome.tif") == light((half, CYAN)), name)
    write("named.ome.tif", [0, 100], Channel={"Name": ["CFP", "other"]})
    check(panel_color("named.ome.tif") == light((half, MAGENTA)), "the first color that is free")

    # OME stores RGBA as a signed number, whose default is -1, white.
    def write_ome_image(color):
        number = color[0] << 24 | color[1] << 16 | color[2] << 8 | 255
        return number - (1 << 32) if number >= 1 << 31 else number

    chosen = [(12, 200, 77), (250, 3, 128)]
    write("colored.ome.tif", [100, 30],
          Channel={"Name": ["DAPI", "GFP"], "Color": [write_ome_image(c) for c in chosen]})
    want = light((half, chosen[0]), (part, chosen[1]))
    check(panel_color("colored.ome.tif") == want, "OME", panel_color("colored.ome.tif"), want)
    write("white.ome.tif", [100, 30], Channel={"Name": ["DAPI", "GFP"], "Color": [-1, -1]})
    check(panel_color("white.ome.tif") == light((half, BLUE), (part, GREEN)), "white says nothing")

    # ImageJ's lookup tables decide the colors, in either byte order.
    for order in "<>":
        tables = [np.outer(c, np.arange(256)).astype(float) / 255 for c in chosen]
        stack = np.full((2, SIDE, SIDE), 100, np.uint8)
        tifffile.imwrite("ij.tif", stack, imagej=True, byteorder=order,
                         metadata={"axes": "CYX", "mode": "composite", "LUTs": [t.astype(np.uint8) for t in tables],
                                   "Labels": ["a", "b"]})
        check(panel_color("ij.tif") == light((half, chosen[0]), (half, chosen[1])), "ImageJ", order)

    # Colors chosen by --lut, a single selected channel, and images with one channel.
    write("three.ome.tif", [100, 30, 60], Channel={"Name": ["DAPI", "GFP", "Cy5"]})
    third = 60 / 200
    check(panel_color("three.ome.tif", "--lut", "orange,none,00ff80")
          == light((half, ORANGE), (third, (0, 255, 128))), "chosen")
    check(panel_color("three.ome.tif", "--lut", "red")
          == light((half, RED), (part, GREEN), (third, MAGENTA)), "the first is chosen")
    check(panel_color("three.ome.tif", "--channel", "2", "--lut", "red") == light((third, RED)), "one in red")
    check(panel_color("three.ome.tif", "--channel", "2") == light((third, (255, 255, 255))), "alone")
    said = run("three.ome.tif", "-o", "p.png", "--overwrite", "--limits", "0,200").stderr
    check("GFP: black 0, green 200" in said, said)
    one = np.full((SIDE, SIDE), 100, np.uint8)
    tifffile.imwrite("one.tif", one)
    check(panel_color("one.tif") == light((half, (255, 255, 255))), "one channel is gray")
    check(panel_color("one.tif", "--lut", "green") == light((half, GREEN)), "one channel in color")
    many = np.full((8, SIDE, SIDE), 100, np.uint8)
    tifffile.imwrite("many.ome.tif", many, photometric="minisblack", metadata={"axes": "CYX"})
    check(panel_color("many.ome.tif") == light((half, (255, 255, 255))), "more than seven channels")
    rgb = np.full((SIDE, SIDE, 3), (100, 30, 60), np.uint8)
    tifffile.imwrite("rgb.tif", rgb, photometric="rgb")
    check(panel_color("rgb.tif") == light((half, RED), (part, GREEN), (third, BLUE)), "RGB")

    # Long arrays without voxel sizes, such as banks of signals, are stretched until they can be seen.
    np.save("signals.npy", np.ones((33, 20000), np.float32))
    np.save("columns.npy", np.ones((20000, 33), np.float32))
    for name, axis in (("signals.npy", 0), ("columns.npy", 1)):
        run(name, "-o", "p.png", "--overwrite", "--limits", "0,1", "--scale-bar", "off")
        rows, columns = np.nonzero((read_png("p.png") == 255).all(-1))
        extents = [np.ptp(rows) + 1, np.ptp(columns) + 1]
        check(extents[axis] >= 100 and extents[1 - axis] > 800, name, "is drawn in", extents, "pixels")

    # Wrong options are refused.
    out = ["-o", "new.png"]
    run("three.ome.tif", *out, "--lut", "red,green,blue,cyan", status=2, names="--lut")
    run("three.ome.tif", *out, "--lut", "none,none,none", status=2, names="--lut")
    run("three.ome.tif", *out, "--lut", "rouge", status=2, names="rouge")
    run("three.ome.tif", *out, "--channel", "3", status=2, names="--channel")
    check(not os.path.exists("new.png"), "a picture was written")

finish()
