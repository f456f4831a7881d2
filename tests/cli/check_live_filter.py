# SPDX-License-Identifier: Apache-2.0
"""Tests `convolume filter --latency` on pipes against NumPy: raw samples and WAV, cut into pieces of any length,
truncated, and damaged.

usage: check_live_filter.py COMMAND
"""

import os
import signal
import struct
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


def start(arguments):
    return subprocess.Popen([command, "filter", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def run(data, arguments, status=0):
    """Returns standard output and the text on standard error."""
    process = start(arguments)
    out, err = process.communicate(data, timeout=600)
    check(process.returncode == status, arguments, "exit code", process.returncode, err.decode())
    return out, err.decode()


def run_in_pieces(data, arguments, status=0):
    """Sends the data in pieces of random lengths, with pauses, so that reads end anywhere."""
    read_end, write_end = os.pipe()
    process = subprocess.Popen([command, "filter", *arguments], stdin=read_end, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    os.close(read_end)
    at = 0
    if os.fork() == 0:
        try:
            while at < len(data):
                count = int(rng.integers(1, 3000)) if rng.uniform() < 0.8 else int(rng.integers(1, 5))
                at += os.write(write_end, data[at:at + count])
                if rng.uniform() < 0.3:
                    time.sleep(0.001)
        finally:
            os._exit(0)
    os.close(write_end)
    out, err = process.communicate(timeout=600)
    os.wait()
    check(process.returncode == status, arguments, "in pieces: exit code", process.returncode, err.decode())
    return out, err.decode()


def close(name, want, got, bound=1e-5):
    if want.shape != got.shape:
        check(False, name, "shape", got.shape, "instead of", want.shape)
        return
    check(np.abs(want - got).max() < bound, name, "error", np.abs(want - got).max())


def causal(rows, filters, tail=0):
    """Returns frames × channels: each channel by its filter, or by the only one."""
    padded = np.pad(rows, ((0, 0), (0, tail)))
    return np.array([np.convolve(row, filters[i % len(filters)])[:row.size] for i, row in enumerate(padded)]).T


def wav(rows, dtype, rate=48000, sizes=None, extra=b"", after=b""):
    """Returns WAV of channels × frames. `sizes` are those of its header, if they are not the true ones."""
    body = np.ascontiguousarray(rows.T.astype(dtype)).tobytes()
    width = np.dtype(dtype).itemsize
    tag = 3 if np.dtype(dtype).kind == "f" else 1
    chunk = struct.pack("<HHIIHH", tag, len(rows), rate, rate * len(rows) * width, len(rows) * width, 8 * width)
    size, data = sizes or (36 + len(body) + len(extra) + len(after), len(body))
    return (b"RIFF" + struct.pack("<I", size) + b"WAVE" + extra + b"fmt " + struct.pack("<I", 16) + chunk + b"data"
            + struct.pack("<I", data) + body + after)


def parse_wav(data):
    """Returns the format and the samples, frames × channels, of WAV that this command writes."""
    check(data[:4] == b"RIFF" and data[8:16] == b"WAVEfmt " and data[36:40] == b"data", data[:44])
    tag, channels, rate, _, frame, bits = struct.unpack("<HHIIHH", data[20:36])
    check(frame == channels * bits // 8, "bytes of a frame", frame)
    dtype = {(3, 32): "<f4", (3, 64): "<f8", (1, 16): "<i2", (1, 32): "<i4"}[tag, bits]
    body = data[44:]
    return rate, dtype, np.frombuffer(body, dtype).reshape(-1, channels), struct.unpack("<I", data[40:44])[0]


LIVE = ["-", "h.f64", "-o", "-", "-q", "--latency"]


def check_raw():
    for _ in range(25):
        block = int(rng.choice([32, 64, 100, 256, 4096]))
        channels = int(rng.integers(1, 5))
        frames = int(rng.choice([1, block - 1, block, block + 1, int(rng.integers(1, 9000))]))
        taps = int(rng.choice([1, 2, 100, 5000]))
        each = bool(rng.integers(2))
        h = rng.uniform(-1, 1, (channels if each else 1, taps)) / np.sqrt(taps)
        h.tofile("h.f64")
        x = rng.uniform(-1, 1, (channels, frames))
        data = x.T.astype("<f4").tobytes()
        arguments = [*LIVE, str(block), "--raw", "f32", "--channels", str(channels), "--taps", str(taps)]
        tail = 0
        if rng.integers(2):
            arguments += ["--mode", "full"]
            tail = taps - 1
        name = f"block {block}, {channels} channels, {frames} frames, {taps} taps, each {each}, tail {tail}"
        out, _ = run(data, arguments)
        close(name, causal(x, h, tail), np.frombuffer(out, "<f4").reshape(-1, channels))
        check(run_in_pieces(data, arguments)[0] == out, name, "depends on the pieces")
    # Types, a header and a byte order.
    x = rng.integers(-1000, 1000, (2, 777))
    h = rng.uniform(-1, 1, (1, 50))
    h.tofile("h.f64")
    big = b"head" + x.T.astype(">i2").tobytes()
    out, err = run(big, [*LIVE, "64", "--raw", "i16", "--channels", "2", "--header", "4", "--byte-order", "big",
                         "--precision", "float64", "--threads", "2"])
    close("big-endian integers", causal(x, h), np.frombuffer(out, "<f8").reshape(-1, 2), 1e-9)
    out, err = run(big, [*LIVE, "64", "--raw", "i16", "--channels", "2", "--header", "4", "--byte-order", "big",
                         "--output-type", "i16"])
    want = causal(x, h)
    got = np.frombuffer(out, "<i2").reshape(-1, 2)
    check(np.abs(got - np.clip(np.rint(want), -32768, 32767)).max() <= 1, "integers", np.abs(got - want).max())


def check_matrix():
    x = rng.uniform(-1, 1, (3, 2000))
    h = rng.uniform(-1, 1, (6, 300)) / 20
    h.tofile("h.f64")
    want = np.array([sum(np.convolve(x[i], h[3 * o + i])[:2000] for i in range(3)) for o in range(2)]).T
    arguments = [*LIVE, "128", "--raw", "f32", "--taps", "300", "--channels", "3", "--matrix"]
    out, _ = run(x.T.astype("<f4").tobytes(), arguments)
    close("matrix", want, np.frombuffer(out, "<f4").reshape(-1, 2))
    # Several filters of a single channel make as many outputs.
    out, _ = run(x[0].astype("<f4").tobytes(), [*LIVE, "128", "--raw", "f32", "--taps", "300"])
    close("a bank", np.array([np.convolve(x[0], one)[:2000] for one in h]).T,
          np.frombuffer(out, "<f4").reshape(-1, 6))
    _, err = run(x.T.astype("<f4").tobytes(), [*arguments[:-1]], 2)
    check("6 filters and 3 channels" in err and "--matrix" in err and err.count("\n") == 1, err)


def check_wav():
    h = rng.uniform(-1, 1, (1, 400)) / 20
    h.tofile("h.f64")
    unknown = ((0xFFFFFFFF, 0xFFFFFFFF), (0, 0), (0x7FFFF024, 0x7FFFF000))
    extras = (b"", b"LIST\x03\0\0\0abc\0", b"junk\0\0\0\0" * 3)
    for dtype, scale in (("<f4", 1), ("<f8", 1), ("<i2", 2**15), ("<i4", 2**31)):
        for channels in (1, 2, 5):
            x = rng.uniform(-0.9, 0.9, (channels, int(rng.integers(1, 5000))))
            stored = (x * scale).astype(dtype)
            want = causal(stored / scale, h)
            for sizes in (None, *unknown):
                data = wav(stored, dtype, sizes=sizes, extra=extras[rng.integers(3)],
                           after=b"" if sizes else extras[rng.integers(2)])
                out, _ = run_in_pieces(data, [*LIVE, "256"])
                rate, kind, got, size = parse_wav(out)
                check(rate == 48000 and kind == "<f4" and size == 0xFFFFFFFF, rate, kind, size)
                close(f"WAV of {dtype}, {channels} channels, sizes {sizes}", want, got)
    # Integers are fractions of full scale; from WAV to raw samples and back.
    out, _ = run(data, [*LIVE, "256", "--output-type", "int16"])
    rate, kind, got, _ = parse_wav(out)
    check(kind == "<i2" and np.abs(got / 2.0**15 - np.clip(want, -1, 1)).max() < 1e-4, "int16 in WAV")
    out, _ = run(data, [*LIVE, "256", "--pipe-format", "raw"])
    close("WAV to raw", want, np.frombuffer(out, "<f4").reshape(-1, 5))
    out, _ = run(stored.T.tobytes(), [*LIVE, "256", "--raw", "i32", "--channels", "5", "--pipe-format", "wav", "--rate",
                                      "96000", "--output-type", "float64"])
    rate, kind, got, _ = parse_wav(out)
    check(rate == 96000 and kind == "<f8", rate, kind)
    close("raw to WAV", causal(stored.astype("f8"), h) / 2**31, got / 2**31)
    # In a file, the header tells the number of samples.
    Path("x.wav").write_bytes(data)
    with open("x.wav", "rb") as given, open("y.wav", "wb") as taken:
        code = subprocess.run([command, "filter", *LIVE, "256"], stdin=given, stdout=taken, check=False).returncode
    check(code == 0, "exit code", code)
    rate, kind, got, size = parse_wav(Path("y.wav").read_bytes())
    close("WAV in files", want, got)
    check(size == got.nbytes, "bytes in the header", size)


def check_damage():
    """Tests that cut and damaged input ends with one sentence, after the results of what was whole."""
    h = rng.uniform(-1, 1, (1, 70)) / 8
    h.tofile("h.f64")
    x = rng.uniform(-1, 1, (2, 1000))
    want = causal(x, h)
    raw = [*LIVE, "128", "--raw", "f32", "--channels", "2"]
    data = x.T.astype("<f4").tobytes()
    for cut in (1, 4, 7, 13, len(data) - 1, len(data) - 5, 128 * 8 + 3):
        out, err = run_in_pieces(data[:cut], raw, 65)
        whole = cut // 8
        check(err.count("\n") == 1 and ("ended within a" in err if whole else True), cut, err)
        if whole:
            close(f"raw cut at {cut}", want[:whole], np.frombuffer(out, "<f4").reshape(-1, 2))
    _, err = run(b"", raw, 65)
    check("no samples" in err, err)
    _, err = run(b"12", [*raw, "--header", "5"], 65)
    check("of its header" in err, err)
    whole = wav(x, "<f4")
    for cut in (*range(12, 44, 3), 44, 45, 60, 1000, len(whole) - 1):
        out, err = run_in_pieces(whole[:cut], [*LIVE, "128"], 65)
        check(err.count("\n") == 1, cut, err)
        frames = max(0, cut - 44) // 8
        if frames:
            close(f"WAV cut at {cut}", want[:frames], parse_wav(out)[2])
            check("truncated" in err or "ended within a" in err, err)
    for cut in (0, 1, 5, 11):
        _, err = run(whole[:cut], [*LIVE, "128"], 2)
        check("(--raw)" in err and err.count("\n") == 1, err)
    # Random bytes in the header end with a sentence or with results, and never by a signal.
    for _ in range(150):
        damaged = bytearray(whole[:400])
        for _ in range(int(rng.integers(1, 4))):
            damaged[int(rng.integers(0, 48))] = int(rng.integers(256))
        process = start([*LIVE, "128"])
        _, err = process.communicate(bytes(damaged), timeout=300)
        check(process.returncode in (0, 2, 3, 65) and err.count(b"\n") <= 1, bytes(damaged[:48]), process.returncode,
              err.decode())


def check_at_once():
    """Tests that each block leaves as soon as its last sample has come."""
    np.array([1.0, 0.5]).tofile("h.f64")
    process = start([*LIVE, "64", "--raw", "f32"])
    last = 0.0
    for block in range(200):
        sent = rng.uniform(-1, 1, 64).astype("<f4")
        process.stdin.write(sent.tobytes())
        process.stdin.flush()
        got = np.frombuffer(process.stdout.read(256), "<f4")
        close(f"block {block}", sent + 0.5 * np.concatenate([[last], sent[:-1]]), got)
        last = sent[-1]
    process.stdout.close()
    process.stdin.write(sent.tobytes())
    process.stdin.flush()
    check(process.wait(20) == 141, "exit code of a closed pipe", process.returncode)
    for stop in (signal.SIGINT, signal.SIGTERM):
        process = start([*LIVE, "64", "--raw", "f32"])
        process.stdin.write(bytes(4 * 100))
        process.stdin.flush()
        check(len(process.stdout.read(256)) == 256, "a block before the stop")
        process.send_signal(stop)
        check(process.wait(20) == 130, "exit code after a stop", process.returncode)
        check(b"interrupted" in process.stderr.read(), "no sentence")


def check_reports_and_refusals():
    np.ones((1, 9)).tofile("h.f64")
    np.ones(50, "f4").tofile("x.f32")
    data = np.ones(1000, "<f4").tobytes()
    loud = ["-", "h.f64", "-o", "-", "--raw", "f32", "--latency", "64"]
    _, err = run(data, loud)
    check("16 of 64 samples" in err and "99.9 %" in err and "partitions" in err, err)
    process = start([*loud, "--dry-run"])
    check(process.wait(20) == 0 and process.stdout.read() == b"", "dry run")
    for arguments, text in (
            (["x.f32", "h.f64", "-o", "-", "--latency", "64"], "standard input"),
            (["-", "h.f64", "-o", "y.f32", "--raw", "f32", "--latency", "64"], "standard output"),
            ([*loud, "--window", "decimate:2"], "--window"),
            ([*loud, "--origin", "causal"], "--origin"),
            ([*loud, "--mode", "valid"], "--mode"),
            ([*loud, "--layout", "planar"], "--layout"),
            ([*loud[:-1], "31"], "32"),
            ([*loud[:-1], "37"], "prime"),
            ([*loud[:-1], "0"], "--latency"),
            ([*loud, "--rate", "48000"], "--pipe-format"),
            ([*loud, "--pipe-format", "wav"], "--rate"),
            ([*loud, "--pipe-format", "mp3"], "mp3"),
            ([*loud, "-q", "--output-type", "ci16"], "ci16"),
            ([*loud[:5], "cu8", *loud[6:]], "--raw"),
            (loud[:-2] + ["--channels", "2"], "--latency")):
        out, err = run(data, arguments, 2)
        check(out == b"" and text in err and err.count("\n") == 1, arguments, err)


print("seed", SEED)
for part in (check_raw, check_matrix, check_wav, check_damage, check_at_once, check_reports_and_refusals):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        began = time.time()
        part()
        print(part.__name__, round(time.time() - began, 1), "s")
        os.chdir("/")
finish()
