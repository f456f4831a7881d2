// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume phantom`: its request, and its run, which draws and writes a few planes at a time.

#include <memory>
#include <optional>
#include <string>

#include "cli/app.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/run.hpp"
#include "convolume/image_file.hpp"
#include "convolume/phantom.hpp"

namespace convolume::cli {

struct PhantomRequest {
    PhantomOptions options;
    std::string output;
    std::string voxel_warning;  ///< warning of the typed voxel size; empty for none
    std::string objects;        ///< JSON file for the list of objects; empty for none
    PixelType type = PixelType::float32;
    io::CreateOptions create{.software = software_name()};
    int threads = 0;
    RunOptions run;

    RunFiles files() const { return {{objects, output}, {}, create.overwrite}; }
};

class PhantomSteps : public RunSteps {
  public:
    explicit PhantomSteps(const PhantomRequest& request) : request_(request) {}

    void open(const ExecutionContext&) override {}
    void plan(const ExecutionContext& context) override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void tell_plan(const Facts& facts) const override;
    void tell_result(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;

  private:
    std::string objects_text() const;
    index_t group_planes() const;

    const PhantomRequest& request_;
    std::optional<Phantom> phantom_;
    io::ImageMetadata output_metadata_;
    std::unique_ptr<io::ImageWriter> writer_;
    index_t clamped_ = 0;  ///< number of values that were too large for integers
};

}  // namespace convolume::cli
