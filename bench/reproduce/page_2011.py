# SPDX-License-Identifier: Apache-2.0
"""Makes the page of 3D images by decimation in frequency (2011)."""

import math

from chart import draw_chart
from context import load_paper
from tables import Table, describe_machines, format_factor, format_number, ratio_or_none, value_or_none

PAPER = load_paper("karas2011")
SIZES = PAPER["sizes"]["images"]
PARTS = (1, 2, 4, 8, 16)


def paper_value(table, column, size):
    data = PAPER[table]
    return data["rows"][str(size["number"])][data["columns"].index(column)]


def format_size(size):
    return "×".join(map(str, size["xyz"]))


def speed_row(results, size, **wanted):
    found = results.first_matching_row(experiment="speed", number=size["number"], **wanted)
    if found:
        return found
    # A machine without a GPU has one row for all numbers of GPUs.
    general = {key: value for key, value in wanted.items() if key in ("device", "gpus")}
    return next((row for row in results.matching_rows(experiment="speed", **general)
                 if "number" not in row and "not_measured" in row), None)


def device_fields(results, experiment):
    """Returns the machine of the measurements, one with a GPU if there is one."""
    on_gpu = {"device": "gpu", "gpus": 1}
    return on_gpu if results.matching_rows(experiment=experiment, **on_gpu) else {"device": "cpu"}


def gpu_row(results, size, gpus, data, way):
    return speed_row(results, size, device="gpu", gpus=gpus, data=data, way=way)


def cpu_row(results, size, threads, data):
    return speed_row(results, size, device="cpu", threads=threads, data=data, way="in-core")


def decomposed_row(results, size, gpus):
    """Returns the measurement in the paper's number of parts, or in core if the paper did not divide the image."""
    undivided = gpus == 1 and paper_value("single_gpu", "parts", size) == 1
    return gpu_row(results, size, gpus, "c2c", "in-core" if undivided else "dif")


def one_gpu_tables(results):
    seconds = Table("image", "P", "CPU c2c, theirs", "ours", "CPU r2c, theirs", "ours", "GPU c2c in P parts, theirs",
                    "ours", "ours, first execution", "GPU c2c in core, ours", "GPU r2c, as planned, ours")
    ratios = Table("image", "GPU faster than CPU c2c, theirs", "ours", "GPU faster than CPU r2c, theirs",
                   "ours, r2c too", "in P parts slower than in core, ours")
    for size in SIZES:
        way = decomposed_row(results, size, 1)
        whole, planned = gpu_row(results, size, 1, "c2c", "in-core"), gpu_row(results, size, 1, "r2c", "auto")
        c2c, r2c = cpu_row(results, size, 1, "c2c"), cpu_row(results, size, 1, "r2c")
        their_gpu, their_c2c, their_r2c = (paper_value("single_gpu", column, size)
                                           for column in ("gpu_c2c", "cpu_c2c", "cpu_r2c"))
        seconds.add_row(format_size(size), paper_value("single_gpu", "parts", size), format_number(their_c2c),
                        seconds.format_cell(c2c),
                        format_number(their_r2c), seconds.format_cell(r2c), format_number(their_gpu),
                        seconds.format_cell(way),
                        seconds.format_cell(way, "first_s"), seconds.format_cell(whole), seconds.format_cell(planned))
        ratios.add_row(format_size(size), format_factor(ratio_or_none(their_c2c, their_gpu)),
                       format_factor(ratio_or_none(value_or_none(c2c), value_or_none(way))),
                       format_factor(ratio_or_none(their_r2c, their_gpu)),
                       format_factor(ratio_or_none(value_or_none(r2c), value_or_none(planned))),
                       format_factor(ratio_or_none(value_or_none(way), value_or_none(whole))))
    return f"{seconds}\n\n{ratios}"


