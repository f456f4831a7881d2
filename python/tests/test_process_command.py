# SPDX-License-Identifier: Apache-2.0
"""Tests of the command convolume process, and of its examples in pages and in examples/cluster."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from process_cases import GRID, HERE, assert_close, gaussian

import convolume
from convolume import process_command

pytest.importorskip("tensorstore")


def test_command(tmp_path, source, image, kernel, capsys):
    convolume.save(tmp_path / "k.tif", kernel)
    target = tmp_path / "b.zarr"
    common = [str(source), str(target), "--op", "convolve", "--kernel", str(tmp_path / "k.tif"), "--device", "cpu",
              "--chunks", "8,16,16", "--shards", "8,32,32", "--block", "8,32,64"]
    assert process_command.main([*common, "--dry-run"]) == 0
    assert "18 of 8×32×64" in capsys.readouterr().out and not target.exists()
    assert process_command.main([*common, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["blocks"] == 18
    assert sorted(os.listdir(tmp_path)) == ["k.tif", "source.zarr"]
    assert process_command.main([*common, "--block-range", "0/2"]) == 0
    assert "9 of 9: block 8" in capsys.readouterr().err
    assert process_command.main([str(target), "--status"]) == 0
    assert "9 of 18 blocks are done" in capsys.readouterr().out
    assert process_command.main([*common, "--resume", "-q", "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["complete_before"] == 9 and output.err == ""
    assert_close(convolume.open(target), convolume.convolve(image, kernel, device="cpu"))
    cases = [([*common], 5), ([*common, "--resume", "--boundary", "wrap"], 2), ([*common[:2], "--op", "convolve"], 2),
             ([str(target)], 2), ([str(tmp_path / "none.zarr"), *common[1:]], 66),
             ([*common, "--iterations", "3"], 2)]
    for arguments, code in cases:
        assert process_command.main(arguments) == code
        error = capsys.readouterr().err
        assert error.startswith("convolume: error: ") and error.count("\n") == 1
    for words, text in ((["--blok", "3"], "has no option --blok; did you mean --block? convolume process --help"),
                        (["--overwite"], "has no option --overwite; did you mean --overwrite? "),
                        (["--iterat=3"], "has no option --iterat; did you mean --iterations? "),
                        (["--zzz", "3"], "has no option --zzz; convolume process --help lists all options\n"),
                        (["more"], 'takes no further argument "more"; ')):
        assert process_command.main([*common, *words]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"convolume: error: convolume process {text}"), error
    for words in (["--levels", "two"], ["--halo", "1,b"], ["--stop", "soon"], ["--missing", "zero"], ["--cval"]):
        assert process_command.main([*common, *words]) == 2
        error = capsys.readouterr().err
        assert words[0].lstrip("-") in error and error.count("\n") == 1, error


@pytest.mark.parametrize("name", ["x.tif", "x.OME.TIF", "x.h5:/a", "x.npy", "x.tif/"])
def test_a_target_of_another_format(tmp_path, source, kernel, name, capsys):
    convolume.save(tmp_path / "k.tif", kernel)
    words = [str(source), f"{tmp_path}/{name}", "--op", "convolve", "--kernel", str(tmp_path / "k.tif"), "--device",
             "cpu"]
    for more in ([], ["--dry-run"]):
        assert process_command.main([*words, *more]) == 2
        assert "names a file of another format; name a target that ends in .zarr" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["k.tif", "source.zarr"]


@pytest.mark.parametrize(("words", "sentence"), [
    (["--op", "deconvolve"], "deconvolve needs a kernel: --psf …"),
    (["--op", "deskew"], "is known by its angle and step; give --angle and --step"),
    (["--op", "deskew", "--angle", "31.5", "--step", "400nm", "--halo", "1,1,1", "--pixel", "100nm"],
     "deskew takes no --halo: leave it out"),
    (["--op", "convolve", "--kernel", "k.npy", "--nan", "no"], "error, zero, propagate, missing"),
    (["--op", "deconvolve", "--kernel", "k.npy", "--nan", "missing"], '--nan is error or zero, not "missing"'),
    (["--op", "convolve", "--kernel", "k.npy", "--cval", "3"], "--cval is for the boundary 'constant'"),
    (["--op", "convolve", "--kernel", "k.npy"], "as zero by --nan zero")])
def test_messages_name_flags(tmp_path, words, sentence, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.full((6, 8, 8), np.nan, np.float32))
    np.save("k.npy", np.ones((3, 3, 3), np.float32))
    assert process_command.main(["a.npy", "b.zarr", "--device", "cpu", *words]) != 0
    error = capsys.readouterr().err
    assert sentence in error and not re.search(r"\w=", error), error
    with pytest.raises(convolume.InvalidArgument, match="kernel=…"):  # Python's names stay
        convolume.process("a.npy", "b.zarr", "deconvolve")


def test_a_target_that_is_an_input(tmp_path, source, image, kernel, capsys):
    convolume.save(tmp_path / "k.zarr", kernel)
    convolume.save(tmp_path / "m.zarr", np.ones(image.shape, np.uint8))
    (tmp_path / "link.zarr").symlink_to(source)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    given = str(source)
    link, psf, mask = (str(tmp_path / name) for name in ("link.zarr", "k.zarr", "m.zarr"))
    cases = [(given, given, "is one of the inputs"), (given, link, "is one of the inputs"),
             (link, given, "is one of the inputs"), (f"{given}/0", given, "contains the input"),
             (given, psf, "is one of the inputs"), (given, mask, "is one of the inputs"),
             (given, f"{given}/new", "lies inside the input"), (given, f"{given}/0", "lies inside the input")]
    for one, target, text in cases:
        for kernels in ([psf], [f"0={psf}"]):
            options = ["--op", "convolve", "--mask", mask, "--device", "cpu", "-q"]
            options += [word for named in kernels for word in ("--kernel", named)]
            for end in (["--overwrite"], ["--resume"], ["--dry-run"]):
                assert process_command.main([one, target, *options, *end]) == 2, (one, target, end)
                error = capsys.readouterr().err
                assert text in error and error.count("\n") == 1
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    for start in (source, convolume.open(source)):
        with pytest.raises(convolume.InvalidArgument, match="is one of the inputs"):
            convolume.process(start, source, "convolve", kernel=kernel, device="cpu", overwrite=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(tmp_path, source, kernel, number):
    convolume.save(tmp_path / "k.tif", kernel, spacing=(0.5, 0.1, 0.1))
    target = tmp_path / "b.zarr"
    words = [source, target, "--op", "deconvolve", "--psf", tmp_path / "k.tif", "--iterations", "10000000",
             "--background", "0", "--device", "cpu", "--threads", "1"]
    process = subprocess.Popen([sys.executable, "-m", "convolume.process_command", *map(str, words)], text=True,
                               stderr=subprocess.PIPE)
    while process.poll() is None and not target.exists():
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(number)
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 130, errors
    assert errors == "convolume: error: interrupted; blocks that are done stay, --resume goes on\n"
    assert not convolume.process_status(target)["writers"]


def test_a_kernel_of_other_voxels(tmp_path, source, kernel):
    convolume.save(tmp_path / "k.tif", kernel, spacing=(0.5, 0.2, 0.2))
    convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=tmp_path / "k.tif", device="cpu", **GRID)
    values, center = convolume.resample_kernel(kernel, (0.5, 0.2, 0.2), (0.5, 0.1, 0.1))
    want = convolume.convolve(convolume.open(source), values, origin=center, device="cpu")
    np.testing.assert_allclose(convolume.open(tmp_path / "b.zarr"), want, rtol=1e-4, atol=1e-4 * float(want.max()))


# Tests of pages and examples.

ROOT = HERE.parents[1]


@pytest.fixture
def shell(tmp_path, random):
    """Runs a shell command in a folder with an image and a PSF. There, `convolume process` runs this package."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "convolume"
    program.write_text(f'#!/bin/sh\n[ "$1" = process ] || exit 99\nshift\n'
                       f'exec "{sys.executable}" -m convolume.process_command "$@"\n')
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    psf = gaussian((1, 1, 1), (5, 5, 5))
    image = random.poisson(np.full((20, 90, 100), 130.0)).astype(np.uint16)
    convolume.save(work / "image.zarr", image, spacing=(0.2, 0.1, 0.1))
    convolume.save(work / "psf.tif", psf, spacing=(0.2, 0.1, 0.1))

    def run(command, **environment):
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", command], cwd=work, capture_output=True, text=True,
                              env={**os.environ, "PATH": path, **environment})
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    run.folder = work
    return run


