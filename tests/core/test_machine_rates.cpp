// SPDX-License-Identifier: Apache-2.0
// Tests the file of measured rates: written rates are read back, and a damaged file is ignored.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "convolume/error.hpp"
#include "core/machine_rates.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace convolume;
namespace fs = std::filesystem;

namespace {

const std::string key = "a processor, 4 threads, convolume 1.2.3";

struct RatesFolder : testing::TemporaryFolder {
    fs::path file = *this / "inner/machine-rates.json";

    void write(const std::string& text) const {
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
};

MachineRates measured() {
    MachineRates rates;
    double factor = 1.5;
    for (const MeasurableRate& rate : measurable_rates()) rates.*rate.value *= factor += 0.125;
    return rates;
}

}  // namespace

TEST_CASE("processors of x86 and ARM have names") {
    const RatesFolder folder;
    folder.write("processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\nflags\t\t: fma\n");
    CHECK(processor_name(folder.file) == "Fast CPU @ 3 GHz");
    folder.write(
        "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n");
    CHECK(processor_name(folder.file) == "ARM 0x41 0xd0c");
    folder.write("");
    CHECK(processor_name(folder.file) == "unknown");
}

TEST_CASE("rates are read as they were written") {
    const RatesFolder folder;
    CHECK_FALSE(read_rates(folder.file, key));
    write_rates(folder.file, key, measured());
    CHECK(read_rates(folder.file, key) == measured());
    CHECK_FALSE(measured() == MachineRates{});
    write_rates(folder.file, key, MachineRates{});
    CHECK(read_rates(folder.file, key) == MachineRates{});
    // No temporary file is left beside the file.
    CHECK(std::distance(fs::directory_iterator(folder.file.parent_path()), {}) == 1);
}

TEST_CASE("rates of another machine, number of threads or version are ignored") {
    const RatesFolder folder;
    write_rates(folder.file, key, measured());
    for (const char* other :
         {"another processor, 4 threads, convolume 1.2.3",
          "a processor, 5 threads, convolume 1.2.3", "a processor, 4 threads, convolume 1.2.4", ""})
        CHECK_FALSE(read_rates(folder.file, other));
}

TEST_CASE("damaged files of rates are ignored") {
    const RatesFolder folder;
    write_rates(folder.file, key, measured());
    const auto good = [&] {
        std::ifstream stream(folder.file);
        return nlohmann::json::parse(stream);
    }();
    const std::string text = good.dump();
    for (std::size_t length = 0; length < text.size(); length += 7) {
        folder.write(text.substr(0, length));
        CHECK_FALSE(read_rates(folder.file, key));
    }
    for (const char* wrong :
         {"[]", "null", "3", "\"rates\"", "{\"machine\": 3}", "\xff\xfe\x00 "}) {
        folder.write(wrong);
        CHECK_FALSE(read_rates(folder.file, key));
    }
    folder.write(text + std::string(100000, ' '));
    CHECK_FALSE(read_rates(folder.file, key));
    for (const auto& value : {nlohmann::json(0), nlohmann::json(-1e-9), nlohmann::json(1e300),
                              nlohmann::json("fast"), nlohmann::json(nullptr)})
        for (const MeasurableRate& rate : measurable_rates()) {
            auto changed = good;
            changed["rates"][rate.name] = value;
            folder.write(changed.dump());
            CHECK_FALSE(read_rates(folder.file, key));
        }
    auto without = good;
    without["machine"].clear();
    folder.write(without.dump());
    CHECK_FALSE(read_rates(folder.file, key));
    fs::remove(folder.file);
    fs::create_directory(folder.file);
    CHECK_FALSE(read_rates(folder.file, key));
}

TEST_CASE("a rate that was not measured keeps its built-in value") {
    const RatesFolder folder;
    write_rates(folder.file, key, measured());
    std::ifstream stream(folder.file);
    auto json = nlohmann::json::parse(stream);
    json["rates"].erase("multiply_add_s");
    folder.write(json.dump());
    MachineRates wanted = measured();
    wanted.multiply_add_s = MachineRates{}.multiply_add_s;
    CHECK(read_rates(folder.file, key) == wanted);
}

TEST_CASE("rates that cannot be written are an error that names the file") {
    const RatesFolder folder;
    folder.write("");
    const fs::path below = folder.file / "machine-rates.json";
    CHECK_THROWS_AS(write_rates(below, key, measured()), IoError);
}

TEST_CASE("the key names processor, threads and version") {
    CHECK(machine_key().find(processor_name()) == 0);
    CHECK(machine_key().find(" threads, convolume ") != std::string::npos);
}
