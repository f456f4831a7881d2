// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/calibration.hpp"

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

std::string value_text(double value, bool per_second) {
    constexpr int digits = 3;
    if (per_second) return format_number(value / 1e9, digits) + " GB/s";
    if (value >= 1e-3) return format_number(value, digits) + " s";
    return format_number(value * 1e9, digits) + " ns";
}

}  // namespace

std::string one_line(const Calibration& calibration) {
    return calibration.measured ? message("measured on this machine, kept in ", calibration.file)
                                : "built in; convolume doctor --calibrate measures this machine";
}

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

nlohmann::ordered_json to_json(const Calibration& calibration) {
    nlohmann::ordered_json rates;
    for (const CalibratedRate& rate : calibration.rates)
        rates[rate.name] = {{"used", rate.used}, {"built_in", rate.built_in}};
    return {{"machine", calibration.machine},
            {"file", calibration.file},
            {"measured", calibration.measured},
            {"rates", rates}};
}

}  // namespace convolume::cli
