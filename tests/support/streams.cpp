// SPDX-License-Identifier: Apache-2.0
#include "tests/support/streams.hpp"

#include <cstring>

#include "tests/support/array.hpp"

namespace convolume::testing {

void TestSource::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    check_box(format(), t, c, box, target);
    before_read(reads_++);
    samples_ += element_count(target.shape);
    if (element_count(target.shape) > 0)
        convert_pixels(subview(volumes_[static_cast<std::size_t>(t * channels_ + c)]->view(), box),
                       target);
}

TestSink::TestSink(const StackFormat& format) : format_(format) {
    for (index_t i = 0; i < format.volumes(); ++i) {
        volumes_.emplace_back(format.shape, format.type);
        poison(volumes_.back().view());
        times_given_.emplace_back(format.shape, PixelType::uint8);
    }
}

void TestSink::write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) {
    check_box(format_, t, c, box, source);
    const std::lock_guard lock(mutex_);
    before_write(writes_++);
    const auto number = static_cast<std::size_t>(t * format_.channels + c);
    convert_pixels(source, subview(volumes_[number].view(), box));
    for (index_t z = box.begin.z; z < box.end.z; ++z)
        for (index_t y = box.begin.y; y < box.end.y; ++y)
            for (index_t x = box.begin.x; x < box.end.x; ++x)
                ++*static_cast<std::uint8_t*>(times_given_[number].view().at(z, y, x));
}

std::string TestSink::defect() const {
    for (const Volume& counts : times_given_)
        for (index_t i = 0; i < element_count(format_.shape); ++i)
            if (const int times = counts.elements<std::uint8_t>()[i]; times != 1)
                return message("sample ", i, " was given ", times, " times");
    return {};
}

}  // namespace convolume::testing
