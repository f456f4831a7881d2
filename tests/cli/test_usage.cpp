// SPDX-License-Identifier: Apache-2.0
// Tests the command line: help, mistakes, and refusals before anything is computed.

#include "convolume/engines.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

namespace testing = convolume::testing;
using namespace convolume::testing;

namespace {

// Checks a refusal: one line on stderr, nothing on stdout, and no new file in the folder.
void check_refusal(const Arguments& arguments, const TemporaryFolder& folder, int status,
                   const std::string& names = "") {
    const auto before = folder.names();
    const CommandResult result = testing::convolume(arguments, folder);
    INFO(result.err);
    CHECK(result.status == status);
    CHECK(result.out.empty());
    CHECK(result.err.rfind("convolume: error: ", 0) == 0);
    CHECK(result.err.find('\n') == result.err.size() - 1);
    CHECK(contains(result.err, names));
    CHECK(folder.names() == before);
}

struct SmallInputs : TemporaryFolder {
    SmallInputs() {
        Random random(test_seed("small inputs"));
        write_image(*this / "image.npy", random.array({5, 6, 7}, false),
                    convolume::PixelType::float32);
        write_image(*this / "kernel.npy", random.array({3, 3, 3}, false, 1),
                    convolume::PixelType::float32);
    }
};

}  // namespace

TEST_CASE("help and version are no errors") {
    const TemporaryFolder folder;
    for (const Arguments& arguments :
         {Arguments{"--help"}, Arguments{"--version"}, Arguments{"convolve", "--help"},
          Arguments{"info", "--help"}, Arguments{"preview", "-h"}, Arguments{"doctor", "-h"}}) {
        const CommandResult result = testing::convolume(arguments, folder);
        CHECK(result.status == 0);
        CHECK(contains(result.out, "onvol"));
        CHECK(result.err.empty());
    }
}

TEST_CASE("mistakes on the command line are usage errors") {
    const SmallInputs folder;
    check_refusal({}, folder, 2, "no command was named");
    check_refusal({"convolv"}, folder, 2, "convolv");
    check_refusal({"convolve"}, folder, 2, "IMAGE");
    check_refusal({"convolve", "image.npy"}, folder, 2, "KERNEL");
    check_refusal({"convolve", "image.npy", "kernel.npy"}, folder, 2, "-o");
    const auto refuse = [&](const char* option, const char* value, const char* names) {
        check_refusal({"convolve", "image.npy", "kernel.npy", "-o", "out.npy", option, value},
                      folder, 2, names);
    };
    refuse("--mod", "same", "--mod");
    refuse("--mode", "ful", "full");
    refuse("--boundary", "mirorr", "mirror");
    refuse("--boundary", "constant:x", "constant");
    refuse("--operation", "multiply", "adjoint");
    refuse("--kernel-center", "left", "middle");
    refuse("--kernel-center", "1,2", "1,2");
    refuse("--kernel-center", "7,1,1", "7");
    refuse("--kernel-normalize", "max", "peak");
    refuse("--method", "fft", "tiled");
    refuse("--parts", "3", "16");
    refuse("--device", "tpu", "gpu");
    refuse("--engines", "0", "--engines");
    refuse("--threads", "-2", "--threads");
    refuse("--threads", "two", "two");
    refuse("--engine-mem", "12 parsecs", "12 parsecs");
    refuse("--max-host-mem", "-1", "-1");
    refuse("--max-gpu-mem", "8 GPUs", "8 GPUs");
    refuse("--max-gpu-mem", "0", "GPU");
    refuse("--transfer-gate", "open", "per-link");
    refuse("--fft", "mkl", "auto, own or fftw");
    refuse("--precision", "float16", "float64");
    refuse("--output-type", "uint12", "uint16");
    refuse("--compression", "zip", "zstd");
    refuse("--nan", "ignore", "propagate");
    check_refusal({"convolve", "image.npy", "kernel.npy", "-o", "out.npy", "-q", "-v"}, folder, 2,
                  "-q");
    check_refusal({"convolve", "image.npy", "kernel.npy", "-o", "out.png", "-q"}, folder, 2, "png");
    check_refusal({"preview", "image.npy", "-o", "p.png", "--channel", "1"}, folder, 2,
                  "--channel");
    for (const char* name : {"p.jpg", "p", "p.png.tif", ".png"})
        check_refusal({"preview", "image.npy", "-o", name}, folder, 2, "does not end in .png");
    check_refusal({"preview", "image.npy", "-o", "p.png", "--limits", "5,4"}, folder, 2, "5,4");
    check_refusal({"preview", "image.npy", "-o", "p.png", "--scale", "1e6"}, folder, 2, "--scale");
}

