// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommand `convolve`: its options, the steps of a run and the report. Every channel at every
// time is convolved by the Convolver of its kernel.

#include <memory>
#include <string>
#include <utility>

#include "cli/files/result_output.hpp"
#include "cli/images/channel_kernels.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/image_run.hpp"
#include "convolume/convolver.hpp"

namespace convolume::cli {

/// A request to convolve images, as the command line gives it.
struct ConvolveRequest : ImageRequest {
    ConvolveRequest() { options.normalization = KernelNormalization::sum; }

    Options options;
    std::string output_type;  ///< name of a type, "same", or empty for the natural type
    bool scale_output = false;
};

/// Returns the shape of the image that a Convolver is planned for. It differs from that of the
/// file, `input`, for an adjoint: its input is the output of a convolution.
Shape3 planned_image_shape(const Shape3& input, const Shape3& kernel, const Options& options);

/// The steps of a run of `convolve`.
class ConvolveSteps : public ImageSteps {
  public:
    using Kernels = ChannelKernels<Convolver>;

    explicit ConvolveSteps(const ConvolveRequest& request, std::shared_ptr<Kernels::Cache> cache =
                                                               std::make_shared<Kernels::Cache>())
        : ImageSteps(request), request_(request), kernels_(std::move(cache)) {
        allows_nonfinite_ = request.options.nan == NanPolicy::propagate;
    }

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void tell_plan(const Facts& facts) const override;

  private:
    /// Plans a number of executions. `samples` are those of the kernel: a view, or a Volume whose
    /// memory the Convolver takes.
    template <class Samples>
    Convolver make_convolver(const KernelFile& kernel, Samples&& samples, index_t executions,
                             index_t max_host_bytes) const;

    const ConvolveRequest request_;
    Kernels kernels_;
    ResultStorage result_;
};

}  // namespace convolume::cli
