// SPDX-License-Identifier: Apache-2.0
// Tests Ctrl-C and similar signals: exit code 130, and no trace of an output.

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using namespace std::chrono_literals;

namespace {

// A run of minutes: direct sums with a kernel that is not separable.
struct LongRun : TemporaryFolder {
    LongRun() {
        Random random(test_seed("interrupt"));
        write_image(*this / "image.tif", random.array({64, 256, 256}, false), PixelType::float32);
        write_image(*this / "kernel.tif", random.array({41, 41, 41}, false, 1), PixelType::float32);
    }
    Arguments command() const {
        return {convolume_path(), "convolve", "image.tif", "kernel.tif", "-o",
                "out.tif",        "--method", "direct",    "--device",   "cpu"};
    }
};

void wait_until_computing(const Process& process) {
    for (int i = 0; i < 400 && !contains(process.err(), "\nplan "); ++i)
        std::this_thread::sleep_for(25ms);
    std::this_thread::sleep_for(300ms);
}

}  // namespace

TEST_CASE("one signal stops a run and leaves no output") {
    const LongRun folder;
    const auto before = folder.names();
    for (const int number : {SIGINT, SIGTERM}) {
        Process process(folder.command(), folder.path());
        wait_until_computing(process);
        const auto begin = std::chrono::steady_clock::now();
        process.signal(number);
        const CommandResult result = process.wait();
        INFO(result.err);
        CHECK(result.status == 130);
        CHECK(contains(result.err, "interrupted; nothing was written"));
        CHECK(std::chrono::steady_clock::now() - begin < 10s);
        CHECK(folder.names() == before);
    }
}

TEST_CASE("a second signal ends the command at once") {
    const LongRun folder;
    const auto before = folder.names();
    Process process(folder.command(), folder.path());
    wait_until_computing(process);
    process.signal(SIGINT);
    process.signal(SIGTERM);
    const CommandResult result = process.wait();
    CHECK(result.status == 130);
    CHECK(folder.names() == before);
}

TEST_CASE("an output that would be replaced survives an interruption") {
    const LongRun folder;
    write_text(folder / "out.tif", "precious");
    Arguments command = folder.command();
    command.push_back("--overwrite");
    Process process(command, folder.path());
    wait_until_computing(process);
    process.signal(SIGINT);
    CHECK(process.wait().status == 130);
    CHECK(read_text(folder / "out.tif") == "precious");
}

TEST_CASE("an interrupted run over many files keeps the complete outputs") {
    const LongRun folder;
    Random random(test_seed("short"));
    write_image(folder / "first.tif", random.array({4, 8, 8}, false), PixelType::float32);
    write_image(folder / "last.tif", random.array({4, 9, 8}, false), PixelType::float32);
    Arguments command{convolume_path(), "convolve",     "first.tif", "image.tif", "last.tif",
                      "kernel.tif",     "--output-dir", "out",       "--method",  "direct",
                      "--device",       "cpu",          "--threads", "1"};
    const auto names = [&] {
        std::vector<std::string> found;
        std::error_code missing;
        for (std::filesystem::directory_iterator entry(folder / "out", missing), end;
             !missing && entry != end; entry.increment(missing))
            found.push_back(entry->path().filename().string());
        return found;
    };
    Process process(command, folder.path());
    for (int i = 0; i < 800 && !contains(process.err(), "first.tif → "); ++i)
        std::this_thread::sleep_for(25ms);
    std::this_thread::sleep_for(500ms);
    CHECK(names().size() == 2);  // the second file has begun
    const auto begin = std::chrono::steady_clock::now();
    process.signal(SIGINT);
    CommandResult result = process.wait();
    INFO(result.err);
    CHECK(result.status == 130);
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(names() == std::vector<std::string>{"first.tif"});
    CHECK(contains(result.err, "1 of 3 files are complete; --resume"));
    CHECK(contains(result.err, "image.tif  interrupted"));
    CHECK(contains(result.err, "last.tif   not started"));

    // --resume computes the remaining files, now with a faster method.
    command = {"convolve",   "first.tif",    "image.tif", "last.tif",
               "kernel.tif", "--output-dir", "out",       "--resume"};
    result = testing::convolume(command, folder);
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(names().size() == 3);
    CHECK(contains(result.err, "2 done, 1 complete before"));
}

TEST_CASE("phantom, psf, simulate and deconvolve stop soon and leave no output") {
    const LongRun folder;
    write_text(folder / "list.json", "precious");
    const auto before = folder.names();
    const Arguments commands[] = {
        {"phantom", "-o", "out.tif", "--size", "2000,2000,2000", "--count", "2000", "--kind",
         "beads", "--objects", "list.json", "--overwrite"},
        {"psf", "-o", "out.tif", "--na", "1.4", "--wavelength", "520nm", "--voxel", "20,20,20nm",
         "--size", "301,201,201", "--oversampling", "20"},
        {"simulate", "image.tif", "kernel.tif", "-o", "out.tif", "--truth", "truth.tif", "--method",
         "direct"},
        {"deconvolve", "image.tif", "kernel.tif", "-o", "out.tif", "--iterations", "1000000"}};
    for (const Arguments& command : commands) {
        Arguments all = command;
        all.insert(all.begin(), convolume_path());
        Process process(all, folder.path());
        // The first words are printed before the work, when the output has its first bytes.
        for (int i = 0; i < 400 && folder.names() == before; ++i) std::this_thread::sleep_for(25ms);
        std::this_thread::sleep_for(200ms);
        CHECK(folder.names() != before);
        const auto begin = std::chrono::steady_clock::now();
        process.signal(SIGINT);
        const CommandResult result = process.wait();
        INFO(command[0] << ": " << result.err);
        CHECK(result.status == 130);
        CHECK(contains(result.err, "interrupted; nothing was written"));
        CHECK(std::chrono::steady_clock::now() - begin < 10s);
        CHECK(folder.names() == before);
        CHECK(read_text(folder / "list.json") == "precious");
    }
}

TEST_CASE("every phase of a PSF can be stopped and leaves no output") {
    const LongRun folder;
    const auto before = folder.names();
    const Arguments psf{"psf",  "-o",           "psf.tif", "--na",    "1.2",        "--ni",
                        "1.33", "--wavelength", "520nm",   "--voxel", "200,65,65nm"};
    const auto with = [](Arguments command, const Arguments& more) {
        command.insert(command.end(), more.begin(), more.end());
        return command;
    };
    // Each PSF takes minutes to compute, and most of that time passes before any output.
    const std::vector<std::pair<const char*, Arguments>> commands{
        {"the PSF's automatic size", with(psf, {"--depth", "10mm"})},
        {"the PSF's facts", with(psf, {"--depth", "10mm", "--size", "3,3,3"})},
        {"one large plane",
         with(psf, {"--model", "gaussian", "--size", "1,8001,8001", "--oversampling", "16"})},
        {"Bessel functions", with(psf, {"--size", "1,1,100001"})}};
    for (const auto& [what, arguments] : commands) {
        Process process(with({convolume_path()}, arguments), folder.path());
        std::this_thread::sleep_for(1500ms);
        const auto begin = std::chrono::steady_clock::now();
        process.signal(SIGTERM);
        const CommandResult result = process.wait();
        INFO(what << ": " << result.err);
        CHECK(result.status == 130);
        CHECK(contains(result.err, "interrupted; nothing was written"));
        CHECK(std::chrono::steady_clock::now() - begin < 10s);
        CHECK(folder.names() == before);
    }
}
