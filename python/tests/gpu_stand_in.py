# SPDX-License-Identifier: Apache-2.0
"""A stand-in for CuPy and for convolutions on a GPU. With it the path of arrays in a GPU's memory runs without one.

Its arrays say that they lie on a GPU, and lie in host memory.
"""

import contextlib
import ctypes
import sys
import types

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

import convolume
from convolume import _core, _resample


class Device:
    """A GPU, which is the current one within a context."""

    current = 0

    def __init__(self, number):
        self.number = self.id = number

    def __enter__(self):
        self.before, Device.current = Device.current, self.number

    def __exit__(self, *_):
        Device.current = self.before


def stream_of(device):
    """Returns the address of a GPU's current CUDA stream."""
    return 1000 * device


class GpuArray(NDArrayOperatorsMixin):
    def __init__(self, values):
        self.values = values
        self.shape, self.dtype = values.shape, values.dtype
        self.device = Device(Device.current)
        self.data = types.SimpleNamespace(ptr=values.ctypes.data)

    @property
    def __cuda_array_interface__(self):
        return self.values.__array_interface__

    def __dlpack_device__(self):
        return 2, self.device.number

    def __dlpack__(self, **options):
        raise BufferError("an array of the stand-in")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        values = [one.values if isinstance(one, GpuArray) else one for one in inputs]
        result = getattr(ufunc, method)(*values, **options)
        if out is not None:
            out[0].values[...] = result
            return out[0]
        return GpuArray(np.asarray(result))

    def __getitem__(self, where):
        return GpuArray(np.asarray(self.values[where.values if isinstance(where, GpuArray) else where]))

    def __setitem__(self, where, value):
        where = where.values if isinstance(where, GpuArray) else where
        self.values[where] = value.values if isinstance(value, GpuArray) else value

    def __getattr__(self, name):
        method = getattr(self.values, name)
        if not callable(method):
            return GpuArray(method)
        return lambda *arguments, **options: GpuArray(np.asarray(method(*arguments, **options)))

    def item(self):
        return self.values.item()


GpuArray.__module__ = "cupy"


def _wrapped(function):
    return lambda array, *arguments, **options: GpuArray(function(array.values, *arguments, **options))


def _contiguous(array):
    if array.values.flags.c_contiguous:
        return array
    with array.device:
        return GpuArray(np.ascontiguousarray(array.values))


def cupy():
    """Returns a module with the functions of CuPy that convolume calls."""
    module = types.ModuleType("cupy")
    module.asarray = lambda values: GpuArray(np.array(values))
    module.concatenate = lambda arrays: GpuArray(np.concatenate([one.values for one in arrays]))
    module.asnumpy = lambda array: array.values.copy()
    module.empty = lambda shape, dtype: GpuArray(np.empty(shape, dtype))
    module.ascontiguousarray = _contiguous
    for name in ("clip", "moveaxis", "rint", "sign", "trunc"):
        setattr(module, name, _wrapped(getattr(np, name)))
    module.fft = types.SimpleNamespace(**{name: _wrapped(getattr(np.fft, name))
                                          for name in ("fftn", "ifftn", "irfftn", "rfftn")})
    module.cuda = types.SimpleNamespace(
        Device=Device, ExternalStream=lambda address: contextlib.nullcontext(),
        get_current_stream=lambda: types.SimpleNamespace(ptr=stream_of(Device.current)))
    return module


def _array_at(address, shape, dtype):
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_byte * count).from_address(address), dtype).reshape(shape)


def _cpu():
    return convolume.Convolver((4,), [1.0], device="cpu")._problem.engines


class DeviceConvolver:
    """Convolves on the host, at the addresses that it gets."""

    def __init__(self, shape, kernel, options, device, image_type, max_gpu_bytes=None, image_storage="plain",
                 output_storage="plain"):
        self._type = np.dtype(image_type)
        self._storages = [None if name == "plain" else np.dtype(name) for name in (image_storage, output_storage)]
        self._shape = tuple(shape)
        self._core = _core.Convolver(shape, kernel, options, _cpu(), self._type, np.dtype("float32"))
        self.output_type, self.output_shape = self._core.natural_type, self._core.output_shape

    def execute(self, image, out, stream, kernel=0, images=1):
        assert kernel == 0
        source, target = self._storages
        for one, result in zip(_array_at(image, (images, *self._shape), source or self._type),
                               _array_at(out, (images, *self.output_shape), target or self.output_type)):
            exact = np.empty(self.output_shape, self.output_type)
            self._core.execute(one.astype(self._type), exact)
            result[...] = exact


class ConvolverWithoutKernel(DeviceConvolver):
    """Gets the kernel with each call."""

    def __init__(self, shape, kernel_shape, kernel_type, options, device, image_type, max_gpu_bytes=None):
        self._kernel = tuple(kernel_shape), np.dtype(kernel_type)
        self._others = options, device, image_type
        super().__init__(shape, np.ones(*self._kernel), *self._others)

    def execute(self, image, out, stream, kernel=0, images=1):
        assert kernel != 0
        convolver = DeviceConvolver(self._shape, _array_at(kernel, *self._kernel).copy(), *self._others)
        convolver.execute(image, out, stream, images=images)


