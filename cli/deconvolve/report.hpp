#pragma once
// What `convolume deconvolve` tells about a run: sentences for people, JSON for programs.

#include <vector>

#include "cli/deconvolve/request.hpp"

namespace convolume::cli {

/// Facts gathered during a run.
struct DeconvolveFacts {
    io::ImageMetadata input;
    KernelFile psf;
    io::ImageMetadata output;
    double plan_s = 0;
    std::vector<DeconvolveReport> volumes;  ///< t slowest, then c
};

/// "iteration 3 of 30, log-likelihood -1234.5", or the residual.
std::string iteration_text(const Iteration& iteration, DeconvolveMethod method);

void report_plan(const Console& console, const DeconvolveRequest& request,
                 const DeconvolveFacts& facts, const Deconvolver& deconvolver);

/// How each volume ended, what was clamped or clipped, times, and where the output is.
void report_end(const Console& console, const DeconvolveRequest& request,
                const DeconvolveFacts& facts, const Timeline& timeline);

/// The object of --json; without a timeline, as in a dry run, there is no "report" in it.
std::string to_json(const DeconvolveRequest& request, const DeconvolveFacts& facts,
                    const Deconvolver& deconvolver, const Timeline* timeline);

}  // namespace convolume::cli
