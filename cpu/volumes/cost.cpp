// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/cost.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <complex>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

#include "cpu/fft/column_fft.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/volumes/cpu_engine.hpp"
#include "cpu/volumes/direct.hpp"
#include "cpu/volumes/fft_block.hpp"
#include "cpu/volumes/separable.hpp"

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

    const double x_pass = rows * row_samples * (rates.row_fft_s + 2 * rates.row_s);
    const double y_pass = planes * plane_samples * (rates.column_fft_s + 2 * rates.strided_s);
    // A single plane is predicted to take as long as with a pass along z. Where sums in space take
    // about as long, they are then chosen, and zeros of the image stay zeros in the result.
    if (convolves_planes(block) && z.loaded > 1) {
        const double product = planes * plane_samples / 6 * rates.column_fft_s;
        return (x_pass + y_pass + product) * size_factor + rates.passes_s;
    }
    const auto kernel_planes = static_cast<double>(std::min(z.kernel, z.grid));
    // Two forward transforms, one inverse, and a product that takes a third of a transform.
    const double z_pass =
        plane_samples * (static_cast<double>(layout.planes) * (3 + 1.0 / 3) * rates.column_fft_s +
                         (planes + kernel_planes) * rates.strided_s);
    return (x_pass + y_pass + z_pass) * size_factor + rates.passes_s;
}

// Returns the time to compute the 2D spectra of the planes of a kernel.
double fft_kernel_seconds(const Block& block, const MachineRates& rates, double size_factor) {
    const SpectrumLayout layout(block.grid(), block.complex_data);
    const auto planes = static_cast<double>(std::min(block.axes[0].kernel, block.axes[0].grid));
    const auto rows = planes * static_cast<double>(block.axes[1].kernel);
    return size_factor *
           (rows * static_cast<double>(layout.half_x) * (rates.row_fft_s + 2 * rates.row_s) +
            planes * static_cast<double>(layout.plane) *
                (rates.column_fft_s + 2 * rates.strided_s));
}

// Returns the time of sums in space on one thread.
double direct_seconds(const Block& block, const MachineRates& rates, int threads,
                      double size_factor) {
    const auto kept = static_cast<double>(element_count(block.kept()));
    const Shape3 kernel = block.kernel();
    const StripLayout layout(block, threads);
    // Strips overlap by the extent of the kernel: rows there are loaded again.
    const double again = static_cast<double>(layout.strip_rows + kernel.y - 1) /
                         static_cast<double>(layout.strip_rows) *
                         static_cast<double>(layout.strip_planes + kernel.z - 1) /
                         static_cast<double>(layout.strip_planes);
    const double per_tap = block.complex_data ? rates.complex_multiply_add_s : rates.multiply_add_s;
    // Every row of the kernel costs a call, and every sample is loaded and stored.
    const double per_sample = 2 * rates.row_s * (1 + again) +
                              static_cast<double>(kernel.z + kernel.y) * rates.multiply_add_s;
    const double calls =
        kept / static_cast<double>(block.axes[2].kept) * static_cast<double>(kernel.z * kernel.y);
    return kept * (static_cast<double>(element_count(kernel)) * per_tap + per_sample) *
               size_factor +
           calls * rates.kernel_row_s;
}

// Returns the time of three sums along single axes on one thread.
double separable_seconds(const Block& block, const MachineRates& rates, int threads,
                         double size_factor) {
    const auto kept = static_cast<double>(element_count(block.kept()));
    const Shape3 kernel = block.kernel();
    const SeparableTiles tiles(block, threads);
    const auto [loads, along_x, along_y] = tiles.repeats(kernel);
    // Vectors along x are rarely aligned, which makes a product slower.
    constexpr double unaligned = 2;
    const double taps = unaligned * static_cast<double>(kernel.x) * along_x +
                        static_cast<double>(kernel.y) * along_y + static_cast<double>(kernel.z);
    const double calls = kept / static_cast<double>(tiles.size.x) * (1 + loads + along_x + along_y);
    return kept * (taps * rates.multiply_add_s + rates.row_s * (1 + loads)) * size_factor +
           calls * rates.kernel_row_s;
}

}  // namespace

