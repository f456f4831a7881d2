// SPDX-License-Identifier: Apache-2.0
// Tests convolume process: it runs convolume-process, which the Python package contains and tests.

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/errors.hpp"

namespace fs = std::filesystem;
using namespace convolume::testing;

namespace {

// Runs `convolume ARGUMENTS` so that it finds only programs of `folder`/bin and of the system.
CommandResult command(const TemporaryFolder& folder, const std::string& arguments) {
    const std::string line =
        "PATH='" + (folder / "bin") + "' exec '" + convolume_path() + "' " + arguments;
    return run_program({"/bin/sh", "-c", line}, folder);
}

CommandResult process(const TemporaryFolder& folder, const std::string& arguments) {
    return command(folder, "process " + arguments);
}

// Writes a program to `folder`/bin that prints its arguments and ends with 7.
void write_program(const TemporaryFolder& folder, const std::string& name) {
    fs::create_directory(folder / "bin");
    const std::string program = folder / ("bin/" + name);
    write_text(program, "#!/bin/sh\nfor one in \"$@\"; do echo \"[$one]\"; done\nexit 7\n");
    fs::permissions(program, fs::perms::owner_all);
}

}  // namespace

TEST_CASE("process passes everything on to convolume-process") {
    const TemporaryFolder folder;
    write_program(folder, "convolume-process");
    const CommandResult run =
        process(folder, "a.zarr 'b c.zarr' --op convolve --block-range 0/4 -- --help --x");
    CHECK(run.status == 7);
    CHECK(run.out ==
          "[a.zarr]\n[b c.zarr]\n[--op]\n[convolve]\n[--block-range]\n[0/4]\n[--]\n[--help]\n"
          "[--x]\n");
    CHECK(run.err.empty());
    CHECK(process(folder, "").status == 7);
    CHECK(process(folder, "--status a.zarr").out == "[--status]\n[a.zarr]\n");
}

TEST_CASE("process finds convolume-process beside the command before the PATH") {
    const TemporaryFolder folder;
    write_program(folder, "convolume-process");
    fs::create_directory(folder / "env");
    fs::copy_file(convolume_path(), folder / "env/convolume");
    write_text(folder / "env/convolume-process", "#!/bin/sh\necho beside $1\n");
    fs::permissions(folder / "env/convolume-process", fs::perms::owner_all);
    const CommandResult run = run_program(
        {"/bin/sh", "-c", "PATH='" + (folder / "bin") + "' exec env/convolume process a.zarr"},
        folder);
    CHECK(run.status == 0);
    CHECK(run.out == "beside a.zarr\n");
}

TEST_CASE("process says what to install if convolume-process is missing") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "bin");
    const CommandResult run = process(folder, "a.zarr b.zarr --op convolve");
    CHECK(run.status == 4);
    CHECK(contains(run.err, "pip install '.[zarr]' in a clone"));
    CHECK(run.out.empty());
    const CommandResult help = process(folder, "a.zarr --unknown --help");
    CHECK(help.status == 0);
    CHECK(contains(help.out, "--block-range"));
    CHECK(help.err.empty());
}

TEST_CASE("commands of images pass OME-Zarr on to convolume-zarr") {
    const TemporaryFolder folder;
    write_program(folder, "convolume-zarr");
    const CommandResult convolved = command(folder, "convolve a.tif k.tif -o 'b c.zarr'");
    CHECK(convolved.status == 7);
    CHECK(convolved.out == "[convolve]\n[a.tif]\n[k.tif]\n[-o]\n[b c.zarr]\n");
    CHECK(command(folder, "info a.zarr").out == "[info]\n[a.zarr]\n");
    CHECK(command(folder, "preview x/a.ome.zarr/ -o a.png").status == 7);
    CHECK(command(folder, "project plate.zarr/A/1/0 -o b.tif").status == 7);
    CHECK(command(folder, "convolve a.tif --psf 0=k.zarr -o b.tif").status == 7);
    CHECK(command(folder, "convolve x.zarr/a.tif k.tif -o b.tif").status == 66);
    CHECK(command(folder, "convolve a.tif k.tif -o b.tif").status == 66);
}

TEST_CASE("commands of images say what to install for OME-Zarr") {
    const TemporaryFolder folder;
    for (const Arguments& arguments :
         {Arguments{"info", "a.zarr"}, Arguments{"preview", "x/a.ome.zarr/", "-o", "a.png"},
          Arguments{"convolve", "a.tif", "k.tif", "-o", "b.zarr"}}) {
        std::string line;
        for (const std::string& argument : arguments) line += argument + " ";
        const CommandResult run = command(folder, line);
        CHECK(run.status == 4);
        CHECK(contains(run.err, "pip install '.[zarr]' in a clone"));
    }
}
