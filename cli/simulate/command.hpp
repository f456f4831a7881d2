// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume simulate`: its request, and its run: all channels and time points are blurred by the
// Convolvers of their PSFs, then recorded by the camera plane by plane.

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

struct SimulateRequest : ImageRequest {
    SimulateRequest() { options.normalization = KernelNormalization::sum; }

    std::string truth;  ///< the expected photons; empty for none
    Options options;
    std::optional<double> pixel_um;  ///< of the camera, in the sample; the phantom's voxel without
    std::optional<double> step_um;   ///< of the focus; the phantom's planes without
    double photons = 1000;           ///< at the brightest pixel
    std::optional<double> photons_per_unit;  ///< instead of `photons`
    Camera camera;

    RunFiles files() const { return {{run.timeline, truth, output}, inputs(), create.overwrite}; }
};

/// The place of the light of all channels and times between the convolution and the camera, and how
/// much of it the camera takes at a time.
struct LightPlan {
    StackFormat format;
    ScratchImage::Place place = ScratchImage::Place::file;
    /// The planes of the next pixel plane are read, and the last one is written, while one is
    /// recorded.
    bool overlapped = true;
};

/// The specimen as the microscope images it, before the camera.
class BlurredLight {
  public:
    /// A file is made in `directory`.
    BlurredLight(const LightPlan& plan, const std::string& directory)
        : plan_(plan), light_(plan.format, plan.place, directory) {}

    /// Blurs all channels and times of the phantom.
    ExecutionReport blur(io::ImageReader& phantom, const ChannelKernels<Convolver>& kernels,
                         const ExecutionContext& context);
    /// Negative samples of the phantom that was blurred.
    index_t negative_samples() const { return negative_samples_; }

    /// A plane of the camera. `photons` (float64) holds the light of its pixels.
    struct Plane {
        index_t t, c, z;
        index_t slot;  ///< of what is computed and written; alternates where steps overlap
        Volume& photons;
    };
    /// Calls `compute` for every plane that the camera takes, in order, and `write` (may be empty)
    /// after it, beside the computation of the next plane. `write` has no photons to read.
    void for_each_plane(const CameraGrid& grid, int threads, const ExecutionContext& context,
                        const std::function<void(const Plane&)>& compute,
                        const std::function<void(const Plane&)>& write);

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
        : request_(request), kernels_(std::move(cache)) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    Work work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    index_t camera_bytes(index_t slots) const;
    double brightest_pixel(BlurredLight& light, const ExecutionContext& context);
    void record(BlurredLight& light, const ExecutionContext& context);

    const SimulateRequest request_;
    Kernels kernels_;
    std::unique_ptr<io::ImageWriter> truth_;  ///< null without --truth
    std::optional<CameraGrid> grid_;
    LightPlan light_;
    double photons_per_unit_ = 0;
    ExecutionReport executed_;      ///< of the convolutions
    index_t negative_samples_ = 0;  ///< of the phantom
    CameraReport recorded_;         ///< of all pixels
};

}  // namespace convolume::cli
