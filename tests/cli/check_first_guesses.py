# SPDX-License-Identifier: Apache-2.0
"""Types what people type first, by what they want: it works, or one sentence names the right option.
check_first_guesses.py CONVOLUME."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

COMMAND = os.path.abspath(sys.argv[1])
RESTORE = ["deconvolve", "image.tif", "psf.tif"]
TWICE = [*RESTORE, "--iterations", "2"]
MAKE = ["deconvolve", "image.tif", "--iterations", "1"]
BLUR = ["convolve", "image.tif", "psf.tif"]
NAMED = ["convolve", "named.ome.tif", "psf.tif"]  # with the channels DAPI and GFP
CHANNELS = ["deconvolve", "named.ome.tif", "--iterations", "1"]
TWO_PSFS = [*CHANNELS, "--psf", "DAPI=psf.tif", "--psf", "GFP=other.tif"]
VIEW = ["preview", "specimen.tif"]
FILES = (["phantom", "--size", "6,24,24", "--voxel", "200,100,100nm", "--background", "3", "-o", "image.tif"],
         ["phantom", "--size", "6,24,24", "-o", "bare.npy"],
         ["phantom", "--size", "16,64,64", "--voxel", "300,200,200nm", "-o", "specimen.tif"],
         ["psf", "--na", "0.9", "--ni", "1.33", "--wavelength", "520nm", "--voxel", "200,100,100nm",
          "--size", "5,9,9", "-o", "psf.tif"],
         ["psf", "--na", "0.8", "--ni", "1.33", "--wavelength", "600nm", "--voxel", "200,100,100nm",
          "--size", "5,9,9", "-o", "other.tif"],
         ["convert", "image.tif", "c0.tif"],
         ["phantom", "--size", "6,24,24", "--voxel", "200,100,100nm", "--background", "9", "-o", "c1.tif"],
         ["convert", "c{c}.tif", "named.ome.tif", "--channel-names", "DAPI,GFP"])


def run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, encoding="utf-8")


def is_sentence(text):
    return text.startswith("convolume: error: ") and text.count("\n") == 1


class Same:
    """A guess that works: it writes the same file as the documented words."""

    def __init__(self, typed, documented, suffix=".tif"):
        self.typed, self.documented, self.suffix = typed, documented, suffix

    def verify(self):
        results = []
        for name, words in (("typed", self.typed), ("documented", self.documented)):
            file = Path(name + self.suffix)
            file.unlink(missing_ok=True)
            output = [] if file.name in words or f"--output={file.name}" in words else ["-o", file.name]
            done = run(*words, *output)
            check(done.returncode == 0, words, done.stderr)
            results.append(file.read_bytes() if done.returncode == 0 else words)
        check(results[0] == results[1], self.typed, "differs from", self.documented)


class Works:
    """A guess that works, and prints the same as the documented words."""

    def __init__(self, typed, documented):
        self.typed, self.documented = typed, documented

    def verify(self):
        done, right = run(*self.typed), run(*self.documented)
        check(done.returncode == 0 and done.stdout == right.stdout != "", self.typed, done.returncode, done.stderr)


class Answered:
    """A guess that is refused by one sentence that has this text. Nothing is written."""

    def __init__(self, typed, text):
        self.typed, self.text = typed, text

    def verify(self):
        files = sorted(os.listdir())
        done = run(*self.typed)
        check(done.returncode == 2 and is_sentence(done.stderr) and self.text in done.stderr, self.typed, "exit code",
              done.returncode, done.stderr)
        check("--second" not in done.stderr and "second.tif" not in done.stderr, self.typed, done.stderr)
        check(sorted(os.listdir()) == files, self.typed, "wrote", os.listdir())


class Either:
    """A guess that works on some machines or in some versions: it writes a file, or a sentence has this text."""

    def __init__(self, typed, text, suffix=".tif"):
        self.typed, self.text, self.file = typed, text, Path("either" + suffix)

    def verify(self):
        self.file.unlink(missing_ok=True)
        done = run(*self.typed, "-o", self.file.name)
        works = done.returncode == 0 and self.file.exists()
        answers = done.returncode in (2, 4) and is_sentence(done.stderr) and self.text in done.stderr
        check(works or answers, self.typed, "exit code", done.returncode, done.stderr)


class Draws:
    """A guess that draws a picture."""

    def __init__(self, typed):
        self.typed = typed

    def verify(self):
        file = Path("drawn.png")
        file.unlink(missing_ok=True)
        done = run(*self.typed, "-o", file.name)
        check(done.returncode == 0 and file.read_bytes()[:4] == b"\x89PNG", self.typed, done.stderr)


GUESSES = {
    "PSFs for channels": [
        Same([*CHANNELS, "--psf", "psf.tif", "--psf", "other.tif"], TWO_PSFS),
        Same([*CHANNELS, "-p", "psf.tif"], [*CHANNELS, "--psf", "DAPI=psf.tif", "--psf", "GFP=psf.tif"]),
        Same(["deconvolve", "named.ome.tif", "psf.tif", "other.tif", "-n", "1"], TWO_PSFS),
        Same([*CHANNELS, "--psf-for", "DAPI=psf.tif,GFP=other.tif"], TWO_PSFS),
        Same([*CHANNELS, "--psf-for", "0=psf.tif,1=other.tif"], TWO_PSFS),
        Answered([*CHANNELS, "--psf-for", "DAPI=psf.tif", "-o", "x.tif"], "name one for it by --psf"),
        Answered([*RESTORE, "--psf", "psf.tif", "--psf", "psf.tif", "-o", "x.tif"], "leave out"),
        Same(["convolve", "image.tif", "-p", "psf.tif"], BLUR),
        Same(["convolve", "image.tif", "--psf", "psf.tif"], BLUR),
        Same(["convolve", "image.tif", "--kernel", "psf.tif"], BLUR),
    ],
    "iterations": [
        Same([*RESTORE, "--iter", "2"], TWICE),
        Same([*RESTORE, "-n", "2"], TWICE),
        Same([*RESTORE, "-n2"], TWICE),
        Same([*RESTORE, "--iteration=2"], TWICE),
        Same([*RESTORE, "--num-iter", "2"], TWICE),
        Answered([*BLUR, "--iter", "3"], "convolume convolve has no option --iter"),
        Answered([*BLUR, "--iterations", "3"], "but deconvolve, fuse and process have one; convolume convolve --help"),
    ],
    "method": [
        Same([*RESTORE, "-n", "2", "--method", "RL"], [*TWICE, "--method", "rl"]),
        Same([*RESTORE, "-n", "2", "--method", "richardson-lucy"], [*TWICE, "--method", "rl"]),
        Same([*RESTORE, "-n", "2", "--method", "Richardson_Lucy_TV"], [*TWICE, "--method", "rl-tv"]),
        Same([*RESTORE, "-n", "2", "--algorithm", "rl"], [*TWICE, "--method", "rl"]),
        Same([*BLUR, "--boundary", "Reflect"], [*BLUR, "--boundary", "reflect"]),
        Answered([*RESTORE, "--method", "lucy"], "rl, rl-tv"),
    ],
    "16 bit": [
        Same([*BLUR, "--dtype", "uint16"], [*BLUR, "--output-type", "uint16"]),
        Same([*BLUR, "--16bit"], [*BLUR, "--output-type", "uint16"]),
        Same(["convert", "image.tif", "--dtype", "uint16"], ["convert", "image.tif", "--output-type", "uint16"]),
    ],
    "background": [
        Same([*RESTORE, "-n", "2", "--bg", "1"], [*TWICE, "--background", "1"]),
        Answered([*RESTORE, "--background", "minimum", "-o", "x.tif"], "auto"),
    ],
    "channel": [
        Same([*NAMED, "--channels", "0"], [*NAMED, "--channel", "0"]),
        Same([*NAMED, "--channel", "GFP"], [*NAMED, "--channel", "1"]),
        Same([*NAMED, "--time", "0"], [*NAMED, "--frame", "0"]),
        Answered([*BLUR, "--channel", "GFP", "-o", "x.tif"], "the channels are 0"),
    ],
    "device, threads": [
        Either([*BLUR, "--gpu"], "--device"),
        Same([*BLUR, "--cpu"], [*BLUR, "--device", "cpu"]),
        Same([*BLUR, "-j", "2"], [*BLUR, "--threads", "2"]),
        Same([*BLUR, "-j2"], [*BLUR, "--threads", "2"]),
        Same([*BLUR, "--workers", "2"], [*BLUR, "--threads", "2"]),
    ],
    "overwrite, output": [
        Same([*BLUR, "-f"], [*BLUR, "--overwrite"]),
        Same([*BLUR, "--force"], [*BLUR, "--overwrite"]),
        Same([*BLUR, "--out", "typed.tif"], BLUR),
        Same([*BLUR, "--output", "typed.tif"], BLUR),
        Same([*BLUR, "--output=typed.tif"], BLUR),
    ],
    "optics": [
        Same([*MAKE, "--NA", "0.9", "--lambda", "520"], [*MAKE, "--na", "0.9", "--wavelength", "520nm"]),
        Same([*MAKE, "--NA", "1.4", "--lambda", "520"], [*MAKE, "--na", "1.4", "--wavelength", "520nm"]),
        Same([*MAKE, "--na", "0.9", "--emission", "520nm", "--ri", "1.33"],
             [*MAKE, "--na", "0.9", "--wavelength", "520nm", "--ni", "1.33"]),
        Same([*MAKE, "--na", "1.4", "--emission", "520nm", "--ri", "1.515"],
             [*MAKE, "--na", "1.4", "--wavelength", "520nm", "--ni", "1.515"]),
        Answered([*MAKE, "--na", "1.4", "--lambda", "520", "--immersion", "oil", "-o", "x.tif"], "--ni 1.518"),
    ],
    "voxel": [
        Same([*BLUR, "--spacing", "200,100,100nm"], [*BLUR, "--voxel", "200,100,100nm"]),
        Same([*BLUR, "--pixel-size", "200,100,100nm"], [*BLUR, "--voxel", "200,100,100nm"]),
        Answered([*BLUR, "--resxy", "65", "--resz", "200", "-o", "x.tif"], "--voxel 200,65,65nm"),
        Answered([*BLUR, "--voxel", "0.3,0.1,0.1", "-o", "x.tif"], "200,65,65nm"),
    ],
    "before and after": [
        Answered(["compare", "image.tif", "c1.tif"], "convolume diff A B"),
        Works(["diff", "image.tif", "c1.tif"], ["diff", "image.tif", "c1.tif"]),
        Same(["preview", "image.tif", "--after", "c1.tif"], ["preview", "image.tif", "--after=c1.tif"], ".png"),
    ],
    "preview": [
        Draws([*VIEW, "--lut", "fire"]),
        Draws([*VIEW, "--title", "x"]),
        Draws([*VIEW, "--scale-bar", "5um"]),
        Draws([*VIEW, "--slice", "12"]),
        Draws([*VIEW, "--zoom", "2"]),
        Answered([*VIEW, "--composite", "-o", "x.png"], "--lut"),
    ],
    "subcommands": [
        Works(["help"], ["--help"]),
        Works(["help", "deconvolve"], ["deconvolve", "--help"]),
        Works(["help", "compare", "filter"], ["compare", "filter", "--help"]),
        Works(["version"], ["--version"]),
        Same(["decon", "image.tif", "psf.tif", "-n", "2"], TWICE),
        Same(["view", "specimen.tif"], VIEW, ".png"),
        Answered(["view", "specimen.tif"], "--output is required"),
        Same(["convert", "image.tif", "typed.tif"], ["convert", "image.tif"]),
    ],
    "projection": [
        Same(["project", "image.tif", "--max"], ["project", "image.tif", "--by", "max"]),
        Same(["project", "image.tif", "--mean", "--axis", "y"],
             ["project", "image.tif", "--by", "mean", "--axis", "y"]),
        Same(["project", "image.tif", "--sum"], ["project", "image.tif", "--by", "sum"]),
    ],
    "smoothing": [
        Same(["convolve", "image.tif", "--sigma", "2"], ["convolve", "image.tif", "--sigma", "400,200,200nm"]),
        Answered(["convolve", "image.tif", "--sigma", "2um", "--fwhm", "2", "-o", "x.tif"],
                 "convolume convolve --help"),
        Answered([*BLUR, "--sigma", "2", "-o", "x.tif"], "leave out"),
        Answered(["convolve", "bare.npy", "--sigma", "200nm", "-o", "x.npy"], "--voxel"),
        Answered(["convolve", "image.tif", "--sigma", "wide", "-o", "x.tif"], "--sigma"),
    ],
    "stacks": [
        Answered(["convolve", "image.tif", "--stack", "z", "-o", "x.tif"], "KERNEL is missing"),
        Answered(["info", "image.tif", "first.tif", "second.tif"], "--stack z"),
    ],
    "misspelt": [
        Answered([*RESTORE, "--methd", "rl"], "did you mean --method? convolume deconvolve --help"),
        Answered([*BLUR, "--overwite"], "did you mean --overwrite? convolume convolve --help"),
        Answered(["deconvlove", "image.tif"], "did you mean deconvolve?"),
        Answered(["--hlep"], "did you mean --help? convolume --help"),
        Answered([*BLUR, "--max", "3"], "--max-gpu-mem or --max-host-mem"),
        Answered([*BLUR, "--frst", "--second"], "--frst"),
        Answered(["doctor", "first", "second.tif"], 'no further argument "first"'),
        Answered(["compare", "filter", "--sizs", "64"], "did you mean --sizes? convolume compare filter --help"),
    ],
}

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for setup in FILES:
        done = run(*setup, "-q")
        check(done.returncode == 0, setup, done.stderr)
    guesses = [guess for some in GUESSES.values() for guess in some]
    check(len(guesses) >= 40, len(guesses), "guesses")
    for guess in guesses:
        guess.verify()
    # Hidden commands are not offered, and the value of an option is not translated.
    check("write-shell-files" not in run("blur", "image.tif").stderr, run("blur", "image.tif").stderr)
    check(run(*BLUR, "-o", "--cpu.tif").returncode == 0 and Path("--cpu.tif").exists(), "-o --cpu.tif")
    os.chdir("/")

finish()
