// SPDX-License-Identifier: Apache-2.0
// Tests code of `compare` that needs no run: errors, lists, medians, the table.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/compare/measurement.hpp"
#include "cli/compare/table.hpp"
#include "core/order_statistics.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cli;

namespace {

using Json = nlohmann::ordered_json;

/// Returns a report with two ways, of which one is finished, on a problem of 1000 voxels.
Json small_report() {
    const auto turn = [](double first_s, double seconds) {
        return Json{{"plan_s", 0.1},
                    {"first_s", first_s},
                    {"seconds", seconds},
                    {"phases", {{"convolve", seconds - 0.05}}}};
    };
    Json finished = unmeasured({"cpu", "dif", 4, 0, "float32", 2});
    finished["plan"] = "dif, 4 parts";
    finished["predicted_s"] = 0.5;
    finished["memory_bytes"]["host_counted"] = 4096;
    finished["memory_bytes"]["host_resident"] = 8192;
    finished["errors"] = errors_json({1e-6, 2e-7, 3e-8, 140, {1, 2, 3}, 0});
    finished["turns"].push_back(turn(0.3, 0.2));
    Json begun = finished;
    finished["turns"].push_back(turn(0.4, 0.4));
    begun["name"] = "cpu tiled float32 2 threads";
    begun["errors"]["relative_linf"] = nullptr;
    summarize(finished, 1000, 2);
    summarize(begun, 1000, 2);
    return {{"repeats", 2}, {"unit", "voxel"}, {"problems", {{{"ways", {finished, begun}}}}}};
}

}  // namespace

TEST_CASE("errors of known arrays are computed correctly") {
    // Two planes of 1 × 2: differences 0, -0.5, 2, 0 from a reference whose maximum is 4.
    const std::vector<float> a{1, 1.5F, -2, 0};
    const std::vector<double> b{1, 2, -4, 0};
    const Shape3 shape{2, 1, 2};
    const ResultErrors errors = errors_of(view_of(a.data(), shape), view_of(b.data(), shape));
    CHECK(errors.largest == 2);
    CHECK(errors.relative_largest == 0.5);
    CHECK(errors.relative_l2 == Approx(std::sqrt(4.25) / std::sqrt(21.0)));
    CHECK(errors.psnr_db == Approx(20 * std::log10(4 / std::sqrt(4.25 / 4))));
    CHECK(errors.worst == Index3{1, 0, 0});
    CHECK(errors.nonfinite == 0);
}

TEST_CASE("errors of complex arrays are magnitudes") {
    const std::vector<std::complex<float>> a{{3, 4}, {0, 0}};
    const std::vector<std::complex<double>> b{{0, 0}, {0, 10}};
    const ResultErrors errors =
        errors_of(view_of(a.data(), {1, 2, 1}), view_of(b.data(), {1, 2, 1}));
    CHECK(errors.largest == 10);
    CHECK(errors.relative_l2 == Approx(std::sqrt(125.0) / 10));
    CHECK(errors.worst == Index3{0, 1, 0});
}

TEST_CASE("equal arrays have no error, and non-finite values are never right") {
    const std::vector<double> b(40000, 1.0);
    std::vector<double> a = b;
    const Shape3 row{1, 1, 40000};
    const ResultErrors none = errors_of(view_of(a.data(), row), view_of(b.data(), row));
    CHECK(none.largest == 0);
    CHECK(none.relative_l2 == 0);
    CHECK(std::isinf(none.psnr_db));
    a[39999] = 2;  // the largest error is at the end of a long row
    CHECK(errors_of(view_of(a.data(), row), view_of(b.data(), row)).worst == Index3{0, 0, 39999});
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        a[20000] = bad;
        const ResultErrors errors = errors_of(view_of(a.data(), row), view_of(b.data(), row));
        CHECK(errors.nonfinite == 1);
        CHECK(std::isinf(errors.relative_largest));
        CHECK(std::isinf(errors.relative_l2));
        CHECK(errors.worst == Index3{0, 0, 20000});
    }
    const std::vector<double> zero(2, 0.0);
    const std::vector<double> one(2, 1.0);
    CHECK(std::isinf(
        errors_of(view_of(one.data(), {1, 1, 2}), view_of(zero.data(), {1, 1, 2})).relative_l2));
    CHECK_THROWS_AS(errors_of(view_of(one.data(), {1, 1, 2}), view_of(zero.data(), {1, 2, 1})),
                    InvalidArgument);
}

