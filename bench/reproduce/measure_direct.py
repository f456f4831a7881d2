# SPDX-License-Identifier: Apache-2.0
"""Measures direct convolution in CUDA in its four forms, the library's own sums, transforms, and cuDNN through
PyTorch."""

import subprocess

from context import NotMeasured


def run_for_json_lines(program, *arguments):
    from filter_results import json_objects

    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=200)
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"{program.name} was stopped after 200 s") from None
    if done.returncode:
        raise NotMeasured(done.stderr.strip() or f"{program.name}: exit code {done.returncode}")
    return json_objects(done.stdout)


def time_cudnn(context):
    """Returns {(dimension, extent, width): milliseconds}, in full float32, by the algorithm that cuDNN measures to be
    the fastest."""
    import torch
    from filter_gpu import TorchPeer, median_device_ms

    peer = TorchPeer()
    cases = [("2D", extent, width) for extent in (1024, 4096) for width in (3, 5, 7, 9, 11, 15, 21, 31)]
    cases += [("1D", 2097152, width) for width in (3, 5, 9, 17, 25, 33, 49, 65, 97)]
    for dimension, extent, width in cases:
        image = [extent, extent] if dimension == "2D" else [extent]
        taps = [width] * len(image)
        convolve = torch.nn.functional.conv2d if dimension == "2D" else torch.nn.functional.conv1d

        def measure_ms(image=image, taps=taps, convolve=convolve):
            try:
                x, h = torch.rand([1, 1, *image], device="cuda"), torch.rand([1, 1, *taps], device="cuda")
                return {"ms": median_device_ms(peer, lambda: convolve(x, h, padding="same"))}
            except RuntimeError as error:
                raise NotMeasured(f"PyTorch: {error}") from None

        yield context.measured_row({"experiment": "cudnn", "forms": dimension, "extent": extent, "width": width},
                                   measure_ms)


def measure(context):
    try:
        context.need_gpus()
        forms = run_for_json_lines(context.program_path("convolume_gpu_direct_bench"), "forms")
        lines = run_for_json_lines(context.program_path("convolume_filter_gpu_bench"), "direct")
    except NotMeasured as why:
        yield {"experiment": "forms", "not_measured": str(why)}
        return
    for line in forms:
        yield {"experiment": "forms"} | line
    for line in lines:  # direct sums in 1D, and the method that the library would choose
        if line["kind"] == "r2r" and line["filters"] == 1:
            yield {"experiment": "forms 1D", "role": line["role"], "taps": line["taps"], "samples": line["samples"],
                   "ms": line["ms"]}
    try:
        yield from time_cudnn(context)
    except ImportError as error:
        yield {"experiment": "cudnn", "not_measured": f"PyTorch is not installed: {error}"}
