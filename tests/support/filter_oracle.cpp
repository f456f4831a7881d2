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

/// Sums samples [n, n + tile) over all taps, each in the order of filtered_sample(). The signal
/// must have samples [n - taps + 1, n + tile). A sum waits for its previous term, so that several
/// together are faster.
template <bool complex>
void sum_tile(const Row& taps, const double* re, const double* im, index_t n,
              std::complex<double>* to) {
    double real[tile] = {}, imag[tile] = {};
    for (index_t k = 0; k < static_cast<index_t>(taps.size()); ++k) {
        const std::complex<double> h = taps[static_cast<std::size_t>(k)];
        const double* const xr = re + (n - k);
        const double* const xi = im + (n - k);
        for (index_t i = 0; i < tile; ++i) {
            if constexpr (complex) {
                real[i] += h.real() * xr[i] - h.imag() * xi[i];
                imag[i] += h.real() * xi[i] + h.imag() * xr[i];
            } else {
                real[i] += h.real() * xr[i];
            }
        }
    }
    for (index_t i = 0; i < tile; ++i) to[i] = {real[i], imag[i]};
}

bool is_real(const Row& row) {
    return std::all_of(row.begin(), row.end(), [](const auto& value) {
        return value.imag() == 0 && std::isfinite(value.real());
    });
}

}  // namespace

Row filtered(const Row& taps, const Row& signal, const SampleRange& range) {
    std::vector<double> re(signal.size()), im(signal.size());
    for (std::size_t i = 0; i < signal.size(); ++i) {
        re[i] = signal[i].real();
        im[i] = signal[i].imag();
    }
    const auto sum = is_real(taps) && is_real(signal) ? sum_tile<false> : sum_tile<true>;
    const auto count = static_cast<index_t>(taps.size());
    const auto samples = static_cast<index_t>(signal.size());
    Row result(static_cast<std::size_t>(range.count()));
    for (index_t n = range.begin; n < range.end;) {
        std::complex<double>* const to = result.data() + (n - range.begin);
        if (n >= count - 1 && n + tile <= std::min(samples, range.end)) {
            sum(taps, re.data(), im.data(), n, to);
            n += tile;
        } else {
            *to = filtered_sample(taps, signal, n);
            ++n;
        }
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
