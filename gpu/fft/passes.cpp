// SPDX-License-Identifier: Apache-2.0
#include "gpu/fft/passes.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "convolume/error.hpp"
#include "gpu/fft/device_table.hpp"
#include "gpu/fft/length_rates.hpp"
#include "gpu/fft/pass_table.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

namespace {

/// The number of source files that lengths<Real> are divided among
/// (cmake/ConvolumeKernelSources.cmake).
template <class Real>
constexpr int groups = CONVOLUME_LENGTH_GROUPS_FLOAT;
template <>
constexpr int groups<double> = CONVOLUME_LENGTH_GROUPS_DOUBLE;

template <class Real, int... Group>
std::vector<Passes<Real>> all_passes(std::integer_sequence<int, Group...>) {
    std::vector<Passes<Real>> by_length(static_cast<std::size_t>(lengths<Real>.back()) + 1);
    for (const auto& group : {compiled_passes<Real, Group, groups<Real>>()...})
        for (const Passes<Real>& passes : group)
            by_length[static_cast<std::size_t>(passes.n)] = passes;
    return by_length;
}

/// Returns the passes for columns, or rows of complex samples, of length n; null if there are none.
template <class Real>
const Passes<Real>* find_passes(index_t n) {
    static const auto passes = all_passes<Real>(std::make_integer_sequence<int, groups<Real>>{});
    if (n < 1 || n >= static_cast<index_t>(passes.size())) return nullptr;
    const Passes<Real>& found = passes[static_cast<std::size_t>(n)];
    return found.n == n ? &found : nullptr;
}

template <class Real>
const Passes<Real>& column_passes(index_t length) {
    const Passes<Real>* passes = find_passes<Real>(length);
    if (passes == nullptr) throw InternalError(message("no pass for columns of ", length));
    return *passes;
}

template <class Real>
void launch_pass(const ColumnPass<Real>& pass, ColumnJob<Real> job, cudaStream_t stream,
                 double block_share) {
    const index_t tiles = ceil_div(job.columns, pass.columns) * job.batches;
    if (tiles == 0) return;
    job.twiddles = device_twiddles<Real>(pass.plan, stream);

    // Prefetching pays unless its memory leaves less than half the thread blocks.
    const auto* cuda_kernel = reinterpret_cast<const void*>(pass.cuda_kernel);
    const index_t with_source = pass.fixed_bytes + pass.prefetch_bytes;
    const index_t plain = resident_blocks(cuda_kernel, pass.threads, pass.fixed_bytes);
    const index_t prefetching = resident_blocks(cuda_kernel, pass.threads, with_source);
    job.prefetches =
        prefetching > 0 && (pass.spectrum_in_shared_memory || 2 * prefetching >= plain);
    const index_t resident = job.prefetches ? prefetching : plain;
    const auto blocks = static_cast<index_t>(static_cast<double>(resident) * block_share);
    index_t bytes = job.prefetches ? with_source : pass.fixed_bytes;
    if (job.prefetches && job.taps > 0) {
        const index_t with_taps = with_source + pass.prefetch_bytes / pass.plan.n * job.taps;
        job.prefetches_taps = resident_blocks(cuda_kernel, pass.threads, with_taps) == prefetching;
        if (job.prefetches_taps) bytes = with_taps;
    }
    if (resident == 0) {
        throw GpuUnavailable(message("columns of ", job.load_slots.length,
                                     " samples do not fit this device's shared memory"));
    }
    void* arguments[] = {&job};
    const index_t grid = std::min(tiles, std::max<index_t>(blocks, 1));
    check(cudaLaunchKernel(cuda_kernel, dim3(static_cast<unsigned>(grid)),
                           dim3(static_cast<unsigned>(pass.threads)), arguments,
                           static_cast<std::size_t>(bytes), stream),
          "launching a pass over columns");
}

/// Returns the pass that convolves with taps on the current device.
template <class Real>
const ColumnPass<Real>& taps_pass_of(const Passes<Real>& passes) {
    const ColumnPass<Real>& pass = passes.taps;
    const bool has_room = !pass.spectrum_in_shared_memory ||
                          resident_blocks(reinterpret_cast<const void*>(pass.cuda_kernel),
                                          pass.threads, pass.fixed_bytes + pass.prefetch_bytes) > 0;
    return has_room ? pass : passes.taps_in_registers;
}

void launch_varying_pass(const Passes<float>& passes, VaryingColumnJob<float> job,
                         cudaStream_t stream) {
    const ColumnPass<float>& pass = passes.columns;
    const index_t tiles = ceil_div(job.columns.columns, pass.columns);
    if (tiles == 0) return;
    job.columns.twiddles = device_twiddles<float>(pass.plan, stream);
    const auto* cuda_kernel = reinterpret_cast<const void*>(passes.varying_columns);
    const index_t resident = resident_blocks(cuda_kernel, pass.threads, pass.fixed_bytes);
    if (resident == 0)
        throw GpuUnavailable(message("columns of ", job.columns.load_slots.length,
                                     " samples do not fit this device's shared memory"));
    void* arguments[] = {&job};
    check(cudaLaunchKernel(cuda_kernel, dim3(static_cast<unsigned>(std::min(tiles, resident))),
                           dim3(static_cast<unsigned>(pass.threads)), arguments,
                           static_cast<std::size_t>(pass.fixed_bytes), stream),
          "launching a pass over columns");
}

/// Returns the complex samples of a row in the CUDA kernel, or 0 for an odd number of real ones.
index_t samples_of_row(index_t length, bool complex_rows) {
    if (complex_rows) return length;
    return length % 2 == 0 ? length / 2 : 0;
}

template <class Real>
const RowPass<Real>& row_pass_of(index_t length, bool complex_rows) {
    const Passes<Real>* passes = find_passes<Real>(samples_of_row(length, complex_rows));
    if (passes == nullptr) throw InternalError(message("no pass for rows of ", length));
    return passes->rows;
}

template <class Real>
void launch_pass(const RowPass<Real>& pass, RowJob<Real> job, cudaStream_t stream) {
    const index_t groups = ceil_div(job.planes * job.rows, pass.rows);
    if (groups == 0) return;
    job.twiddles = device_twiddles<Real>(pass.plan, stream);
    const auto* cuda_kernel = reinterpret_cast<const void*>(pass.cuda_kernel);
    const index_t resident = resident_blocks(cuda_kernel, pass.threads, pass.shared_bytes);
    if (resident == 0) {
        throw GpuUnavailable(message("rows of ", pass.plan.n,
                                     " complex samples do not fit this device's shared memory"));
    }
    const index_t blocks = std::min(groups, resident);
    void* arguments[] = {&job};
    check(cudaLaunchKernel(cuda_kernel, dim3(static_cast<unsigned>(blocks)),
                           dim3(static_cast<unsigned>(pass.threads)), arguments,
                           static_cast<std::size_t>(pass.shared_bytes), stream),
          "launching a pass over rows");
}

constexpr double usual_rate = 330;

/// Returns the cost of a length, which also makes more work for the passes along the other axes.
double transform_cost(int n, int rate) {
    return n * (0.5 / rate + 0.5 / usual_rate);
}

/// The lengths that `cheapest_length` can return in one precision, in ascending order: those that
/// cost less than all longer ones.
std::vector<int> efficient_lengths(short LengthRates::*rate, bool double_precision) {
    std::vector<int> lengths;
    double least = std::numeric_limits<double>::infinity();
    for (auto entry = std::rbegin(length_rates); entry != std::rend(length_rates); ++entry) {
        if (!is_pass_length(entry->n, double_precision)) continue;
        const double own = transform_cost(entry->n, (*entry).*rate);
        if (own > least) continue;
        least = own;
        lengths.push_back(entry->n);
    }
    std::reverse(lengths.begin(), lengths.end());
    return lengths;
}

/// Returns the cheapest length of at least `least` samples. The planner asks for thousands.
index_t cheapest_length(index_t least, short LengthRates::*rate, bool double_precision) {
    static const std::array<std::vector<int>, 4> tables = {
        efficient_lengths(&LengthRates::columns, false),
        efficient_lengths(&LengthRates::columns, true),
        efficient_lengths(&LengthRates::rows, false), efficient_lengths(&LengthRates::rows, true)};
    const auto& lengths =
        tables[(rate == &LengthRates::rows ? 2U : 0U) + (double_precision ? 1U : 0U)];
    const auto found = std::lower_bound(lengths.begin(), lengths.end(), least);
    return found == lengths.end() ? 0 : *found;
}

}  // namespace

