# SPDX-License-Identifier: Apache-2.0
"""Makes the page of overlap methods and convolution in parts."""

from chart import draw_chart
from context import load_paper
from tables import Table, describe_machines, format_factor, format_number, ratio_or_none

PAPER = load_paper("overlap")
WAYS = ("direct", "overlap-save", "overlap-add", "partitioned", "one transform", "auto")


def methods_table(results):
    table = Table("M", *(f"{way}, ms" for way in WAYS), "chosen", "one transform / chosen")
    for taps in sorted({row["taps"] for row in results.matching_rows(experiment="methods")}):
        rows = {way: results.first_matching_row(experiment="methods", way=way, taps=taps) for way in WAYS}
        chosen = rows["auto"] or {}
        cells = [table.format_cell(rows[way], "ms", otherwise="not run for so many taps") for way in WAYS]
        table.add_row(taps, *cells, f"{chosen.get('method')}, {chosen.get('segment')}" if "method" in chosen else None,
                      format_factor(ratio_or_none((rows["one transform"] or {}).get("ms"), chosen.get("ms"))))
    return str(table) if table.rows else "Not measured yet."


def segment_length_chart(results, taps):
    lines = []
    for way in ("overlap-save", "overlap-add"):
        rows = [row for row in results.matching_rows(experiment="segments", way=way, taps=taps) if "ms" in row]
        lines.append((f"{way}", {row["segment"]: row["ms"] for row in rows}, False))
        lines.append((f"{way}, predicted", {row["segment"]: row["predicted_ms"] for row in rows}, True))
    return draw_chart(f"8 filters of {taps} taps, 2 Mi samples", "segment", "ms", lines)


def origins_table(results):
    ways = ("direct", "overlap-save", "overlap-add")
    table = Table("looks at", "origin", *(f"{way}, ms" for way in ways))
    for name, origin in (("the past", "causal"), ("both sides", "center"), ("the future", "anticausal")):
        rows = [results.first_matching_row(experiment="origins", way=way, origin=origin) for way in ways]
        table.add_row(name, origin, *(table.format_cell(row, "ms") for row in rows))
    return str(table)


def parts_table(results):
    table = Table("results", "way", "segment", "measured, ms", "predicted, ms")
    for row in results.matching_rows(experiment="parts"):
        table.add_row("all" if row["mode"] == "full" else "where both overlap", row["way"], row.get("segment"),
                      table.format_cell(row, "ms"), format_number(row.get("predicted_ms")))
    return str(table) if table.rows else "Not measured yet."


def traffic_table():
    """Returns the samples that are read and written, for N samples, M taps and L outputs of a block."""
    n, m = 1 << 21, 257
    table = Table("L", "blocks, overlap-save", "overlap-add", "reads / N, overlap-save", "overlap-add",
                  "writes / N, overlap-save", "overlap-add")
    for segment in (512, 1024, 2048, 4096, 8192):
        length = segment - m + 1
        table.add_row(length, -(-(n + m - 1) // length), -(-n // length), f"{(length + m - 1) / length:.3f}", "1",
                      "1", f"{(length + m - 1) / length:.3f}")
    return str(table)


def page_text(results):
    in_parts = PAPER["transforms_in_parts"]
    text = f"""# Overlap methods and convolution in parts

*{PAPER['source']}*. It gives formulas and no times.

- {describe_machines(results)}

## Beside one transform

Real float32 signals of 2,097,152 samples, eight filters of M taps, mode `same`, from host memory to host memory:

{methods_table(results)}

A segment can stay in a core's cache. One transform of the whole signal goes through memory several times. Overlap-save
and overlap-add do the same arithmetic. Overlap-add runs in two steps, even and odd segments, so that no two threads
write the same sample: the K-step schedule with K = {PAPER['steps']['best']}, which the text finds best too. The library
offers no other K.

## The cost of a segment length

Predicted by the planner and measured:

![Cost for filters of 257 taps](overlap-segments-257.svg)

![Cost for filters of 4097 taps](overlap-segments-4097.svg)

Short segments are mostly overlap, long ones leave the cache. The planner takes the least of the predicted curve.

## What is read and written

N = 2,097,152 samples, M = 257 taps, blocks of L results, from the formulas, with L = segment − M + 1 as the library has
it:

{traffic_table()}

The formulas of the text count the overlap as whole blocks; L and M as above give the shares exactly.

## Filters that look at the past, at both sides, and at the future

129 taps, eight filters, the origin as [`--origin`](../commands/filter.md):

{origins_table(results)}

The origin only moves the place where results are read. The work is the same.

## Convolution in parts

2²⁰ samples with 2²⁰ taps, and only the 1024 results where both overlap entirely:

{parts_table(results)}

Products of all partitions that meet in an output are added up before its one inverse transform. With blocks of
{in_parts['block']} these are {in_parts['inverse_for_each_block']:,} inverse transforms instead of
{in_parts['inverse_for_each_pair']:,}, {in_parts['fewer']} times fewer, as the text counts. Sections of one length for
signal, filter and results make the division that the text derives the only one needed.
"""
    return text, {f"overlap-segments-{taps}.svg": segment_length_chart(results, taps) for taps in (257, 4097)}
