// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "convolume/error.hpp"
#include "gpu/fft/device_table.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/fft/stage_table.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

namespace {

template <int... Chunk>
std::vector<StagePass> all_stage_passes(std::integer_sequence<int, Chunk...>) {
    std::vector<StagePass> all;
    for (const auto& chunk : {compiled_stage_passes<Chunk, CONVOLUME_STAGE_CHUNKS>()...})
        all.insert(all.end(), chunk.begin(), chunk.end());
    return all;
}

/// Of real rows of `length`; null where there is none.
const StagePass* find_stage_pass(index_t length) {
    static const auto passes =
        all_stage_passes(std::make_integer_sequence<int, CONVOLUME_STAGE_CHUNKS>{});
    if (length % 2 != 0) return nullptr;
    const auto found = std::find_if(passes.begin(), passes.end(),
                                    [&](const StagePass& pass) { return 2 * pass.n == length; });
    return found == passes.end() ? nullptr : &*found;
}

const void* kernel_of(const StagePass& pass, StageWork work) {
    return reinterpret_cast<const void*>(pass.kernels[static_cast<int>(work)]);
}

index_t shared_bytes_of(const StagePass& pass, StageWork work, int arrays) {
    return pass.shared_bytes[static_cast<int>(work)][arrays];
}

const StagePass& stage_pass_of(index_t length) {
    const StagePass* pass = find_stage_pass(length);
    if (pass == nullptr) throw InternalError(message("no pass with a stage for rows of ", length));
    return *pass;
}

index_t resident(const StagePass& pass, StageWork work, int arrays) {
    const index_t blocks =
        resident_blocks(kernel_of(pass, work), pass.threads, shared_bytes_of(pass, work, arrays));
    if (blocks == 0)
        throw GpuUnavailable(
            message("rows of ", 2 * pass.n, " samples do not fit this device's shared memory"));
    return blocks;
}

}  // namespace

bool has_stage_pass(index_t length, int device) {
    const StagePass* pass = find_stage_pass(length);
    return pass != nullptr &&
           can_run(kernel_of(*pass, StageWork::step),
                   shared_bytes_of(*pass, StageWork::step, most_arrays(StageWork::step)), device);
}

index_t most_stage_blocks(index_t length) {
    const StagePass& pass = stage_pass_of(length);
    // With the fewest arrays most blocks fit.
    return std::max(resident(pass, StageWork::compare, 0), resident(pass, StageWork::step, 0));
}

index_t stage_rows(index_t length, const RowStage& stage, index_t planes,
                   const SpectrumPlanes<float>& spectrum, double scale, double* sums,
                   cudaStream_t stream) {
    const StagePass& pass = stage_pass_of(length);
    auto job = stage_job(stage, planes, spectrum, scale, sums);
    const index_t groups = ceil_div(planes * stage.rows, pass.rows);
    if (groups == 0) return 0;
    job.rows.twiddles = device_twiddles<float>(pass.plan, stream);
    const StageWork work = work_of(stage.kind);
    const int arrays = used_arrays(stage);
    const index_t blocks = std::min(groups, resident(pass, work, arrays));
    void* arguments[] = {&job};
    check(cudaLaunchKernel(kernel_of(pass, work), dim3(static_cast<unsigned>(blocks)),
                           dim3(static_cast<unsigned>(pass.threads)), arguments,
                           static_cast<std::size_t>(shared_bytes_of(pass, work, arrays)), stream),
          "launching a pass over rows with a stage");
    return blocks;
}

}  // namespace convolume::gpu
