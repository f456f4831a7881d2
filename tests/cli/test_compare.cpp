// SPDX-License-Identifier: Apache-2.0
// Runs `convolume compare` as users do, on the CPU.

#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using namespace std::chrono_literals;

namespace {

struct Inputs : TemporaryFolder {
    Inputs() {
        Random random(test_seed("compare"));
        write_image(*this / "image.tif", random.array({12, 20, 24}, false), PixelType::float32);
        write_image(*this / "kernel.tif", random.array({3, 5, 5}, false, 1), PixelType::float32);
    }
    nlohmann::json report(const std::string& name = "report.json") const {
        return nlohmann::json::parse(read_text(*this / name));
    }
};

Arguments compare_files(const Arguments& more) {
    Arguments all{"compare",   "image.tif", "kernel.tif", "-o", "report.json",
                  "--devices", "cpu",       "--repeats",  "2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

TEST_CASE("compare measures all methods and writes a report") {
    const Inputs folder;
    const CommandResult result = testing::convolume(compare_files({"--parts", "2,4"}), folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(contains(result.out, "cpu dif 2 parts float32"));
    CHECK(contains(result.err, "report.json"));

    const nlohmann::json report = folder.report();
    CHECK(report["finished"] == true);
    CHECK(report["machine"]["processors"] >= 1);
    CHECK(contains(report["command"], "compare image.tif kernel.tif"));
    REQUIRE(report["problems"].size() == 1);
    const nlohmann::json& problem = report["problems"][0];
    CHECK(contains(problem["reference"], "direct sums"));
    const std::size_t measured = problem["ways"].size();
    CHECK(measured + problem["left_out"].size() == 12);
    CHECK(problem["pairs"].size() == measured * (measured - 1) / 2);
    for (const nlohmann::json& way : problem["ways"]) {
        INFO(way.dump());
        CHECK(way["turns"].size() == 2);
        CHECK(way["median_s"] > 0);
        CHECK(way["per_s"] > 0);
        CHECK(way["predicted_s"] > 0);
        CHECK(way["phases_s"].contains("convolve"));
        CHECK(way["memory_bytes"]["host_declared"] > 12 * 20 * 24 * 8);
        CHECK(way["memory_bytes"]["host_counted"] > 12 * 20 * 24 * 8);
        const double error = way["errors"]["relative_l2"];
        CHECK(error < (way["precision"] == "float64" ? 1e-13 : 1e-5));
        if (way["precision"] == "float32") CHECK(error > 1e-10);
        CHECK(way["errors"]["worst_voxel"].size() == 3);
    }
}

TEST_CASE("ways that cannot be measured are left out with their reasons") {
    const Inputs folder;
    const CommandResult result = testing::convolume(
        {"compare", "image.tif", "kernel.tif", "-o", "report.json", "--devices", "cpu,gpu:99",
         "--methods", "in-core", "--repeats", "1", "--precision", "float32"},
        folder);
    INFO(result.err);
    CHECK(result.status == 0);
    const nlohmann::json problem = folder.report()["problems"][0];
    REQUIRE(problem["left_out"].size() == 1);
    CHECK(problem["left_out"][0]["device"] == "gpu:99");
    CHECK(contains(result.out, "left out: gpu:99 in-core float32: "));

    const CommandResult none = testing::convolume(
        {"compare", "--sizes", "8", "-o", "none", "--devices", "gpu:99"}, folder);
    CHECK(none.status == 4);
    CHECK(folder.report("none")["problems"][0]["left_out"].size() == 10);

    const CommandResult slow =
        testing::convolume({"compare", "--sizes", "64", "-o", "slow", "--devices", "cpu",
                            "--time-limit", "0.000001", "--reference", "none"},
                           folder);
    CHECK(slow.status == 4);
    CHECK(contains(slow.out, "longer than --time-limit"));

    const CommandResult large = testing::convolume(
        {"compare", "--sizes", "4096", "-o", "large", "--devices", "cpu", "--max-host-mem", "1G"},
        folder);
    CHECK(large.status == 4);
    CHECK(contains(large.out, "image and kernel alone take"));
}

TEST_CASE("errors above the limit have their own exit code") {
    const Inputs folder;
    const Arguments methods{"--methods", "in-core", "--fail-if-error-above"};
    const auto with = [&](const char* limit, const char* more) {
        Arguments all = compare_files(methods);
        all.insert(all.end(), {limit, more});
        return testing::convolume(all, folder);
    };
    CHECK(with("1e-3", "-q").status == 0);
    const CommandResult above = with("1e-12", "--overwrite");
    CHECK(above.status == 6);
    CHECK(contains(above.err, "cpu in-core float32"));
    CHECK(folder.report()["finished"] == true);  // a failed comparison also writes its report
    CHECK(testing::convolume({"compare", "--sizes", "8", "-o", "x", "--reference", "none",
                              "--fail-if-error-above", "1"},
                             folder)
              .status == 2);
}

TEST_CASE("a sweep of sizes needs no files") {
    const Inputs folder;
    const CommandResult result = testing::convolume(
        {"compare", "--sizes", "8..32", "--kernel-size", "5", "-o", "report.json", "--devices",
         "cpu", "--methods", "in-core,direct", "--repeats", "1", "--json"},
        folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(nlohmann::json::parse(result.out) == folder.report());
    const nlohmann::json report = folder.report();
    REQUIRE(report["problems"].size() == 3);
    CHECK(report["problems"][2]["name"] == "32×32×32 * 5×5×5");
    CHECK(report["problems"][2]["work"] == 32 * 32 * 32);
}

TEST_CASE("compare measures filters of signals") {
    const Inputs folder;
    const CommandResult result = testing::convolume(
        {"compare", "filter", "--sizes", "4096..8192", "--taps", "65", "--filters", "3", "-o",
         "report.json", "--devices", "cpu", "--segments", "256,1024", "--repeats", "1"},
        folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    const nlohmann::json report = folder.report();
    REQUIRE(report["problems"].size() == 2);
    bool segment = false;
    for (const nlohmann::json& way : report["problems"][1]["ways"]) {
        segment = segment || way["name"] == "cpu overlap-save segment 1024 float64";
        CHECK(way["errors"]["relative_l2"] < (way["precision"] == "float64" ? 1e-13 : 1e-5));
    }
    CHECK(segment);
    CHECK(report["problems"][1]["work"] == 3 * 8192);
    CHECK(testing::convolume({"compare", "filter", "none.f32", "bank.f32", "-o", "files"}, folder)
              .status == 66);
}

TEST_CASE("an existing report is kept") {
    const Inputs folder;
    write_text(folder / "report.json", "precious");
    const CommandResult refused = testing::convolume(compare_files({}), folder);
    CHECK(refused.status == 5);
    CHECK(contains(refused.err, "--overwrite"));
    CHECK(read_text(folder / "report.json") == "precious");
    CHECK(
        testing::convolume(compare_files({"--overwrite", "--methods", "in-core"}), folder).status ==
        0);
    CHECK(folder.report()["finished"] == true);
    CHECK(testing::convolume({"compare", "--sizes", "8", "-o", "no/report.json"}, folder).status ==
          73);
    CHECK(testing::convolume(
              {"compare", "image.tif", "kernel.tif", "-o", "kernel.tif", "--overwrite"}, folder)
              .status == 2);
}

TEST_CASE("an interrupted comparison keeps what was measured") {
    const Inputs folder;
    Process process({convolume_path(), "compare", "--sizes", "16,48", "--kernel-size", "24", "-o",
                     "report.json", "--devices", "cpu", "--methods", "in-core,direct",
                     "--precision", "float32", "--repeats", "200", "-v"},
                    folder.path());
    for (int i = 0; i < 2400 && !contains(process.err(), "turn 2 of 200, cpu in-core"); ++i)
        std::this_thread::sleep_for(25ms);
    process.signal(SIGINT);
    const CommandResult interrupted = process.wait();
    INFO(interrupted.err);
    REQUIRE(interrupted.status == 130);
    CHECK(contains(interrupted.err, "\"report.json\" has a report of what was measured"));
    const nlohmann::json report = folder.report();
    CHECK(report["finished"] == false);
    CHECK(!report["problems"][0]["ways"][0]["turns"].empty());
}

TEST_CASE("mistakes get one sentence") {
    const Inputs folder;
    const auto refused = [&](const Arguments& more, const char* word) {
        Arguments all{"compare", "--sizes", "8", "-o", "report.json"};
        all.insert(all.end(), more.begin(), more.end());
        const CommandResult result = testing::convolume(all, folder);
        INFO(result.err);
        CHECK(result.status == 2);
        CHECK(contains(result.err, word));
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
        CHECK(!std::filesystem::exists(folder / "report.json"));
    };
    refused({"--devices", "cpu,fpga"}, "--devices");
    refused({"--devices", "gpu:0+0"}, "--devices");
    refused({"--methods", "in-core,magic"}, "magic");
    refused({"--parts", "3"}, "--parts");
    refused({"--precision", "float16"}, "float16");
    refused({"--threads", "0"}, "--threads");
    refused({"--repeats", "0"}, "--repeats");
    refused({"--time-limit", "nan"}, "--time-limit");
    refused({"--fail-if-error-above", "-1"}, "--fail-if-error-above");
    refused({"--reference", "truth"}, "--reference");
    refused({"image.tif", "kernel.tif"}, "--sizes");
    const CommandResult beyond =
        testing::convolume({"compare", "--sizes", "9000000", "-o", "report.json"}, folder);
    CHECK(beyond.status == 2);
    CHECK(contains(beyond.err, "64 bits"));
    CHECK(testing::convolume({"compare", "-o", "report.json"}, folder).status == 2);
    CHECK(testing::convolume({"compare", "image.tif", "-o", "report.json"}, folder).status == 2);
    CHECK(testing::convolume({"compare", "--sizes", "8"}, folder).status == 2);
    CHECK(testing::convolume({"compare", "image.tif", "none.tif", "-o", "report.json"}, folder)
              .status == 66);
}
