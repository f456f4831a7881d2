// SPDX-License-Identifier: Apache-2.0
#include "tests/support/dif_reference.hpp"

#include <numbers>

namespace convolume::testing {
namespace {

using Wide = std::complex<long double>;

/// Returns e^{-2πi numerator/denominator}.
Wide root(index_t numerator, index_t denominator) {
    return std::polar(1.0L, -2 * std::numbers::pi_v<long double> *
                                static_cast<long double>(numerator % denominator) /
                                static_cast<long double>(denominator));
}

std::vector<std::vector<Complex>> split_complex(const std::vector<Complex>& x, index_t parts) {
    const auto length = static_cast<index_t>(x.size());
    const index_t n_end = length / parts;
    std::vector<std::vector<Complex>> result;
    for (index_t p = 0; p < parts; ++p) {
        std::vector<Complex> part;
        for (index_t n = 0; n < n_end; ++n) {
            Wide sum = 0;
            for (index_t q = 0; q < parts; ++q)
                sum += Wide(x[static_cast<std::size_t>(n + q * n_end)]) * root(p * q, parts);
            part.push_back(Complex(sum * root(p * n, length)));
        }
        result.push_back(std::move(part));
    }
    return result;
}

std::vector<std::vector<Complex>> split_real(const std::vector<Complex>& x, index_t parts) {
    if (parts == 1) return {x};
    const std::size_t half = x.size() / 2, quarter = half / 2;
    std::vector<Complex> r(half), c(quarter);
    std::vector<double> d(half);
    for (std::size_t n = 0; n < half; ++n) {
        r[n] = x[n].real() + x[n + half].real();
        d[n] = x[n].real() - x[n + half].real();
    }
    for (std::size_t n = 0; n < quarter; ++n)
        c[n] = Complex(Wide(d[n], -d[n + quarter]) *
                       root(static_cast<index_t>(n), static_cast<index_t>(2 * half)));
    auto result = split_real(r, parts / 2);
    for (auto& part : split_complex(c, parts / 2)) result.push_back(std::move(part));
    return result;
}

}  // namespace

std::vector<std::vector<Complex>> dif_column(const std::vector<Complex>& column, int parts,
                                             bool complex_data) {
    return complex_data ? split_complex(column, parts) : split_real(column, parts);
}

std::vector<Array> dif_parts(const Array& volume, index_t z_grid, int parts, bool complex_data) {
    std::vector<Array> result;
    for (index_t y = 0; y < volume.shape.y; ++y)
        for (index_t x = 0; x < volume.shape.x; ++x) {
            std::vector<Complex> column(static_cast<std::size_t>(z_grid));
            for (index_t z = 0; z < volume.shape.z; ++z)
                column[static_cast<std::size_t>(z)] = volume(z, y, x);
            const auto split = dif_column(column, parts, complex_data);
            for (std::size_t p = 0; p < split.size(); ++p) {
                const auto planes = static_cast<index_t>(split[p].size());
                if (p == result.size())
                    result.emplace_back(Shape3{planes, volume.shape.y, volume.shape.x});
                for (index_t z = 0; z < planes; ++z)
                    result[p](z, y, x) = split[p][static_cast<std::size_t>(z)];
            }
        }
    return result;
}

}  // namespace convolume::testing
