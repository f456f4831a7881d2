# SPDX-License-Identifier: Apache-2.0
"""Checks --help of every command: its width, its groups, and that its examples run; and that completion scripts and
manual pages have the same options. check_help.py CONVOLUME FOLDER, where the build has written FOLDER.

Ends with 77 (skipped) if the command cannot read the examples' files."""
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import wave
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

COMMAND, SHARE = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()
GROUPS = ["Input", "PSF", "Method", "Memory and devices", "Output", "Help", "Examples"]


def run(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment["PATH"] = os.path.dirname(COMMAND) + ":" + environment.get("PATH", "")
    return subprocess.run(arguments, capture_output=True, text=True, encoding="utf-8", env={**environment, **variables})


def help_of(command, **variables):
    done = run(COMMAND, *command, "--help", **variables)
    check(done.returncode == 0 and not done.stderr, command, done.stderr)
    return done.stdout


def sections(text):
    """Returns the lines of each section by its heading, in order."""
    found = {}
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][^:]*:", line):
            found[line[:-1]] = []
        elif found and line:
            found[list(found)[-1]].append(line)
    return found


def options(text):
    return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE))


def commands():
    names = [line.split()[0] for line in sections(help_of([]))["Commands"] if line[2] != " "]
    return [[], *([name] for name in names), ["compare", "filter"]]


def help_on_terminal(columns):
    """Returns --help of convolve, printed on a terminal of this width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen([COMMAND, "convolve", "--help"], stdout=follower, env=environment) as process:
        os.close(follower)
        text = b""
        try:
            while piece := os.read(leader, 4096):
                text += piece
        except OSError:  # the end of a terminal's output
            pass
        process.wait()
    os.close(leader)
    return text.decode().replace("\r\n", "\n")


def complete(*lines):
    """Returns what bash offers for the last word of each command line, a list of words. One bash does all."""
    script = f"source '{SHARE}/bash-completion/completions/convolume'\n"
    for words in lines:
        script += (f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=(); _convolume; "
                   'echo "${COMPREPLY[@]}"\n')
    offered = [line.split() for line in run("bash", "-c", script).stdout.splitlines()]
    check(len(offered) == len(lines), len(offered), "answers for", len(lines), "command lines")
    return offered


EVERY = commands()
check(len(EVERY) > 12, EVERY)
for command in EVERY:
    text = help_of(command)
    widest = max(text.splitlines(), key=len)
    check(len(widest) <= 80, command, "has a line of", len(widest), "columns:", widest)
    parts = sections(text)
    known = [name for name in parts if name in GROUPS]
    check(known == sorted(known, key=GROUPS.index) and list(parts)[-1] == "Examples", command, list(parts))
    check(len(parts["Examples"]) >= 2, command, "has too few examples")
    check(all(line.startswith("  ") for line in parts["Examples"]), command)
    page = SHARE / "man" / "man1" / ("-".join(["convolume", *command]) + ".1")
    check(page.exists(), page)
    written = page.read_text(encoding="utf-8").replace("\\-", "-") if page.exists() else ""
    offered, = complete(["convolume", *command, "--"])
    for option in sorted(options(text)):
        check(option in written, page, "lacks", option)
        check(option in offered, "bash does not complete", command, option)

check("--frame N|BEGIN:END " in help_of(["convolve"]) and "--scale PIXELS " in help_of(["preview"]), "placeholders")
check(max(len(line) for line in help_of(["convolve"], COLUMNS="100").splitlines()) > 80, "COLUMNS is not used")
check(80 < max(len(line) for line in help_on_terminal(95).splitlines()) <= 95, "the terminal's width is not used")

if shutil.which("groff"):
    for page in sorted((SHARE / "man" / "man1").iterdir()):
        done = run("groff", "-man", "-ww", "-z", "-Kutf8", str(page))
        check(not done.stderr, page, done.stderr)
for typed, offered in (
        (["dec"], ["deconvolve"]), (["deconvolve", "--meth"], ["--method"]), (["convolve", "--mode", "v"], ["valid"]),
        (["convolve", "--mode", "=", "v"], ["valid"]), (["completion", "--he"], ["--help"]),
        (["compare", "fil"], ["filter"]), (["process", "--op", "dec"], ["deconvolve"])):
    completed, = complete(["convolume", *typed])
    check(completed == offered, typed, completed)
for shell, file in (("bash", "bash-completion/completions/convolume"), ("zsh", "zsh/site-functions/_convolume"),
                    ("fish", "fish/vendor_completions.d/convolume.fish")):
    check(run(COMMAND, "completion", shell).stdout == (SHARE / file).read_text(encoding="utf-8"), shell)
    if shutil.which(shell):
        done = run(shell, "-n", str(SHARE / file))
        check(done.returncode == 0 and not done.stderr, shell, done.stderr)
if shutil.which("fish"):
    for line, offered in (("deconvolve --meth", ["--method"]), ("compare fil", ["filter"]), ("project --by s", ["sum"]),
                          ("compare filter --siz", ["--sizes"]), ("filter --siz", [])):
        script = f"source {SHARE}/fish/vendor_completions.d/convolume.fish; complete -C 'convolume {line}'"
        done = run("fish", "-c", script)
        check([one.split("\t")[0] for one in done.stdout.splitlines()] == offered, "fish", line, done.stdout,
              done.stderr)
check(run(COMMAND, "completion", "tcsh").returncode == 2, "tcsh")

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    voxel = ["--voxel", "200,100,100nm"]
    for name in ("signal", "filters", "templates"):  # an NPY file of 1D samples
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096,), }".ljust(117) + "\n"
        Path(name + ".npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                                        + struct.pack("<4096f", *([1.0] * 4096)))
    Path("recording.ci16").write_bytes(bytes(range(256)) * 64)
    for name in ("music", "drifted"):
        with wave.open(name + ".wav", "wb") as sound:
            sound.setnchannels(2)
            sound.setsampwidth(2)
            sound.setframerate(44100)
            sound.writeframes(bytes(range(256)) * 64)
    made = [run(COMMAND, "phantom", "--size", "8,32,32", *voxel, "-o", "image.tif", "-q"),
            run(COMMAND, "psf", "--na", "0.9", "--ni", "1.33", "--wavelength", "520nm", *voxel, "--size", "5,9,9", "-o",
                "psf.tif", "-q"),
            run(COMMAND, "convert", "image.tif", "-o", "side.tif", "-q")]
    if any(one.returncode == 4 for one in made):
        print("SKIPPED: this build has no TIFF")
        sys.exit(77)
    for command in sorted(EVERY, key=["phantom"].__ne__):
        if command == ["process"]:  # a test of the Python package runs these
            continue
        for example in sections(help_of(command))["Examples"]:
            done = run("bash", "-c", example)
            check(done.returncode == 0, example, "exit code", done.returncode, done.stderr)

finish()
