# SPDX-License-Identifier: Apache-2.0
"""Reads PNG files that convolume writes, without a library for images."""
import struct
import zlib
from pathlib import Path

import numpy as np


def read_png(path):
    """Returns gray as (rows, columns) of uint8 or uint16, RGB as (rows, columns, 3) of uint8; not interlaced."""
    data = Path(path).read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{path} is no PNG")
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] != zlib.crc32(kind + body):
            raise ValueError(f"{path}: CRC of {kind}")
        if kind == b"IHDR":
            width, height, bits, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    if (bits, color) not in ((8, 0), (16, 0), (8, 2)) or interlaced:
        raise ValueError(f"{path}: {bits} bits of color type {color}")
    step = 3 if color == 2 else bits // 8
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * step)
    pixels = unfiltered(rows, step)
    if color == 2:
        return pixels.reshape(height, width, 3)
    return pixels if bits == 8 else pixels.view(">u2").astype(np.uint16)


def unfiltered(rows, step):
    """Undoes PNG's filters of rows, which begin with the number of their filter; samples are `step` bytes apart.

    Lists are faster here than arrays, as each sample depends on the one before."""
    above = [0] * (rows.shape[1] - 1 + step)
    out = []
    for kind, *values in rows.tolist():
        line = [0] * step
        if kind == 0:
            line += values
        elif kind == 1:
            for value in values:
                line.append((value + line[-step]) % 256)
        elif kind == 2:
            line += [(value + b) % 256 for value, b in zip(values, above[step:])]
        elif kind == 3:
            for value, b in zip(values, above[step:]):
                line.append((value + (line[-step] + b) // 2) % 256)
        else:
            for value, b, c in zip(values, above[step:], above):
                a = line[-step]
                to_a, to_b, to_c = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                paeth = a if to_a <= to_b and to_a <= to_c else b if to_b <= to_c else c
                line.append((value + paeth) % 256)
        out.append(line[step:])
        above = line
    return np.array(out, np.uint8)
