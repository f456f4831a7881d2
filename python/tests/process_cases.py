# SPDX-License-Identifier: Apache-2.0
"""Common code of the tests of convolume.process: a grid of blocks, and a comparison of results."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
GRID = {"chunks": (8, 16, 16), "shards": (8, 32, 32), "block": (8, 32, 64)}


def read_shard_files(path):
    """Returns the bytes of every shard file below a folder, by its path in the folder."""
    return {str(p.relative_to(path)): p.read_bytes() for p in Path(path).rglob("*")
            if p.is_file() and ".convolume" not in p.parts and p.name.isdigit()}


def assert_close(got, expected, tolerance=2e-6):
    assert np.abs(np.asarray(got) - expected).max() <= tolerance * np.abs(expected).max()


def gaussian(sigma, size):
    axes = np.ogrid[tuple(slice(-(n // 2), n // 2 + 1) for n in size)]
    psf = np.exp(-sum((a / s) ** 2 for a, s in zip(axes, sigma)) / 2)
    return (psf / psf.sum()).astype(np.float32)
