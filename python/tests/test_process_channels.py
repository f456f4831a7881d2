# SPDX-License-Identifier: Apache-2.0
"""Tests of kernels for each channel in convolume.process and its command, and of what job scripts pass to it."""

import numpy as np
import pytest
from process_cases import assert_close

import convolume
from convolume import process_command

pytest.importorskip("tensorstore")


@pytest.fixture
def channels(tmp_path, random):
    """Writes an image of the channels DAPI and GFP, and a kernel for each; returns both as arrays."""
    image = random.poisson(40.0, (2, 12, 40, 50)).astype(np.uint16)
    kernels = [random.random(shape).astype(np.float32) for shape in ((3, 3, 3), (5, 3, 5))]
    kernels = [kernel / kernel.sum() for kernel in kernels]
    convolume.save(tmp_path / "image.ome.tif", image, axes="CZYX", channel_names=["DAPI", "GFP"])
    for number, kernel in enumerate(kernels):
        convolume.save(tmp_path / f"k{number}.npy", kernel)
    return image, kernels


@pytest.mark.parametrize("named", [["k0.npy", "k1.npy"], ["GFP=k1.npy", "DAPI=k0.npy"], ["1=k1.npy", "dapi=k0.npy"],
                                   ["GFP=k1.npy", "k0.npy"]])
def test_a_kernel_for_each_channel(tmp_path, monkeypatch, channels, named):
    monkeypatch.chdir(tmp_path)
    arguments = [word for kernel in named for word in ("--psf", kernel)]
    command = ["image.ome.tif", "out.zarr", "--op", "convolve", *arguments, "--device", "cpu", "-q"]
    assert process_command.main([*command, "--block", "12,20,50"]) == 0
    image, kernels = channels
    expected = [convolume.convolve(one.astype(np.float32), kernel, device="cpu") for one, kernel in zip(image, kernels)]
    assert_close(convolume.open("out.zarr"), np.array(expected))


def test_kernels_of_channels_in_python(tmp_path, channels):
    image, kernels = channels
    stack = convolume.Image.of_array(image, axes="CZYX")
    options = {"iterations": 2, "background": "auto", "device": "cpu"}
    convolume.process(stack, tmp_path / "both.zarr", "deconvolve", kernel=kernels, **options)
    both = np.asarray(convolume.open(tmp_path / "both.zarr"))
    for channel, kernel in enumerate(kernels):
        target = tmp_path / f"{channel}.zarr"
        convolume.process(image[channel], target, "deconvolve", kernel=kernel, **options)
        assert np.array_equal(both[channel], np.asarray(convolume.open(target)))


@pytest.mark.parametrize("named, words", [
    (["k0.npy", "k1.npy", "k1.npy"], "has 2 channels, but 3 kernels"), (["GFP=k1.npy"], "no kernel for channel 0"),
    (["Cy5=k1.npy", "DAPI=k0.npy"], "0 (DAPI), 1 (GFP)"), (["GFP=k1.npy", "k0.npy", "k0.npy"], "--kernel DAPI=a.tif"),
    (["GFP=k1.npy", "GFP=k0.npy"], "names GFP twice"), (["GFP=k1.npy", "1=k0.npy"], "names 1 twice")])
def test_refused_kernels(tmp_path, monkeypatch, capsys, channels, named, words):
    monkeypatch.chdir(tmp_path)
    arguments = [word for kernel in named for word in ("--kernel", kernel)]
    assert process_command.main(["image.ome.tif", "out.zarr", "--op", "convolve", *arguments, "-q"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("block", ["5,30,50", "12,31,25", "7,7,7"])
def test_chunks_divide_a_block(tmp_path, monkeypatch, capsys, channels, block):
    monkeypatch.chdir(tmp_path)
    command = ["image.ome.tif", "out.zarr", "--op", "convolve", "--kernel", "k0.npy", "--device", "cpu", "-q"]
    assert process_command.main([*command, "--block", block, "--chunks", "4,16,16"]) == 2
    assert "leave out --chunks" in capsys.readouterr().err
    assert process_command.main([*command, "--block", block]) == 0
    image, kernels = channels
    expected = [convolume.convolve(one.astype(np.float32), kernels[0], device="cpu") for one in image]
    assert_close(convolume.open("out.zarr"), np.array(expected))


def test_resume_begins_a_target(tmp_path, monkeypatch, channels):
    monkeypatch.chdir(tmp_path)
    command = ["image.ome.tif", "out.zarr", "--op", "convolve", "--kernel", "k0.npy", "--device", "cpu", "--resume"]
    (tmp_path / "out.zarr" / ".convolume" / "writers").mkdir(parents=True)  # a run ended before its manifest
    assert process_command.main(command) == 0
    assert process_command.main(command) == 0
    assert convolume.open("out.zarr").shape == (2, 12, 40, 50)
