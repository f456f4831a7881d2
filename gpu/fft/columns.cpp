// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "convolume/error.hpp"
#include "gpu/fft/device_table.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

namespace {

template <class Real>
const ColumnPass<Real>& column_pass_of(index_t length) {
    const Passes<Real>* passes = find_passes<Real>(length);
    if (passes == nullptr) throw InternalError(message("no pass for columns of ", length));
    return passes->columns;
}

template <class Real>
void launch(const ColumnPass<Real>& pass, ColumnJob<Real> job, cudaStream_t stream) {
    const index_t tiles = ceil_div(job.columns, pass.columns) * job.batches;
    if (tiles == 0) return;
    job.twiddles = device_twiddles<Real>(pass.plan, stream);

    // Copying ahead pays unless its memory leaves less than half the blocks.
    const auto* kernel = reinterpret_cast<const void*>(job.taps > 0 ? pass.of_taps : pass.kernel);
    const index_t staged_bytes = pass.fixed_bytes + pass.staging_bytes;
    const index_t plain = resident_blocks(kernel, pass.threads, pass.fixed_bytes);
    const index_t staged = resident_blocks(kernel, pass.threads, staged_bytes);
    job.staged = staged > 0 && 2 * staged >= plain;
    const index_t resident = job.staged ? staged : plain;
    index_t bytes = job.staged ? staged_bytes : pass.fixed_bytes;
    if (job.staged && job.taps > 0) {
        const index_t with_taps = staged_bytes + pass.staging_bytes / pass.plan.n * job.taps;
        const index_t blocks = resident_blocks(kernel, pass.threads, with_taps);
        job.taps_staged = blocks == staged;
        if (job.taps_staged) bytes = with_taps;
    }
    if (resident == 0) {
        throw GpuUnavailable(message("columns of ", job.load.length,
                                     " samples do not fit this device's shared memory"));
    }
    void* arguments[] = {&job};
    check(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(std::min(tiles, resident))),
                           dim3(static_cast<unsigned>(pass.threads)), arguments,
                           static_cast<std::size_t>(bytes), stream),
          "launching a pass over columns");
}

}  // namespace

template <class Real>
bool has_column_pass(index_t length, int device) {
    const Passes<Real>* passes = find_passes<Real>(length);
    return passes != nullptr && can_run(reinterpret_cast<const void*>(passes->columns.kernel),
                                        passes->columns.fixed_bytes, device);
}

template <class Real>
void transform_columns(index_t length, Direction direction, const Columns<Real>& source,
                       const PositionMap& load, const Columns<Real>& target,
                       const PositionMap& store, cudaStream_t stream) {
    launch(column_pass_of<Real>(length),
           transform_job(length, direction, source, load, target, store), stream);
}

template <class Real>
void convolve_columns(index_t length, const Columns<Real>& data, const PositionMap& load,
                      const PositionMap& store, const ColumnKernel<Real>& kernel,
                      cudaStream_t stream) {
    launch(column_pass_of<Real>(length), convolve_job(length, data, load, store, kernel), stream);
}

#define CONVOLUME_INSTANTIATE(Real)                                                               \
    template bool has_column_pass<Real>(index_t, int);                                            \
    template void transform_columns(index_t, Direction, const Columns<Real>&, const PositionMap&, \
                                    const Columns<Real>&, const PositionMap&, cudaStream_t);      \
    template void convolve_columns(index_t, const Columns<Real>&, const PositionMap&,             \
                                   const PositionMap&, const ColumnKernel<Real>&, cudaStream_t);
CONVOLUME_INSTANTIATE(float)
CONVOLUME_INSTANTIATE(double)
#undef CONVOLUME_INSTANTIATE

}  // namespace convolume::gpu
