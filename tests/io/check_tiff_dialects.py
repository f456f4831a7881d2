# SPDX-License-Identifier: Apache-2.0
"""Compares how axes, sizes and sets of files in TIFFs of other programs are read with what they mean, or checks that
they are refused in one sentence that names the option to use. tifffile or this script makes the files.

Ends with 77 (skipped) if a module is missing."""
import argparse
import base64
import json
import os
import struct
import subprocess
import sys
import tempfile
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    import tifffile
    from tiff_files import JPEG_2000, lsm_table, ome_image, ome_text, write_lsm, write_page, write_pages, write_stk
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

rng = np.random.default_rng(20261125)


def read(path, axes="", image=""):
    """Returns the reader's metadata and the pixels as t, c, z, y, x; or None and the message of the refusal."""
    raw = path + ".raw"
    done = subprocess.run([arguments.dump, path, raw, axes, image], capture_output=True, text=True)
    if done.returncode != 0:
        check(done.returncode == 1 and done.stderr.count("\n") == 1, path, "ended with", done.returncode, done.stderr)
        return None, done.stderr.strip()
    about = json.loads(done.stdout)
    data = np.fromfile(raw, about["type"]).reshape(about["shape"])
    os.remove(raw)
    return about, data


def check_read(name, path, array, axes="", image="", notes=None, **facts):
    """Reads a file, and compares it with `array` (t, c, z, y, x). The notes must contain `notes`; [] means no notes."""
    about, data = read(path, axes, image)
    if about is None:
        check(False, name, "refused:", data)
        return
    check(data.shape == array.shape and np.array_equal(data, array), name, "pixels", data.shape)
    if notes is not None:
        text = " | ".join(about["notes"])
        check(all(word in text for word in notes) and bool(text) == bool(notes), name, "notes", text)
    for key, value in facts.items():
        if key == "voxel":
            right = [(a is None) == (b is None) and (a is None or abs(a - b) <= 1e-6 * b)
                     for a, b in zip(about[key], value)]
            check(all(right), name, "voxel size", about[key], "expected", value)
        else:
            check(about[key] == value, name, key, about[key], "expected", value)


def check_refused(name, path, *words, axes="", image=""):
    about, text = read(path, axes, image)
    check(about is None and all(word in text for word in words), name, "gave", about or text)


def random_stack(*shape, dtype="uint16"):
    return rng.integers(0, 200, shape).astype(dtype)


UNKNOWN = [None, None, None]


