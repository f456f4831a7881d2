# SPDX-License-Identifier: Apache-2.0
"""Makes the page of filters by overlap-save in shared memory (2020)."""

from chart import draw_chart
from context import load_paper
from tables import Table, describe_machines, format_factor, format_number, ratio_or_none

PAPER = load_paper("adamek2020")
SAMPLES = 1 << 21
NUMBERS = {"c2c": "complex", "r2r": "real"}


def fastest_row(results, **wanted):
    """Returns the fastest measurement, as overlap-save by cuFFT was measured with two segments."""
    found = [row for row in results.matching_rows(experiment="filters", **({"post": "none"} | wanted)) if "ms" in row]
    return min(found, key=lambda row: row["ms"], default=None)


def milliseconds_by(results, x, **wanted):
    places = sorted({row[x] for row in results.matching_rows(experiment="filters", **wanted) if "ms" in row})
    return {place: fastest_row(results, **wanted, **{x: place})["ms"] for place in places}


def speedups(ours, theirs):
    return {place: theirs[place] / ours[place] for place in ours if place in theirs}


def speedups_by(results, role, x, **wanted):
    return speedups(milliseconds_by(results, x, role="ours", **wanted),
                    milliseconds_by(results, x, role=role, **wanted))


def format_range(values):
    values = list(values)
    if not values:
        return None
    low, high = min(values), max(values)
    return format_factor(low) if len(values) == 1 else f"{format_number(low)} to {format_factor(high)}"


def speedup_table(results, role, taps, kinds=("c2c", "r2r")):
    table = Table("data", "M", "by number of filters (1 to 64), 2 Mi samples", "by signal length, 8 filters")
    for kind in kinds:
        for length in taps:
            wanted = {"kind": kind, "taps": length, "post": "none"}
            by_filters = speedups_by(results, role, "filters", samples=SAMPLES, **wanted)
            by_samples = speedups_by(results, role, "samples", filters=8, **wanted)
            if by_filters or by_samples:
                table.add_row(kind, length, format_range(by_filters.values()), format_range(by_samples.values()))
    return str(table) if table.rows else "Not measured yet."


def figure_3_table(results):
    table = Table("data", "samples", "one transform by cuFFT, ms", "overlap-save by cuFFT, ms", "shared memory, ms",
                  "faster than one transform", "than overlap-save by cuFFT")
    for kind in ("c2c", "r2r"):
        wanted = {"kind": kind, "taps": 64, "filters": 8}
        ours = milliseconds_by(results, "samples", role="ours", **wanted)
        one, saved = (milliseconds_by(results, "samples", role=role, **wanted) for role in ("cufft-one", "cufft-ols"))
        for samples, ms in ours.items():
            table.add_row(kind, f"{samples:,}", format_number(one.get(samples)), format_number(saved.get(samples)),
                          format_number(ms),
                          format_factor(ratio_or_none(one.get(samples), ms)),
                          format_factor(ratio_or_none(saved.get(samples), ms)))
    return str(table) if table.rows else "Not measured yet."


def figure_8_table(results):
    table = Table("data", "M", "samples", *(f"{filters} filters" for filters in (1, 2, 8, 32, 64)))
    for kind in ("c2c", "r2r"):
        for taps in (257, 1025):
            for samples in (1 << 18, 1 << 23):
                found = speedups_by(results, "cufft-ols", "filters", kind=kind, taps=taps, samples=samples)
                if found:
                    table.add_row(kind, taps, f"{samples:,}",
                                  *(format_factor(found.get(filters)) for filters in (1, 2, 8, 32, 64)))
    return str(table) if table.rows else "Not measured yet."


