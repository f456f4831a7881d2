// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume psf --from-beads` as the steps of a run: a measured PSF, and how well the model fits
// it with the parameters that were typed, or with those that --refine finds.

#include <memory>
#include <optional>

#include "cli/psf/image_optics.hpp"
#include "cli/psf/request.hpp"
#include "cli/run/run.hpp"
#include "convolume/beads.hpp"
#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

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
    void refine_model(const ExecutionContext& context);

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
