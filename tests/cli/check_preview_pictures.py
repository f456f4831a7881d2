# SPDX-License-Identifier: Apache-2.0
"""Checks what pictures of preview show: look-up tables, scale bars, planes, views, titles and backgrounds.
check_preview_pictures.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
import json
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

COMMAND = os.path.abspath(sys.argv[1])

DARK, WHITE = (16, 18, 22), (255, 255, 255)
# Entries of tables of 256 colors, as published: of ImageJ's Fire, and of Matplotlib's viridis and inferno.
TABLES = {
    "fire": {0: (0, 0, 0), 48: (98, 0, 220), 96: (195, 0, 93), 112: (217, 35, 35), 168: (255, 161, 0),
             232: (255, 255, 160), 255: WHITE},
    "viridis": {0: (68, 1, 84), 64: (59, 82, 139), 127: (33, 144, 141), 191: (93, 200, 99), 255: (253, 231, 37)},
    "inferno": {0: (0, 0, 4), 63: (86, 15, 109), 127: (187, 55, 84), 191: (249, 140, 10), 255: (252, 255, 164)},
    "magenta": {0: (0, 0, 0), 100: (100, 0, 100), 255: (255, 0, 255)},
    "gray": {0: (0, 0, 0), 77: (77, 77, 77), 255: WHITE},
}


def run(*arguments, status=0, names=""):
    done = subprocess.run([COMMAND, "preview", *arguments, "-o", "p.png", "--overwrite"], capture_output=True,
                          text=True, encoding="utf-8")
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    return done


def picture(*arguments):
    run(*arguments)
    return read_png("p.png").astype(int)


def equal(pixels, color):
    return (pixels == np.array(color)).all(axis=-1)


def extents_of(pixels, color):
    """Returns the extents (rows, columns) of the part of a picture that holds all pixels of this color."""
    rows, columns = np.nonzero(equal(pixels[:-60], color))  # without the ramp at the bottom
    return (0, 0) if not rows.size else (rows.max() - rows.min() + 1, columns.max() - columns.min() + 1)


def longest_run(pixels, color):
    """Returns the largest number of consecutive pixels of a row that have this color."""
    longest = 0
    for row in equal(pixels, color).astype(int):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row, [0]])))
        longest = max(longest, *(edges[1::2] - edges[::2]), 0) if edges.size else longest
    return int(longest)


def write(name, array, voxel=None, axes="ZYX"):
    more = {} if voxel is None else {"resolution": (1 / voxel[2], 1 / voxel[1]),
                                     "metadata": {"axes": axes, "unit": "um", "spacing": voxel[0]}}
    tifffile.imwrite(name, array, imagej=True, **more)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    fixed = ["--limits", "0,255", "--scale", "4", "--scale-bar", "off"]

    # Look-up tables: images of one value have the color of its entry.
    for table, entries in TABLES.items():
        for value, want in entries.items():
            write("value.tif", np.full((60, 60), value, np.uint8))
            got = picture("value.tif", "--lut", table, *fixed)[200, 150]
            check(abs(got - want).max() <= 1, table, value, "is", got, "instead of", want)
    for words in (["--lut", "Fire"], ["--lut", "mpl-inferno"], ["--lut", "Grays"], ["--cmap", "viridis"],
                  ["--color", "fire"]):
        run("value.tif", *words)
    said = " ".join(run("value.tif", "--lut", "fire", *fixed).stderr.split())
    check("value.tif: lowest 0, highest 255" in said, said)
    # Channels have a table each, and their light is added; --channel takes one.
    write("two.tif", np.stack([np.full((60, 60), 48, np.uint8), np.full((60, 60), 100, np.uint8)]), (1, 1, 1), "CYX")
    check(abs(picture("two.tif", "--lut", "fire,green", *fixed)[200, 150] - (98, 100, 220)).max() <= 1, "two tables")
    check(abs(picture("two.tif", "--channel", "0", "--lut", "fire", *fixed)[200, 150] - (98, 0, 220)).max() <= 1,
          "a table for --channel")
    run("two.tif", "--channel", "0", "--lut", "fire,green", status=2, names="--channel draws one channel")
    run("two.tif", "--lut", "firre", status=2, names="viridis")

    # Scale bars: the bar is the longest run of white in a black image.
    stack = np.zeros((4, 300, 200), np.uint8)
    write("black.tif", stack, (0.3, 0.1, 0.1))
    size = ["--limits", "0,255", "--scale", "2"]
    for length, pixels in (("5um", 100), ("2000nm", 40), ("3.5um", 70)):
        got = longest_run(picture("black.tif", *size, "--scale-bar", length), WHITE)
        check(got == pixels, "a scale bar of", length, "has", got, "pixels")
    check(longest_run(picture("black.tif", *size), WHITE) == 100, "30 % of 20 µm are rounded down to 5 µm")
    check(longest_run(picture("black.tif", *size, "--scale-bar", "off"), WHITE) < 20, "a bar despite off")
    run("black.tif", "--scale-bar", "50um", status=2, names="20 µm wide")
    run("black.tif", "--scale-bar", "5", status=2, names="--scale-bar")
    write("no_voxel.tif", stack)
    run("no_voxel.tif", "--scale-bar", "5um", status=2, names="has no voxel size")
    run("no_voxel.tif", "--scale-bar", "off")

    # Views along y and x: only of stacks of several planes that are not too flat.
    def full(planes, z=0.1, scale="4"):
        write("full.tif", np.full((planes, 50, 100), 200, np.uint8), (z, 0.1, 0.1))
        return ["full.tif", "--limits", "0,200", "--scale", scale, "--scale-bar", "off", "--lut", "ff8001"]

    color = (255, 128, 1)
    for planes, views in ((1, False), (2, False), (4, False), (5, True), (20, True)):
        extents = extents_of(picture(*full(planes)), color)
        want = (200 + planes * 4 + 6, 400 + planes * 4 + 6) if views else (200, 400)
        check(extents == want, planes, "planes", extents, want)
    # 20 planes of 5 nm are 100 nm thick, which is 1 % of the width; the planes are 20 times as wide as high.
    check(extents_of(picture(*full(20, 0.005, "0.2")), color) == (200, 400), "thin planes")
    check(extents_of(picture(*full(20), "--xy"), color) == (200, 400), "--xy")

    # Planes: each has its own value.
    values = np.arange(1, 11, dtype=np.uint8)[:, None, None] * np.full((1, 60, 60), 20, np.uint8)
    write("planes.tif", values, (0.1, 0.1, 0.1))
    for words, value in ((["--slice", "7"], 160), (["--slice", "0"], 20), (["--slices"], 120), ([], 200)):
        got = picture("planes.tif", *fixed, "--xy", *words)[200, 150]
        check((got == value).all(), words, "shows", got)
    run("planes.tif", "--slice", "10", status=2, names="choose from 0 to 9")
    run("planes.tif", "--slice", "1", "--slices", status=2, names="--slice")

    # Titles and backgrounds.
    check((picture("planes.tif")[2, 2] == DARK).all() and (picture("planes.tif", "--light")[2, 2] == WHITE).all(),
          "backgrounds")
    title = np.s_[20:60, 20:]
    for words in (["--light"], []):
        named = picture("planes.tif", *words)[title]
        check((picture("planes.tif", *words, "--title", "planes.tif")[title] == named).all(), "the same title", words)
        check((picture("planes.tif", *words, "--title", "other")[title] != named).any(), "another title", words)
        blank = picture("planes.tif", *words, "--title", "")[title]
        check((blank == blank[0, 0]).all(), "no title", words)
    said = run("planes.tif", "black.tif", "--title", "first", "--title", "second").stderr
    check("first: black" in said and "second: black" in said, said)
    run("planes.tif", "--title", "a", "--title", "b", status=2, names="one for each stack at most")
    run("planes.tif", "--composite", status=2, names="merged without an option")

    # Channels of signals: decibels below the largest magnitude, and frequencies that rise upwards.
    magnitudes = np.array([1, 10**-1.0, 10**-2.5, 10**-1.5])
    np.save("channels.npy", (1j * np.repeat(magnitudes[:, None], 20, 1)).astype("c8"))
    grays = [255, 128, 0, 64]  # of 40 dB
    for frequencies, order in ((None, [0, 1, 2, 3]), ([0, 1, -2, -1], [1, 0, 3, 2]), ([3, 2, 1, 0], [0, 1, 2, 3])):
        with open("channels.npy.json", "w") as file:
            facts = {"sampling_rate_hz": 4, "start_s": 1.5}
            json.dump(facts if frequencies is None else facts | {"center_frequencies_hz": frequencies}, file)
        rows = picture("channels.npy", "--db", "40", "--scale", "16", "--scale-bar", "off")[116:172:16, 60]
        want = [(grays[channel],) * 3 for channel in order]
        check(np.abs(rows - want).max() <= 6, frequencies, rows.tolist(), want)
    said = run("channels.npy", "--db", "40").stderr
    check("black -40, gray 0 dB" in said, said)
    bar = longest_run(picture("channels.npy", "--limits", "0,9999", "--scale", "16"), WHITE)
    check(bar == 64, "a bar of one second, the largest round time of at most 1.5 s, is", bar)
    run("channels.npy", "--db", "40", "--log", "2", status=2, names="--log")

finish()