def figure_9_chart(results, kind):
    lines = [(f"segment {segment}",
              milliseconds_by(results, "taps", role="segment", kind=kind, segment=segment, filters=8,
                                                    samples=SAMPLES), False) for segment in (2**power
                                                                                             for power in range(8, 15))]
    lines.append(("cuFFT overlap-save", milliseconds_by(results, "taps", role="cufft-ols", kind=kind, filters=8,
                                                        samples=SAMPLES), True))
    return draw_chart(f"{NUMBERS[kind]} data, 8 filters, 2 Mi samples", "filter length M", "ms", lines)


def crossing_table(results):
    """Makes the table of filter lengths up to which segments in shared memory are faster than cuFFT."""
    table = Table("data", "M", "best segment in shared memory, ms", "overlap-save by cuFFT, ms",
                  "one transform by cuFFT, ms")
    lines = []
    for kind, name in NUMBERS.items():
        case = {"kind": kind, "filters": 8, "samples": SAMPLES}
        segments = milliseconds_by(results, "taps", role="segment", **case)
        peers = [milliseconds_by(results, "taps", role=role, **case) for role in ("cufft-ols", "cufft-one")]
        for taps, ms in segments.items():
            table.add_row(kind, taps, format_number(ms), *(format_number(peer.get(taps)) for peer in peers))
        if segments:
            lost = [taps for taps, ms in segments.items()
                    if any(taps in peer and peer[taps] < ms for peer in peers)]
            lines.append(f"{name.capitalize()} data: " + (f"from M = {min(lost)} on cuFFT is faster." if lost else
                         f"up to M = {max(segments)} shared memory is faster."))
    return f"{table}\n\n{' '.join(lines)}" if table.rows else "Not measured yet."


def filter_count_chart(results, kind):
    lines = []
    for taps in (65, 257, 1025):
        lines.append((f"ours, M = {taps}", milliseconds_by(results, "filters", role="ours", kind=kind, taps=taps,
                                                           samples=SAMPLES), False))
    lines.append(("cuFFT, M = 257",
                  milliseconds_by(results, "filters", role="cufft-ols", kind=kind, taps=257, samples=SAMPLES),
                  True))
    lines.append(("cuDNN, M = 257",
                  milliseconds_by(results, "filters", role="conv1d", kind=kind, taps=257, samples=SAMPLES),
                  True))
    return draw_chart(f"{NUMBERS[kind]} data, 2 Mi samples", "number of filters", "ms", lines)


def signal_length_chart(results, kind):
    lines = []
    for taps in (65, 257, 1025):
        lines.append((f"ours, M = {taps}",
                      milliseconds_by(results, "samples", role="ours", kind=kind, taps=taps, filters=8),
                      False))
    for role, name in (("cufft-ols", "cuFFT"), ("conv1d", "cuDNN")):
        lines.append((f"{name}, M = 257",
                      milliseconds_by(results, "samples", role=role, kind=kind, taps=257, filters=8), True))
    return draw_chart(f"{NUMBERS[kind]} data, 8 filters", "signal length", "ms", lines)


def figure_13_table(results):
    table = Table("data", "M", "ours without, ms", "with, ms", "faster than cuFFT without", "with", "gain by it")
    for kind in ("c2c", "r2r"):
        for taps in (65, 257, 513, 1025, 2049):
            case = {"kind": kind, "taps": taps, "filters": 8, "samples": SAMPLES}
            rows = {(role, post): fastest_row(results, role=role, post=post, **case)
                    for role in ("ours", "cufft-ols") for post in ("none", "slope")}
            if not rows["ours", "slope"]:
                continue
            ms = {key: row and row["ms"] for key, row in rows.items()}
            without, with_it = (ratio_or_none(ms["cufft-ols", post], ms["ours", post]) for post in ("none", "slope"))
            table.add_row(kind, taps, format_number(ms["ours", "none"]), format_number(ms["ours", "slope"]),
                          format_factor(without),
                          format_factor(with_it), format_factor(ratio_or_none(with_it, without)))
    return str(table) if table.rows else "Not measured yet."


