# SPDX-License-Identifier: Apache-2.0
"""A format of a shared library is read by the command and by the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import convolume

COMMAND = os.environ.get("CONVOLUME_TEST_COMMAND") or shutil.which("convolume")
PLUGIN = Path(COMMAND or ".").resolve().parents[1] / "examples" / "libexample_format_plugin.so"
LIBRARY = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libm." in line)
pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason=f"{PLUGIN} was not built")


def run(*words, plugin=PLUGIN):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False,
                          env=os.environ | {"CONVOLUME_FORMATS": str(plugin)})


@pytest.mark.parametrize("most", [255, 65535])
def test_both_faces_read_it(tmp_path, most):
    samples = np.random.default_rng(1).integers(0, most + 1, (5, 7))
    plane = tmp_path / "plane.pgm"
    stored = samples.astype(">u2" if most > 255 else "u1").tobytes()
    plane.write_bytes(f"P5\n# a comment\n7 5\n{most}\n".encode() + stored)
    done = run(COMMAND, "convert", plane, "-o", tmp_path / "plane.tif")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "plane.tif")).reshape(5, 7), samples)
    code = f"import convolume, numpy; print(numpy.asarray(convolume.open({str(plane)!r})).sum())"
    assert run(sys.executable, "-c", code).stdout.split() == [str(samples.sum())]
    # Without the plug-in, its files are of no known format.
    with pytest.raises(convolume.BadData):
        convolume.open(plane)
    plane.write_bytes(b"P5 100000 100000 255\n")
    done = run(COMMAND, "info", plane)
    assert done.returncode == 65 and "ends before its last sample" in done.stderr


@pytest.mark.parametrize(("plugin", "code", "match"), [
    ("/nowhere/a.so", 66, "there is no plug-in"), (__file__, 2, "cannot be loaded"),
    (LIBRARY, 2, "has no formats of images")])
def test_what_is_no_plugin_is_refused(tmp_path, plugin, code, match):
    convolume.save(tmp_path / "a.tif", np.zeros((4, 4), np.uint8))
    done = run(COMMAND, "info", tmp_path / "a.tif", plugin=plugin)
    assert done.returncode == code and match in done.stderr, done.stderr