def units(folder):
    file = os.path.join(folder, "u.tif")
    a = random_stack(4, 6, 8)
    per_10 = {"resolution": (10, 10), "resolutionunit": 1}
    spellings = {"um": 1, "micron": 1, "microns": 1, "Micron": 1, "micrometer": 1, "micrometre": 1, "micrometres": 1,
                 "\\u00B5m": 1, "nm": 1e-3, "nanometre": 1e-3, "nanometers": 1e-3, "mm": 1e3, "millimetre": 1e3,
                 "millimetres": 1e3, "cm": 1e4, "centimetre": 1e4, "metre": 1e6, "meters": 1e6, "inches": 25400}
    for unit, um in spellings.items():
        write_pages(file, a, f"ImageJ=1.53t\nimages=4\nslices=4\nunit={unit}\nspacing=0.5\n", **per_10)
        check_read(f"unit {unit}", file, a[None, None], voxel=[0.5 * um, 0.1 * um, 0.1 * um], notes=[])
    write_pages(file, a, "ImageJ=1.53t\nimages=4\nslices=4\nunit=micron\nspacing=-0.5\n", **per_10)
    check_read("a negative spacing", file, a[None, None], voxel=[0.5, 0.1, 0.1])
    write_pages(file, a, "ImageJ=1.53t\nimages=4\nslices=4\nunit=micron\nspacing=0.5\n".replace("micron", "\u00b5m")
                .encode("latin-1"), **per_10)
    check_read("micro as a byte of Latin-1", file, a[None, None], voxel=[0.5, 0.1, 0.1])
    for declared in ('<?xml version="1.0" encoding="ISO-8859-1"?>', '<?xml version="1.0" encoding="UTF-8"?>', ""):
        sizes = "".join(f'PhysicalSize{x}="{v}" PhysicalSize{x}Unit="\u00b5m" ' for x, v in zip("XYZ", (0.1, 0.1, 0.5)))
        xml = (declared + '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
               '<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="8" SizeY="6" SizeZ="4" SizeC="1" '
               f'SizeT="1" {sizes}><Channel ID="Channel:0:0" SamplesPerPixel="1"/><TiffData/></Pixels></Image></OME>')
        write_pages(file, a, xml.encode("latin-1"), **per_10)
        check_read("OME-XML in Latin-1", file, a[None, None], voxel=[0.5, 0.1, 0.1])
    write_pages(file, a[:1], None, resolution=(300, 300), resolutionunit=2)
    check_read("a print", file, a[None, None, :1], voxel=UNKNOWN, notes=[])
    write_pages(file, a[:1], None, resolution=(2400, 2400), resolutionunit=2)
    check_read("a scan", file, a[None, None, :1], voxel=UNKNOWN, notes=["2400 dots per inch"])
    write_pages(file, a[:1], None, resolution=(254000, 254000), resolutionunit=2)
    check_read("a microscope in inches", file, a[None, None, :1], voxel=[None, 0.1, 0.1], notes=[])
    write_pages(file, a, "ImageJ=1.53t\nimages=4\nslices=4\nunit=inch\n", resolution=(1200, 1200), resolutionunit=2)
    check_read("a print in ImageJ", file, a[None, None], voxel=UNKNOWN, notes=["1200 dots per inch"])


def imagej2(folder):
    file = os.path.join(folder, "s.tif")
    a = random_stack(3, 2, 6, 8)
    text = ("SCIFIO=0.46.0\naxes=X,Y,Channel,Z\nlengths=8,6,2,3\nscales=0.1,0.1,1.0,0.5\n"
            "units=micron,micron,null,micron\n"
            "bitsPerPixel=16\nimages=6\nchannels=2\nslices=3\nframes=1\nhyperstack=true\nmode=composite\nunit=micron\n")
    write_pages(file, a.reshape(-1, 6, 8), text, resolution=(10, 10), resolutionunit=1)
    check_read("ImageJ2", file, a.swapaxes(0, 1)[None], voxel=[0.5, 0.1, 0.1], notes=[])
    write_pages(file, a.reshape(-1, 6, 8), text.replace("Channel", "Lifetime"))
    check_refused("ImageJ2 with lifetimes", file, "Lifetime", "--axes")
    check_read("lifetimes as the caller says", file, a.swapaxes(0, 1)[:, None], axes="Z3T2YX")
    write_pages(file, a.reshape(-1, 6, 8), "ImageJ=1.53t\nimages=4\nslices=4\n")
    check_refused("more pages than ImageJ says", file, "4 planes", "6", "--axes")
    check_read("more pages, with axes", file, a.reshape(1, 1, 6, 6, 8), axes="Z6YX")


