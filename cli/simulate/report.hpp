#pragma once
// What `convolume simulate` tells about a run: sentences for people, JSON for programs.

#include <vector>

#include "cli/simulate/request.hpp"

namespace convolume::cli {

/// Facts gathered during a run.
struct SimulateFacts {
    io::ImageMetadata input;
    KernelFile kernel;  ///< its values are gone once a convolver is made of them
    io::ImageMetadata output;
    double plan_s = 0;
    double photons_per_unit = 0;
    ExecutionReport executed;               ///< of the convolutions
    index_t convolutions = 0;               ///< done
    index_t negative_psf_samples = 0;       ///< set to 0
    std::vector<index_t> negative_samples;  ///< of each volume of the phantom
    CameraReport recorded;                  ///< of all pixels

    index_t volumes() const { return input.frames * input.channels; }
};

/// Inputs, camera and plan.
void report_plan(const Console& console, const SimulateRequest& request, const SimulateFacts& facts,
                 const Plan& plan);

/// Signal to noise, saturation, time and where the outputs are.
void report_end(const Console& console, const SimulateRequest& request, const SimulateFacts& facts,
                const Timeline& timeline);

/// The object of --json; without a timeline, as in a dry run, there is no "report" in it.
std::string to_json(const SimulateRequest& request, const SimulateFacts& facts, const Plan& plan,
                    const Timeline* timeline);

}  // namespace convolume::cli
