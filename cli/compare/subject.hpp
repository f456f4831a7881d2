// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is compared: a problem of images or of signals that can be solved in several ways.

#include <memory>
#include <optional>
#include <string>

#include "cli/compare/comparison.hpp"
#include "convolume/engines.hpp"
#include "convolume/execution.hpp"
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
    /// Makes or reads the input, unless it is there. Throws OutOfMemory beyond `limit_bytes`.
    virtual void prepare(index_t limit_bytes) = 0;
    /// Gives the memory of what prepare() has made back.
    virtual void release() = 0;
    virtual index_t input_bytes() const = 0;   ///< that prepare() takes
    virtual index_t result_bytes() const = 0;  ///< in float64: of the reference
    /// Products of direct sums: whether these are a reference within reach.
    virtual double products() const = 0;

    /// Throws InvalidArgument, Unavailable or OutOfMemory where there is no such way, and what the
    /// library does where the input cannot be used.
    virtual std::unique_ptr<PlannedWay> plan(const Way& way, index_t limit_bytes) const = 0;
};

/// The engines of a way.
EngineChoice engines_of(const Way& way);

/// "cpu", "auto", "gpu", "gpu:0", "gpu:0+1". Throws InvalidArgument that names --devices.
EngineChoice parse_compared_device(const std::string& text);

}  // namespace convolume::cli
