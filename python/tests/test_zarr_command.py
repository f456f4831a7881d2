# SPDX-License-Identifier: Apache-2.0
"""Tests of the commands on OME-Zarr images, through the program convolume-zarr."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

import convolume
from convolume import zarr_command
from convolume._terminal_names import NameReplacer

pytest.importorskip("tensorstore")
COMMAND = os.environ.get("CONVOLUME_TEST_COMMAND") or shutil.which("convolume")
pytestmark = pytest.mark.skipif(COMMAND is None, reason="the command convolume is not on the PATH")


@pytest.fixture
def image(tmp_path):
    values = np.random.default_rng(3).poisson(40, (12, 40, 48)).astype(np.uint16)
    convolume.save(tmp_path / "a.zarr", values, spacing=(0.3, 0.1, 0.1))
    kernel = np.random.default_rng(4).random((3, 5, 5)).astype(np.float32)
    convolume.save(tmp_path / "k.npy", kernel / kernel.sum())
    return values, kernel / kernel.sum()


def run(folder, *arguments, meanwhile=None):
    """Runs a command as users type it, with convolume-zarr on the PATH, as in an installed package. `meanwhile` is
    called with the process once it has started."""
    program = folder / "bin" / "convolume-zarr"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m convolume.zarr_command \"$@\"\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = {key: value for key, value in os.environ.items() if key != "CONVOLUME_COMMAND"}
    environment |= {"PATH": f"{program.parent}:{environment['PATH']}",
                    "PYTHONPATH": os.path.dirname(os.path.dirname(convolume.__file__))}
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=environment, cwd=folder)
    if meanwhile is not None:
        meanwhile(process)
    output, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def remaining_files(folder):
    return sorted(name for name in os.listdir(folder) if name != "bin")


def test_convolve(tmp_path, image):
    values, kernel = image
    done = run(tmp_path, "convolve", "a.zarr", "k.npy", "-o", "b.zarr", "--device", "cpu", "--kernel-normalize", "none")
    assert done.returncode == 0, done.stderr
    result = convolume.open(tmp_path / "b.zarr")
    assert result.spacing == (0.3, 0.1, 0.1) and result.dtype == np.float32
    np.testing.assert_allclose(np.asarray(result), convolume.convolve(values, kernel, mode="same", device="cpu"),
                               rtol=1e-5, atol=1e-4)
    assert remaining_files(tmp_path) == ["a.zarr", "b.zarr", "k.npy"]
    # An existing image stays, unless the command is told to overwrite it.
    again = ["convolve", "a.zarr", "k.npy", "-o", "b.zarr", "--device", "cpu", "--output-type", "uint16"]
    refused = run(tmp_path, *again)
    assert refused.returncode == 5 and "b.zarr exists" in refused.stderr
    assert convolume.open(tmp_path / "b.zarr").dtype == np.float32
    assert run(tmp_path, *again, "--overwrite").returncode == 0
    assert convolume.open(tmp_path / "b.zarr").dtype == np.uint16
    done = run(tmp_path, "convolve", "a.zarr", "k.npy", "-o", "b.h5:/x/y", "--device", "cpu")
    if done.returncode != 4:  # this build has HDF5
        assert done.returncode == 0, done.stderr
        assert convolume.open(f"{tmp_path}/b.h5:/x/y").shape == values.shape
    # The output has another format, and the input is a level.
    assert run(tmp_path, "convolve", "a.zarr/0/", "k.npy", "-o", "c.tif", "--device", "cpu").returncode == 0
    assert convolume.open(tmp_path / "c.tif").spacing == (0.3, 0.1, 0.1)


def test_deconvolve_and_simulate(tmp_path, image):
    values, _ = image
    convolume.save(tmp_path / "a.tif", values, spacing=(0.3, 0.1, 0.1))
    options = ["k.npy", "--device", "cpu", "--iterations", "3", "-q"]
    for name in ("a.zarr", "a.tif"):
        done = run(tmp_path, "deconvolve", name, *options, "-o", name.replace("a.", "d."))
        assert done.returncode == 0, done.stderr
    found, wanted = (np.asarray(convolume.open(tmp_path / name)) for name in ("d.zarr", "d.tif"))
    np.testing.assert_array_equal(found, wanted)
    done = run(tmp_path, "simulate", "a.zarr", "k.npy", "-o", "s.zarr", "--device", "cpu", "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert convolume.open(tmp_path / "s.zarr").shape == values.shape


def test_info_and_preview(tmp_path, image):
    done = run(tmp_path, "info", "a.zarr")
    assert done.returncode == 0 and "shape (z,y,x): 12×40×48\nvoxel size z: 0.3 µm" in done.stdout
    facts = json.loads(run(tmp_path, "info", "a.zarr", "--json").stdout)
    assert facts["shape"] == [12, 40, 48] and facts["voxel_size_um"] == [0.3, 0.1, 0.1] and facts["type"] == "uint16"
    done = run(tmp_path, "preview", "a.zarr", "-o", "p.png")
    assert done.returncode == 0 and (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG", done.stderr


def test_statistics(tmp_path, image, monkeypatch, capsys):
    """The statistics are those of the same samples in a TIFF file, also if they are read in several boxes."""
    several = np.random.default_rng(5).random((2, 3, 4, 20, 30)).astype(np.float32)
    several[1, 2, 3, 4, 5:8] = np.nan
    convolume.save(tmp_path / "five.zarr", several)
    convolume.save(tmp_path / "five.tif", several)
    convolume.save(tmp_path / "a.tif", image[0])
    for name in ("five", "a"):
        wanted = run(tmp_path, "info", f"{name}.tif", "--stats").stdout.splitlines()[-5:]
        assert run(tmp_path, "info", f"{name}.zarr", "--stats").stdout.splitlines()[-5:] == wanted
        wanted = json.loads(run(tmp_path, "info", f"{name}.tif", "--stats", "--json").stdout)["stats"]
        for box_bytes in (1 << 28, 5000, 700):  # all samples, a few planes, a few rows
            monkeypatch.setattr(zarr_command, "_BOX_BYTES", box_bytes)
            assert zarr_command.main(["info", str(tmp_path / f"{name}.zarr"), "--stats", "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["stats"] == pytest.approx(wanted, rel=1e-12)
    convolume.save(tmp_path / "none.zarr", np.full((2, 3, 4), np.nan, np.float32))
    facts = json.loads(run(tmp_path, "info", "none.zarr", "--stats", "--json").stdout)
    assert facts["stats"] == {"min": None, "max": None, "mean": None, "sum": 0, "nan": 24}


def test_convert_and_diff(tmp_path, image):
    values, _ = image
    done = run(tmp_path, "convert", "a.zarr", "--crop", "2:10,:,:", "b.ome.tif", "--channel-names", "GFP", "-q")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "b.ome.tif")), values[2:10])
    done = run(tmp_path, "convert", "b.ome.tif", "c.zarr", "--output-type", "float32")
    assert done.returncode == 0, done.stderr
    result = convolume.open(tmp_path / "c.zarr")
    np.testing.assert_array_equal(np.asarray(result), values[2:10].astype(np.float32))
    assert result.spacing == (0.3, 0.1, 0.1)
    assert run(tmp_path, "convert", "a.zarr", "-o", "c.zarr").returncode == 5
    assert run(tmp_path, "convert", "a.zarr", "c.zarr", "--overwrite", "-q").returncode == 0
    assert run(tmp_path, "diff", "a.zarr", "c.zarr", "--tolerance", "0").returncode == 0
    assert remaining_files(tmp_path) == ["a.zarr", "b.ome.tif", "c.zarr", "k.npy"]


def test_what_is_refused(tmp_path, image):
    cases = [(["convolve", "a.zarr", "k.npy"], 2, "-o OUT"),
             (["convolve", "none.zarr", "k.npy", "-o", "x.tif"], 66, "none.zarr"),
             (["convolve", "a.zarr", "k.npy", "-o", "x.zarr", "--mode", "odd"], 2, "odd"),
             (["convolve", "a.zarr", "k.npy", "--output-dir", "x"], 2, "--output-dir"),
             (["convolve", "a.zarr", "--psf-for", "0=k.zarr", "-o", "x.tif"], 2, "of its own"),
             (["convert", "a.zarr", "--crop", "0:1,:,:"], 2, "convert IN OUT"),
             (["deconvolve", "a.zarr", "k.npy", "-o", "x.zarr", "--dump-every", "2"], 2, "name a TIFF file"),
             (["deconvolve", "a.zarr", "k.npy", "-o", "x.tif", "--uncertainty", "u.zarr"], 2, "name a TIFF file"),
             (["deconvolve", "a.zarr", "k.npy", "-o", "x.tif", "--uncertainty=u.zarr"], 2, "--uncertainty writes no"),
             (["simulate", "a.zarr", "k.npy", "-o", "x.zarr", "--truth", "t.zarr"], 2, "--truth writes no"),
             (["convert", "a.zarr", "none/x.zarr"], 73, "/none\" does not exist; create it first"),
             (["convert", "a.zarr", "none/x.tif"], 73, "/none\" does not exist; create it first"),
             (["convolve", "a.zarr", "k.npy", "-o", "none/x.h5:/a/b"], 73, "/none\" does not exist; create it first"),
             (["convert", "k.npy", "none/x.zarr"], 73, "/none\" does not exist; create it first"),
             (["project", "a.zarr", "-o", "x.tif"], 2, "OME-Zarr")]
    for arguments, code, text in cases:
        done = run(tmp_path, *arguments)
        assert done.returncode == code and text in done.stderr and done.stderr.count("\n") == 1, (arguments, done)
    assert remaining_files(tmp_path) == ["a.zarr", "k.npy"]


def test_scaled_values(tmp_path, image):
    convolume.save(tmp_path / "a.tif", image[0])
    done = run(tmp_path, "convert", "a.tif", "scaled.tif", "--scale-output", "--output-type", "uint8", "-q")
    assert done.returncode == 0, done.stderr
    with pytest.warns(convolume.ConvolumeWarning, match="scales its values .* read as stored"):
        scaled = convolume.open(tmp_path / "scaled.tif")
    with pytest.raises(convolume.InvalidArgument, match="OME-Zarr cannot say what its values stand for"):
        convolume.save(tmp_path / "x.zarr", scaled)
    with pytest.warns(convolume.ConvolumeWarning, match="read as stored"):
        convolume.process(tmp_path / "scaled.tif", tmp_path / "p.zarr", "convolve", kernel=image[1], device="cpu")
    before = remaining_files(tmp_path)
    for arguments in (["convolve", "a.tif", "k.npy", "-o", "x.zarr", "--scale-output"],
                      ["convolve", "a.zarr", "k.npy", "-o", "x.zarr", "--output-type", "uint8", "--scale-output"],
                      ["convert", "scaled.tif", "x.zarr"],
                      ["convert", "--output-type", "uint8", "scaled.tif", "x.zarr"]):
        done = run(tmp_path, *arguments)
        assert done.returncode == 2 and "OME-Zarr cannot say what its values stand for" in done.stderr, done
        assert done.stderr.count("\n") == 1 and remaining_files(tmp_path) == before
    done = run(tmp_path, "convert", "scaled.tif", "x.zarr", "--output-type", "float32")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.asarray(convolume.open(tmp_path / "x.zarr")), image[0], atol=scaled.scaling[0])


def is_alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("output", ["b.zarr", "b.tif"])
def test_interrupted(tmp_path, image, number, output):
    """A signal to convolume-zarr also ends the command that it runs, and removes all copies."""
    children = []

    def interrupt(process):
        listed = f"/proc/{process.pid}/task/{process.pid}/children"
        while process.poll() is None and not children:
            time.sleep(0.02)
            with open(listed, encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    with open(f"/proc/{child}/cmdline", "rb") as words:
                        if b"deconvolve" in words.read().split(b"\0"):
                            children.append(child)
        time.sleep(0.5)
        process.send_signal(number)

    done = run(tmp_path, "deconvolve", "a.zarr", "k.npy", "-o", output, "--iterations", "10000000", "--device", "cpu",
               "--threads", "1", "--background", "0", meanwhile=interrupt)
    assert done.returncode == 130 and "interrupted; nothing was written" in done.stderr, done
    assert children and not is_alive(children[0])
    assert remaining_files(tmp_path) == ["a.zarr", "k.npy"]


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "bin" not in path.parts}


def test_an_output_that_is_an_input(tmp_path, image):
    convolume.save(tmp_path / "k.zarr", image[1])
    (tmp_path / "link.zarr").symlink_to("a.zarr")
    before = contents(tmp_path)
    cases = [(["convolve", "a.zarr", "k.npy", "-o", "a.zarr"], "is one of the inputs"),
             (["convolve", "a.zarr", "k.npy", "-o", "./a.zarr/"], "is one of the inputs"),
             (["convolve", "a.zarr", "k.npy", "-o", "link.zarr"], "is one of the inputs"),
             (["convolve", "link.zarr", "k.npy", "--output=a.zarr"], "is one of the inputs"),
             (["convolve", "a.zarr", "k.zarr", "-o", "k.zarr"], "is one of the inputs"),
             (["convolve", "a.zarr/0", "k.npy", "-o", "a.zarr"], "contains the input"),
             (["convolve", "a.zarr", "k.npy", "-o", "a.zarr/0"], "lies inside the input"),
             (["convert", "a.zarr", "a.zarr"], "is one of the inputs"),
             (["convert", "a.zarr", "a.zarr/b.tif"], "lies inside the input")]
    for arguments, text in cases:
        done = run(tmp_path, *arguments, "--overwrite")
        assert done.returncode == 2 and text in done.stderr and done.stderr.count("\n") == 1, (arguments, done)
        assert contents(tmp_path) == before, arguments


def test_messages_have_the_names_that_were_given(tmp_path, image):
    convolume.save(tmp_path / "n.zarr", np.full((4, 8, 8), np.nan, np.float32))
    done = run(tmp_path, "convolve", "n.zarr", "k.npy", "-o", "x.zarr", "--device", "cpu")
    assert done.returncode == 65 and "n.zarr" in done.stderr and ".convolume-" not in done.stderr


def test_names_that_come_in_parts():
    text = "cannot read /x/.c-1/0/a.ome.tif: it is /x/.c-1/0/b, or /x/.c-1/0/a.ome.tif"
    names = {"/x/.c-1/0/a.ome.tif": "a.zarr"}
    expected = text.replace("/x/.c-1/0/a.ome.tif", "a.zarr")
    for size in (1, 2, 3, 7, 19, 20, 100):
        replace = NameReplacer(names)
        parts = [replace(text[begin:begin + size]) for begin in range(0, len(text), size)]
        assert "".join(parts) + replace("", True) == expected, size
    replace = NameReplacer(names)
    assert replace("\r 10 %") == "\r 10 %"  # progress does not wait


def test_messages_on_a_terminal_have_these_names_too(tmp_path, image):
    given, terminal = os.openpty()
    try:
        done = subprocess.Popen([sys.executable, "-m", "convolume.zarr_command", "convolve", "a.zarr", "k.npy", "-o",
                                 "b{c}.zarr", "--device", "cpu", "-v"], cwd=tmp_path, stderr=terminal, stdin=terminal,
                                env={**os.environ, "CONVOLUME_COMMAND": COMMAND})
        assert done.wait(60) == 0
        text = os.read(given, 1 << 20).decode()
    finally:
        os.close(given)
        os.close(terminal)
    assert "a.zarr" in text and "b{c}.zarr" in text, text
    assert ".convolume-" not in text and ".ome.tif" not in text, text
    assert "\r\n" in text and "\r\r" not in text, text
    assert convolume.open(tmp_path / "b{c}.zarr").shape == image[0].shape


def test_copies_have_the_names_of_their_images(tmp_path):
    for name, copy in (("x/a.zarr/1", "a.ome.tif"), ("s3://x/a.ome.zarr/", "a.ome.tif"), ("a/store", "store.ome.tif"),
                       ("b{c}.zarr", "b_c_.ome.tif")):
        assert os.path.basename(zarr_command._copy_in(str(tmp_path), name.replace("/", "_"), name)) == copy


def test_no_space(tmp_path, image, monkeypatch, capsys):
    monkeypatch.setattr(zarr_command.shutil, "disk_usage", lambda path: Usage())
    assert zarr_command.main(["convolve", str(tmp_path / "a.zarr"), "k.npy", "-o", str(tmp_path / "x.tif")]) == 73
    assert "convolume process needs no copies" in capsys.readouterr().err


class Usage:
    free = 1000


def test_without_the_package(tmp_path, image):
    done = subprocess.run([COMMAND, "info", str(tmp_path / "a.zarr")], capture_output=True, text=True, check=False,
                          env={"PATH": str(tmp_path)})
    assert done.returncode == 4 and "pip install 'convolume[zarr]'" in done.stderr
