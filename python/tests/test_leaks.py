# SPDX-License-Identifier: Apache-2.0
"""Tests that memory does not grow with the number of calls."""

import ctypes
import gc
import os

import numpy as np
import pytest

import convolume

CALLS = 500
ROUNDS = 3
WARM_UP = 200  # number of calls after which all caches are filled
MOST_A_CALL = 100  # bytes that a call may leave; the smallest image here takes ten times as many


def resident_bytes():
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)  # returns free memory to the system
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module", autouse=True)
def objects_of_other_tests():
    """Leaves objects that earlier tests made, and modules that they imported, out of collections, which are then
    fast."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def growth(call):
    """Measures the growth of memory in bytes a call, in the round with the least growth: a leak grows in all of them,
    and memory that something else in the process takes does not."""
    for _ in range(WARM_UP):
        call()
    rounds = []
    for _ in range(ROUNDS):
        before = resident_bytes()
        for _ in range(CALLS):
            call()
        rounds.append((resident_bytes() - before) / CALLS)
    return min(rounds)


IMAGE = np.random.default_rng(1).random((6, 7, 8)).astype(np.float32)
KERNEL = np.random.default_rng(2).random((3, 3, 3)).astype(np.float32)
SIGNALS = np.random.default_rng(3).random((2, 200))
PLAN = convolume.Convolver(IMAGE.shape, KERNEL, device="cpu", workers=1)
SHARPEN = convolume.Deconvolver(IMAGE.shape, KERNEL, iterations=2, device="cpu", workers=1)


def refused():
    with pytest.raises(ValueError):
        PLAN(np.full_like(IMAGE, np.nan))


class Stop(Exception):
    pass


def stopped_by_the_callback():
    def stop(iteration):
        assert iteration.estimate.shape == IMAGE.shape
        raise Stop

    with pytest.raises(Stop):
        SHARPEN(IMAGE, callback=stop)


CASES = {
    "convolve": lambda: convolume.convolve(IMAGE, KERNEL, device="cpu", workers=1),
    "Convolver": lambda: PLAN(IMAGE),
    "Convolver, planned": lambda: convolume.Convolver(IMAGE.shape, KERNEL, device="cpu", workers=1).plan.to_dict(),
    "errors": refused,
    "richardson_lucy": lambda: convolume.richardson_lucy(IMAGE[0], KERNEL[0], 2, device="cpu", workers=1),
    "callbacks": stopped_by_the_callback,
    "filter_bank": lambda: convolume.filter_bank(SIGNALS, SIGNALS[:, :9], window=("peak", 5), positions=True,
                                                 device="cpu", workers=1),
    "make_psf": lambda: convolume.make_psf(na=0.8, ni=1.0, wavelength=0.5, spacing=(1, 0.5, 0.5), shape=(1, 3, 3),
                                           workers=1),
    "phantom and camera": lambda: convolume.Camera().expose(convolume.Phantom((2, 8, 8), count=1, workers=1)[:],
                                                            workers=1),
}


@pytest.mark.parametrize("case", CASES)
def test_memory_is_bounded(case):
    assert growth(CASES[case]) < MOST_A_CALL


def test_a_leak_is_seen():
    kept = []
    # Arrays of a few numbers would first fill the gaps that earlier objects left in Python's own memory.
    assert growth(lambda: kept.append(IMAGE.copy())) > MOST_A_CALL