def gpu_and_thread_tables(results):
    gpus = Table("image", "two GPUs c2c, theirs, s", "ours, s", "two faster than one, theirs", "ours",
                 "ours, r2c in parts")
    threads = Table("image", "4 threads c2c, theirs, s", "ours, s", "4 faster than 1, theirs", "ours",
                    "4 threads r2c, theirs, s", "ours, s", "4 faster than 1, theirs", "ours")
    for size in SIZES:
        two, one = gpu_row(results, size, 2, "c2c", "dif"), gpu_row(results, size, 1, "c2c", "dif")
        real = [value_or_none(gpu_row(results, size, n, "r2c", "dif")) for n in (1, 2)]
        paper_two = paper_value("multi_gpu", "gpu2_c2c", size)
        gpus.add_row(format_size(size), format_number(paper_two), gpus.format_cell(two),
                     format_factor(ratio_or_none(paper_value("single_gpu", "gpu_c2c", size), paper_two)),
                     format_factor(ratio_or_none(value_or_none(one), value_or_none(two))),
                     format_factor(ratio_or_none(*real)))
        cells = []
        for data in ("c2c", "r2c"):
            four, alone = cpu_row(results, size, 4, data), cpu_row(results, size, 1, data)
            their_four = paper_value("multi_gpu", f"cpu4_{data}", size)
            cells += [format_number(their_four), threads.format_cell(four),
                      format_factor(ratio_or_none(paper_value("single_gpu", f"cpu_{data}", size), their_four)),
                      format_factor(ratio_or_none(value_or_none(alone), value_or_none(four)))]
        threads.add_row(format_size(size), *cells)
    return gpus, threads


def throughput_chart(results, sizes, title):
    def throughput_line(name, seconds, dashed):
        points = {size["mpx"]: value for size in sizes if (value := seconds(size))}
        return name, {mpx: mpx / value for mpx, value in points.items()}, dashed

    lines = [throughput_line("GPU c2c, 2011", lambda size: paper_value("single_gpu", "gpu_c2c", size), True),
             throughput_line("two GPUs, 2011", lambda size: paper_value("multi_gpu", "gpu2_c2c", size), True),
             throughput_line("4 threads r2c, 2011", lambda size: paper_value("multi_gpu", "cpu4_r2c", size), True),
             throughput_line("GPU c2c in P parts", lambda size: value_or_none(decomposed_row(results, size, 1)), False),
             throughput_line("two GPUs", lambda size: value_or_none(decomposed_row(results, size, 2)), False),
             throughput_line("GPU r2c, as planned",
                             lambda size: value_or_none(gpu_row(results, size, 1, "r2c", "auto")), False),
             throughput_line("4 threads c2c", lambda size: value_or_none(cpu_row(results, size, 4, "c2c")), False),
             throughput_line("4 threads r2c", lambda size: value_or_none(cpu_row(results, size, 4, "r2c")), False)]
    return draw_chart(title, "padded size, million voxels", "million voxels a second", lines)


def phase_tables(results):
    shown = ["allocate", "decompose", "host_to_device", "convolve", "device_to_host", "compose"]
    text = ""
    for device, gpus, title in (("gpu", 1, "One GPU"), ("gpu", 2, "Two GPUs"), ("cpu", None, "CPU")):
        wanted = {"experiment": "phases", "device": device} | ({"gpus": gpus} if gpus else {})
        if not results.matching_rows(**wanted):
            continue
        table = Table("data", "P", *(name.replace("_", " ") for name in shown), "all phases", "elapsed",
                      "share of the convolution")
        for data in ("c2c", "r2c"):
            for parts in PARTS:
                row = results.first_matching_row(**wanted, data=data, parts=parts)
                phases = (row or {}).get("phases", {})
                total = sum(phases.values()) or None
                table.add_row(data, parts,
                              *(format_number(1e3 * phases[name]) if name in phases else "–" for name in shown),
                              format_number(1e3 * total) if total else None,
                              table.format_cell(row, show=lambda seconds: format_number(1e3 * seconds)),
                              f"{100 * phases['convolve'] / total:.0f} %" if "convolve" in phases else None)
        text += f"\n{title}, ms:\n\n{table}\n"
    return text


def gates_table(results):
    rows = results.matching_rows(experiment="gate")
    if not rows:
        return "Not measured yet: this needs two GPUs."
    table = Table("transfer gate", "ms")
    for row in rows:
        table.add_row(f"`{row['gate']}`", table.format_cell(row, show=lambda seconds: format_number(1e3 * seconds)))
    return str(table)


def operations_and_transactions(method, parts, image, kernel):
    """Returns the operations and transactions of Table 1, for Mf and Mg voxels and c = 1 (the logarithm dominates)."""
    both = image + kernel
    if method == "tiled":
        return ((image + parts * kernel) * math.log2(image / parts + kernel) + image + 2 * parts * kernel,
                2 * image + (parts + 1) * kernel)
    operations = both * math.log2(both) + both * (1 if method == "dif" else 2)
    return operations, both * (3 if method == "dif" else 2 + parts)


