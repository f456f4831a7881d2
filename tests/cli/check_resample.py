# SPDX-License-Identifier: Apache-2.0
"""Compares results of `convolume resample` with SciPy in double precision: check_resample.py CONVOLUME SNDFILE.

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
    import numpy as np
    from scipy import signal as scipy_signal
    from scipy.io import wavfile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

rng = np.random.default_rng(int(os.environ.get("CONVOLUME_TEST_SEED", 20261126)))
command, sndfile = sys.argv[1], sys.argv[2] not in ("", "OFF", "0", "FALSE")


def run(arguments, status=0, data=None):
    done = subprocess.run([command, "resample", *arguments], capture_output=True, input=data)
    if done.returncode != status:
        failures.append(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done


def refused(arguments, *words, status=2):
    sentence = run(arguments, status).stderr.decode()
    check(all(word in sentence for word in words), arguments, sentence)


def check_close(name, want, got, bound=2e-6):
    if want.shape != got.shape:
        check(False, name, "shape", got.shape, "instead of", want.shape)
        return
    error = np.abs(want - got).max() / max(1e-30, np.abs(want).max())
    check(error < bound, name, "error", error)


def check_files():
    x = rng.uniform(-1, 1, (2, 3, 5000))
    np.save("x.npy", x)
    run(["x.npy", "y.npy", "--up", "160", "--down", "147", "--precision", "float64", "-q"])
    check_close("factors", scipy_signal.resample_poly(x, 160, 147, axis=-1), np.load("y.npy"), 1e-13)
    run(["x.npy", "-o", "half.npy", "--down", "2", "-q", "--chunk", "7", "--extend", "reflect"])
    check_close("small chunks", scipy_signal.resample_poly(x, 1, 2, axis=-1, padtype="reflect"), np.load("half.npy"))
    run(["x.npy", "same.npy", "--up", "3", "--down", "3", "-q"])
    check_close("no change", x, np.load("same.npy"))
    z = rng.uniform(-9, 9, 3000) + 1j * rng.uniform(-9, 9, 3000)
    z.astype("c8").tofile("z.c64")
    run(["z.c64", "z2.c64", "--up", "2", "-q", "--zeros", "16", "--kaiser", "8.5"])
    taps = scipy_signal.firwin(2 * 16 * 2 + 1, 1 / 2, window=("kaiser", 8.5))
    check_close("complex", scipy_signal.resample_poly(z, 2, 1, window=taps), np.fromfile("z2.c64", "c8"))
    h = rng.uniform(-1, 1, 31)
    np.save("h.npy", h)
    run(["x.npy", "own.npy", "--up", "3", "--down", "2", "--filter", "h.npy", "-q"])
    check_close("own filter", scipy_signal.resample_poly(x, 3, 2, axis=-1, window=h / 3), np.load("own.npy"))
    loud = np.full(1000, 32000, "<i2")
    loud[::2] = -32000
    loud.tofile("loud.i16")
    done = run(["loud.i16", "clamped.i16", "--up", "2"])
    check("above the range of int16 were clamped" in done.stderr.decode(), done.stderr)


def check_pipes():
    x = rng.uniform(-1, 1, 100000).astype("<f4")
    want = scipy_signal.resample_poly(x.astype(float), 147, 160)
    out = run(["-", "-", "--raw", "f32", "--input-rate", "48000", "--rate", "44100", "-q"], data=x.tobytes()).stdout
    check_close("pipe", want, np.frombuffer(out, "<f4"))
    x.tofile("x.f32")
    run(["x.f32", "file.f32", "--up", "147", "--down", "160", "-q", "--threads", "2"])
    check(out == Path("file.f32").read_bytes(), "a pipe has the bits of a file")
    few = x[:300]
    run(["-", "piped.npy", "--raw", "f32", "--up", "147", "--down", "160", "-q", "--chunk", "1"], data=few.tobytes())
    check_close("chunks of one sample", scipy_signal.resample_poly(few.astype(float), 147, 160), np.load("piped.npy"))
    done = run(["-", "-", "--raw", "f32", "--down", "2", "-q"], 65, data=x.tobytes()[:-1])
    check(b"ended within a float32 sample" in done.stderr, done.stderr)
    run(["-", "-", "--raw", "f32", "--down", "2", "-q"], 65, data=b"")
    # Results leave before the signal ends.
    process = subprocess.Popen([command, "resample", "-", "-", "--raw", "f32", "--down", "2", "-q", "--chunk", "1000"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(x[:1000].tobytes())
    process.stdin.flush()
    check(len(process.stdout.read(400)) == 400, "early results")
    process.communicate()
    check(process.returncode == 0, "the pipe ends with", process.returncode)


def check_rates():
    music = (20000 * np.sin(np.arange(44100) * [[0.05], [0.11]])).astype("<i2").T
    wavfile.write("music.wav", 44100, music)
    run(["music.wav", "music48.wav", "--rate", "48000", "-q"])
    rate, found = wavfile.read("music48.wav")
    check(rate == 48000 and found.shape == (48000, 2), "WAV", rate, found.shape)
    check_close("WAV", scipy_signal.resample_poly(music / 32768, 160, 147), found)
    run(["music.wav", "half.wav", "--down", "2", "-q", "--output-type", "int16"])
    rate, found = wavfile.read("half.wav")
    check(rate == 22050 and found.dtype == np.int16, "WAV of integers", rate, found.dtype)
    facts = json.loads(run(["music.wav", "--rate", "48000", "--dry-run", "--json"]).stdout)
    check(facts["plan"] == {"up": 160, "down": 147, "taps": 3201}, facts)
    check(facts["output"]["shape"] == [2, 48000] and facts["input"]["rate_hz"] == 44100, facts)
    refused(["music.wav", "a.wav", "--rate", "0"], "above 0 Hz")


def check_any_rates():
    """A tone has its values at the times of the results."""
    def tone(times):
        return np.exp(2j * np.pi * 0.123 * times)

    for name, arguments, ratio, bound in (
            ("ratio", ["--ratio", "1.00013"], 1.00013, 1e-6), ("a third", ["--ratio", "0.3"], 0.3, 1e-6),
            ("attenuation", ["--ratio", "1.125", "--attenuation", "160", "--pass-band", "0.8"], 1.125, 1e-8),
            ("rates", ["--input-rate", "44100", "--rate", "44100.001"], 44100.001 / 44100, 1e-6),
            ("fine rates", ["--input-rate", "44100", "--rate", "48000.00001"], 48000.00001 / 44100, 1e-6),
            ("chosen", ["--input-rate", "44100", "--rate", "48000", "--attenuation", "120"], 48000 / 44100, 1e-6)):
        np.save("tone.npy", tone(np.arange(5000.0)))
        run(["tone.npy", "any.npy", *arguments, "--precision", "float64", "-q", "--overwrite", "--chunk", "333"])
        want = tone(np.arange(0, 5000, 1 / ratio))
        check_close(name, want[400:-400], np.load("any.npy")[400:-400], bound)
    samples = rng.uniform(-1, 1, 9000).astype("<f4")
    samples.tofile("some.f32")
    run(["some.f32", "some2.f32", "--ratio", "1.375", "-q"])
    out = run(["-", "-", "--raw", "f32", "--ratio", "1.375", "-q", "--chunk", "99"], data=samples.tobytes()).stdout
    check(out == Path("some2.f32").read_bytes() and len(out) == 4 * 12375, "a pipe has the bits of a file at any rate")
    run(["some.f32", "some.wav", "--input-rate", "8000", "--ratio", "1.25", "-q"])
    check(wavfile.read("some.wav")[0] == 10000, "the rate of a WAV file")
    told = json.loads(run(["some.f32", "--ratio", "1.375", "--dry-run", "--json"]).stdout)["plan"]
    check(told == {"ratio": 1.375, "taps": told["taps"], "attenuation_db": 120, "pass_band": 0.9}, told)


def check_refusals():
    refused(["x.npy", "a.npy"], "--rate HZ, --up L and --down M, or --ratio R")
    refused(["x.npy", "a.npy", "--ratio", "2", "--up", "2"], "--ratio")
    refused(["x.npy", "a.npy", "--ratio", "2", "--kaiser", "9"], "--kaiser")
    refused(["x.npy", "a.npy", "--up", "2", "--attenuation", "90"], "--up and --down")
    refused(["x.npy", "a.npy", "--ratio", "2", "--attenuation", "5"], "from 20 to 180 dB")
    refused(["x.npy", "a.npy", "--ratio", "1e9"], "from 0.0001 to 10000")
    refused(["x.npy", "a.npy", "--input-rate", "44100", "--rate", "44100.001", "--extend", "edge"], "--extend")
    refused(["x.npy", "a.npy", "--rate", "100"], "--input-rate")
    refused(["x.npy", "a.wav", "--up", "2"], "--input-rate")
    refused(["x.npy", "a.npy", "--up", "99999999999999999999"], "--up is a whole number from 1 to ")
    refused(["x.npy", "a.npy", "--rate", "100", "--up", "2"], "--up")
    refused(["x.npy", "a.npy", "--up", "0"], "--up")
    refused(["x.npy", "a.npy", "--up", "2", "--extend", "wrap"], "both ends")
    refused(["x.npy", "a.npy", "--up", "2", "--extend", "around"], "antireflect")
    refused(["x.npy", "-", "--up", "2"], "6")
    refused(["x.npy", "--up", "2"], "-o")
    refused(["absent.npy", "a.npy", "--up", "2"], "absent.npy", status=66)
    np.save("bad.npy", np.array([1, np.nan]))
    refused(["x.npy", "a.npy", "--up", "2", "--filter", "bad.npy"], "tap 1", status=65)
    refused(["x.npy", "a.npy", "--up", "2", "--filter", "x.npy"], "one row of taps", status=65)
    np.save("empty.npy", np.empty(0))
    check(run(["empty.npy", "a.npy", "--up", "2"], 65).stderr.count(b"\n") == 1, "an empty signal: one sentence")
    check(not Path("a.npy").exists(), "refused runs leave no file")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_files()
    check_pipes()
    if sndfile:
        check_rates()
    check_any_rates()
    check_refusals()
    os.chdir("/")
finish()
