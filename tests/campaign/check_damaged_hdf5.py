# SPDX-License-Identifier: Apache-2.0
"""Reads HDF5 files with flipped bytes: each is read or refused, without crashing, hanging, or taking long.
check_damaged_hdf5.py CONVOLUME COUNT [SEED [FOLDER]]: COUNT damaged files; files that do harm are kept in FOLDER.

Ends with 77 (skipped) if a module is missing."""
import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy as np
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20250131
keep = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
longest_s = 60  # limit of a run; an idle machine needs at most one for such a file
right = (0, 3, 65, 74)


def make_files():
    """Writes small files with every kind of metadata: old and new, attributes, links, HDF5 chunks with every index."""
    samples = np.arange(8 * 24 * 20, dtype=np.uint16).reshape(8, 24, 20)
    layouts = {"contiguous": {}, "compact": {}, "chunks": {"chunks": (2, 8, 8)},
               "deflated": {"chunks": (2, 8, 8), "compression": 1, "shuffle": True},
               "scaled": {"chunks": (4, 8, 8), "scaleoffset": 0}, "checked": {"chunks": (4, 8, 8), "fletcher32": True},
               "lzf": {"chunks": (4, 8, 8), "compression": "lzf"}, "swapped": {"dtype": ">u2"},
               "growing": {"chunks": (2, 8, 8), "maxshape": (None, 24, 20)},
               "growing2": {"chunks": (2, 8, 8), "maxshape": (None, None, 20)}}
    for version in ("earliest", "latest"):
        for name, layout in layouts.items():
            with h5py.File(f"{name}_{version}.h5", "w", libver=version) as file:
                data = file.create_dataset("data", data=samples, **layout)
                data.attrs["element_size_um"] = [0.3, 0.1, 0.1]
                data.attrs["unit"] = "um"
                data.attrs["note"] = np.bytes_("fixed")
                data.attrs["axistags"] = '{"axes": [{"key": "z"}, {"key": "y"}, {"key": "x"}]}'
                for i in range(12):
                    data.attrs[f"many{i}"] = f"text {i}"
                file["link"] = h5py.SoftLink("/data")
        with h5py.File(f"bdv_{version}.h5", "w", libver=version) as file:
            for t in range(2):
                file.create_dataset(f"t{t:05}/s00/0/cells", data=samples.astype(np.int16), chunks=(4, 8, 8))
            file["s00/resolutions"] = np.ones((1, 3))
            file["s00/subdivisions"] = np.full((1, 3), 8, np.int32)
        with h5py.File(f"imaris_{version}.h5", "w", libver=version) as file:
            for c in range(2):
                group = file.create_group(f"DataSet/ResolutionLevel 0/TimePoint 0/Channel {c}")
                group.create_dataset("Data", data=samples, chunks=(4, 8, 8), compression=2)
                for axis, extent in zip("ZYX", samples.shape):
                    group.attrs[f"ImageSize{axis}"] = np.frombuffer(str(extent).encode(), "S1")
            image = file.create_group("DataSetInfo/Image")
            for axis in range(3):
                image.attrs[f"ExtMax{axis}"] = np.frombuffer(b"10.0", "S1")
                image.attrs[f"ExtMin{axis}"] = np.frombuffer(b"0.0", "S1")
    return sorted(os.listdir("."))


def damage_bytes(content, chance):
    content = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(content))
        # Most of a file is samples: metadata are where neighboring bytes differ.
        if chance.random() < 0.7:
            marks = [content.find(mark, chance.randrange(len(content))) for mark in
                     (b"TREE", b"SNOD", b"HEAP", b"GCOL", b"OHDR", b"FADB", b"FAHD", b"EAHD", b"EAIB", b"BTHD", b"FRHP",
                      b"OCHK", b"\x10\x00\x10\x00", b"unit", b"FSHD")]
            marks = [mark for mark in marks if mark >= 0]
            if marks:
                at = min(chance.choice(marks) + chance.randrange(200), len(content) - 1)
        kind = chance.randrange(4)
        if kind == 0:
            content[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            content[at] = chance.randrange(256)
        elif kind == 2:
            content[at:at + 1] = chance.choice((b"\x00", b"\xff", b"\x7f", b"\x80", b"\x01"))
        else:
            content[at:at + 4] = chance.choice((b"\x00" * 4, b"\xff" * 4, b"\xff\xff\xff\x7f"))
    return bytes(content)


def run(file):
    # Printing sums reads all pixels; the same file is also read as signals, by another reader.
    done = subprocess.run([command, "info", "--stats", *(["--signal"] if file.startswith("signal") else []), file],
                          capture_output=True, timeout=longest_s)
    return done.returncode, done.stderr.decode(errors="replace")


folder = tempfile.mkdtemp()
os.chdir(folder)
files = make_files()
originals = {name: pathlib.Path(name).read_bytes() for name in files}
codes, slowest, harm = collections.Counter(), (0.0, ""), 0
for name in files:
    code, text = run(name)
    if code != (65 if name.startswith("lzf") else 0):  # the LZF filter is a plug-in of h5py
        print(f"FAILED: {name}, whole: exit code {code}: {text}")
        harm += 1
for number in range(count):
    chance = random.Random(seed * 1000003 + number)
    name = files[number % len(files)]
    tried = ("signal_" if chance.random() < 0.2 else "") + name
    damage = damage_bytes(originals[name], chance)
    with open(tried, "wb") as file:
        file.write(damage)
    begin = time.monotonic()
    try:
        code, text = run(tried)
    except subprocess.TimeoutExpired:
        code, text = "hangs", ""
    slowest = max(slowest, (time.monotonic() - begin, tried))
    codes[code] += 1
    wrong = code not in right or (code != 0 and text.count("\n") != 1)
    if wrong:
        harm += 1
        print(f"FAILED: file {number} of seed {seed} ({tried}): {code}: {text[:200]}", flush=True)
        if keep:
            os.makedirs(keep, exist_ok=True)
            shutil.copy(tried, os.path.join(keep, f"{number}_{tried}"))
os.chdir("/")
shutil.rmtree(folder)
print(f"{count} damaged files, seed {seed}: exit codes {dict(codes)}, slowest {slowest[0]:.2f} s, {harm} did harm")
sys.exit(1 if harm else 0)