def counts_table(results):
    from measure_2011 import image_and_kernel_shapes

    image, kernel = (math.prod(shape) for shape in image_and_kernel_shapes(SIZES[3]["xyz"], 1))
    table = Table("data", "method", "P or tiles", "operations, formula", "counted", "transactions, formula",
                  "bytes split and merged", "to the GPU", "from the GPU")
    base_formula = operations_and_transactions("dif", 1, image, kernel)
    for data in ("c2c", "r2c"):
        measured = {"experiment": "counts", "data": data} | device_fields(results, "counts")
        whole = results.first_matching_row(way="in-core", **measured)
        rows = [row for row in results.matching_rows(**measured) if "not_measured" not in row]
        for row in sorted(rows, key=lambda row: (row["way"] == "tiled", row["parts"])):
            operations, transactions = operations_and_transactions("tiled" if row["way"] == "tiled" else "dif",
                                                                   row["parts"], image,
                                                                   kernel)
            planned = row["planned_bytes"]
            table.add_row(data, row["way"], row["parts"], format_factor(operations / base_formula[0]),
                          format_factor(ratio_or_none(row["operations"], value_or_none(whole, "operations"))),
                          format_factor(transactions / base_formula[1]),
                          *(f"{planned[name] / 1e6:.0f} MB" if name in planned else None
                            for name in ("split and merge", "to the GPU", "from the GPU")))
    dit = Table("DIT, formula only", *(f"P = {parts}" for parts in PARTS))
    values = [operations_and_transactions("dit", parts, image, kernel) for parts in PARTS]
    dit.add_row("operations", *(format_factor(value[0] / base_formula[0]) for value in values))
    dit.add_row("transactions", *(format_factor(value[1] / base_formula[1]) for value in values))
    return f"{table}\n\n{dit}"


def precision_tables(results):
    columns = PAPER["precision"]["columns"]
    device = device_fields(results, "precision")
    table = Table("image", *(f"P = {parts}, {whose}" for parts in PARTS for whose in ("theirs", "ours")),
                  "float64, theirs", "ours")
    for size in SIZES:
        published = PAPER["precision"]["rows"].get(str(size["number"]))
        if not published:
            continue
        row = dict(zip(columns, published))
        cells = []
        for parts in PARTS:
            ours = results.first_matching_row(experiment="precision", number=size["number"], precision="float32",
                                              parts=parts, **device)
            cells += [format_number(row[f"float32_p{parts}"]), table.format_cell(ours, "max_difference")]
        ours = results.first_matching_row(experiment="precision", number=size["number"], precision="float64", parts=4,
                                          **device)
        table.add_row(format_size(size), *cells, format_number(row["float64"]),
                      table.format_cell(ours, "max_difference"))
    exact = Table("image", "transforms by", "grid z, y, x", "largest difference, counts", "relative L2")
    for row in results.matching_rows(experiment="unpadded"):
        if "number" not in row:
            continue
        size = SIZES[row["number"] - 1]
        exact.add_row(format_size(size), row["library"] + (", padded" if row["padded"] else ""),
                      "×".join(map(str, row.get("grid_zyx", []))), exact.format_cell(row, "max_difference"),
                      exact.format_cell(row, "relative_l2"))
    return table, exact


def describe_differences(results):
    """Returns the largest differences of both kinds of sizes, in words."""
    def largest_difference(sizes):
        numbers = {size["number"] for size in sizes}
        return max((row["max_difference"] for row in
                    results.matching_rows(experiment="precision", precision="float32",
                                          **device_fields(results, "precision"))
                    if row["number"] in numbers and "max_difference" in row), default=None)

    powers, others = largest_difference(SIZES[:8]), largest_difference(SIZES[8:])
    if not powers or not others:
        return "Ours are not measured yet."
    return (f"Ours are at most {format_number(powers)} for powers of two and {format_number(others)} for the "
            "other sizes.")


def large_kernel_table(results):
    table = Table("device", "as planned, s", "method", "direct sums, predicted, s")
    for row in results.matching_rows(experiment="large kernel", way="auto"):
        device = {key: row[key] for key in ("device", "gpus") if key in row}
        direct = results.first_matching_row(experiment="large kernel", way="direct", **device)
        table.add_row("CPU" if row["device"] == "cpu" else f"{row['gpus']} GPU", table.format_cell(row),
                      row.get("method"),
                      table.format_cell(direct, "predicted_s"))
    return str(table) if table.rows else "Not measured yet."


