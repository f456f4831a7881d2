// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume psf`: its request, and its runs: a computed PSF, or one that is measured from beads.

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
    nlohmann::ordered_json typed = nlohmann::ordered_json::object();  ///< see parameters.hpp
    std::string from;                                                 ///< a side file, or empty
    bool auto_size = false;            ///< typed; also if no size is given
    bool brightest = false;            ///< typed
    std::optional<double> capture;     ///< typed
    std::string like;                  ///< an image, or empty
    index_t channel = 0;               ///< of `like` or `beads`
    std::string beads;                 ///< a stack to measure the PSF from, or empty
    std::vector<PsfParameter> refine;  ///< of the model, by the beads
    bool write_model = false;          ///< the refined one in place of the measured PSF
    std::string voxel_doubt;           ///< of the size typed; empty for none
    int threads = 0;
    std::string output;  ///< empty: facts alone, as in a dry run
    bool overwrite = false;
    bool explain = false;
    RunOptions run;

    /// The JSON file of the parameters: psf.tif and psf.h5:/dataset have psf.json beside them.
    std::string side_file() const;
    RunFiles files() const {
        std::vector<std::string> inputs;
        if (!like.empty()) inputs.push_back(like);
        if (!beads.empty()) inputs.push_back(beads);
        return {{output, side_file()}, inputs, overwrite};
    }
};

/// "na,index,depth" or some of them. Throws InvalidArgument.
std::vector<PsfParameter> parse_refine(std::string_view option, const std::string& text);

/// The file of a PSF, whose samples are float32.
std::unique_ptr<io::ImageWriter> create_psf_file(
    const PsfRequest& request, const Shape3& size,
    const std::array<std::optional<double>, 3>& voxel_size_um);

/// Throws InvalidArgument if the image of --like or --from-beads does not have --channel.
void check_channel(const PsfRequest& request, const io::ImageMetadata& image,
                   const std::string& path);

/// From the options that were typed to a PSF and the side file with its parameters.
class PsfSteps : public RunSteps {
  public:
    explicit PsfSteps(const PsfRequest& request) : request_(request) {}

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
    const PsfRequest& request_;
    PsfOptions options_;
    PsfFacts facts_;
    std::optional<io::ImageMetadata> like_;
    ImageOptics optics_;  ///< what the file of --like says
    std::optional<Psf> psf_;
    std::unique_ptr<io::ImageWriter> writer_;
};

/// With --from-beads: a measured PSF, and how well the model fits it with the parameters that were
/// typed, or with those that --refine finds.
class BeadPsfSteps : public RunSteps {
  public:
    explicit BeadPsfSteps(const PsfRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext&) override {}
    void report_plan(const Console& console) const override;
    Work work() const override { return {}; }
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    void check_refinement() const;

    const PsfRequest& request_;
    io::ImageMetadata input_;
    std::unique_ptr<io::ImageReader> reader_;
    std::unique_ptr<io::ImageWriter> writer_;
    std::optional<PsfOptions> model_;  ///< where NA and wavelength are known
    Shape3 size_;
    std::optional<BeadPsf> psf_;
    std::optional<RefinedPsf> refined_;  ///< then model_ is the refined one
    double residual_ = 0;                ///< of the model's fit, relative L2
    ImageOptics optics_;
};

}  // namespace convolume::cli
