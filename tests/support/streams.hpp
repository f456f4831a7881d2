// SPDX-License-Identifier: Apache-2.0
#pragma once
// A source and a sink of boxes in memory that check how they are used.

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "convolume/image_stream.hpp"
#include "convolume/volume.hpp"
#include "tests/support/volumes.hpp"

namespace convolume::testing {

/// Volumes in memory, one for each time and channel. Read number n, counted from 0, calls
/// `before_read(n)` first.
class TestSource : public ImageSource {
  public:
    TestSource(std::vector<const Volume*> volumes, index_t channels = 1)
        : volumes_(std::move(volumes)), channels_(channels) {}

    StackFormat format() const override {
        return {volumes_.front()->shape(), volumes_.front()->type(),
                static_cast<index_t>(volumes_.size()) / channels_, channels_};
    }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;

    std::function<void(index_t)> before_read = [](index_t) {};
    index_t samples_read() const { return samples_; }

  private:
    std::vector<const Volume*> volumes_;
    index_t channels_;
    std::atomic<index_t> reads_{0}, samples_{0};
};

/// Volumes in memory that start poisoned and count how often each sample is given.
class TestSink : public ImageSink {
  public:
    TestSink(const StackFormat& format);

    StackFormat format() const override { return format_; }
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;

    const Volume& volume(index_t number) const {
        return volumes_[static_cast<std::size_t>(number)];
    }
    /// Describes a sample that was not given exactly once, or returns "".
    std::string defect() const;

    std::function<void(index_t)> before_write = [](index_t) {};

  private:
    StackFormat format_;
    std::mutex mutex_;
    std::vector<Volume> volumes_, times_given_;
    index_t writes_ = 0;
};

}  // namespace convolume::testing
