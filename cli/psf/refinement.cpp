// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/psf/psf_report.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

std::string name_of(PsfParameter parameter) {
    return parameter == PsfParameter::na ? "NA" : to_string(parameter);
}

std::string unit_of(PsfParameter parameter) {
    return parameter == PsfParameter::depth ? " µm" : "";
}

/// As many decimals as the deviation has with two digits.
std::string with_deviation(double value, double deviation) {
    const int decimals =
        deviation > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(deviation))), 0, 6)
                      : 6;
    TextStream text;
    text << std::fixed;
    text.precision(decimals);
    text << value << " ± " << deviation;
    return text.str();
}

}  // namespace

std::vector<PsfParameter> parse_refine(std::string_view option, const std::string& text) {
    std::vector<PsfParameter> parameters;
    std::istringstream words(text + ',');
    for (std::string word; std::getline(words, word, ',');) {
        const PsfParameter parameter = parse_psf_parameter(word);
        if (std::find(parameters.begin(), parameters.end(), parameter) != parameters.end())
            throw InvalidArgument(message(option, " has ", word, " twice; give it once"));
        parameters.push_back(parameter);
    }
    return parameters;
}

void report_refinement(const Console& console, const RefinedPsf& refined) {
    std::string text;
    for (const RefinedParameter& p : refined.parameters)
        text += message(name_of(p.parameter), ' ', with_deviation(p.value, p.deviation),
                        unit_of(p.parameter), ", ");
    text.resize(text.size() - 2);
    console.fact("refined",
                 message(text, "; differs by ", percent(refined.residual),
                         " (root mean square), before by ", percent(refined.first_residual)));
    for (const RefinedParameter& p : refined.parameters)
        if (p.at_bound)
            console.warning(message("the ", name_of(p.parameter),
                                    " ended at the bound of its range, ", format_number(p.low),
                                    " to ", format_number(p.high), unit_of(p.parameter),
                                    ", so that it may be wrong; check the other parameters, or "
                                    "start nearer to the true value"));
}

nlohmann::ordered_json to_json(const RefinedPsf& refined) {
    nlohmann::ordered_json json;
    for (const RefinedParameter& p : refined.parameters)
        json[p.parameter == PsfParameter::depth ? "depth_um" : to_string(p.parameter)] = {
            {"value", p.value},
            {"deviation", p.deviation},
            {"low", p.low},
            {"high", p.high},
            {"at_bound", p.at_bound}};
    json["residual"] = refined.residual;
    json["first_residual"] = refined.first_residual;
    return json;
}

}  // namespace convolume::cli
