# SPDX-License-Identifier: Apache-2.0
"""Tests forward models, and operators with their adjoints, of arrays in a GPU's memory: by a stand-in for CuPy, and by
CuPy and PyTorch where there is a GPU. The values are those of arrays in host memory."""

from dataclasses import replace

import gpu_stand_in
import numpy as np
import pytest

import convolume
from convolume._device import DeviceArray

pytestmark = pytest.mark.filterwarnings("ignore::convolume.ConvolumeWarning")
TURNED = [[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 7]]


class Memory:
    """A library with arrays in a GPU's memory."""

    def __init__(self, name, module):
        self.name, self.module = name, module

    def take(self, array):
        return self.module.asarray(array, device="cuda") if self.name == "torch" else self.module.asarray(array)

    def give(self, array):
        if self.name == "stand-in":
            assert type(array) is gpu_stand_in.GpuArray
            return array.values
        assert type(array).__module__.partition(".")[0] == self.name
        return array.cpu().numpy() if self.name == "torch" else array.get()


@pytest.fixture(params=["stand-in", "cupy", "torch"])
def memory(request, monkeypatch):
    if request.param == "stand-in":
        return Memory("stand-in", gpu_stand_in.install(monkeypatch))
    if not any(gpu.usable for gpu in convolume.gpu_devices()):
        pytest.skip("no GPU here")
    return Memory(request.param, pytest.importorskip(request.param))


def model_of(random, dtype, **options):
    psfs = [random.random((3, 3, 3)), random.random((1, 5, 3))]
    mask = (random.random((6, 8, 8)) > 0.2).astype(np.float32)
    views = [convolume.View(psfs[0], mask=mask), convolume.View(psfs[1], TURNED)]
    return convolume.ForwardModel(views, [(6, 8, 8)] * 2, dtype=dtype, device="cpu", **options)


def close(got, want, dtype):
    assert got.dtype == want.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=0, atol=(1e-12 if dtype == "float64" else 1e-5) * np.abs(want).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_model_records_and_adds_back(memory, random, dtype):
    model = model_of(random, dtype)
    for shape in (model.object_shape, model.result_shape):
        thing = random.random(shape).astype(np.float32)
        for _ in range(2):
            for got, want in zip(model(memory.take(thing)), model(thing)):
                close(memory.give(got), want, dtype)
    images = [random.random(shape) for shape in model.shapes]
    close(memory.give(model.adjoint([memory.take(image) for image in images])), model.adjoint(images), dtype)


def test_a_model_of_planes(memory, random):
    model = convolume.ForwardModel([convolume.View(random.random((3, 5)))], [(9, 11)], device="cpu", edges="wrap")
    thing = random.random((9, 11)).astype(np.float32)
    close(memory.give(model(memory.take(thing))[0]), model(thing)[0], "float32")


def test_a_model_keeps_the_arrays_that_it_was_made_of(memory, random):
    psf, mask = random.random((3, 3)), np.ones((9, 11), np.float32)
    model = convolume.ForwardModel([convolume.View(psf, mask=mask)], [(9, 11)], device="cpu")
    thing = random.random(model.object_shape).astype(np.float32)
    want = model(thing)[0]
    psf[...], mask[...] = random.random((3, 3)), 0
    close(memory.give(model(memory.take(thing))[0]), want, "float32")


def test_derived_arrays_are_given_back_in_the_library_of_the_caller(monkeypatch):
    cupy = gpu_stand_in.install(monkeypatch)
    found = replace(DeviceArray.of(cupy.asarray(np.ones((2, 3), np.float32)), "an array"), given="jax")
    wide = found.placed_in((4, 4), (slice(1, 3), slice(0, 3)))
    np.testing.assert_array_equal(wide.array.values, np.pad(np.ones((2, 3)), ((1, 1), (0, 1))))
    for one in (found.of_type(np.dtype(np.float64)), found.empty((2,), found.dtype), wide):
        assert one.given == "jax"


