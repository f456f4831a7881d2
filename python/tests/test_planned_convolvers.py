# SPDX-License-Identifier: Apache-2.0
"""Tests planned convolvers: batches, and kernels that are replaced, against SciPy and new convolvers."""

import pickle

import gpu_stand_in
import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
from test_leaks import resident_bytes

import convolume


def test_leading_axes_are_a_batch(random):
    stack, kernel = random.standard_normal((2, 3, 5, 6, 7)), random.standard_normal((3, 3, 3))
    for mode in ("same", "full", "valid"):
        plan = convolume.Convolver((5, 6, 7), kernel, mode=mode, device="cpu")
        got = plan(stack)
        assert got.shape == (2, 3, *plan.output_shape) and got.dtype == np.float64
        for index in np.ndindex(2, 3):
            want = scipy.signal.convolve(stack[index], kernel, "full" if mode == "full" else mode, "direct")
            np.testing.assert_allclose(got[index], want, atol=1e-12)
        out = np.zeros((2, 3, *plan.output_shape), np.float32)
        assert plan(stack.astype(np.float32), out) is out
        np.testing.assert_allclose(out, got, atol=1e-5)
    seen = []
    plan(stack, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1
    assert plan(stack[:0]).shape == (0, 3, *plan.output_shape)
    with pytest.raises(convolume.InvalidArgument, match="planned for"):
        plan(stack[..., :6])
    with pytest.raises(convolume.InvalidArgument, match="out has the shape"):
        plan(stack, out[0])


def test_a_batch_is_convolved_as_by_the_function(random):
    stack, kernel = random.integers(0, 60000, (4, 8, 9)).astype(np.uint16), random.random((3, 2)).astype(np.float32)
    plan = convolume.Convolver((8, 9), kernel, dtype=np.uint16, boundary="reflect", device="cpu")
    np.testing.assert_array_equal(plan(stack), convolume.convolve(stack, kernel, boundary="reflect", device="cpu"))
    out = np.zeros(stack.shape, np.uint8)
    with pytest.warns(convolume.ConvolumeWarning, match="above the range of uint8 were clamped") as found:
        plan(stack, out)
    assert len(found) == 1
    missing = stack.astype(np.float32)
    missing[1, 2, 3] = missing[3, 4, 5] = np.nan
    with pytest.warns(convolume.ConvolumeWarning, match="^2 NaN"):
        convolume.Convolver((8, 9), kernel, nan="zero", device="cpu")(missing)


def test_batches_in_a_gpus_memory(monkeypatch, random):
    gpu_stand_in.install(monkeypatch)
    stack = random.random((2, 3, 5, 6)).astype(np.float32)
    plan = convolume.Convolver((5, 6), random.random((3, 3)).astype(np.float32), mode="full")
    want = plan(stack)
    got = plan(gpu_stand_in.GpuArray(stack))
    assert got.shape == (2, 3, 7, 8)
    np.testing.assert_allclose(got.values, want, rtol=1e-5)
    out = gpu_stand_in.GpuArray(np.zeros_like(want))
    assert plan(gpu_stand_in.GpuArray(stack), out) is out
    np.testing.assert_allclose(out.values, want, rtol=1e-5)
    plan.replace_kernel(np.ones((3, 3), np.float32))
    np.testing.assert_allclose(plan(gpu_stand_in.GpuArray(stack)).values, plan(stack), rtol=1e-5)


def test_images_of_16_bits_on_a_gpu(random, monkeypatch):
    gpu_stand_in.install(monkeypatch)
    halves = random.random((2, 5, 6)).astype(np.float16)
    plan = convolume.Convolver((5, 6), random.random((3, 3)).astype(np.float32))
    want = plan(halves.astype(np.float32))
    got = plan(gpu_stand_in.GpuArray(halves))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got.values, want, rtol=1e-6)
    for image in halves, halves.astype(np.float32):
        out = gpu_stand_in.GpuArray(np.zeros_like(halves))
        assert plan(gpu_stand_in.GpuArray(image), out) is out
        np.testing.assert_allclose(out.values, want, rtol=1e-3)


@pytest.mark.parametrize("options", [
    {}, {"mode": "full", "operation": "correlate"}, {"operation": "adjoint", "boundary": "reflect"},
    {"boundary": "constant", "cval": 2.0, "normalize": "sum"}, {"method": "direct"}, {"nan": "missing"},
    {"origin": [0, 1, 2], "precision": "float64"}])
