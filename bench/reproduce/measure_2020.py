# SPDX-License-Identifier: Apache-2.0
"""Measures overlap-save in shared memory, as Adámek, Dimoudi, Giles and Armour (2020). convolume_filter_gpu_bench
measures the library and overlap-save by cuFFT, the PyTorch peer of filter_gpu.py measures cuDNN."""

from context import NotMeasured

KEPT = ("role", "kind", "post", "taps", "filters", "samples", "segment", "ms", "error")


def cudnn_cases():
    """Measures figures 4 and 5: real data, by signal length and by number of filters."""
    cases = {("r2r", taps, 8, 1 << power): None for taps in (65, 257, 1025) for power in (17, 19, 21, 23)}
    cases |= {("r2r", taps, filters, 1 << 21): None for taps in (65, 257, 1025) for filters in (1, 2, 4, 8, 16, 32, 64)}
    return list(cases)


def measure(context):
    from filter_gpu import TorchPeer, measure_peers, run_program

    try:
        context.need_gpus()
        program = context.program_path("convolume_filter_gpu_bench")
    except NotMeasured as why:
        yield {"experiment": "filters", "not_measured": str(why)}
        return
    results, failures = run_program(program, "paper")
    for result in results:
        yield {"experiment": "filters"} | {key: result[key] for key in KEPT if key in result}
    try:
        context.check_time()
        peer = TorchPeer()
        rows, more = measure_peers(peer, cudnn_cases())
    except NotMeasured as why:
        rows, more = [], [{"command": "conv1d", "stderr": str(why)}]
    except Exception as error:  # PyTorch is not installed, or built for another CUDA
        rows, more = [], [{"command": "conv1d", "stderr": f"{type(error).__name__}: {error}"}]
    for row in rows:
        yield {"experiment": "filters"} | {key: row[key] for key in KEPT if key in row}
    for failure in failures + more:
        yield {"experiment": "filters", "role": failure["command"], "not_measured": failure["stderr"].strip()}
