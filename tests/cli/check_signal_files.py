# SPDX-License-Identifier: Apache-2.0
"""Compares how `convolume filter` and `info` read and write signal files with NumPy and SciPy:
check_signal_files.py CONVOLUME HDF5 WAV.

Ends with 77 (skipped) if a module is missing."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import warnings
import wave
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import h5py
    import numpy as np
    from scipy.io import wavfile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

warnings.simplefilter("ignore", wavfile.WavFileWarning)  # wavfile warns of RIFF chunks other than the samples
SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20240707))
rng = np.random.default_rng(SEED)
command, hdf5, wav = os.path.abspath(sys.argv[1]), sys.argv[2] == "ON", sys.argv[3] == "ON"


def run(arguments, status=0, names=""):
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    if status:
        check(done.stderr.count("\n") == 1, arguments, done.stderr)
    return done


def filtered_by_command(*arguments):
    return run(["filter", *arguments, "--overwrite", "-q", "--device", "cpu"])


def check_close(name, want, got, bound=1e-6):
    if want.shape != got.shape:
        check(False, name, "shape", got.shape, "instead of", want.shape)
        return
    error = np.linalg.norm(want - got) / max(np.linalg.norm(want), 1e-30)
    check(error < bound, name, "error", error)


def filter_same(x, h):
    begin = (len(h) - 1) // 2
    rows = [np.convolve(row, h)[begin:begin + x.shape[-1]] for row in x.reshape(-1, x.shape[-1])]
    return np.stack(rows).reshape(x.shape[:-1] + (x.shape[-1],))


def check_pairs():
    """Tests complex integers in files: every extension, split, behind headers, in either byte order."""
    np.array([1.0]).tofile("one.f64")
    for names, dtype, zero in ((("cu8",), "u1", 127.5), (("ci8", "cs8"), "i1", 0), (("ci16", "cs16"), "<i2", 0),
                               (("ci32", "cs32"), "<i4", 0)):
        limits = np.iinfo(dtype)
        parts = rng.integers(limits.min, limits.max, 1200, dtype=np.dtype(dtype).newbyteorder("="), endpoint=True)
        x = (parts[::2] - zero) + 1j * (parts[1::2] - zero)
        for name in names:
            parts.astype(dtype).tofile("x." + name)
            filtered_by_command("x." + name, "one.f64", "-o", "y.c128", "--precision", "float64")
            check(np.array_equal(np.fromfile("y.c128", "<c16"), x), name, "is read otherwise")
            filtered_by_command("x." + name, "one.f64", "-o", "y.npy", "--signals", "4", "--layout", "planar",
                                "--precision", "float64")
            check(np.array_equal(np.load("y.npy"), x.reshape(4, 150)), name, "is split otherwise")
            filtered_by_command("x." + name, "one.f64", "-o", "y." + name, "--precision", "float64")
            check(Path("y." + name).read_bytes() == Path("x." + name).read_bytes(), name, "comes back otherwise")
        with open("x.dat", "wb") as file:
            file.write(b"\x7f" * 19)
            parts.astype(np.dtype(dtype).newbyteorder(">")).tofile(file)
        filtered_by_command("x.dat", "one.f64", "-o", "y.c128", "--precision", "float64", "--raw", names[0],
                            "--header", "19",
                            "--byte-order", "big")
        check(np.array_equal(np.fromfile("y.c128", "<c16"), x), names[0], "big-endian behind a header")
    for dtype, name in (("i1", "i8"), ("u1", "u8"), ("i2", "i16"), ("u2", "u16"), ("i4", "i32"), ("u4", "u32"),
                        ("f4", "f32"), ("f8", "f64"), ("c8", "c64"), ("c16", "c128"), ("i8", "i64")):
        x = rng.integers(0, 100, 300).astype(">" + dtype)
        with open("x." + name, "wb") as file:
            file.write(b"#header")
            x.tofile(file)
        filtered_by_command("x." + name, "one.f64", "-o", "y.npy", "--header", "7", "--byte-order", "big")
        check(np.array_equal(np.load("y.npy"), x.astype("c16" if "c" in dtype else "f8")), "big-endian", name)
        if dtype == "i8" or "c" in dtype:
            continue
        filtered_by_command("x." + name, "one.f64", "-o", "y." + name, "--header", "7", "--byte-order", "big",
                            "--precision",
                            "float64" if dtype == "f8" else "float32")
        check(np.array_equal(np.fromfile("y." + name, "<" + dtype), x), "written", name)
    # Results are rounded half to even, clamped and counted.
    np.array([-200.5, -128.5, -0.5, 0.5, 1.5, 127.4, 127.5, 1e9], "f4").tofile("x.f32")
    done = run(["filter", "x.f32", "one.f64", "-o", "y.i8", "--json", "--device", "cpu", "--overwrite"])
    check(list(np.fromfile("y.i8", "i1")) == [-128, -128, 0, 0, 2, 127, 127, 127], np.fromfile("y.i8", "i1"))
    report = json.loads(done.stdout)
    check((report["report"]["clamped_low"], report["report"]["clamped_high"]) == (1, 2), report["report"])
    check(report["output"]["type"] == "int8" and "1 values below and 2 above the range of int8" in done.stderr,
          done.stderr)
    filtered_by_command("x.f32", "one.f64", "-o", "y.raw", "--output-type", "i16")
    check(np.fromfile("y.raw", "<i2")[0] == -200, "y.raw")
    for arguments, status, names in (
            (["x.f32", "one.f64", "-o", "z.ci16"], 2, "*.f32"), (["y.c128", "one.f64", "-o", "z.i16"], 2, "*.ci16"),
            (["x.f32", "one.f64", "-o", "z.i16", "--output-type", "i8"], 2, "z.i16"),
            (["x.f32", "one.f64", "-o", "z.npy", "--output-type", "bf16"], 2, "(--output-type)"),
            (["x.f32", "one.f64", "-o", "z.npy", "--header", "32"], 2, "(--header)"),
            (["x.f32", "one.f64", "-o", "z.npy", "--header", "31"], 65, "after its header"),
            (["y.npy", "one.f64", "-o", "z.npy", "--header", "31"], 2, "(--header, --byte-order, --layout)"),
            (["y.npy", "one.f64", "-o", "z.npy", "--byte-order", "middle"], 2, "little"),
            (["x.f32", "one.f64", "-o", "z.f32", "--rate", "8000"], 2, "--rate")):
        run(["filter", *arguments, "-q"], status, names)
        check(not [f for f in os.listdir(".") if f.startswith("z.")], arguments, "left a file")


def check_short_samples():
    """Tests floats of 16 bits in raw and NPY files, against NumPy's rounding."""
    x = rng.standard_normal(500).astype("f4")
    np.array([1.0], "f4").tofile("one.f32")
    x.tofile("x.f32")
    halves, upper = x.astype("<f2"), x.view("<u4")
    rounded = ((upper + 0x7FFF + (upper >> 16 & 1)) >> 16).astype("<u2")  # bfloat16, ties to even
    direct = ("--method", "direct")  # a filter of one tap leaves samples as they are
    filtered_by_command("x.f32", "one.f32", "-o", "y.f16", *direct)
    check(np.array_equal(np.fromfile("y.f16", "<f2"), halves), "float16 is written otherwise")
    filtered_by_command("x.f32", "one.f32", "-o", "y.bf16", *direct)
    check(np.array_equal(np.fromfile("y.bf16", "<u2"), rounded), "bfloat16 is written otherwise")
    for name, want in (("y.f16", halves.astype("f4")), ("y.bf16", (rounded.astype("u4") << 16).view("f4"))):
        filtered_by_command(name, "one.f32", "-o", "z.npy", *direct)
        check(np.array_equal(np.load("z.npy"), want), name, "is read otherwise")
        np.fromfile(name, "<u2").astype(">u2").tofile("x.dat")
        filtered_by_command("x.dat", "one.f32", "-o", "z.npy", "--raw", name[2:], "--byte-order", "big", *direct)
        check(np.array_equal(np.load("z.npy"), want), name, "is read otherwise as big-endian")
    for kind, want in (("float16", halves), ("int16", np.rint(x).astype("<i2")), ("uint8", np.rint(x).clip(0))):
        filtered_by_command("x.f32", "one.f32", "-o", "z.npy", "--output-type", kind, *direct)
        got = np.load("z.npy")
        check(got.dtype == kind and np.array_equal(got, want), kind, "in NPY")
    filtered_by_command("z.npy", "one.f32", "-o", "w.npy", *direct)