def page_text(results):
    gpus, threads = gpu_and_thread_tables(results)
    compared, exact = precision_tables(results)
    text = f"""# 3D images by decimation in frequency

P. Karas and D. Svoboda, *Convolution of large 3D images on GPU and its decomposition*, EURASIP Journal on Advances in
Signal Processing 2011:120.

- Theirs: {PAPER['machine']['cpu']}, {PAPER['machine']['host_memory_gb']} GB; {PAPER['machine']['gpu']}, 896 MB each.
- {describe_machines(results)}

Their two GPUs share one bus and must divide what exceeds 896 MB. So absolute times tell little; what compares are the
ratios GPU to CPU, parts to in core, and two GPUs to one.

Sizes are those of the padded data, x×y×z. Here image and kernel are of equal size, and the full linear convolution of
both is as large as the padded data there. Times are from host memory to host memory. Ours are medians of executions
after a first one; the first one also plans, takes memory, and transforms the kernel, and so does each of theirs. What
takes longer than four seconds runs once. c2c is complex data, r2c real.

## One GPU (Tables 2 and 3)

Seconds, and the ratios of them. One CPU thread on both sides. P is the paper's.

{one_gpu_tables(results)}

Parts are split on the host, which is work that a device with room for the whole does not need. So the planner divides
only what does not fit. Real data need no complex copy here, so that r2c takes half the transfers.
The sizes 257 to 2049 are padded to 7-smooth lengths, which costs a few percent of voxels; there they were transformed
as they are.

## Two GPUs (Tables 4 and 5)

{gpus}

There transfers went over one bus, one after the other, and two GPUs were up to 1.6 times faster, since convolution took
about half of the time. Here it takes a tenth (below): splitting, merging and copying in the host's memory take most of
the time, and a second GPU shares none of that. The figures of one GPU and of two are also from different machines, and
copies into ordinary memory are slower on the one with two: 640×640×128 in core, which one GPU computes on both, takes
18 ms on the first and 25 ms on the second. Several GPUs pay where volumes are tiled (see
[GPUs](../performance/gpu.md)), not where they are split.

## CPU threads (Tables 2 to 5)

{threads}

## Speed against size (Figure 8)

![Speed for powers of two](speed-2011-specific.svg)

![Speed for arbitrary sizes](speed-2011-arbitrary.svg)

## Phases (Figure 9)

640×640×128, in P parts. Phases overlap, so that their sum exceeds the elapsed time; this is what Figure 5 aims at. The
paper gives no numbers, and in its text the convolution takes {PAPER['phases']['share_of_convolution']} of the time.
Ours is a smaller share: the GPU's memory became 40 times faster (112 GB/s to 4.8 TB/s), the host and bus about ten
times. Copies between ordinary and page-locked memory are in the elapsed time and in no phase.
{phase_tables(results)}
## Transfers of several GPUs (Figure 5)

1024×1024×256, c2c, in 16 parts, on two GPUs. Their bus lock is `global`.

{gates_table(results)}

With a link of its own for each GPU, a lock for all of them makes one wait for the other. A lock for each link, the
default, keeps the transfers of one GPU from slowing each other down.

## Operations and transfers (Table 1)

512×512×128. Formulas and counts are relative to one transform of the whole, P = 1, with c = 1. Operations are counted
from the plan's blocks, 5 n log₂ n for each transform of image, kernel and result; bytes are those that the plan moves.

{counts_table(results)}

DIF needs the same operations for any P. Split and merge count as 5 n log₂ P. Of real data the split volume is as large
as the padded image, of complex data twice that. Tiles repeat the overlap of the kernel, which here is as large as the
image: the worst case for them. A tile's kernel is transformed once for all tiles, where the formula counts it in each.
The library has no DIT, for the reason that the formulas show.

## Precision (Tables 6 and 7)

δ = max |A − B| in counts: A by the CPU in core, B in P parts on
{"the GPU" if device_fields(results, "precision")["device"] == "gpu" else "the CPU"}. Images have
{PAPER['precision']['bits']} bits there and 11 bits here, in 16; the kernel has sum 1.

{compared}

For 257 the paper saw δ > 1 in single precision. {describe_differences(results)} No transform has a length with a prime
factor above 7 here: 257 is padded to 270, for example. Data like these by transforms of exactly that size, and padded:

{exact}

Today's libraries have accurate transforms of length 257 as well.
[Accuracy](../accuracy.md#why-padding-removes-the-error-of-257) shows what can go wrong in them.

## A large kernel (section 1)

1000×1000×100 * 100×100×100, mode `same`. The paper expects {PAPER['large_kernel']['transform']} by transforms and
{PAPER['large_kernel']['direct']} by sums.

{large_kernel_table(results)}

Direct sums are predicted, not run.
"""
    return text, {"speed-2011-specific.svg": throughput_chart(results, SIZES[:8], "Sizes that are powers of two"),
                  "speed-2011-arbitrary.svg": throughput_chart(results, SIZES[8:], "Arbitrary sizes")}
