// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume deconvolve`: a run restores every channel and time by the Deconvolver of its PSF.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/files/result_output.hpp"
#include "cli/images/channel_kernels.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/image_run.hpp"
#include "convolume/bleaching.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/image_file.hpp"
#include "convolume/image_view.hpp"
#include "convolume/missing_pixels.hpp"
#include "convolume/psf_fit.hpp"
#include "convolume/volume.hpp"
#include "core/threads.hpp"

namespace convolume::cli {

/// The request of the command line. Its second result is that of --uncertainty.
struct DeconvolveRequest : ImageRequest {
    DeconvolveOptions options;
    std::string output_type;  ///< a type's name, "same", or empty for float32
    bool scale_output = false;
    std::string start;        ///< file of the image to begin with; empty for none
    bool warm_start = false;  ///< each time point begins with the result of the last one
    MissingPixelOptions missing;
    bool refines_psf = false;      ///< whether the PSF that is made is fitted to the image
    std::string mask;              ///< file of a mask, 0 where pixels are left out; empty for none
    bool finds_bleaching = false;  ///< whether light is scaled back to the first exposure's
    std::string weights;           ///< file of the weights of pixels; empty for none
    int dump_every = 0;  ///< number of iterations between estimates that are written; 0: none are

    std::vector<std::string> inputs() const {
        std::vector<std::string> all = ImageRequest::inputs();
        if (!start.empty()) all.push_back(start);
        if (!mask.empty()) all.push_back(mask);
        if (!weights.empty()) all.push_back(weights);
        return all;
    }
    RunFiles files() const {
        RunFiles all = ImageRequest::files();
        all.inputs = inputs();
        return all;
    }
};

/// Returns the file name of an estimate: "a/b.iter010.ome.tif" for the result "a/b.ome.tif" and
/// iteration 10. Images of several volumes have time and channel from 0 in the name:
/// "a/b.t2.c0.iter010.ome.tif". Numbers have the digits of the last one, iterations at least three.
std::string estimate_name(const std::string& result, const io::ImageMetadata& image, index_t volume,
                          int iteration, int iterations);

/// Files of --dump-every, which hold the estimate after some iterations, beside the result.
class EstimateFiles {
  public:
    /// There is an estimate after every `every` of at most `iterations` iterations. It is a volume
    /// with the extents of `result` and pixels of `type`. Throws OutputExists or CannotCreate
    /// before anything is computed, or InvalidArgument if an estimate would overwrite an input.
    EstimateFiles(int every, int iterations, std::string path, const io::ImageMetadata& result,
                  PixelType type, io::CreateOptions create, const std::vector<std::string>& inputs);

    /// Call after each iteration of volume number `volume`. Writes the estimate if it is due.
    void write_if_due(index_t volume, const Iteration& iteration, const EstimateReader& read);

    const std::vector<std::string>& written() const { return written_; }
    /// Removes the files that were written.
    void remove();

  private:
    io::ImageMetadata metadata_of(index_t volume) const;

    int every_;
    int iterations_;
    std::string path_;
    io::ImageMetadata result_metadata_;
    io::CreateOptions create_;
    Volume estimate_;
    std::vector<std::string> written_;
};

/// Returns a text such as "iteration 3 of 30, log-likelihood -1234.5", or with the residual. It
/// begins with "search, " or "split 2 of 8, " if the iteration is not one of the result.
std::string iteration_text(const Iteration& iteration, const DeconvolveOptions& options);

/// Check of the light of results, which is that of the image above its background.
class LightCheck {
  public:
    explicit LightCheck(int threads) : threads_(threads) {}

    /// Takes a part of the image, whose missing pixels are marked.
    void add_image(const ConstImageView& part);
    void add_result(const ConstImageView& part);
    /// Ends a volume, whose image has this background.
    void end_volume(double background);

    /// Returns the least share of its image's light that a result has; nothing before the first
    /// one.
    std::optional<double> least_share() const;

  private:
    int threads_;
    double image_ = 0, result_ = 0;  ///< sums of this volume's pixels
    index_t pixels_ = 0;             ///< number of pixels that are not missing
    std::optional<double> least_share_;
};

class DeconvolveSteps : public ImageSteps {
  public:
    using Kernels = ChannelKernels<Deconvolver>;

    explicit DeconvolveSteps(
        const DeconvolveRequest& request,
        std::shared_ptr<Kernels::Cache> cache = std::make_shared<Kernels::Cache>())
        : ImageSteps(request),
          request_(request),
          options_(request.options),
          kernels_(std::move(cache)) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void tell_plan(const Facts& facts) const override;
    void tell_result(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;
    ExecutionReport executed() const override;
    bool ranks_warnings() const override { return true; }

  private:
    NonfiniteSample::Location place_of(index_t volume) const;
    std::string place_text(index_t volume) const;
    void plan_memory(index_t limit);

    void open_initial_image();
    /// Fits the model of the PSF of channel `c` to the volume at time `t`.
    FittedPsf fit_to_volume(index_t t, index_t c, int most_comparisons,
                            const ExecutionContext& context);
    /// Fits the models of the PSFs to the first volume that each is for.
    void refine_psfs(const ExecutionContext& context);
    /// Looks for optics that fit better, if a result differs from its image by more than noise.
    void find_cause_of_misfit(const ExecutionContext& context);
    /// Finds the pixels of every volume that are left out.
    void find_missing(const ExecutionContext& context);
    /// Finds the bleaching of every channel.
    void find_bleachings(const ExecutionContext& context);
    /// Plans for images with what was found: missing and saturated pixels, and bleaching.
    void use_findings(const ExecutionContext& context);
    bool has_missing() const;  ///< whether pixels of any volume are left out
    std::string saturated_text() const;
    void tell_volume(const Facts& facts, index_t number) const;
    /// Returns the estimate to begin the next volume with; a view without data if there is none.
    ConstImageView next_initial_estimate();
    /// Returns the memory that keeps a channel's last result, which has this format.
    ImageView last_result(index_t channel, const StackFormat& format);

    const DeconvolveRequest request_;
    DeconvolveOptions options_;  ///< those of the request, with the defaults for the image
    std::unique_ptr<io::ImageReader> initial_image_reader_;  ///< reader of the --start image
    Volume initial_volume_;                                  ///< one volume of the --start image
    std::vector<Volume> last_results_;  ///< for --warm-start, last result of each channel
    std::vector<std::string> refined_;  ///< sentences on PSFs that were fitted
    /// Changes of the optics with which the image fits better, after a misfit; unset if not tried.
    std::optional<std::string> better_optics_;
    std::vector<MissingPixels> missing_;  ///< those of all volumes, t slowest
    std::vector<Bleaching> bleachings_;   ///< those of all channels; empty: they are not looked for
    std::optional<double> saturation_;    ///< value of saturated pixels as they were recorded
    Volume pixel_weights_;                ///< those of --weights; empty for none
    Kernels kernels_;
    ResultStorage result_;
    bool overlapped_ = false;  ///< whether volumes are read and written beside computation
    LightCheck light_{thread_count(request_.engines.threads)};
    std::optional<EstimateFiles> estimates_;  ///< files of --dump-every
    std::vector<DeconvolveReport> volumes_;   ///< reports of all volumes, t slowest, then c
};

}  // namespace convolume::cli