def shaped(folder):
    file = os.path.join(folder, "t.tif")
    a = random_stack(2, 2, 2, 3, 6, 8)
    tifffile.imwrite(file, a, photometric="minisblack", metadata={"axes": "RTCZYX"})
    check_read("the first scene", file, a[0], notes=["2 images", "--image"], images=2, image_name="R 0")
    check_read("the second scene", file, a[1], image="1", notes=[])
    check_read("the second scene by name", file, a[1], image="R 1", notes=[])
    check_refused("a third scene", file, 'no image "2"', "R 1", image="2")
    tifffile.imwrite(file, a[0, 0, 0], photometric="minisblack", metadata={"axes": "RYX"})
    check_read("scenes of one plane", file, a[0, 0, 0, :1][None, None], notes=["3 images"])
    check_read("the last scene of one plane", file, a[0, 0, 0, 2:][None, None], image="2")
    tifffile.imwrite(file, a, photometric="minisblack", metadata={"axes": "RTCZYX"})
    check_read("a scene divided otherwise", file, a[1].reshape(2, 6, 1, 6, 8), image="1", axes="T2C6YX")
    tifffile.imwrite(file, random_stack(2, 2, 2, 3, 6, 8), photometric="minisblack")
    check_refused("more axes than have names", file, "????", "--axes")
    tifffile.imwrite(file, a[0, 0], photometric="minisblack", metadata={"axes": "CQYX"[:4]})
    check_refused("an axis within", file, "CQ", "--axes")
    check_read("an axis within, with axes", file, a[0, 0][None], axes="C2Z3YX")
    tifffile.imwrite(file, a[0, 0, 0], photometric="minisblack")
    check_read("no axes", file, a[0, 0, 0][None, None], notes=["ZYX are assumed"])
    check_read("axes of the caller", file, a[0, 0, 0][:, None, None], axes="TYX", notes=[])
    for planes in (3, 4):
        for letter, moved in (("Z", lambda x: x[None, None]), ("T", lambda x: x[:, None, None])):
            b = random_stack(planes, 30, 20)
            facts = {"axes": letter + "YX", "spacing": 0.3, "unit": "um"}
            tifffile.imwrite(file, b, metadata=facts, resolution=(10, 10))
            with tifffile.TiffFile(file) as tif:
                check(len(tif.pages) == 1 and tif.pages[0].samplesperpixel == planes, "tifffile's way")
            check_read(f"{planes} planes along {letter} in one page", file, moved(b), voxel=[0.3, 0.1, 0.1], notes=[])
            check_read("its samples as channels", file, b[None, :, None], axes=f"C{planes}YX")
            check_refused("its samples divided wrongly", file, "last axis", axes=f"C{planes}Z1YX")
        tifffile.imwrite(file, b)
        check_read(f"{planes} planes in one page without axes", file, b[None, None], notes=["along z", "--axes CYX"])
        check_read(f"{planes} planes in one page as channels", file, b[None, :, None], axes="CYX", notes=[])
        tifffile.imwrite(file, b, photometric="rgb", planarconfig="separate", metadata=None)
        check_read("colors", file, b[None, :, None])
        check_read("colors as planes", file, b[None, None], axes="ZYX")
    with tifffile.TiffWriter(file) as tif:
        for page in a[0, 0, 0]:
            tif.write(page, photometric="minisblack")
    check_read("pages appended one by one", file, a[0, 0, 0][None, None], notes=["3 pages", "--axes"], images=1)
    with tifffile.TiffWriter(file) as tif:
        tif.write(a[0, 0, 0], photometric="minisblack", metadata={"axes": "ZYX"})
        tif.write(random_stack(5, 4, 4), photometric="minisblack", metadata={"axes": "TYX"})
    check_read("the first of two series", file, a[0, 0, 0][None, None], notes=["2 images"])
    about, data = read(file, image="1")
    check(about is not None and about["shape"] == [5, 1, 1, 4, 4], "the second of two series", about, data)


def metamorph(folder):
    file = os.path.join(folder, "s.stk")
    a = random_stack(5, 6, 8)
    write_stk(file, a, [0.3 * i for i in range(5)], pixel=0.108)
    check_read("planes at distances", file, a[None, None], voxel=[0.3, 0.108, 0.108], notes=[], format="MetaMorph STK")
    write_stk(file, a, [0.3] * 5)
    check_read("planes of one distance", file, a[None, None], voxel=[0.3, None, None])
    write_stk(file, a, [0] * 5, times=[1000 * i for i in range(5)])
    check_read("times", file, a[:, None, None], notes=[])
    write_stk(file, a, [0] * 5)
    check_read("planes that say nothing", file, a[None, None], notes=["--axes"])
    write_stk(file, a, [0] * 5, wavelengths=[405, 488, 405, 488, 405])
    check_refused("several wavelengths", file, "wavelengths", "--axes")
    check_read("several wavelengths, with axes", file, a[None, :, None], axes="CYX")
    write_stk(file, a, [0.3] * 5)
    with open(file, "rb") as f:
        whole = f.read()
    with open(file, "wb") as f:  # tells of 5000 planes, which the file does not have
        f.write(whole.replace(struct.pack("<HHLL", 33629, 5, 5, 0)[:8], struct.pack("<HHL", 33629, 5, 5000)))
    check_refused("more planes than the file has room for", file, "5000", "truncated")


