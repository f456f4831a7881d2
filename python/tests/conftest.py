# SPDX-License-Identifier: Apache-2.0
"""Common fixtures of the tests, which run on the CPU and, if there are any, on GPUs."""

import signal

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import convolume

settings.register_profile("default", deadline=None, max_examples=40, derandomize=True,
                          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.load_profile("default")

# Shells make programs in the background ignore interruptions, nohup makes them ignore SIGHUP, and programs that tests
# start inherit that. Tests that interrupt such a program would wait for it until the time limit of the test.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):  # not on Windows
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(params=["cpu", "gpu"])
def device(request):
    if request.param == "gpu" and not any(gpu.usable for gpu in convolume.gpu_devices()):
        pytest.skip("no GPU here")
    return request.param


@pytest.fixture
def random():
    return np.random.default_rng(20240229)


# Fixtures for the tests of convolume.process.

@pytest.fixture
def image(random):
    return random.integers(0, 999, (20, 75, 90), np.uint16)


@pytest.fixture
def source(tmp_path, image):
    path = tmp_path / "source.zarr"
    convolume.save(path, image, spacing=(0.5, 0.1, 0.1), chunks=(8, 32, 32), shards=(8, 64, 64), levels=1)
    return path


@pytest.fixture
def kernel(random):
    return random.random((3, 4, 7)).astype(np.float32)
