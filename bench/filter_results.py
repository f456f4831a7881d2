# SPDX-License-Identifier: Apache-2.0
"""Reads measurements of filter banks on a GPU, finds some of them, and makes their tables."""

import contextlib
import json
import sys

SAMPLES = 2097152
TABLE = [(65, 8), (257, 8), (1025, 8), (3073, 8), (65, 32), (257, 32), (1025, 32), (2049, 32)]
KINDS = {"c2c": "complex", "r2r": "real"}
COPY_RATE = 4.3e12  # bytes a second of a copy on one H200
PEERS = {  # role in the measurements: name in tables and figures
    "cufft overlap-save": "cuFFT overlap-save",
    "cufft": "cuFFT, one transform",
    "conv1d": "PyTorch conv1d",
    "oaconvolve": "CuPy oaconvolve",
    "fftconvolve": "CuPy fftconvolve",
}
SHOWN = ["automatic", *PEERS, "post", "plain", "derivative", "partitioned", "one transform",  # roles in tables
         "length", "filters", "samples", "direct", "overlap-save"]  # roles in figures


def json_objects(text):
    objects = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            objects.append(json.loads(line))
    return [value for value in objects if isinstance(value, dict)]


def read_reports(paths):
    """Reads reports of filter_gpu.py, or lines of convolume_filter_gpu_bench, into one report."""
    report = {"machine": {}, "date": "", "libraries": [], "failures": [], "results": []}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        try:
            part = json.loads(text)
        except ValueError:
            part = {"results": json_objects(text)}
        if "results" not in part:
            sys.exit(f"{path}: there are no measurements of filters in it")
        for key, value in part.items():
            report[key] = report[key] + value if isinstance(report[key], list) else value or report[key]
    return report


def report_for_tables(report):
    """Returns the report with only the figures that tables and figures show: the parameters of each case, time and
    error of its fastest segment, and the largest error of peers. Cases of "post" have one segment each."""
    identity = ["role", "kind", "precision", "post", "samples", "filters", "taps"]
    cases = {}
    for result in sorted(report["results"], key=lambda result: result["ms"]):
        if result["role"] not in SHOWN:
            continue
        names = [*identity, "segment"] if result["role"] == "post" else identity
        case = cases.setdefault(tuple(result[name] for name in names),
                                {key: result[key] for key in (*identity, "segment", "ms", "error") if key in result})
        if result["role"] in PEERS and "error" in result:
            case["error"] = max(case["error"], result["error"])
    return report | {"results": [cases[case] for case in sorted(cases, key=lambda case: (SHOWN.index(case[0]), case))]}


def has_values(result, wanted):
    return all(result.get(key) == value for key, value in wanted.items())


def fastest_result(results, **wanted):
    """Returns the fastest of the measurements that match. Those by cuFFT have several segments."""
    found = [result for result in results if has_values(result, {"precision": "float32", "post": "none"} | wanted)]
    return min(found, key=lambda result: result["ms"], default=None)


def milliseconds_by(results, x, **wanted):
    """Returns a curve as {x: milliseconds}."""
    places = sorted({result[x] for result in results if has_values(result, wanted)})
    found = {place: fastest_result(results, **wanted, **{x: place}) for place in places}
    return {place: result["ms"] for place, result in found.items() if result}


def floor_ms(kind, filters, samples):
    """Returns the milliseconds to read the signal and write the results once, at the rate of a copy."""
    return (8 if kind == "c2c" else 4) * samples * (1 + filters) / COPY_RATE * 1e3


def describe_machine(report):
    context = report["machine"]
    parts = [context.get("name", "unknown GPU")]
    if "driver_version" in context:
        parts += [f"driver {context['driver_version']}", f"SM {context['clocks.sm']}, memory {context['clocks.mem']}"]
    return ", ".join(parts + report["libraries"] + [report["date"] or "no date"])


def format_ms(ms):
    return f"{ms:.0f}" if ms >= 1000 else f"{ms:#.3g}".rstrip(".")


def ms_or_dash(result):
    return format_ms(result["ms"]) if result else "–"


