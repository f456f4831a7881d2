# SPDX-License-Identifier: Apache-2.0
"""Tests gradients of convolutions, filters and forward models: against dense arrays of direct sums, and by finite
differences in PyTorch and JAX.

    python test_gradients.py    runs these tests alone
"""

import gc
import importlib.util
import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.ndimage

import convolume
from convolume._gradients import OPERANDS, Form, computed, text_of

MODES = ("same", "full", "valid")
BOUNDARIES = ("zero", "constant", "nearest", "reflect", "mirror", "wrap")
PADDINGS = {"zero": "constant", "constant": "constant", "nearest": "edge", "reflect": "symmetric", "mirror": "reflect",
            "wrap": "wrap"}
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")


def options_of(boundary):
    return {"boundary": boundary, "device": "cpu", **({"cval": 1.5} if boundary == "constant" else {})}


def direct(image, kernel, mode="same", boundary="zero", cval=0.0, origin="middle"):
    """Returns the convolution of one image, by direct sums."""
    middle = [n // 2 if origin == "middle" else (n - 1) // 2 for n in kernel.shape]
    center = middle if isinstance(origin, str) else origin
    margins = {"same": [(n - 1 - c, c) for n, c in zip(kernel.shape, center)],
               "full": [(n - 1, n - 1) for n in kernel.shape], "valid": [(0, 0)] * kernel.ndim}[mode]
    extra = {"constant_values": cval} if PADDINGS[boundary] == "constant" else {}
    wide = np.pad(image, margins, mode=PADDINGS[boundary], **extra)
    result = np.zeros([n - k + 1 for n, k in zip(wide.shape, kernel.shape)])
    for index in np.ndindex(*result.shape):
        part = wide[tuple(slice(i, i + k) for i, k in zip(index, kernel.shape))]
        result[index] = (part * np.flip(kernel)).sum()
    return result


def signal_operators(kind):
    """Returns a bank of filters and a resampler as operators, each with signals."""
    random = np.random.default_rng(5)
    bank = convolume.FilterBank((2, 15), random.random((3, 4)), window=("decimate", 2), dtype=float, device="cpu")
    resampler = convolume.Resampler(3, 2, dtype=float)
    return (kind(bank), random.random((2, 15))), (kind(resampler, samples=20), random.random((4, 20)))


def points(shape):
    """Returns all images of this shape that are 1 at one sample and 0 elsewhere."""
    return np.eye(int(np.prod(shape))).reshape(-1, *shape)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize(("mode", "origin", "shape", "taps"), [
    ("same", "middle", (5, 4), (3, 2)), ("same", "scipy", (3, 4), (2, 4)), ("same", [2, 0], (4, 3), (3, 5)),
    ("full", "middle", (3, 4), (2, 3)), ("valid", "middle", (5, 4), (2, 3)), ("same", "middle", (2, 3), (5, 4))])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_are_those_of_dense_sums(random, boundary, mode, origin, shape, taps, dtype):
    """T[n, j, i] is result i of an image that is 1 at n with a kernel that is 1 at j, and C[j, i] that of the constant
    outside."""
    form = Form.of(shape, taps, {"mode": mode}, text_of({**options_of(boundary), "origin": origin, "mode": mode}))
    dense = np.array([[direct(point, tap, mode, boundary, 0, origin).ravel() for tap in points(taps)]
                      for point in points(shape)])
    outside = np.array([direct(np.zeros(shape), tap, mode, boundary, form.options.get("cval", 0), origin).ravel()
                        for tap in points(taps)])
    images, kernel, results = (random.standard_normal((2, *shape)), random.standard_normal(taps),
                               random.standard_normal((2, *form.result)))
    flat = [one.reshape(len(one), -1) for one in (images, results)]
    want = {"result": np.einsum("bn,nji,j->bi", flat[0], dense, kernel.ravel()) + kernel.ravel() @ outside,
            "image": np.einsum("bi,nji,j->bn", flat[1], dense, kernel.ravel()),
            "kernel": np.einsum("bi,nji,bn->j", flat[1], dense, flat[0]) + np.einsum("bi,ji->j", flat[1], outside)}
    given = {"image": images, "kernel": kernel, "result": results}
    for product, operands in OPERANDS.items():
        first, second = (given[kind].astype(dtype) for kind in operands)
        found = computed(product, first, second, form)
        assert found.dtype == dtype and found.flags.c_contiguous
        assert found.shape == form.product_shape(product, first.shape, second.shape)
        tolerance = {"float32": 2e-5, "float64": 1e-12}[dtype]
        np.testing.assert_allclose(found.ravel(), want[product].ravel(), rtol=tolerance, atol=tolerance * 10,
                                   err_msg=product)


def test_products_of_further_axes_are_broadcast(random):
    form = Form.of((4, 5), (3, 2), {}, text_of({"device": "cpu"}))
    images, kernels = random.random((3, 1, 2, 4, 5)), random.random((4, 3, 2))
    found = computed("result", images, kernels, form)
    assert found.shape == (3, 4, 2, 4, 5)
    for index in itertools.product(range(3), range(4), range(2)):
        np.testing.assert_allclose(found[index], direct(images[index[0], 0, index[2]], kernels[index[1]]))
    assert computed("kernel", images, found, form).shape == (3, 4, 3, 2)


def test_kernels_and_gradients_of_zeros_have_products_of_zeros():
    form = Form.of((4, 5), (3, 2), {}, text_of({"device": "cpu"}))
    for product, operands in OPERANDS.items():
        shapes = [(2, *form.shape_of(kind)) if kind != "kernel" else form.kernel for kind in operands]
        assert not computed(product, np.ones(shapes[0]), np.zeros(shapes[1]), form).any()


@pytest.mark.parametrize(("shape", "taps", "options", "sentence"), [
    ((4,), (2, 2), {}, "the kernel has 2 dimensions and the image only 1"),
    ((4, 4), (5, 2), {"mode": "valid"}, r"leave no samples in mode 'valid'"),
    ((4,), (), {}, "a kernel of 0 dimensions: give 1 to 3"),
    ((4,), (2,), {"mode": "whole"}, "'whole' is no mode: use one of full, same, valid"),
    ((4,), (2,), {"origin": "peak"}, "origin='peak' depends on the kernel's values"),
    ((4,), (2,), {"cval": 1}, "cval is for the boundary 'constant'"),
    ((4,), (2,), {"boundary": "round"}, "'round' is no boundary: use one of zero,"),
    ((4,), (2,), {"boundary": "constant:3"}, "give 'constant', and the value as cval"),
    ((4,), (2,), {"nan": "missing"}, "nan='missing' divides .* there is no gradient: choose"),
    ((4,), (2,), {"workers": "two"}, "workers is 'two': give a whole number")])
def test_errors(shape, taps, options, sentence):
    with pytest.raises(convolume.InvalidArgument, match=sentence):
        Form.of(shape, taps, options, text_of(options))


def test_boundaries_have_the_words_of_other_libraries():
    for word, boundary in {"symmetric": "reflect", "periodic": "wrap", "edge": "nearest", "fill": "constant"}.items():
        assert json.loads(text_of({"boundary": word}))["boundary"] == boundary


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_modules_are_imported_if_they_are_asked_for(name):
    """The package neither imports nor needs them, and a missing one is an error that says what to install."""
    program = (f"import sys, convolume; assert '{name}' not in sys.modules and '{name}' not in dir(convolume)\n"
               f"sys.modules['{name}'] = None\n"
               f"try:\n    import convolume.{name}\n"
               f"except ImportError as error:\n"
               f"    assert isinstance(error, convolume.Unavailable) and error.name == '{name}', error\n"
               f"    print(error)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(convolume.__file__))})
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f": pip install {name}\n")


def views_of_two():
    quarter = [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 3]]
    views = [convolume.View(np.ones((1, 3, 3))), convolume.View(np.ones((1, 1, 1)), quarter)]
    return convolume.ForwardModel(views, [(4, 3, 4), (4, 3, 4)], dtype="float64", device="cpu")


