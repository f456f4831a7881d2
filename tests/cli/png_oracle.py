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
    """Undoes PNG's filters of rows, which begin with the number of their filter; samples are `step` bytes apart."""
    above = np.zeros(rows.shape[1] - 1 + step, int)
    out = []
    for row in rows:
        values = row[1:].astype(int)
        line = np.zeros_like(above)
        if row[0] in (0, 2):
            line[step:] = (values + (above[step:] if row[0] else 0)) % 256
        elif row[0] == 1:
            for i in range(step):
                line[step + i::step] = np.cumsum(values[i::step]) % 256
        else:
            for i, value in enumerate(values):
                a, b, c = line[i], above[i + step], above[i]
                if row[0] == 3:
                    line[i + step] = (value + (a + b) // 2) % 256
                else:
                    p = a + b - c
                    paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                    line[i + step] = (value + paeth) % 256
        out.append(line[step:])
        above = line
    return np.array(out, np.uint8)
