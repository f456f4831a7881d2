// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume psf` as the steps of a run: from what was typed to a PSF and the side file with its
// parameters.

#include <memory>
#include <optional>

#include "cli/psf/image_optics.hpp"
#include "cli/psf/request.hpp"
#include "cli/run/run.hpp"
#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

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

}  // namespace convolume::cli
