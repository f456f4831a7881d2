// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "convolume/error.hpp"
#include "gpu/fft/device_table.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

namespace {

/// Complex samples of a row in the kernel; 0 for an odd number of real ones.
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
void launch(const RowPass<Real>& pass, RowJob<Real> job, cudaStream_t stream) {
    const index_t groups = ceil_div(job.planes * job.rows, pass.rows);
    if (groups == 0) return;
    job.twiddles = device_twiddles<Real>(pass.plan, stream);
    const auto* kernel = reinterpret_cast<const void*>(pass.kernel);
    const index_t resident = resident_blocks(kernel, pass.threads, pass.shared_bytes);
    if (resident == 0) {
        throw GpuUnavailable(message("rows of ", pass.plan.n,
                                     " complex samples do not fit this device's shared memory"));
    }
    const index_t blocks = std::min(groups, resident);
    void* arguments[] = {&job};
    check(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)),
                           dim3(static_cast<unsigned>(pass.threads)), arguments,
                           static_cast<std::size_t>(pass.shared_bytes), stream),
          "launching a pass over rows");
}

}  // namespace

template <class Real>
bool has_row_pass(index_t length, bool complex_rows, int device) {
    const Passes<Real>* passes = find_passes<Real>(samples_of_row(length, complex_rows));
    return passes != nullptr && can_run(reinterpret_cast<const void*>(passes->rows.kernel),
                                        passes->rows.shared_bytes, device);
}

template <class Real>
void forward_rows(index_t length, bool complex_rows, const RowSource& source,
                  const SpectrumPlanes<Real>& target, cudaStream_t stream) {
    launch(row_pass_of<Real>(length, complex_rows),
           forward_job(length, complex_rows, source, target), stream);
}

template <class Real>
void inverse_rows(index_t length, bool complex_rows, const SpectrumPlanes<Real>& source,
                  const RowTarget& target, double scale, cudaStream_t stream) {
    launch(row_pass_of<Real>(length, complex_rows),
           inverse_job(length, complex_rows, source, target, scale), stream);
}

#define CONVOLUME_INSTANTIATE(Real)                                                          \
    template bool has_row_pass<Real>(index_t, bool, int);                                    \
    template void forward_rows(index_t, bool, const RowSource&, const SpectrumPlanes<Real>&, \
                               cudaStream_t);                                                \
    template void inverse_rows(index_t, bool, const SpectrumPlanes<Real>&, const RowTarget&, \
                               double, cudaStream_t);
CONVOLUME_INSTANTIATE(float)
CONVOLUME_INSTANTIATE(double)
#undef CONVOLUME_INSTANTIATE

}  // namespace convolume::gpu