template <class Real>
bool has_column_pass(index_t length, int device) {
    const Passes<Real>* passes = find_passes<Real>(length);
    return passes != nullptr &&
           can_run(reinterpret_cast<const void*>(passes->columns.cuda_kernel),
                   std::max(passes->columns.fixed_bytes, passes->taps.fixed_bytes), device);
}

template <class Real>
void transform_columns(index_t length, PassDirection direction, const Columns<Real>& source,
                       const PositionMap& load, const Columns<Real>& target,
                       const PositionMap& store, cudaStream_t stream, double block_share) {
    launch_pass(column_passes<Real>(length).columns,
                column_transform_job(length, direction, source, load, target, store), stream,
                block_share);
}

template <class Real>
void convolve_columns(index_t length, const Columns<Real>& data, const PositionMap& load,
                      const PositionMap& store, const ColumnKernel<Real>& kernel,
                      cudaStream_t stream, double block_share) {
    const Passes<Real>& passes = column_passes<Real>(length);
    launch_pass(kernel.taps > 0 ? taps_pass_of(passes) : passes.columns,
                convolve_job(length, data, load, store, kernel), stream, block_share);
}

void convolve_varying_columns(index_t length, const Columns<float>& data, const PositionMap& load,
                              const PositionMap& store, const VaryingColumnKernel<float>& kernel,
                              cudaStream_t stream) {
    launch_varying_pass(column_passes<float>(length),
                        varying_convolve_job(length, data, load, store, kernel), stream);
}

