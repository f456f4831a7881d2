// SPDX-License-Identifier: Apache-2.0
// `convolume doctor`: features of the build, hardware of the machine, and speed of its memory.

#include <algorithm>
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

std::string value_text(double value, bool per_second) {
    constexpr int digits = 3;
    if (per_second) return format_number(value / 1e9, digits) + " GB/s";
    if (value >= 1e-3) return format_number(value, digits) + " s";
    return format_number(value * 1e9, digits) + " ns";
}

/// Returns "measured on this machine, …", or how to measure it.
std::string one_line(const Calibration& calibration) {
    return calibration.measured ? message("measured on this machine, kept in ", calibration.file)
                                : "built in; convolume doctor --calibrate measures this machine";
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

nlohmann::ordered_json calibration_json(const Calibration& calibration) {
    nlohmann::ordered_json rates;
    for (const CalibratedRate& rate : calibration.rates)
        rates[rate.name] = {{"used", rate.used}, {"built_in", rate.built_in}};
    return {{"machine", calibration.machine},
            {"file", calibration.file},
            {"measured", calibration.measured},
            {"rates", rates}};
}

struct MachineDiagnosis {
    std::vector<Feature> features = built_features();
    int processors = processor_count();
    index_t memory_bytes = total_memory_bytes();
    HostResources host = host_resources();
    std::string cache = cache_folder();
    Calibration calibration = current_calibration();
    GpuDiagnosis gpu = diagnose_gpus();
    double copy_bytes_per_s = measure_copy_bandwidth(host);
};

nlohmann::ordered_json diagnosis_json(const MachineDiagnosis& diagnosis) {
    nlohmann::ordered_json features;
    for (const Feature& feature : diagnosis.features)
        features[feature.name] = {{"present", feature.present}, {"state", feature.state}};
    nlohmann::ordered_json json = versioned_json();
    json["compiler"] = CONVOLUME_COMPILER;
    json["features"] = features;
    json["processor"] = diagnosis.host.processor;
    json["processors"] = diagnosis.processors;
    json["threads"] = diagnosis.host.threads;
    json["thread_backend"] = diagnosis.host.thread_backend;
    json["host_memory_bytes"] = diagnosis.memory_bytes;
    json["host_memory_available_bytes"] = diagnosis.host.available_bytes;
    json["host_memory_limited_by"] = diagnosis.host.memory_limited_by;
    json["copy_bytes_per_s"] = diagnosis.copy_bytes_per_s;
    json["cache_folder"] = diagnosis.cache;
    json["calibration"] = calibration_json(diagnosis.calibration);
    json["cuda"] = to_json(diagnosis.gpu);
    return json;
}

std::string to_text(const MachineDiagnosis& diagnosis) {
    TextStream text;
    const auto fact = [&text](std::string label, const std::string& value) {
        label.resize(16, ' ');
        text << label << value << '\n';
    };
    fact("convolume", version);
    fact("compiler", CONVOLUME_COMPILER);
    for (const Feature& feature : diagnosis.features) fact(feature.name, feature.state);
    fact("processor", diagnosis.host.processor);
    fact("threads", message(diagnosis.host.threads, " of ", diagnosis.processors,
                            " processors, backend ", diagnosis.host.thread_backend));
    fact("host memory", message(format_bytes(diagnosis.memory_bytes), ", ",
                                format_bytes(diagnosis.host.available_bytes), " available by ",
                                diagnosis.host.memory_limited_by));
    fact("memory copy",
         message(format_number(diagnosis.copy_bytes_per_s / 1e9), " GB/s, read plus written"));
    fact("cache folder", diagnosis.cache.empty()
                             ? "none; set HOME or XDG_CACHE_HOME to keep FFT plans between runs"
                             : diagnosis.cache);
    fact("predictions", one_line(diagnosis.calibration));
    for (const auto& [label, value] : report_lines(diagnosis.gpu)) fact(label, value);
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
                nlohmann::ordered_json json = versioned_json();
                json["calibration"] = calibration_json(measured);
                return write_stdout(request->json ? dump(json) : to_text(measured));
            }
            const MachineDiagnosis diagnosis;
            write_stdout(request->json ? dump(diagnosis_json(diagnosis)) : to_text(diagnosis));
        };
    });
}

}  // namespace convolume::cli
