// SPDX-License-Identifier: Apache-2.0
#include "core/machine_rates.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "convolume/error.hpp"
#include "convolume/version.hpp"
#include "core/cache_folder.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

namespace fs = std::filesystem;

constexpr MeasurableRate measurable[] = {
    {"row_fft_s", "FFT of rows, a sample", false, &MachineRates::row_fft_s},
    {"column_fft_s", "FFT of columns in cache, a sample", false, &MachineRates::column_fft_s},
    {"strided_s", "loading or storing a column's sample", false, &MachineRates::strided_s},
    {"multiply_add_s", "direct sums, a product", false, &MachineRates::multiply_add_s},
    {"memory_bytes_per_s", "memory, all threads", true, &MachineRates::memory_bytes_per_s},
    {"first_touch_bytes_per_s", "new memory, a thread", true,
     &MachineRates::first_touch_bytes_per_s},
    {"file_read_bytes_per_s", "reading a cached file", true, &MachineRates::file_read_bytes_per_s},
    {"file_write_bytes_per_s", "writing into the system's cache", true,
     &MachineRates::file_write_bytes_per_s},
    {"file_sync_bytes_per_s", "bringing a file to disk", true,
     &MachineRates::file_sync_bytes_per_s},
};

// No machine is faster or slower than the machine of the built-in rates by more than this factor.
constexpr double plausible_factor = 200;

// Largest size of a file that this program can have written.
constexpr std::uintmax_t largest_rates_file_bytes = 1 << 16;

}  // namespace

std::span<const MeasurableRate> measurable_rates() {
    return measurable;
}

std::string processor_name(const fs::path& cpu_info) {
    std::ifstream file(cpu_info);
    std::string designer;
    for (std::string text; std::getline(file, text);) {
        const std::size_t colon = text.find(": ");
        if (colon == std::string::npos) continue;
        const std::string value = text.substr(colon + 2);
        if (text.starts_with("model name")) return value;
        if (text.starts_with("CPU implementer")) designer = value;
        if (text.starts_with("CPU part")) return message("ARM ", designer, " ", value);
    }
    return "unknown";
}

std::string machine_key() {
    return message(processor_name(), ", ", thread_count(0), " threads, convolume ", version());
}

fs::path rates_file() {
    const auto folder = cache_folder();
    return folder ? *folder / "machine-rates.json" : fs::path();
}

std::optional<MachineRates> read_rates(const fs::path& file, const std::string& key) {
    std::error_code failed;
    const auto bytes = fs::file_size(file, failed);
    if (failed || bytes > largest_rates_file_bytes) return {};
    std::ifstream stream(file);
    const auto json = nlohmann::json::parse(stream, nullptr, false);
    if (!json.is_object() || !json.contains("machine") || json["machine"] != key ||
        !json.contains("rates") || !json["rates"].is_object())
        return {};
    MachineRates rates;
    for (const MeasurableRate& rate : measurable) {
        const auto found = json["rates"].find(rate.name);
        if (found == json["rates"].end())
            continue;  // a rate that was not measured, for example without a GPU
        if (!found->is_number()) return {};
        const auto value = found->get<double>();
        const double ratio = value / rates.*rate.value;
        if (!(ratio > 1 / plausible_factor && ratio < plausible_factor)) return {};
        rates.*rate.value = value;
    }
    return rates;
}

void write_rates(const fs::path& file, const std::string& key, const MachineRates& rates) {
    nlohmann::ordered_json values;
    for (const MeasurableRate& rate : measurable) values[rate.name] = rates.*rate.value;
    const nlohmann::ordered_json json{{"machine", key}, {"rates", std::move(values)}};
    replace_cache_file(file, json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

const MachineRates& machine_rates() {
    static const MachineRates rates = [] {
        const fs::path file = rates_file();
        // Most machines have no such file. Without it the key, which takes time to determine, is
        // not needed.
        std::error_code failed;
        if (file.empty() || !fs::exists(file, failed)) return MachineRates{};
        return read_rates(file, machine_key()).value_or(MachineRates{});
    }();
    return rates;
}

}  // namespace convolume
