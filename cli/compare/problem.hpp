// SPDX-License-Identifier: Apache-2.0
#pragma once
// Problems to compare ways on, with images or signals: what they take, their plans, and the random
// data of comparisons without files.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/compare/way.hpp"
#include "convolume/convolver.hpp"
#include "convolume/execution.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/image_stream.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Facts about the plan of a way.
struct PlanFacts {
    std::string text;  ///< the plan in a few words
    double predicted_s = 0;
    index_t host_bytes = 0;  ///< declared by the plan, with input and result; 0: unknown
    index_t gpu_bytes = 0;   ///< declared by the plan for each GPU; 0: unknown
};

/// The plan of a way, ready to be executed.
struct PlannedWay {
    StackFormat result;  ///< format of the result
    std::function<void(const ImageView& result, const ExecutionContext& context)> execute;
    /// Returns the facts of the plan. A GPU that runs out of memory makes another plan in
    /// execute().
    std::function<PlanFacts()> facts;
};

/// A problem: an input with its kernel or filters.
struct Problem {
    std::string name;          ///< such as "64×64×64 * 16×16×16"
    const char* input_name;    ///< "image and kernel", or "signal and filters"
    index_t size = 0;          ///< in a sweep, edge of the image or samples of the signal; else 0
    index_t work = 0;          ///< voxels of the image, or results of all filters
    index_t input_bytes = 0;   ///< bytes of the inputs
    index_t result_bytes = 0;  ///< bytes of a result in float64, the precision of the reference
    double products = 0;       ///< products of direct sums, which decide if they are the reference
    std::vector<Volume> inputs{};  ///< image and kernel, or signals and files of filters
    /// Makes the random inputs of a problem of a sweep; null if they are from files.
    std::function<std::vector<Volume>()> make_inputs{};
    /// Plans a way for inputs, which must outlive the plan. Throws InvalidArgument, Unavailable or
    /// OutOfMemory if the way is not possible, and the library's errors if the inputs cannot be
    /// used.
    std::function<PlannedWay(const std::vector<Volume>& inputs, const Way& way,
                             index_t limit_bytes)>
        plan{};
};

// Below, `options` apply to every way: mode, boundary, center or origin, normalization and NaN.

/// Returns a problem without inputs. `first` is the place of the image's first sample in its file,
/// for messages.
Problem image_problem(const StackFormat& image, const StackFormat& kernel, const Options& options,
                      const NonfiniteSample::Location& first = {});
/// Returns a problem without inputs: signals of 1 × signals × samples, and files of 1 × filters ×
/// taps.
Problem signal_problem(const StackFormat& signals, const std::vector<StackFormat>& filters,
                       const FilterOptions& options);

// Random data of comparisons without files. Equal seeds and sizes give equal data on every machine.

/// Returns a uint16 image with the contrast of fluorescence, a dark background and few bright
/// voxels, in 12 bits. Every voxel is independent, with u uniform in [0, 1):
///
///     round(100 + 3995 u⁴)
Volume synthetic_image(const Shape3& shape, std::uint64_t seed);
/// Returns a positive float32 kernel without symmetry: a Gaussian with standard deviations of a
/// sixth of the extents, each sample times a random number in [0.5, 1.5).
Volume synthetic_kernel(const Shape3& shape, std::uint64_t seed);
/// Returns `rows` rows of random float32 samples in [-1, 1), as signals or filters.
Volume synthetic_rows(index_t rows, index_t samples, std::uint64_t seed);

}  // namespace convolume::cli
