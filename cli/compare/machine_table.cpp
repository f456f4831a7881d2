// SPDX-License-Identifier: Apache-2.0
// The machine of a comparison as a table, from what the report keeps of it.

#include "cli/compare/table.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string gigabytes_per_s(const Json& bytes_per_s) {
    return format_number(bytes_per_s.get<double>() / 1e9, 3) + " GB/s";
}

std::string gpu_text(const Json& device) {
    std::string text = message(device.value("name", ""), ", ",
                               format_bytes(device.value("memory_bytes", index_t{0})));
    if (device.contains("bytes_per_s")) {
        const Json& rates = device["bytes_per_s"];
        text += message("; to it ", gigabytes_per_s(rates["host_to_device"]), ", from it ",
                        gigabytes_per_s(rates["device_to_host"]), ", both at once ",
                        gigabytes_per_s(rates["both"]));
    }
    return text;
}

}  // namespace

Table machine_table(const Comparison& comparison) {
    const Json& machine = comparison.machine;
    Table table{"Machine", {"", ""}, {}, {}, true};
    const auto add = [&table](const std::string& label, const std::string& text) {
        table.rows.push_back({label, text});
    };
    add("software", comparison.software + ", " + machine.value("compiler", ""));
    add("date", comparison.date);
    add("command", comparison.command);
    add("processor", message(machine.value("processor", ""), ", ", machine.value("processors", 0),
                             " processors, ", machine.value("threads", 0), " threads by default"));
    add("memory", message(format_bytes(machine.value("memory_bytes", index_t{0})), ", ",
                          format_bytes(machine.value("memory_available_bytes", index_t{0})),
                          " available; copied at ",
                          format_number(machine.value("memory_copy_bytes_per_s", 0.0) / 1e9, 3),
                          " GB/s, read plus written"));
    if (machine.contains("features"))
        for (const auto& [name, state] : machine["features"].items())
            add(name, state.get<std::string>());
    if (!machine.contains("gpus")) return table;
    for (const Json& device : machine["gpus"].value("devices", Json::array()))
        add(message("gpu:", device.value("number", 0)), gpu_text(device));
    const Json driver = machine["gpus"].value("driver", Json());
    if (driver.is_string()) add("CUDA driver", driver.get<std::string>());
    return table;
}

}  // namespace convolume::cli
