// SPDX-License-Identifier: Apache-2.0
// `convolume doctor`: what was built, what the machine has, how fast memory is.

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/app.hpp"
#include "cli/doctor/calibration.hpp"
#include "cli/doctor/gpu_diagnosis.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

struct Diagnosis {
    std::vector<Feature> features = built_features();
    int processors = processor_count();
    index_t memory_bytes = total_memory_bytes();
    HostResources host = host_resources();
    double copy_bytes_per_s = 0;
    std::string cache = cache_folder();
    Calibration calibration = current_calibration();
    GpuDiagnosis gpu = diagnose_gpus();
};

Diagnosis diagnose() {
    Diagnosis diagnosis;
    constexpr index_t buffer_bytes = index_t{256} << 20;
    const index_t affordable = diagnosis.host.available_bytes / 8;
    diagnosis.copy_bytes_per_s = measure_copy_bandwidth(
        std::clamp<index_t>(affordable, 1 << 20, buffer_bytes), diagnosis.host.threads);
    return diagnosis;
}

nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis) {
    nlohmann::ordered_json features;
    for (const Feature& feature : diagnosis.features)
        features[feature.name] = {{"present", feature.present}, {"state", feature.state}};
    nlohmann::ordered_json json = versioned_json();
    json["compiler"] = CONVOLUME_COMPILER;
    json["features"] = features;
    json["processor"] = diagnosis.host.processor;
    json["processors"] = diagnosis.processors;
    json["threads"] = diagnosis.host.threads;
    json["host_memory_bytes"] = diagnosis.memory_bytes;
    json["host_memory_available_bytes"] = diagnosis.host.available_bytes;
    json["host_memory_limited_by"] = diagnosis.host.memory_limited_by;
    json["copy_bytes_per_s"] = diagnosis.copy_bytes_per_s;
    json["cache_folder"] = diagnosis.cache;
    json["calibration"] = to_json(diagnosis.calibration);
    json["cuda"] = to_json(diagnosis.gpu);
    return json;
}

nlohmann::ordered_json calibration_json(const Calibration& calibration) {
    nlohmann::ordered_json json = versioned_json();
    json["calibration"] = to_json(calibration);
    return json;
}

std::string to_text(const Diagnosis& diagnosis) {
    TextStream text;
    const auto fact = [&text](std::string label, const std::string& value) {
        label.resize(16, ' ');
        text << label << value << '\n';
    };
    fact("convolume", version);
    fact("compiler", CONVOLUME_COMPILER);
    for (const Feature& feature : diagnosis.features) fact(feature.name, feature.state);
    fact("processor", diagnosis.host.processor);
    fact("threads", message(diagnosis.host.threads, " of ", diagnosis.processors, " processors"));
    fact("host memory", message(format_bytes(diagnosis.memory_bytes), ", ",
                                format_bytes(diagnosis.host.available_bytes), " available by ",
                                diagnosis.host.memory_limited_by));
    fact("memory copy",
         message(format_number(diagnosis.copy_bytes_per_s / 1e9), " GB/s, read plus written"));
    fact("cache folder", diagnosis.cache.empty()
                             ? "none; set HOME or XDG_CACHE_HOME to keep FFT plans between runs"
                             : diagnosis.cache);
    fact("predictions", one_line(diagnosis.calibration));
    for (const auto& [label, value] : facts_of(diagnosis.gpu)) fact(label, value);
    return text.str();
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "doctor", "Print the features of this build, the machine's hardware and its speed");
    struct Request {
        bool json = false, calibrate = false;
        std::string folder;
    };
    auto request = std::make_shared<Request>();
    command->add_flag("--json", request->json, "Print a JSON object");
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
                write_stdout(request->json ? dump(calibration_json(measured)) : to_text(measured));
                return;
            }
            const Diagnosis diagnosis = diagnose();
            write_stdout(request->json ? dump(diagnosis_json(diagnosis)) : to_text(diagnosis));
        };
    });
}

}  // namespace convolume::cli