@needs_torch
class TestTorch:
    def pair(self, image=(2, 5, 4), kernel=(3, 2)):
        import torch

        torch.manual_seed(4)
        return [torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in (image, kernel)]

    @pytest.mark.parametrize("boundary", BOUNDARIES)
    @pytest.mark.parametrize("mode", MODES)
    def test_first_and_second_gradients(self, mode, boundary):
        from torch.autograd import gradcheck, gradgradcheck

        import convolume.torch

        def convolved(image, kernel):
            return convolume.torch.convolve(image, kernel, mode=mode, **options_of(boundary))

        pair = self.pair(image=(2, 4, 3))
        assert gradcheck(convolved, pair) and gradgradcheck(convolved, pair)

    def test_values(self):
        import torch

        import convolume.torch

        image, kernel = self.pair(image=(2, 3, 5, 4))
        found = convolume.torch.convolve(image, kernel, boundary="mirror", device="cpu")
        want = scipy.ndimage.convolve(image.detach().numpy(), kernel.detach().numpy()[None, None], mode="mirror")
        np.testing.assert_allclose(found.detach().numpy(), want, rtol=1e-12)
        single = convolume.torch.convolve(image.float(), kernel.float(), boundary="mirror", device="cpu")
        assert single.dtype == torch.float32
        np.testing.assert_allclose(single.detach().numpy(), want, rtol=1e-5)
        assert convolume.torch.convolve(image.float(), kernel, device="cpu").dtype == torch.float64
        assert convolume.torch.convolve(image[:0], kernel, device="cpu").shape == (0, 3, 5, 4)

    def test_library_operators_are_well_formed(self):
        import torch

        from convolume.torch import Operator, _linear_op, _product_op

        image, kernel = (one.detach() for one in self.pair())
        text = text_of({"device": "cpu"})
        torch.library.opcheck(_product_op, (image, kernel, "result", [5, 4], [3, 2], "same", text))
        operator = Operator(convolume.Convolver((5, 4), kernel.numpy(), device="cpu"))
        torch.library.opcheck(_linear_op, (image.reshape(2, -1), operator._number, False))

    @pytest.mark.filterwarnings("ignore")  # those of the compiler
    @pytest.mark.parametrize("dynamic", [False, True])
    def test_compiled_functions(self, dynamic):
        import torch

        import convolume.torch

        if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11):
            pytest.skip(f"PyTorch {torch.__version__} does not take these functions into one graph")

        def misfit(image, kernel):
            return (convolume.torch.convolve(image, kernel, boundary="edge", device="cpu") ** 2).sum()

        compiled = torch.compile(misfit, fullgraph=True, dynamic=dynamic, backend="aot_eager")
        for shape in ((5, 4), (2, 6, 5)):
            pair = self.pair(image=shape)
            for one, other in zip(torch.autograd.grad(compiled(*pair), pair), torch.autograd.grad(misfit(*pair), pair)):
                torch.testing.assert_close(one, other)
        record = convolume.torch.Operator(views_of_two())
        thing = torch.rand(record._map.input_shape, dtype=torch.float64, requires_grad=True)
        light = torch.compile(lambda one: sum((image**2).sum() for image in record(one)), fullgraph=True,
                              dynamic=dynamic, backend="aot_eager")
        found, = torch.autograd.grad(light(thing), thing)
        want, = torch.autograd.grad(sum((image**2).sum() for image in record(thing)), thing)
        torch.testing.assert_close(found, want)

    def test_mapped_functions(self):
        import torch

        import convolume.torch

        def misfit(image, kernel):
            return (convolume.torch.convolve(image, kernel, device="cpu") ** 2).sum()

        image, kernels = self.pair(kernel=(3, 3, 2))
        each = torch.func.vmap(torch.func.grad(misfit, (0, 1)), (None, 0))(image, kernels)
        whole = torch.func.grad(lambda *pair: torch.func.vmap(misfit, (None, 0))(*pair).sum(), (0, 1))(image, kernels)
        torch.testing.assert_close(whole[0], each[0].sum(0))
        torch.testing.assert_close(whole[1], each[1])
        for number, kernel in enumerate(kernels):
            want = torch.autograd.grad(misfit(image, kernel), (image, kernels))
            torch.testing.assert_close(each[0][number], want[0])
            torch.testing.assert_close(each[1][number], want[1][number])
        record = convolume.torch.Operator(views_of_two())
        things = torch.rand((3, *record._map.input_shape), dtype=torch.float64)
        for one, other in zip(torch.func.vmap(record)(things), record(things)):
            torch.testing.assert_close(one, other)

    def test_operators(self):
        import torch
        from torch.autograd import gradcheck, gradgradcheck

        import convolume.torch

        model = views_of_two()
        record = convolume.torch.Operator(model)
        thing = torch.rand(model.object_shape, dtype=torch.float64, requires_grad=True)
        for image, want in zip(record(thing), model(thing.detach().numpy())):
            np.testing.assert_array_equal(image.detach().numpy(), want)
        assert gradcheck(record, thing) and gradgradcheck(record, thing)
        blur = convolume.Convolver((5, 4), np.ones((2, 3)), mode="full", boundary="wrap", dtype="float64", device="cpu")
        image, _ = self.pair()
        assert convolume.torch.Operator(blur)(image).shape == (2, 6, 6)
        assert gradcheck(convolume.torch.Operator(blur), image)
        result = convolume.torch.Operator(blur)(image).sum()  # whose Operator is gone
        gc.collect()
        result.backward()
        np.testing.assert_allclose(image.grad.numpy(), [blur.adjoint()(np.ones((6, 6)))] * 2)
        for operator, signals in signal_operators(convolume.torch.Operator):
            signals = torch.from_numpy(signals).requires_grad_()
            assert gradcheck(operator, signals) and gradgradcheck(operator, signals)

    def test_errors(self):
        import torch

        import convolume.torch

        image, kernel = self.pair()
        with pytest.raises(convolume.InvalidArgument, match="torch.float16: convert it to float32 or float64"):
            convolume.torch.convolve(image.half(), kernel)
        with pytest.raises(convolume.InvalidArgument, match="the kernel is a ndarray: give a tensor of PyTorch"):
            convolume.torch.convolve(image, np.ones((3, 3)))
        with pytest.raises(convolume.InvalidArgument, match="operator is a Tensor: give a Convolver, a Filter"):
            convolume.torch.Operator(image)
        with pytest.raises(convolume.InvalidArgument, match=r"shape \(5, 5\) where the operator takes \(5, 4\)"):
            convolume.torch.Operator(convolume.Convolver((5, 4), np.ones((3, 3)), device="cpu"))(torch.ones(5, 5))
        with pytest.raises(convolume.InvalidArgument, match="complex128: gradients are those of real arrays"):
            convolume.torch.Operator(convolume.Convolver((5,), [1j], device="cpu"))
        with pytest.raises(TypeError, match="unexpected keyword argument 'center'; did you mean 'origin'"):
            convolume.torch.convolve(image, kernel, center=1)

    @pytest.mark.parametrize("boundary", BOUNDARIES)
    @pytest.mark.parametrize("mode", MODES)
    def test_products_of_tensors_on_a_gpu(self, mode, boundary, random):
        """The functions for a GPU run on the host, too."""
        import torch

        from convolume.torch import _computed_on_gpu

        form = Form.of((4, 3), (2, 3), {"mode": mode}, text_of({**options_of(boundary), "origin": "scipy"}))
        for product, operands in OPERANDS.items():
            pair = [random.random((2, 3, *form.shape_of(kind)) if kind != "kernel" else (2, *form.kernel))
                    for kind in operands]
            found = _computed_on_gpu(product, *map(torch.from_numpy, pair), form)
            np.testing.assert_allclose(found.numpy(), computed(product, *pair, form), rtol=1e-10, err_msg=product)

    @pytest.mark.parametrize("boundary", BOUNDARIES)
    @pytest.mark.parametrize("mode", MODES)
    def test_gradients_on_a_gpu(self, mode, boundary):
        import torch

        import convolume.torch

        if not any(gpu.usable for gpu in convolume.gpu_devices()):
            pytest.skip("no GPU here")
        if not torch.cuda.is_available():
            pytest.skip("PyTorch sees no GPU here")
        options = {**options_of(boundary), "device": "auto", "mode": mode}
        host = self.pair()
        on_gpu = [one.detach().cuda().requires_grad_() for one in host]
        with torch.cuda.stream(torch.cuda.Stream()):
            found = convolume.torch.convolve(*on_gpu, **options)
            gradients = torch.autograd.grad((found**2).sum(), on_gpu, create_graph=True)
            second, = torch.autograd.grad((gradients[0] ** 2).sum(), on_gpu[1])
            assert found.is_cuda and all(one.is_cuda for one in gradients)
        torch.cuda.synchronize()
        want = convolume.torch.convolve(*host, **options)
        right = torch.autograd.grad((want**2).sum(), host, create_graph=True)
        torch.testing.assert_close(found.cpu(), want)
        for one, other in zip(gradients, right):
            torch.testing.assert_close(one.cpu(), other)
        torch.testing.assert_close(second.cpu(), torch.autograd.grad((right[0] ** 2).sum(), host[1])[0])


