// SPDX-License-Identifier: Apache-2.0
#include "tests/support/filter_oracle.hpp"

#include <algorithm>
#include <cmath>

namespace convolume::testing {

std::complex<double> filtered_sample(const Row& taps, const Row& signal, index_t n) {
    const auto samples = static_cast<index_t>(signal.size());
    const auto count = static_cast<index_t>(taps.size());
    const index_t first = std::max<index_t>(0, n - samples + 1);
    const index_t end = std::min(count, n + 1);
    double re = 0, im = 0;
    for (index_t k = first; k < end; ++k) {
        const std::complex<double> h = taps[static_cast<std::size_t>(k)];
        const std::complex<double> x = signal[static_cast<std::size_t>(n - k)];
        re += h.real() * x.real() - h.imag() * x.imag();
        im += h.real() * x.imag() + h.imag() * x.real();
    }
    return {re, im};
}

namespace {

constexpr index_t tile = 8;  ///< samples that are summed side by side

/// Sums `tile` samples over all taps, each in the order of filtered_sample(). `re` and `im` are the
/// signal at the first of them. A sum waits for its previous term, so that several together are
/// faster.
template <bool complex>
void sum_tile(const Row& taps, const double* re, const double* im, std::complex<double>* to) {
    double real[tile] = {}, imag[tile] = {};
    for (const std::complex<double>& h : taps) {
        for (index_t i = 0; i < tile; ++i) {
            if constexpr (complex) {
                real[i] += h.real() * re[i] - h.imag() * im[i];
                imag[i] += h.real() * im[i] + h.imag() * re[i];
            } else {
                real[i] += h.real() * re[i];
            }
        }
        --re;
        --im;
    }
    for (index_t i = 0; i < tile; ++i) to[i] = {real[i], imag[i]};
}

bool is_finite(const Row& row) {
    return std::all_of(row.begin(), row.end(), [](const auto& value) {
        return std::isfinite(value.real()) && std::isfinite(value.imag());
    });
}
bool is_real(const Row& row) {
    return std::all_of(row.begin(), row.end(), [](const auto& value) { return value.imag() == 0; });
}

}  // namespace

Row filtered(const Row& taps, const Row& signal, const SampleRange& range) {
    if (taps.size() > signal.size()) return filtered(signal, taps, range);
    Row result(static_cast<std::size_t>(range.count()));
    if (!is_finite(taps) || !is_finite(signal)) {
        for (index_t i = 0; i < range.count(); ++i)
            result[static_cast<std::size_t>(i)] = filtered_sample(taps, signal, range.begin + i);
        return result;
    }
    // Zeros on both sides, which change no sum, make all sums equally long.
    const auto before = static_cast<index_t>(taps.size()) - 1;
    const index_t full = static_cast<index_t>(signal.size()) + before;
    std::vector<double> re(static_cast<std::size_t>(before + full + tile)), im(re.size());
    for (std::size_t i = 0; i < signal.size(); ++i) {
        re[static_cast<std::size_t>(before) + i] = signal[i].real();
        im[static_cast<std::size_t>(before) + i] = signal[i].imag();
    }
    const auto sum = is_real(taps) && is_real(signal) ? sum_tile<false> : sum_tile<true>;
    const index_t end = std::min(range.end, full);
    for (index_t n = std::max<index_t>(range.begin, 0); n < end; n += tile) {
        std::complex<double> sums[tile];
        sum(taps, re.data() + before + n, im.data() + before + n, sums);
        std::copy_n(sums, std::min(tile, end - n), result.begin() + (n - range.begin));
    }
    return result;
}

double norm(const Row& row) {
    double sum = 0;
    for (const auto& value : row) sum += std::norm(value);
    return std::sqrt(sum);
}

double rms(const Row& row) {
    return row.empty() ? 0 : norm(row) / std::sqrt(static_cast<double>(row.size()));
}

double level(const Row& taps, const Row& signal) {
    return norm(taps) * rms(signal);
}

double relative_error(const Row& want, const Row& got, double size) {
    Row difference(want.size());
    std::transform(want.begin(), want.end(), got.begin(), difference.begin(), std::minus<>());
    const double scale = std::max(norm(want), size * std::sqrt(static_cast<double>(want.size())));
    const double error = norm(difference);
    return error == 0 ? 0 : error / scale;
}

std::vector<Window> windows_of(const WindowPost& window, index_t count) {
    std::vector<Window> windows;
    const index_t length = window.kind == WindowPost::Kind::none ? 1 : window.length;
    for (index_t begin = 0; begin < count; begin += length) {
        windows.push_back({begin, std::min(count, begin + length)});
        if (length > count - begin) break;
    }
    return windows;
}

}  // namespace convolume::testing
