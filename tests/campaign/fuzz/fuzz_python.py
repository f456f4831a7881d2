#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls every public function and class of the Python package with unusual arguments.

Each call answers with a result or with an error of the package. Other errors, crashes, and calls that take too long are
printed, with what reproduces them. Exit code 1 if there are any.

    fuzz_python.py [--seconds 60] [--seed 0] [--only NAME]
"""

import argparse
import contextlib
import functools
import importlib.util
import inspect
import io
import json
import os
import pathlib
import queue
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings

import numpy as np

import convolume
from convolume import cache, ndimage, restoration, signal

LONGEST_S = 60  # a call that takes longer hangs
MOST_BYTES = 12 << 30  # address space of the calling process
MODULES = {"convolume": convolume, "signal": signal, "ndimage": ndimage, "restoration": restoration, "cache": cache}
# Errors of Python itself for names and numbers of arguments.
BINDING = re.compile(r"unexpected keyword argument|missing \d+ required|missing a required|positional argument"
                     r"|multiple values for|positional-only")

rng = np.random.default_rng(0)
image = rng.poisson(20, (6, 12, 10)).astype(np.float32)
stack = rng.poisson(20, (2, 3, 6, 12, 10)).astype(np.uint16)
kernel = np.ones((3, 3, 3), np.float32) / 27
known = convolume.Image.of_array(image, spacing=(0.2, 0.1, 0.1))
wave = rng.standard_normal(200).astype(np.float32)
waves = rng.standard_normal((3, 200)).astype(np.float32)
analytic = (rng.standard_normal(256) + 1j * rng.standard_normal(256)).astype(np.complex64)
optics = {"na": 1.2, "ni": 1.33, "wavelength": 0.5}


class Odd:
    """An object of a class that is no array."""


class Failing:
    """An array whose conversion fails."""

    shape, ndim, dtype = (3, 3, 3), 3, np.dtype(np.float32)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("this array cannot be converted")


def failing(*_):
    raise KeyError("an error of the caller's function")


def arrays(draw):
    """Returns an unusual array."""
    shape = draw.choice([(), (0,), (1,), (7,), (200,), (3, 3), (1, 1, 1), (0, 3, 3), (2, 0, 3), (6, 12, 10), (12, 10),
                         (3, 3, 3), (1, 1, 1, 1), (2, 3, 6, 12, 10), (1,) * 7, (2, 200), (64, 4)])
    kind = draw.choice(["f4", "f8", "f2", "g", "c8", "c16", "G", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "?",
                        ">f4", ">i2", "O", "U3", "S2", "M8[s]", "m8[s]", "V4", "f4,i4", "bfloat16", "float8"])
    if kind in ("bfloat16", "float8"):
        try:
            import ml_dtypes
        except ImportError:
            kind = "f2"
        else:
            kind = np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else ml_dtypes.float8_e4m3fn)
    values = rng.poisson(5, shape)
    try:
        values = values.astype(kind)
    except (TypeError, ValueError):
        values = np.zeros(shape, kind)
    if values.dtype.kind in "fc" and values.size and draw.random() < 0.3:
        values = values.copy()
        values.flat[draw.randrange(values.size)] = draw.choice([np.nan, np.inf, -np.inf, 1e30, -5])
    form = draw.randrange(12)
    if form == 0 and values.ndim:
        values = values[..., ::-1]
    elif form == 1 and values.ndim:
        values = np.repeat(values, 2, -1)[..., ::2]
    elif form == 2:
        values = values.T
    elif form == 3:
        values = np.broadcast_to(values, (2, *values.shape))
    elif form == 4 and values.dtype.names is None:
        values = np.ma.masked_array(values, mask=rng.random(values.shape) < 0.2)
    elif form == 5 and values.dtype.itemsize:
        values.setflags(write=False)
    elif form == 6:
        return values.tolist()
    elif form == 7 and values.dtype.names is None and values.dtype.kind in "fiu":
        with contextlib.suppress(convolume.Error):
            return convolume.Image.of_array(values)
    elif form == 8:
        with contextlib.suppress(ImportError, TypeError, ValueError):
            import xarray

            return xarray.DataArray(values, dims=["tczyxab"[-1 - i] for i in range(values.ndim)])
    elif form == 9:
        with contextlib.suppress(ImportError, TypeError, ValueError, NotImplementedError):
            import dask.array

            dask.config.set(scheduler="synchronous")  # Dask's threads may wait forever for refused memory
            return dask.array.from_array(values)
    elif form == 10:
        with contextlib.suppress(ImportError, TypeError, RuntimeError, ValueError):
            import torch

            made = torch.from_numpy(np.ascontiguousarray(values))
            return made.requires_grad_() if made.is_floating_point() else made
    elif form == 11:
        with contextlib.suppress(BufferError, ValueError):
            return memoryview(values)
    return values


SCALARS = [None, True, False, 0, 1, -1, 2, 3, 7, 255, 2**31, -2**31 - 1, 2**62, 2**63, -2**63, 2**64, 2**70, 10**40,
           0.0, -0.0, 0.5, 1.5, -0.5, 1e-320, 1e-40, 1e40, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), 1j,
           np.float32(2), np.int8(-3), np.uint64(2**63), np.bool_(True), np.array(3), np.array(2.5), np.float64("nan")]
WORDS = ["", "abc", "auto", "same", "full", "valid", "zero", "none", "x" * 3000, "\0", "ü", "\ud800", "8GiB", "1e99GiB",
         "-1", "cpu", "gpu", "gpu:9", "cuda", "float32", "float16", "complex64", "ZYX", "XYZ", "TCZYX", "a,b", "0",
         "constant", "wrap", "nearest", "sum", "peak", "/", "/nowhere/a.tif", ".", "a.tif", "a.zarr", b"", b"abc"]
OTHERS = [(), [], {}, set(), (1,), [1, 2], (1, 2, 3), (1, 2, 3, 4), (0, 0, 0), (-1, -1, -1), [10**9] * 3, [10**9] * 2,
          (2**62, 2**62), [10**30], (0.5, 0.5, 0.5), (None, None, None), [float("nan")] * 3, ["a", "b", "c"], [[]],
          [[1], [1, 2]], {"a": 1}, {1: 2}, range(3), range(10**12), slice(None), Ellipsis, Odd(), Odd, Failing(), print,
          failing, int, float, np.float32, np.dtype("f4"), np.dtype("U5"), pathlib.Path("/nowhere"), io.BytesIO(b""),
          b"\x00\xff", iter([1, 2, 3]), [kernel, kernel], [image, Odd()], (lambda *_: True), (lambda: None),
          NotImplemented, Exception, [None], {"na": 1.4}]


def odd_value(draw):
    kind = draw.random()
    if kind < 0.4:
        return arrays(draw)
    return draw.choice(SCALARS if kind < 0.65 else WORDS if kind < 0.8 else OTHERS)


def cases(folder):
    """Returns calls by name: a function, and arguments with which it works."""
    source, target = str(folder / "in.tif"), str(folder / "out.zarr")
    blocks = {"source": source, "target": target, "overwrite": True}
    live = functools.partial(convolume.StreamFilter, np.ones(9), 64)
    return {
        "convolve": (convolume.convolve, {"image": image, "kernel": kernel}),
        "correlate": (convolume.correlate, {"image": image, "kernel": kernel}),
        "Convolver": (convolume.Convolver, {"image_shape": image.shape, "kernel": kernel}),
        "Convolver()": (convolume.Convolver(image.shape, kernel), {"image": image}),
        "Deconvolver": (convolume.Deconvolver, {"image_shape": image.shape, "psf": kernel, "iterations": 2}),
        "Deconvolver()": (convolume.Deconvolver(image.shape, kernel, iterations=2), {"image": image}),
        "richardson_lucy": (convolume.richardson_lucy, {"image": image, "psf": kernel, "iterations": 2}),
        "correct_bleaching": (convolume.correct_bleaching, {"image": image, "axis": 0, "offset": 0.0}),
        "wiener": (convolume.wiener, {"image": image, "psf": kernel, "iterations": 2}),
        "filter_bank": (convolume.filter_bank, {"signals": waves, "filters": np.ones((2, 5))}),
        "FilterBank": (convolume.FilterBank, {"shape": waves.shape, "filters": np.ones((2, 5))}),
        "FilterBank()": (convolume.FilterBank(waves.shape, np.ones((2, 5))), {"signals": waves}),
        "correlation_peaks": (convolume.correlation_peaks, {"signals": waves, "templates": np.ones((2, 5))}),
        "CorrelationBank": (convolume.CorrelationBank, {"shape": waves.shape, "templates": np.ones((2, 5))}),
        "CorrelationBank.snr": (convolume.CorrelationBank(waves.shape, np.ones((2, 5))).snr, {"signals": waves}),
        "CorrelationBank.peaks": (convolume.CorrelationBank(waves.shape, np.ones((2, 5))).peaks, {"signals": waves}),
        "match_template": (convolume.match_template, {"image": image, "template": image[..., :3, :4]}),
        "masked_correlation": (convolume.masked_correlation, {"fixed": image, "moving": image[..., :3, :4]}),
        "find_peaks": (convolume.find_peaks, {"array": image, "threshold": 0.9, "min_distance": 2, "max_peaks": 3}),
        "Convolver.replace_kernel": (convolume.Convolver(image.shape, kernel).replace_kernel, {"kernel": kernel}),
        "divide_by_noise": (convolume.divide_by_noise, {"signals": waves, "block": 16}),
        "channelize": (convolume.channelize, {"signals": analytic, "channels": 8}),
        "Channelizer": (convolume.Channelizer, {"channels": 8}),
        "Channelizer()": (convolume.Channelizer(8), {"signals": analytic}),
        "Channelizer.push": (lambda block: convolume.Channelizer(8).push(block), {"block": analytic}),
        "synthesize": (convolume.synthesize, {"frames": analytic.reshape(-1, 8), "channels": 8}),
        "Synthesizer": (convolume.Synthesizer, {"channels": 8}),
        "Synthesizer()": (convolume.Synthesizer(8), {"frames": analytic.reshape(-1, 8)}),
        "Synthesizer.push": (lambda block: convolume.Synthesizer(8).push(block), {"block": analytic.reshape(-1, 8)}),
        "prototype_filter": (convolume.prototype_filter, {"channels": 8, "taps_per_channel": 4}),
        "dual_prototype": (convolume.dual_prototype, {"prototype": convolume.prototype_filter(8, 4), "channels": 8}),
        "Resampler": (convolume.Resampler, {"up": 3, "down": 2}),
        "Resampler.push": (lambda block: convolume.Resampler(3, 2).push(block), {"block": wave}),
        "Resampler.blocks": (lambda blocks: list(convolume.Resampler(3, 2).blocks(blocks)), {"blocks": [wave, wave]}),
        "RateConverter": (convolume.RateConverter, {"ratio": 1.1}),
        "RateConverter.push": (lambda block, ratio=None: convolume.RateConverter(1.1).push(block, ratio),
                               {"block": wave, "ratio": 1.2}),
        "RateConverter.blocks": (lambda blocks: list(convolume.RateConverter(1.1).blocks(blocks)),
                                 {"blocks": [wave, wave]}),
        "convert_rate": (convolume.convert_rate, {"x": waves, "ratio": 1.1}),
        "Signal.of_array": (convolume.Signal.of_array, {"array": waves, "sampling_rate": 8000.0, "start": 1.0}),
        "save_signal": (convolume.save_signal, {"path": str(folder / "wave.npy"), "signal": wave, "sampling_rate": 8e3,
                                                "overwrite": True}),
        "open_signal": (convolume.open_signal, {"path": str(folder / "in.f32"), "signals": 2, "layout": "planar"}),
        "StreamFilter": (convolume.StreamFilter, {"filters": np.ones(9), "block": 64}),
        "StreamFilter.push": (lambda block, out=None: live().push(block, out), {"block": wave[:64]}),
        "StreamFilter.replace": (lambda filters, fade=None: live().replace(filters, fade), {"filters": np.ones(9)}),
        "StreamFilter.filter_blocks": (lambda pieces, tail=False: list(live().filter_blocks(pieces, tail=tail)),
                                       {"pieces": [wave, wave]}),
        "chirp_bank": (convolume.chirp_bank, {"samples": 64, "frequency": (0, 0.1), "drift": (0, 1e-4)}),
        "spectral_chirp_bank": (convolume.spectral_chirp_bank, {"max_drift": 3}),
        "make_psf": (convolume.make_psf, {**optics, "spacing": (0.2, 0.1, 0.1), "shape": (5, 9, 9)}),
        "psf_facts": (convolume.psf_facts, dict(optics)),
        "resample_kernel": (convolume.resample_kernel, {"kernel": kernel, "spacing": (0.2, 0.1, 0.1),
                                                        "to_spacing": (0.3, 0.1, 0.1)}),
        "psf_from_beads": (convolume.psf_from_beads, {"stack": image, "shape": (3, 5, 5)}),
        "psfs_from_beads": (convolume.psfs_from_beads, {"stack": image, "regions": (1, 1, 2), "shape": (3, 5, 5)}),
        "refine_psf": (convolume.refine_psf, {"measured": known, **optics}),
        "fit_psf": (convolume.fit_psf, {"image": known, **optics, "shape": (3, 5, 5)}),
        "View": (convolume.View, {"psf": kernel}),
        "ForwardModel": (convolume.ForwardModel, {"views": [convolume.View(kernel)], "shapes": [image.shape]}),
        "ForwardModel of a View": (
            lambda psf, transform, positions=None, mask=None, origin="middle": convolume.ForwardModel(
                [convolume.View(psf, transform, positions, mask, origin=origin)], [image.shape])(image),
            {"psf": kernel, "transform": np.eye(4), "mask": image}),
        "ViewDeconvolver of a View": (
            lambda background="auto", offset="auto", gain=None, light=1.0, border=0: convolume.ViewDeconvolver(
                [convolume.View(kernel, None, None, None, background, offset, gain, light, border)], [image.shape],
                iterations=1)([image]), {"background": 1.0}),
        "ForwardModel()": (convolume.ForwardModel([convolume.View(kernel)], [image.shape]), {"thing": image}),
        "ForwardModel.adjoint": (convolume.ForwardModel([convolume.View(kernel)], [image.shape]).adjoint,
                                 {"images": [image]}),
        "ViewDeconvolver": (convolume.ViewDeconvolver, {"views": [convolume.View(kernel)], "shapes": [image.shape],
                                                        "iterations": 2}),
        "ViewDeconvolver()": (convolume.ViewDeconvolver([convolume.View(kernel)], [image.shape], iterations=2),
                              {"images": [image]}),
        "voxel_transform": (convolume.voxel_transform, {"transform": np.eye(4), "spacing": (0.2, 0.1, 0.1),
                                                        "to_spacing": (0.1, 0.1, 0.1)}),
        "deskew": (convolume.deskew, {"image": image, "angle": 30, "step": 0.4, "pixel": 0.1}),
        "Phantom": (convolume.Phantom, {"shape": (6, 12, 10)}),
        "Phantom[]": (convolume.Phantom((6, 12, 10)).__getitem__, {"planes": slice(0, 3)}),
        "Camera": (convolume.Camera, {}),
        "Camera.expose": (convolume.Camera().expose, {"photons": image}),
        "Image.of_array": (convolume.Image.of_array, {"array": image}),
        "Image[]": (known.__getitem__, {"key": (slice(None), 0)}),
        "open": (convolume.open, {"path": source}),
        "save": (convolume.save, {"path": str(folder / "saved.tif"), "image": image, "overwrite": True}),
        "save zarr": (convolume.save, {"path": str(folder / "saved.zarr"), "image": image, "overwrite": True}),
        "process": (convolume.process, {**blocks, "op": "convolve", "kernel": kernel}),
        "process deconvolve": (convolume.process, {**blocks, "op": "deconvolve", "psf": kernel, "iterations": 2}),
        "process function": (convolume.process, {**blocks, "op": np.sqrt, "halo": (0, 1, 1)}),
        "plan_process": (convolume.plan_process, {"source": source, "target": target, "op": "convolve",
                                                  "kernel": kernel, "measure": False}),
        "process_status": (convolume.process_status, {"target": target}),
        "signal.convolve": (signal.convolve, {"in1": image, "in2": kernel}),
        "signal.correlate": (signal.correlate, {"in1": image, "in2": kernel}),
        "signal.fftconvolve": (signal.fftconvolve, {"in1": image, "in2": kernel}),
        "signal.oaconvolve": (signal.oaconvolve, {"in1": image, "in2": kernel}),
        "signal.upfirdn": (signal.upfirdn, {"h": np.ones(5), "x": waves}),
        "signal.resample": (signal.resample, {"x": wave, "num": 30}),
        "signal.resample_poly": (signal.resample_poly, {"x": wave, "up": 3, "down": 2}),
        "signal.decimate": (signal.decimate, {"x": wave, "q": 2}),
        "ndimage.convolve": (ndimage.convolve, {"input": image, "weights": kernel}),
        "ndimage.correlate": (ndimage.correlate, {"input": image, "weights": kernel}),
        "ndimage.convolve1d": (ndimage.convolve1d, {"input": image, "weights": np.ones(3)}),
        "ndimage.correlate1d": (ndimage.correlate1d, {"input": image, "weights": np.ones(3)}),
        "ndimage.gaussian_filter": (ndimage.gaussian_filter, {"input": image, "sigma": 1.0}),
        "ndimage.gaussian_filter1d": (ndimage.gaussian_filter1d, {"input": image, "sigma": 1.0}),
        "ndimage.uniform_filter": (ndimage.uniform_filter, {"input": image}),
        "ndimage.uniform_filter1d": (ndimage.uniform_filter1d, {"input": image, "size": 3}),
        "restoration.richardson_lucy": (restoration.richardson_lucy,
                                        {"image": image / 50, "psf": kernel, "num_iter": 2}),
        "restoration.wiener": (restoration.wiener, {"image": image, "psf": kernel, "balance": 0.1}),
        "cache.limit": (cache.limit, {}),
        **gradient_cases(),
    }


def gradient_cases():
    """Returns calls of the modules for PyTorch and JAX that are installed."""
    found, blur = {}, convolume.Convolver(image.shape, kernel)
    for name in ("torch", "jax"):
        if importlib.util.find_spec(name) is None:
            continue
        module = importlib.import_module(f"convolume.{name}")
        made = importlib.import_module("torch").from_numpy if name == "torch" else np.asarray
        found |= {f"{name}.convolve": (module.convolve, {"image": made(image), "kernel": made(kernel)}),
                  f"{name}.Operator": (module.Operator, {"operator": blur}),
                  f"{name}.Operator()": (module.Operator(blur), {"values": made(image)})}
    return found


# Objects that are made by the library only, and functions without arguments.
NOT_CALLED = {"BeadPsf", "FilterPlan", "FittedPsf", "GpuDevice", "Image", "Iteration", "Plan", "ProcessPlan",
              "ProcessReport", "RefinedParameter", "RefinedPsf", "RegionPsf", "Run", "BlocksFailed", "gpu_devices",
              "CacheInfo", "clear", "info", "__version__"}


def check_complete(found):
    """Every public name is called, unless it is listed above."""
    called = {name.rpartition(".")[2].partition("(")[0].partition("[")[0].split(" ")[0] for name in found}
    called |= {name.split(".")[0].partition("(")[0] for name in found}
    for module in MODULES.values():
        for name in module.__all__:
            value = getattr(module, name)
            is_error = isinstance(value, type) and issubclass(value, BaseException | Warning)
            if not is_error and name not in called | NOT_CALLED:
                sys.exit(f"fuzz_python.py: {module.__name__}.{name} is not called: add it to cases()")


def short(value):
    text = repr(value).replace("\n", " ")
    if isinstance(value, np.ndarray):
        text = f"{type(value).__name__} {value.dtype} {value.shape} " + text
    return text if len(text) < 160 else text[:160] + "…"


@functools.cache
def keywords_of(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return ()
    return tuple(one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))


def call(function, arguments):
    """Returns None if the call answers as it should, else what is wrong."""
    said = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")
            result = function(**arguments)
            if isinstance(result, convolume.Image | convolume.Phantom) and np.prod(result.shape) < 1e6:
                np.asarray(result)
    except convolume.Error as error:
        return None if str(error).strip() else f"{type(error).__name__} without a sentence"
    except (TypeError, KeyError, RuntimeError, IndexError) as error:
        if isinstance(error, TypeError) and BINDING.search(str(error)):
            return None
        if re.search("of the caller's function|this array cannot be converted|Odd.. takes no arguments", str(error)):
            return None  # errors of the caller pass through
        if type(error).__name__ == "JaxRuntimeError" and re.search(r"(BadData|Unavailable|OutOfMemory): ", str(error)):
            return None  # JAX puts errors of functions that it calls back into its own
        if isinstance(error, IndexError) and "__getitem__" in getattr(function, "__name__", ""):
            return None
        return described(error)
    except Exception as error:
        return described(error)
    return None


def described(error):
    places = [f for f in traceback.extract_tb(error.__traceback__) if f"{os.sep}convolume{os.sep}" in f.filename]
    where = f" at {os.path.basename(places[-1].filename)}:{places[-1].lineno}" if places else ""
    return f"{type(error).__name__}{where}: {str(error)[:200]}"


def work(seed, skip, only):
    """Calls until it is killed. Prints a line before each call, and one after it."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    folder = pathlib.Path(tempfile.mkdtemp())
    os.chdir(folder)
    convolume.save(folder / "in.tif", known)
    wave.astype("<f4").tofile(folder / "in.f32")
    found = {name: one for name, one in cases(folder).items() if only in name}
    check_complete(cases(folder))
    names = sorted(found)
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for functions that print
    for number in range(skip, 10**9):
        draw = random.Random(f"{seed} {number}")
        global rng
        rng = np.random.default_rng(draw.randrange(2**32))
        function, usual = found[draw.choice(names)]
        name = next(one for one in names if found[one][0] is function and found[one][1] is usual)
        arguments = dict(usual)
        keywords = keywords_of(function)
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            key = draw.choice(sorted(usual) if usual and draw.random() < 0.3 else keywords)
            arguments[key] = odd_value(draw)
            if key in ("iterations", "num_iter") and isinstance(arguments[key], int | np.integer):
                arguments[key] = min(int(arguments[key]), 3)  # many iterations take long, as they should
            if key in usual and key in ("path", "target", "source"):
                arguments[key] = usual[key] if draw.random() < 0.5 else arguments[key]
        text = f"{name}(" + ", ".join(f"{k}={short(v)}" for k, v in arguments.items() if usual.get(k) is not v) + ")"
        print(json.dumps([number, name, text]), file=out)
        wrong = call(function, arguments)
        print(json.dumps(wrong), file=out)


