// SPDX-License-Identifier: Apache-2.0
#include "convolume/missing_pixels.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"
#include "deconvolve/missing/plane_bands.hpp"

namespace convolume {

namespace {

constexpr index_t word_bits = 64;

std::uint64_t bit_of(index_t pixel) {
    return std::uint64_t{1} << (pixel % word_bits);
}

}  // namespace

std::vector<std::uint64_t>& MissingPixels::plane(index_t z) {
    std::vector<std::uint64_t>& bits = planes_[static_cast<std::size_t>(z)];
    if (bits.empty())
        bits.resize(static_cast<std::size_t>(ceil_div(shape_.y * shape_.x, word_bits)));
    return bits;
}

bool MissingPixels::contains(const Index3& pixel) const {
    const auto& bits = planes_[static_cast<std::size_t>(pixel.z)];
    const index_t at = pixel.y * shape_.x + pixel.x;
    return !bits.empty() && (bits[static_cast<std::size_t>(at / word_bits)] & bit_of(at)) != 0;
}

void MissingPixels::add(const Index3& pixel) {
    const index_t at = pixel.y * shape_.x + pixel.x;
    std::uint64_t& word = plane(pixel.z)[static_cast<std::size_t>(at / word_bits)];
    count_ += (word & bit_of(at)) == 0;
    word |= bit_of(at);
}

void MissingPixels::add(const Box3& box) {
    for (index_t z = box.begin.z; z < box.end.z; ++z)
        for (index_t y = box.begin.y; y < box.end.y; ++y)
            for (index_t x = box.begin.x; x < box.end.x; ++x) add(Index3{z, y, x});
}

void MissingPixels::add_mask(const ConstImageView& mask, const std::string& name) {
    if (mask.shape != shape_)
        throw InvalidArgument(message(name, " is ", to_string(mask.shape),
                                      " (z×y×x), but the image is ", to_string(shape_),
                                      ": give one volume of these extents"));
    const index_t before = count_;
    std::vector<index_t> added(static_cast<std::size_t>(shape_.z));
    parallel_for(shape_.z, thread_count(0), [&](index_t z, int) {
        std::vector<float> row(static_cast<std::size_t>(shape_.x));
        for (index_t y = 0; y < shape_.y; ++y) {
            convert_pixels(subview(mask, {{z, y, 0}, {z + 1, y + 1, shape_.x}}),
                           view_of(row.data(), {1, 1, shape_.x}), 1);
            for (index_t x = 0; x < shape_.x; ++x) {
                if (row[static_cast<std::size_t>(x)] != 0) continue;
                const index_t at = y * shape_.x + x;
                std::uint64_t& word = plane(z)[static_cast<std::size_t>(at / word_bits)];
                added[static_cast<std::size_t>(z)] += (word & bit_of(at)) == 0;
                word |= bit_of(at);
            }
        }
    });
    count_ = std::accumulate(added.begin(), added.end(), count_);
    if (count_ > before)
        findings.push_back(message(
            count_ - before, count_ == before + 1 ? " pixel is 0 in " : " pixels are 0 in ", name));
}

void MissingPixels::add(const MissingPixels& other) {
    for (index_t z = 0; z < shape_.z; ++z) {
        if (!other.has_plane(z)) continue;
        const auto& from = other.planes_[static_cast<std::size_t>(z)];
        std::vector<std::uint64_t>& bits = plane(z);
        for (std::size_t i = 0; i < bits.size(); ++i) {
            count_ += std::popcount(from[i] & ~bits[i]);
            bits[i] |= from[i];
        }
    }
}

void MissingPixels::remove(const MissingPixels& other) {
    for (index_t z = 0; z < shape_.z; ++z) {
        if (!has_plane(z) || !other.has_plane(z)) continue;
        const auto& from = other.planes_[static_cast<std::size_t>(z)];
        std::vector<std::uint64_t>& bits = plane(z);
        for (std::size_t i = 0; i < bits.size(); ++i) {
            count_ -= std::popcount(bits[i] & from[i]);
            bits[i] &= ~from[i];
        }
    }
}

Box3 MissingPixels::box() const {
    Box3 box{shape_, {0, 0, 0}};
    for (index_t z = 0; z < shape_.z; ++z) {
        const auto& bits = planes_[static_cast<std::size_t>(z)];
        for (std::size_t i = 0; i < bits.size(); ++i)
            for (std::uint64_t left = bits[i]; left != 0; left &= left - 1) {
                const index_t at = static_cast<index_t>(i) * word_bits + std::countr_zero(left);
                const Index3 pixel{z, at / shape_.x, at % shape_.x};
                for (int a = 0; a < 3; ++a) {
                    box.begin[a] = std::min(box.begin[a], pixel[a]);
                    box.end[a] = std::max(box.end[a], pixel[a] + 1);
                }
            }
    }
    return box;
}

void MissingPixels::mark(const Box3& box, const ImageView& target) const {
    for (index_t z = box.begin.z; z < box.end.z; ++z) {
        if (!has_plane(z)) continue;
        for (index_t y = box.begin.y; y < box.end.y; ++y)
            for (index_t x = box.begin.x; x < box.end.x; ++x)
                if (contains({z, y, x}))
                    target.at<float>(z - box.begin.z, y - box.begin.y, x - box.begin.x) =
                        missing_pixel;
    }
}

StackFormat MarkedSource::format() const {
    StackFormat format = source_.format();
    format.type = PixelType::float32;
    return format;
}

void MarkedSource::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    deconvolve::read_as_float32(source_, t, c, box, target);
    missing_.mark(box, target);
}

}  // namespace convolume
