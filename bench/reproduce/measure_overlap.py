# SPDX-License-Identifier: Apache-2.0
"""Measures overlap methods and convolution in parts on the CPU, by convolume_filter_cpu_bench."""

from context import NotMeasured, median_of, next_smooth, run_repeatedly

FILTERS = 8
ROUNDS = 7


def measure(context):
    try:
        worker = context.start_worker("convolume_filter_cpu_bench")
    except NotMeasured as why:
        yield {"experiment": "methods", "not_measured": str(why)}
        return
    samples = (1 << 21) // context.scale

    def measure_request(request, enough_s=1.5):
        planned = worker.ask(request)
        context.check_time(planned["predicted_ms"] / 1e3)
        worker.ask("run")  # the first run also allocates memory
        runs = run_repeatedly(lambda: worker.ask("run"), ROUNDS, enough_s)
        return planned | {"ms": median_of(runs, "ms"), "best_ms": min(run["ms"] for run in runs)}

    def measured_row(names, n, filters, taps, keys=""):
        whole = names | {"samples": n, "filters": filters, "taps": taps}
        return context.measured_row(whole, lambda: measure_request(f"prepare {n} {filters} {taps} {keys}"))

    for taps in (17, 65, 257, 1025, 4097, 16385):
        whole = next_smooth(samples + taps - 1)
        for way, keys in (("auto", ""), ("direct", "method=direct"), ("overlap-save", "method=overlap-save"),
                          ("overlap-add", "method=overlap-add"), ("partitioned", "method=partitioned"),
                          ("one transform", f"method=overlap-save segment={whole}")):
            if way == "direct" and taps > 257:
                continue
            yield measured_row({"experiment": "methods", "way": way}, samples, FILTERS, taps, keys)
    for taps in (257, 4097):
        for way in ("overlap-save", "overlap-add"):
            segment = 512
            while segment <= 1 << 18:
                if segment >= 2 * taps - 1:
                    yield measured_row({"experiment": "segments", "way": way, "segment": segment}, samples, FILTERS,
                                       taps,
                                       f"method={way} segment={segment}")
                segment *= 2
    for origin in ("causal", "center", "anticausal"):
        for way in ("direct", "overlap-save", "overlap-add"):
            yield measured_row({"experiment": "origins", "way": way, "origin": origin}, samples, FILTERS, 129,
                               f"method={way} origin={origin}")
    both = (1 << 20) // context.scale
    kept = max(1, 1024 // context.scale)
    segment = 1 << 11
    while segment <= both:
        yield measured_row({"experiment": "parts", "way": "partitioned", "mode": "full", "segment": segment}, both, 1,
                           both,
                           f"method=partitioned segment={segment} mode=full")
        segment *= 4
    yield measured_row({"experiment": "parts", "way": "one transform", "mode": "full"}, both, 1, both,
                       f"method=overlap-save segment={2 * both} mode=full")
    for way in ("partitioned", "overlap-save"):
        yield measured_row({"experiment": "parts", "way": way, "mode": "valid"}, both, 1, both - kept + 1,
                           f"method={way} mode=valid")
    worker.close()
