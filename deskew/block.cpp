// SPDX-License-Identifier: Apache-2.0
#include "deskew/block.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/pixels/contiguous.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"

namespace convolume::deskewing {

namespace {

// Number of rows that are added up in one pass over the sums.
constexpr int rows_at_once = 4;
// Number of columns whose sums are added up before the next ones, so that they stay in cache.
constexpr index_t columns_at_once = 1024;

/// Some rows with their weights.
template <class Sample, class Real>
struct WeightedRows {
    const Sample* samples[rows_at_once];
    Real weights[rows_at_once];
};

// Sets or adds to sums the weighted samples of `rows` rows.
template <int rows, class Sample, class Real>
void sum_rows(const WeightedRows<Sample, Real>& from, index_t begin, index_t end, bool is_first,
              Real* sums) {
    const Sample* const a = from.samples[0];
    const Sample* const b = from.samples[rows > 1 ? 1 : 0];
    const Sample* const c = from.samples[rows > 2 ? 2 : 0];
    const Sample* const d = from.samples[rows > 3 ? 3 : 0];
    const Real u = from.weights[0], v = from.weights[1], w = from.weights[2], s = from.weights[3];
#pragma omp simd
    for (index_t x = begin; x < end; ++x) {
        Real sum = is_first ? Real(0) : sums[x];
        sum += u * static_cast<Real>(a[x]);
        if constexpr (rows > 1) sum += v * static_cast<Real>(b[x]);
        if constexpr (rows > 2) sum += w * static_cast<Real>(c[x]);
        if constexpr (rows > 3) sum += s * static_cast<Real>(d[x]);
        sums[x] = sum;
    }
}

// Computes the weighted sums of the rows that `taps` names, of all columns.
template <class Sample, class Real>
void sum_taps(const PlacedImage& recorded, const std::vector<RowTap>& taps, Real* sums) {
    const index_t columns = recorded.view.shape.x;
    for (index_t begin = 0; begin < columns; begin += columns_at_once) {
        const index_t end = std::min(begin + columns_at_once, columns);
        for (std::size_t i = 0; i < taps.size(); i += rows_at_once) {
            WeightedRows<Sample, Real> rows{};
            const auto count =
                static_cast<int>(std::min<std::size_t>(rows_at_once, taps.size() - i));
            for (int row = 0; row < count; ++row) {
                const RowTap& tap = taps[i + static_cast<std::size_t>(row)];
                rows.samples[row] = static_cast<const Sample*>(
                    recorded.view.at(tap.plane - recorded.begin.z, tap.row - recorded.begin.y, 0));
                rows.weights[row] = static_cast<Real>(tap.weight);
            }
            const auto sum = count == 1   ? &sum_rows<1, Sample, Real>
                             : count == 2 ? &sum_rows<2, Sample, Real>
                             : count == 3 ? &sum_rows<3, Sample, Real>
                                          : &sum_rows<4, Sample, Real>;
            sum(rows, begin, end, i == 0, sums);
        }
    }
}

/// Half-open range of samples of one axis.
struct SampleBounds {
    index_t begin, end;
};

// Returns the samples within `reached` of the positions least … most, of an axis.
SampleBounds bounds(double least, double most, double reached, index_t samples) {
    const auto clamped = [&](double at) {
        return static_cast<index_t>(std::clamp(at, 0.0, static_cast<double>(samples)));
    };
    return {clamped(std::floor(least - reached)), clamped(std::ceil(most + reached) + 1)};
}

}  // namespace

index_t scratch_bytes(const Geometry& geometry, PixelType samples) {
    const index_t each = needs_float64(samples) ? sizeof(double) : sizeof(float);
    return checked_multiply(checked_add(geometry.recorded.x, geometry.result.x), each);
}

Box3 needed_box(const Geometry& geometry, Interpolation interpolation, const Box3& block) {
    const auto range = [&](const LinearPosition& position) {
        const double corners[] = {
            position(static_cast<double>(block.begin.z), static_cast<double>(block.begin.y)),
            position(static_cast<double>(block.begin.z), static_cast<double>(block.end.y - 1)),
            position(static_cast<double>(block.end.z - 1), static_cast<double>(block.begin.y)),
            position(static_cast<double>(block.end.z - 1), static_cast<double>(block.end.y - 1))};
        return std::pair{*std::min_element(std::begin(corners), std::end(corners)),
                         *std::max_element(std::begin(corners), std::end(corners))};
    };
    const auto [first_plane, last_plane] = range(geometry.plane);
    const auto [first_row, last_row] = range(geometry.row);
    const double planes =
        geometry.planes_coincide ? 0 : reach(interpolation, geometry.plane_stretch);
    const double rows =
        reach(interpolation, geometry.row_stretch) + planes * std::abs(geometry.shear);
    const SampleBounds z = bounds(first_plane, last_plane, planes, geometry.recorded.z);
    const SampleBounds y = bounds(first_row, last_row, rows, geometry.recorded.y);
    if (geometry.columns == 1)
        return {{z.begin, y.begin, block.begin.x}, {z.end, y.end, block.end.x}};
    const SampleBounds x =
        bounds(static_cast<double>(block.begin.x) * geometry.columns,
               static_cast<double>(block.end.x - 1) * geometry.columns,
               reach(interpolation, geometry.column_stretch), geometry.recorded.x);
    return {{z.begin, y.begin, x.begin}, {z.end, y.end, x.end}};
}

template <class Sample, class Real>
ClampCount BlockSums::compute_as(const PlacedImage& recorded, const Index3& begin,
                                 const ImageView& block) const {
    struct Scratch {
        RowTaps taps;
        std::vector<Real> sums, columns;
        ClampCount clamped;
    };
    const auto fill = static_cast<Real>(options_.fill);
    std::vector<Scratch> scratch;
    for (int thread = 0; thread < threads_; ++thread)
        scratch.push_back({RowTaps(geometry_, options_.interpolation),
                           std::vector<Real>(static_cast<std::size_t>(recorded.view.shape.x)),
                           std::vector<Real>(static_cast<std::size_t>(block.shape.x)),
                           {}});
    parallel_for(block.shape.z * block.shape.y, threads_, [&](index_t i, int thread) {
        Scratch& own = scratch[static_cast<std::size_t>(thread)];
        const index_t z = i / block.shape.y, y = i % block.shape.y;
        const std::vector<RowTap>& taps = own.taps.of(begin.z + z, begin.y + y);
        const Real* row = own.columns.data();
        if (taps.empty()) {
            std::fill(own.columns.begin(), own.columns.end(), fill);
        } else {
            sum_taps<Sample, Real>(recorded, taps, own.sums.data());
            if (columns_.is_identity())
                row = own.sums.data() + (begin.x - recorded.begin.x);
            else
                columns_.apply(own.sums.data(), recorded.begin.x, fill, begin.x, own.columns);
        }
        own.clamped += pixels::store_row(row, block.shape.x, {}, block, z, y);
    });
    ClampCount clamped;
    for (const Scratch& own : scratch) clamped += own.clamped;
    return clamped;
}

ClampCount BlockSums::compute(const PlacedImage& recorded, const Index3& begin,
                              const ImageView& block) const {
    return visit_pixel_type(recorded.view.type, [&](auto tag) -> ClampCount {
        using Sample = typename decltype(tag)::type;
        if constexpr (pixels::is_complex_v<Sample>) {
            throw BadData("complex images cannot be deskewed; give the magnitude");
        } else {
            using Real = std::conditional_t<(sizeof(Sample) > 2 && !std::is_same_v<Sample, float>),
                                            double, float>;
            return compute_as<Sample, Real>(recorded, begin, block);
        }
    });
}

}  // namespace convolume::deskewing
