// SPDX-License-Identifier: Apache-2.0
#include "signals/noise_level.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "convolume/correlation.hpp"
#include "core/engine.hpp"
#include "core/order_statistics.hpp"
#include "signals/sample_recorder.hpp"
#include "signals/samples.hpp"

namespace convolume {

namespace {

constexpr index_t shortest_block = 16;
// Medians of |x| for noise of standard deviation 1: real Gaussian, and complex circular Gaussian.
constexpr double real_median = 0.674489750196082;
constexpr double complex_median = 0.832554611157698;  // sqrt(ln 2)

}  // namespace

void check_noise_block(index_t block) {
    if (block < shortest_block)
        throw InvalidArgument(message("a noise level from blocks of ", block,
                                      " samples is no estimate: give at least ", shortest_block));
}

NoiseDivider::NoiseDivider(SignalSource& source, index_t samples, index_t block,
                           Precision precision)
    : source_(source),
      length_(samples),
      // A longer block than the signal is one block, whose double is within range.
      block_(std::min(block, std::max(samples, shortest_block))),
      complex_(is_complex(source.type())) {
    check_noise_block(block);
    const bool is_double = precision == Precision::float64;
    type_ = complex_ ? (is_double ? PixelType::complex128 : PixelType::complex64)
                     : (is_double ? PixelType::float64 : PixelType::float32);
}

void NoiseDivider::start(index_t signal) {
    signal_ = signal;
    end_.reset();
    if (length_ != unknown_samples) end_ = length_;
    first_ = blocks_ = 0;
    samples_.clear();
    all_levels_ = false;
    left_ = right_ = {};
}

void NoiseDivider::read_ahead(index_t end) {
    const index_t begin = first_ + static_cast<index_t>(samples_.size());
    if (end_) end = std::min(end, *end_);
    if (end <= begin) return;
    index_t count = end - begin;
    raw_.resize(static_cast<std::size_t>(count) * size_of(source_.type()));
    if (length_ != unknown_samples) {
        source_.read(signal_, begin, count, raw_.data());
    } else if (const index_t found = source_.read_until_end(signal_, begin, count, raw_.data());
               found < count) {
        end_ = begin + found;
        count = std::max<index_t>(found, 0);
    }
    const ConstImageView from{raw_.data(), source_.type(), {1, 1, count}, {count, count, 1}};
    samples_.resize(samples_.size() + static_cast<std::size_t>(count));
    convert_row(from, 0, 0, count, false, samples_.data() + (begin - first_));
}

double NoiseDivider::estimate(index_t begin, index_t end) const {
    std::vector<double> sizes;
    sizes.reserve(static_cast<std::size_t>(end - begin));
    for (index_t i = begin - first_; i < end - first_; ++i) {
        const double size = std::abs(samples_[static_cast<std::size_t>(i)]);
        if (std::isfinite(size)) sizes.push_back(size);
    }
    return median(std::move(sizes)) / (complex_ ? complex_median : real_median);
}

void NoiseDivider::add_level() {
    // A block is the last one if the signal ends before another whole one.
    const index_t begin = blocks_ * block_;
    read_ahead(begin + 2 * block_);
    const bool is_last = end_ && *end_ < begin + 2 * block_;
    const index_t end = is_last ? *end_ : begin + block_;
    left_ = right_;
    right_ = {static_cast<double>(begin + end - 1) / 2, estimate(begin, end)};
    if (right_.value == 0) right_.value = left_.value;
    if (blocks_ == 0 || left_.value == 0) left_.value = right_.value;
    if (blocks_ == 0) left_.center = right_.center;
    ++blocks_;
    all_levels_ = is_last;
}

double NoiseDivider::level_at(index_t sample) {
    const auto at = static_cast<double>(sample);
    while (blocks_ == 0 || (at > right_.center && !all_levels_)) add_level();
    if (at >= right_.center) return right_.value;
    if (at <= left_.center) return left_.value;
    const double part = (at - left_.center) / (right_.center - left_.center);
    return left_.value + part * (right_.value - left_.value);
}

void NoiseDivider::read(index_t signal, index_t begin, index_t count, void* to) {
    read_until_end(signal, begin, count, to);
}

index_t NoiseDivider::read_until_end(index_t signal, index_t begin, index_t count, void* to) {
    if (signal != signal_ || begin == 0) start(signal);
    constexpr index_t samples_at_a_time = index_t{1} << 16;
    index_t done = 0;
    while (done < count) {
        const index_t now = std::min(samples_at_a_time, count - done);
        const index_t found =
            divide(begin + done, now,
                   static_cast<char*>(to) + done * static_cast<index_t>(size_of(type_)));
        done += found;
        if (found < now) break;
    }
    return done;
}

index_t NoiseDivider::divide(index_t begin, index_t count, void* to) {
    const index_t passed = std::min(begin - first_, static_cast<index_t>(samples_.size()));
    samples_.erase(samples_.begin(), samples_.begin() + passed);
    first_ = begin;
    read_ahead(begin + count);
    count = std::min(count, end_.value_or(unknown_samples) - begin);
    visit_pixel_type(type_, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!std::is_integral_v<T>)
            for (index_t i = 0; i < count; ++i) {
                const double level = level_at(begin + i);
                const std::complex<double> x = samples_[static_cast<std::size_t>(i)];
                const std::complex<double> quotient =
                    level == 0 && std::isfinite(std::abs(x)) ? 0 : x / level;
                if constexpr (std::is_floating_point_v<T>)
                    static_cast<T*>(to)[i] = static_cast<T>(quotient.real());
                else
                    static_cast<T*>(to)[i] = T(quotient);
            }
    });
    return count;
}

Volume divide_by_noise(const ConstImageView& signals, index_t block, Precision precision) {
    if (signals.shape.z != 1) throw InvalidArgument("signals have the shape (1, signals, samples)");
    MemorySource source(signals);
    NoiseDivider divider(source, signals.shape.x, block, precision);
    Volume quotients(signals.shape, divider.type());
    for (index_t i = 0; i < signals.shape.y && signals.shape.x > 0; ++i)
        divider.read(i, 0, signals.shape.x, quotients.view().at(0, i, 0));
    return quotients;
}

}  // namespace convolume
