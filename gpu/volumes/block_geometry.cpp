// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/block_geometry.hpp"

#include <algorithm>
#include <cmath>

#include "core/engine.hpp"
#include "gpu/fft/pass_times.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/fft/planes.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"

namespace convolume::gpu {

namespace {

constexpr index_t mebi = index_t{1} << 20;

/// Rows of taps may be padded to a multiple of this number of samples.
constexpr index_t aligned_taps = 16;

/// Factor by which a kept spectrum must be predicted to be faster.
constexpr double least_gain_of_spectra = 1.01;

// Choices of buffer sizes: bytes of a transfer buffer, and of the kernel's spectra along z that are
// made at a time. The largest choice that fits is used; the smallest is one plane and one tile of
// columns. The spectra are read back at once, so that more than the cache holds gains nothing.
struct BufferSizes {
    index_t transfer_bytes, batch_bytes, transfer_buffers;
};
constexpr BufferSizes buffer_sizes[] = {
    {64 * mebi, 64 * mebi, 3},
    {32 * mebi, 32 * mebi, 3},
    {8 * mebi, 8 * mebi, 3},
    {2 * mebi, 2 * mebi, 2},
    {0, 0, 2},
};

// Whether there are passes along `axis` (0 is z), for rows or columns of that length.
bool has_axis_pass(int device, int axis, index_t length, bool complex_data, Precision precision) {
    const bool is_double = precision == Precision::float64;
    if (device == any_device)
        return is_pass_length(axis == 2 && !complex_data ? length / 2 : length, is_double);
    if (axis == 2)
        return is_double ? has_row_pass<double>(length, complex_data, device)
                         : has_row_pass<float>(length, complex_data, device);
    return is_double ? has_column_pass<double>(length, device)
                     : has_column_pass<float>(length, device);
}
bool has_plane_pass_on(int device, index_t length) {
    return device == any_device ? plane_pass_length(length) == length
                                : has_plane_pass(length, device);
}
bool has_axis_pass(const Block& block, int axis, index_t length, int device) {
    return has_axis_pass(device, axis, length, block.complex_data, block.precision);
}

index_t column_tile_samples(const Block& block) {
    return block.precision == Precision::float32 ? tile_columns<float> : tile_columns<double>;
}

bool is_direct(const Block& block) {
    return block.algorithm == Algorithm::direct;
}

// Returns the part of the layout that does not depend on the available memory.
BlockGeometry base_geometry(const Block& block, const PlaneBytes& pixels, int device) {
    BlockGeometry g;
    g.pixels = pixels;
    if (is_direct(block)) {
        describe_direct(block, g);
        return g;
    }
    const index_t tile = column_tile_samples(block);
    const BlockAxis& z = block.axes[0];
    g.sample_bytes = convolume::sample_bytes(block.precision, true);
    g.spectrum_row_samples = block.complex_data ? block.axes[2].grid : block.axes[2].grid / 2 + 1;
    g.rows = block.axes[1].grid;
    g.kernel_planes = std::min(z.kernel, z.grid);
    g.z_length = z.grid;
    g.uses_cufft =
        !has_axis_pass(block, 2, block.axes[2].grid, device) ||
        !has_axis_pass(block, 1, g.rows, device) ||
        (!block.walks && !block.planes_are_apart && !has_axis_pass(block, 0, z.grid, device));
    g.convolves_planes = block.planes_are_apart && !g.uses_cufft;
    if (g.convolves_planes) g.z_length = 1;
    g.fuses_planes = g.convolves_planes && !block.complex_data &&
                     block.precision == Precision::float32 && g.rows == block.axes[2].grid &&
                     has_plane_pass_on(device, g.rows);
    g.pitch = g.uses_cufft ? g.spectrum_row_samples : round_up(g.spectrum_row_samples, tile);
    g.plane = checked_multiply(g.rows, g.pitch);
    g.lists_bytes =
        aligned(4 * (block.axes[1].loaded + block.axes[2].loaded)) + DeviceMemory::alignment;
    return g;
}

// Whether the kernel's spectra along z are made in memory, some columns at a time: passes in single
// precision transform the taps on their way.
bool makes_spectra(const Block& block, const BlockGeometry& g) {
    return !g.keeps_spectrum && !g.uses_cufft && !g.convolves_planes &&
           block.precision == Precision::float64;
}

// Returns the pass along z of one window.
ColumnConvolution z_pass_of(const Block& block, const BlockGeometry& g) {
    const BlockAxis& z = block.axes[0];
    return {.length = g.z_length,
            .loaded = z.loaded,
            .stored = z.kept,
            .columns = g.plane,
            .taps = g.kernel_planes,
            .sample_bytes = g.sample_bytes,
            .spectrum = g.keeps_spectrum          ? ColumnConvolution::Spectrum::kept
                        : makes_spectra(block, g) ? ColumnConvolution::Spectrum::in_memory
                                                  : ColumnConvolution::Spectrum::in_pass};
}

// Computes the sizes that follow from `z_length`, `slab` and the buffer sizes.
void set_sizes(const Block& block, const BufferSizes& sizes, BlockGeometry& g) {
    const BlockAxis& z = block.axes[0];
    const index_t tile = column_tile_samples(block);
    const index_t planes = std::max(z.loaded, z.kept);
    g.ring = g.uses_cufft ? z.grid : g.slab > 0 && g.slab < z.kept ? g.z_length : planes;
    if (is_direct(block)) g.ring = g.z_length;
    g.ring_bytes = g.fuses_planes ? 0 : aligned(checked_multiply(g.ring, g.plane_bytes()));
    g.transfer_buffers = sizes.transfer_buffers;
    const auto buffer_bytes = [&](index_t plane_bytes, index_t count) {
        if (plane_bytes == 0) return index_t{0};  // images on the device need no transfer buffer
        return aligned(
            std::min(checked_multiply(plane_bytes, count),
                     std::max(plane_bytes, sizes.transfer_bytes / plane_bytes * plane_bytes)));
    };
    g.source_buffer_bytes = buffer_bytes(g.pixels.source, z.loaded);
    g.target_buffer_bytes = buffer_bytes(g.pixels.target, z.kept);
    if (is_direct(block)) return;
    g.taps_bytes = aligned(checked_multiply(
        checked_multiply(g.kernel_planes, block.axes[1].kernel),
        checked_multiply(round_up(block.axes[2].kernel, aligned_taps), block.sample_bytes())));
    if (g.uses_cufft) {
        g.batch_columns = g.plane;
        g.batch_bytes = g.ring_bytes;  // cuFFT's work area
        g.kernel_bytes = g.ring_bytes;
    } else {
        g.batch_columns = g.plane;
        g.batch_bytes = 0;
        if (makes_spectra(block, g)) {
            g.batch_columns = std::min(
                g.plane,
                std::max(tile, sizes.batch_bytes / (g.z_length * g.sample_bytes) / tile * tile));
            g.batch_bytes = aligned(
                checked_multiply(checked_multiply(g.batch_columns, g.z_length), g.sample_bytes));
        }
        g.kernel_bytes = aligned(
            g.fuses_planes ? plane_kernel_samples(g.rows) * g.sample_bytes
                           : checked_multiply(g.keeps_spectrum ? g.z_length : g.kernel_planes,
                                              g.plane_bytes()));
    }
}

// Returns the bytes of a block and its kernel. A kernel that is used often replaces its taps.
index_t total_bytes(const BlockGeometry& g, bool is_used_often) {
    const index_t bytes = checked_add(g.workspace_bytes(), g.kernel_bytes);
    return is_used_often ? bytes : checked_add(bytes, g.taps_bytes);
}

}  // namespace

index_t length_with_passes(int device, int axis, index_t least, int parts, bool complex_data,
                           Precision precision) {
    // Every part of a split needs a good length. The first part of real data is twice as long as
    // the others.
    const bool splits = axis == 0 && parts > 1;
    const index_t step = splits ? length_multiple(axis, parts, complex_data) : 1;
    const auto next = [&](index_t length) {
        const bool is_double = precision == Precision::float64;
        return axis == 2 ? good_row_length(length, complex_data, is_double)
                         : good_column_length(length, is_double);
    };
    for (index_t length = next(ceil_div(least, step)); length > 0; length = next(length + 1))
        if (has_axis_pass(device, axis, length, complex_data, precision) &&
            (!splits || complex_data ||
             has_axis_pass(device, axis, 2 * length, complex_data, precision)))
            return length * step;
    return 0;
}

index_t BlockGeometry::workspace_bytes() const {
    const index_t running = checked_add(
        checked_add(ring_bytes, batch_bytes),
        checked_add(checked_multiply(transfer_buffers,
                                     checked_add(source_buffer_bytes, target_buffer_bytes)),
                    lists_bytes));
    return std::max(running, taps_bytes);
}

std::vector<ZWindow> BlockGeometry::windows(const BlockAxis& z) const {
    if (slab == 0)
        return {{0, z.loaded, 0, z.kept, {0, z.loaded, 0, ring}, {z.kept_begin, z.kept, 0, ring}}};
    std::vector<ZWindow> windows;
    const index_t reach = kernel_planes - 1;
    for (index_t done = 0; done < z.kept; done += slab) {
        ZWindow window;
        window.kept_begin = done;
        window.kept = std::min(slab, z.kept - done);
        const index_t first = z.kept_begin + done - reach;
        window.first = first;
        const index_t begin = std::clamp<index_t>(first, 0, z.loaded);
        const index_t end = std::clamp<index_t>(first + reach + window.kept, begin, z.loaded);
        window.loaded_end = end;
        window.load = {begin - first, end - begin, begin % ring, ring};
        // Outputs are stored in the slots of planes that leave the window.
        window.store = {reach, window.kept, ((first % ring) + ring) % ring, ring};
        windows.push_back(window);
    }
    return windows;
}

PlaneBytes expected_plane_bytes(const Block& block) {
    const BlockAxis &y = block.axes[1], &x = block.axes[2];
    const index_t source =
        block.source_plane > 0 ? block.source_plane : checked_multiply(y.loaded, x.loaded);
    return {checked_multiply(source, sample_bytes(block.source_type)),
            checked_multiply(checked_multiply(y.kept, x.kept), sample_bytes(block.target_type))};
}

BlockGeometry block_geometry(const Block& block, const PlaneBytes& pixels, index_t limit_bytes,
                             const DeviceRates& rates, bool keep_spectrum) {
    BlockGeometry base = base_geometry(block, pixels, rates.device);
    BlockGeometry best;
    double best_s = -1;
    const auto fits = [&](const BlockGeometry& g) {
        return limit_bytes == 0 || total_bytes(g, keep_spectrum) <= limit_bytes;
    };
    const auto consider = [&](BlockGeometry g) {
        for (const BufferSizes& sizes : buffer_sizes) {
            set_sizes(block, sizes, g);
            if (fits(g)) break;
        }
        // A spectrum takes memory, for which it must save some of the time.
        const double seconds =
            block_times(block, g, rates).alone_s * (g.keeps_spectrum ? least_gain_of_spectra : 1);
        const bool better = best_s < 0 || (fits(g) != fits(best) ? fits(g)
                                           : fits(g)             ? seconds < best_s
                                                                 : total_bytes(g, keep_spectrum) <
                                                           total_bytes(best, keep_spectrum));
        if (!better) return;
        best = g;
        best_s = seconds;
    };
    const BlockAxis& z = block.axes[0];
    if (is_direct(block)) {
        for (index_t slab = 8;; slab *= 2) {  // fewer planes do not occupy a device
            base.slab = std::min(slab, z.kept);
            base.z_length = base.slab + z.kernel - 1;
            consider(base);
            if (slab >= z.kept) return best;
        }
    }
    if (!block.walks || base.uses_cufft) {
        consider(base);
        base.keeps_spectrum = keep_spectrum && !base.uses_cufft && !base.convolves_planes;
        if (base.keeps_spectrum) consider(base);
        return best;
    }
    const index_t whole = z.kept + z.kernel - 1;
    const auto next_length = [&](index_t least) {
        return good_column_length(least, block.precision == Precision::float64);
    };
    for (index_t length = next_length(z.kernel + 1); length > 0; length = next_length(length + 1)) {
        if (!has_axis_pass(block, 0, length, rates.device)) continue;
        BlockGeometry g = base;
        g.z_length = length;
        g.slab = std::min(length - z.kernel + 1, z.kept);
        consider(g);
        if (length >= whole) break;
    }
    if (best_s < 0) {
        // A kernel is taller than every pass allows: the block is held whole.
        base.uses_cufft = true;
        base.pitch = base.spectrum_row_samples;
        base.plane = checked_multiply(base.rows, base.pitch);
        consider(base);
    }
    return best;
}

BlockTimes block_times(const Block& block, const BlockGeometry& g, const DeviceRates& rates) {
    const BlockAxis& y = block.axes[1];
    const auto in = static_cast<double>(block.axes[0].loaded);
    const auto out = static_cast<double>(block.axes[0].kept);
    const auto plane = static_cast<double>(g.plane_bytes());
    const auto source = static_cast<double>(g.pixels.source);
    const auto target = static_cast<double>(g.pixels.target);
    const auto row = g.fuses_planes ? 0 : static_cast<double>(g.pitch * g.sample_bytes);
    const double windows =
        g.slab > 0 ? static_cast<double>(ceil_div(block.axes[0].kept, g.slab)) : 1;

    BlockTimes times{};
    const BlockAxis& x = block.axes[2];
    // The host's memory copies for all engines, in both directions.
    const bool staged = block.staging_engines > 0;
    const double staging = staged ? rates.staged_both / block.staging_engines : 0;
    const double to_device = staged ? std::min(rates.staged_to_device, staging) : rates.to_device;
    const double to_host = staged ? std::min(rates.staged_to_host, staging) : rates.to_host;
    const auto transfer_s = [&](double bytes, index_t samples, PixelType type, double rate) {
        const double row_bytes = static_cast<double>(samples * sample_bytes(type));
        return bytes / rate *
               (block.whole_rows ? 1 : 1 + rates.machine.gpu_row_overhead_bytes / row_bytes);
    };
    times.to_device_s = transfer_s(in * source, x.loaded, block.source_type, to_device);
    times.to_host_s = transfer_s(out * target, x.kept, block.target_type, to_host);
    if (staged) times.staging_s = (in * source + out * target) / staging;
    const auto file_s = [&](double planes, double plane_bytes, index_t samples, PixelType type,
                            double rate, bool in_planes) {
        if (rate == 0) return 0.0;
        const double row_bytes = static_cast<double>(samples * sample_bytes(type));
        return rates.machine.file_seconds(planes * plane_bytes, rate,
                                          in_planes ? plane_bytes : row_bytes);
    };
    times.read_s = file_s(in, source, x.loaded, block.source_type, block.source_bytes_per_s,
                          block.whole_rows || block.source_in_planes);
    times.write_s =
        file_s(out, target, x.kept, block.target_type, block.target_bytes_per_s, block.whole_rows);
    // Boxes are read and written while they travel.
    const auto transfers = [](double bytes, index_t buffer_bytes) {
        return buffer_bytes > 0 ? std::ceil(bytes / static_cast<double>(buffer_bytes)) : 0.0;
    };
    const double loads = transfers(in * source, g.source_buffer_bytes);
    const double stores = transfers(out * target, g.target_buffer_bytes);
    if (staged) {
        times.to_device_s += loads * rates.machine.gpu_staged_transfer_s;
        times.to_host_s += stores * rates.machine.gpu_staged_transfer_s;
        times.staging_s += (loads + stores) * rates.machine.gpu_staged_transfer_s;
    }
    const double in_s = std::max(times.read_s, times.to_device_s);
    const double out_s = std::max(times.write_s, times.to_host_s);
    // Every pass reads and writes its samples once. Without a pass along z, one along y transforms
    // there and back.
    const double between = g.convolves_planes ? 0 : plane;
    const double planes_in = source + 2 * static_cast<double>(y.loaded) * row + between;
    const double planes_out = target + 2 * static_cast<double>(y.kept) * row + between;
    if (!g.convolves_planes)
        times.z_s = convolution_seconds(z_pass_of(block, g), rates.memory, rates.multiply_adds);
    double bytes = in * planes_in + out * planes_out;
    double z_launches = windows * (makes_spectra(block, g) ? 2 : 1) *
                        static_cast<double>(ceil_div(g.plane, g.batch_columns));
    if (is_direct(block)) {  // sums are computed when results are stored
        times.z_s = z_launches = 0;
        bytes = in * (source + plane) + out * (plane + target);
    }
    if (g.uses_cufft) {
        bytes = static_cast<double>(g.ring) * plane * rates.machine.gpu_cufft_passes;
        times.z_s = 0;
    }
    const double launches = z_launches + 2 * (loads + stores);
    times.compute_s = bytes / rates.memory + windows * times.z_s +
                      launches * rates.machine.gpu_launch_s +
                      (g.slab > 0 ? windows * rates.machine.gpu_walk_step_s : 0);
    if (is_direct(block)) times.compute_s += direct_seconds(block, rates.multiply_adds);
    if (!is_direct(block)) {
        const auto taps = static_cast<double>(g.taps_bytes);
        times.kernel_to_device_s = taps / to_device;
        times.kernel_s =
            (taps + static_cast<double>(g.kernel_planes) *
                        (2 * static_cast<double>(block.axes[1].kernel) * row + plane)) /
            rates.memory;
    }

    // The upload of the first window and the download of the last one overlap with nothing.
    const double up_first =
        in_s *
        (g.slab > 0 ? std::min(1.0, static_cast<double>(g.slab + g.kernel_planes / 2) / in) : 1);
    const double down_last =
        out_s * (g.slab > 0 ? std::min(1.0, static_cast<double>(g.slab) / out) : 1);
    // Concurrent work is hidden behind the slowest, but never completely.
    const double up = in_s - up_first;
    const double down = out_s - down_last;
    const double passes = times.compute_s - times.z_s;
    const double slowest =
        std::max({up, down, passes, g.slab > 0 ? times.staging_s - up_first - down_last : 0});
    times.alone_s = up_first + times.z_s + down_last + slowest +
                    BlockCost::hidden_share * std::max(up + down + passes - slowest, 0.0);
    if (windows > 1) {
        // During a pass along z, uploads go on only until the transfer buffers are full.
        const double buffers = static_cast<double>(g.transfer_buffers * g.source_buffer_bytes);
        const double of_window = static_cast<double>(g.slab) * source;
        times.alone_s +=
            std::max(0.0, 1 - buffers / of_window) * std::min(up, (windows - 1) * times.z_s);
    }
    return times;
}

}  // namespace convolume::gpu