def lsm(folder):
    file = os.path.join(folder, "l.lsm")

    a = random_stack(2, 3, 2, 6, 8)  # t, z, c
    write_lsm(file, a, lsm_table(2, 3, 2))
    check_read("LSM", file, a.swapaxes(1, 2), voxel=[0.3, 0.1, 0.1], interval=2.5, format="Zeiss LSM", notes=[])
    write_lsm(file, a, lsm_table(2, 3, 2, scan_type=1))
    check_refused("a section along z", file, "scan type 1", "--axes")
    write_lsm(file, a, lsm_table(2, 6, 2))
    check_refused("fewer pages than the table says", file, "6 planes", "--axes")
    write_lsm(file, a, lsm_table(2, 3, 1, positions=2))
    check_read("a position", file, a[1:].swapaxes(1, 2), image="1", images=2)


def new_uuid():
    return "urn:uuid:" + str(uuid.uuid4())


def renamed(folder):
    a = random_stack(3, 6, 8)
    for named in ("before.ome.tif", r"C:\data\w.ome.tif", "W.OME.TIF", "gone.ome.tif"):
        for with_root in (True, False):
            uid = new_uuid()
            file = os.path.join(folder, "w.ome.tif")
            images = ome_image(0, "i", [(named, uid, k) for k in range(3)])
            write_pages(file, a, ome_text(images, uid if with_root else ""))
            by_name = named.lower().endswith("w.ome.tif")
            check_read(f"{named}, UUID {with_root}", file, a[None, None], notes=[]
                       if with_root or by_name else ["renamed"])