template <class Real>
bool has_row_pass(index_t length, bool complex_rows, int device) {
    const Passes<Real>* passes = find_passes<Real>(samples_of_row(length, complex_rows));
    return passes != nullptr && can_run(reinterpret_cast<const void*>(passes->rows.cuda_kernel),
                                        passes->rows.shared_bytes, device);
}

template <class Real>
void forward_rows(index_t length, bool complex_rows, const RowSource& source,
                  const SpectrumPlanes<Real>& target, cudaStream_t stream) {
    launch_pass(row_pass_of<Real>(length, complex_rows),
                forward_job(length, complex_rows, source, target), stream);
}

template <class Real>
void inverse_rows(index_t length, bool complex_rows, const SpectrumPlanes<Real>& source,
                  const RowTarget& target, double scale, cudaStream_t stream) {
    launch_pass(row_pass_of<Real>(length, complex_rows),
                inverse_job(length, complex_rows, source, target, scale), stream);
}

#define CONVOLUME_INSTANTIATE(Real)                                                               \
    template bool has_column_pass<Real>(index_t, int);                                            \
    template bool has_row_pass<Real>(index_t, bool, int);                                         \
    template void transform_columns(index_t, PassDirection, const Columns<Real>&,                 \
                                    const PositionMap&, const Columns<Real>&, const PositionMap&, \
                                    cudaStream_t, double);                                        \
    template void convolve_columns(index_t, const Columns<Real>&, const PositionMap&,             \
                                   const PositionMap&, const ColumnKernel<Real>&, cudaStream_t,   \
                                   double);                                                       \
    template void forward_rows(index_t, bool, const RowSource&, const SpectrumPlanes<Real>&,      \
                               cudaStream_t);                                                     \
    template void inverse_rows(index_t, bool, const SpectrumPlanes<Real>&, const RowTarget&,      \
                               double, cudaStream_t);
CONVOLUME_INSTANTIATE(float)
CONVOLUME_INSTANTIATE(double)
#undef CONVOLUME_INSTANTIATE

bool is_pass_length(index_t length, bool double_precision) {
    const auto found = [&](const auto& all) {
        return std::binary_search(all.begin(), all.end(), length);
    };
    return double_precision ? found(lengths<double>) : found(lengths<float>);
}

index_t good_column_length(index_t least, bool double_precision) {
    return cheapest_length(least, &LengthRates::columns, double_precision);
}

index_t good_row_length(index_t least, bool complex_rows, bool double_precision) {
    const index_t samples_each = complex_rows ? 1 : 2;
    return cheapest_length(ceil_div(least, samples_each), &LengthRates::rows, double_precision) *
           samples_each;
}

}  // namespace convolume::gpu
