// SPDX-License-Identifier: Apache-2.0
// Tests `convolume filter` as a command: refusals and their exit codes, reports, and that no file
// is left behind. check_filter.py compares its results with SciPy.

#include <signal.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "convolume/engines.hpp"
#include "convolume/signal_file.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

void write_signal(const std::string& path, const std::vector<index_t>& dims,
                  const std::vector<float>& samples) {
    const auto writer = io::create_signal(path, dims, io::SampleType::float32);
    const index_t count = dims.back();
    for (index_t row = 0; row * count < static_cast<index_t>(samples.size()); ++row)
        writer->write(row, 0, count, samples.data() + row * count);
    writer->commit();
}

std::vector<float> read_row(const std::string& path, index_t row) {
    const auto reader = io::open_signal(path);
    REQUIRE(reader->info().type == PixelType::float32);
    std::vector<float> samples(static_cast<std::size_t>(reader->info().samples()));
    reader->read(row, 0, reader->info().samples(), samples.data());
    return samples;
}

std::vector<float> random_samples(Random& random, index_t count) {
    std::vector<float> samples(static_cast<std::size_t>(count));
    for (float& sample : samples) sample = static_cast<float>(random.uniform() - 0.5);
    return samples;
}

struct Inputs : TemporaryFolder {
    Inputs() {
        Random random(test_seed("filter"));
        write_signal(*this / "x.npy", {2, 300}, random_samples(random, 600));
        write_signal(*this / "h.npy", {9}, random_samples(random, 9));
        write_signal(*this / "bank.npy", {3, 5}, random_samples(random, 15));
        write_signal(*this / "long.npy", {400}, random_samples(random, 400));
        write_signal(*this / "raw.f32", {300}, random_samples(random, 300));
    }

    CommandResult run(const Arguments& arguments) const {
        Arguments command{"filter"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return testing::convolume(command, *this);
    }
    /// Checks a refusal: one sentence on stderr, nothing on stdout, no new file in the folder.
    void refuses(const Arguments& arguments, int status, const std::string& names) const {
        const auto before = this->names();
        const CommandResult result = run(arguments);
        INFO(result.err);
        CHECK(result.status == status);
        CHECK(result.out.empty());
        CHECK(result.err.find('\n') == result.err.size() - 1);
        CHECK(contains(result.err, names));
        CHECK(this->names() == before);
    }
    /// Checks the refusal of a mistake in `options`, with correct inputs and output.
    void refuses_options(Arguments options, int status, const std::string& names) const {
        options.insert(options.begin(), {"x.npy", "bank.npy", "-q", "-o", "y.npy"});
        refuses(options, status, names);
    }
};

}  // namespace

