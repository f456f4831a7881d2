// SPDX-License-Identifier: Apache-2.0
// Tests convolume doctor --calibrate, and how other commands use its rates.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/errors.hpp"

using namespace convolume::testing;
using nlohmann::json;

namespace {

/// Runs `convolume ARGUMENTS` with its cache in the folder.
CommandResult with_cache(const TemporaryFolder& folder, const Arguments& arguments) {
    Arguments command{"env", "XDG_CACHE_HOME=" + (folder / "cache"), convolume_path()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command, folder);
}

json doctor(const TemporaryFolder& folder) {
    return json::parse(with_cache(folder, {"doctor", "--json"}).out)["calibration"];
}

}  // namespace

TEST_CASE("doctor measures the machine once, and later runs use it") {
    const TemporaryFolder folder;
    CHECK(doctor(folder)["measured"] == false);
    const CommandResult run = with_cache(folder, {"doctor", "--calibrate", "--json"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    const json measured = json::parse(run.out)["calibration"];
    CHECK(measured["measured"] == true);
    const std::string file = folder / "cache/convolume/machine-rates.json";
    CHECK(measured["file"] == file);
    CHECK(doctor(folder) == measured);
    for (const auto& [name, rate] : measured["rates"].items()) {
        INFO(name);
        CHECK(rate["used"] > 0);
        CHECK(rate["used"] != rate["built_in"]);
    }

    // Predictions of plans use the rates that --calibrate has measured.
    with_cache(folder, {"phantom", "-o", "image.tif", "--size", "16,64,64", "-q"});
    with_cache(folder, {"phantom", "-o", "kernel.tif", "--size", "3,5,5", "-q"});
    const auto predicted_s = [&] {
        const CommandResult dry =
            with_cache(folder, {"convolve", "image.tif", "kernel.tif", "--dry-run", "--json", "-q",
                                "--method", "direct", "--device", "cpu"});
        INFO(dry.err);
        REQUIRE(dry.status == 0);
        return json::parse(dry.out)["plan"]["chosen"]["stages"]["convolve"]["seconds"]
            .get<double>();
    };
    json slow = json::parse(read_text(file));
    slow["rates"]["multiply_add_s"] =
        20 * measured["rates"]["multiply_add_s"]["built_in"].get<double>();
    write_text(file, slow.dump());
    const double slow_s = predicted_s();
    std::filesystem::remove(file);
    CHECK(slow_s > 5 * predicted_s());

    // Damaged files, and files of another machine, are ignored.
    const double built_in_s = predicted_s();
    slow["machine"] = "another";
    for (const std::string& text : {slow.dump(), slow.dump().substr(0, 40), std::string("{}")}) {
        write_text(file, text);
        CHECK(predicted_s() == built_in_s);
        CHECK(doctor(folder)["measured"] == false);
    }
}

TEST_CASE("doctor prints measured rates beside the built-in ones") {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "disk");
    const CommandResult run = with_cache(folder, {"doctor", "--calibrate", "--folder", "disk"});
    INFO(run.err);
    REQUIRE(run.status == 0);
    for (const char* word : {"machine", "measured", "built in", "FFT of rows", "GB/s", " ns"})
        CHECK(contains(run.out, word));
    CHECK(std::filesystem::is_empty(folder / "disk"));
}

TEST_CASE("calibration says why it is impossible") {
    const TemporaryFolder folder;
    const CommandResult nowhere =
        with_cache(folder, {"doctor", "--calibrate", "--folder", "missing"});
    CHECK(nowhere.status != 0);
    CHECK(contains(nowhere.err, "missing"));
    CHECK(with_cache(folder, {"doctor", "--folder", "."}).status == 2);
    const CommandResult homeless = run_program(
        {"env", "-u", "HOME", "-u", "XDG_CACHE_HOME", convolume_path(), "doctor", "--calibrate"},
        folder);
    CHECK(homeless.status != 0);
    CHECK(contains(homeless.err, "XDG_CACHE_HOME"));
}
