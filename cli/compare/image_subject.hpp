// SPDX-License-Identifier: Apache-2.0
#pragma once
// An image and a kernel as what is compared.

#include <cstdint>

#include "cli/compare/subject.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

/// How every way convolves: mode, boundary, center, normalization and NaN.
class ImageSubject : public Subject {
  public:
    /// From files, in memory already.
    /// `first` is the place of the image's first sample in its file, for messages.
    ImageSubject(Volume image, Volume kernel, const Options& options,
                 const NonfiniteSample::Place& first);
    /// Made by prepare(): an image of size³ voxels and a kernel of kernel_size³.
    ImageSubject(index_t size, index_t kernel_size, std::uint64_t seed, const Options& options);

    std::string name() const override;
    index_t size() const override { return size_; }
    index_t work() const override { return element_count(image_shape_); }
    void prepare(index_t limit_bytes) override;
    void release() override;
    index_t input_bytes() const override;
    index_t result_bytes() const override;
    double products() const override;
    std::unique_ptr<PlannedWay> plan(const Way& way, index_t limit_bytes) const override;

  private:
    bool complex() const;

    Options options_;
    index_t size_ = 0;
    std::uint64_t seed_ = 0;
    Shape3 image_shape_;
    Shape3 kernel_shape_;
    PixelType image_type_ = PixelType::uint16;
    PixelType kernel_type_ = PixelType::float32;
    Volume image_;
    Volume kernel_;
    bool prepared_ = false;
    NonfiniteSample::Place first_;
};

}  // namespace convolume::cli
