# SPDX-License-Identifier: Apache-2.0
"""Tests the cache of plans behind functions that plan and compute in one call."""

import multiprocessing
import threading

import numpy as np
import pytest

import convolume
from convolume import cache, ndimage, restoration, signal


@pytest.fixture(autouse=True)
def empty_cache():
    before = cache.info()
    cache.clear()
    cache.limit("256MiB", 0)
    yield
    cache.clear()
    cache.limit(before.max_host_mem, before.max_gpu_mem)


def counts(work):
    """Returns how many plans `work` found in the cache, and how many it made."""
    before = cache.info()
    work()
    after = cache.info()
    return after.hits - before.hits, after.misses - before.misses


def one_calls(random):
    """Returns functions by name that each call one function of the package, and return its result."""
    image = random.random((12, 20, 24)).astype(np.float32)
    kernel = random.random((3, 5, 5)).astype(np.float32)
    return {
        "convolve": lambda: convolume.convolve(image, kernel, device="cpu"),
        "correlate": lambda: convolume.correlate(image, kernel, device="cpu"),
        "richardson_lucy": lambda: convolume.richardson_lucy(image, kernel, 3, device="cpu"),
        "wiener": lambda: convolume.wiener(image, kernel, device="cpu"),
        "fftconvolve": lambda: signal.fftconvolve(image, kernel, device="cpu"),
        "ndimage.convolve": lambda: ndimage.convolve(image, kernel, device="cpu"),
        "restoration.richardson_lucy": lambda: restoration.richardson_lucy(image, kernel, 3, device="cpu"),
    }


NAMES = list(one_calls(np.random.default_rng(0)))


@pytest.mark.parametrize("name", NAMES)
def test_a_repeated_call_finds_its_plan(random, name):
    call = one_calls(random)[name]
    results = []
    hits, misses = counts(lambda: results.append(call()))
    assert hits == 0
    assert misses > 0
    assert counts(lambda: results.append(call())) == (misses, 0)
    cache.limit(0)
    assert cache.info().plans == 0
    results.append(call())
    assert cache.info().plans == 0
    assert all(np.array_equal(results[0], result) for result in results[1:])


class Others(np.ndarray):
    """An array that functions look at more closely than at a NumPy array."""


@pytest.mark.parametrize("shape", [(40,), (9, 30), (5, 6, 7), (20, 64, 64)])
@pytest.mark.parametrize("types", ["ff", "dd", "fd", "df", "Df"])
def test_plain_arrays_give_the_bits_of_others(random, shape, types):
    image, kernel = (random.random(shape).astype(types[0]), random.random((3,) * len(shape)).astype(types[1]))
    calls = [lambda a, b: convolume.convolve(a, b, device="cpu"),
             lambda a, b: convolume.correlate(a, b, mode="full", boundary="mirror", device="cpu"),
             lambda a, b: convolume.convolve(a, b, origin="corner", normalize="sum", device="cpu"),
             *(lambda a, b, f=function, m=mode: f(a, b, m, device="cpu") for mode in ("full", "same", "valid")
               for function in (signal.fftconvolve, signal.oaconvolve, signal.convolve, signal.correlate)),
             lambda a, b: signal.fftconvolve(b, a, "valid", device="cpu"),
             lambda a, b: signal.convolve(b, a, device="cpu"),
             *(lambda a, b, f=function, m=mode: f(a, b, mode=m, cval=0.5, origin=-1, device="cpu")
               for mode in ("reflect", "constant", "wrap") for function in (ndimage.convolve, ndimage.correlate)),
             lambda a, b: ndimage.gaussian_filter(a, 1, device="cpu"),
             lambda a, b: ndimage.gaussian_filter(a, 1.5, 1, mode="constant", cval=2, device="cpu"),
             lambda a, b: ndimage.uniform_filter(a, 3, mode="nearest", device="cpu"),
             lambda a, b: ndimage.convolve1d(a, b.ravel()[:3], device="cpu"),
             lambda a, b: ndimage.correlate1d(a, b.ravel()[:3], origin=1, device="cpu")]
    for number, call in enumerate(calls):
        want = call(image.view(Others), kernel.view(Others))
        for _ in range(2):
            found = call(image, kernel)
            assert found.dtype == want.dtype
            np.testing.assert_array_equal(found, want, f"call {number}")


