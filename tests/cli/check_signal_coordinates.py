# SPDX-License-Identifier: Apache-2.0
"""Tests the sampling rate, the time of the first sample and the center frequencies that results of commands on signals
keep, in HDF5 and beside NPY: check_signal_coordinates.py CONVOLUME HDF5 WAV.

Ends with 77 (skipped) if a module is missing."""
import csv
import json
import os
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import h5py
    import numpy as np
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command, hdf5, wav = os.path.abspath(sys.argv[1]), sys.argv[2] == "ON", sys.argv[3] == "ON"
RATE, START = 8000.0, 2.5
NAMES = ("sampling_rate_hz", "start_s", "center_frequencies_hz")


def run(arguments, status=0):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode == status, arguments, "exit code", done.returncode, done.stderr)
    return done


def facts_of(path):
    """Returns the array and what is stored of its rate, start and frequencies."""
    if path.endswith(".npy"):
        beside = Path(path + ".json")
        facts = json.loads(beside.read_text()) if beside.exists() else {}
        return np.load(path), *(facts.get(name) for name in NAMES)
    with h5py.File(path) as file:
        dataset = file["data"]
        numbers = [dataset.attrs.get(name) for name in NAMES]
        check(all(one is None or one.dtype == "<f8" for one in numbers), numbers)
        return dataset[:], *(None if one is None else one.tolist() if name == NAMES[2] else float(one[0])
                             for name, one in zip(NAMES, numbers))


def save(path, array, rate=RATE, start=START, frequencies=None):
    if path.endswith(".h5"):
        with h5py.File(path, "w") as file:
            file["data"] = array
            for name, value in zip(NAMES, (rate, start, frequencies)):
                if value is not None:
                    file["data"].attrs[name] = value
        return
    np.save(path, array)
    facts = {name: value for name, value in zip(NAMES, (rate, start, frequencies)) if value is not None}
    Path(path + ".json").write_text(json.dumps(facts))


def check_time_of(name, path, at_s, rate):
    """Tests that the largest result is at the time of the event."""
    array, found_rate, start, _ = facts_of(path)
    check(found_rate is not None and abs(found_rate / rate - 1) < 1e-12, name, "rate", found_rate, rate)
    power = np.abs(array.reshape(-1, array.shape[-1])).max(0)
    found = start + power.argmax() / rate
    check(abs(found - at_s) <= 0.5 / rate + 1e-12, name, "an event at", at_s, "s is found at", found)


def check_events(ending):
    """Tests the times of an event in the results of all commands."""
    samples = np.zeros((2, 4000), "f4")
    samples[1, 1230] = 100
    at_s = START + 1230 / RATE
    save("x" + ending, samples)
    np.array([0, 0, 1.0, 0, 0, 0, 0]).tofile("delta.f64")
    for options in ([], ["--mode", "full"], ["--mode", "valid"], ["--range", "1000:2000"], ["--range=7:3000"]):
        run(["filter", "x" + ending, "delta.f64", "--origin", "2", "--device", "cpu", "-o", "y" + ending, "--overwrite",
             *options])
        check_time_of(("filter", options), "y" + ending, at_s, RATE)
    np.ones(16).tofile("flat.f64")
    run(["filter", "x" + ending, "flat.f64", "--device", "cpu", "--mode", "full", "--window", "peak:16", "-o",
         "y" + ending, "--overwrite"])
    array, rate, start, _ = facts_of("y" + ending)
    check((array.shape, rate, start) == ((2, 251), RATE / 16, START - 7 / RATE), array.shape, rate, start)
    for factors, rate in ((["--up", "3", "--down", "2"], RATE * 1.5), (["--rate", "6000"], 6000),
                          (["--down", "4", "--input-rate", "16000"], 4000)):
        run(["resample", "x" + ending, "y" + ending, *factors, "--overwrite"])
        # Times count from START, at the rate that the command was told.
        check_time_of(("resample", factors), "y" + ending, START + 1230 / (16000 if rate == 4000 else RATE), rate)
    pulse = np.hanning(64)
    np.asarray(pulse).tofile("pulse.f64")
    samples[1, 1230:1294] += 50 * pulse.astype("f4")
    samples[1, 1230] -= 100
    save("x" + ending, samples)
    run(["correlate", "x" + ending, "pulse.f64", "--device", "cpu", "-o", "peaks.csv", "--snr", "y" + ending,
         "--overwrite", "--mode", "full"])
    check_time_of("correlate", "y" + ending, at_s, RATE)
    with open("peaks.csv", newline="") as file:
        peaks = list(csv.DictReader(file))
    check(len(peaks) == 1 and abs(float(peaks[0]["seconds"]) - at_s) < 1e-5, peaks)