WorkspaceLayout workspace_layout(const Block& block, int threads) {
    WorkspaceLayout workspace{};
    if (block.algorithm == Algorithm::fft) {
        const SpectrumLayout layout(block.grid(), block.complex_data);
        const index_t sample = sample_bytes(block.precision, true);
        const index_t planes = std::max(block.axes[0].loaded, block.axes[0].kept);
        workspace.spectrum_bytes = checked_multiply(checked_multiply(planes, layout.plane), sample);
        workspace.scratch_bytes = fft_scratch_bytes(layout, block.precision, block.complex_data);
    } else {
        const index_t bytes = block.algorithm == Algorithm::separable
                                  ? SeparableTiles(block, threads).scratch_bytes(block)
                                  : StripLayout(block, threads).scratch_bytes(block);
        workspace.scratch_bytes = round_up(bytes, static_cast<index_t>(Buffer::alignment));
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
        // Planes that are convolved one by one stay in the cache.
        bytes_moved += static_cast<double>(cost.kernel_bytes);
        if (!convolves_planes(block) || block.axes[0].loaded == 1)
            bytes_moved += 4 * static_cast<double>(workspace.spectrum_bytes);
        cost.compute_s = fft_seconds(block, rates, size_factor);
        cost.kernel_s = fft_kernel_seconds(block, rates, size_factor) / threads;
        cost.first_use_s = rates.planning_s;
    } else {
        cost.kernel_bytes =
            checked_multiply(element_count(block.kernel()), static_cast<index_t>(bytes_each));
        cost.compute_s = block.algorithm == Algorithm::separable
                             ? separable_seconds(block, rates, threads, size_factor)
                             : direct_seconds(block, rates, threads, size_factor);
    }
    // Threads share the work, but also the memory bandwidth.
    cost.compute_s = std::max(cost.compute_s / threads, bytes_moved / rates.memory_bytes_per_s);
    if (block.source_bytes_per_s > 0) {
        const auto seconds = [&](const Shape3& shape, PixelType type, double bytes_per_s,
                                 bool in_planes) {
            const auto row_bytes = static_cast<double>(shape.x * sample_bytes(type));
            const double plane_bytes = row_bytes * static_cast<double>(shape.y);
            return rates.file_seconds(plane_bytes * static_cast<double>(shape.z), bytes_per_s,
                                      in_planes ? plane_bytes : row_bytes);
        };
        cost.read_s = seconds(block.loaded(), block.source_type, block.source_bytes_per_s,
                              block.whole_rows || block.source_in_planes);
        cost.write_s =
            seconds(block.kept(), block.target_type, block.target_bytes_per_s, block.whole_rows);
    }
    cost.first_use_s += static_cast<double>(cost.workspace_bytes + cost.kernel_bytes) /
                        (rates.first_touch_bytes_per_s * threads);
    cost.stream_processor_s = (cost.read_s + cost.write_s) / threads;
    cost.seconds = cost.read_s + cost.compute_s + cost.write_s;
    return cost;
}

namespace {

using Sample = std::complex<float>;
using Columns = ColumnFft<float>;

constexpr int rounds = 12;

// Returns the least seconds of some calls of `work`, without the first. Calls `begin` before each.
template <class Work, class Begin>
double least_seconds(const Work& work, const Begin& begin) {
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round <= rounds; ++round) {
        begin();
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (round > 0) least = std::min(least, taken.count());
    }
    return least;
}

// Calls work(memory) in all threads at once, each with memory for `samples`. Returns the greatest
// of the threads' least seconds. The thread team is not used: a few of its threads would finish
// work this short before the others wake up.
template <class Work>
double least_seconds_each(int threads, index_t samples, const Work& work) {
    std::barrier<> all_begin(threads);
    std::vector<double> least(static_cast<std::size_t>(threads));
    const auto measure = [&](Sample* memory, double& own) {
        own = least_seconds([&] { work(memory); }, [&] { all_begin.arrive_and_wait(); });
    };
    std::vector<Buffer> memory;
    for (int i = 0; i < threads; ++i) {
        memory.emplace_back(bytes_of<Sample>(samples), "a measurement");
        memory.back().touch(threads);
    }
    {
        std::vector<std::jthread> team;
        for (std::size_t i = 1; i < memory.size(); ++i) try {
                team.emplace_back([&, i] { measure(memory[i].as<Sample>(), least[i]); });
            } catch (const std::system_error&) {
                all_begin.arrive_and_drop();  // the system allows no more threads
            }
        measure(memory[0].as<Sample>(), least[0]);
    }
    return *std::max_element(least.begin(), least.end());
}

double row_fft_s(int threads, index_t length) {
    constexpr index_t count = 16, repeats = 200;
    const index_t half = length / 2 + 1;
    // Rows at distances that no image has: FFTW would use measured plans of an image.
    const index_t row = round_up(length, 16) + 112, spectrum = half + 71;
    const index_t samples = count * (row / 2 + spectrum);
    Buffer planning(bytes_of<Sample>(samples), "a measurement");
    planning.touch(1);
    const FftPlan<float> plan({length, count, 1, row, 1, spectrum}, TransformKind::real_forward,
                              planning.data(), planning.as<Sample>() + count * row / 2, {});
    const double seconds = least_seconds_each(threads, samples, [&](Sample* memory) {
        for (index_t i = 0; i < repeats; ++i)
            plan.execute(reinterpret_cast<float*>(memory), memory + count * row / 2);
    });
    return seconds / static_cast<double>(repeats * count * half);
}

