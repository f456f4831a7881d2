// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps of a run that makes one image of another.

#include <memory>

#include "cli/files/selected_image.hpp"
#include "cli/run/run.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

class ImageSteps : public RunSteps {
  public:
    /// Image that is read; known after open().
    const io::ImageMetadata& input() const { return input_; }
    /// What is written; known after plan().
    const io::ImageMetadata& output() const { return output_; }
    void commit() override { writer_->commit(); }

  protected:
    index_t volumes() const { return input_.frames * input_.channels; }

    std::unique_ptr<SelectedImage> reader_;
    std::unique_ptr<io::ImageWriter> writer_;
    index_t nonfinite_ = 0;  ///< samples of the result
    io::ImageMetadata input_;
    io::ImageMetadata output_;
};

}  // namespace convolume::cli
