#pragma once
// What `convolume convolve` tells about a run: sentences for people, JSON for programs.

#include "cli/convolve/request.hpp"

namespace convolume::cli {

/// Facts gathered during a run.
struct ConvolveFacts {
    io::ImageMetadata input;
    KernelFile kernel;
    io::ImageMetadata output;
    double kernel_sum = 0;
    double plan_s = 0;
    ExecutionReport executed;  ///< summed over channels and frames

    index_t volumes() const { return input.frames * input.channels; }
    void add(const ExecutionReport& report);
};

/// The method, its grid and memory, and the time predicted for that many volumes.
std::string plan_line(const Plan& plan, index_t volumes);

/// Inputs, kernel sum and plan.
void report_plan(const Console& console, const ConvolveRequest& request, const ConvolveFacts& facts,
                 const Plan& plan);

/// Clamped values, time per phase and where the output is.
void report_end(const Console& console, const ConvolveRequest& request, const ConvolveFacts& facts,
                const Timeline& timeline);

/// The object of --json; without a timeline, as in a dry run, there is no "report" in it.
std::string to_json(const ConvolveRequest& request, const ConvolveFacts& facts, const Plan& plan,
                    const Timeline* timeline);

}  // namespace convolume::cli