class SlabConvolver(DeviceConvolver):
    """Convolves slabs on the host, and remembers how it was made and the CUDA streams."""

    made = []

    def __init__(self, shape, kernel, options, devices, input_planes, output_planes, image_type, max_gpu_bytes,
                 from_cache):
        super().__init__(shape, kernel, options, devices[0], image_type)
        self.devices, self.input_planes, self.from_cache, self.streams = devices, input_planes, from_cache, []
        planes, parts = self.output_shape[0], len(devices)
        self.output_planes = output_planes or [planes * (i + 1) // parts - planes * i // parts for i in range(parts)]
        SlabConvolver.made.append(self)

    def execute_slabs(self, images, outs, streams):
        assert len(images) == len(outs) == len(streams) == len(self.devices)
        self.streams.append(streams)
        image = np.concatenate([_array_at(at, (planes, *self._core.input_shape[1:]), self._type)
                                for at, planes in zip(images, self.input_planes)])
        result = np.empty(self.output_shape, self.output_type)
        self._core.execute(image, result)
        begin = 0
        for at, planes in zip(outs, self.output_planes):
            _array_at(at, (planes, *self.output_shape[1:]), self.output_type)[...] = result[begin:begin + planes]
            begin += planes


class DeviceForwardModel:
    """Records and adds back on the host, at the addresses that it gets."""

    def __init__(self, result, views, in_double, device, max_gpu_bytes):
        self._type = np.dtype(np.float64 if in_double else np.float32)
        self._core = _core.ForwardModel(result, views, in_double, None, _cpu())
        self._object = tuple(_core.object_grid(result, views)[0])
        self._images = [tuple(one.shape) for one in views]

    def record(self, view, thing, image, stream):
        self._core.record(view, _array_at(thing, self._object, self._type),
                          _array_at(image, self._images[view], self._type))

    def add_back(self, view, image, thing, stream):
        self._core.add_back(view, _array_at(image, self._images[view], self._type),
                            _array_at(thing, self._object, self._type))


class DeviceFilterBank:
    """Filters on the host, at the addresses that it gets."""

    def __init__(self, signals, samples, filters, options, device, dtype):
        self.sample_type = np.dtype(dtype)
        self._shape = signals, samples
        self._core = _core.FilterBank(signals, samples, filters, options, _cpu(), self.sample_type)
        self.result_type, self.origin = self._core.result_type, self._core.origin
        self.result_samples = self._core.result_samples
        self._results = signals, len(filters), self.result_samples

    def execute(self, samples, results, positions, stream):
        places = _array_at(positions, self._results, np.int64) if positions else None
        self._core.execute(_array_at(samples, self._shape, self.sample_type),
                           _array_at(results, self._results, self.result_type), places, None)


class DeviceResampler:
    """Resamples on the host, at the addresses that it gets."""

    def __init__(self, taps, options, device, signal_type):
        self._type = signal_type
        self._core = _core.Resampler(taps, options, signal_type)
        self.full_results, self.same_results = self._core.full_results, self._core.same_results

    def execute(self, signals, samples, source, count, target, stream):
        self._core.execute(_array_at(source, (signals, samples), self._type),
                           _array_at(target, (signals, count), self._type))


class DeviceChannelizer:
    """Divides signals on the host, at the addresses that it gets."""

    def __init__(self, options, samples, device, dtype, signals, tail):
        self._type = np.dtype(dtype)
        self._core = _core.Channelizer(options, self._type, _cpu())
        self._numbers = signals, samples * (2 if options.interleaved else 1)
        self.frames = self._core.frames(samples, tail)
        self._frames = signals, self.frames, self._core.channels

    def execute(self, signals, frames, stream):
        self._core.execute(_array_at(signals, self._numbers, self._type),
                           _array_at(frames, self._frames, self._core.frame_type))


class DeviceSynthesizer:
    """Puts signals together on the host, at the addresses that it gets."""

    def __init__(self, options, synthesizer, frames, device, signals, samples):
        self._core = synthesizer
        self._frames, self._samples = (signals, frames, synthesizer.channels), (signals, samples)

    def execute(self, frames, signals, stream):
        self._core.execute(_array_at(frames, self._frames, self._core.frame_type),
                           _array_at(signals, self._samples, self._core.signal_type))


def install(monkeypatch):
    """Puts the stand-ins in the places of CuPy and of the convolutions on a GPU."""
    module = cupy()
    monkeypatch.setattr(SlabConvolver, "made", [])
    # Without the cache, which would give plans of the stand-in to later tests with arrays on a GPU.
    monkeypatch.setattr(_resample, "_device_plan", _resample._device_plan.__wrapped__)
    monkeypatch.setitem(sys.modules, "cupy", module)
    for name, stand_in in {"DeviceConvolver": DeviceConvolver, "cached_device_convolver": DeviceConvolver,
                           "cached_device_convolver_without_kernel": ConvolverWithoutKernel,
                           "slab_convolver": SlabConvolver,
                           "DeviceFilterBank": DeviceFilterBank, "DeviceForwardModel": DeviceForwardModel,
                           "DeviceResampler": DeviceResampler,
                           "DeviceChannelizer": DeviceChannelizer, "DeviceSynthesizer": DeviceSynthesizer}.items():
        monkeypatch.setattr(_core, name, stand_in)
    return module
