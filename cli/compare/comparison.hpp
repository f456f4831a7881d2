// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results of a comparison: for every problem, the measurements of every way. They hold everything
// that the report shows. runner.hpp measures them, and report.hpp writes them.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/compare/way.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

/// Errors of a result A beside a reference B that is taken to be right.
struct ResultErrors {
    /// δ = max |A − B|, after Karas and Svoboda, EURASIP J. Adv. Signal Process. 2011:120.
    double largest = 0;
    double relative_largest = 0;   ///< relative L∞: max |A − B| / max |B|
    double relative_l2 = 0;        ///< ‖A − B‖₂ / ‖B‖₂
    double psnr_db = 0;            ///< 20 log₁₀(max |B| / RMS(A − B)); infinite if A = B
    Index3 worst;                  ///< first sample at which |A − B| is largest
    index_t nonfinite = 0;         ///< samples whose difference is infinite or NaN
    double reference_largest = 0;  ///< max |B|
};

/// Computes the errors of `a` beside `b`, images of any types and strides. Relative figures are
/// infinite if B is zero and A is not. If samples are not finite, all figures but PSNR are
/// infinite. Throws InvalidArgument for different shapes.
ResultErrors errors_of(const ConstImageView& a, const ConstImageView& b);

/// Times of one turn: a way is planned, executed once unmeasured, and executed again.
struct TurnTimes {
    double plan_s = 0;   ///< seconds to make the plan and prepare the kernel or filters
    double first_s = 0;  ///< seconds of the first execution, with fresh memory and new transforms
    double seconds = 0;  ///< seconds of the measured execution
    /// Name and seconds of each phase of the measured execution, summed over parallel work.
    std::vector<std::pair<std::string, double>> phases;
};

/// Bytes of memory that a way takes. Measured figures are the largest of all turns.
struct MemoryFigures {
    index_t declared_host = 0;  ///< declared by the plan, with input and result; 0: unknown
    index_t counted_host = 0;   ///< bytes in buffers: input, and memory of the way
    std::optional<index_t> resident_host;  ///< resident bytes: input, and memory of the way
    index_t declared_gpu = 0;              ///< bytes that the plan declares for each GPU
    std::optional<index_t> held_gpu;       ///< drop in the GPU's free memory after an execution
};

/// Transfers between host and GPUs in one execution.
struct Traffic {
    index_t to_gpu_bytes = 0;
    index_t from_gpu_bytes = 0;
    /// The least time for these bytes at the measured bandwidths; nothing if those are unknown.
    std::optional<double> least_s;
};

/// Everything that was measured of one way on one problem.
struct Measurement {
    Way way;
    std::string plan;                   ///< the plan in a few words
    std::optional<double> predicted_s;  ///< predicted time of one execution
    std::vector<TurnTimes> turns;
    MemoryFigures memory;
    Traffic traffic;
    std::optional<ResultErrors> errors;  ///< errors beside the reference; nothing without one

    double median_s() const;  ///< returns the median of the measured executions
    double first_s() const;   ///< returns the median of the first executions
    double spread() const;    ///< returns (slowest − fastest) / median
    /// Returns name and median seconds of each phase.
    std::vector<std::pair<std::string, double>> phases() const;
};

/// A way that was not measured, and why.
struct SkippedWay {
    Way way;
    std::string reason;
};

/// Difference between the results of two ways.
struct PairDifference {
    std::string a;
    std::string b;
    double relative_l2 = 0;  ///< ‖A − B‖₂ / ‖B‖₂
};

/// A problem, an input with its kernel or filters, and the measurements of all ways on it.
struct ComparedProblem {
    std::string name;       ///< image and kernel, such as "64×64×64 * 16×16×16"
    index_t size = 0;       ///< in a sweep, edge of the image or samples of the signal; else 0
    index_t work = 0;       ///< voxels of the image, or results of all filters
    std::string reference;  ///< name of the reference for errors, or why there is none
    std::vector<Measurement> measured;
    std::vector<SkippedWay> left_out;
    std::vector<PairDifference> pairs;
    std::string pairs_note;  ///< missing pairs and the reason; empty if all pairs are there

    Measurement* find(const Way& way);
    /// Returns the work per second of a way; nothing if it took no time.
    std::optional<double> rate(const Measurement& measurement) const;
    /// Returns the names of the phases of all ways, each once.
    std::vector<std::string> phase_names() const;
    std::optional<double> difference(const std::string& a, const std::string& b) const;
};

struct Comparison {
    std::string software;
    std::string date;     ///< UTC date and time at the beginning
    std::string command;  ///< the command line
    std::string unit;     ///< unit of the work: "voxel" or "sample"
    int repeats = 0;
    bool finished = false;
    nlohmann::ordered_json machine;
    nlohmann::ordered_json identity;  ///< inputs and options that must agree for --resume
    std::vector<ComparedProblem> problems;

    /// Returns true if any way was measured.
    bool has_measurements() const;
    /// Returns the number of ways, of all problems, that have all their turns.
    int finished_ways() const;
};

double median(std::vector<double> values);

}  // namespace convolume::cli
