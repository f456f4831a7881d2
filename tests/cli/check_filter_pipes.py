# SPDX-License-Identifier: Apache-2.0
"""Runs `convolume filter` between pipes: check_filter_pipes.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
import contextlib
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20240707))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])
CPU = ["--device", "cpu"]
ZEROS = Path("/dev/zero").open("rb")  # noqa: SIM115 (shared by all processes)


def check_close(name, want, got, bound=1e-6):
    if want.shape != got.shape:
        check(False, name, "shape", got.shape, "instead of", want.shape)
        return
    error = np.linalg.norm(want - got) / max(np.linalg.norm(want), 1e-30)
    check(error < bound, name, "error", error)


def start(arguments, **streams):
    """Starts a filter with pipes as its input and outputs."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([command, "filter", *arguments, *CPU], **{**pipes, **streams})


def pipe_through(data, arguments, status=0):
    """Returns the data on standard output, and the text on standard error."""
    process = start(arguments)
    out, err = process.communicate(data, timeout=600)
    check(process.returncode == status, arguments, "exit code", process.returncode, err.decode())
    return out, err.decode()


def check_end(process, name, status):
    """Waits for a process, and kills it if it does not end."""
    try:
        process.wait(timeout=120)
        check(process.returncode == status, name, "exit code", process.returncode)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        check(False, name, "does not end")
    return process.stderr.read().decode() if process.stderr else ""


def full_result(x, h):
    return np.convolve(x, h)


