#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the peers of convolume's GPU engine through CuPy: cuFFT's transforms with all data in device memory, and
cupyx.scipy.signal.fftconvolve on the device and from host to host. Prints one JSON object a line.

    bench/gpu_peers.py [--repeats N] [--scale N] [CASE…]
"""

import argparse
import json
import statistics
import sys
import time

try:
    import cupy as cp
    import cupyx
    import cupyx.scipy.fft
    import cupyx.scipy.signal
    import numpy as np
except ImportError as error:
    sys.exit(f"gpu_peers.py: {error}; install CuPy for this machine's CUDA")

IMAGE = (512, 1024, 1024)
KERNEL = (64, 64, 64)


def device_seconds(act, repeats):
    """Measures the times of `act` on the device's clock, after two runs that plan and warm up."""
    begin, end = cp.cuda.Event(), cp.cuda.Event()
    times = []
    for repeat in range(-2, repeats):
        begin.record()
        act()
        end.record()
        end.synchronize()
        if repeat >= 0:
            times.append(cp.cuda.get_elapsed_time(begin, end) / 1e3)
    return times


def host_seconds(act, repeats):
    times = []
    for repeat in range(-1, repeats):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        act()
        cp.cuda.Device().synchronize()
        if repeat >= 0:
            times.append(time.perf_counter() - start)
    return times


def random_on_device(shape):
    return cp.random.random_sample(shape, dtype=np.float32)


def cufft_seconds(shape, repeats):
    """Times rfftn, a product and irfftn, which overwrite their inputs. The scaling is left out, as the kernel's
    spectrum can include it."""
    image = random_on_device(shape)
    kernel = cupyx.scipy.fft.rfftn(random_on_device(shape))

    def convolve():
        spectrum = cupyx.scipy.fft.rfftn(image)
        cp.multiply(spectrum, kernel, out=spectrum)
        cupyx.scipy.fft.irfftn(spectrum, s=shape, norm="forward", overwrite_x=True)

    return device_seconds(convolve, repeats)


def device_convolution_seconds(shape, repeats):
    image, kernel = random_on_device(shape), random_on_device(KERNEL)
    return device_seconds(lambda: cupyx.scipy.signal.fftconvolve(image, kernel, "same"), repeats)


def host_to_host_seconds(make, shape, repeats):
    """Times fftconvolve with image and result in host arrays that `make` allocates. The small kernel is copied, too."""
    image, result, kernel = make(shape), make(shape), np.random.default_rng(1).random(KERNEL, dtype=np.float32)
    image[...] = random_on_device(shape).get()
    result[...] = 0

    def convolve():
        output = cupyx.scipy.signal.fftconvolve(cp.asarray(image), cp.asarray(kernel), "same")
        output.get(out=result)

    return host_seconds(convolve, repeats)


def pageable_array(shape):
    return np.empty(shape, np.float32)


def page_locked_array(shape):
    return cupyx.empty_pinned(shape, np.float32)


CASES = {
    "cufft512": (cufft_seconds, IMAGE),
    "cufft1024": (cufft_seconds, (1024, 1024, 1024)),
    "cufft257": (cufft_seconds, (257, 1031, 1021)),
    "fftconvolve device512": (device_convolution_seconds, IMAGE),
    "fftconvolve hosts512": (lambda shape, n: host_to_host_seconds(pageable_array, shape, n), IMAGE),
    "fftconvolve library512": (lambda shape, n: host_to_host_seconds(page_locked_array, shape, n), IMAGE),
}


def free_device_memory():
    cp.fft.config.get_plan_cache().clear()
    cp.get_default_memory_pool().free_all_blocks()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="default: all of " + ", ".join(CASES))
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--scale", type=int, default=1, help="divides the images' extents: for a quick look")
    arguments = parser.parse_args()
    for name in arguments.cases:
        if name not in CASES:
            parser.error(f"there is no case {name}; choose among {', '.join(CASES)}")

    failures = 0
    for name in arguments.cases or CASES:
        run, shape = CASES[name]
        shape = tuple(extent // arguments.scale for extent in shape)
        line = {"name": name, "peer": f"CuPy {cp.__version__}", "image_zyx": shape}
        if "fftconvolve" in name:
            line["kernel_zyx"] = KERNEL
        try:
            seconds = run(shape, arguments.repeats)
            line |= {"repeats": len(seconds), "seconds": statistics.median(seconds), "least_seconds": min(seconds)}
        except Exception as error:  # a case that fails for any reason does not stop the others
            line["error"] = f"{type(error).__name__}: {error}"
            failures += 1
        print(json.dumps(line), flush=True)
        free_device_memory()
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
