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
    index_t channel = 0;                   ///< channel of `like` or `beads`
    std::string beads;                     ///< stack to measure the PSF from; empty for none
    std::vector<PsfParameter> refine;      ///< parameters of the model to refine by the beads
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
        if (!like.empty()) inputs.push_back(like);
        if (!beads.empty()) inputs.push_back(beads);
        return {{output, side_file()}, inputs, overwrite};
    }
};

/// Parses a list of "na", "index" and "depth", separated by commas. Throws InvalidArgument.
std::vector<PsfParameter> parse_refine(std::string_view option, const std::string& text);

/// Creates the file of a PSF, whose samples are float32.
std::unique_ptr<io::ImageWriter> create_psf_file(
    const PsfRequest& request, const Shape3& size,
    const std::array<std::optional<double>, 3>& voxel_size_um);

/// Throws InvalidArgument if the image of --like or --from-beads does not have --channel.
void check_channel(const PsfRequest& request, const io::ImageMetadata& image,
                   const std::string& path);

/// Steps that compute a PSF from the typed options, and write it with its parameters.
class PsfSteps : public RunSteps {
  public:
    explicit PsfSteps(const PsfRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

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
    void report_plan(const Console& console) const override;
    WorkAmount work() const override { return {}; }
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    void check_refinement() const;

    const PsfRequest& request_;
    io::ImageMetadata input_metadata_;
    std::unique_ptr<io::ImageReader> reader_;
    std::unique_ptr<io::ImageWriter> writer_;
    std::optional<PsfOptions> model_;  ///< model of the PSF; nothing if NA or wavelength is unknown
    Shape3 size_;
    std::optional<BeadPsf> psf_;
    std::optional<RefinedPsf> refined_;  ///< result of --refine; model_ is its model
    double residual_ = 0;                ///< relative L2 difference of PSF and model
    ImageOptics optics_;
};

}  // namespace convolume::cli