def print_table(title, columns, rows):
    rows = [row for row in rows if any(value != "–" for value in row[2:])]
    if not rows:
        return
    print(f"\n#### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def print_main_table(results, kind):
    rows = []
    for taps, filters in TABLE:
        case = {"kind": kind, "taps": taps, "filters": filters, "samples": SAMPLES}
        ours = fastest_result(results, role="automatic", **case)
        peers = [fastest_result(results, role=role, **case) for role in PEERS]
        if not ours and not any(peers):
            continue
        cells = [ms_or_dash(peer) for peer in peers]
        if peers[0]:
            cells[0] += f" ({peers[0]['segment']})"
        rows.append([taps, filters, f"**{ms_or_dash(ours)}** ({ours['segment']})" if ours else "–", *cells,
                     format_ms(floor_ms(kind, filters, SAMPLES))])
    columns = ["M", "filters", "convolume (segment)", "cuFFT overlap-save (best segment)", *list(PEERS.values())[1:],
               "floor"]
    print_table(f"{kind}: {KINDS[kind]} signal of {SAMPLES:,} samples, float32, ms", columns, rows)


def print_post_table(results):
    posts = ["none", "power", "slope", "peak"]
    cases = sorted({(result["kind"], result["taps"], result["filters"], result["segment"]) for result in results
                    if result["role"] == "post"})
    rows = []
    for kind, taps, filters, segment in cases:
        case = {"role": "post", "kind": kind, "taps": taps, "filters": filters, "segment": segment}
        rows.append([kind, taps, filters, segment,
                     *(ms_or_dash(fastest_result(results, **case, post=post)) for post in posts)])
    print_table("Post-processing before results are stored, ms",
                ["data", "M", "filters", "segment", "none", "power", "a caller's function, (y[n+1] − y[n−1])/2",
                 "largest of each 64 (of the power of complex results)"], rows)


def print_derivative_table(results):
    rows = []
    for taps, filters in TABLE:
        cells = []
        for kind in KINDS:
            plain = fastest_result(results, role="plain", kind=kind, taps=taps, filters=filters)
            derivative = fastest_result(results, role="derivative", kind=kind, taps=taps + 2, filters=filters)
            ratio = f" ({derivative['ms'] / plain['ms']:.2f}×)" if plain and derivative else ""
            cells += [ms_or_dash(plain), ms_or_dash(derivative) + ratio]
        rows.append([taps, filters, *cells])
    print_table("Derivative, as two more taps of each filter, ms",
                ["M", "filters", *(f"{kind}, {what}" for kind in KINDS for what in ("plain", "derivative"))], rows)


def print_partitioned_table(results):
    rows = []
    for kind in KINDS:
        fastest = fastest_result(results, role="partitioned", kind=kind)
        if fastest:
            chosen, whole = (fastest_result(results, role=role, kind=kind, taps=fastest["taps"], filters=1)
                             for role in ("automatic", "one transform"))
            rows.append([kind, fastest["taps"], ms_or_dash(whole), ms_or_dash(fastest), fastest["segment"],
                         ms_or_dash(chosen),
                         f"{fastest['error']:.1e}"])
    print_table("One filter as long as the signal, ms",
                ["data", "samples and M", "one transform by cuFFT", "partitioned, at its best", "segment",
                 "what is chosen", "error"], rows)


def print_double_table(results):
    rows = []
    for taps in sorted({result["taps"] for result in results if result["precision"] == "float64"}):
        cells = []
        for kind in KINDS:
            ours = fastest_result(results, role="automatic", kind=kind, precision="float64", taps=taps)
            cells += [ms_or_dash(ours) + (f" ({ours['segment']})" if ours else ""), f"{ours['error']:.1e}"
                      if ours else "–"]
        rows.append([taps, 8, *cells])
    print_table("Double precision, ms (segment), and relative L2 error",
                ["M", "filters", *(f"{kind}{what}" for kind in KINDS for what in ("", ", error"))], rows)


def print_tables(report):
    results = report["results"]
    print(describe_machine(report))
    for kind in KINDS:
        print_main_table(results, kind)
    print_post_table(results)
    print_derivative_table(results)
    print_partitioned_table(results)
    print_double_table(results)
    single = [result for result in results if result["precision"] == "float32" and result["samples"] == SAMPLES]
    errors = {role: max((result["error"] for result in single if result["role"] == role and "error" in result),
                        default=None) for role in ("automatic", *PEERS)}
    texts = [f"{PEERS.get(role, 'convolume')} {error:.1e}" for role, error in errors.items() if error is not None]
    if texts:
        print(f"\nLargest relative L2 error, signals of {SAMPLES:,} samples, float32: {'; '.join(texts)}.")
    for failure in report["failures"]:
        print(f"{failure['command']}: {failure['stderr'].strip()}", file=sys.stderr)