@pytest.fixture
def jax():
    """JAX with float64."""
    module = pytest.importorskip("jax", reason="JAX is not installed")
    before = module.config.jax_enable_x64
    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", before)


@needs_jax
class TestJax:
    @pytest.mark.parametrize("boundary", BOUNDARIES)
    @pytest.mark.parametrize("mode", MODES)
    def test_first_and_second_gradients(self, jax, random, mode, boundary):
        from jax.test_util import check_grads

        import convolume.jax

        def convolved(image, kernel):
            return convolume.jax.convolve(image, kernel, mode=mode, **options_of(boundary))

        check_grads(convolved, (random.random((2, 4, 3)), random.random((3, 2))), order=2, modes=["rev"])

    def test_values(self, jax, random):
        import convolume.jax

        image, kernel = random.random((2, 3, 5, 4)), random.random((3, 2))
        found = convolume.jax.convolve(image, kernel, boundary="mirror", device="cpu")
        want = scipy.ndimage.convolve(image, kernel[None, None], mode="mirror")
        assert isinstance(found, jax.Array)
        np.testing.assert_allclose(found, want, rtol=1e-12)
        single = jax.jit(lambda *pair: convolume.jax.convolve(*pair, boundary="mirror", device="cpu"))(
            image.astype("f4"), kernel.astype("f4"))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, want, rtol=1e-5)

    def test_gradients_that_are_not_needed_are_not_computed(self, jax, random, monkeypatch):
        import convolume.jax
        from convolume import _gradients

        done = []
        for product, function in _gradients._PRODUCTS.items():
            monkeypatch.setitem(_gradients._PRODUCTS, product, lambda *operands, product=product, function=function: (
                done.append(product), function(*operands))[1])
        for number, product in enumerate(("image", "kernel")):
            jax.grad(lambda *pair: convolume.jax.convolve(*pair, device="cpu").sum(), number)(
                random.random((5, 4)), random.random((3, 2)))
            assert done == ["result", product]
            done.clear()

    def test_mapped_functions(self, jax, random):
        import convolume.jax

        def misfit(image, kernel):
            return (convolume.jax.convolve(image, kernel, device="cpu") ** 2).sum()

        image, kernels = random.random((2, 5, 4)), random.random((3, 3, 2))
        each = jax.vmap(jax.grad(misfit, (0, 1)), (None, 0))(image, kernels)
        whole = jax.jit(jax.grad(lambda *pair: jax.vmap(misfit, (None, 0))(*pair).sum(), (0, 1)))(image, kernels)
        np.testing.assert_allclose(whole[0], each[0].sum(0), rtol=1e-12)
        np.testing.assert_allclose(whole[1], each[1], rtol=1e-12)
        for number, kernel in enumerate(kernels):
            want = jax.grad(misfit, (0, 1))(image, kernel)
            np.testing.assert_allclose(each[0][number], want[0], rtol=1e-12)
            np.testing.assert_allclose(each[1][number], want[1], rtol=1e-12)

    def test_operators(self, jax, random):
        from jax.test_util import check_grads

        import convolume.jax

        model = views_of_two()
        record = convolume.jax.Operator(model)
        thing = random.random(model.object_shape)
        for image, want in zip(jax.jit(record)(thing), model(thing)):
            np.testing.assert_array_equal(image, want)
        check_grads(record, (thing,), order=2, modes=["rev"])
        blur = convolume.Convolver((5, 4), np.ones((2, 3)), mode="full", boundary="wrap", dtype="float64", device="cpu")
        images = random.random((2, 5, 4))
        for one, other in zip(jax.vmap(convolume.jax.Operator(blur))(images), convolume.jax.Operator(blur)(images)):
            np.testing.assert_array_equal(one, other)
        check_grads(convolume.jax.Operator(blur), (images,), order=2, modes=["rev"])
        for operator, signals in signal_operators(convolume.jax.Operator):
            check_grads(operator, (signals,), order=2, modes=["rev"])

    def test_errors(self, jax):
        import convolume.jax

        with pytest.raises(convolume.InvalidArgument, match=r"image is of type float16: convert it to float32"):
            convolume.jax.convolve(np.ones((5, 4), np.float16), np.ones((3, 3)))
        with pytest.raises(Exception, match="BadData: the image holds nan"):
            convolume.jax.convolve(np.full(5, np.nan), np.ones(3), device="cpu").block_until_ready()
        jax.config.update("jax_enable_x64", False)
        with pytest.raises(convolume.InvalidArgument, match="float64, which JAX has switched off"):
            convolume.jax.Operator(convolume.Convolver((5,), np.ones(3), precision="float64", device="cpu"))


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-rs", "-p", "no:cacheprovider", *sys.argv[1:]]))
