# SPDX-License-Identifier: Apache-2.0
"""Tests images in slabs in the memory of several GPUs. A stand-in takes the place of CuPy and of the GPUs; with two
GPUs the same tests run on them."""

import types

import gpu_stand_in
import numpy as np
import pytest

import convolume

SHAPE = (11, 16, 20)


@pytest.fixture(params=["stand-in", "cupy", "torch"])
def library(request, monkeypatch):
    if request.param == "stand-in":
        return gpu_stand_in.install(monkeypatch)
    if sum(gpu.usable for gpu in convolume.gpu_devices()) < 2:
        pytest.skip("fewer than two GPUs here")
    return pytest.importorskip(request.param)


@pytest.fixture
def stand_in(monkeypatch):
    return gpu_stand_in.install(monkeypatch)


def on_gpu(library, array, device):
    if library.__name__ == "torch":
        return library.from_numpy(np.ascontiguousarray(array)).to(f"cuda:{device}")
    with library.cuda.Device(device):
        return library.asarray(array)


def slabs_of(library, image, planes, devices=(0, 1)):
    ends = np.cumsum(planes)
    return [on_gpu(library, image[end - count:end], device) for count, end, device in zip(planes, ends, devices)]


def joined(library, slabs):
    if library.__name__ == "torch":
        return np.concatenate([slab.cpu().numpy() for slab in slabs])
    return np.concatenate([library.asnumpy(slab) for slab in slabs])


def device_of(slab):
    return slab.__dlpack_device__()[1]


def numbers(random, shape, dtype="float32"):
    return (10 * random.random(shape)).astype(dtype)


@pytest.mark.parametrize("mode", ["same", "full", "valid"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64"])
def test_a_plan(library, random, mode, dtype):
    image, kernel = numbers(random, SHAPE, dtype), numbers(random, (3, 4, 5))
    options = {"mode": mode, "boundary": "reflect", "dtype": dtype}
    want = convolume.Convolver(SHAPE, kernel, device="cpu", **options)(image)
    plan = convolume.Convolver(SHAPE, kernel, **options)
    for planes in ([6, 5], [2, 9]):
        got = plan(slabs_of(library, image, planes))
        assert [type(slab).__module__.partition(".")[0] for slab in got] == [library.__name__] * 2
        assert [device_of(slab) for slab in got] == [0, 1]
        np.testing.assert_allclose(joined(library, got), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def test_the_adjoint(library, random):
    kernel, image = numbers(random, (3, 4, 5)), numbers(random, (9, 13, 16))
    plan = convolume.Convolver(SHAPE, kernel, mode="valid").adjoint()
    got = plan(slabs_of(library, image, [4, 5]))
    want = convolume.Convolver(SHAPE, kernel, mode="valid", device="cpu").adjoint()(image)
    np.testing.assert_allclose(joined(library, got), want, rtol=1e-4, atol=1e-4 * want.max())


def test_out_has_its_own_division(library, random):
    image, kernel = numbers(random, SHAPE), numbers(random, (3, 3, 3))
    out = slabs_of(library, np.zeros(SHAPE, np.float32), [1, 10])
    got = convolume.convolve(slabs_of(library, image, [5, 6]), kernel, out=out)
    assert [a is b for a, b in zip(got, out)] == [True, True]
    want = convolume.convolve(image, kernel, device="cpu")
    np.testing.assert_allclose(joined(library, out), want, rtol=1e-4, atol=1e-4 * want.max())


def test_correlation_of_three_slabs(library, random):
    image, kernel = numbers(random, SHAPE), numbers(random, (3, 3, 3))
    got = convolume.correlate(slabs_of(library, image, [4, 3, 4], (1, 0, 1)), kernel)
    want = convolume.correlate(image, kernel, device="cpu")
    np.testing.assert_allclose(joined(library, got), want, rtol=1e-4, atol=1e-4 * want.max())


def test_plans_and_streams(stand_in, random):
    """A division has one plan, and each slab the CUDA stream of its GPU, or the caller's."""
    image, kernel = numbers(random, SHAPE), numbers(random, (3, 3, 3))
    plan = convolume.Convolver(SHAPE, kernel)
    for planes in ([6, 5], [6, 5], [5, 6]):
        plan(slabs_of(stand_in, image, planes))
    first, second = gpu_stand_in.SlabConvolver.made
    assert (first.devices, first.input_planes, first.from_cache) == ([0, 1], [6, 5], False)
    assert first.streams == [[gpu_stand_in.stream_of(0), gpu_stand_in.stream_of(1)]] * 2
    assert second.input_planes == [5, 6]
    plan(slabs_of(stand_in, image, [5, 6]), stream=[7, 8])
    assert second.streams[-1] == [7, 8]
    convolume.convolve(slabs_of(stand_in, image, [5, 6], (1, 0)), kernel)
    made = gpu_stand_in.SlabConvolver.made[-1]
    assert (made.devices, made.from_cache) == ([1, 0], True)


def test_lists_of_numbers_are_no_slabs():
    assert convolume.convolve([1.0, 2.0, 3.0], [1.0, 1.0], mode="full", device="cpu").shape == (4,)
    assert convolume.convolve([np.ones(3), np.ones(3)], np.ones((1, 1)), device="cpu").shape == (2, 3)


def test_refusals(stand_in, random):
    image, kernel = numbers(random, SHAPE), numbers(random, (3, 3, 3))
    plan = convolume.Convolver(SHAPE, kernel)
    slabs = slabs_of(stand_in, image, [6, 5])

    def refuses(match, *given, **options):
        with pytest.raises(ValueError, match=match):
            plan(*given, **options)

    refuses("slabs with 6 planes where this convolver was planned for 11", slabs[:1])
    refuses("a slab of shape", [slabs[0], on_gpu(stand_in, image[6:, :, :8], 1)])
    refuses("a slab of shape", [slabs[0], on_gpu(stand_in, image[6:].astype(np.float64), 1)])
    refuses("a list of 2 streams", slabs, stream=7)
    refuses("a list of 2 streams", slabs, stream=[7])
    refuses("a list of 2 arrays", slabs, slabs[0])
    refuses("a list of 2 arrays", slabs, [np.zeros((6, 16, 20), np.float32), np.zeros((5, 16, 20), np.float32)])
    swapped = slabs_of(stand_in, np.zeros(SHAPE, np.float32), [6, 5], (1, 0))
    refuses("on the GPU of the image", slabs, swapped)
    with pytest.raises(ValueError, match="only images with z, y and x"):
        convolume.Convolver((16, 20), kernel[0])([on_gpu(stand_in, image[0], 0)])
    with pytest.raises(ValueError, match="leave out axes"):
        convolume.convolve(slabs, kernel[0], axes=(1, 2))
    with pytest.raises(ValueError, match="convert them there"):
        convolume.convolve(slabs, kernel, dtype="uint8")
    nothing = types.SimpleNamespace(shape=(), __dlpack_device__=lambda: (2, 0))
    with pytest.raises(ValueError, match="without dimensions"):
        convolume.convolve([nothing], kernel)