def test_a_repeated_call_has_the_bits_of_a_planned_object(random):
    for shape, taps in (((32, 32), (5, 5)), ((1000,), (50,)), ((48, 48, 48), (7, 7, 7))):
        image, kernel = random.random(shape), random.random(taps)
        want = convolume.Convolver(shape, kernel, dtype=image.dtype, device="cpu")(image)
        for limit in ("256MiB", 0):
            cache.limit(limit)
            out = np.empty(shape)
            assert convolume.convolve(image, kernel, out=out, device="cpu") is out
            np.testing.assert_array_equal(out, want)
            np.testing.assert_array_equal(convolume.convolve(image, kernel, device="cpu"), want)


def test_calls_that_differ_in_values_alone(random):
    image, kernel = random.random((8, 9)), random.random((3, 3))
    for function in (convolume.convolve, signal.fftconvolve, ndimage.convolve):
        before = function(image, kernel, device="cpu")
        kernel *= 2
        np.testing.assert_array_equal(function(image, kernel, device="cpu"), 2 * before)
        image *= 2
        np.testing.assert_array_equal(function(image, kernel, device="cpu"), 4 * before)
        with pytest.raises(convolume.BadData):
            function(image, kernel * np.nan, device="cpu")
    for _ in range(2):
        with pytest.raises(convolume.InvalidArgument):
            convolume.convolve(image, kernel, mode="half", device="cpu")
        with pytest.raises(convolume.InvalidArgument):
            convolume.convolve(image, kernel, workers=0, device="cpu")
        with pytest.raises(convolume.InvalidArgument):
            convolume.convolve(image, kernel, device=True)
    image[0, 0] = np.nan
    with pytest.raises(convolume.BadData):
        convolume.convolve(image, kernel, device="cpu")
    with pytest.warns(convolume.ConvolumeWarning, match="1 NaN"):
        convolume.convolve(image, kernel, nan="zero", device="cpu")


def test_plans_of_objects_stay_out_of_the_cache():
    convolume.Convolver((8, 8), np.ones((3, 3)), device="cpu")(np.ones((8, 8)))
    convolume.Deconvolver((8, 8), np.ones((3, 3)), iterations=2, device="cpu")(np.ones((8, 8)))
    assert cache.info().plans == 0


def test_limits():
    for n in range(8, 40):
        convolume.convolve(np.ones((n, 64, 64), np.float32), np.ones((5, 5, 5)), device="cpu", method="in-core")
    full = cache.info()
    assert 0 < full.host_bytes <= full.max_host_mem == 256 * 2**20
    cache.limit("4MiB")
    assert cache.info().host_bytes <= 4 * 2**20
    assert cache.info().max_gpu_mem == 0
    with pytest.raises(convolume.InvalidArgument, match="negative"):
        cache.limit(-1)


def test_threads_with_one_shape(random):
    calls = one_calls(random)
    want = {name: call() for name, call in calls.items()}
    wrong = []

    def work():
        for _ in range(10):
            for name, call in calls.items():
                if not np.array_equal(call(), want[name]):
                    wrong.append(name)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _plans_in_child(plans):
    plans.put(cache.info().plans)
    convolume.convolve(np.ones(20), np.ones(3), device="cpu")
    plans.put(cache.info().plans)


def test_a_forked_process_starts_with_an_empty_cache():
    convolume.convolve(np.ones(20), np.ones(3), device="cpu")
    assert cache.info().plans == 1
    context = multiprocessing.get_context("fork")
    plans = context.SimpleQueue()
    child = context.Process(target=_plans_in_child, args=(plans,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert [plans.get(), plans.get()] == [0, 1]
