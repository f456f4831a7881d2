// SPDX-License-Identifier: Apache-2.0
// `convolume doctor`: features of the build, hardware of the machine, and speed of its memory.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/app.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/calibration.hpp"

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

std::string to_text(const Json& machine) {
    TextStream text;
    for (auto [label, value] : machine_lines(machine)) {
        label.resize(16, ' ');
        text << label << value << '\n';
    }
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
    begin_group(*command, groups::output);
    command->add_flag("--json", request->json, "Print a JSON object");
    begin_group(*command, groups::machine);
    CLI::Option* const calibrate = command->add_flag(
        "--calibrate", request->calibrate,
        "Measure this machine for predictions, and keep the result in the cache folder");
    add_value(*command, "--folder", request->folder, "DIR",
              "Where --calibrate writes and reads files (default: the cache folder)")
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
