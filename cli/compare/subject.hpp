// SPDX-License-Identifier: Apache-2.0
#pragma once
// Subjects of a comparison: problems with images or signals that can be solved in several ways.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/compare/comparison.hpp"
#include "convolume/convolver.hpp"
#include "convolume/execution.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// A problem with the plan of one way to solve it.
class PlannedWay {
  public:
    PlannedWay() = default;
    PlannedWay(const PlannedWay&) = delete;
    PlannedWay& operator=(const PlannedWay&) = delete;
    virtual ~PlannedWay() = default;

    virtual std::string plan() const = 0;    ///< describes the plan in a few words
    virtual double predicted_s() const = 0;  ///< returns the predicted time of one execution
    virtual MemoryFigures declared() const = 0;
    virtual Volume make_result() const = 0;  ///< allocates the result of execute()
    virtual void execute(const ImageView& result, const ExecutionContext& context) const = 0;
};

/// A problem to compare ways on: an input and its kernel or filters.
class Subject {
  public:
    Subject() = default;
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    virtual ~Subject() = default;

    virtual std::string name() const = 0;
    virtual index_t size() const = 0;  ///< returns the size of the problem in a sweep; else 0
    virtual index_t work() const = 0;  ///< returns the number of voxels or samples of the result
    /// Makes the input, unless it exists. Throws OutOfMemory beyond `limit_bytes`.
    virtual void prepare(index_t limit_bytes) = 0;
    /// Frees the input that prepare() has made.
    virtual void release() = 0;
    /// Returns the bytes of the input that prepare() makes.
    virtual index_t input_bytes() const = 0;
    /// Returns the bytes of a result in float64, the precision of the reference.
    virtual index_t result_bytes() const = 0;
    /// Returns the number of products of direct sums, which decides if they are the reference.
    virtual double products() const = 0;

    /// Plans a way. Throws InvalidArgument, Unavailable or OutOfMemory if the way is not possible,
    /// and the library's errors if the input cannot be used.
    virtual std::unique_ptr<PlannedWay> plan(const Way& way, index_t limit_bytes) const = 0;
};

// Below, `options` apply to every way: mode, boundary, center or origin, normalization and NaN.

/// Returns a subject with an image and a kernel from files. `first` is the place of the image's
/// first sample in its file, for messages.
std::unique_ptr<Subject> image_subject(Volume image, Volume kernel, const Options& options,
                                       const NonfiniteSample::Location& first);
/// Returns a subject whose prepare() makes an image of size³ and a kernel of kernel_size³ voxels.
std::unique_ptr<Subject> image_subject(index_t size, index_t kernel_size, std::uint64_t seed,
                                       const Options& options);

/// Returns a subject with data from files: signals of 1 × signals × samples, and files of filters.
std::unique_ptr<Subject> signal_subject(Volume signals, std::vector<Volume> filters,
                                        const FilterOptions& options);
/// Returns a subject whose prepare() makes one random signal and random filters.
std::unique_ptr<Subject> signal_subject(index_t samples, index_t filters, index_t taps,
                                        std::uint64_t seed, const FilterOptions& options);

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
