# SPDX-License-Identifier: Apache-2.0
"""Makes the page of direct convolution in CUDA."""

from chart import draw_chart
from context import load_paper
from tables import Table, describe_machines, format_factor, format_number

PAPER = load_paper("direct")
FORMS = {"basic": "basic", "constant": "constant memory", "tile_halo": "tile with halo",
         "tile_cached_halo": "halo from the cache"}


def ms(row, key):
    value = (row or {}).get(key)
    if isinstance(value, dict):
        value = value.get("ms")
    return value if isinstance(value, float) else None  # a text is the reason why there is no figure


def rows_by_width(results, dimension, extent):
    rows = {row["kernel_zyx"][2]: row for row in results.matching_rows(experiment="forms", forms=dimension)
            if row["image_zyx"][2] == extent}
    if dimension == "2D" and extent == 1024:
        for row in results.matching_rows(experiment="slice"):
            rows.setdefault(row["kernel_zyx"][2], row)
    return dict(sorted(rows.items()))


def library_ms(results, row, dimension, width):
    if dimension == "2D":
        return ms(row, "library")
    found = results.first_matching_row(experiment="forms 1D", role="direct", taps=width)
    return found and found.get("ms")


def forms_table(results, dimension, extent):
    rows = rows_by_width(results, dimension, extent)
    if dimension == "1D" and not rows:
        rows = {row["taps"]: row for row in sorted(results.matching_rows(experiment="forms 1D", role="direct"),
                                                   key=lambda row: row["taps"])}
    missing = results.reason_for_missing_row(experiment="forms") or "not in the results yet"
    table = Table("width", *FORMS.values(), "used by the library", "transforms", "cuDNN",
                  "used faster than the best form")
    for width, row in rows.items():
        found = {key: ms(row, key) for key in FORMS}
        ours = library_ms(results, row, dimension, width)
        transforms = row.get("fft_ms") if dimension == "2D" else ms(
            results.first_matching_row(experiment="forms 1D", role="overlap-save", taps=width), "ms")
        cudnn = results.first_matching_row(experiment="cudnn", forms=dimension, extent=extent, width=width)
        least = min((value for value in found.values() if value), default=None)
        cells = [format_number(value) if value else table.footnote_mark(missing) for value in found.values()]
        table.add_row(width, *cells, format_number(ours)
                      if ours else table.footnote_mark("not measured for this width"),
                      format_number(transforms) if transforms else table.footnote_mark("not measured for this width"),
                      table.format_cell(cudnn, "ms"), format_factor(least / ours) if least and ours else None)
    return str(table) if table.rows else "Not measured yet."


def describe_fastest_forms(results):
    """Returns sentences on the fastest of the four forms for each width."""
    lines = []
    for dimension, extent, name in (("2D", 1024, "1024×1024"), ("2D", 4096, "4096×4096"), ("1D", 2097152, "1D")):
        won = {}
        for width, row in rows_by_width(results, dimension, extent).items():
            found = {key: ms(row, key) for key in FORMS if ms(row, key)}
            if found:
                won.setdefault(min(found, key=found.get), []).append(str(width))
        if won:
            texts = (f"{FORMS[form]} for widths {', '.join(widths)}" for form, widths in won.items())
            lines.append(f"- Fastest of the four, {name}: {'; '.join(texts)}.")
    return "\n".join(lines) or "- The four forms are not measured yet."


def forms_chart(results, dimension, extent):
    rows = rows_by_width(results, dimension, extent)
    lines = [(name, {width: value for width, row in rows.items() if (value := ms(row, key))}, False)
             for key, name in FORMS.items()]
    lines.append(("used by the library", {width: value for width, row in rows.items()
                                          if (value := library_ms(results, row, dimension, width))}, False))
    lines.append(("transforms", {width: row["fft_ms"] for width, row in rows.items() if row.get("fft_ms")}, True))
    lines.append(("cuDNN",
                  {row["width"]: row["ms"] for row in results.matching_rows(experiment="cudnn", forms=dimension,
                                                                           extent=extent) if "ms" in row}, True))
    title = f"{extent}×{extent}" if dimension == "2D" else f"{extent:,} samples"
    return draw_chart(f"{dimension}, {title}, float32", "width of the filter", "ms", lines)


def access_pattern_table(results):
    """Makes the table of the three access patterns with register blocking, in 3D."""
    ways = ("cached", "cached_constant", "shared", "shared_constant", "cached_halo", "cached_halo_constant")
    table = Table("kernel", *(way.replace("_", " ") for way in ways), "transforms")
    for row in sorted(results.matching_rows(experiment="volume"), key=lambda row: row["kernel_zyx"]):
        cells = [format_number(ms(row, way)) if ms(row, way) else table.footnote_mark(
            "too many taps for constant memory" if way.endswith("constant") else "not compiled for this width")
            for way in ways]
        table.add_row("×".join(map(str, row["kernel_zyx"])), *cells, format_number(row["fft_ms"]))
    return str(table) if table.rows else "Not measured yet."


def page_text(results):
    text = f"""# Direct convolution in CUDA

{PAPER['source']}. It gives four forms and no times, so that there is nothing to compare with but the forms
among themselves.

- {describe_machines(results)}

| form | samples | filter |
|---|---|---|
| basic | device memory, through the caches | device memory |
| constant memory | device memory, through the caches | constant memory |
| tile with halo | shared memory, the halo too | constant memory |
| halo from the cache | shared memory, the halo through the caches | constant memory |

A thread computes one output in each of them, thread blocks have {PAPER['tile']}×{PAPER['tile']} outputs (1024 in 1D).
The sums that the library uses read samples through the caches and keep several outputs and samples in registers, so
that a sample is used in many sums. cuDNN is measured through PyTorch in full float32, by the algorithm that it measured
to be its best. Times are in ms, in device memory.

## Two dimensions

1024×1024:

{forms_table(results, "2D", 1024)}

4096×4096:

{forms_table(results, "2D", 4096)}

![Time against the filter's width, 2D](direct-2d.svg)

## One dimension

2,097,152 samples, one filter; *used by the library* is method `direct` of the filter bank, *transforms* its
overlap-save:

{forms_table(results, "1D", 2097152)}

![Time against the filter's width, 1D](direct-1d.svg)

## Which wins, and why

{describe_fastest_forms(results)}
- With one output a thread, each product needs a sample from a cache or from shared memory. Several outputs in registers
  use a loaded sample several times. That is the difference between the four forms and the sums that the library uses.
- All threads of a warp use the same tap at a time, which is what constant memory is made for.
- Shared memory saves reading device memory again, as the caches do. It costs a copy and a barrier.
- A halo through the cache costs a branch for each product.

In 3D, with several outputs in registers: 512×1024×1024, ms, by where samples and taps are:

{access_pattern_table(results)}
"""
    return text, {"direct-2d.svg": forms_chart(results, "2D", 4096),
                  "direct-1d.svg": forms_chart(results, "1D", 2097152)}
