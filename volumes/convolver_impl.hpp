// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Convolver is made of. Executions in memory are in convolver.cpp, those of sources and
// sinks in stream_execution.cpp.

#include <memory>
#include <mutex>

#include "convolume/convolver.hpp"
#include "volumes/plan_runner.hpp"
#include "volumes/resolved_problem.hpp"

namespace convolume {

/// Cure for an image with NaN or infinities, as the end of a message.
inline constexpr const char* cure_of_nonfinite =
    "repair it, or choose to read such samples as zero or to propagate them";

struct Convolver::Impl {
    Options options;
    ResolvedProblem resolved;
    EngineList engines;  ///< all that may be used
    mutable std::mutex runner_mutex;
    mutable std::shared_ptr<const PlanRunner> current_runner;

    Impl(const Shape3& image, const ConstImageView& taps, const Options& opts,
         EngineList engine_list, PixelType image_type, PixelType output_type);
    Impl(const Shape3& image, const ConstImageView& taps, const Options& opts,
         const EngineChoice& choice, PixelType image_type, PixelType output_type);
    Impl(const Shape3& image, const ConstImageView& taps, const Options& opts, PixelType image_type,
         PixelType output_type);
    bool may_end_before_gpus_start(const EngineChoice& choice);

    std::shared_ptr<const PlanRunner> make_runner() const;
    std::shared_ptr<const PlanRunner> runner() const;
    /// A device had less memory than was planned with, and knows so now: a smaller plan.
    void plan_again(const std::shared_ptr<const PlanRunner>& failed) const;
    /// Calls `run(runner)`, and again with smaller plans as long as GPUs refuse memory.
    template <class Run>
    ExecutionReport run_with_retries(const Run& run) const;

    bool may_sum_in_space() const;
    bool may_hold_nonfinite(PixelType type) const {
        return options.nan != NanPolicy::propagate && !is_integer(type);
    }
    PixelType natural_type() const {
        return sample_type(options.precision, resolved.problem.complex_data);
    }
    void check_shapes_and_types(const Shape3& input, PixelType input_type, const Shape3& output,
                                PixelType output_type) const;

    ExecutionReport execute(const ConstImageView& input, const ImageView& output,
                            const ExecutionContext& context) const;
    ExecutionReport run_views(const ConstImageView& input, const ImageView& output,
                              const ExecutionContext& context) const;
    ExecutionReport run_on_cpu(const PlanRunner& current, RunArguments& arguments,
                               const ExecutionContext& context) const;
    ExecutionReport run_on_gpu(const PlanRunner& current, RunArguments& arguments,
                               const ExecutionContext& context) const;
    index_t check_finite(const ConstImageView& input) const;

    ExecutionReport execute(ImageSource& source, ImageSink& sink,
                            const ExecutionContext& context) const;
    ExecutionReport run_stream(ImageSource& source, ImageSink& sink,
                               const ExecutionContext& context) const;
    ExecutionReport run_folded(ImageSource& source, ImageSink& sink,
                               const ExecutionContext& context) const;
    /// Throws NonfiniteSample of the first NaN or infinity, or counts them.
    index_t check_finite(ImageSource& source, const ExecutionContext& context) const;
};

template <class Run>
ExecutionReport Convolver::Impl::run_with_retries(const Run& run) const {
    constexpr int attempts = 4;
    for (int attempt = 1;; ++attempt) {
        const auto current = runner();
        try {
            return run(*current);
        } catch (const OutOfMemory&) {
            if (!current->plan().chosen.on_gpu || attempt == attempts) throw;
        }
        plan_again(current);
    }
}

}  // namespace convolume
