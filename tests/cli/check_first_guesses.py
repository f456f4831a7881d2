# SPDX-License-Identifier: Apache-2.0
"""Types what people type first: it works, or one sentence names the right option.
check_first_guesses.py CONVOLUME HAVE_CAIRO."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

COMMAND = os.path.abspath(sys.argv[1])
HAVE_CAIRO = sys.argv[2] == "ON"
RESTORE = ["deconvolve", "image.tif", "psf.tif"]
MAKE = ["deconvolve", "image.tif", "--iterations", "1"]
BLUR = ["convolve", "image.tif", "psf.tif"]
NAMED = ["convolve", "named.ome.tif", "psf.tif"]  # with the channels DAPI and GFP

# What is typed, and the documented words that must write the same file.
SAME_RESULT = [
    ([*RESTORE, "--iter", "2"], [*RESTORE, "--iterations", "2"]),
    ([*RESTORE, "-n", "2"], [*RESTORE, "--iterations", "2"]),
    ([*RESTORE, "-n2"], [*RESTORE, "--iterations", "2"]),
    ([*RESTORE, "--iteration=2"], [*RESTORE, "--iterations", "2"]),
    ([*RESTORE, "--num-iter", "2"], [*RESTORE, "--iterations", "2"]),
    ([*RESTORE, "-n", "2", "--method", "RL"], [*RESTORE, "--iterations", "2", "--method", "rl"]),
    ([*RESTORE, "-n", "2", "--method", "richardson-lucy"], [*RESTORE, "--iterations", "2", "--method", "rl"]),
    ([*RESTORE, "-n", "2", "--method", "Richardson_Lucy_TV"], [*RESTORE, "--iterations", "2", "--method", "rl-tv"]),
    ([*RESTORE, "-n", "2", "--algorithm", "rl"], [*RESTORE, "--iterations", "2", "--method", "rl"]),
    ([*BLUR, "--dtype", "uint16"], [*BLUR, "--output-type", "uint16"]),
    ([*BLUR, "--16bit"], [*BLUR, "--output-type", "uint16"]),
    ([*RESTORE, "-n", "2", "--bg", "1"], [*RESTORE, "--iterations", "2", "--background", "1"]),
    ([*BLUR, "--channels", "0"], [*BLUR, "--channel", "0"]),
    ([*NAMED, "--channel", "GFP"], [*NAMED, "--channel", "1"]),
    ([*NAMED, "--time", "0"], [*NAMED, "--frame", "0"]),
    (["convert", "image.tif", "--dtype", "uint16"], ["convert", "image.tif", "--output-type", "uint16"]),
    (["convolve", "image.tif", "-p", "psf.tif"], BLUR),
    (["convolve", "image.tif", "--psf", "psf.tif"], BLUR),
    (["convolve", "image.tif", "--kernel", "psf.tif"], BLUR),
    ([*BLUR, "--cpu"], [*BLUR, "--device", "cpu"]),
    ([*BLUR, "--boundary", "Reflect"], [*BLUR, "--boundary", "reflect"]),
    ([*BLUR, "-j", "2"], [*BLUR, "--threads", "2"]),
    ([*BLUR, "-j2"], [*BLUR, "--threads", "2"]),
    ([*BLUR, "--workers", "2"], [*BLUR, "--threads", "2"]),
    ([*BLUR, "-f"], [*BLUR, "--overwrite"]),
    ([*BLUR, "--force"], [*BLUR, "--overwrite"]),
    ([*MAKE, "--NA", "0.9", "--lambda", "520"], [*MAKE, "--na", "0.9", "--wavelength", "520nm"]),
    ([*MAKE, "--na", "0.9", "--emission", "520nm", "--ri", "1.33"],
     [*MAKE, "--na", "0.9", "--wavelength", "520nm", "--ni", "1.33"]),
    ([*BLUR, "--spacing", "200,100,100nm"], [*BLUR, "--voxel", "200,100,100nm"]),
    ([*BLUR, "--pixel-size", "200,100,100nm"], [*BLUR, "--voxel", "200,100,100nm"]),
    (["decon", "image.tif", "psf.tif", "-n", "2"], [*RESTORE, "--iterations", "2"]),
    (["project", "image.tif", "--max"], ["project", "image.tif", "--by", "max"]),
    (["project", "image.tif", "--mean", "--axis", "y"], ["project", "image.tif", "--by", "mean", "--axis", "y"]),
    (["project", "image.tif", "--sum"], ["project", "image.tif", "--by", "sum"]),
    (["convolve", "image.tif", "--sigma", "2"], ["convolve", "image.tif", "--sigma", "400,200,200nm"]),
]

# What is typed, and a word of the sentence that answers it, unless it works.
ANSWERED = [
    ([*RESTORE, "--psf", "psf.tif", "--psf", "psf.tif", "-o", "a.tif"], "leave out"),
    ([*RESTORE, "--background", "minimum", "-o", "c.tif"], "auto"),
    ([*BLUR, "--gpu", "-o", "e.tif"], "--device"),
    ([*MAKE, "--na", "0.9", "--lambda", "520", "--immersion", "oil", "-o", "f.tif"], "--ni"),
    ([*BLUR, "--resxy", "65", "--resz", "200", "-o", "g.tif"], "--voxel"),
    ([*BLUR, "--voxel", "0.3,0.1,0.1", "-o", "h.tif"], "200,65,65nm"),
    (["preview", "image.tif", "--composite", "-o", "n.png"], "--lut"),
    (["view", "image.tif", "-o", "o.png"], "preview"),
    (["convolve", "image.tif", "--stack", "z", "-o", "q.tif"], "KERNEL is missing"),
    (["help"], ""),
    (["help", "deconvolve"], ""),
    (["version"], ""),
    ([*BLUR, "--out", "r.tif"], "-o"),
]

# What is typed, which works.
PICTURES = [
    ["--lut", "fire"], ["--title", "x"], ["--scale-bar", "1um"], ["--slice", "3"], ["--zoom", "2"],
    ["--color", "green"],
]

# Mistakes, and how their sentence ends or what it suggests.
REFUSED = [
    ([*RESTORE, "--methd", "rl"], "did you mean --method? convolume deconvolve --help"),
    ([*BLUR, "--overwite"], "did you mean --overwrite? convolume convolve --help"),
    (["deconvlove", "image.tif"], "did you mean deconvolve?"),
    ([*BLUR, "--iter", "3"], "convolume convolve has no option --iter"),
    ([*BLUR, "--iterations", "3"], "but deconvolve and process have one; convolume convolve --help"),
    ([*BLUR, "--max", "3"], "--max-gpu-mem or --max-host-mem"),
    ([*BLUR, "--frst", "--second"], "--frst"),
    (["info", "image.tif", "first.tif", "second.tif"], "--stack z"),
    (["compare", "image.tif", "psf.tif"], "convolume diff A B"),
    (["compare", "image.tif", "psf.tif"], "--after"),
    ([*BLUR, "--channel", "GFP", "-o", "x.tif"], "the channels are 0"),
    (["doctor", "first", "second.tif"], 'no further argument "first"'),
    (["compare", "filter", "--sizs", "64"], "did you mean --sizes? convolume compare filter --help"),
    (["--hlep"], "did you mean --help? convolume --help"),
    (["convolve", "image.tif", "--sigma", "2um", "--fwhm", "2", "-o", "x.tif"], "convolume convolve --help"),
    (["convolve", "image.tif", "psf.tif", "--sigma", "2", "-o", "x.tif"], "leave out"),
    (["convolve", "bare.npy", "--sigma", "200nm", "-o", "x.npy"], "--voxel"),
    (["convolve", "image.tif", "--sigma", "wide", "-o", "x.tif"], "--sigma"),
]


def run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, encoding="utf-8")


def is_sentence(text):
    return text.startswith("convolume: error: ") and text.count("\n") == 1


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for setup in (["phantom", "--size", "6,24,24", "--voxel", "200,100,100nm", "--background", "3", "-o", "image.tif"],
                  ["phantom", "--size", "6,24,24", "-o", "bare.npy"],
                  ["psf", "--na", "0.9", "--ni", "1.33", "--wavelength", "520nm", "--voxel", "200,100,100nm",
                   "--size", "5,9,9", "-o", "psf.tif"],
                  ["convert", "image.tif", "c0.tif"],
                  ["phantom", "--size", "6,24,24", "--voxel", "200,100,100nm", "--background", "9", "-o", "c1.tif"],
                  ["convert", "c{c}.tif", "named.ome.tif", "--channel-names", "DAPI,GFP"]):
        done = run(*setup, "-q")
        check(done.returncode == 0, setup, done.stderr)

    for typed, documented in SAME_RESULT:
        results = []
        for name, words in (("typed.tif", typed), ("documented.tif", documented)):
            Path(name).unlink(missing_ok=True)
            done = run(*words, "-o", name)
            check(done.returncode == 0, words, done.stderr)
            results.append(Path(name).read_bytes() if done.returncode == 0 else words)
        check(results[0] == results[1], typed, "differs from", documented)

    for typed, word in ANSWERED:
        done = run(*typed)
        answered = is_sentence(done.stderr) and word in done.stderr
        check(done.returncode == 0 or answered, typed, "exit code", done.returncode, done.stderr)

    for words in PICTURES if HAVE_CAIRO else ():
        done = run("preview", "image.tif", *words, "-f", "-o", "p.png")
        check(done.returncode == 0, words, done.stderr)

    for typed, word in REFUSED:
        files = sorted(os.listdir())
        done = run(*typed)
        check(done.returncode == 2 and is_sentence(done.stderr) and word in done.stderr, typed, "exit code",
              done.returncode, done.stderr)
        check("--second" not in done.stderr and "second.tif" not in done.stderr, typed, done.stderr)
        check(sorted(os.listdir()) == files, typed, "wrote", os.listdir())

    check(run("version").stdout == run("--version").stdout, "version")
    check(run("help", "compare", "filter").stdout == run("compare", "filter", "--help").stdout, "help compare filter")
    # The value of an option is not translated.
    check(run(*BLUR, "-o", "--cpu.tif").returncode == 0 and Path("--cpu.tif").exists(), "-o --cpu.tif")

finish()
