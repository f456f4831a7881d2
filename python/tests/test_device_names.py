# SPDX-License-Identifier: Apache-2.0
"""Tests of the names of devices, which are those of the command's --device."""

import pytest

import convolume
from convolume._process_request import _lanes
from convolume._run import parse_device


@pytest.mark.parametrize(("device", "want"), [
    ("auto", ("auto", [])), ("cpu", ("cpu", [])), ("gpu", ("gpu", [])), ("gpu:1", ("gpu", [1])),
    ("gpu:0,1", ("gpu", [0, 1])), ("gpu:0+1", ("gpu", [0, 1])), ("gpu:2,0+1", ("gpu", [2, 0, 1])),
    (3, ("gpu", [3])), ((0, 1), ("gpu", [0, 1]))])
def test_names(device, want):
    assert parse_device(device) == want


@pytest.mark.parametrize("device", ["", "tpu", "gpu:", "gpu:x", "gpu:0,", "gpu:0+0", "gpu:-1", "cpu:0"])
def test_refused(device):
    with pytest.raises(convolume.InvalidArgument, match="no device"):
        parse_device(device)
    with pytest.raises(convolume.InvalidArgument, match="no device"):
        convolume.convolve([[1.0]], [[1.0]], device=device)


@pytest.mark.parametrize("device", ["gpu:0,1", "gpu:0+1", (0, 1), [0, 1]])
def test_each_of_several_gpus_takes_blocks(device):
    lanes = _lanes({"device": device, "workers": None, "fft": "auto", "max_gpu_mem": None}, 1 << 30, 1, False)
    assert [lane["device"] for lane in lanes] == [0, 1]
    assert [lane["max_host_mem"] for lane in lanes] == [1 << 29, 1 << 29]


@pytest.mark.parametrize(("device", "want"), [("gpu:1", 1), (1, 1), ("cpu", "cpu")])
def test_one_device_takes_all_blocks(device, want):
    lanes = _lanes({"device": device, "workers": None, "fft": "auto", "max_gpu_mem": None}, 1 << 30, 1, False)
    assert [lane["device"] for lane in lanes] == [want]