def sets(folder):
    uids = [new_uuid() for _ in range(3)]
    a = [random_stack(3, 6, 8) for _ in range(3)]
    names = [f"p{i}.ome.tif" for i in range(3)]
    images = "".join(ome_image(i, f"Position {i}", [(names[i], uids[i], k) for k in range(3)]) for i in range(3))
    for i in range(3):
        write_pages(os.path.join(folder, names[i]), a[i], ome_text(images, uids[i]))
    for i in range(3):
        check_read(f"position {i} by its file", os.path.join(folder, names[i]), a[i][None, None], images=3,
                   image_name=f"Position {i}", notes=[], voxel=[0.3 + i / 10, None, None])
    check_read("position 2 from file 0", os.path.join(folder, names[0]), a[2][None, None], image="Position 2")
    check_read("position 1 by number", os.path.join(folder, names[2]), a[1][None, None], image="1")
    check_refused("no such position", os.path.join(folder, names[0]), "Position 9", "Position 1", image="Position 9")
    # One image whose planes are in three files.
    one = ome_image(0, "whole", [(names[i], uids[i], 0) for i in range(3)])
    for i in range(3):
        write_pages(os.path.join(folder, names[i]), a[0][i:i + 1], ome_text(one, uids[i]))
    for i in range(3):
        check_read(f"a set from file {i}", os.path.join(folder, names[i]), a[0][None, None], notes=[])
    os.rename(os.path.join(folder, names[2]), os.path.join(folder, "P2.OME.TIF"))
    check_read("a set with another case", os.path.join(folder, names[0]), a[0][None, None])
    os.remove(os.path.join(folder, "P2.OME.TIF"))
    check_refused("a set without a file", os.path.join(folder, names[0]), "set of 3 files", "p2.ome.tif")
    # Planes that alternate between two files: each file has every second plane.
    two = ome_image(0, "turns", [(names[z % 2], uids[z % 2], z // 2) for z in range(6)], z=6)
    b = random_stack(6, 6, 8)
    for i in range(2):
        write_pages(os.path.join(folder, names[i]), b[i::2], ome_text(two, uids[i]))
    check_read("planes that alternate between files", os.path.join(folder, names[0]), b[None, None], notes=[])
    # More files than the reader keeps open at once.
    many = [f"m{i:03}.ome.tif" for i in range(150)]
    many_uids = [new_uuid() for _ in many]
    c = random_stack(150, 6, 8)
    text = ome_text(ome_image(0, "many", [(name, uid, 0) for name, uid in zip(many, many_uids)], z=150), many_uids[0])
    for name, plane in zip(many, c):
        write_pages(os.path.join(folder, name), plane[None], text if name == many[0] else None)
    check_read("a set of 150 files", os.path.join(folder, many[0]), c[None, None])
    again = ome_text(ome_image(0, "again", [("x.ome.tif", uids[0], 0)] * 3 + [("x.ome.tif", uids[0], 0)] * 9), uids[0])
    write_pages(os.path.join(folder, "x.ome.tif"), a[0], again.replace('PlaneCount="1"', 'PlaneCount="3"').replace(
        "FirstZ", "First0"))
    check_refused("planes placed again and again", os.path.join(folder, "x.ome.tif"), "again and again")
    # XML documents beside the TIFF: BinaryOnly refers to one, without which the TIFF describes nothing.
    for i in range(3):
        only = ome_text(f'<BinaryOnly MetadataFile="s.companion.ome" UUID="{new_uuid()}"/>', uids[i])
        write_pages(os.path.join(folder, names[i]), a[0][i:i + 1], only if i < 2 else None)
    check_refused("a companion that is not there", os.path.join(folder, names[0]), "s.companion.ome")
    with open(os.path.join(folder, "s.companion.ome"), "w") as f:
        f.write(ome_text(one))
    check_read("a set with a companion", os.path.join(folder, names[1]), a[0][None, None])
    check_read("the companion", os.path.join(folder, "s.companion.ome"), a[0][None, None])
    # The first page belongs to the label image.
    file = os.path.join(folder, "m.ome.tif")
    both = (ome_image(0, "specimen", [("m.ome.tif", uids[0], k) for k in (1, 2, 3)]) +
            ome_image(1, "label", [("m.ome.tif", uids[0], 0)], 4, 3, 1))
    write_pages(file, [random_stack(3, 4)] + list(a[1]), ome_text(both, uids[0]))
    check_read("a label first", file, a[1][None, None], notes=["2 images", "specimen"])


def depths(folder):
    file = os.path.join(folder, "d.tif")

    for bits in (1, 2, 4, 10, 12, 14):
        a = rng.integers(0, 2**bits, (5, 7))
        rows = ["".join(format(v, f"0{bits}b") for v in row) for row in a]  # bits of each row, before padding to bytes
        filled = "".join(row + "0" * (-len(row) % 8) for row in rows)
        data = bytes(int(filled[i:i + 8], 2) for i in range(0, len(filled), 8))
        for order in "<>":
            write_page(file, 7, 5, bits, data, order=order)
            check_read(f"{bits} bits {order}", file, a[None, None, None].astype("u1" if bits < 8 else "u2"), notes=[])
    for order in "<>":
        half = np.array([[1.5, -2.25, 6.1e-5, 5.96e-8], [65504, 0, -0.0, 3]], order + "f2")
        write_page(file, 4, 2, 16, half.tobytes(), 3, order=order)
        check_read("half", file, half.astype("f4")[None, None, None])
        for kind, fmt in (("i8", 2), ("u8", 1)):
            whole = np.array([[2**53, 7], [0, -5 if fmt == 2 else 5]], order + kind)
            write_page(file, 2, 2, 64, whole.tobytes(), fmt, order=order)
            check_read(f"64 bits {kind}", file, whole.astype("f8")[None, None, None])
            whole[1, 0] = 2**53 + 1
            write_page(file, 2, 2, 64, whole.tobytes(), fmt, order=order)
            check_refused(f"64 bits {kind} beyond", file, str(2**53 + 1), "row 1")
    write_page(file, 2, 2, 8, bytes(range(4)))
    with open(file, "rb") as f:
        whole = f.read()
    with open(file, "wb") as f:  # the next directory has no entries, which libtiff reports as lack of memory
        f.write(whole[:-4] + struct.pack("<L", len(whole)) + bytes(6))
    check_refused("a directory without entries", file, "damaged")
    write_page(file, 2, 2, 8, bytes(range(4)), photometric=0)
    check_read("white is zero", file, np.arange(4, dtype="u1").reshape(1, 1, 1, 2, 2), notes=["0 as white"])


def jpeg_2000(folder):
    file = os.path.join(folder, "j.tif")

    for bits, text in JPEG_2000.items():
        coded = base64.b64decode(text)
        right = (np.arange(48) * (5 if bits == 8 else 1300)).astype(f"u{bits // 8}").reshape(1, 1, 1, 6, 8)
        for compression in (33003, 33004, 33005, 34712):
            write_page(file, 8, 6, bits, coded, compression=compression)
            about, text = read(file)
            if about is None and "built without" in text:
                return
            check_read(f"JPEG 2000 {compression}, {bits} bits", file, right)
        write_page(file, 8, 5, bits, coded, compression=34712)
        check_refused("JPEG 2000 of another size", file, "another size")
        write_page(file, 8, 6, bits, coded[:-40], compression=34712)
        check_refused("JPEG 2000 that is cut", file, "cannot be decoded") if bits == 8 else None


def foreign(folder):
    file = os.path.join(folder, "f.tif")
    a = random_stack(6, 6, 8)
    write_pages(file, a, None)
    check_read("pages without a word", file, a[None, None], notes=["6 pages", "--axes ZYX"])
    check_read("confirmed", file, a[None, None], axes="ZYX", notes=[])
    check_read("divided", file, a.reshape(2, 3, 1, 6, 8), axes="T2C3YX", notes=[])
    check_read("divided, one extent left out", file, a.reshape(2, 3, 1, 6, 8), axes="TC3YX", notes=[])
    check_refused("divided wrongly", file, "6", axes="T4C2YX")
    check_refused("not divided", file, "extents", axes="TCYX")
    for text, word in (("<MetaData><x/></MetaData>", "MetaSeries"), ('{"frames": 3}', "not understood"),
                       ("channels: 2, gain 3", "not understood"), ("scanimage.SI.hChannels = [1 2]", "ScanImage")):
        write_pages(file, a, text)
        check_refused(text, file, word, "--axes")
        check_read(text + " with axes", file, a[None, None], axes="ZYX")
    write_pages(file, a, "made on a Tuesday")
    check_read("free text", file, a[None, None], notes=["6 pages"])
    write_pages(file, a, None, extratags=[(51123, 2, 0, '{"Axes": {"time": 0}}', True)])
    check_refused("Micro-Manager's own", file, "Micro-Manager", "--axes")
    write_pages(file, [random_stack(6, 8), random_stack(6, 8), random_stack(3, 4)], None)
    check_refused("pages of two sizes", file, "--image")
    check_read("the smaller page", file, read(file, image="1")[1], image="1")
    write_pages(file, a[:1], None, subfiletype=1)
    check_read("a thumbnail alone", file, a[None, None, :1], notes=["thumbnails"])


parser = argparse.ArgumentParser()
parser.add_argument("--dump", required=True)
arguments = parser.parse_args()
for part in (units, imagej2, shaped, metamorph, lsm, renamed, sets, depths, jpeg_2000, foreign):
    with tempfile.TemporaryDirectory() as temporary:
        part(temporary)
finish()