def test_a_replaced_kernel_gives_the_bits_of_a_new_convolver(random, options):
    image = random.random((6, 9, 8)).astype(np.float32)
    kernels = [random.random((3, 4, 3)).astype(np.float32) for _ in range(3)]
    plan = convolume.Convolver(image.shape, kernels[0], device="cpu", **options)
    text = str(plan.plan)
    for kernel in kernels:
        plan.replace_kernel(kernel)
        want = convolume.Convolver(image.shape, kernel, device="cpu", **options)(image)
        np.testing.assert_array_equal(plan(image), want)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan))(image), want)
    assert str(plan.plan) == text


def test_all_plans_of_a_convolver_have_the_new_kernel(random):
    image = random.random((7, 8))
    first, second = random.random((2, 3, 3)).astype(np.float32)
    plan = convolume.Convolver(image.shape, first, device="cpu")
    plan(image)  # makes the plan of float64
    operator = plan.as_linear_operator()
    plan.replace_kernel(second)
    np.testing.assert_allclose(plan(image), scipy.ndimage.convolve(image, second.astype(float), mode="constant"))
    vector = random.random(56).astype(np.float32)
    np.testing.assert_allclose(operator.rmatvec(vector), plan.adjoint()(vector.reshape(7, 8)).ravel(), rtol=1e-6)


def test_kernels_of_fewer_dimensions_are_replaced_by_such(random):
    image = random.random((3, 7, 8)).astype(np.float32)
    first, second = random.random((2, 2, 3)).astype(np.float32)
    for origin in ("middle", [1, 0]):
        plan = pickle.loads(pickle.dumps(convolume.Convolver(image.shape, first, origin=origin, device="cpu")))
        plan.replace_kernel(second)
        want = convolume.convolve(image, second, origin=origin, device="cpu")
        np.testing.assert_allclose(plan(image), want, rtol=1e-5)


def test_kernels_that_do_not_fit_are_refused(random):
    image, kernel = random.random((6, 7)).astype(np.float32), np.eye(3, dtype=np.float32)
    plan = convolume.Convolver(image.shape, kernel, origin="peak", device="cpu")
    want = plan(image)
    moved = np.zeros((3, 3), np.float32)
    moved[2, 2] = 5
    for bad, sentence in ((np.ones((3, 4), np.float32), "1×3×4"), (np.ones((3, 3)), "of float64.*same extents"),
                          (moved, "center elsewhere"), (np.ones((3, 3, 3), np.float32), "3 dimensions"),
                          (np.full((3, 3), np.nan, np.float32), "kernel holds nan"), ("kernel", "kernel"),
                          (np.zeros((3, 3), np.float32), "zero everywhere")):
        with pytest.raises(ValueError, match=sentence):
            plan.replace_kernel(bad)
    np.testing.assert_array_equal(plan(image), want)


def test_a_loop_of_kernels_has_one_plan_and_no_growing_memory(random, caplog):
    """As in a blind deconvolution: the kernel changes in each step."""
    caplog.set_level("INFO", logger="convolume")
    image = random.random((24, 64, 64)).astype(np.float32)
    convolume.cache.clear()
    before = convolume.cache.info()
    plan = convolume.Convolver(image.shape, np.ones((9, 9, 9), np.float32), device="cpu", workers=1, method="in-core")
    result = np.empty_like(image)

    def steps(count):
        for _ in range(count):
            plan.replace_kernel(random.random((9, 9, 9)).astype(np.float32))
            plan(image, result)
        return resident_bytes()

    start = steps(20)
    grown = steps(150) - start
    after = convolume.cache.info()
    assert (after.plans, after.misses, after.host_bytes) == (0, before.misses, 0)
    assert len([record for record in caplog.records if "in-core" in record.getMessage()]) == 1
    assert grown < image.nbytes  # the spectrum of one kernel takes more


def test_batches_that_overlap_their_results_are_refused():
    images = np.ones((4, 6, 8), np.float32)
    blur = convolume.Convolver((6, 8), np.ones((3, 3)), device="cpu")
    with pytest.raises(convolume.InvalidArgument, match="overlap"):
        blur(images[:-1], out=images[1:])
    assert (images == 1).all()