TEST_CASE("lists of sizes are parsed") {
    CHECK(parse_sizes("--sizes", "64..512") == std::vector<index_t>{64, 128, 256, 512});
    CHECK(parse_sizes("--sizes", "64..500") == std::vector<index_t>{64, 128, 256});
    CHECK(parse_sizes("--sizes", "100,64,100,16..32") == std::vector<index_t>{16, 32, 64, 100});
    for (const char* text : {"", "0", "64..", "..64", "64..32", "a", "64,,32", "1e3", "-4"})
        CHECK_THROWS_AS(parse_sizes("--sizes", text), InvalidArgument);
}

TEST_CASE("ways are all applicable combinations of options") {
    WayOptionLists lists;
    lists.devices = {"cpu", "gpu:0"};
    lists.methods = {"in-core", "dif"};
    lists.parts = {2, 4};
    lists.threads = {1, 2};
    // cpu: (1 + 2 numbers of parts) × 2 precisions × 2 numbers of threads; gpu: (1 + 2) × 2
    const std::vector<Way> ways = combinations(lists);
    CHECK(ways.size() == 18);
    CHECK(ways[0].name() == "cpu in-core float32 1 thread");
    CHECK(ways.back().name() == "gpu:0 dif 4 parts float64");
    lists.fft = {FftLibrary::own, FftLibrary::fftw};
    CHECK(combinations(lists).size() == 2 * 12 + 6);
    CHECK(combinations(lists)[1].name() == "cpu in-core float32 1 thread fft fftw");
    WayOptionLists filters;
    filters.devices = {"cpu"};
    filters.methods = {"direct", "overlap-save"};
    filters.segments = {1024, 4096};
    filters.precisions = {"float32"};
    CHECK(combinations(filters).size() == 3);
    CHECK(combinations(filters).back().name() == "cpu overlap-save segment 4096 float32");
}

TEST_CASE("medians and spreads of turns are computed") {
    CHECK(median<double>({3, 1, 2}) == 2);
    CHECK(median<double>({4, 1, 2, 3}) == 2.5);
    CHECK(median<double>({}) == 0);
    const Json report = small_report();
    const Json& way = report["problems"][0]["ways"][0];
    CHECK(way["median_s"].get<double>() == Approx(0.3));
    CHECK(way["first_s"].get<double>() == Approx(0.35));
    CHECK(way["spread"].get<double>() == Approx(0.2 / 0.3));
    CHECK(way["per_s"].get<double>() == Approx(1000 / 0.3));
    CHECK(way["phases_s"]["convolve"].get<double>() == Approx(0.25));
    CHECK(way["finished"] == true);
    CHECK(report["problems"][0]["ways"][1]["finished"] == false);
}

TEST_CASE("the table tells which ways were measured in part, and which figures are unknown") {
    const Json report = small_report();
    const Table table = summary_table(report, report["problems"][0]);
    REQUIRE(table.rows.size() == 2);
    CHECK(table.header[3] == "Mvoxels/s");
    CHECK(table.rows[0] == std::vector<std::string>{"cpu dif 4 parts float32 2 threads", "300 ms",
                                                    "67 %", "0.003333", "500 ms", "4.00 KiB", "–",
                                                    "2e-07", "3e-08"});
    CHECK(table.rows[1][0] == "cpu tiled float32 2 threads (1 of 2 turns)");
    CHECK(table.rows[1][7] == "infinite");
}

TEST_CASE("spreads are printed in percent without powers of ten") {
    Json report = small_report();
    Json& problem = report["problems"][0];
    problem["ways"][0]["turns"][1]["seconds"] = 3;
    summarize(problem["ways"][0], 1000, 2);
    const Table table = summary_table(report, problem);
    CHECK(table.rows[0][2] == "175 %");  // range of the turns over their median: (3 - 0.2) / 1.6
    CHECK(table.rows[1][2] == "0 %");
}

TEST_CASE("tables are aligned by characters") {
    CHECK(aligned_text({{"way", "µ"}, {{"a", "12"}, {"bcde", "–"}}}) ==
          "way    µ\na     12\nbcde   –\n");
}

TEST_CASE("random data depend on their seed only") {
    const Volume image = synthetic_image({4, 50, 50}, 1);
    const auto voxels_of = [](const Volume& volume) {
        const auto* const voxels = volume.elements<std::uint16_t>();
        return std::vector<std::uint16_t>(voxels, voxels + 10000);
    };
    const std::vector<std::uint16_t> voxels = voxels_of(image);
    CHECK(voxels == voxels_of(synthetic_image({4, 50, 50}, 1)));
    CHECK(voxels != voxels_of(synthetic_image({4, 50, 50}, 2)));
    const auto [least, most] = std::minmax_element(voxels.begin(), voxels.end());
    CHECK(*least == 100);
    CHECK(*most > 4000);
    CHECK(*most <= 4095);
}