TEST_CASE("a delta signal returns the filters, and origins shift them") {
    const TemporaryFolder folder;
    std::vector<float> delta(8);
    delta[3] = 1;
    write_signal(folder / "x.npy", {8}, delta);
    write_signal(folder / "h.npy", {3}, {1, 2, 3});
    const auto row = [&](const char* origin) {
        const CommandResult result =
            testing::convolume({"filter", "x.npy", "h.npy", "-o", "y.npy", "--overwrite",
                                "--origin", origin, "--method", "direct", "--device", "cpu"},
                               folder);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return read_row(folder / "y.npy", 0);
    };
    using Row = std::vector<float>;
    CHECK(row("center") == Row{0, 0, 1, 2, 3, 0, 0, 0});
    CHECK(row("causal") == Row{0, 0, 0, 1, 2, 3, 0, 0});
    CHECK(row("anticausal") == Row{0, 1, 2, 3, 0, 0, 0, 0});
    CHECK(row("-2") == Row{0, 0, 0, 0, 0, 1, 2, 3});
    CHECK(row("5") == Row{3, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("results have an axis of filters if there is a bank or several files") {
    const Inputs inputs;
    const auto shape = [&](Arguments arguments) {
        arguments.insert(arguments.end(), {"-o", "y.npy", "--overwrite", "--json", "-q"});
        const CommandResult result = inputs.run(arguments);
        INFO(result.err);
        REQUIRE(result.status == 0);
        const json report = json::parse(result.out)["output"]["shape"];
        const auto stored = io::open_signal(inputs / "y.npy")->info().dims;
        CHECK(report == json(stored));
        return stored;
    };
    using Dims = std::vector<index_t>;
    CHECK(shape({"x.npy", "h.npy"}) == Dims{2, 300});
    CHECK(shape({"x.npy", "bank.npy"}) == Dims{2, 3, 300});
    CHECK(shape({"x.npy", "h.npy", "long.npy"}) == Dims{2, 2, 300});
    CHECK(shape({"x.npy", "h.npy", "bank.npy", "--mode", "full"}) == Dims{2, 4, 308});
    CHECK(shape({"raw.f32", "h.npy"}) == Dims{300});
    CHECK(shape({"raw.f32", "h.npy", "--signals", "1"}) == Dims{1, 300});
    CHECK(shape({"raw.f32", "h.npy", "--signals", "10", "--layout", "planar", "--range", "3:33"}) ==
          Dims{10, 30});
    CHECK(shape({"x.npy", "raw.f32", "--taps", "30", "--window", "decimate:100"}) ==
          Dims{2, 10, 3});
}

TEST_CASE("mistakes of filter's command line are usage errors") {
    const Inputs inputs;
    const CommandResult help = inputs.run({"--help"});
    CHECK(help.status == 0);
    for (const char* words : {"SIGNAL", "FILTERS", "decimate:W|peak:W", "--max-gpu-mem"})
        CHECK(contains(help.out, words));
    inputs.refuses({}, 2, "SIGNAL");
    inputs.refuses({"x.npy"}, 2, "FILTERS");
    inputs.refuses({"x.npy", "h.npy"}, 2, "-o");
    inputs.refuses({"x.npy", "h.npy", "-o", "./x.npy", "--overwrite"}, 2, "x.npy");
    inputs.refuses({"x.npy", "h.npy", "bank.npy", "-o", "bank.npy", "--overwrite"}, 2, "bank.npy");
    inputs.refuses({"x.npy", "h.npy", "-q", "-o", "y.tif"}, 2, "y.tif");
    inputs.refuses({"x.npy", "h.npy", "-q", "-o", "y.c64"}, 2, "*.f32");
    inputs.refuses({"x.npy", "h.npy", "-q", "-o", "y.npy:/data"}, 2, "HDF5");
    inputs.refuses_options({"--mode", "some"}, 2, "full");
    inputs.refuses_options({"--range", "7"}, 2, "A:B");
    inputs.refuses_options({"--range", "9:8"}, 2, "9:8");
    inputs.refuses_options({"--range", "-1:8"}, 2, "-1");
    inputs.refuses_options({"--range", "0:305"}, 2, "304");
    inputs.refuses_options({"--range", "0:5", "--mode", "full"}, 2, "--mode");
    inputs.refuses_options({"--origin", "left"}, 2, "causal");
    inputs.refuses_options({"--post", "square"}, 2, "power");
    inputs.refuses_options({"--window", "peak"}, 2, "peak:W");
    inputs.refuses_options({"--window", "peak:0"}, 2, "peak:0");
    inputs.refuses_options({"--method", "fft"}, 2, "overlap-save");
    inputs.refuses_options({"--segment", "0"}, 2, "--segment");
    inputs.refuses_options({"--segment", "1e3"}, 2, "1e3");
    inputs.refuses_options({"--segment", "1"}, 2, "5 taps");
    inputs.refuses_options({"--segment", "64", "--method", "direct"}, 2, "overlap-save");
    inputs.refuses_options({"--max-gpu-mem", "much"}, 2, "much");
    inputs.refuses_options({"--max-host-mem", "0"}, 2, "memory");
    inputs.refuses_options({"--threads", "0"}, 2, "--threads");
    inputs.refuses_options({"--precision", "half"}, 2, "float64");
    inputs.refuses_options({"--nan", "ignore"}, 2, "propagate");
    inputs.refuses_options({"--device", "tpu"}, 2, "gpu");
    inputs.refuses_options({"--raw", "float8"}, 2, "float16");
    inputs.refuses_options({"--signals", "0"}, 2, "--signals");
    inputs.refuses_options({"--signals", "2"}, 2, "x.npy");
    inputs.refuses_options({"--layout", "diagonal"}, 2, "planar");
    inputs.refuses_options({"--taps", "2"}, 2, "bank.npy");
    inputs.refuses_options({"--positions", "at.i64"}, 2, "peak");
    inputs.refuses_options({"--positions", "at.f32", "--window", "peak:5"}, 2, "*.i64");
    inputs.refuses_options({"--positions", "./y.npy", "--window", "peak:5"}, 2, "y.npy");
    inputs.refuses({"x.npy", "long.npy", "-q", "-o", "y.npy", "--mode", "valid"}, 2, "400");
    inputs.refuses({"raw.f32", "h.npy", "-q", "-o", "y.npy", "--signals", "7"}, 2, "raw.f32");
}

TEST_CASE("signals and filters that cannot be used are refused") {
    const Inputs inputs;
    inputs.refuses({"none.npy", "h.npy", "-o", "y.npy"}, 66, "none.npy");
    inputs.refuses({"x.npy", "none.npy", "-o", "y.npy"}, 66, "none.npy");
    write_text(inputs / "empty.npy", "");
    write_text(inputs / "text.dat", "these are no samples");
    write_text(inputs / "odd.f32", "12345");
    const std::string whole = read_text(inputs / "x.npy");
    write_text(inputs / "cut.npy", whole.substr(0, whole.size() - 1));
    for (const char* bad : {"empty.npy", "text.dat", "odd.f32", "cut.npy"}) {
        inputs.refuses({bad, "h.npy", "-o", "y.npy"}, 65, bad);
        inputs.refuses({"x.npy", "h.npy", bad, "-o", "y.npy"}, 65, bad);
    }
    write_text(inputs / "none.f32", "");
    inputs.refuses({"none.f32", "h.npy", "-o", "y.npy"}, 65, "none.f32");
    inputs.refuses({"x.npy", "none.f32", "-o", "y.npy"}, 65, "none.f32");
    write_signal(inputs / "deep.npy", {2, 3, 4}, std::vector<float>(24));
    inputs.refuses({"x.npy", "deep.npy", "-o", "y.npy"}, 65, "2D");

    std::vector<float> nan(300, 1);
    nan[123] = std::numeric_limits<float>::quiet_NaN();
    write_signal(inputs / "nan.npy", {300}, nan);
    inputs.refuses({"nan.npy", "h.npy", "-q", "-o", "y.npy"}, 65, "123");
    inputs.refuses({"x.npy", "nan.npy", "-q", "-o", "y.npy"}, 65, "123");
    const CommandResult zero = inputs.run({"nan.npy", "h.npy", "-o", "y.npy", "--nan", "zero"});
    CHECK(zero.status == 0);
    CHECK(contains(zero.err, "1 NaN"));
}

TEST_CASE("impossible outputs of filter are refused before any work") {
    const Inputs inputs;
    write_text(inputs / "old.npy", "precious");
    inputs.refuses({"none.npy", "h.npy", "-o", "old.npy"}, 5, "--overwrite");
    inputs.refuses(
        {"none.npy", "h.npy", "-o", "y.npy", "--window", "peak:3", "--positions", "old.npy"}, 5,
        "--overwrite");
    inputs.refuses({"none.npy", "h.npy", "-o", "no/y.npy"}, 73, "no");
    CHECK(read_text(inputs / "old.npy") == "precious");
    inputs.refuses_options({"--max-host-mem", "1K"}, 3, "limit");

    // A hole of a terabyte is a signal whose result no disk here can hold.
    std::filesystem::resize_file(inputs / "raw.f32", std::uintmax_t{1} << 40);
    Arguments filters(64, "h.npy");
    Arguments huge{"raw.f32", "-q", "-o", "y.f32"};
    huge.insert(huge.begin() + 1, filters.begin(), filters.end());
    inputs.refuses(huge, 74, "free");
}

TEST_CASE("filter refuses a GPU that is absent") {
    if (gpu_unavailable().empty()) SKIP("there is a GPU here");
    const Inputs inputs;
    const char* const words = cuda_runtime_version().empty() ? "built without CUDA" : "GPU";
    inputs.refuses_options({"--device", "gpu"}, 4, words);
    inputs.refuses_options({"--device", "gpu:1"}, 4, words);
    CHECK(inputs.run({"x.npy", "h.npy", "-o", "y.npy", "--max-gpu-mem", "1G"}).status == 0);
}

TEST_CASE("a dry run of filter prints the plan and writes nothing") {
    const Inputs inputs;
    const auto before = inputs.names();
    const CommandResult result = inputs.run({"x.npy", "bank.npy", "--dry-run", "--mode", "full"});
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(result.out.empty());
    for (const char* words : {"2×300 float32", "3×5 float32", "2×3×304 float32", "predicted"})
        CHECK(contains(result.err, words));
    CHECK(inputs.names() == before);

    const json report =
        json::parse(inputs.run({"x.npy", "bank.npy", "--dry-run", "--json", "-q"}).out);
    CHECK(report["output"]["file"].is_null());
    CHECK(report["output"]["range"] == json{2, 302});
    CHECK(report["plan"]["seconds"] > 0);
    CHECK(report["plan"]["stream_bytes"] > 0);
    CHECK_FALSE(report.contains("report"));
}

TEST_CASE("filter reports what it did, to people and as JSON") {
    const Inputs inputs;
    const std::string normal = inputs.run({"x.npy", "bank.npy", "h.npy", "-o", "a.npy"}).err;
    for (const char* words : {"signal ", "filters ", "plan ", "time ", "output ", "a.npy"})
        CHECK(contains(normal, words));
    CHECK(inputs.run({"x.npy", "bank.npy", "-o", "b.npy", "-q"}).err.empty());

    const CommandResult result =
        inputs.run({"x.npy", "bank.npy", "-o", "c.npy", "-q", "--json", "--timeline", "t.json",
                    "--post", "power", "--window", "peak:10", "--positions", "at.npy"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const json report = json::parse(result.out);
    CHECK(report["input"]["shape"] == json{2, 300});
    CHECK(report["filters"]["count"] == 3);
    CHECK(report["filters"]["taps"] == 5);
    CHECK(report["output"]["shape"] == json{2, 3, 30});
    CHECK(report["output"]["positions"] == "at.npy");
    CHECK(report["report"]["seconds"]["total"] > 0);
    CHECK(json::parse(read_text(inputs / "t.json")).contains("traceEvents"));
    CHECK(io::open_signal(inputs / "at.npy")->info().dims == std::vector<index_t>{2, 3, 30});
}

TEST_CASE("peaks and their positions are in the rows of their signal and filter") {
    const TemporaryFolder folder;
    // Signal s has its peak at 10 s + 5, delayed by f in filter f.
    std::vector<float> samples(3 * 40), taps(2 * 2);
    for (std::size_t s = 0; s < 3; ++s) samples[s * 40 + 10 * s + 5] = static_cast<float>(s + 1);
    taps[0] = 1;
    taps[3] = 10;
    write_signal(folder / "x.npy", {3, 40}, samples);
    write_signal(folder / "h.npy", {2, 2}, taps);
    const CommandResult result = testing::convolume(
        {"filter", "x.npy", "h.npy", "-o", "y.npy", "--positions", "at.i64", "--window", "peak:40",
         "--origin", "causal", "--method", "direct", "--device", "cpu"},
        folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    const std::string bytes = read_text(folder / "at.i64");
    REQUIRE(bytes.size() == 6 * sizeof(index_t));
    std::vector<index_t> at(6);
    std::memcpy(at.data(), bytes.data(), bytes.size());
    CHECK(at == std::vector<index_t>{5, 6, 15, 16, 25, 26});
    for (index_t row = 0; row < 6; ++row)
        CHECK(read_row(folder / "y.npy", row) ==
              std::vector<float>{static_cast<float>(row / 2 + 1) * (row % 2 == 0 ? 1.0F : 10.0F)});
}

TEST_CASE("filter streams within its memory limit") {
    const TemporaryFolder folder;
    Random random(test_seed("filter streaming"));
    write_signal(folder / "x.npy", {1 << 21}, random_samples(random, 1 << 21));
    write_signal(folder / "h.npy", {2, 65}, random_samples(random, 130));
    const CommandResult result =
        testing::convolume({"filter", "x.npy", "h.npy", "-o", "y.npy", "-q", "--json", "--device",
                            "cpu", "--max-host-mem", "4M"},
                           folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    const json report = json::parse(result.out);
    CHECK(report["plan"]["stream_bytes"] <= 4 << 20);
    // The filters as read from their file are not part of the limit.
    CHECK(report["report"]["peak_buffer_bytes"] <= (4 << 20) + 4096);
}

TEST_CASE("one interrupt signal stops filter, and no file is left") {
    const TemporaryFolder folder;
    // Direct sums of this signal and these filters would take minutes.
    write_signal(folder / "x.npy", {1 << 22}, std::vector<float>(1 << 22, 1));
    write_signal(folder / "h.npy", {4, 1 << 18}, std::vector<float>(1 << 20, 1));
    write_text(folder / "y.npy", "precious");
    const auto before = folder.names();
    Process process(
        {convolume_path(), "filter", "x.npy", "h.npy", "-o", "y.npy", "--overwrite", "--positions",
         "at.npy", "--window", "peak:9", "--method", "direct", "--device", "cpu"},
        folder.path());
    for (int i = 0; i < 400 && !contains(process.err(), "\nplan "); ++i)
        std::this_thread::sleep_for(25ms);
    std::this_thread::sleep_for(300ms);
    const auto begin = std::chrono::steady_clock::now();
    process.signal(SIGINT);
    const CommandResult result = process.wait();
    INFO(result.err);
    CHECK(result.status == 130);
    CHECK(contains(result.err, "interrupted; nothing was written"));
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(folder.names() == before);
    CHECK(read_text(folder / "y.npy") == "precious");
}
