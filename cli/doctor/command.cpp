// SPDX-License-Identifier: Apache-2.0
// `convolume doctor`: features of the build, hardware of the machine, and speed of its memory.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/app.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/calibration.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string value_text(double value, bool per_second) {
    constexpr int digits = 3;
    if (per_second) return format_number(value / 1e9, digits) + " GB/s";
    if (value >= 1e-3) return format_number(value, digits) + " s";
    return format_number(value * 1e9, digits) + " ns";
}

/// Returns a table of the rates that predictions use, beside the built-in rates.
std::string to_text(const Calibration& calibration) {
    TextStream text;
    const auto line = [&text](std::string label, std::string used, const std::string& built_in) {
        label.resize(38, ' ');
        used.resize(14, ' ');
        text << label << used << built_in << '\n';
    };
    text << "machine  " << calibration.machine << "\nfile     " << calibration.file << '\n';
    line("rate", "measured", "built in");
    for (const CalibratedRate& rate : calibration.rates)
        line(rate.meaning, value_text(rate.used, rate.per_second),
             value_text(rate.built_in, rate.per_second));
    return text.str();
}

std::string gigabytes_a_second(const Json& bytes_per_s) {
    return format_number(bytes_per_s.get<double>() / 1e9, 4) + " GB/s";
}

std::string memory_text(const Json& bytes) {
    return format_bytes(bytes.get<index_t>());
}

std::string word(const Json& json) {
    return json.is_null() ? "" : json.get<std::string>();
}

std::string device_text(const Json& device) {
    std::string text =
        message(word(device["name"]), ", compute capability ", word(device["compute_capability"]),
                ", ", memory_text(device["memory_bytes"]), ", ", memory_text(device["free_bytes"]),
                " free, PCI ", word(device["pci"]));
    if (device.contains("why_unusable"))
        return message(text, "; not used: ", word(device["why_unusable"]));
    if (!device["peers"].empty()) text += ", reaches";
    for (const Json& peer : device["peers"]) text += message(" gpu:", peer.get<int>());
    return text;
}

/// Calls fact(label, text) for each line about CUDA and its devices.
template <class Fact>
void report_cuda(const Json& cuda, const Fact& fact) {
    if (!cuda["runtime"].is_null())
        fact("CUDA versions", message("runtime ", word(cuda["runtime"]), ", driver ",
                                      cuda["driver"].is_null() ? "none" : word(cuda["driver"])));
    for (const Json& device : cuda["devices"]) {
        fact(message("gpu:", device["number"].get<int>()), device_text(device));
        if (device.contains("bytes_per_s")) {
            const Json& rates = device["bytes_per_s"];
            fact("", message("host to device ", gigabytes_a_second(rates["host_to_device"]),
                             ", device to host ", gigabytes_a_second(rates["device_to_host"]),
                             ", both ", gigabytes_a_second(rates["both"]), "; copy on the device ",
                             gigabytes_a_second(rates["device_copy"]), ", read plus written"));
        }
        if (device.contains("not_measured")) fact("", word(device["not_measured"]));
    }
    if (cuda.contains("upload_bytes_per_s"))
        fact("GPU uploads",
             message(gigabytes_a_second(cuda["upload_bytes_per_s"]["one"]), " to one, ",
                     gigabytes_a_second(cuda["upload_bytes_per_s"]["all"]), " to all at once"));
    if (!cuda["transfer_gate"].is_null())
        fact("transfer gate", message("auto is ", word(cuda["transfer_gate"]), " here"));
}

std::string to_text(const Json& machine) {
    TextStream text;
    const auto fact = [&text](std::string label, const std::string& value) {
        label.resize(16, ' ');
        text << label << value << '\n';
    };
    fact("convolume", version);
    fact("compiler", word(machine["compiler"]));
    for (const auto& [name, feature] : machine["features"].items())
        fact(name, word(feature["state"]));
    fact("processor", word(machine["processor"]));
    fact("threads", message(machine["threads"].get<int>(), " of ", machine["processors"].get<int>(),
                            " processors, backend ", word(machine["thread_backend"])));
    fact("host memory", message(memory_text(machine["host_memory_bytes"]), ", ",
                                memory_text(machine["host_memory_available_bytes"]),
                                " available by ", word(machine["host_memory_limited_by"])));
    fact("memory copy", message(format_number(machine["copy_bytes_per_s"].get<double>() / 1e9),
                                " GB/s, read plus written"));
    fact("cache folder", machine["cache_folder"] == ""
                             ? "none; set HOME or XDG_CACHE_HOME to keep FFT plans between runs"
                             : word(machine["cache_folder"]));
    const Json& calibration = machine["calibration"];
    fact("predictions",
         calibration["measured"].get<bool>()
             ? message("measured on this machine, kept in ", word(calibration["file"]))
             : "built in; convolume doctor --calibrate measures this machine");
    report_cuda(machine["cuda"], fact);
    return text.str();
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "doctor", "Print the features of this build, the machine's hardware and its speed");
    struct DoctorRequest {
        bool json = false, calibrate = false;
        std::string folder;
    };
    auto request = std::make_shared<DoctorRequest>();
    set_examples(*command, {"convolume doctor", "convolume doctor --json"});
    command->option_defaults()->group(groups::machine);
    command->add_flag("--json", request->json, "Print a JSON object")->group(groups::output);
    CLI::Option* const calibrate = command->add_flag(
        "--calibrate", request->calibrate,
        "Measure this machine for predictions, and keep the result in the cache folder");
    command
        ->add_option("--folder", request->folder,
                     "Where --calibrate writes and reads files (default: the cache folder)")
        ->type_name("DIR")
        ->needs(calibrate);
    command->callback([request, &action] {
        action = [request] {
            if (request->calibrate) {
                const Calibration measured = convolume::calibrate(request->folder);
                Json json = versioned_json();
                json["calibration"] = calibration_json(measured);
                return write_stdout(request->json ? dump(json) : to_text(measured));
            }
            const Json machine = machine_json();
            write_stdout(request->json ? dump(machine) : to_text(machine));
        };
    });
}

}  // namespace convolume::cli