def check_channels(ending):
    """Tests times and frequencies of channels by a pulse and by tones."""
    pulse = np.zeros(6000, "c8")
    pulse[2345] = 1
    t = np.arange(6000) / RATE
    for options, taps in (([], 128), (["--step", 5], 128), (["--first", 40, "--step", 3, "--taps", 4], 64),
                          (["--prototype", "odd.npy", "--step", 2], 27)):
        np.save("odd.npy", np.hanning(27))
        step = next((options[i + 1] for i, one in enumerate(options) if one == "--step"), 16)
        first = next((options[i + 1] for i, one in enumerate(options) if one == "--first"), 0)
        save("x" + ending, pulse)
        run(["channelize", "x" + ending, "--channels", 16, "-o", "y" + ending, "--overwrite", *options])
        check_time_of(("channelize", options), "y" + ending, START + 2345 / RATE, RATE / step)
        start = facts_of("y" + ending)[2]
        check(abs(start - (START + (first - (taps - 1) / 2) / RATE)) < 1e-12, options, "starts at", start)
    for is_complex in (False, True):
        for tone in (0, 500, 1500, 3500, *((-500, -3500, -2000) if is_complex else ())):
            x = np.exp(2j * np.pi * tone * t) if is_complex else np.cos(2 * np.pi * tone * t)
            save("x" + ending, x.astype("c8" if is_complex else "f4"))
            run(["channelize", "x" + ending, "--channels", 16, "-o", "y" + ending, "--overwrite"])
            array, _, _, frequencies = facts_of("y" + ending)
            check(len(frequencies) == len(array) == (16 if is_complex else 9), frequencies)
            check(frequencies[int(np.abs(array[:, 100:200]).sum(1).argmax())] == tone, "a tone of", tone, frequencies)
    # Channels that are filtered or resampled keep their frequencies; filters are no channels.
    for arguments, kept in ((["filter", "y" + ending, "delta.f64", "--device", "cpu", "-o"], True),
                            (["filter", "y" + ending, "bank.npy", "--device", "cpu", "-o"], False),
                            (["resample", "y" + ending, "--down", 2, "-o"], True)):
        np.save("bank.npy", np.ones((3, 5)))
        run([*arguments, "z" + ending, "--overwrite"])
        check(facts_of("z" + ending)[3] == (frequencies if kept else None), arguments)
    told = json.loads(run(["info", "y" + ending, "--json"]).stdout)
    check(told["center_frequencies_hz"] == frequencies and told["sampling_rate_hz"] == RATE / 16, told)
    text = run(["info", "y" + ending]).stdout
    check("center frequencies: 16 from -3500 to 4000 Hz" in text and "sampling rate: 500 Hz" in text, text)


def check_many_channels():
    """Tests more center frequencies than attributes of old HDF5 files can hold, in new and existing files."""
    np.zeros(100, "c8").tofile("x.c64")
    np.save("other.npy", np.arange(3.0))
    for target in ("new.h5", "old.h5:/data"):
        if target.startswith("old"):
            with h5py.File("old.h5", "w") as file:
                file["kept"] = np.arange(5)
        run(["channelize", "x.c64", "--channels", 20000, "--taps", 1, "--input-rate", 20000, "-o", target])
        frequencies = facts_of(target.partition(":")[0])[3]
        want = np.where(np.arange(20000) > 10000, np.arange(20000) - 20000, np.arange(20000))
        check(np.allclose(frequencies, want, rtol=1e-14), target, frequencies[:3])
        told = json.loads(run(["info", target, "--json", "--signal"]).stdout)
        check(told["center_frequencies_hz"] == frequencies, target, "is read otherwise")
    with h5py.File("old.h5") as file:
        check(list(file["kept"]) == [0, 1, 2, 3, 4], "old.h5 lost its dataset")


