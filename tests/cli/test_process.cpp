// SPDX-License-Identifier: Apache-2.0
// convolume process: it runs convolume-process, which the Python package brings and tests.

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/errors.hpp"

namespace fs = std::filesystem;
using namespace convolume::testing;

namespace {

// `convolume process ARGUMENTS` where only `folder`/bin and the system's programs are found.
CommandResult process(const TemporaryFolder& folder, const std::string& arguments) {
    const std::string line =
        "PATH='" + (folder / "bin") + "' exec '" + convolume_path() + "' process " + arguments;
    return run_program({"/bin/sh", "-c", line}, folder);
}

}  // namespace

TEST_CASE("process passes everything on to convolume-process") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "bin");
    const std::string program = folder / "bin/convolume-process";
    write_text(program, "#!/bin/sh\nfor one in \"$@\"; do echo \"[$one]\"; done\nexit 7\n");
    fs::permissions(program, fs::perms::owner_all);

    const CommandResult run =
        process(folder, "a.zarr 'b c.zarr' --op convolve --block-range 0/4 --help -- --x");
    CHECK(run.status == 7);
    CHECK(run.out ==
          "[a.zarr]\n[b c.zarr]\n[--op]\n[convolve]\n[--block-range]\n[0/4]\n[--help]\n[--]\n"
          "[--x]\n");
    CHECK(run.err.empty());
    CHECK(process(folder, "").status == 7);
    CHECK(process(folder, "--status a.zarr").out == "[--status]\n[a.zarr]\n");
}

TEST_CASE("process says what to install where it is not there") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "bin");
    const CommandResult run = process(folder, "a.zarr b.zarr --op convolve");
    CHECK(run.status == 4);
    CHECK(contains(run.err, "pip install 'convolume[zarr]'"));
    CHECK(run.out.empty());
}

TEST_CASE("other commands name process where they are given OME-Zarr") {
    const TemporaryFolder folder;
    for (const Arguments& arguments :
         {Arguments{"info", "a.zarr"}, Arguments{"preview", "x/a.ome.zarr/", "-o", "a.png"},
          Arguments{"convolve", "a.tif", "k.tif", "-o", "b.zarr"}}) {
        const CommandResult run = convolume::testing::convolume(arguments, folder);
        CHECK(run.status == 2);
        CHECK(contains(run.err, "convolume process"));
    }
}