TEST_CASE("empty outputs of mode valid are usage errors") {
    const SmallInputs folder;
    check_refusal({"convolve", "kernel.npy", "image.npy", "-o", "out.npy", "--mode", "valid"},
                  folder, 2, "valid");
}

TEST_CASE("inputs are not overwritten") {
    const SmallInputs folder;
    check_refusal({"convolve", "image.npy", "kernel.npy", "-o", "./image.npy", "--overwrite"},
                  folder, 2, "image.npy");
    check_refusal({"convolve", "image.npy", "kernel.npy", "-o", "kernel.npy", "--overwrite"},
                  folder, 2, "kernel.npy");
}

TEST_CASE("the help of convolve names the options of GPUs") {
    const TemporaryFolder folder;
    const std::string help = testing::convolume({"convolve", "--help"}, folder).out;
    for (const char* words : {"--max-gpu-mem", "--transfer-gate", "auto|global|per-link|off",
                              "Memory limit of each CPU engine"})
        CHECK(contains(help, words));
}

TEST_CASE("an absent GPU is reported as absent") {
    const SmallInputs folder;
    if (convolume::gpu_unavailable().empty()) SKIP("there is a GPU here");
    for (const char* device : {"gpu", "gpu:0,1"})
        check_refusal({"convolve", "image.npy", "kernel.npy", "-o", "out.npy", "--device", device},
                      folder, 4, "");
    // Options for GPUs are accepted on machines without a GPU.
    const CommandResult result =
        testing::convolume({"convolve", "image.npy", "kernel.npy", "-o", "out.npy", "--max-gpu-mem",
                            "1G", "--transfer-gate", "global"},
                           folder);
    CHECK(result.status == 0);
    CHECK(contains(result.err, " on cpu:0"));
}

TEST_CASE("missing inputs are reported before any work") {
    const SmallInputs folder;
    check_refusal({"convolve", "none.tif", "kernel.npy", "-o", "out.npy"}, folder, 66, "none.tif");
    check_refusal({"convolve", "image.npy", "none.tif", "-o", "out.npy"}, folder, 66, "none.tif");
    check_refusal({"info", "none.tif"}, folder, 66, "none.tif");
    check_refusal({"preview", "none.tif", "-o", "p.png"}, folder, 66, "none.tif");
    check_refusal({"preview", "image.npy", "--after", "none.tif", "-o", "p.png"}, folder, 66,
                  "none");
}

TEST_CASE("outputs that exist or cannot be created are refused before any work") {
    const SmallInputs folder;
    write_text(folder / "out.npy", "precious");
    // The image does not exist either, but the output's fault is reported first.
    check_refusal({"convolve", "none.npy", "kernel.npy", "-o", "out.npy"}, folder, 5,
                  "--overwrite");
    check_refusal({"convolve", "none.npy", "kernel.npy", "-o", "new.npy", "--timeline", "out.npy"},
                  folder, 5, "--overwrite");
    write_text(folder / "out.png", "precious");
    check_refusal({"preview", "none.npy", "-o", "out.png"}, folder, 5, "--overwrite");
    CHECK(read_text(folder / "out.npy") == "precious");
    check_refusal({"convolve", "none.npy", "kernel.npy", "-o", "no/such/out.npy"}, folder, 73,
                  "no/such");
    check_refusal({"convolve", "none.npy", "kernel.npy", "-o", "."}, folder, 73, "folder");
    check_refusal({"convolve", "none.npy", "kernel.npy", "-o", "out.npy/x.npy"}, folder, 73,
                  "out.npy");
    check_refusal({"preview", "none.npy", "-o", "no/p.png"}, folder, 73, "no");
}

TEST_CASE("the library of transforms is chosen, or refused if it is not built in") {
    const SmallInputs folder;
    const auto run = [&](const char* library, const char* output) {
        return testing::convolume({"convolve", "image.npy", "kernel.npy", "-o", output, "--method",
                                   "in-core", "--device", "cpu", "--fft", library},
                                  folder);
    };
    CHECK(run("own", "own.npy").status == 0);
    CHECK(run("auto", "auto.npy").status == 0);
    const bool has_fftw = contains(convolume::describe_fft_libraries(), "fftw-");
    const CommandResult fftw = run("fftw", "fftw.npy");
    CHECK(fftw.status == (has_fftw ? 0 : 4));
    if (has_fftw)
        CHECK(testing::convolume({"diff", "own.npy", "fftw.npy", "--tolerance", "1e-5"}, folder)
                  .status == 0);
    else
        CHECK(contains(fftw.err, "built without FFTW: leave out --fft, or build it again"));
}