// Returns the mean over some lengths that images often have.
double row_fft_s(int threads) {
    constexpr index_t lengths[] = {288, 320, 512, 540, 1024};
    double sum = 0;
    for (const index_t length : lengths) sum += row_fft_s(threads, length);
    return sum / static_cast<double>(std::size(lengths));
}

double column_fft_s(int threads) {
    constexpr index_t length = 512, width = Columns::most_columns, repeats = 400;
    const Columns fft(length);
    const double seconds = least_seconds_each(
        threads, length * width + Columns::scratch_samples(length), [&](Sample* memory) {
            for (index_t i = 0; i < repeats; ++i)
                fft.forward({memory, width, length}, {memory, width, 0, length}, width,
                            memory + length * width);
        });
    return seconds / static_cast<double>(repeats * length * width);
}

// Returns the samples of each thread that exceed all caches together, but take little memory.
index_t samples_beyond_caches(int threads) {
    return threads > 8 ? 1 << 20 : 4 << 20;
}

// Measures the additional time per sample for columns along z of a block that exceeds the caches.
double strided_s(int threads, double in_cache_s) {
    constexpr index_t length = 64, width = Columns::most_columns;
    const index_t stride = samples_beyond_caches(threads) / length + width;
    const Columns fft(length);
    const double seconds = least_seconds_each(
        threads, length * stride + Columns::scratch_samples(length), [&](Sample* memory) {
            for (index_t x = 0; x + width <= stride; x += width)
                fft.forward({memory + x, stride, length}, {memory + x, stride, 0, length}, width,
                            memory + length * stride);
        });
    return (seconds / static_cast<double>(length * stride) - in_cache_s) / 2;
}

double memory_bytes_per_s(int threads) {
    const index_t samples = samples_beyond_caches(threads);
    const double seconds = least_seconds_each(threads, samples, [=](Sample* memory) {
        for (index_t i = 0; i < samples; ++i) memory[i] *= 1.0000001F;
    });
    return 2.0 * static_cast<double>(samples * threads) * sizeof(Sample) / seconds;
}

double first_touch_bytes_per_s(int threads) {
    constexpr index_t bytes = index_t{64} << 20;
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < rounds; ++round) {
        Buffer buffer(bytes, "a measurement");
        const auto begin = std::chrono::steady_clock::now();
        buffer.touch(threads);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        least = std::min(least, taken.count());
    }
    return static_cast<double>(bytes) / least / threads;
}

// Measures direct sums of a block. Returns the time per tap that the rest of the model leaves over.
double multiply_add_s(int threads, MachineRates rates) {
    constexpr index_t kernel = 7;
    constexpr Shape3 shape{32, 128, 128};
    Block block;
    block.algorithm = Algorithm::direct;
    for (int a = 0; a < 3; ++a)
        block.axes[static_cast<std::size_t>(a)] = {shape[a], shape[a], kernel, kernel / 2,
                                                   shape[a] - kernel / 2};
    Volume image(shape, PixelType::float32), taps({kernel, kernel, kernel}, PixelType::float32);
    Volume result(block.kept(), PixelType::float32);
    std::fill_n(static_cast<float*>(image.view().data), element_count(shape), 1.0F);
    std::fill_n(static_cast<float*>(taps.view().data), kernel * kernel * kernel, 1.0F);
    const BlockInput input{
        image.view(),
        {identity_indices(shape.z), identity_indices(shape.y), identity_indices(shape.x)},
        0,
        false};
    const auto engine = make_cpu_engine({"cpu:0", 0, threads, 0, rates});
    const auto prepared = engine->prepare(block, taps.view());
    const double seconds = least_seconds(
        [&] { engine->convolve(block, *prepared, input, {result.view()}, 0, {}); }, [] {});
    rates.multiply_add_s = 0;
    const double rest_s = estimate_cost(block, threads, rates).compute_s;
    return (seconds - rest_s) * threads /
           (static_cast<double>(element_count(block.kept())) *
            static_cast<double>(kernel * kernel * kernel));
}

}  // namespace

void measure_rates(int threads, MachineRates& rates) {
    rates.row_fft_s = row_fft_s(threads);
    rates.column_fft_s = column_fft_s(threads);
    rates.strided_s = std::max(strided_s(threads, rates.column_fft_s), 0.1 * rates.column_fft_s);
    rates.memory_bytes_per_s = memory_bytes_per_s(threads);
    rates.first_touch_bytes_per_s = first_touch_bytes_per_s(threads);
    rates.multiply_add_s = std::max(multiply_add_s(threads, rates), 0.1 * rates.multiply_add_s);
}

}  // namespace convolume::cpu
