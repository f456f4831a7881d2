// SPDX-License-Identifier: Apache-2.0
#pragma once
// Subjects of a comparison: problems of images or of signals that can be solved in several ways.

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

    virtual std::string plan() const = 0;    ///< in a few words
    virtual double predicted_s() const = 0;  ///< of one execution
    virtual MemoryFigures declared() const = 0;
    virtual Volume make_result() const = 0;  ///< for execute()
    virtual void execute(const ImageView& result, const ExecutionContext& context) const = 0;
};

class Subject {
  public:
    Subject() = default;
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    virtual ~Subject() = default;

    virtual std::string name() const = 0;
    virtual index_t size() const = 0;  ///< of a sweep; else 0
    virtual index_t work() const = 0;  ///< voxels or samples of the result
    /// Makes the input, unless it is there. Throws OutOfMemory beyond `limit_bytes`.
    virtual void prepare(index_t limit_bytes) = 0;
    /// Gives back the memory of what prepare() has made.
    virtual void release() = 0;
    virtual index_t input_bytes() const = 0;   ///< that prepare() takes
    virtual index_t result_bytes() const = 0;  ///< in float64: of the reference
    /// Products of direct sums, which tell whether these can be a reference.
    virtual double products() const = 0;

    /// Throws InvalidArgument, Unavailable or OutOfMemory if there is no such way, and what the
    /// library does if the input cannot be used.
    virtual std::unique_ptr<PlannedWay> plan(const Way& way, index_t limit_bytes) const = 0;
};

// `options` are those of every way: mode, boundary, center or origin, normalization and NaN.

/// An image and a kernel from files. `first` is the place of the image's first sample in its file,
/// for messages.
std::unique_ptr<Subject> image_subject(Volume image, Volume kernel, const Options& options,
                                       const NonfiniteSample::Place& first);
/// Made by prepare(): a random image of size³ voxels and a kernel of kernel_size³.
std::unique_ptr<Subject> image_subject(index_t size, index_t kernel_size, std::uint64_t seed,
                                       const Options& options);

/// From files: signals 1 × signals × samples; files of filters.
std::unique_ptr<Subject> signal_subject(Volume signals, std::vector<Volume> filters,
                                        const FilterOptions& options);
/// Made by prepare(): one random signal, and filters.
std::unique_ptr<Subject> signal_subject(index_t samples, index_t filters, index_t taps,
                                        std::uint64_t seed, const FilterOptions& options);

// Random data of comparisons without files. Equal seeds and sizes give equal data on every machine.

/// uint16 with the contrast of fluorescence: a dark background and few bright voxels, 100 … 4095,
/// which is 12 bits. Every voxel is random on its own: round(100 + 3995 u⁴), u uniform in [0, 1).
Volume synthetic_image(const Shape3& shape, std::uint64_t seed);
/// float32, positive, of no particular form: a Gaussian of a sixth of the extents, every sample
/// times a random number in [0.5, 1.5).
Volume synthetic_kernel(const Shape3& shape, std::uint64_t seed);
/// `rows` rows of random float32 in [-1, 1), one after another: signals or filters.
Volume synthetic_rows(index_t rows, index_t samples, std::uint64_t seed);

}  // namespace convolume::cli
