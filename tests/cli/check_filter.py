# SPDX-License-Identifier: Apache-2.0
"""Compares results of `convolume filter` with SciPy in double precision: check_filter.py CONVOLUME HDF5.

Ends with 77 (skipped) if a module is missing."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, failures, finish

try:
    import h5py
    import numpy as np
    from scipy import signal as scipy_signal
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20240707))
rng = np.random.default_rng(SEED)
command, hdf5 = sys.argv[1], sys.argv[2] == "ON"


def random_numbers(*shape, complex_=False):
    """Returns random numbers that float32 holds exactly."""
    def part():
        return rng.uniform(-1, 1, shape).astype("float32").astype("float64")
    return part() + 1j * part() if complex_ else part()


def run(arguments, status=0):
    done = subprocess.run([command, "filter", *arguments], capture_output=True, text=True)
    if done.returncode != status:
        failures.append(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done


def check_close(name, want, got, precision="float32"):
    bound = {"float32": 1e-6, "float64": 1e-14}[precision]
    if want.shape != got.shape:
        check(False, name, "shape", got.shape, "instead of", want.shape)
        return
    check(np.iscomplexobj(want) == np.iscomplexobj(got), name, "type", got.dtype)
    error = np.linalg.norm(want - got) / max(np.linalg.norm(want), 1e-30)
    check(error < bound, name, "error", error)


def origin_of(taps, origin):
    return {"center": (taps - 1) // 2, "causal": 0, "anticausal": taps - 1}.get(origin, origin)


def full_rows(x, filters, origin="center"):
    """Returns full results of every filter, aligned so that all origins are at one index, and that index."""
    origins = [origin_of(len(h), origin) for h in filters]
    before = max(origins)
    after = max(len(h) - 1 - o for h, o in zip(filters, origins))
    rows = []
    for h, o in zip(filters, origins):
        padded = np.zeros(before + after + 1, h.dtype)
        padded[before - o:before - o + len(h)] = h
        flat = x.reshape(-1, x.shape[-1])
        rows.append(np.stack([scipy_signal.oaconvolve(s, padded) if len(s) > 1000
                              else scipy_signal.convolve(s, padded, method="direct") for s in flat]))
    full = np.stack(rows, 1)
    return full.reshape(x.shape[:-1] + (len(filters), full.shape[-1])), before


def filter_same(x, filters, origin="center"):
    full, at = full_rows(x, filters, origin)
    ends = np.zeros(full.shape[:-1] + (x.shape[-1] + abs(at),), full.dtype)
    full = np.concatenate([ends, full, ends], -1)  # origins may lie outside the taps
    at += ends.shape[-1]
    return full[..., at:at + x.shape[-1]]


def check_formats(folder):
    x, h = random_numbers(5000), random_numbers(33)
    names = [("npy", np.save), ("f32", lambda name, a: a.astype("<f4").tofile(name)),
             ("f64", lambda name, a: a.astype("<f8").tofile(name))]
    if hdf5:
        def h5(name, a):
            with h5py.File(name, "w") as file:
                file["data"] = a
        names.append(("h5", h5))
    want = filter_same(x, [h])[0]
    for kind, write in names:
        write(f"x.{kind}", x)
        write(f"h.{kind}", h)
        run([f"x.{kind}", f"h.{kind}", "-o", "y.npy", "--overwrite", "-q"])
        got = np.load("y.npy")
        check(got.dtype == "float32", kind, got.dtype)
        check_close("from " + kind, want, got)
    np.save("x32.npy", x.astype("f4"))
    run(["x32.npy", "h.npy", "-o", "out.f32"])
    check_close("to raw", want, np.fromfile("out.f32", "<f4"))
    run(["x32.npy", "h.npy", "-o", "out.raw", "--precision", "float64"])
    check_close("to raw float64", want, np.fromfile("out.raw", "<f8"), "float64")
    if hdf5:
        with h5py.File("many.h5", "w") as file:
            file.create_dataset("a/x", data=x.reshape(2, 2500), chunks=(1, 999), compression="gzip")
            file["b/h"] = np.stack([h, h[::-1]])
        run(["many.h5:/a/x", "many.h5:/b/h", "-o", "out.h5:/run/1"])
        with h5py.File("out.h5") as file:
            check(file["run/1"].attrs["software"].startswith("convolume"), "provenance")
            check_close("HDF5 to HDF5", filter_same(x.reshape(2, 2500), [h, h[::-1]]), file["run/1"][()])
    x.astype("<f4").tofile("x.dat")
    random_numbers(3, 7).astype("<f4").tofile("bank.f32")
    bank = np.fromfile("bank.f32", "<f4").astype("f8").reshape(3, 7)
    run(["x.dat", "bank.f32", "-o", "split.npy", "--raw", "float32", "--signals", "5",
         "--layout", "planar", "--taps", "7"])
    check_close("raw, split", filter_same(x.reshape(5, 1000), list(bank)), np.load("split.npy"))


def check_types(folder):
    for dtype in ("uint8", "int8", ">i2", "<u2", "<i4", ">u4", "int64", "bool", ">f4", "<f8"):
        kind = np.dtype(dtype)
        x = rng.integers(0, 2 if kind.kind == "b" else 100, (2, 700)).astype(kind)
        h = rng.integers(0, 2 if kind.kind == "b" else 5, 9).astype(kind)
        for order in (np.ascontiguousarray, np.asfortranarray):
            np.save("x.npy", order(x))
            np.save("h.npy", h)
            run(["x.npy", "h.npy", "-o", "y.npy", "--overwrite", "-q"])
            check_close("type " + dtype, filter_same(x.astype("f8"), [h.astype("f8")])[:, 0], np.load("y.npy"))
    x, h = random_numbers(3000, complex_=True), random_numbers(50, complex_=True)
    for a, b in ((x, h), (x, h.real), (x.real, h)):
        for precision, wanted in (("float32", "complex64"), ("float64", "complex128")):
            np.save("x.npy", a.astype("c8") if np.iscomplexobj(a) else a)
            np.save("h.npy", b)
            run(["x.npy", "h.npy", "-o", "y.npy", "--overwrite", "-q", "--precision", precision])
            got = np.load("y.npy")
            check(got.dtype == wanted, "complex", got.dtype)
            check_close("complex " + precision, filter_same(a, [b])[0], got, precision)
    x.astype("<c8").tofile("x.c64")
    h.astype("<c16").tofile("h.c128")
    run(["x.c64", "h.c128", "-o", "y.c64", "--mode", "full"])
    check_close("raw complex", np.convolve(x, h), np.fromfile("y.c64", "<c8"))


def check_shapes(folder):
    x = random_numbers(2, 3, 400)
    np.save("x.npy", x)
    filters = [random_numbers(5), random_numbers(64), random_numbers(1), random_numbers(500)]
    for i, h in enumerate(filters):
        np.save(f"h{i}.npy", h)
    np.save("bank.npy", np.stack([random_numbers(6), random_numbers(6)]))
    bank = list(np.load("bank.npy"))
    ragged = [f"h{i}.npy" for i in range(4)]
    for origin in ("center", "causal", "anticausal", -3, 0, 2, 60):
        name = f"origin {origin}"
        arguments = ["-o", "y.npy", "--overwrite", "-q", "--origin", str(origin)]
        run(["x.npy", "h0.npy", *arguments])
        check_close(name, filter_same(x, filters[:1], origin)[:, :, 0], np.load("y.npy"))
        run(["x.npy", *ragged, *arguments])
        check_close(name + ", ragged", filter_same(x, filters, origin), np.load("y.npy"))
        run(["x.npy", "bank.npy", "h0.npy", *arguments])
        check_close(name + ", bank and file", filter_same(x, bank + filters[:1], origin), np.load("y.npy"))
        full, at = full_rows(x, filters[:2], origin)
        for mode, cut in (("full", full), ("valid", full[..., 63:400] if origin in ("causal", 0) else None)):
            run(["x.npy", *ragged[:2], *arguments, "--mode", mode])
            if cut is not None:
                check_close(f"{name}, {mode}", cut, np.load("y.npy"))
        for a, b in ((0, 1), (0, full.shape[-1]), (57, 311), (full.shape[-1] - 1, full.shape[-1])):
            run(["x.npy", *ragged[:2], *arguments, "--range", f"{a}:{b}"])
            check_close(f"{name}, range {a}:{b}", full[..., a:b], np.load("y.npy"))
    run(["x.npy", "h3.npy", "-o", "none.npy", "--mode", "valid"], 2)
    check(not os.path.exists("none.npy"), "valid of a short signal leaves a file")


def derivative(full):
    ends = np.zeros(full.shape[:-1] + (1,))
    padded = np.concatenate([ends, full, ends], -1)
    return (padded[..., 2:] - padded[..., :-2]) / 2


def check_posts(folder):
    x, bank = random_numbers(2, 5000), random_numbers(3, 40)
    z = random_numbers(2, 5000, complex_=True)
    np.save("x.npy", x)
    np.save("z.npy", z)
    np.save("bank.npy", bank)
    for name, data in (("x.npy", x), ("z.npy", z)):
        full, at = full_rows(data, list(bank))
        for post, change in (("none", lambda y: y), ("power", lambda y: np.abs(y) ** 2), ("derivative", derivative)):
            want = change(full)
            arguments = [name, "bank.npy", "-o", "y.npy", "--overwrite", "-q", "--post", post]
            run([*arguments, "--mode", "full"])
            check_close(f"{name} {post}", want, np.load("y.npy"))
            run([*arguments, "--mode", "full", "--window", "decimate:7"])
            check_close(f"{name} {post} decimated", want[..., ::7], np.load("y.npy"))
            run([*arguments, "--range", "13:4000", "--window", "decimate:100"])
            check_close(f"{name} {post} range, decimated", want[..., 13:4000:100], np.load("y.npy"))
            if np.iscomplexobj(want):
                run([*arguments, "--window", "peak:10"], 2)
                continue
            for window in (1, 64, 1000, 10**6):
                for kind in ["npy", "i64"] + (["h5"] if hdf5 else []):
                    run([*arguments, "--range", "13:4000", "--window", f"peak:{window}", "--positions", f"at.{kind}"])
                    check_peaks(f"{name} {post} peaks of {window}", want, at, 13, 4000, window, f"at.{kind}")
    run(["x.npy", "bank.npy", "-o", "y.npy", "--overwrite", "-q", "--window", "peak:50"])
    check(np.load("y.npy").shape == (2, 3, 100), "peaks without positions")


def check_peaks(name, full, origin, begin, end, window, positions):
    got = np.load("y.npy")
    at = np.load(positions) if positions.endswith("npy") else (
        np.fromfile(positions, "<i8").reshape(got.shape) if positions.endswith("i64")
        else h5py.File(positions)["data"][()])
    check(at.dtype == "int64" and at.shape == got.shape, name, "positions", at.dtype, at.shape)
    at = at + origin  # converts indices of the signal to indices of the full result
    starts = np.arange(begin, end, window)
    want = np.stack([full[..., s:min(s + window, end)].max(-1) for s in starts], -1)
    check_close(name, want, got)
    inside = np.all(at >= starts) and np.all(at < np.minimum(starts + window, end))
    check(inside, name, "positions outside their windows")
    if not inside:
        return
    # Samples that are equal except for rounding: any of the largest may win.
    check(np.allclose(np.take_along_axis(full, at, -1), want, rtol=0, atol=1e-5 * np.abs(full).max()), name,
          "positions are not the peaks'")


def check_methods(folder):
    x, bank = random_numbers(200001), random_numbers(4, 300)
    np.save("x.npy", x)
    np.save("bank.npy", bank)
    want = filter_same(x, list(bank))
    for method in ("auto", "direct", "overlap-save", "overlap-add", "partitioned"):
        for precision in ("float32", "float64"):
            done = run(["x.npy", "bank.npy", "-o", "y.npy", "--overwrite", "-q", "--json", "--device", "cpu",
                        "--method", method, "--precision", precision])
            report = json.loads(done.stdout)
            check(method in ("auto", report["plan"]["method"]), method, report["plan"])
            check(report["output"]["shape"] == [4, 200001], method, report["output"])
            check_close(method, want, np.load("y.npy"), precision)
    done = run(["x.npy", "bank.npy", "-o", "y.npy", "--overwrite", "-q", "--json", "--device", "cpu",
                "--method", "overlap-save", "--segment", "2048"])
    check(json.loads(done.stdout)["plan"]["segment"] == 2048, "segment")
    check_close("segments of 2048", want, np.load("y.npy"))


def check_streaming(folder):
    x, filters = random_numbers(3, 2_000_000).astype("f4"), [random_numbers(100), random_numbers(3000)]
    np.save("x.npy", x)
    for i, h in enumerate(filters):
        np.save(f"h{i}.npy", h)
    limit = 8 << 20
    done = run(["x.npy", "h0.npy", "h1.npy", "-o", "y.npy", "--json", "-q", "--device", "cpu", "--max-host-mem", "8M",
                "--timeline", "trace.json"])
    report = json.loads(done.stdout)
    check(report["plan"]["chunk"] < 1_000_000, "chunk", report["plan"])
    check(report["plan"]["stream_bytes"] <= limit, "stream_bytes", report["plan"])
    check_close("streamed", filter_same(x.astype("f8"), filters), np.load("y.npy"))
    names = {event.get("name") for event in json.loads(Path("trace.json").read_text())["traceEvents"]}
    check({"read", "write"} <= names, "timeline", names)
    run(["x.npy", "h1.npy", "-o", "p.npy", "-q", "--device", "cpu", "--max-host-mem", "8M", "--post", "power",
         "--window", "peak:500000", "--mode", "full", "--positions", "at.npy"])
    full, at = full_rows(x.astype("f8"), filters[1:])
    full = full[:, 0] ** 2
    os.replace("p.npy", "y.npy")
    check_peaks("streamed peaks", full, at, 0, full.shape[-1], 500000, "at.npy")


def check_random_cases(folder):
    """Tests batches, banks of filters with different lengths, windows, and ranges in chunks of every kind."""
    for case in range(40):
        x = random_numbers(*rng.integers(1, 4, rng.integers(0, 3)), rng.integers(1, 60000))
        filters = [random_numbers(rng.integers(1, 400)) for _ in range(rng.integers(1, 5))]
        origin = rng.choice(["center", "causal", "anticausal"])
        np.save("x.npy", x)
        names = []
        for i, h in enumerate(filters):
            np.save(f"h{i}.npy", h)
            names.append(f"h{i}.npy")
        full, at = full_rows(x, filters, origin)
        if len(filters) == 1:
            full = full[..., 0, :]
        begin, end = np.sort(rng.choice(full.shape[-1] + 1, 2, replace=False))
        window = int(rng.integers(1, 3 * (end - begin) + 1) ** rng.uniform(0.2, 1))
        kind = rng.choice(["none", "decimate", "peak"])
        memory = rng.choice(["1M", "3M", "100M"])
        arguments = ["x.npy", *names, "-o", "y.npy", "--overwrite", "-q", "--origin", origin,
                     "--range", f"{begin}:{end}", "--window", "none" if kind == "none" else f"{kind}:{window}",
                     "--device", "cpu", "--max-host-mem", memory]
        if kind == "peak":
            arguments += ["--positions", "at.npy"]
        run(arguments)
        name = f"case {case}: {x.shape} {[len(h) for h in filters]} {arguments[-8:]}"
        if kind == "peak":
            check_peaks(name, full, at, begin, end, window, "at.npy")
        else:
            check_close(name, full[..., begin:end:window if kind == "decimate" else 1], np.load("y.npy"))


def check_nonfinite(folder):
    x, h = random_numbers(1000), random_numbers(9)
    broken = x.copy()
    broken[123] = np.nan
    np.save("x.npy", broken)
    np.save("h.npy", h)
    done = run(["x.npy", "h.npy", "-o", "y.npy"], 65)
    check("123" in done.stderr and not os.path.exists("y.npy"), done.stderr)
    done = run(["x.npy", "h.npy", "-o", "y.npy", "--nan", "zero"])
    check("1 NaN" in done.stderr, done.stderr)
    check_close("NaN as 0", filter_same(np.nan_to_num(broken), [h])[0], np.load("y.npy"))
    run(["x.npy", "h.npy", "-o", "y.npy", "--overwrite", "--nan", "propagate", "--method", "direct", "--device", "cpu"])
    check(np.isnan(np.load("y.npy")[123]), "NaN propagates")


print("seed", SEED)
command = os.path.abspath(command)
for part in (check_formats, check_types, check_shapes, check_posts, check_methods, check_streaming, check_random_cases,
             check_nonfinite):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        part(folder)
        check(not [f for f in os.listdir(".") if "partial" in f], part.__name__, "left partial files")
        os.chdir("/")
finish()