def check_files_beside():
    """Tests that the JSON file beside an NPY file is never that of another array."""
    for left in ("y.npy", "y.npy.json"):
        Path(left).unlink(missing_ok=True)
    save("x.npy", np.ones(100))
    keep = ["delta.f64", "--device", "cpu", "-o", "y.npy", "-q"]
    run(["filter", "x.npy", *keep])
    check(facts_of("y.npy")[1:] == (RATE, START, None), facts_of("y.npy")[1:])
    check("convolume" in json.loads(Path("y.npy.json").read_text())["software"], "no software")
    Path("y.npy").unlink()
    check("y.npy.json" in run(["filter", "x.npy", *keep], 5).stderr, "a file beside that is left")
    np.ones(100).tofile("plain.f64")
    run(["filter", "plain.f64", *keep, "--overwrite"])
    check(not Path("y.npy.json").exists(), "a stale file beside is left")
    run(["filter", "plain.f64", *keep, "--overwrite", "--rate", "123.5"])
    check(facts_of("y.npy")[1:3] == (123.5, 0), facts_of("y.npy"))
    Path("y.npy.json").write_text('{"author": "another program"}')
    check("sampling rate" not in run(["info", "y.npy"]).stdout, "another program's file is read")
    run(["filter", "plain.f64", *keep, "--overwrite"])
    check(Path("y.npy.json").exists(), "another program's file is removed")
    for text, status, words in (('{"sampling_rate_hz": -1}', 65, "correct it"),
                                ('{"sampling_rate_hz": 1, "start_s": "now"}', 65, "no numbers"),
                                ('{"sampling_rate_hz": 1, "center_frequencies_hz": [1, 2]}', 65, "of another array"),
                                ('{"sampling_rate_hz": "fast"}', 0, ""), ("no JSON", 0, "")):
        Path("x.npy.json").write_text(text)
        done = run(["info", "x.npy", "--signal"], status)
        check(words in done.stderr, text, done.stderr)
        check(not status or "x.npy.json" in done.stderr, done.stderr)
    run(["filter", "plain.f64", "delta.f64", "-o", "z.f32", "--rate", "8000"], 2)
    run(["filter", "plain.f64", "delta.f64", "-o", "z.npy", "--input-rate", "0"], 2)


def check_wav():
    with wave.open("x.wav", "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(44100)
        file.writeframes(bytes(2000))
    run(["channelize", "x.wav", "--channels", 10, "-o", "y.npy", "--overwrite"])
    array, rate, start, frequencies = facts_of("y.npy")
    check((rate, start, frequencies) == (4410, -39.5 / 44100, [4410.0 * m for m in range(6)]), rate, start, frequencies)
    done = json.loads(run(["resample", "x.wav", "y.wav", "--rate", 48000, "--json"]).stdout)
    check((done["input"]["rate_hz"], done["output"]["rate_hz"], done["output"]["start_s"]) == (44100, 48000, 0), done)
    np.zeros(100, "f4").tofile("x.f32")
    run(["filter", "x.f32", "delta.f64", "-o", "from_raw.wav", "--input-rate", 16000, "--device", "cpu"])
    check("16000 Hz" in run(["info", "from_raw.wav"]).stdout, "no rate")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for ending in (".npy", *((".h5",) if hdf5 else ())):
        check_events(ending)
        check_channels(ending)
    if hdf5:
        check_many_channels()
    check_files_beside()
    if wav:  # such files are read and written
        check_wav()
    os.chdir("/")
finish()
