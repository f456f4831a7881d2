// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume psf`: its request, and its two runs, which compute a PSF or measure it from beads.

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/psf/image_optics.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/run.hpp"
#include "convolume/beads.hpp"
#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

struct PsfRequest {
    nlohmann::ordered_json typed =
        nlohmann::ordered_json::object();  ///< typed parameters, see parameters.hpp
    std::string from;                      ///< side file to read; empty for none
    bool auto_size = false;                ///< whether --size auto was typed
    bool brightest = false;                ///< whether --focus brightest was typed
    std::optional<double> capture;         ///< share of light for an automatic size
    std::string like;                      ///< image to make the PSF for; empty for none
    std::string channel = "0";             ///< channel of `like` or `beads`, number or name
    std::string stack;                     ///< axis of the files of `like` or `beads`, such as "z"
    std::string beads;                     ///< stack to measure the PSF from; empty for none
    std::vector<PsfParameter> refine;      ///< parameters of the model to refine by the beads
    std::vector<double> depths_um;         ///< depths of --depths, each with a file of its own
    bool write_model = false;   ///< whether to write the refined model, not the measured PSF
    std::string voxel_warning;  ///< warning of the typed voxel size; empty for none
    int threads = 0;
    std::string output;  ///< path of the PSF; empty: only figures are printed
    bool overwrite = false;
    bool explain = false;
    RunOptions run;

    /// Returns the JSON file of the parameters: psf.json for psf.tif and psf.h5:/dataset.
    std::string side_file() const;
    RunFiles files() const {
        std::vector<std::string> inputs;
        for (const std::string& image : {like, beads})
            if (!image.empty())
                for (std::string& file : io::image_files(image, {.stack = stack}))
                    inputs.push_back(std::move(file));
        return {{output, side_file()}, inputs, overwrite};
    }
};

/// Returns a request for the PSF of each of --depths: psf.3um.tif for psf.tif. Throws
/// InvalidArgument if two depths are equal, and as check_outputs() does before any PSF is computed.
std::vector<PsfRequest> requests_of_depths(const PsfRequest& request);

/// Parses a list of "na", "index" and "depth", separated by commas. Throws InvalidArgument.
std::vector<PsfParameter> parse_refine(std::string_view option, const std::string& text);

/// Creates the file of a PSF, whose samples are float32.
std::unique_ptr<io::ImageWriter> create_psf_file(
    const PsfRequest& request, const Shape3& size,
    const std::array<std::optional<double>, 3>& voxel_size_um);

/// Returns the number of --channel in the image of --like or --from-beads. Throws InvalidArgument
/// if it does not have that channel.
index_t channel_of(const PsfRequest& request, const io::ImageMetadata& image);

/// Steps that compute a PSF from the typed options, and write it with its parameters.
class PsfSteps : public RunSteps {
  public:
    explicit PsfSteps(const PsfRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void tell_plan(const Facts& facts) const override;
    void tell_result(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;

  private:
    const PsfRequest& request_;
    PsfOptions options_;
    PsfFacts facts_;
    std::optional<io::ImageMetadata> like_metadata_;
    ImageOptics optics_;  ///< microscope as described by the file of --like
    std::optional<Psf> psf_;
    std::unique_ptr<io::ImageWriter> writer_;
};

/// Steps of --from-beads: measure a PSF, and compare it with the typed or refined model.
class BeadPsfSteps : public RunSteps {
  public:
    explicit BeadPsfSteps(const PsfRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext&) override {}
    WorkAmount work() const override { return {}; }
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void tell_plan(const Facts& facts) const override;
    void tell_result(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;

  private:
    void check_refinement() const;

    const PsfRequest& request_;
    io::ImageMetadata input_metadata_;
    std::unique_ptr<io::ImageReader> reader_;
    index_t channel_ = 0;
    std::unique_ptr<io::ImageWriter> writer_;
    std::optional<PsfOptions> model_;  ///< model of the PSF; nothing if NA or wavelength is unknown
    Shape3 size_;
    std::optional<BeadPsf> psf_;
    std::optional<RefinedPsf> refined_;  ///< result of --refine; model_ is its model
    double residual_ = 0;                ///< relative L2 difference of PSF and model
    ImageOptics optics_;
};

}  // namespace convolume::cli