SMALL = "--op deconvolve --iterations 2 --background 100 --chunks 16,32,32 --shards 16,64,64 --block 32,64,64"


@pytest.mark.skipif(not (ROOT / "examples").exists(), reason="the examples are not beside the tests")
@pytest.mark.parametrize("kind", ["slurm.sh", "process.nf", "Snakefile"])
def test_templates_of_clusters(shell, kind):
    text = (ROOT / "examples/cluster" / kind).read_text()
    large = "--op deconvolve --iterations 30 --background 100 --block 256,512,512"
    if kind == "slurm.sh":
        given = large.replace("--op deconvolve", '--op deconvolve --psf "$psf"')
        assert given in text
        script = shell.folder / kind
        script.write_text(text.replace(given, SMALL + ' --psf "$psf"'))
        for number in range(3):
            shell(f"sh {script} image.zarr restored.zarr psf.tif", SLURM_ARRAY_TASK_ID=str(number),
                  SLURM_ARRAY_TASK_COUNT="3")
        shell(f"sh {script} image.zarr restored.zarr psf.tif", SLURM_ARRAY_TASK_ID="")
    else:
        assert large in text
        values = {"params.source": "image.zarr", "params.target": "restored.zarr", "params.psf": "psf.tif",
                  "params.options": SMALL, "params.shares": "3", "config[source]": "image.zarr",
                  "config[target]": "restored.zarr", "config[psf]": "psf.tif", "OPTIONS": SMALL, "SHARES": "3"}
        joined = text.replace('"\n        " --', " --")  # joins the two strings of Snakemake's shell command
        share, last = (next(line.strip().strip('"') for line in joined.splitlines()
                            if line.strip(' "').startswith("convolume process") and mark in line)
                       for mark in ("--block-range", "--resume"))
        for number in range(3):
            shell(filled(share, {**values, "number": str(number), "wildcards.number": str(number)}))
        shell(filled(last, values))
    assert convolume.process_status(shell.folder / "restored.zarr")["finished"]
    assert convolume.open(shell.folder / "restored.zarr").shape == (20, 90, 100)


def filled(command, values):
    for name, value in values.items():
        command = command.replace("${" + name + "}", value).replace("{" + name + "}", value)
    assert "{" not in command
    return command


PAGES = [page for page in (ROOT / "docs/guides/larger-than-one-machine.md", ROOT / "docs/commands/process.md")
         if page.exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages(page, shell, monkeypatch):
    """The commands and the Python code of the pages run, in their order."""
    if page.stem == "larger-than-one-machine":  # it makes the image and the PSF by itself
        pytest.importorskip("distributed")
        shutil.rmtree(shell.folder / "image.zarr")
        (shell.folder / "psf.tif").unlink()
    names = {}
    monkeypatch.chdir(shell.folder)
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for language, block in blocks:
        if language == "sh":
            shell(f"set -e\n{block}")
        else:
            exec(compile(block, str(page), "exec"), names)
