# SPDX-License-Identifier: Apache-2.0
"""Compares results of `convolume channelize` with sums in double precision: check_channelize.py CONVOLUME HDF5.

Ends with 77 (skipped) if a module is missing."""
import io
import json
import os
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, failures, finish

try:
    import numpy as np
    from scipy.signal import firwin
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20261126))
rng = np.random.default_rng(SEED)
command, hdf5 = sys.argv[1], sys.argv[2] == "ON"


def run(arguments, status=0, data=None):
    done = subprocess.run([command, "channelize", *map(str, arguments)], capture_output=True, input=data)
    if done.returncode != status:
        failures.append(f"{arguments}: exit code {done.returncode}: {done.stderr.decode()}")
    return done


def reference(x, channels, taps, step=None, first=0, tail=False):
    """Returns y[m, n] = sum_l h[l] x[t - l] exp(-2j pi m (t - l) / M), t = first + n step."""
    step = step or channels
    frames = -(-(len(x) + (len(taps) - 1 if tail else 0) - first) // step)
    result = np.zeros((channels, frames), complex)
    for n in range(frames):
        t = first + n * step - np.arange(len(taps))
        inside = (t >= 0) & (t < len(x))
        sums = np.zeros(channels, complex)
        np.add.at(sums, t[inside] % channels, taps[inside] * x[t[inside]])
        result[:, n] = np.fft.fft(sums)
    return result


def prototype(channels, taps, window="hamming"):
    return firwin(channels * taps, 1 / channels, window=window)


def check_close(name, want, got, bound=1e-6):
    if want.shape != got.shape:
        check(False, name, "shape", got.shape, "instead of", want.shape)
        return
    error = np.linalg.norm(want - got) / np.linalg.norm(want)
    check(error < bound, name, "error", error)


def check_options(folder):
    pairs = rng.integers(-3000, 3000, (5000, 2)).astype("<i2")
    x = pairs[:, 0] + 1j * pairs[:, 1]
    signal, result = folder / "signal.ci16", folder / "result.npy"
    pairs.tofile(signal)
    for options, want in (
            ([], reference(x, 24, prototype(24, 8))),
            (["--taps", 5, "--step", 18], reference(x, 24, prototype(24, 5), 18)),
            (["--window", "kaiser:7", "--first", 100, "--tail"],
             reference(x, 24, prototype(24, 8, ("kaiser", 7)), None, 100, True))):
        run([signal, "--channels", 24, "-o", result, "--overwrite", *options])
        check_close(f"options {options}", want, np.load(result))
    taps = rng.uniform(-1, 1, 77)
    np.save(folder / "taps.npy", taps)
    run([signal, "--channels", 10, "--prototype", folder / "taps.npy", "--precision", "float64", "-o", result,
         "--overwrite"])
    check_close("a prototype", reference(x, 10, taps), np.load(result), 1e-13)
    report = json.loads(run([signal, "--channels", 24, "--dry-run", "--json"]).stdout)
    check(report["output"]["shape"] == [24, 209], "shape of a dry run", report["output"])
    check(report["plan"]["step"] == 24 and report["plan"]["taps_per_channel"] == 8, "plan", report["plan"])


def check_files(folder):
    signals = rng.uniform(-1, 1, (2, 3, 1000))
    np.save(folder / "signals.npy", signals)
    outputs = ["out.npy", "out.c64"] + (["out.h5"] if hdf5 else [])
    want = np.stack([[reference(x, 8, prototype(8, 8))[:5] for x in row] for row in signals])
    for output in outputs:
        run([folder / "signals.npy", "--channels", 8, "-o", folder / output])
    check_close("signals in NPY", want, np.load(folder / "out.npy"))
    check_close("raw channels", want.ravel(), np.fromfile(folder / "out.c64", "<c8"))
    if hdf5:
        import h5py
        with h5py.File(folder / "out.h5") as file:
            check_close("channels in HDF5", want, file["data"][...])
    samples = rng.integers(-30000, 30000, 4000).astype("<i2")
    with wave.open(str(folder / "sound.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(48000)
        sound.writeframes(samples.tobytes())
    done = run([folder / "sound.wav", "--channels", 8, "-o", folder / "sound.npy"])
    if done.returncode == 0:
        got = np.load(folder / "sound.npy").reshape(5, -1)
        check_close("WAV", reference(samples / 32768, 8, prototype(8, 8))[:5], got)


def check_pipes(folder):
    x = rng.uniform(-1, 1, 300_000).astype("<f4")
    want = reference(x[:3000], 16, prototype(16, 8))[:9]
    got = np.frombuffer(run(["-", "--raw", "f32", "--channels", 16, "-o", "-"], data=x.tobytes()).stdout, "<c8")
    check(got.size == 9 * 18750, "frames on standard output", got.size)
    check_close("standard output", want.T, got.reshape(-1, 9)[:188])
    x.tofile(folder / "x.f32")
    run([folder / "x.f32", "--channels", 16, "-o", folder / "x.npy"])
    check(np.load(folder / "x.npy").T.tobytes() == got.tobytes(), "a pipe and a file have different bits")
    done = run(["-", "--raw", "f32", "--channels", 16, "-o", folder / "piped.npy"], 2, x.tobytes())
    check(b"standard output" in done.stderr, "a file from a pipe", done.stderr)


def wav_bytes(samples):
    """Returns WAV of int16 samples (channels, samples)."""
    made = io.BytesIO()
    with wave.open(made, "wb") as sound:
        sound.setnchannels(len(samples))
        sound.setsampwidth(2)
        sound.setframerate(48000)
        sound.writeframes(np.ascontiguousarray(samples.T).tobytes())
    return made.getvalue()


def check_several_signals(folder):
    """Tests frames of several signals on standard output, from files, WAV and raw samples."""
    samples = rng.integers(-30000, 30000, (3, 5000)).astype("<i2")
    np.save(folder / "three.npy", samples / np.float32(32768))
    divide = ["--channels", 10, "--step", 7, "-o"]
    run([folder / "three.npy", *divide, folder / "three_channels.npy"])
    want = np.moveaxis(np.load(folder / "three_channels.npy"), -1, 0)  # frames × signals × channels
    raw = (samples / np.float32(32768)).T.astype("<f4").tobytes()
    for name, arguments, data in (
            ("a file", [folder / "three.npy"], b""), ("WAV", ["-"], wav_bytes(samples)),
            ("raw samples", ["-", "--raw", "f32", "--signals", 3], raw),
            *((f"WAV by {n}", ["-", "--latency", n], wav_bytes(samples)) for n in (1, 7, 64, 10000))):
        got = np.frombuffer(run([*arguments, *divide, "-"], data=data).stdout, "<c8")
        check(got.tobytes() == want.tobytes(), name, "has other frames", got.size, want.size)
    for cut in (1, 3):
        done = run(["-", *divide, "-", "--latency", 64], 65, wav_bytes(samples)[:-cut])
        whole = want[:-(-4999 // 7)]
        check(done.stdout == whole.tobytes(), "frames before the end", len(done.stdout), whole.nbytes)
        check(b"standard input ended" in done.stderr, done.stderr)


def check_live(folder):
    """Tests that frames leave as soon as their block is complete."""
    x = (rng.uniform(-1, 1, 3000) + 1j * rng.uniform(-1, 1, 3000)).astype("<c8")
    want = reference(x, 16, prototype(16, 8), 12).T
    arguments = ["-", "--raw", "c64", "--channels", "16", "--step", "12", "--latency", "50", "-o", "-"]
    process = subprocess.Popen([command, "channelize", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    frames = 0
    for begin in range(0, 3000, 50):
        process.stdin.write(x[begin:begin + 50].tobytes())
        process.stdin.flush()
        complete = (begin + 49) // 12 + 1
        got = process.stdout.read(16 * 8 * (complete - frames))  # waits for these frames and no others
        check_close(f"frames {frames} to {complete}", want[frames:complete], np.frombuffer(got, "<c8").reshape(-1, 16))
        frames = complete
    process.stdin.close()
    check(process.stdout.read() == b"" and process.wait(timeout=60) == 0, "the end of a live signal")
    text = process.stderr.read().decode()
    check("60 of 50 samples" in text and "99.9 %" in text, text)
    report = run(["-", "--channels", 16, "--latency", 480, "-o", "-"], data=wav_bytes(np.zeros((1, 960), "<i2")))
    check("2 of 480 samples (10 ms each)" in report.stderr.decode(), report.stderr)
    for arguments, word in (([folder / "three.npy", "--latency", 8, "-o", "-"], b"--latency"),
                            (["-", "--latency", 8, "-o", folder / "no.npy"], b"--latency"),
                            (["-", "--latency", 0, "-o", "-"], b"--latency")):
        check(word in run([*arguments, "--channels", 8], 2).stderr, arguments)


def check_bad_input(folder):
    signal = folder / "signal.ci16"
    for arguments, status, word in (
            ([signal, "-o", "a.npy"], 2, "--channels"),
            ([signal, "--channels", 0, "-o", "a.npy"], 2, "--channels"),
            ([signal, "--channels", 8, "--step", 9, "-o", "a.npy"], 2, "a step of 9"),
            ([signal, "--channels", 8, "--first", 9000, "-o", "a.npy"], 2, "--first"),
            ([signal, "--channels", 8, "--window", "kaiser", "-o", "a.npy"], 2, "kaiser:BETA"),
            ([signal, "--channels", 8, "--prototype", folder / "signals.npy", "-o", "a.npy"], 65, "one row"),
            ([folder / "none.npy", "--channels", 8, "-o", "a.npy"], 66, "none.npy")):
        done = run(arguments, status)
        check(word in done.stderr.decode(), arguments, done.stderr.decode())
        check(done.stderr.decode().count("\n") <= 1, arguments, "more than one line")
        check(not Path("a.npy").exists(), arguments, "left a file")
    x = np.ones(100, "<f4")
    x[60] = np.nan
    x.tofile(folder / "nan.f32")
    done = run([folder / "nan.f32", "--channels", 4, "-o", folder / "nan.npy"], 65)
    check("sample 60" in done.stderr.decode(), "NaN", done.stderr.decode())
    check(not (folder / "nan.npy").exists(), "NaN left a file")
    done = run([folder / "nan.f32", "--channels", 4, "--nan", "zero", "-o", folder / "nan.npy"])
    check("1 NaN" in done.stderr.decode(), "NaN as zero", done.stderr.decode())


print("seed", SEED)
with tempfile.TemporaryDirectory() as name:
    check_options(Path(name))
    check_files(Path(name))
    check_pipes(Path(name))
    check_several_signals(Path(name))
    check_live(Path(name))
    check_bad_input(Path(name))
finish()
