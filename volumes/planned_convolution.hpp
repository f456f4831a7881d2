// SPDX-License-Identifier: Apache-2.0
#pragma once
// A convolution with one kernel: the problem, its engines and the plan in use, and how it is
// executed. A Convolver has one for its kernel, and another one after the kernel is replaced.

#include <memory>
#include <mutex>

#include "convolume/convolver.hpp"
#include "core/engine.hpp"
#include "volumes/plan_runner.hpp"
#include "volumes/problem.hpp"

namespace convolume {

/// Executes a convolution with one kernel. Several threads may call execute().
class PlannedConvolution {
  public:
    /// Plans for given engines.
    PlannedConvolution(const Shape3& image, const ConstImageView& taps, const Options& options,
                       EngineList engines, PixelType image_type, PixelType output_type);
    /// Makes the engines, and plans. `given_up` is null, or holds the kernel, whose memory is then
    /// used or released.
    PlannedConvolution(const Shape3& image, const ConstImageView& taps, const Options& options,
                       const EngineChoice& choice, PixelType image_type, PixelType output_type,
                       Volume* given_up = nullptr);
    /// Makes the engines, and plans for an unknown number of executions. Keeps plans of FFTs.
    static std::unique_ptr<PlannedConvolution> steady(const Shape3& image,
                                                      const ConstImageView& taps,
                                                      const Options& options,
                                                      const EngineChoice& choice,
                                                      PixelType image_type, PixelType output_type);
    /// Returns the same convolution with another kernel, with the same engines, workspaces and
    /// plan. Only if one kernel is a product of three 1D kernels and the other is not, the plan is
    /// made anew. Throws as Convolver::replace_kernel() does.
    std::unique_ptr<PlannedConvolution> with_kernel(const ConstImageView& taps) const;

    const ResolvedProblem& resolved() const { return resolved_; }
    PixelType natural_type() const {
        return sample_type(options_.precision, resolved_.problem.complex_data);
    }
    /// Returns the plan in use now.
    Plan plan() const { return runner()->plan().summary(); }

    ExecutionReport execute(const ConstImageView& input, const ImageView& output,
                            const ExecutionContext& context) const;
    ExecutionReport execute(ImageSource& source, ImageSink& sink,
                            const ExecutionContext& context) const;

  private:
    /// The type of the kernel, and those of the images that the plan is for.
    struct Types {
        PixelType kernel, image, output;
    };

    /// Resolves the problem, without engines.
    PlannedConvolution(const Shape3& image, const ConstImageView& taps, const Options& options,
                       const Types& types, Volume* given_up);
    /// Makes the engines. If those of the CPU end before GPUs start, their plan is the current one.
    void choose_engines(const EngineChoice& choice);
    /// Plans for the CPU alone if few executions are expected. Returns whether they end on the CPU
    /// before a GPU could start.
    bool may_end_before_gpus_start(const EngineChoice& choice);
    std::shared_ptr<const PlanRunner> make_runner() const;
    std::shared_ptr<const PlanRunner> runner() const;
    /// Makes a new plan after a GPU had less memory than planned. The GPU's engine knows the new
    /// limit.
    void plan_again(const std::shared_ptr<const PlanRunner>& failed) const;
    /// Calls run(runner), and again with smaller plans as long as GPUs run out of memory.
    template <class Run>
    ExecutionReport run_with_retries(const Run& run) const;

    bool may_sum_in_space() const;
    bool may_hold_nonfinite(PixelType type) const;
    void check_shapes_and_types(const Shape3& input, PixelType input_type, const Shape3& output,
                                PixelType output_type) const;
    /// Returns the number of samples that are read as 0. Throws NonfiniteSample if NaN are errors.
    index_t check_finite(const ConstImageView& input) const;
    /// Returns the number of NaN and infinities in a stream. Throws NonfiniteSample at the first
    /// one if they are errors.
    index_t check_finite(ImageSource& source, const ExecutionContext& context) const;

    /// Returns the arguments for an image, or for the mask of an image with missing samples.
    ExecutionArguments arguments_of(bool is_mask) const;
    ExecutionReport run_without_missing(const ConstImageView& input, const ImageView& output,
                                        const ExecutionContext& context) const;
    /// Runs the plan. `output` gets its results before they are folded.
    ExecutionReport run_views(const ConstImageView& input, const ImageView& output,
                              const ExecutionContext& context, bool is_mask = false) const;
    ExecutionReport run_on_cpu(const PlanRunner& current, ExecutionArguments& arguments,
                               const ExecutionContext& context) const;
    /// GPUs look for NaN as they load samples. The host, whose memory is slower, looks for the
    /// first NaN only if a GPU has found one.
    ExecutionReport run_on_gpu(const PlanRunner& current, ExecutionArguments& arguments,
                               const ExecutionContext& context) const;
    ExecutionReport run_stream(ImageSource& source, ImageSink& sink,
                               const ExecutionContext& context, bool is_mask = false) const;
    /// Sums and weights of each volume go to scratch files, and are divided some planes at a time.
    ExecutionReport stream_without_missing(ImageSource& source, ImageSink& sink,
                                           const ExecutionContext& context) const;
    ExecutionReport run_folded(ImageSource& source, ImageSink& sink,
                               const ExecutionContext& context) const;

    Shape3 image_;  ///< shape of the image that Operation::convolve takes
    Options options_;
    Types types_;
    ResolvedProblem resolved_;
    EngineList engines_;  ///< all engines that a plan may use
    mutable std::mutex runner_mutex_;
    mutable std::shared_ptr<const PlanRunner> current_runner_;
};

}  // namespace convolume
