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
    assert refused.returncode == 5 and '"b.zarr" exists' in refused.stderr
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


def test_deskew(tmp_path, image):
    values, _ = image
    scan = ["--angle", "30", "--step", "300nm"]
    assert run(tmp_path, "deskew", "a.zarr", *scan, "-o", "b.zarr").returncode == 0
    result = convolume.open(tmp_path / "b.zarr")
    assert result.spacing == pytest.approx((0.15, 0.1, 0.1)) and result.axes == "ZYX"
    expected = np.asarray(convolume.deskew(values, angle=30, step=0.3, pixel=0.1))
    np.testing.assert_array_equal(np.asarray(result), expected)


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


def test_statistics(tmp_path, image):
    """The statistics are those of the same samples in a TIFF file."""
    several = np.random.default_rng(5).random((2, 3, 4, 20, 30)).astype(np.float32)
    several[1, 2, 3, 4, 5:8] = np.nan
    convolume.save(tmp_path / "five.zarr", several)
    convolume.save(tmp_path / "five.tif", several)
    convolume.save(tmp_path / "a.tif", image[0])
    for name in ("five", "a"):
        wanted = run(tmp_path, "info", f"{name}.tif", "--stats").stdout.splitlines()[-5:]
        assert run(tmp_path, "info", f"{name}.zarr", "--stats").stdout.splitlines()[-5:] == wanted
        wanted = json.loads(run(tmp_path, "info", f"{name}.tif", "--stats", "--json").stdout)["stats"]
        found = json.loads(run(tmp_path, "info", f"{name}.zarr", "--stats", "--json").stdout)
        assert found["stats"] == pytest.approx(wanted, rel=1e-12) and found["format"] == "OME-Zarr"
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
             (["convolve", "a.zarr", "k.npy", "-o", "x.zarr", "--compression", "lzw", "--device", "cpu", "-q"], 2,
              "compressed by zstd or deflate"),
             (["convert", "a.zarr", "--crop", "0:1,:,:"], 2, "OUT"),
             (["convert", "a.zarr", "none/x.zarr"], 73, "none\" does not exist; create it first"),
             (["convert", "a.zarr", "none/x.tif"], 73, "none\" does not exist; create it first"),
             (["convolve", "a.zarr", "k.npy", "-o", "none/x.h5:/a/b"], 73, "none\" does not exist; create it first"),
             (["convert", "k.npy", "none/x.zarr"], 73, "none\" does not exist; create it first"),
             (["filter", "a.zarr", "k.npy", "-o", "x.wav"], 66, "a.zarr")]
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
        done = run(tmp_path, *arguments, "-q")
        assert done.returncode == 2 and "OME-Zarr cannot say what its values stand for" in done.stderr, done
        assert done.stderr.count("\n") == 1 and remaining_files(tmp_path) == before
    done = run(tmp_path, "convert", "scaled.tif", "x.zarr", "--output-type", "float32")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.asarray(convolume.open(tmp_path / "x.zarr")), image[0], atol=scaled.scaling[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("output", ["b.zarr", "b.tif"])
def test_interrupted(tmp_path, image, number, output):
    """A signal ends the command, which removes what it has written."""
    def interrupt(process):
        while process.poll() is None and not any(name.startswith(".") for name in os.listdir(tmp_path)):
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(number)

    done = run(tmp_path, "deconvolve", "a.zarr", "k.npy", "-o", output, "--iterations", "10000000", "--device", "cpu",
               "--threads", "1", "--background", "0", meanwhile=interrupt)
    assert done.returncode == 130 and "interrupted; nothing was written" in done.stderr, done
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


def test_second_outputs_and_folders_of_results(tmp_path, image):
    quick = ["--device", "cpu", "-q"]
    done = run(tmp_path, "deconvolve", "a.zarr", "k.npy", "-o", "d.zarr", "--iterations", "4", "--dump-every", "2",
               "--uncertainty", "u.zarr", *quick)
    assert done.returncode == 0, done.stderr
    dumped = [name for name in remaining_files(tmp_path) if name.startswith("d") and name != "d.zarr"]
    assert dumped and all(name.endswith(".zarr") for name in dumped)
    assert convolume.open(tmp_path / "u.zarr").dtype == np.float32
    done = run(tmp_path, "simulate", "a.zarr", "k.npy", "-o", "s.zarr", "--truth", "t.zarr", *quick)
    assert done.returncode == 0, done.stderr
    assert convolume.open(tmp_path / "t.zarr").shape == image[0].shape
    convolume.save(tmp_path / "kernel.zarr", image[1])
    done = run(tmp_path, "convolve", "a.zarr", "s.zarr", "--psf", "0=kernel.zarr", "--output-dir", "many", *quick)
    assert done.returncode == 0, done.stderr
    wanted = convolume.convolve(image[0], image[1], mode="same", device="cpu")
    np.testing.assert_allclose(np.asarray(convolume.open(tmp_path / "many/a.zarr")), wanted, rtol=1e-5, atol=1e-4)


def test_commands_without_kernels(tmp_path, image):
    for words, shape in ((["project", "a.zarr", "-o", "p.zarr"], (40, 48)),
                         (["psf", "-o", "psf.zarr", "--na", "0.8", "--wavelength", "520nm", "--voxel", "200,100,100nm"],
                          None), (["phantom", "-o", "ph.zarr", "--size", "8,16,16"], (8, 16, 16))):
        done = run(tmp_path, *words, "-q")
        assert done.returncode == 0, (words, done.stderr)
        found = convolume.open(tmp_path / words[words.index("-o") + 1])
        assert shape is None or found.shape[-len(shape):] == shape


def test_place_and_channels_stay(tmp_path, random):
    """What only OME-Zarr stores goes through commands."""
    shifted = convolume.Image.of_array(random.random((2, 4, 300, 300)).astype(np.float32), axes="CZYX",
                                       spacing=(0.3, 0.1, 0.1), channel_names=["a", "b"])
    convolume.save(tmp_path / "a.zarr", shifted)
    done = run(tmp_path, "convert", "a.zarr/1", "b.zarr", "-q")
    assert done.returncode == 0, done.stderr
    coarse, copy = convolume.open(tmp_path / "a.zarr/1"), convolume.open(tmp_path / "b.zarr")
    assert copy.translation == coarse.translation != (0, 0, 0) and copy.spacing == coarse.spacing
    assert copy.channel_names == ["a", "b"]
    np.testing.assert_array_equal(np.asarray(copy), np.asarray(coarse))


def test_progress_on_a_terminal(tmp_path, image):
    given, terminal = os.openpty()
    try:
        done = subprocess.Popen([sys.executable, "-m", "convolume.zarr_command", "convolve", "a.zarr", "k.npy", "-o",
                                 "b{c}.zarr", "--device", "cpu", "-v"], cwd=tmp_path, stderr=terminal, stdin=terminal)
        assert done.wait(60) == 0
        text = os.read(given, 1 << 20).decode()
    finally:
        os.close(given)
        os.close(terminal)
    assert "a.zarr" in text and "b{c}.zarr" in text, text
    assert convolume.open(tmp_path / "b{c}.zarr").shape == image[0].shape


def test_without_the_package(tmp_path, image):
    done = subprocess.run([COMMAND, "info", str(tmp_path / "a.zarr")], capture_output=True, text=True, check=False,
                          env={"PATH": str(tmp_path)})
    assert done.returncode == 4 and "pip install '.[zarr]' in a clone" in done.stderr
