// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume simulate`: its request, and its run. The run blurs all channels and time points by the
// Convolvers of their PSFs; then the camera records them plane by plane.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/images/channel_kernels.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/image_run.hpp"
#include "convolume/camera.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_file.hpp"
#include "convolume/scratch_image.hpp"

namespace convolume::cli {

/// The request of the command line. Its second result is the photons that are expected (--truth).
struct SimulateRequest : ImageRequest {
    SimulateRequest() { options.normalization = KernelNormalization::sum; }

    Options options;
    /// Side of a camera pixel in the sample; default: the phantom's voxel.
    std::optional<double> pixel_um;
    std::optional<double> step_um;  ///< focus step; default: distance of the phantom's planes
    double photons = 1000;          ///< expected photons at the brightest pixel
    std::optional<double> photons_per_unit;  ///< factor for the light, instead of `photons`
    Camera camera;
};

/// Plan for the light between convolution and camera: format and place of the light of all channels
/// and times, and whether the camera's steps overlap.
struct LightPlan {
    StackFormat format;
    ScratchImage::Place place = ScratchImage::Place::file;
    /// While one plane is recorded, the next one's light is read and the last one is written.
    bool overlapped = true;
};

/// The specimen as the microscope images it, before the camera.
class BlurredLight {
  public:
    /// If the plan needs a file, it is made in `directory`.
    BlurredLight(const LightPlan& plan, const std::string& directory)
        : plan_(plan), light_(plan.format, plan.place, directory) {}

    /// Blurs all channels and times of the phantom.
    ExecutionReport blur(io::ImageReader& phantom, const ChannelKernels<Convolver>& kernels,
                         const ExecutionContext& context);
    /// Returns the number of negative samples of the phantom.
    index_t negative_samples() const { return negative_samples_; }

    /// A plane that the camera records. `photons` (float64) holds the light of its pixels.
    struct CameraPlane {
        index_t t, c, z;
        index_t slot;  ///< slot of the plane's buffers; alternates if steps overlap
        Volume& photons;
    };
    /// Calls `compute` for every plane of the camera, in order, and then `write` (may be empty)
    /// while the next plane is computed. `write` must not read the photons.
    void for_each_plane(const CameraGrid& grid, int threads, const ExecutionContext& context,
                        const std::function<void(const CameraPlane&)>& compute,
                        const std::function<void(const CameraPlane&)>& write);

  private:
    LightPlan plan_;
    ScratchImage light_;
    index_t negative_samples_ = 0;
};

class SimulateSteps : public ImageSteps {
  public:
    using Kernels = ChannelKernels<Convolver>;

    explicit SimulateSteps(const SimulateRequest& request, std::shared_ptr<Kernels::Cache> cache =
                                                               std::make_shared<Kernels::Cache>())
        : ImageSteps(request, "phantom"), request_(request), kernels_(std::move(cache)) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void tell_plan(const Facts& facts) const override;
    void tell_result(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;

  private:
    index_t camera_bytes(index_t slots) const;
    double brightest_pixel(BlurredLight& light, const ExecutionContext& context);
    void record(BlurredLight& light, const ExecutionContext& context);

    const SimulateRequest request_;
    Kernels kernels_;
    std::optional<CameraGrid> grid_;
    LightPlan light_;
    double photons_per_unit_ = 0;
    index_t negative_samples_ = 0;  ///< number of negative samples of the phantom
    CameraReport recorded_;         ///< camera's report on all pixels
};

}  // namespace convolume::cli