def check_results():
    """Tests every mode and window, for signals that end anywhere in a chunk."""
    for n in (1, 2, 30, 31, 32, 100, 127, 128, 129, 1000, 5000):
        x = rng.uniform(-1, 1, n).astype("f4")
        for taps in (1, 2, 31):
            h = rng.uniform(-1, 1, taps).astype("f4")
            h.tofile("h.f32")
            full = full_result(x.astype("f8"), h.astype("f8"))
            for origin, at in (("center", (taps - 1) // 2), ("causal", 0), ("anticausal", taps - 1), ("-40", -40),
                               ("50", 50)):
                padded = np.concatenate([np.zeros(60), full, np.zeros(n + 60)])
                want = padded[60 + at:60 + at + n]
                arguments = ["-", "h.f32", "-o", "-", "--raw", "f32", "-q", "--chunk", str(rng.integers(1, 200)),
                             "--origin", origin]
                if n > 500:
                    arguments[arguments.index("--chunk") + 1] = "128"
                name = f"{n} samples, {taps} taps, {arguments[-4:]}"
                got = np.frombuffer(pipe_through(x.tobytes(), arguments)[0], "<f4")
                check_close("same, " + name, want, got)
                if origin != "center":
                    continue
                got = np.frombuffer(pipe_through(x.tobytes(), [*arguments, "--mode", "full"])[0], "<f4")
                check_close("full, " + name, full, got)
                if n >= taps:
                    got = np.frombuffer(pipe_through(x.tobytes(), [*arguments, "--mode", "valid"])[0], "<f4")
                    check_close("valid, " + name, full[taps - 1:n], got)
                else:
                    _, err = pipe_through(x.tobytes(), [*arguments, "--mode", "valid"], 2)
                    check("do not fit" in err, name, err)
                window = int(rng.choice([2, 7, 100, 1000]))
                got = np.frombuffer(pipe_through(x.tobytes(), [*arguments, "--window", f"decimate:{window}"])[0], "<f4")
                check_close(f"decimate:{window}, {name}", want[::window], got)
                out, _ = pipe_through(x.tobytes(), [*arguments, "--window", f"peak:{window}", "--positions", "at.i64",
                                                    "--overwrite"])
                want_peaks = np.array([want[i:i + window].max() for i in range(0, n, window)])
                got = np.frombuffer(out, "<f4")
                check_close(f"peak:{window}, {name}", want_peaks, got)
                positions = np.fromfile("at.i64", "<i8")
                check(len(positions) == len(want_peaks) and
                      np.allclose(want[np.clip(positions, 0, n - 1)], want_peaks, atol=1e-5), "positions", name)
                power = np.frombuffer(pipe_through(x.tobytes(), [*arguments, "--post", "power"])[0], "<f4")
                check_close("power, " + name, want ** 2, power)
                slope = np.frombuffer(pipe_through(x.tobytes(), [*arguments, "--post", "derivative"])[0], "<f4")
                check_close("derivative, " + name, (padded[61 + at:61 + at + n] - padded[59 + at:59 + at + n]) / 2,
                            slope)


def check_ranges():
    x = rng.uniform(-1, 1, 3000)
    h = rng.uniform(-1, 1, 20)
    h.tofile("h.f64")
    full = full_result(x, h)
    both = ["-", "h.f64", "-o", "-", "--raw", "float64", "--precision", "float64", "-q", "--chunk", "100"]
    out, _ = pipe_through(x.tobytes(), [*both, "--range", "90:1234"])
    check_close("range", full[90:1234], np.frombuffer(out), 1e-13)
    out, _ = pipe_through(x.tobytes(), [*both, "--range", "2900:3019"])
    check_close("range to the end", full[2900:3019], np.frombuffer(out), 1e-13)
    _, err = pipe_through(x.tobytes(), [*both, "--range", "90:5000"], 2)
    check("90:5000" in err and "0:3019" in err, err)
    # filter ends without waiting for samples behind the range.
    process = start([*both, "--range", "0:500"])
    process.stdin.write(x[:1000].tobytes())
    process.stdin.flush()
    check_close("range of an open pipe", full[:500], np.frombuffer(process.stdout.read()), 1e-13)
    check_end(process, "range of an open pipe", 0)
    process.stdin.close()


def check_formats():
    """Tests integers as input and output, header and byte order, from and to pipes and files."""
    h = rng.uniform(-1, 1, 9) + 1j * rng.uniform(-1, 1, 9)
    h.tofile("h.c128")
    for name, dtype, zero in (("cu8", "u1", 127.5), ("ci8", "i1", 0), ("ci16", "<i2", 0), ("ci32", "<i4", 0)):
        limits = np.iinfo(dtype)
        parts = rng.integers(limits.min, limits.max, 2 * 4000, dtype=np.dtype(dtype).newbyteorder("="),
                             endpoint=True)
        x = (parts[::2] - zero) + 1j * (parts[1::2] - zero)
        want = np.convolve(x, h)[4:4004]
        raw = parts.astype(dtype).tobytes()
        out, _ = pipe_through(raw,
                              ["-", "h.c128", "-o", "-", "--raw", name, "-q", "--output-type", "c128", "--precision",
                                    "float64"])
        check_close("reading " + name, want, np.frombuffer(out, "<c16"), 1e-13)
        big = parts.astype(np.dtype(dtype).newbyteorder(">")).tobytes()
        out, _ = pipe_through(b"h" * 44 + big, ["-", "h.c128", "-o", "-", "--raw", name, "-q", "--header", "44",
                                                "--byte-order", "big"])
        check_close("big-endian " + name, want, np.frombuffer(out, "<c8"))
        # Half of the results are outside the range of the integers.
        scaled = np.stack([want.real, want.imag], -1).ravel() + zero
        stored = np.clip(np.rint(scaled), limits.min, limits.max)
        out, err = pipe_through(raw, ["-", "h.c128", "-o", "-", "--raw", name, "--output-type", name, "--precision",
                                      "float64"])
        got = np.frombuffer(out, dtype).astype("f8")
        check(got.shape == stored.shape and np.abs(got - stored).max() <= 1 and np.mean(got != stored) < 1e-3,
              "writing", name, np.abs(got - stored).max())
        low, high = (np.rint(scaled) < limits.min).sum(), (np.rint(scaled) > limits.max).sum()
        check(f"{low} values below and {high} above the range of {name}" in err, low, high, err)
    for bad, text in ((["--raw", "f32"], "ended within a"), (["--raw", "f32", "--header", "9"], "of its header"),
                      (["--raw", "f32", "--header", "7"], "no samples")):
        _, err = pipe_through(b"1234567", ["-", "h.c128", "-o", "-", "-q", *bad], 65)
        check(text in err and err.count("\n") == 1, err)


def check_output_files():
    """Tests a pipe into files, whose length is known only at the end."""
    x = rng.uniform(-1, 1, 100_001).astype("f4")
    h = rng.uniform(-1, 1, 31).astype("f4")
    h.tofile("h.f32")
    want = np.convolve(x.astype("f8"), h.astype("f8"))[15:-15]
    both = ["-", "h.f32", "--raw", "f32", "-q", "--chunk", "1000"]
    for name, read in (("y.npy", np.load), ("y.f32", lambda n: np.fromfile(n, "<f4"))):
        pipe_through(x.tobytes(), [*both, "-o", name])
        check_close(name, want, read(name))
        pipe_through(x.tobytes(), [*both, "-o", name], 5)
    for name in ("y.h5", "y.i64"):
        _, err = pipe_through(x.tobytes(), [*both, "-o", name], 2)
        check(err.count("\n") == 1 and name in err and not os.path.exists(name), err)
    # filter reads a file and writes to a pipe.
    x.tofile("x.f32")
    out, err = pipe_through(b"", ["x.f32", "h.f32", "-o", "-"])
    check_close("file to pipe", want, np.frombuffer(out, "<f4"))
    check("output" in err, err)
    with open("x.f32", "rb") as given, open("z.f32", "wb") as taken:
        process = start([*both, "-o", "-"], stdin=given, stdout=taken)
        check_end(process, "redirected files", 0)
    check_close("redirected files", want, np.fromfile("z.f32", "<f4"))


def check_early_results():
    """Tests that results leave while the signal continues."""
    h = np.ones(1, "f4")
    h.tofile("h.f32")
    process = start(["-", "h.f32", "-o", "-", "--raw", "f32", "-q", "--chunk", "256"])
    for block in range(5):
        sent = np.full(256, block, "<f4").tobytes()
        process.stdin.write(sent)
        process.stdin.flush()
        check(process.stdout.read(1024) == sent, "block", block)
    check(process.poll() is None, "the filter ended before its input did")
    process.stdin.close()
    check_end(process, "early results", 0)


def check_endless_input():
    """Tests that memory does not grow with the signal."""
    np.ones(8, "f4").tofile("h.f32")
    process = start(["-", "h.f32", "-o", "-", "--raw", "f32", "--chunk", "4096"],
                    stdin=ZEROS, stdout=subprocess.PIPE)

    def check_resident_memory():
        text = Path(f"/proc/{process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def read_and_drop(count):
        while count > 0:
            count -= len(process.stdout.read(min(count, 1 << 20)))

    read_and_drop(50 << 20)
    before = check_resident_memory()
    read_and_drop(400 << 20)
    grown = check_resident_memory() - before
    check(grown < 2 << 20, "memory grew by", grown)
    # The reader closes the pipe: the exit code is that of SIGPIPE, without a message.
    process.stdout.close()
    err = check_end(process, "closed pipe", 141)
    check("error" not in err and "output" not in err, "closed pipe says", err)


def check_closed_while_waiting():
    """Tests a closed output pipe while no more input comes."""
    np.ones(8, "f4").tofile("h.f32")
    process = start(["-", "h.f32", "-o", "-", "--raw", "f32", "-q", "--chunk", "64"])
    process.stdout.close()
    process.stdin.write(bytes(4 * 1000))
    process.stdin.flush()
    err = check_end(process, "closed while waiting", 141)
    check(err == "", err)
    for stop in (signal.SIGINT, signal.SIGTERM):
        process = start(["-", "h.f32", "-o", "-", "--raw", "f32", "-q", "--chunk", "64"])
        process.stdin.write(bytes(4 * 1000))
        process.stdin.flush()
        process.stdout.read(4 * 64)
        process.send_signal(stop)
        check("interrupted" in check_end(process, f"{stop} while waiting for input", 130), "no sentence")
        process = start(["-", "h.f32", "-o", "-", "--raw", "f32", "-q"], stdin=ZEROS)
        process.stdout.read(4)
        time.sleep(0.3)  # waits until the pipe is full
        process.send_signal(stop)
        check_end(process, f"{stop} while no program reads", 130)
    process = start(["-", "h.f32", "-o", "part.f32", "--raw", "f32", "-q"], stdin=ZEROS)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    check_end(process, "a file of an endless signal", 130)
    check(not os.path.exists("part.f32"), "part.f32 is left")


def check_refusals():
    np.ones((2, 3), "f4").tofile("h.f32")
    np.ones((2, 300), "f4").tofile("x.f32")
    std = ["-", "h.f32", "-o", "-", "-q"]
    for arguments, status, text in (
            (std, 2, "(--raw)"),
            ([*std, "--raw", "f33"], 2, "ci16"),
            ([*std, "--raw", "i24"], 2, "WAV"),
            ([*std, "--raw", "f32", "--taps", "3"], 2, "2 filters"),
            ([*std, "--raw", "f32", "--layout", "planar"], 2, "(--layout)"),
            ([*std, "--raw", "f32", "--json"], 2, "--json"),
            ([*std, "--raw", "f32", "--output-type", "ci16"], 2, "ci16"),
            ([*std, "--raw", "ci16", "--output-type", "i16"], 2, "complex64"),
            ([*std, "--raw", "f32", "--window", "peak:3", "--positions", "-"], 2, "--positions"),
            (["x.f32", "h.f32", "-o", "-", "--signals", "2", "--layout", "planar"], 2, "2 signals"),
            (["x.f32", "h.f32", "-o", "-", "--chunk", "0"], 2, "--chunk"),
            ([*std, "--raw", "f32"], 65, "no samples")):
        out, err = pipe_through(b"", arguments, status)
        check(out == b"" and err.count("\n") == 1 and text in err, arguments, err)
    master, terminal = pty.openpty()
    process = start(["x.f32", "h.f32", "-o", "-"], stdout=terminal)
    check("terminal" in check_end(process, "results to a terminal", 2), "no sentence")
    process = start(["-", "h.f32", "-o", "y.f32", "--raw", "f32"], stdin=terminal)
    check("terminal" in check_end(process, "signal from a terminal", 2), "no sentence")
    os.close(terminal)
    os.set_blocking(master, False)
    with contextlib.suppress(OSError):
        check(os.read(master, 100) == b"", "something went to the terminal")
    # A dry run reads nothing and writes nothing.
    process = start(["-", "h.f32", "-o", "-", "--raw", "ci16", "--dry-run"])
    err = check_end(process, "dry run", 0)
    check("until their end" in err and process.stdout.read() == b"", err)


print("seed", SEED)
for part in (check_results, check_ranges, check_formats, check_output_files, check_early_results, check_endless_input,
             check_closed_while_waiting, check_refusals):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        began = time.time()
        part()
        check(not [f for f in os.listdir(".") if "partial" in f], part.__name__, "left partial files")
        print(part.__name__, round(time.time() - began, 1), "s")
        os.chdir("/")
finish()
