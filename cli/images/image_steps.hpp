// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all runs that make one image of another have in common: they open a part of an image, report
// it, and write and report the result.

#include <memory>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/run.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

/// The files of a run that makes one image of another.
struct ImageFiles {
    std::string image;
    ImageSelection selection;  ///< selected part of the image
    std::string output;        ///< path of the result; may be empty in a dry run
    /// Path of a second result, such as that of --truth; empty for none. In a run over many images,
    /// it is a pattern of names.
    std::string second_output;
    io::CreateOptions create{.software = software_name()};
    RunOptions run;

    /// Returns the paths of the image's files.
    std::vector<std::string> inputs() const {
        return io::image_files(image, selection.open_options());
    }
    RunFiles files() const {
        return {{run.timeline, second_output, output}, inputs(), create.overwrite};
    }
};

class ImageSteps : public RunSteps {
  public:
    /// Returns the metadata of the image that is read; valid after open().
    const io::ImageMetadata& input_metadata() const { return input_metadata_; }
    /// Returns the metadata of the image that is written; valid after plan().
    const io::ImageMetadata& output_metadata() const { return output_metadata_; }

    /// Opens the image. The metadata of the result are those of the image, without its scaling.
    void open(const ExecutionContext& context) override;
    /// Returns the voxels of all volumes.
    WorkAmount work() const override;
    void commit() override;
    /// Tells the image, and warns of its metadata.
    void tell_plan(const Facts& facts) const override;
    /// Warns of samples of the result that are not what was computed.
    void tell_result(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;
    ExecutionReport executed() const override { return executed_; }

  protected:
    /// `label` is what the run calls the image.
    explicit ImageSteps(const ImageFiles& files, const char* label = "image")
        : files_(files), label_(label) {}
    /// Writes the result that `compute` gives, as write_result() does.
    void write(const ResultStorage& storage, const ExecutionContext& context,
               const std::function<void(ImageSink&)>& compute) {
        writer_ = write_result(files_.output, storage, files_.create, context, compute,
                               output_metadata_, nonfinite_);
    }
    index_t volumes() const { return input_metadata_.frames * input_metadata_.channels; }

    std::unique_ptr<SelectedImage> reader_;
    std::unique_ptr<io::ImageWriter> writer_;
    std::unique_ptr<io::ImageWriter> second_writer_;  ///< writer of the second result, or null
    index_t nonfinite_ = 0;              ///< number of NaN and infinities in the result
    bool allows_nonfinite_ = false;      ///< whether they are no reason for a warning
    bool leaves_out_nonfinite_ = false;  ///< whether those of the input are not read as 0
    bool handles_scaling_ = false;       ///< whether the run regards the scaling of values
    io::ImageMetadata input_metadata_;
    io::ImageMetadata output_metadata_;
    ExecutionReport executed_;  ///< report on all channels and times

  private:
    const ImageFiles files_;
    const char* label_;
};

}  // namespace convolume::cli
