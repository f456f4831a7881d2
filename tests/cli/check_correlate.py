# SPDX-License-Identifier: Apache-2.0
"""Compares tables of `convolume correlate` with NumPy in double precision: check_correlate.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
import csv
import io
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
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

rng = np.random.default_rng(int(os.environ.get("CONVOLUME_TEST_SEED", 20261126)))
command = sys.argv[1]


def run(arguments, status=0, data=None):
    done = subprocess.run([command, "correlate", *arguments], capture_output=True, input=data)
    if done.returncode != status:
        failures.append(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done


def refused(arguments, *words, status=2):
    sentence = run(arguments, status).stderr.decode()
    check(all(word in sentence for word in words), arguments, sentence)
    check(sentence.count("\n") == 1, arguments, "is told in", sentence.count("\n"), "lines")


def table(text):
    return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


def rows_of(path):
    return table(Path(path).read_text())


def pulse(begin, samples):
    return np.exp(-((np.arange(samples) - begin - 50) / 12) ** 2)


def check_events():
    places = [500.25, 4095.5, 9000.0]
    template = pulse(0, 101)
    x = np.stack([sum(pulse(place, 12000) for place in places), -2 * pulse(7000.75, 12000)])
    x += rng.normal(0, 0.01, x.shape)
    np.save("x.npy", x.astype("f4"))
    np.save("h.npy", template)
    np.save("bank.npy", np.stack([template[::-1] * np.cos(np.arange(101)), 5 * template]))
    run(["x.npy", "h.npy", "-o", "peaks.csv", "--noise", "0.01", "--threshold", "20", "--position", "interpolated",
         "--rate", "1000", "-q"])
    rows = rows_of("peaks.csv")
    want = [(0, place, 1.0, 0.0) for place in places] + [(1, 7000.75, 2.0, np.pi)]
    check(len(rows) == 4, "there are", len(rows), "peaks")
    for row, (signal, place, height, phase) in zip(rows, want):
        snr = height * np.linalg.norm(template) / 0.01
        # Noise alone moves a pulse of 12 samples by 12 / SNR.
        check(row["signal"] == signal and abs(row["position"] - place) < 5 * 12 / snr, "position", row, place)
        check(abs(row["seconds"] - row["position"] / 1000) < 1e-9, "seconds", row)
        check(abs(row["snr"] - snr) < 5 and abs(row["phase"] - phase) < 1e-6, "SNR", row, snr)
    text = Path("peaks.csv").read_bytes()
    for more in (["--chunk", "300"], ["--precision", "float64"], ["--method", "direct"], ["--threads", "1"],
                 ["--snr", "snr.npy"], ["--max-host-mem", "4M"]):
        run(["x.npy", "h.npy", "-o", "again.csv", "--noise", "0.01", "--threshold", "20", "--position",
             "interpolated", "--rate", "1000", "-q", "--overwrite", *more])
        check(Path("again.csv").read_bytes() == text, more, "change the table")
    series = np.load("snr.npy")
    for i in range(2):
        direct = np.correlate(x[i].astype("f4").astype(float), template, "full")[100:] / np.linalg.norm(template) / 0.01
        check(series.shape == x.shape and np.abs(series[i] - direct).max() < 1e-5 * np.abs(direct).max(), "series", i)
    # Of two templates, the one that is in the signal has the peak, whatever its amplitude.
    run(["x.npy", "bank.npy", "-o", "peaks.json", "--noise", "0.01", "--threshold", "20", "-q"])
    found = json.loads(Path("peaks.json").read_text())
    check([row["template"] for row in found] == [1, 1, 1, 1], "templates", found)
    check(list(found[0]) == ["signal", "template", "position", "snr", "phase"], "names", found[0])
    told = json.loads(run(["x.npy", "bank.npy", "-o", "a.csv", "--noise", "0.01", "--threshold", "20",
                           "--json"]).stdout)
    check(told["output"]["peaks"] == 4 and told["templates"]["count"] == 2, "--json", told)
    run(["x.npy", "h.npy", "-o", "none.csv", "--threshold", "1e9", "-q"])
    check(Path("none.csv").read_text() == "signal,template,position,snr,phase\n", "an empty table")
    run(["x.npy", "h.npy", "-o", "none.json", "--threshold", "1e9", "-q"])
    check(json.loads(Path("none.json").read_text()) == [], "an empty JSON table")


def check_pipes():
    level = np.repeat([1.0, 4.0, 2.0], 30000)
    x = rng.standard_normal(90000) * level
    template = np.hanning(128)
    for place in (10000, 45000, 80000):
        x[place:place + 128] += 20 * level[place] * template / np.linalg.norm(template)
    x = x.astype("<f4")
    x.tofile("x.f32")
    template.astype("<f4").tofile("h.f32")
    options = ["--noise-block", "5000", "--threshold", "9"]
    run(["x.f32", "h.f32", "-o", "file.csv", "-q", *options])
    text = Path("file.csv").read_bytes()
    rows = rows_of("file.csv")
    check(np.allclose([row["position"] for row in rows], [10000, 45000, 80000], atol=10), "positions", rows)
    check(np.allclose([row["snr"] for row in rows], 20, atol=4), "SNR", rows)
    for more in ([], ["--chunk", "500"], ["--chunk", "70000"]):
        out = run(["-", "h.f32", "-o", "-", "--raw", "f32", "-q", *options, *more], data=x.tobytes()).stdout
        check(out == text, "a pipe", more, "changes the table", out)
    # Peaks appear while the signal still comes.
    with subprocess.Popen([command, "correlate", "-", "h.f32", "-o", "-", "--raw", "f32", "-q", "--chunk", "1000",
                           *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as live:
        live.stdin.write(x[:60000].tobytes())
        live.stdin.flush()
        check(live.stdout.readline() + live.stdout.readline() == b"".join(text.splitlines(True)[:2]), "a live peak")
        live.stdin.write(x[60000:].tobytes())
        live.stdin.close()
        check(live.stdout.read() == b"".join(text.splitlines(True)[2:]), "the other live peaks")


def check_chirps():
    t = np.arange(40000)
    u = (t - 20000.4 - 255.5) / 100
    z = np.exp(2j * np.pi * (12.3 * u + 0.4 * u * u / 2)) * (np.abs(u) < 2.56) * 0.7
    z = z + (rng.standard_normal(z.size) + 1j * rng.standard_normal(z.size)) / np.sqrt(2)
    z.astype("<c8").tofile("z.c64")
    run(["z.c64", "-o", "chirps.csv", "--chirps", "512", "--frequencies", "12:12.6", "--drifts=-0.5:0.5", "--rate",
         "100", "--noise", "1", "--threshold", "10", "-q"])
    rows = rows_of("chirps.csv")
    check(len(rows) == 1, "chirps", rows)
    check(abs(rows[0]["frequency"] - 12.3) < 0.05 and abs(rows[0]["drift"] - 0.4) < 0.1, "chirp", rows)
    check(abs(rows[0]["seconds"] - 200.004) < 0.3 and abs(rows[0]["snr"] - 0.7 * np.sqrt(512)) < 3, "chirp", rows)


def check_bad_input():
    np.save("zero.npy", np.zeros(5))
    np.save("bad.npy", np.array([1, np.nan, 2]))
    refused(["x.npy", "-o", "never.csv"], "name files of templates")
    refused(["x.npy", "h.npy", "-o", "never.txt"], ".csv or .json")
    refused(["x.npy", "h.npy", "-o", "never.csv", "--chirps", "9"], "leave out one")
    refused(["x.npy", "zero.npy", "-o", "never.csv"], "template 0 is zero everywhere", status=65)
    refused(["bad.npy", "h.npy", "-o", "never.csv", "-q"], "sample 1", status=65)
    refused(["x.npy", "h.npy", "-o", "never.csv", "--noise", "1", "--noise-block", "99"], "--noise")
    refused(["x.npy", "h.npy", "-o", "never.csv", "--noise-block", "9"], "at least 16")
    refused(["x.npy", "h.npy", "-o", "never.csv", "--position", "near"], "parabola")
    refused(["x.npy", "h.npy", "-o", "peaks.csv"], "peaks.csv", status=5)
    refused(["x.npy", "h.npy", "-o", "never.csv", "--snr", "-"], "name a file")
    refused(["-", "h.npy", "-o", "-", "--raw", "f32", "--json"], "--json")
    check(not Path("never.csv").exists(), "a refused run leaves no table")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_events()
    check_pipes()
    check_chirps()
    check_bad_input()
    os.chdir("/")
finish()