def test_refusals_of_a_model(memory, random):
    model = model_of(random, "float32")
    with pytest.raises(convolume.InvalidArgument, match=r"an object of shape \(2, 2, 2\) where"):
        model(memory.take(np.zeros((2, 2, 2), np.float32)))
    with pytest.raises(convolume.InvalidArgument, match="the object is complex"):
        model(memory.take(np.zeros(model.object_shape, np.complex64)))
    first, second = (np.zeros(shape, np.float32) for shape in model.shapes)
    with pytest.raises(convolume.InvalidArgument, match="the image of view 2 is in host memory and others"):
        model.adjoint([memory.take(first), second])
    with pytest.raises(convolume.InvalidArgument, match="the image of view 2 has the shape"):
        model.adjoint([memory.take(first), memory.take(second[1:])])
    with pytest.raises(convolume.InvalidArgument, match="stream is for arrays in a GPU's memory"):
        model(np.zeros(model.object_shape), stream=1)


def check_map(memory, found, random):
    """Compares an operator and its adjoint with themselves in host memory, of random vectors."""
    for apply, size in ((found.apply, found.shape[1]), (found.apply_adjoint, found.shape[0])):
        values = random.standard_normal(size)
        if found.dtype.kind == "c":
            values = values + 1j * random.standard_normal(size)
        values = values.astype(found.dtype)
        close(memory.give(apply(memory.take(values))), apply(values), found.dtype)


def test_the_map_of_a_model(memory, random):
    check_map(memory, model_of(random, "float32")._as_linear_map(), random)


@pytest.mark.parametrize(("shape", "filters", "options"), [
    ((50,), (7,), {}), ((50,), (3, 7), {"mode": "full"}), ((2, 40, 3), (4, 5), {"axis": 1, "mode": "valid"}),
    ((3, 60), (2, 9), {"window": ("decimate", 4)}), ((60, 2), (9,), {"axis": 0, "dtype": np.float64}),
    ((45,), (3, 6), {"dtype": np.complex64, "origin": 2})])
def test_the_map_of_a_bank(memory, random, shape, filters, options):
    taps = random.standard_normal(filters)
    if options.get("dtype") != np.float64:
        taps = taps.astype(np.float32)
    check_map(memory, convolume.FilterBank(shape, taps, device="cpu", **options)._as_linear_map(), random)


@pytest.mark.parametrize(("up", "down", "options"), [
    (3, 2, {}), (2, 5, {"dtype": np.float64, "signals": 3}), (4, 1, {"dtype": np.complex64})])
def test_the_map_of_a_resampler(memory, random, up, down, options):
    check_map(memory, convolume.Resampler(up, down, **options)._as_linear_map(60), random)


@pytest.mark.parametrize("make", [
    lambda random: model_of(random, "float64"),
    lambda random: convolume.FilterBank((2, 20), random.random((3, 5)), dtype=np.float64, device="cpu"),
    lambda random: convolume.Resampler(3, 2, dtype=np.float64)], ids=["model", "bank", "resampler"])
def test_gradients_of_tensors_on_a_gpu(random, make):
    if not any(gpu.usable for gpu in convolume.gpu_devices()):
        pytest.skip("no GPU here")
    torch = pytest.importorskip("torch")
    tensors = pytest.importorskip("convolume.torch")
    planned = make(random)
    operator = tensors.Operator(planned, *([20] if isinstance(planned, convolume.Resampler) else []))
    shape = operator._map.input_shape
    values = torch.rand(2, *shape, dtype=torch.float64, device="cuda", requires_grad=True)

    def applied(values):
        found = operator(values)
        return found if isinstance(found, tuple) else (found,)

    with torch.cuda.stream(torch.cuda.Stream()):
        assert all(one.is_cuda for one in applied(values))
        assert torch.autograd.gradcheck(applied, (values,), fast_mode=True)
        on_host = applied(values.detach().cpu())
        for got, want in zip(applied(values), on_host):
            np.testing.assert_allclose(got.detach().cpu().numpy(), want.numpy(), atol=1e-12)
