// SPDX-License-Identifier: Apache-2.0
#include "cli/filter/report.hpp"

#include "cli/signals/signal_steps.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

std::string plan_line(const FilterPlan& plan, bool whole) {
    std::string text = to_string(plan.method);
    if (plan.segment > 0) text += message(", segments of ", plan.segment);
    return text + message(" on ", plan.engine, ", chunks of ", plan.chunk, " in ",
                          format_bytes(plan.stream_bytes), ", predicted ",
                          format_duration(plan.seconds), whole ? "" : " for each");
}

nlohmann::ordered_json plan_json(const FilterPlan& plan) {
    return {{"method", to_string(plan.method)},
            {"segment", plan.segment},
            {"engine", plan.engine},
            {"seconds", plan.seconds},
            {"chunk", plan.chunk},
            {"stream_bytes", plan.stream_bytes}};
}

void tell_filters(const Facts& facts, const char* label, const char* key,
                  const std::vector<FilterFile>& files) {
    for (const FilterFile& file : files) {
        facts.console.fact(label,
                           message(file.path, ": ", file.info.format, ", ", file.info.to_string()));
        facts.json[key]["files"].push_back(file_json(file.path, file.info));
    }
}

}  // namespace convolume::cli
