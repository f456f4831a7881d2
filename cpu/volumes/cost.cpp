// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/cost.hpp"

#include <algorithm>

#include "core/fft_size.hpp"
#include "cpu/volumes/direct.hpp"
#include "cpu/volumes/fft_block.hpp"

namespace convolume::cpu {

namespace {

double fft_seconds(const Block& block, const MachineRates& rates, double size_factor) {
    const SpectrumLayout layout(block.grid(), block.complex_data);
    const BlockAxis& z = block.axes[0];
    const auto planes = static_cast<double>(z.loaded + z.kept);
    const auto row_samples = static_cast<double>(layout.half_x);
    const auto rows =
        static_cast<double>(block.axes[1].loaded * z.loaded + block.axes[1].kept * z.kept);
    const auto plane_samples = static_cast<double>(layout.plane);

    const double x_pass =
        rows * row_samples *
        (fft_cost_per_sample(layout.length_x) * rates.row_fft_s + 2 * rates.row_s);
    const double y_pass = planes * plane_samples * (rates.column_fft_s + 2 * rates.strided_s);
    const auto kernel_planes = static_cast<double>(std::min(z.kernel, z.grid));
    // Two transforms forward, one back; the product costs a third of one.
    const double z_pass =
        plane_samples * (static_cast<double>(layout.planes) * (3 + 1.0 / 3) * rates.column_fft_s +
                         (planes + kernel_planes) * rates.strided_s);
    return (x_pass + y_pass + z_pass) * size_factor + rates.passes_s;
}

// The 2D spectra of the kernel's own planes.
double fft_kernel_seconds(const Block& block, const MachineRates& rates, double size_factor) {
    const SpectrumLayout layout(block.grid(), block.complex_data);
    const auto planes = static_cast<double>(std::min(block.axes[0].kernel, block.axes[0].grid));
    const auto rows = planes * static_cast<double>(block.axes[1].kernel);
    return size_factor *
           (rows * static_cast<double>(layout.half_x) *
                (fft_cost_per_sample(layout.length_x) * rates.row_fft_s + 2 * rates.row_s) +
            planes * static_cast<double>(layout.plane) *
                (rates.column_fft_s + 2 * rates.strided_s));
}

double space_seconds(const Block& block, const MachineRates& rates, int threads,
                     double size_factor) {
    const auto kept = static_cast<double>(element_count(block.kept()));
    const Shape3 kernel = block.kernel();
    const StripLayout layout(block, threads);
    // Strips load, and along x filter, what the kernel reaches beyond them again.
    const double again = static_cast<double>(layout.strip_rows + kernel.y - 1) /
                         static_cast<double>(layout.strip_rows) *
                         static_cast<double>(layout.strip_planes + kernel.z - 1) /
                         static_cast<double>(layout.strip_planes);
    const double again_z = static_cast<double>(layout.strip_planes + kernel.z - 1) /
                           static_cast<double>(layout.strip_planes);
    const double taps = block.algorithm == Algorithm::separable
                            ? static_cast<double>(kernel.x) * again +
                                  static_cast<double>(kernel.y) * again_z +
                                  static_cast<double>(kernel.z)
                            : static_cast<double>(element_count(kernel));
    const double per_tap = block.complex_data ? rates.complex_multiply_add_s : rates.multiply_add_s;
    // Each kernel row also costs its call, each sample its way in and out.
    const double per_sample = 2 * rates.row_s * (1 + again) +
                              static_cast<double>(kernel.z + kernel.y) * rates.multiply_add_s;
    const double calls = block.algorithm == Algorithm::separable
                             ? 0
                             : kept / static_cast<double>(block.axes[2].kept) *
                                   static_cast<double>(kernel.z * kernel.y);
    return kept * (taps * per_tap + per_sample) * size_factor + calls * rates.kernel_row_s;
}

}  // namespace

WorkspaceLayout workspace_layout(const Block& block, int threads) {
    WorkspaceLayout workspace{};
    if (block.algorithm == Algorithm::fft) {
        const SpectrumLayout layout(block.grid(), block.complex_data);
        const index_t sample = sample_bytes(block.precision, true);
        const index_t planes = std::max(block.axes[0].loaded, block.axes[0].kept);
        workspace.spectrum_bytes = checked_multiply(checked_multiply(planes, layout.plane), sample);
        workspace.scratch_bytes = block.precision == Precision::float32
                                      ? FftBlock<float>::scratch_bytes(layout, block.complex_data)
                                      : FftBlock<double>::scratch_bytes(layout, block.complex_data);
    } else {
        workspace.scratch_bytes = round_up(StripLayout(block, threads).scratch_bytes(block),
                                           static_cast<index_t>(Buffer::alignment));
    }
    workspace.total_bytes = Buffer::rounded_bytes(
        checked_add(workspace.spectrum_bytes, checked_multiply(threads, workspace.scratch_bytes)));
    return workspace;
}

BlockCost estimate_cost(const Block& block, int threads, const MachineRates& rates) {
    const bool is_float = block.precision == Precision::float32;
    const double size_factor = is_float ? 1 : 2;
    const WorkspaceLayout workspace = workspace_layout(block, threads);
    BlockCost cost;
    cost.workspace_bytes = workspace.total_bytes;
    const auto bytes_each = static_cast<double>(block.sample_bytes());
    double bytes_moved =
        static_cast<double>(element_count(block.loaded()) + element_count(block.kept())) *
        bytes_each;
    if (block.algorithm == Algorithm::fft) {
        const SpectrumLayout layout(block.grid(), block.complex_data);
        const index_t planes = std::min(block.axes[0].kernel, block.axes[0].grid);
        cost.kernel_bytes = Buffer::rounded_bytes(checked_multiply(
            checked_multiply(planes, layout.plane), sample_bytes(block.precision, true)));
        // While a kernel is prepared, its part's taps are there beside the workspace.
        cost.workspace_bytes = checked_add(
            cost.workspace_bytes,
            Buffer::rounded_bytes(checked_multiply(
                checked_multiply(planes,
                                 checked_multiply(block.axes[1].kernel, block.axes[2].kernel)),
                static_cast<index_t>(bytes_each))));
        bytes_moved += 4 * static_cast<double>(workspace.spectrum_bytes) +
                       static_cast<double>(cost.kernel_bytes);
        cost.compute_s = fft_seconds(block, rates, size_factor);
        cost.kernel_s = fft_kernel_seconds(block, rates, size_factor) / threads;
        cost.first_use_s = rates.planning_s;
    } else {
        cost.kernel_bytes =
            checked_multiply(element_count(block.kernel()), static_cast<index_t>(bytes_each));
        cost.compute_s = space_seconds(block, rates, threads, size_factor);
    }
    // Threads share the work, but also the memory bandwidth.
    cost.compute_s = std::max(cost.compute_s / threads, bytes_moved / rates.memory_bytes_per_s);
    if (block.source_bytes_per_s > 0) {
        const auto seconds = [&](const Shape3& shape, PixelType type, double bytes_per_s) {
            const auto row_bytes =
                static_cast<double>(shape.x * static_cast<index_t>(size_of(type)));
            const double plane_bytes = row_bytes * static_cast<double>(shape.y);
            return rates.file_seconds(plane_bytes * static_cast<double>(shape.z), bytes_per_s,
                                      block.whole_rows ? plane_bytes : row_bytes);
        };
        cost.read_s = seconds(block.loaded(), block.source_type, block.source_bytes_per_s);
        cost.write_s = seconds(block.kept(), block.target_type, block.target_bytes_per_s);
    }
    cost.first_use_s += static_cast<double>(cost.workspace_bytes + cost.kernel_bytes) /
                        (rates.first_touch_bytes_per_s * threads);
    cost.stream_processor_s = (cost.read_s + cost.write_s) / threads;
    cost.seconds = cost.read_s + cost.compute_s + cost.write_s;
    return cost;
}

}  // namespace convolume::cpu