def page_text(results):
    limits = PAPER["limits"]
    text = f"""# Filters by overlap-save in shared memory

K. Adámek, S. Dimoudi, M. Giles and W. Armour, *GPU fast convolution via the overlap-and-save method in shared memory*,
ACM Transactions on Architecture and Code Optimization 17(3):18, 2020.

- Theirs: {", ".join(PAPER['machine']['gpus'])}; CUDA {PAPER['machine']['cuda']}, cuDNN {PAPER['machine']['cudnn']}.
- {describe_machines(results)}

Everything is in device memory, float32. The peer that both have is overlap-save with batched transforms by cuFFT. Ours
has segments of 6144 and 12288 samples, of which the faster counts; theirs was fastest with
{limits['best_cufft_segment']}. The paper shows its figures as charts without numbers, so that only what its text states
is compared in numbers. All of our figures are on the page [Signals](../performance/signals.md).

| | theirs | ours | why |
|---|---|---|---|
| longest segment in shared memory | {limits['longest_segment']} | 16384 | \
spectra stay in registers or in the larger shared memory of today's GPUs |
| longest filter | about {limits['longest_filter_titan_v']} (TITAN V) | any | \
beyond 16384 samples a segment is transformed by cuFFT, beyond that in partitions |
| real data | one half-length transform of a segment | two segments as real and imaginary part | \
no unpacking of spectra, since filters are real too |
| rate is constant from | {PAPER['read_from_text']['constant_rate_from_filters']} filters, 2 million samples | \
see the charts | short signals take the time of one launch |

## Without overlap-save (Figure 3)

Eight filters of 64 taps:

{figure_3_table(results)}

One transform pads and transforms the whole signal for each filter; segments need shorter transforms and fewer passes
over memory.

## Beside cuDNN (Figures 4 and 5)

Speed of ours divided by that of cuDNN, through PyTorch's `conv1d` in full float32, real data:

{speedup_table(results, "conv1d", (65, 257, 1025), ("r2r",))}

cuDNN computes sums, so that its time grows with M. In the paper its time hardly changes up to
{PAPER['read_from_text']['cudnn_flat_up_to_filters']} filters; the chart below shows whether it does today.

## Beside overlap-save by cuFFT (Figures 6, 7, 10 and 11)

Speed of ours divided by that of overlap-save by cuFFT:

{speedup_table(results, "cufft-ols", (65, 257, 513, 1025, 2049, 3073))}

![Time against the number of filters, complex](filters-2020-count-c2c.svg)

![Time against the number of filters, real](filters-2020-count-r2r.svg)

![Time against the signal length, complex](filters-2020-length-c2c.svg)

![Time against the signal length, real](filters-2020-length-r2r.svg)

## Short and long signals (Figures 8 and 12)

Speed of ours divided by that of overlap-save by cuFFT:

{figure_8_table(results)}

## Segment lengths (Figure 9)

![Time for each segment length, complex](filters-2020-segments-c2c.svg)

![Time for each segment length, real](filters-2020-segments-r2r.svg)

Each segment is best for a range of filter lengths. The crossing with cuFFT, eight filters:

{crossing_table(results)}

Theirs was at about {limits['longest_filter_titan_v']} taps on the TITAN V, where the longest segment of
{limits['longest_segment']} has few correct samples left.

## Post-processing before storing (Figure 13)

(y[n+1] − y[n−1])/2 of eight filters, as a caller's function. Ours computes it before results are stored, cuFFT's in a
pass of its own:

{figure_13_table(results)}

The text of the paper states gains up to {PAPER['read_from_text']['post_processing_gain_titan_v']['gain']}× (real data,
M = 257 and 513, TITAN V).
"""
    charts = {}
    for kind in NUMBERS:
        charts[f"filters-2020-count-{kind}.svg"] = filter_count_chart(results, kind)
        charts[f"filters-2020-length-{kind}.svg"] = signal_length_chart(results, kind)
        charts[f"filters-2020-segments-{kind}.svg"] = figure_9_chart(results, kind)
    return text, charts