def check_positions():
    """Checks that peaks are at their positions in the signal, whichever part of the results is computed."""
    x = np.zeros(5000, "f4")
    places = np.sort(rng.choice(4800, 40, replace=False)) + 100
    x[places] = rng.uniform(1, 2, 40)
    np.save("x.npy", x)
    for taps in (1, 2, 9, 64):
        h = np.exp(-0.5 * np.arange(taps))  # the first tap is the largest
        np.save("h.npy", h)
        full = np.convolve(x.astype("f8"), h)
        for origin, at in (("center", (taps - 1) // 2), ("causal", 0), ("anticausal", taps - 1), ("5", 5), ("-7", -7)):
            for mode in (["--mode", "full"], ["--mode", "same"], ["--mode", "valid"], ["--range", "70:4900"]):
                for post in ("none", "power", "derivative"):
                    begin, end = {"full": (0, len(full)), "same": (at, at + len(x)), "valid": (taps - 1, len(x)),
                                  "70:4900": (70, 4900)}[mode[1]]
                    filtered_by_command("x.npy", "h.npy", "-o", "y.npy", "--positions", "at.npy", "--window",
                                        "peak:100",
                                        "--origin", origin, "--post", post, *mode)
                    padded = np.concatenate([np.zeros(101), full, np.zeros(200)])
                    if post == "power":
                        padded **= 2
                    if post == "derivative":
                        padded[1:-1] = (padded[2:] - padded[:-2]) / 2
                    at_peaks = np.load("at.npy") + at  # converts indices of peaks to indices in the full result
                    starts = np.arange(begin, end, 100)
                    want = np.array([padded[101 + s:101 + min(s + 100, end)].max() for s in starts])
                    name = f"positions, {taps} taps, {origin}, {mode}, {post}"
                    inside = len(at_peaks) == len(starts) and np.all(at_peaks >= starts) and np.all(
                        at_peaks < np.minimum(starts + 100, end))
                    check(inside, name, "outside their windows")
                    if inside:
                        check(np.allclose(padded[101 + at_peaks], want, atol=1e-5), name, "are not the peaks'")
    # With the causal origin, a filter with its peak at its first tap does not move a lone pulse.
    x[:] = 0
    x[1234] = 1
    np.save("x.npy", x)
    for mode in (["--mode", "full"], ["--mode", "same"], ["--mode", "valid"], ["--range", "1000:2000"]):
        filtered_by_command("x.npy", "h.npy", "-o", "y.npy", "--positions", "at.i64", "--window", "peak:10000",
                            "--origin",
                            "causal", *mode)
        check(np.fromfile("at.i64", "<i8")[0] == 1234, mode, np.fromfile("at.i64", "<i8"))


def check_segments():
    np.save("x.npy", rng.uniform(-1, 1, 1000).astype("f4"))
    np.save("h.npy", rng.uniform(-1, 1, 65))
    for method in ("auto", "overlap-save", "overlap-add"):
        run(["filter", "x.npy", "h.npy", "-o", "y.npy", "-q", "--device", "cpu", "--segment", "64", "--method", method],
            2, "segments of 64 samples are shorter than the 65 taps of the filters")
        check(not os.path.exists("y.npy"), "y.npy is left")
    filtered_by_command("x.npy", "h.npy", "-o", "y.npy", "--segment", "64", "--method", "partitioned")
    check_close("partitioned", filter_same(np.load("x.npy").astype("f8"), np.load("h.npy")), np.load("y.npy"))


def write_wave(name, integers, width, rate):
    """Writes frames × channels with Python's own module."""
    with wave.open(name, "wb") as file:
        file.setnchannels(integers.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        if width == 1:
            file.writeframes((integers + 128).astype("u1").tobytes())
        elif width == 3:
            file.writeframes(integers.astype("<i4").view("u1").reshape(-1, 4)[:, :3].tobytes())
        else:
            file.writeframes(integers.astype(f"<i{width}").tobytes())


def read_wave(name):
    with wave.open(name, "rb") as file:
        width, raw = file.getsampwidth(), file.readframes(file.getnframes())
        if width == 3:
            padded = np.zeros((len(raw) // 3, 4), "u1")
            padded[:, 1:] = np.frombuffer(raw, "u1").reshape(-1, 3)
            numbers = padded.view("<i4").ravel() >> 8
        else:
            numbers = np.frombuffer(raw, "u1").astype("i4") - 128 if width == 1 else np.frombuffer(raw, f"<i{width}")
        return numbers.reshape(-1, file.getnchannels()), width, file.getframerate()


def check_waves():
    np.array([1.0]).tofile("one.f64")
    np.save("h.npy", rng.uniform(-1, 1, 31))
    h = np.load("h.npy")
    for channels in (1, 2, 5):
        for width, kind in ((1, "uint8"), (2, "int16"), (3, "int24"), (4, "int32")):
            full_scale = 2.0 ** (8 * width - 1)
            integers = rng.integers(-full_scale, full_scale, (70_001 if width == 2 else 999, channels))
            write_wave("x.wav", integers, width, 11025)
            x = integers.T / full_scale
            x = x[0] if channels == 1 else x
            name = f"WAV {kind}, {channels} channels"
            filtered_by_command("x.wav", "one.f64", "-o", "y.npy", "--precision", "float64", "--chunk", "10000")
            check(np.array_equal(np.load("y.npy"), x), name, "is read otherwise")
            filtered_by_command("x.wav", "h.npy", "-o", "y.npy", "--chunk", "10000")
            check_close(name, filter_same(x, h), np.load("y.npy"))
            filtered_by_command("x.wav", "one.f64", "-o", "y.wav", "--precision", "float64", "--output-type", kind,
                                "--chunk",
                                "10000")
            back, back_width, rate = read_wave("y.wav")
            check(np.array_equal(back, integers) and back_width == width and rate == 11025, name,
                  "comes back otherwise")
            info = json.loads(run(["info", "x.wav", "--json", "--stats"]).stdout)
            check(info["format"] == "WAV" and info["stored"] == kind and info["sampling_rate_hz"] == 11025 and
                  info["samples"] == len(integers) and info["signals"] == channels, info)
            check(abs(info["stats"]["max"] - x.max()) < 1e-7, info["stats"])
        for dtype in ("f4", "f8"):
            x = rng.uniform(-1, 1, (3000, channels)).astype(dtype)
            wavfile.write("x.wav", 48000, x[:, 0] if channels == 1 else x)
            filtered_by_command("x.wav", "h.npy", "-o", "y.wav", "--chunk", "700")
            rate, y = wavfile.read("y.wav")
            check_close(f"WAV {dtype}, {channels} channels", filter_same(x.T.astype("f8"), h).T,
                        y.reshape(-1, channels))
            check(rate == 48000 and y.dtype == "f4", rate, y.dtype)
            filtered_by_command("x.wav", "h.npy", "-o", "y.wav", "--window", "decimate:4")
            rate, y = wavfile.read("y.wav")
            check_close("decimated", filter_same(x.T.astype("f8"), h).T[::4], y.reshape(-1, channels))
            check(rate == 12000, "decimated rate", rate)
    # Results beyond full scale are clamped and counted.
    np.array([-2, -1, -0.5, 0.25, 0.99999, 1, 1.5], "f4").tofile("x.f32")
    done = run(["filter", "x.f32", "one.f64", "-o", "y.wav", "--overwrite", "--output-type", "int16", "--rate", "8000",
                "--device", "cpu"])
    back, _, rate = read_wave("y.wav")
    check(list(back.ravel()) == [-32768, -32768, -16384, 8192, 32767, 32767, 32767] and rate == 8000, back.ravel())
    check("1 values below and 3 above the range of int16" in done.stderr, done.stderr)
    # The length of a signal from a pipe is unknown.
    x = rng.uniform(-1, 1, 50_001).astype("f4")
    done = subprocess.run([command, "filter", "-", "one.f64", "-o", "pipe.wav", "--raw", "f32", "--rate", "22050",
                           "-q"], input=x.tobytes(), capture_output=True)
    rate, y = wavfile.read("pipe.wav")
    check(rate == 22050 and np.array_equal(x, y), "a pipe into WAV", done.stderr)
    # RF64, as recorders write it if files may exceed 4 GiB.
    data = x.astype("<f4").tobytes()
    fmt = struct.pack("<HHIIHH", 3, 1, 44100, 44100 * 4, 4, 32)
    ds64 = struct.pack("<QQQI", 4 + 36 + 24 + 8 + len(data), len(data), len(x), 0)
    with open("big.wav", "wb") as file:
        file.write(b"RF64\xff\xff\xff\xffWAVEds64" + struct.pack("<I", len(ds64)) + ds64 + b"fmt " +
                   struct.pack("<I", len(fmt)) + fmt + b"data\xff\xff\xff\xff" + data)
    filtered_by_command("big.wav", "one.f64", "-o", "y.npy")
    check(np.array_equal(np.load("y.npy"), x), "RF64")
    check_other_wav_files(x)
    whole = Path("big.wav").read_bytes()
    write_wave("x.wav", np.zeros((100, 2), "i4"), 2, 8000)
    for name, cut in (("cut.wav", Path("x.wav").read_bytes()[:-10]), ("cut64.wav", whole[:-10]),
                      ("head.wav", whole[:20])):
        Path(name).write_bytes(cut)
        run(["filter", name, "one.f64", "-o", "z.npy", "-q"], 65, name)
    np.array([1j], "c8").tofile("i.c64")
    for arguments, names in (
            (["x.f32", "one.f64", "-o", "z.wav"], "(--rate)"), (["x.wav", "i.c64", "-o", "z.wav"], "real samples"),
            (["x.wav", "one.f64", "-o", "z.wav", "--output-type", "ci16"], "int24"),
            (["x.wav", "one.f64", "-o", "z.wav", "--window", "decimate:3"], "whole number"),
            (["x.wav", "one.f64", "-o", "z.npy", "--raw", "i16", "--header", "44"],
             "(--header, --byte-order, --layout)")):
        run(["filter", *arguments, "-q"], 2, names)
    run(["filter", "x.wav", "one.f64", "-o", "y.wav", "-q"], 5, "--overwrite")


def check_other_wav_files(x):
    """Tests what recorders and editors also write: other chunks, sizes never filled in, Wave64, and damage."""
    def riff_chunk(name, content, size=None):
        return name + struct.pack("<I", len(content) if size is None else size) + content + b"\0" * (len(content) % 2)

    def riff_file(*chunks, size=None):
        body = b"WAVE" + b"".join(chunks)
        return b"RIFF" + struct.pack("<I", len(body) if size is None else size) + body

    data = x.astype("<f4").tobytes()
    fmt = struct.pack("<HHIIHH", 3, 1, 44100, 44100 * 4, 4, 32)
    info = riff_chunk(b"LIST", b"INFO" + riff_chunk(b"ISFT", b"a program"))
    guid = b"\xF3\xAC\xD3\x11\x8C\xD1\x00\xC0\x4F\x8E\xDB\x8A"
    guids = {name: name + guid for name in (b"wave", b"fmt ", b"data", b"junk")}

    def wave64_chunk(name, content):
        return guids[name] + struct.pack("<Q", 24 + len(content)) + content + b"\0" * (-len(content) % 8)

    body = (guids[b"wave"] + wave64_chunk(b"junk", b"12345") + wave64_chunk(b"fmt ", fmt)
            + wave64_chunk(b"data", data))
    wave64 = b"riff\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\x00\x00" + struct.pack("<Q", 24 + len(body)) + body
    for name, whole in (("other chunks", riff_file(info, riff_chunk(b"junk", b"odd"), riff_chunk(b"fmt ", fmt),
                                                   riff_chunk(b"data", data),
                                                   info)),
                        ("no size", riff_file(riff_chunk(b"fmt ", fmt), riff_chunk(b"data", data, 0), size=0)),
                        ("unknown size",
                         riff_file(riff_chunk(b"fmt ", fmt), riff_chunk(b"data", data, 0xFFFFFFFF), size=0xFFFFFFFF)),
                        ("unfinished",
                         riff_file(riff_chunk(b"fmt ", fmt), riff_chunk(b"data", data, 0x7FFFF000), size=0)),
                        ("Wave64", wave64)):
        Path("other.wav").write_bytes(whole)
        filtered_by_command("other.wav", "one.f64", "-o", "y.npy")
        check(np.array_equal(np.load("y.npy"), x), name)
    # On pipes SoX writes 0x7FFFF000, plus the bytes of the header, FFmpeg 0xFFFFFFFF, others about 2^31.
    for unknown in (0x7FFFF000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF - 36, 0xFFFFFFFF):
        for header in (0, 36, 50):
            whole = riff_file(riff_chunk(b"fmt ", fmt), riff_chunk(b"data", data, unknown),
                              size=min(unknown + header, 0xFFFFFFFF))
            Path("other.wav").write_bytes(whole)
            filtered_by_command("other.wav", "one.f64", "-o", "y.npy")
            check(np.array_equal(np.load("y.npy"), x), f"a pipe's size {unknown:X}")
            check(json.loads(run(["info", "other.wav", "--json"]).stdout)["samples"] == len(x), f"{unknown:X}")
    check_big_endian_and_wide_waves(x)
    endless = riff_chunk(b"LIST", b"\0\0\2\0\xF7\xFF\xFF\xFF\0\0")  # libsndfile 1.2 never leaves this RIFF chunk
    Path("endless.wav").write_bytes(riff_file(riff_chunk(b"fmt ", fmt), endless, riff_chunk(b"data", data[:40]),
                                              size=0))
    filtered_by_command("endless.wav", "one.f64", "-o", "y.npy")
    check(np.array_equal(np.load("y.npy"), x[:10]), "a damaged list")
    for name, damaged, words in (
            ("long.wav", riff_file(riff_chunk(b"fmt ", fmt), riff_chunk(b"LIST", b"", 1 << 30), size=0),
             "beyond its end"),
            ("bare.wav", riff_file(riff_chunk(b"data", data)), "does not say what its samples are"),
            ("none.wav", riff_file(riff_chunk(b"fmt ", fmt)), "no samples"),
            ("many.wav", riff_file(*[riff_chunk(b"junk", b"")] * 20_000), "more than 10000 chunks"),
            ("short.wav", riff_file(riff_chunk(b"fmt ", fmt[:7]), riff_chunk(b"data", data)), "WAV")):
        Path(name).write_bytes(damaged)
        run(["filter", name, "one.f64", "-o", "z.npy", "-q"], 65, words)
        run(["info", name], 65, words)
    # A file whose sizes need more than 32 bits. Its zeros take no disk space.
    samples = 5 << 28
    for named in (samples, 0):  # a program that writes to a pipe cannot fill in the sizes
        with open("huge.wav", "wb") as file:
            riff = 4 + 36 + 24 + 8 + 4 * named if named else 0
            ds64 = struct.pack("<QQQI", riff, 4 * named, named, 0)
            file.write(b"RF64\xff\xff\xff\xffWAVE" + riff_chunk(b"ds64", ds64) + info + riff_chunk(b"fmt ", fmt) +
                       b"data\xff\xff\xff\xff")
            file.truncate(file.tell() + 4 * samples)
        got = json.loads(run(["info", "huge.wav", "--json"]).stdout)
        check(got["samples"] == samples and got["sampling_rate_hz"] == 44100, got)
    os.remove("huge.wav")


def check_big_endian_and_wide_waves(x):
    """Tests RIFX, BW64, doubles and integers of 64 bits, written by hand."""
    integers = {kind: rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (999, 3), dtype=kind, endpoint=True)
                for kind in ("i2", "i4", "i8")}
    for kind, samples in (*integers.items(), ("f4", x[:999].reshape(333, 3)), ("f8", x[:999].astype("f8") ** 3)):
        full_scale = 1 if kind[0] == "f" else 2.0 ** (8 * int(kind[1]) - 1)
        for order in "<>":
            width = int(kind[1])
            channels = samples.shape[1] if samples.ndim > 1 else 1
            fmt = struct.pack(order + "HHIIHH", 3 if kind[0] == "f" else 1, channels, 11025, 11025 * channels * width,
                              channels * width, 8 * width)
            data = samples.astype(order + kind).tobytes()
            body = b"WAVEfmt " + struct.pack(order + "I", 16) + fmt + b"data" + struct.pack(order + "I", len(data))
            size = struct.pack(order + "I", len(body) + len(data))
            Path("x.wav").write_bytes((b"RIFF" if order == "<" else b"RIFX") + size + body + data)
            check(np.array_equal(wavfile.read("x.wav")[1], samples), "SciPy reads otherwise", order + kind)
            filtered_by_command("x.wav", "one.f64", "-o", "y.npy", "--precision", "float64", "--chunk", "100")
            check(np.array_equal(np.load("y.npy"), samples.T / full_scale), "WAV", order + kind)
            info = json.loads(run(["info", "x.wav", "--json"]).stdout)
            check(info["format"] == "WAV" and info["sampling_rate_hz"] == 11025 and info["samples"] == len(samples) and
                  info["stored"] == ("float" if kind[0] == "f" else "int") + str(8 * width), info)
    wide = integers["i8"]
    data = wide.astype("<i8").tobytes()
    extensible = struct.pack("<HHIIHHHHI", 0xFFFE, 3, 8000, 24 * 8000, 24, 64, 22, 64, 0) + struct.pack("<H", 1)
    extensible += b"\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71"
    for tag in (b"RF64", b"BW64"):
        ds64 = struct.pack("<QQQI", 4 + 36 + 8 + len(extensible) + 8 + len(data), len(data), len(wide), 0)
        Path("x.wav").write_bytes(tag + b"\xff\xff\xff\xffWAVEds64" + struct.pack("<I", len(ds64)) + ds64 + b"fmt " +
                                  struct.pack("<I", len(extensible)) + extensible + b"data\xff\xff\xff\xff" + data)
        filtered_by_command("x.wav", "one.f64", "-o", "y.npy", "--precision", "float64")
        check(np.array_equal(np.load("y.npy"), wide.T / 2.0 ** 63), tag)
    for width in (5, 6, 7):  # samples of 40, 48 and 56 bits
        numbers = wide >> 64 - 8 * width
        data = numbers.astype("<i8").view("u1").reshape(-1, 8)[:, :width].tobytes()
        fmt = struct.pack("<HHIIHH", 1, 3, 8000, 24 * 8000, 3 * width, 8 * width)
        body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", len(data)) + data
        Path("x.wav").write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
        filtered_by_command("x.wav", "one.f64", "-o", "y.npy", "--precision", "float64")
        check(np.array_equal(np.load("y.npy"), numbers.T / 2.0 ** (8 * width - 1)), width)
    # Extensible RIFX, as SoX writes it from 24 bits on.
    numbers = rng.integers(-2**23, 2**23, 500)
    data = numbers.astype(">i4").view("u1").reshape(-1, 4)[:, 1:].tobytes()
    for guid in (b"\0\1" + b"\0" * 14, b"\0\0\0\1" + b"\0" * 12):
        fmt = struct.pack(">HHIIHHHHI", 0xFFFE, 1, 8000, 3 * 8000, 3, 24, 22, 24, 4) + guid
        body = b"WAVEfmt " + struct.pack(">I", len(fmt)) + fmt + b"data" + struct.pack(">I", len(data)) + data
        Path("x.wav").write_bytes(b"RIFX" + struct.pack(">I", len(body)) + body)
        filtered_by_command("x.wav", "one.f64", "-o", "y.npy", "--precision", "float64")
        check(np.array_equal(np.load("y.npy"), numbers / 2.0**23), "extensible RIFX")
    # The error names codings without a decoder, and frames of impossible sizes.
    for bits, frame, names in ((72, 27, "samples of 72 bits"), (64, 7, "do not make frames of 7 bytes")):
        fmt = struct.pack("<HHIIHH", 1, 3, 8000, 24 * 8000, frame, bits)
        body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", len(data)) + data
        Path("odd.wav").write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
        run(["info", "odd.wav"], 65, names)
    # A file of more than 4 GiB, whose 32-bit size has wrapped around. Its zeros take no disk space.
    fmt = struct.pack("<HHIIHH", 1, 1, 44100, 2 * 44100, 2, 16)
    with open("wrapped.wav", "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + 1000) + b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" +
                   struct.pack("<I", 1000))
        file.truncate(file.tell() + 1000 + 2**32)
    run(["info", "wrapped.wav"], 65, "(--header)")
    # Sizes from a pipe that wrote more than its header can state, and from a truncated file of 3 GiB.
    with open("wrapped.wav", "r+b") as file:
        file.write(b"RIFF" + struct.pack("<I", 0x7FFFF024) + b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" +
                   struct.pack("<I", 0x7FFFF000))
    got = json.loads(run(["info", "wrapped.wav", "--json"]).stdout)
    check(got["samples"] == (1000 + 2**32) // 2, got)
    with open("wrapped.wav", "r+b") as file:
        file.write(b"RIFF" + struct.pack("<I", 3 << 30))
        file.truncate(1 << 20)
    run(["info", "wrapped.wav"], 65, "truncated")
    os.remove("wrapped.wav")


def check_without_sndfile():
    write_wave("x.wav", np.zeros((100, 2), "i4"), 2, 8000)
    np.array([1.0]).tofile("one.f64")
    run(["filter", "x.wav", "one.f64", "-o", "z.npy", "-q"], 4, "libsndfile1-dev")
    run(["filter", "one.f64", "one.f64", "-o", "z.wav", "-q"], 4, "libsndfile1-dev")
    run(["info", "x.wav"], 4, "libsndfile1-dev")


def check_information():
    def info(*arguments):
        return json.loads(run(["info", *arguments, "--json"]).stdout)

    np.arange(12, dtype="<i2").tofile("x.ci16")
    got = info("x.ci16", "--stats")
    check(got["type"] == "complex64" and got["stored"] == "ci16" and got["shape"] == [6] and got["signals"] == 1 and
          got["sampling_rate_hz"] is None, got)
    check(abs(got["stats"]["max"] - abs(10 + 11j)) < 1e-5, got["stats"])
    check(info("x.ci16", "--signals", "2", "--layout", "planar")["shape"] == [2, 3], "split")
    got = info("x.ci16", "--header", "4", "--byte-order", "big", "--stats")
    check(got["samples"] == 5 and abs(got["stats"]["max"] - 256 * abs(10 + 11j)) < 1e-2, got)
    os.rename("x.ci16", "x.dat")
    check(info("x.dat", "--raw", "i16")["samples"] == 12, "x.dat")
    run(["info", "x.dat"], 65)
    np.save("one.npy", np.zeros(77, "f8"))
    got = info("one.npy")
    check(got["format"] == "NPY" and got["samples"] == 77 and got["type"] == "float64", got)
    np.save("two.npy", np.zeros((3, 77), "f4"))
    check(info("two.npy")["axes"] == "YX", "an image")
    got = info("two.npy", "--signal")
    check(got["signals"] == 3 and got["samples"] == 77, got)
    text = run(["info", "two.npy", "--signal"]).stdout
    check("signals: 3\nsamples: 77\n" in text, text)
    if hdf5:
        with h5py.File("many.h5", "w") as file:
            file["trace"] = np.zeros(500, "i2")
            file["image"] = np.zeros((5, 6, 7), "u1")
        check(info("many.h5:/trace")["samples"] == 500, "a trace")
        check(info("many.h5:/image")["shape"] == [5, 6, 7], "an image")
    run(["info", "none.f32"], 66, "none.f32")


print("seed", SEED)
for part in (check_pairs, check_short_samples, check_positions, check_segments,
             check_waves if wav else check_without_sndfile, check_information):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        part()
        check(not [f for f in os.listdir(".") if "partial" in f], part.__name__, "left partial files")
        os.chdir("/")
finish()