class Caller:
    """A process that calls, and its lines."""

    def __init__(self, seed, only, begin):
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (it is read when the process has ended)
        command = [sys.executable, "-X", "faulthandler", __file__, "--seed", str(seed), "--only", only,
                   "--work", str(begin)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def why_it_ended(self):
        self.process.wait()
        self.errors.seek(0)
        return f"ends with {self.process.returncode}: {self.errors.read()[-1500:]}"

    def stop(self):
        self.process.kill()
        self.process.wait()


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="calls whose names contain this")
    options.add_argument("--work", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.work is not None:
        work(given.seed, given.work, given.only)
        return 0
    end, begin, calls, crashes, seen = time.monotonic() + given.seconds, 0, 0, 0, set()

    def tell(now, what, found):
        key = f"{now[1]}: {re.sub('[0-9]+', '#', what)[:110]}"
        if key not in seen:
            seen.add(key)
            print(f"{found}\n    {now[0]}: {now[2]}", flush=True)

    while time.monotonic() < end:
        caller, now = Caller(given.seed, given.only, begin), [begin - 1, "the start", ""]
        while time.monotonic() < end:
            try:
                line = caller.lines.get(timeout=LONGEST_S)
            except queue.Empty:
                crashes += 1
                tell(now, "hangs", f"takes more than {LONGEST_S} s")
                break
            if line is None:
                crashes += 1
                why = caller.why_it_ended()
                tell(now, why, why)
                break
            value = json.loads(line)
            if isinstance(value, list):
                now, calls = value, calls + 1
            elif value is not None:
                tell(now, value, value)
        caller.stop()
        if now[0] < begin:
            break
        begin = now[0] + 1
    print(f"fuzz_python.py: {calls} calls, {len(seen)} findings, {crashes} crashes or hangs; seed {given.seed}")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
