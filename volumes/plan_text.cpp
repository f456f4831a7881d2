// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"

namespace convolume {

namespace {

std::string format_seconds(double seconds) {
    char text[32];
    if (seconds < 1)
        std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
    else
        std::snprintf(text, sizeof text, "%.3g s", seconds);
    return text;
}

std::string division(const PlanCandidate& candidate) {
    if (candidate.parts > 1) return message(candidate.parts, " parts");
    const index_t tiles = element_count(candidate.tiles);
    const std::string text =
        tiles > 1 ? message(convolume::to_string(candidate.tiles), " tiles") : "whole";
    if (candidate.gpus_per_block > 1)
        return message(text, " on ", candidate.gpus_per_block, " GPUs");
    return candidate.slab_planes > 0 ? message(text, " by ", candidate.slab_planes, " planes")
                                     : text;
}

std::string describe(const PlanCandidate& candidate) {
    std::string text = to_string(candidate.method);
    if (candidate.algorithm != Algorithm::fft && candidate.algorithm != Algorithm::direct)
        text += message(" (", to_string(candidate.algorithm), ")");
    if (candidate.on_gpu) text += ", gpu";
    return text;
}

nlohmann::json shape_json(const Index3& shape) {
    return {shape.z, shape.y, shape.x};
}

nlohmann::json stages_json(const PlanStages& stages) {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [name, stage] : stages.list())
        json[name] = {{"bytes", stage.bytes}, {"seconds", stage.seconds}};
    return json;
}

nlohmann::json candidate_json(const PlanCandidate& candidate) {
    nlohmann::json json{{"method", to_string(candidate.method)},
                        {"algorithm", to_string(candidate.algorithm)},
                        {"on_gpu", candidate.on_gpu},
                        {"parts", candidate.parts},
                        {"tiles_zyx", shape_json(candidate.tiles)},
                        {"slab_planes", candidate.slab_planes},
                        {"gpus_per_block", candidate.gpus_per_block},
                        {"tasks_in_flight", candidate.tasks_in_flight},
                        {"ring_planes", candidate.ring_planes},
                        {"grid_zyx", shape_json(candidate.grid)},
                        {"engine_bytes", candidate.engine_bytes},
                        {"host_bytes", candidate.host_bytes},
                        {"scratch_file_bytes", candidate.scratch_file_bytes},
                        {"split_kernel_bytes", candidate.split_kernel_bytes},
                        {"image_in_files", candidate.image_in_files},
                        {"kernel_in_files", candidate.kernel_in_files},
                        {"keeps_kernels", candidate.keeps_kernels},
                        {"seconds", candidate.seconds},
                        {"stages", stages_json(candidate.stages)}};
    if (!candidate.rejected.empty()) json["rejected"] = candidate.rejected;
    return json;
}

}  // namespace

std::vector<std::pair<const char*, PlanStage>> PlanStages::list() const {
    std::vector<std::pair<const char*, PlanStage>> all{{"start", start},
                                                       {"prepare", prepare},
                                                       {"read", read},
                                                       {"split and merge", split_and_merge},
                                                       {"to the GPU", to_gpu},
                                                       {"convolve", convolve},
                                                       {"from the GPU", from_gpu},
                                                       {"write", write},
                                                       {"commit", commit}};
    std::erase_if(all, [](const auto& stage) { return stage.second.seconds == 0; });
    return all;
}

std::string Plan::to_string() const {
    std::string text = message(
        "image ", convolume::to_string(image), " * kernel ", convolume::to_string(kernel), " -> ",
        convolume::to_string(output), " (z×y×x), ", complex_data ? "complex" : "real",
        rank1_kernel ? ", kernel of rank 1" : "", ", ", convolume::to_string(precision),
        ", boundary ", convolume::to_string(boundary.kind), "\n");
    text += message("method ", describe(chosen), ": ", division(chosen), ", grid ",
                    convolume::to_string(chosen.grid), ", ", tasks, tasks == 1 ? " task" : " tasks",
                    " on");
    for (const std::string& engine : engines) text += " " + engine;
    if (chosen.tasks_in_flight > 1)
        text += message(", ", chosen.tasks_in_flight, " in flight on each");
    text += message("\nmemory ", format_bytes(chosen.engine_bytes), " an engine, ",
                    format_bytes(chosen.host_bytes), " of the host's ",
                    format_bytes(host_limit_bytes), " (image, output");
    if (scratch_bytes > 0 && !chosen.image_in_files)
        text += message(", split volume ", format_bytes(scratch_bytes));
    if (chosen.ring_planes > 0)
        text += message(", ", chosen.ring_planes, " planes that tiles share");
    if (chosen.parts > 1)
        text += message(", parts of the kernel ", format_bytes(chosen.split_kernel_bytes),
                        chosen.kernel_in_files ? " in files" : "",
                        chosen.keeps_kernels ? ", spectra kept" : "");
    text +=
        message(", engines), ",
                chosen.scratch_file_bytes > 0
                    ? message("scratch files of ", format_bytes(chosen.scratch_file_bytes), ", ")
                    : std::string(),
                "predicted ", format_seconds(chosen.seconds), "\n");

    text += "stages, each by itself:";
    const auto stages = chosen.stages.list();
    const auto slowest = std::max_element(
        stages.begin(), stages.end(),
        [](const auto& a, const auto& b) { return a.second.seconds < b.second.seconds; });
    for (auto stage = stages.begin(); stage != stages.end(); ++stage) {
        text += message(stage == stages.begin() ? " " : ", ", stage->first, " ");
        if (stage->second.bytes > 0) text += format_bytes(stage->second.bytes) + " ";
        text += format_seconds(stage->second.seconds);
        if (stage == slowest && stages.size() > 1) text += " (the slowest)";
    }
    text += "\n";

    char line[256];
    std::snprintf(line, sizeof line, "  %-20s %-22s %-18s %10s %10s %10s\n", "candidate",
                  "division", "grid z,y,x", "engine", "host", "predicted");
    text += line;
    for (const PlanCandidate& candidate : candidates) {
        std::snprintf(
            line, sizeof line, "  %-20s %-22s %-18s %10s %10s %10s", describe(candidate).c_str(),
            division(candidate).c_str(), convolume::to_string(candidate.grid, ",").c_str(),
            format_bytes(candidate.engine_bytes).c_str(),
            format_bytes(candidate.host_bytes).c_str(), format_seconds(candidate.seconds).c_str());
        text += line;
        if (!candidate.rejected.empty()) text += "  " + candidate.rejected;
        text += "\n";
    }
    return text;
}

std::string Plan::to_json() const {
    nlohmann::json all = nlohmann::json::array();
    for (const PlanCandidate& candidate : candidates) all.push_back(candidate_json(candidate));
    return nlohmann::json{{"image_zyx", shape_json(image)},
                          {"kernel_zyx", shape_json(kernel)},
                          {"output_zyx", shape_json(output)},
                          {"complex", complex_data},
                          {"rank1_kernel", rank1_kernel},
                          {"precision", convolume::to_string(precision)},
                          {"boundary", convolume::to_string(boundary.kind)},
                          {"chosen", candidate_json(chosen)},
                          {"candidates", std::move(all)},
                          {"engines", engines},
                          {"tasks", tasks},
                          {"scratch_bytes", scratch_bytes},
                          {"host_limit_bytes", host_limit_bytes}}
        .dump(1);
}

}  // namespace convolume
