// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results of a comparison: for every problem the measurements of every way. They hold all that the
// report shows; how they are measured is in runner.hpp, how they are written in report.hpp.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/compare/way.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

/// How far a result A is from another, B, that is taken to be right.
struct Errors {
    /// δ = max |A − B|, after Karas and Svoboda, EURASIP J. Adv. Signal Process. 2011:120.
    double largest = 0;
    double relative_largest = 0;   ///< relative L∞: max |A − B| / max |B|
    double relative_l2 = 0;        ///< ‖A − B‖₂ / ‖B‖₂
    double psnr_db = 0;            ///< 20 log₁₀(max |B| / RMS(A − B)); infinite where A = B
    Index3 worst;                  ///< where |A − B| is largest; the first of several
    index_t nonfinite = 0;         ///< samples whose difference is infinite or NaN
    double reference_largest = 0;  ///< max |B|
};

/// Relative figures are infinite where B is zero and A is not; all but PSNR where samples are not
/// finite. Images of any types and strides. Throws InvalidArgument for different shapes.
Errors errors_of(const ConstImageView& a, const ConstImageView& b);

/// One measured execution, after one that was not measured.
struct Turn {
    double plan_s = 0;   ///< making the plan and preparing the kernel or filters
    double first_s = 0;  ///< the execution before: fresh memory, first use of transforms
    double seconds = 0;  ///< the measured execution
    /// Seconds in each phase of it, summed over what runs at the same time.
    std::vector<std::pair<std::string, double>> phases;
};

/// Bytes. What is measured is the most of all turns.
struct MemoryFigures {
    index_t declared_host = 0;  ///< by the plan: input, result, scratch, CPU engines; 0: not
    index_t counted_host = 0;   ///< of buffers: input, and what the way took
    std::optional<index_t> resident_host;  ///< resident: input, and what the way took
    index_t declared_gpu = 0;              ///< by the plan, of each GPU
    std::optional<index_t> held_gpu;       ///< of the GPU's free memory, after an execution
};

/// Between host and GPUs, in one execution.
struct Traffic {
    index_t to_gpu_bytes = 0;
    index_t from_gpu_bytes = 0;
    /// The least time for these at the measured bandwidths; nothing where these are unknown.
    std::optional<double> least_s;
};

struct Measurement {
    Way way;
    std::string plan;                   ///< in a few words
    std::optional<double> predicted_s;  ///< of one execution
    std::vector<Turn> turns;
    MemoryFigures memory;
    Traffic traffic;
    std::optional<Errors> errors;  ///< of the result beside the reference

    double median_s() const;  ///< of the measured executions
    double first_s() const;   ///< median of the first executions
    double spread() const;    ///< (slowest − fastest) / median
    /// Median seconds of each phase.
    std::vector<std::pair<std::string, double>> phases() const;
};

/// A way that was not measured.
struct LeftOut {
    Way way;
    std::string reason;
};

/// How far the results of two ways are apart.
struct PairDifference {
    std::string a;
    std::string b;
    double relative_l2 = 0;  ///< ‖A − B‖₂ / ‖B‖₂
};

/// An input with its kernel or filters, and how all ways did on it.
struct ComparedProblem {
    std::string name;       ///< "64×64×64 * 16×16×16"
    index_t size = 0;       ///< of a sweep: the edge of the image, or samples; else 0
    index_t work = 0;       ///< voxels of the image, or results of all filters
    std::string reference;  ///< what errors are measured against, or why there are none
    std::vector<Measurement> measured;
    std::vector<LeftOut> left_out;
    std::vector<PairDifference> pairs;
    std::string pairs_note;  ///< which pairs are missing and why; empty when none is

    Measurement* find(const Way& way);
    /// Work a second of a way; nothing if it took no time.
    std::optional<double> rate(const Measurement& measurement) const;
    /// Names of the phases of all ways, each once.
    std::vector<std::string> phase_names() const;
    std::optional<double> difference(const std::string& a, const std::string& b) const;
};

struct Comparison {
    std::string software;
    std::string date;     ///< UTC, when it began
    std::string command;  ///< the command line
    std::string unit;     ///< of the work: "voxel", "sample"
    int repeats = 0;
    bool finished = false;
    nlohmann::ordered_json machine;
    nlohmann::ordered_json identity;  ///< what must agree for --resume
    std::vector<ComparedProblem> problems;

    /// Whether any way was measured.
    bool has_measurements() const;
    /// Ways of all problems that have all their turns.
    int finished_ways() const;
};

double median(std::vector<double> values);

}  // namespace convolume::cli
