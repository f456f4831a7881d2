# SPDX-License-Identifier: Apache-2.0
"""Compares what all commands on signals compute of interleaved files, WAV and raw samples on standard input with what
they compute of the same samples in an NPY array: check_signal_inputs.py CONVOLUME WAV. WAV tells whether such files are
written.

Ends with 77 (skipped) if a module is missing."""
import os
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20261130))
rng = np.random.default_rng(SEED)
command, writes_wav = os.path.abspath(sys.argv[1]), sys.argv[2] == "ON"

# The command of each subcommand between SIGNAL and the file of its result. All keep every signal apart.
COMMANDS = {
    "filter": ["h.f64", "--device", "cpu", "-o"],
    "resample": ["--up", "3", "--down", "2", "-o"],
    "channelize": ["--channels", "8", "-o"],
    "correlate": ["h.f64", "--device", "cpu", "--threshold", "1", "-o", "peaks.csv", "--snr"],
}


def run(arguments, status=0, data=b"", env=None):
    done = subprocess.run([command, *arguments], capture_output=True, input=data, env=env)
    check(done.returncode == status, arguments, "exit code", done.returncode, done.stderr.decode())
    return done


def result_of(name, signal, options=(), data=b""):
    Path("out.npy").unlink(missing_ok=True)
    run([name, signal, *COMMANDS[name], "out.npy", *options, "--overwrite", "-q"], data=data)
    peaks = Path("peaks.csv").read_bytes() if name == "correlate" else b""
    return (np.load("out.npy") if Path("out.npy").exists() else None), peaks


def check_equal(name, what, want, got):
    same = got[0] is not None and want[0].shape == got[0].shape and np.array_equal(want[0], got[0])
    check(same and want[1] == got[1], name, what, "differs", want[0].shape, None if got[0] is None else got[0].shape)


def wav_bytes(samples):
    """Returns WAV of int16 samples (channels, samples)."""
    with wave.open("made.wav", "wb") as file:
        file.setnchannels(len(samples))
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(np.ascontiguousarray(samples.T).astype("<i2").tobytes())
    return Path("made.wav").read_bytes()


def save_with_rate(path, samples):
    np.save(path, samples if len(samples) > 1 else samples[0])
    Path(path + ".json").write_text('{"sampling_rate_hz": 8000}')


def check_layouts():
    """Tests both layouts of raw files of every kind of sample."""
    for name in COMMANDS:
        for dtype, ending in (("<i2", "i16"), ("<f4", "f32"), ("<c8", "c64"), ("<f8", "f64")):
            signals = rng.integers(-99, 99, (3, 700)).astype(dtype)
            if "c" in dtype:
                signals += 1j * rng.integers(-99, 99, (3, 700)).astype("f4")
            np.save("x.npy", signals)
            want = result_of(name, "x.npy")
            check(want[0].shape[0] == 3, name, want[0].shape)
            signals.tofile("x." + ending)
            check_equal(name, ending, want, result_of(name, "x." + ending, ["--signals", "3", "--layout", "planar"]))
            with open("x." + ending, "wb") as file:
                file.write(b"header!")
                np.ascontiguousarray(signals.T).tofile(file)
            options = ["--signals", "3", "--layout", "interleaved", "--header", "7"]
            check_equal(name, ending, want, result_of(name, "x." + ending, options))
            if name == "channelize":
                continue  # a file holds one channel after another, and a pipe has no length
            frames = Path("x." + ending).read_bytes()
            options = ["--signals", "3", "--raw", ending, "--header", "7"]
            check_equal(name, "piped " + ending, want, result_of(name, "-", options, frames))
    np.arange(12, dtype="<i2").tofile("x.i16")
    for name in COMMANDS:
        done = run([name, "x.i16", *COMMANDS[name], "no.npy", "--signals", "3", "--overwrite"], 2)
        check(b"(--layout)" in done.stderr and b"interleaved" in done.stderr, name, done.stderr)
        options = ["--signals", "5", "--layout", "interleaved", "--overwrite"]
        done = run([name, "x.i16", *COMMANDS[name], "no.npy", *options], 2)
        check(b"12 samples" in done.stderr, name, done.stderr)
    pairs = np.arange(24, dtype="<i2")
    pairs.tofile("x.ci16")
    got = result_of("filter", "x.ci16", ["--signals", "2", "--layout", "interleaved", "--precision", "float64"])[0]
    complex_samples = pairs[::2] + 1j * pairs[1::2]
    np.save("x.npy", complex_samples.reshape(6, 2).T)
    check(np.array_equal(got, result_of("filter", "x.npy", ["--precision", "float64"])[0]), "pairs of integers")


def check_wav_on_standard_input():
    for name in ("filter", "resample", "correlate"):
        for channels in (1, 2, 5):
            for samples in (1, 1000, 70001):
                values = rng.integers(-30000, 30000, (channels, samples))
                data = wav_bytes(values)
                save_with_rate("x.npy", values.astype("f4") / 32768)
                check_equal(name, f"{channels} × {samples}", result_of(name, "x.npy"), result_of(name, "-", data=data))
        # The header may be of a program that did not know the size.
        unknown = bytearray(data)
        unknown[4:8] = unknown[40:44] = b"\xff\xff\xff\xff"
        check_equal(name, "without a size", result_of(name, "x.npy"), result_of(name, "-", data=bytes(unknown)))
        for cut in (data[:-3], data[:30]):
            done = run([name, "-", *COMMANDS[name], "no.npy", "-q", "--overwrite"], 65, cut)
            check(b"truncated" in done.stderr or b"ended within" in done.stderr, name, done.stderr)
    if not writes_wav:
        return
    rate = run(["resample", "-", "--rate", "16000", "-o", "twice.wav", "-q", "--output-type", "int16"],
               data=wav_bytes(np.ones((2, 50))))
    with wave.open("twice.wav") as file:
        check((file.getframerate(), file.getnchannels(), file.getnframes()) == (16000, 2, 100), rate.stderr)


def check_refusals():
    data = wav_bytes(np.ones((2, 50)))
    for arguments, status, text in (
            (["filter", "-", "h.f64", "-o", "-"], 2, b"2 signals"),
            (["resample", "-", "-", "--up", "2"], 2, b"holds one signal"),
            (["filter", "-", "h.f64", "-o", "no.npy", "--layout", "planar"], 2, b"(--layout)"),
            (["filter", "-", "h.f64", "-o", "no.npy", "--signals", "2"], 2, b"(--raw)"),
            (["filter", "-", "h.f64", "-o", "no.npy", "--signals", "70000", "--raw", "i8"], 2, b"70000 signals")):
        done = run([*arguments, "-q"], status, data)
        check(text in done.stderr, arguments, done.stderr)
    done = run(["filter", "-", "h.f64", "-o", "no.npy"], 73, data, {**os.environ, "TMPDIR": "/proc"})
    check(b"TMPDIR" in done.stderr, done.stderr)
    check(not Path("no.npy").exists(), "no.npy is left")


print("seed", SEED)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    rng.uniform(-1, 1, 9).tofile("h.f64")
    check_layouts()
    check_wav_on_standard_input()
    check_refusals()
    os.chdir("/")
finish()
