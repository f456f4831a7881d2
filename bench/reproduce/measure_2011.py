# SPDX-License-Identifier: Apache-2.0
"""Measures 3D convolution by decimation in frequency, as Karas and Svoboda (2011).

Sizes M are those of the padded data. Image and kernel have the sizes Mf and Mg, for which the full linear convolution
has the size M:

    M = Mf + Mg - 1 with Mf = M/2 + 1
"""

import math

from context import NotMeasured, load_paper, median_of, next_smooth, run_repeatedly

PAPER = load_paper("karas2011")
PARTS = (1, 2, 4, 8, 16)
BITS = 11
UNPADDED = (9, 10, 11)  # numbers of the paper's images whose size has the factor 257 or 513


def image_and_kernel_shapes(xyz, scale):
    """Returns the shapes (z, y, x) of image and kernel."""
    extents = [max(2, extent // scale + extent % 2 * (scale > 1)) for extent in reversed(xyz)]
    return [m // 2 + 1 for m in extents], [m - m // 2 for m in extents]


def comma_separated(shape):
    return ",".join(map(str, shape))


def method_argument(parts):
    return "method=in-core" if parts == 1 else f"method=dif parts={parts}"


class VolumeProgram:
    """The program that convolves, with the time that is left for the part."""

    def __init__(self, context):
        self.context = context
        self.worker = context.start_worker("convolume_volumes_bench")
        self.ask = self.worker.ask

    def prepare(self, xyz, keys):
        image, kernel = image_and_kernel_shapes(xyz, self.context.scale)
        planned = self.ask(f"prepare image={comma_separated(image)} kernel={comma_separated(kernel)} {keys}")
        self.context.check_time(planned["plan"]["chosen"]["seconds"])
        return planned

    def time_execution(self, planned, repeats=5, enough_s=1, once_from_s=4):
        """Measures the first execution with its plan, and the median of later ones. Long ones run once."""
        first = self.ask("run")
        later = run_repeatedly(lambda: self.ask("run"), repeats, enough_s) if first["seconds"] < once_from_s else []
        last = later[-1] if later else first
        chosen = planned["plan"]["chosen"]
        return {"first_s": planned["plan_seconds"] + first["seconds"],
                "seconds": median_of(later or [first], "seconds"), "repeats": len(later),
                "method": chosen["method"], "used_parts": chosen["parts"], "grid_zyx": chosen["grid_zyx"],
                "predicted_s": chosen["seconds"], "phases": last["phases"], "bytes": last["bytes"]}

    def speed_row(self, names, xyz, keys):
        return self.context.measured_row(names, lambda: self.time_execution(self.prepare(xyz, keys)))


def complex_argument(data):
    """Returns the argument for complex data of a request to the timed program; empty for real data."""
    return " complex=1" if data == "c2c" else ""


def measure_gpu_speed(images, gpus):
    """Measures tables 2 to 5, in the paper's number of parts, and in the number that this GPU's memory allows."""
    for size in PAPER["sizes"]["images"]:
        least = PAPER["single_gpu"]["rows"][str(size["number"])][0] or 16
        ways = [("r2c", "auto", "auto"), ("c2c", "in-core", "in-core")]
        parts = max(least, gpus)
        if parts > 1:
            ways += [(data, f"dif {parts}", f"dif parts={parts}") for data in ("c2c", "r2c")]
        for data, way, method in ways:
            names = {"experiment": "speed", "number": size["number"], "device": "gpu", "gpus": gpus, "data": data,
                     "way": way.split()[0], "parts": parts if way.startswith("dif") else 1}
            yield images.speed_row(names, size["xyz"],
                                   f"device=gpu gpus={gpus} method={method}" + complex_argument(data))


def measure_cpu_speed(images):
    """Yields sizes in the order of the time that their rows take, the shortest first."""
    for data, threads in (("r2c", 4), ("r2c", 2), ("c2c", 4), ("r2c", 1), ("c2c", 2), ("c2c", 1)):
        for size in PAPER["sizes"]["images"]:
            names = {"experiment": "speed", "number": size["number"], "device": "cpu", "threads": threads,
                     "data": data, "way": "in-core", "parts": 1}
            keys = f"device=cpu threads={threads} method=in-core{complex_argument(data)}"
            yield images.speed_row(names, size["xyz"], keys)


def measure_phases(images, device):
    """Measures figure 9, and figure 5 on two GPUs."""
    xyz = PAPER["phases"]["xyz"]
    for data in ("c2c", "r2c"):
        for parts in PARTS:
            names = {"experiment": "phases", "data": data, "parts": parts} | device["names"]
            yield images.speed_row(names, xyz, f"{device['keys']} {method_argument(parts)}{complex_argument(data)}")
    if device["names"].get("gpus", 1) > 1:
        size = next(size for size in PAPER["sizes"]["images"] if size["number"] == 7)
        for gate in ("global", "per-link", "off"):
            names = {"experiment": "gate", "data": "c2c", "parts": 16, "gate": gate} | device["names"]
            yield images.speed_row(names, size["xyz"], f"{device['keys']} {method_argument(16)} gate={gate} complex=1")


def measure_large_kernel(images, devices):
    """Measures 1000×1000×100 * 100³. Direct sums are predicted, not run."""
    scale = images.context.scale
    image = [max(4, n // scale) for n in (100, 1000, 1000)]
    kernel = [max(2, n // scale) for n in (100, 100, 100)]
    shapes = f"image={comma_separated(image)} kernel={comma_separated(kernel)} mode=same"
    for device in devices:
        def run(device=device):
            return images.time_execution(images.ask(f"prepare {shapes} {device['keys']}"))

        def predict_direct_sums(device=device):
            planned = images.ask(f"prepare {shapes} {device['keys']} method=direct")
            return {"predicted_s": planned["plan"]["chosen"]["seconds"]}

        yield images.context.measured_row({"experiment": "large kernel", "way": "auto"} | device["names"], run)
        yield images.context.measured_row({"experiment": "large kernel", "way": "direct"} | device["names"],
                                          predict_direct_sums)


def measure_precision(images, device):
    """Measures tables 6 and 7: the largest difference from the CPU's result in float32, in counts, and in float64."""
    for size in PAPER["sizes"]["images"]:
        if size["number"] in (8, 16):  # the paper has no precision for these sizes
            continue
        for kind in ("float32", "float64"):
            base = {"experiment": "precision", "number": size["number"], "precision": kind, "bits": BITS,
                    "padded": True} | device["names"]
            keys = f"bits={BITS} precision={kind}"

            def keep_reference(keys=keys, size=size):
                images.prepare(size["xyz"], f"device=cpu method=in-core {keys}")
                images.ask("run")
                images.ask("keep")
                return {}

            kept = images.context.measured_row(base, keep_reference)
            if "not_measured" in kept:
                yield kept
                continue
            for parts in PARTS if kind == "float32" else (4,):
                def compare_with_reference(parts=parts, keys=keys, size=size):
                    if parts == 1 and device["names"]["device"] == "cpu":
                        raise NotMeasured("both would be the same computation")
                    images.prepare(size["xyz"], f"{device['keys']} {method_argument(parts)} {keys}")
                    images.ask("run")
                    return images.ask("compare")

                yield images.context.measured_row(base | {"parts": parts}, compare_with_reference)


def smooth_psf(numpy, shape):
    axes = [numpy.exp(-32 * ((numpy.arange(n) - (n - 1) / 2) / n) ** 2) for n in shape]
    kernel = axes[0][:, None, None] * axes[1][:, None] * axes[2]
    return kernel / kernel.sum()


def measure_exact_sizes(context):
    """Measures the errors of transforms of exactly the result's size, such as 257, and of the next 7-smooth size."""
    try:
        import numpy as np
        import scipy.fft
    except ImportError as error:
        yield {"experiment": "unpadded", "not_measured": f"SciPy is not installed: {error}"}
        return

    def available_transforms():
        def by_scipy(image, kernel, shape):
            product = scipy.fft.rfftn(image, shape, workers=-1) * scipy.fft.rfftn(kernel, shape, workers=-1)
            return scipy.fft.irfftn(product, shape, workers=-1)

        yield "scipy.fft", by_scipy
        if not context.gpus:
            return
        try:
            import torch
        except ImportError:
            return

        def by_torch(image, kernel, shape):
            spectra = [torch.fft.rfftn(torch.from_numpy(data).cuda(), s=shape) for data in (image, kernel)]
            return torch.fft.irfftn(spectra[0] * spectra[1], s=shape).cpu().numpy()

        yield "cuFFT through PyTorch", by_torch

    def measure(size, convolve, padded):
        image_shape, kernel_shape = image_and_kernel_shapes(size["xyz"], context.scale)
        whole = [f + h - 1 for f, h in zip(image_shape, kernel_shape)]
        random = np.random.default_rng(1)
        image = np.round((2**BITS - 1) * random.random(image_shape) ** 4)
        kernel = smooth_psf(np, kernel_shape)
        want = scipy.fft.irfftn(scipy.fft.rfftn(image, whole, workers=-1) * scipy.fft.rfftn(kernel, whole, workers=-1),
                                whole, workers=-1)
        grid = [next_smooth(n) for n in whole] if padded else whole
        try:
            got = convolve(image.astype(np.float32), kernel.astype(np.float32), grid)
        except RuntimeError as error:  # PyTorch without a usable GPU
            raise NotMeasured(str(error)) from None
        got = got[tuple(slice(0, n) for n in whole)]
        error = got - want
        return {"grid_zyx": grid, "max_difference": float(np.abs(error).max()), "largest": float(np.abs(want).max()),
                "relative_l2": math.sqrt(float((error**2).sum() / (want**2).sum()))}

    for size in PAPER["sizes"]["images"]:
        if size["number"] not in UNPADDED:
            continue
        for library, convolve in available_transforms():
            for padded in (False, True):
                names = {"experiment": "unpadded", "number": size["number"], "library": library, "precision": "float32",
                         "padded": padded, "bits": BITS}
                yield context.measured_row(names, lambda size=size, convolve=convolve, padded=padded:
                                           measure(size, convolve, padded))


def transform_operations(points):
    return 5 * points * math.log2(points)


def count_operations(planned):
    """Returns the operations of the transforms of image, kernel and result, and the bytes moved, of a plan. With each
    method, real data take half the operations."""
    plan = planned["plan"]
    chosen = plan["chosen"]
    grid, tasks = math.prod(chosen["grid_zyx"]), plan["tasks"]
    if chosen["method"] == "dif":  # the grid is the sum of all parts'; split and merge add operations
        parts = chosen["parts"]
        operations = 3 * (parts * transform_operations(grid // parts) + 5 * grid * math.log2(parts))
    else:  # the kernel is transformed once for all tiles
        operations = (2 * tasks + 1) * transform_operations(grid)
    moved = {name: stage["bytes"] for name, stage in chosen["stages"].items() if stage["bytes"]}
    return {"tasks": tasks, "tiles_zyx": chosen["tiles_zyx"], "grid_zyx": chosen["grid_zyx"],
            "operations": operations, "planned_bytes": moved}


def measure_counts(images, device):
    """Measures table 1, with parts and with about equal numbers of tiles."""
    xyz = PAPER["sizes"]["images"][3]["xyz"]
    for data in ("c2c", "r2c"):
        for parts in PARTS:
            names = {"experiment": "counts", "way": "dif" if parts > 1 else "in-core", "data": data,
                     "parts": parts} | device["names"]

            def count_in_parts(parts=parts, data=data):
                planned = images.prepare(xyz, f"{device['keys']} {method_argument(parts)}{complex_argument(data)}")
                return count_operations(planned) | {"bytes": images.ask("run")["bytes"]}

            yield images.context.measured_row(names, count_in_parts)
        yield from measure_tiled_counts(images, device, data, xyz)


def measure_tiled_counts(images, device, data, xyz):
    """Measures tiles under decreasing memory limits, up to 32 tiles or five different numbers of them."""
    names = {"experiment": "counts", "way": "tiled", "data": data} | device["names"]
    image, kernel = image_and_kernel_shapes(xyz, images.context.scale)
    limit = 64 * math.prod(f + h for f, h in zip(image, kernel))
    seen = {1}

    def count_in_tiles():
        keys = f"{device['keys']} method=tiled {device['limit']}={limit}{complex_argument(data)}"
        planned = images.prepare(xyz, keys)
        found = count_operations(planned)
        found["parts"] = found["tasks"]
        if found["tasks"] not in seen:
            found["bytes"] = images.ask("run")["bytes"]
        return found

    while len(seen) < 6 and max(seen) < 32 and limit > 1 << 16:
        limit = limit * 4 // 5
        row = images.context.measured_row(names, count_in_tiles)
        if "not_measured" in row:
            return
        if row["parts"] not in seen:
            seen.add(row["parts"])
            yield row


def rows_with_images(context, rows):
    """Yields the rows that rows(images) measures, or a row with the reason why the program cannot run."""
    try:
        images = VolumeProgram(context)
    except NotMeasured as why:
        yield {"experiment": "speed", "not_measured": str(why)}
        return
    yield from rows(images)
    images.worker.close()


ON_CPU = {"names": {"device": "cpu"}, "keys": "device=cpu", "limit": "engine-mem"}


def gpu_device(count):
    return {"names": {"device": "gpu", "gpus": count}, "keys": f"device=gpu gpus={count}", "limit": "gpu-mem"}


def row_without_gpus(context, gpus):
    """Returns a row with the reason why there are no figures of this number of GPUs."""
    return context.measured_row({"experiment": "speed", "device": "gpu", "gpus": gpus}, lambda: context.need_gpus(gpus))


def measure(context):
    """Measures the tables of one GPU, or of the CPU on a machine without GPUs."""
    device = gpu_device(1) if context.gpus else ON_CPU

    def rows(images):
        if context.gpus:
            yield from measure_gpu_speed(images, 1)
        else:
            yield row_without_gpus(context, 1)
        yield from measure_phases(images, device)
        yield from measure_large_kernel(images, [device, ON_CPU] if context.gpus else [ON_CPU])
        yield from measure_counts(images, device)
        yield from measure_precision(images, device)
        yield from measure_exact_sizes(context)

    yield from rows_with_images(context, rows)


def measure_two(context):
    """Measures the tables of two GPUs."""
    if len(context.gpus) < 2:
        yield row_without_gpus(context, 2)
        return

    def rows(images):
        yield from measure_phases(images, gpu_device(2))
        yield from measure_large_kernel(images, [gpu_device(2)])
        yield from measure_gpu_speed(images, 2)

    yield from rows_with_images(context, rows)


def measure_cpu(context):
    yield from rows_with_images(context, measure_cpu_speed)
