# SPDX-License-Identifier: Apache-2.0
"""Tests that the programs of examples/python run. Each program checks its own results."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import convolume

PROGRAMS = sorted((Path(__file__).parents[2] / "examples" / "python").glob("*.py"))
NEEDS = {"dask_blocks": "dask.array", "stage_scan": "distributed", "own_method": "scipy", "blind": "jax", "own_penalty":
         "jax", "cupy_arrays": "cupy", "cupy_slabs": "cupy", "vendor_files": "bioio_czi"}  # modules beside NumPy
GPUS = {"cupy_arrays": 1, "cupy_slabs": 2}


@pytest.mark.skipif(not PROGRAMS, reason="the programs are not beside the tests")
def test_there_are_programs():
    assert len(PROGRAMS) >= 7


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_program(program, tmp_path):
    if sum(gpu.usable for gpu in convolume.gpu_devices()) < GPUS.get(program.stem, 0):
        done = run(program, tmp_path)
        assert done.returncode == 1 and done.stderr.startswith("skipped: there ")
        pytest.skip(done.stderr.strip())
    if program.stem in NEEDS:
        pytest.importorskip(NEEDS[program.stem])
    done = run(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr


def run(program, folder):
    # The program imports the package that the tests have imported.
    paths = [str(Path(convolume.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run([sys.executable, "-P", str(program)], cwd=folder, capture_output=True, text=True, check=False,
                          timeout=600, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
