# SPDX-License-Identifier: Apache-2.0
"""Writes small TIFFs of programs that tifffile does not write, byte by byte, for tests and for fuzzing."""
import struct

import numpy as np
import tifffile


def write_pages(path, pages, description, **options):
    with tifffile.TiffWriter(path) as tif:
        for i, page in enumerate(pages):
            tif.write(page, description=description if i == 0 else None, metadata=None, photometric="minisblack",
                      contiguous=False, **options)


def write_directory(path, pixels, rows, behind=b"", order="<"):
    """Writes a TIFF of one page: `pixels` at offset 8, then the directory of `rows` (tag, type, count, value), then
    the bytes `behind` it."""
    pixels += bytes(len(pixels) % 2)
    body = struct.pack(order + "H", len(rows)) + b"".join(
        struct.pack(order + "HHLHH", *r, 0) if r[1] == 3 else struct.pack(order + "HHLL", *r) for r in rows)
    with open(path, "wb") as f:
        f.write(struct.pack(order + "2sHL", b"II" if order == "<" else b"MM", 42, 8 + len(pixels)))
        f.write(pixels + body + bytes(4) + behind)


def write_page(path, width, height, bits, data, sample_format=1, photometric=1, order="<", compression=1):
    write_directory(path, data, [
        (256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, bits), (259, 3, 1, compression), (262, 3, 1, photometric),
        (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, len(data)), (339, 3, 1, sample_format)],
        order=order)


def write_stk(path, planes, distances, times=None, wavelengths=None, pixel=None):
    """Writes a MetaMorph stack: one directory whose tags UIC1 to UIC3 describe all planes."""
    n, h, w = planes.shape
    data = planes.astype("<u2").tobytes()
    directory = 8 + len(data)
    tags, extra = 13, b""
    at = directory + 2 + 12 * tags + 4

    def put(content):
        nonlocal extra
        place = at + len(extra)
        extra += content
        return place

    def rational(value):
        return struct.pack("<2L", round(value * 1000), 1000)

    unit = put(struct.pack("<L", 3) + b"um\0\0")
    size = put(rational(pixel or 0))
    pairs = [(4, size), (5, size), (6, unit)] if pixel else [(0, 0)]
    uic1 = put(b"".join(struct.pack("<2L", *pair) for pair in pairs) + bytes(8))
    uic2 = put(b"".join(rational(d) + struct.pack("<4L", 2450000, t, 2450000, t)
                        for d, t in zip(distances, times or [0] * n)))
    uic3 = put(b"".join(rational(v) for v in wavelengths or [520] * n))
    rows = [(254, 4, 1, 0), (256, 4, 1, w), (257, 4, 1, h), (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1),
            (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, h), (279, 4, 1, 2 * w * h), (33628, 4, len(pairs), uic1),
            (33629, 5, n, uic2), (33630, 5, n, uic3)]
    write_directory(path, data, rows, extra)


def lsm_table(channels, planes, times, scan_type=6, positions=1, voxel=(0.1e-6, 0.1e-6, 0.3e-6)):
    table = bytearray(512)
    struct.pack_into("<L5i", table, 0, 0x0400494C, 512, 8, 6, planes, channels)
    struct.pack_into("<2i", table, 24, times, 2)
    struct.pack_into("<3d", table, 40, *voxel)
    struct.pack_into("<H", table, 88, scan_type)
    struct.pack_into("<d", table, 112, 2.5)
    struct.pack_into("<2i", table, 264, positions, 1)
    return bytes(table)


def write_lsm(path, planes, table):
    """Writes an LSM file of `planes` (…, c, y, x): a page has all channels of a plane, and its thumbnail follows."""
    with tifffile.TiffWriter(path, byteorder="<") as tif:
        for i, page in enumerate(planes.reshape(-1, *planes.shape[-3:])):
            options = {"planarconfig": "separate"} if len(page) > 1 else {}
            tif.write(page if len(page) > 1 else page[0], metadata=None, photometric="minisblack", contiguous=False,
                      extratags=[(34412, 1, len(table), table, True)] if i == 0 else [], **options)
            tif.write(np.zeros((3, 4, 4), "uint8"), subfiletype=1, metadata=None, photometric="rgb",
                      planarconfig="separate", contiguous=False)


def ome_image(number, name, planes, x=8, y=6, z=3, label=""):
    data = "".join(f'<TiffData FirstC="0" FirstT="0" FirstZ="{k}" IFD="{page}" PlaneCount="1">'
                   f'<UUID FileName="{file}">{uid}</UUID></TiffData>' for k, (file, uid, page) in enumerate(planes))
    return (f'<Image ID="Image:{number}" Name="{label or name}"><Pixels ID="Pixels:{number}" DimensionOrder="XYZCT" '
            f'Type="uint16" SizeX="{x}" SizeY="{y}" SizeZ="{z}" SizeC="1" SizeT="1" PhysicalSizeZ="0.{number + 3}">'
            f'<Channel ID="Channel:{number}:0" SamplesPerPixel="1"/>{data}</Pixels></Image>')


def ome_text(images, uid=""):
    return ('<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"' + (f' UUID="{uid}"' if uid else "") +
            f'>{images}</OME>')


# Lossless codestreams of 8×6 pixels that OpenJPEG 2.5.4 made: n-th pixel 5 n of 8 bits, 1300 n of 16 bits.
JPEG_2000 = {
    8: "/0//UQApAAAAAAAIAAAABgAAAAAAAAAAAAAACAAAAAYAAAAAAAAAAAABBwEB/1IADAAAAAEAAQQEAAH/XAAHQEBISFD/ZAAl"
        "AAFDcmVhdGVkIGJ5IE9wZW5KUEVHIHZlcnNpb24gMi41LjT/kAAKAAAAAAAsAAH/k9+AcAbFcjQN5ShSZi2UdhV/wHwhQ+oE"
        "ABv1DL8oHv/Z",
    16: "/0//UQApAAAAAAAIAAAABgAAAAAAAAAAAAAACAAAAAYAAAAAAAAAAAABDwEB/1IADAAAAAEAAQQEAAH/XAAHQICIiJD/ZAAl"
        "AAFDcmVhdGVkIGJ5IE9wZW5KUEVHIHZlcnNpb24gMi41LjT/kAAKAAAAAABCAAH/k9/4kNAGxWjc95SftF7QvwjzmBgUxEdd"
        "87Q0pwH6f8B/IND/YMEAG/W7Eu6vDL8oHtSOwx//2Q==",
}
