// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume deconvolve` as the steps of a run: every channel and time point is restored by the
// Deconvolver of its PSF.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/deconvolve/warnings.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/channel_kernels.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/image_run.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// The request of the command line.
struct DeconvolveRequest : ImageRequest {
    DeconvolveOptions options;
    std::string output_type;  ///< a type's name, "same", or empty for float32
    bool scale_output = false;
    std::string start;        ///< an image to begin with; empty for none
    bool warm_start = false;  ///< each time point begins with the result of the last one
    int dump_every = 0;       ///< iterations between estimates that are written; 0: none

    std::vector<std::string> inputs() const {
        std::vector<std::string> all = ImageRequest::inputs();
        if (!start.empty()) all.push_back(start);
        return all;
    }
    RunFiles files() const { return {{run.timeline, output}, inputs(), create.overwrite}; }
};

/// "a/b.iter010.ome.tif" for the result "a/b.ome.tif" and iteration 10. Of several volumes
/// "a/b.t2.c0.iter010.ome.tif", with time and channel from 0. Numbers have as many digits as the
/// last one, iterations three at least.
std::string estimate_name(const std::string& result, const io::ImageMetadata& image, index_t volume,
                          int iteration, int iterations);

/// --dump-every: the estimate as it is after some iterations, in files beside the result.
class EstimateFiles {
  public:
    /// An estimate after every `every` of at most `iterations`, as volumes of `result`, of its
    /// extents and of `type`. Throws OutputExists, or CannotCreate, or InvalidArgument where one of
    /// them would be one of the inputs, before anything is computed.
    EstimateFiles(int every, int iterations, std::string path, const io::ImageMetadata& result,
                  PixelType type, io::CreateOptions create, const std::vector<std::string>& inputs);

    /// After each iteration of volume number `volume`; writes where it is time.
    void take(index_t volume, const Iteration& iteration, const EstimateReader& read);

    const std::vector<std::string>& written() const { return written_; }
    /// Removes what was written.
    void remove();

  private:
    io::ImageMetadata metadata_of(index_t volume) const;

    int every_;
    int iterations_;
    std::string path_;
    io::ImageMetadata result_;
    io::CreateOptions create_;
    Volume estimate_;
    std::vector<std::string> written_;
};

/// "iteration 3 of 30, log-likelihood -1234.5", or the residual.
std::string iteration_text(const Iteration& iteration, DeconvolveMethod method);

class DeconvolveSteps : public ImageSteps {
  public:
    using Kernels = ChannelKernels<Deconvolver>;

    explicit DeconvolveSteps(
        const DeconvolveRequest& request,
        std::shared_ptr<Kernels::Cache> cache = std::make_shared<Kernels::Cache>())
        : request_(request), kernels_(std::move(cache)) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    Work work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    ExecutionReport executed() const;
    void plan_memory(index_t limit);

    void open_start();
    /// What the volume that comes next begins with; no data: nothing.
    ConstImageView start_of_next();

    const DeconvolveRequest request_;
    std::unique_ptr<io::ImageReader> start_reader_;  ///< of --start
    Volume start_;                                   ///< of --start, one volume
    std::vector<Volume> last_results_;               ///< of --warm-start, each channel's
    Kernels kernels_;
    ResultStorage result_;
    bool overlapped_ = false;  ///< memory holds the next volume and the last one too
    std::optional<PixelCheck> pixels_;
    std::optional<EstimateFiles> estimates_;  ///< of --dump-every
    std::vector<DeconvolveReport> volumes_;   ///< t slowest, then c
};

}  // namespace convolume::cli
