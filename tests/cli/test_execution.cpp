// SPDX-License-Identifier: Apache-2.0
// Tests options that change how, not what, is computed; plans, limits, reports.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "convolume/options.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using nlohmann::json;

namespace {

const Shape3 box_shape{24, 30, 40};
const Shape3 taps_shape{5, 7, 9};

struct ExecutionInputs : TemporaryFolder {
    Array wanted;

    ExecutionInputs() {
        Random random(test_seed("execution"));
        const Array image = random.array(box_shape, false, 1);
        const Array kernel = random.array(taps_shape, false, 1);
        write_image(*this / "image.tif", image, PixelType::float32);
        write_image(*this / "kernel.tif", kernel, PixelType::float32);
        wanted = scaled(oracle_convolve(image, kernel, {.center = {2, 3, 4}}),
                        1 / sum_of(kernel).real());
    }

    CommandResult run(const Arguments& options) const {
        Arguments arguments{"convolve", "image.tif", "kernel.tif"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return testing::convolume(arguments, *this);
    }
    /// Runs to out.tif, compares the result with the oracle, and returns the object of --json.
    json checked(const Arguments& options, Precision precision = Precision::float32) const {
        Arguments arguments{"-o", "out.tif", "--overwrite", "--json", "-q"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const CommandResult result = run(arguments);
        INFO(result.err);
        REQUIRE(result.status == 0);
        const Comparison comparison = compare(wanted, read_image(*this / "out.tif").only());
        INFO(comparison.report);
        CHECK(comparison.within(precision));
        return json::parse(result.out);
    }
};

// The command keeps the small kernels of these tests as read, in addition to what is planned.
constexpr index_t kernel_as_read_bytes = 2048;

}  // namespace

TEST_CASE("methods, parts, engines and limits are obeyed and agree") {
    const ExecutionInputs inputs;
    for (const char* method : {"in-core", "dif", "tiled", "direct"}) {
        const json report = inputs.checked({"--method", method});
        CHECK(report["plan"]["chosen"]["method"] == method);
    }
    for (const int parts : {2, 4, 8, 16}) {
        const json report = inputs.checked({"--method", "dif", "--parts", std::to_string(parts)});
        CHECK(report["plan"]["chosen"]["parts"] == parts);
    }
    CHECK(inputs.checked({"--device", "cpu", "--engines", "2"})["plan"]["engines"].size() == 2);
    CHECK(inputs.checked({"--device", "cpu", "--threads", "1"})["plan"]["engines"].size() == 1);

    const index_t unlimited =
        inputs.checked({"--device", "cpu", "--method", "tiled"})["plan"]["chosen"]["engine_bytes"];
    const std::string limit = std::to_string(unlimited * 2 / 3);
    const json limited =
        inputs.checked({"--device", "cpu", "--method", "tiled", "--engine-mem", limit});
    CHECK(limited["plan"]["chosen"]["engine_bytes"] <= unlimited * 2 / 3);
    CHECK(limited["plan"]["tasks"] != 1);
}

TEST_CASE("float64 is more precise than float32") {
    const ExecutionInputs inputs;
    const json report = inputs.checked({"--precision", "float64"}, Precision::float64);
    CHECK(report["output"]["type"] == "float64");
    CHECK(inputs.checked({})["output"]["type"] == "float32");
}

TEST_CASE("the error for a memory limit that is too small names one that works") {
    const ExecutionInputs inputs;
    const CommandResult refused =
        inputs.run({"-o", "out.tif", "--device", "cpu", "--max-host-mem", "10K"});
    INFO(refused.err);
    REQUIRE(refused.status == 3);
    CHECK(refused.err.find('\n') == refused.err.size() - 1);
    CHECK_FALSE(std::filesystem::exists(inputs / "out.tif"));
    std::smatch named;
    REQUIRE(std::regex_search(refused.err, named, std::regex("allow ([0-9.]+) ?([KMG]iB)")));
    const std::string least = named[1].str() + named[2].str();
    INFO("limit named: " << least);
    const json report = inputs.checked({"--device", "cpu", "--max-host-mem", least});
    CHECK(report["report"]["peak_buffer_bytes"] <= parse_byte_size(least) + kernel_as_read_bytes);
}

TEST_CASE("memory stays within the plan for any number of volumes") {
    const TemporaryFolder folder;
    Random random(test_seed("memory of many volumes"));
    io::ImageMetadata metadata;
    metadata.frames = 3;
    metadata.channels = 2;
    metadata.type = PixelType::uint16;
    const std::vector<Array> volumes(6, random.integers({20, 64, 64}, 0, 999));
    write_image(folder / "image.tif", volumes, metadata);
    write_image(folder / "kernel.tif", random.array({3, 9, 9}, false, 1), PixelType::float32);
    const CommandResult result = testing::convolume(
        {"convolve", "image.tif", "kernel.tif", "-o", "out.tif", "--device", "cpu", "--json"},
        folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    const json report = json::parse(result.out);
    const index_t planned = report["plan"]["chosen"]["host_bytes"];
    CHECK(report["report"]["peak_buffer_bytes"] <= planned + kernel_as_read_bytes);
}

TEST_CASE("an image larger than the limit is convolved from file to file") {
    const TemporaryFolder folder;
    Random random(test_seed("larger than the limit"));
    write_image(folder / "image.npy", random.integers({60, 200, 256}, 0, 999), PixelType::uint16);
    write_image(folder / "kernel.npy", random.array({7, 9, 11}, false, 1), PixelType::float32);
    const auto run = [&](const char* output, const Arguments& options) {
        Arguments arguments{"convolve", "image.npy", "kernel.npy", "-o",        output,
                            "--json",   "--device",  "cpu",        "--threads", "2"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const CommandResult result = testing::convolume(arguments, folder);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return json::parse(result.out);
    };
    // Image and result would take 17.6 MiB.
    constexpr index_t limit = index_t{6} << 20;
    for (const char* boundary : {"reflect", "wrap"}) {
        const std::string whole = message(boundary, ".npy");
        run(whole.c_str(), {"--boundary", boundary});
        const Array wanted = read_image(folder / whole).only();
        for (const char* output : {"out.tif", "out.ome.tif", "out.h5", "out.npy"}) {
            Arguments options{"--boundary", boundary, "--max-host-mem", "6M", "--overwrite"};
            if (std::string(output) == "out.ome.tif" || std::string(output) == "out.h5")
                options.insert(options.end(), {"--compression", "deflate"});
            const json report = run(output, options);
            INFO(output);
            CHECK(report["plan"]["tasks"] > 1);
            CHECK(report["report"]["peak_buffer_bytes"] <= limit + 4 * kernel_as_read_bytes);
            // The program itself, its libraries, and the pieces that writers collect.
            CHECK(report["report"]["peak_resident_bytes"] < limit + (index_t{64} << 20));
            const Comparison comparison = compare(wanted, read_image(folder / output).only());
            INFO(comparison.report);
            CHECK(comparison.within(Precision::float32));
            std::filesystem::remove(folder / output);
        }
    }
    CHECK(folder.names() ==
          std::vector<std::string>{"image.npy", "kernel.npy", "reflect.npy", "wrap.npy"});
}

TEST_CASE("a dry run prints the plan and writes nothing") {
    const ExecutionInputs inputs;
    const auto before = inputs.names();
    for (const Arguments& options :
         {Arguments{"--dry-run"}, Arguments{"--dry-run", "-o", "out.tif"}}) {
        const CommandResult result = inputs.run(options);
        INFO(result.err);
        CHECK(result.status == 0);
        CHECK(result.out.empty());
        CHECK(contains(result.err, "24×30×40"));
        CHECK(contains(result.err, "direct"));  // the method is listed as a candidate
        CHECK(inputs.names() == before);
    }
    const CommandResult result = inputs.run({"--dry-run", "--json", "-q", "--mode", "full"});
    REQUIRE(result.status == 0);
    CHECK(result.err.empty());
    const json plan = json::parse(result.out);
    CHECK(plan["output"]["file"].is_null());
    CHECK(plan["output"]["shape"] == json{28, 36, 48});
    CHECK_FALSE(plan.contains("report"));
    CHECK(inputs.names() == before);
}

TEST_CASE("the JSON report describes the run") {
    const ExecutionInputs inputs;
    const json report = inputs.checked({});
    CHECK(report["input"]["shape"] == json{24, 30, 40});
    CHECK(report["input"]["type"] == "float32");
    CHECK(report["kernel"]["shape"] == json{5, 7, 9});
    CHECK(report["kernel"]["sum"].get<double>() ==
          sum_of(read_image(inputs / "kernel.tif").only()).real());
    CHECK(report["kernel"]["normalize"] == "sum");
    CHECK(report["output"]["file"] == "out.tif");
    CHECK(report["output"]["shape"] == json{24, 30, 40});
    CHECK(report["report"]["clamped_low"] == 0);
    for (const char* phase : {"plan", "read", "convolve", "write", "total"})
        CHECK(report["report"]["seconds"][phase] > 0);
    CHECK(report["report"]["peak_resident_bytes"] > 1000000);
}

namespace {

struct CoveredTime {
    double total_s = 0, covered_s = 0, other_s = 0;
};

/// Returns the time of a run, and the time that the spans of its trace cover.
CoveredTime covered_time(const json& report, const json& trace) {
    CoveredTime time;
    time.total_s = report["report"]["seconds"]["total"];
    std::vector<std::pair<double, double>> spans;
    for (const json& event : trace["traceEvents"]) {
        if (event["ph"] != "X") continue;
        spans.emplace_back(event["ts"], event["dur"]);
        if (event["name"] == "other") time.other_s += event["dur"].get<double>() * 1e-6;
    }
    std::sort(spans.begin(), spans.end());
    double covered_us = 0, at_us = 0;
    for (const auto& [begin, duration] : spans) {
        covered_us += std::max(0.0, begin + duration - std::max(begin, at_us));
        at_us = std::max(at_us, begin + duration);
    }
    time.covered_s = covered_us * 1e-6;
    return time;
}

}  // namespace

TEST_CASE("the phases cover the time of a run") {
    const TemporaryFolder folder;
    succeed({"phantom", "-o", "image.npy", "--size", "48,160,160", "-q"}, folder);
    succeed({"phantom", "-o", "kernel.npy", "--size", "5,9,9", "-q"}, folder);
    write_text(folder / "noise.i16", std::string(std::size_t{8} << 20, 'n'));
    write_text(folder / "bank.i8", std::string(650, 'b'));
    struct Case {
        Arguments command;
        bool names_its_work;  ///< whether the work has a phase of its own
    };
    const std::vector<Case> cases{
        {{"convolve", "image.npy", "kernel.npy", "--device", "cpu", "--threads", "1"}, true},
        {{"deconvolve", "image.npy", "kernel.npy", "--device", "cpu", "--iterations", "3"}, true},
        {{"deconvolve", "image.npy", "kernel.npy", "--device", "cpu", "--method", "rlgc",
          "--iterations", "3"},
         true},
        {{"filter", "noise.i16", "bank.i8", "--taps", "65", "--device", "cpu"}, true},
        {{"simulate", "image.npy", "kernel.npy", "--device", "cpu"}, false},
        {{"convert", "image.npy"}, false},
        {{"project", "image.npy"}, false},
    };
    for (const auto& [command, names_its_work] : cases) {
        Arguments arguments = command;
        for (const char* option :
             {"-o", "out.npy", "--overwrite", "--json", "-q", "--timeline", "trace.json"})
            arguments.push_back(option);
        // Other programs may interrupt a run between two phases: the best of several runs counts.
        double most = 0, least_other = 1;
        for (int attempt = 0; attempt < 5 && (most < 0.98 || least_other > 0.02); ++attempt) {
            const CommandResult run = succeed(arguments, folder);
            const json report = json::parse(run.out);
            const CoveredTime time =
                covered_time(report, json::parse(read_text(folder / "trace.json")));
            if (report.contains("report")) {
                const double accounted = report["report"]["seconds"]["accounted"];
                CHECK(std::abs(time.covered_s - accounted) < 1e-6);
            }
            REQUIRE(time.covered_s <= time.total_s);
            most = std::max(most, time.covered_s / time.total_s);
            least_other = std::min(least_other, time.other_s / time.total_s);
        }
        INFO(command.front());
        CHECK(most >= 0.98);
        if (names_its_work) CHECK(least_other <= 0.02);
    }
}

TEST_CASE("the summary on stderr is short, long or absent") {
    const ExecutionInputs inputs;
    const std::string normal = inputs.run({"-o", "a.tif"}).err;
    for (const char* word : {"image ", "kernel ", "sum ", "plan ", "time ", "output ", "a.tif"})
        CHECK(contains(normal, word));
    CHECK_FALSE(contains(normal, "candidate"));
    CHECK(contains(inputs.run({"-o", "b.tif", "-v"}).err, "candidate"));
    CHECK(inputs.run({"-o", "c.tif", "-q"}).err.empty());
}

TEST_CASE("the timeline is written as trace events") {
    const ExecutionInputs inputs;
    inputs.checked({"--timeline", "trace.json"});
    const json trace = json::parse(read_text(inputs / "trace.json"));
    std::vector<std::string> names;
    for (const json& event : trace["traceEvents"])
        if (event.contains("name")) names.push_back(event["name"]);
    for (const char* phase : {"read", "convolve", "write"})
        CHECK(std::find(names.begin(), names.end(), phase) != names.end());
}
