#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times convolutions of many small planes with large kernels, in the memory of a GPU: Convolver, nvSubquadratic's fused
2D convolution (PyPI: subquadratic-ops-torch-cu13) and PyTorch's FFT, in turns. Prints one JSON object a line, which
tables.py reads.

    PYTHONPATH=BUILD/python bench/peers/fused_planes.py [--rounds N] [--planes N] [--channels N] [SIZE…]

A plane of SIZE × SIZE pixels is convolved with a kernel of 2 SIZE × 2 SIZE, zero outside, by transforms of 2 SIZE. One
kernel serves all planes, or each channel has its own. Kernels are transformed before. Inputs of 16 bits are the float32
ones, rounded.
"""

import argparse
import json
import statistics
import sys

try:
    import torch
except ImportError as error:
    sys.exit(f"fused_planes.py: {error}; install PyTorch for this machine's CUDA")

TOLERANCES = {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}


class NoSuchCaseError(Exception):
    """A way does not have a case, which is left out."""


class Planes:
    """Planes of shape (batch, channels, size, size) and kernels (channels, 2 size, 2 size) or (1, 2 size, 2 size)."""

    def __init__(self, batch, channels, size, shared):
        self.size, self.shared = size, shared
        generator = torch.Generator("cuda").manual_seed(1)
        shape = (batch * channels, 1, size, size) if shared else (batch, channels, size, size)
        self.images = torch.randn(shape, generator=generator, device="cuda")
        self.kernels = torch.randn((shape[1], 2 * size, 2 * size), generator=generator, device="cuda")

    def transformed_kernels(self, kernels):
        return torch.fft.rfft2(kernels, s=(2 * self.size, 2 * self.size))

    def convolve_by_fft(self, images, spectra):
        """Convolves with the origin of the kernels at (size, size)."""
        extents = (2 * self.size, 2 * self.size)
        results = torch.fft.irfft2(torch.fft.rfft2(images, s=extents) * spectra, s=extents)
        return results[..., self.size:, self.size:]

    def error_of(self, results, dtype):
        """Returns the relative L2 error of some planes against FFTs in double precision of the rounded inputs."""
        images, kernels = (values.to(dtype).double() for values in (self.images[-7:], self.kernels))
        wanted = self.convolve_by_fft(images, self.transformed_kernels(kernels))
        return float((results.reshape(self.images.shape)[-7:].double() - wanted).norm() / wanted.norm())


def prepare_convolume(planes, dtype):
    import convolume

    if not planes.shared:
        raise NoSuchCaseError("Convolver has one kernel for all planes")
    images = planes.images.to(dtype).reshape(-1, planes.size, planes.size)
    plan = convolume.Convolver(tuple(images.shape), planes.kernels[0].to(dtype).float().cpu().numpy(),
                               precision="float32")
    results = torch.empty_like(images)
    return lambda: plan(images, results)


def prepare_fused(planes, dtype):
    from subquadratic_ops_torch.fused_fft_conv2d import fused_fft_conv2d_fwd, fused_rfft2d_fwd

    images = planes.images.to(dtype)
    spectra = fused_rfft2d_fwd(planes.kernels.to(dtype), fft_size=2 * planes.size)
    return lambda: fused_fft_conv2d_fwd(images, spectra)


def prepare_torch(planes, dtype):
    if dtype != torch.float32:
        raise NoSuchCaseError("torch.fft of these extents computes in float32")
    spectra = planes.transformed_kernels(planes.kernels)
    return lambda: planes.convolve_by_fft(planes.images, spectra)


def prepare_copy(planes, dtype):
    images = planes.images.to(dtype)
    copies = torch.empty_like(images)
    return lambda: copies.copy_(images)


WAYS = [("convolume", prepare_convolume), ("nvSubquadratic", prepare_fused), ("torch.fft", prepare_torch)]


def milliseconds(run, runs):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(runs):
        run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / runs


def time_in_turns(functions, rounds):
    """Returns the least and the median milliseconds of each function."""
    runs = []
    for run in functions:
        milliseconds(run, 2)
        runs.append(max(1, min(20, int(4 / max(milliseconds(run, 1), 1e-3)))))
    times = [[] for _ in functions]
    for _ in range(rounds):
        for row, run, count in zip(times, functions, runs):
            row.append(milliseconds(run, count))
    return [{"ms": min(row), "median_ms": statistics.median(row)} for row in times]


def compare(batch, channels, size, shared, rounds):
    planes = Planes(batch, channels, size, shared)
    rows, timed, failures = [], [], []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        short = str(dtype).removeprefix("torch.")
        for name, prepare in WAYS:
            way = {"way": f"{name}, {short}", "note": ""}
            try:
                run = prepare(planes, dtype)
                way["error"] = planes.error_of(run(), dtype)
                way["wrong"] = not way["error"] <= TOLERANCES[dtype]
                timed.append(run)
                rows.append(way)
            except NoSuchCaseError:
                continue
            except Exception as error:  # a peer that fails for any reason does not stop the others
                failures.append(way | {"failure": f"{type(error).__name__}: {error}"[-600:]})
        timed.append(prepare_copy(planes, dtype))
        rows.append({"way": "copy" if dtype == torch.float32 else f"copy, {short}", "error": 0.0, "note": ""})
    ways = [row | times for row, times in zip(rows, time_in_turns(timed, rounds))]
    kernels = "one kernel" if shared else f"a kernel for each of {channels} channels"
    print(json.dumps({"table": "small planes", "case": f"{batch * channels} × {size}×{size}, {kernels}",
                      "bytes": 8 * planes.images.numel(), "rounds": rounds, "ways": ways + failures}), flush=True)
    return any(row.get("wrong") for row in rows) or any(row["way"].startswith("convolume") for row in failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, metavar="SIZE", help="16, 32 or 64; default: all of them")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--planes", type=int, default=8, help="planes of each channel")
    parser.add_argument("--channels", type=int, default=768)
    arguments = parser.parse_args()
    failed = False
    for size in arguments.sizes or (16, 32, 64):
        for shared in (True, False):
            failed |= compare(arguments.planes, arguments.channels, size, shared, arguments.rounds)
    return failed


if __name__ == "__main__":
    sys.exit(main())
