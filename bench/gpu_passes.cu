// SPDX-License-Identifier: Apache-2.0
// Times the passes of gpu/fft on this machine's GPU, copies of the same bytes, and cuFFT, after
// they have been checked (gpu_pass_check.hpp).
//
//   gpu_passes [check] [time] [sweep]     all three by default
//   gpu_passes elements [N...]            element passes of every length, or of 2 N
//   gpu_passes profile                    each timed pass once, under a profiler
#include <cufft.h>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "bench/device_buffer.hpp"
#include "bench/gpu_pass_check.hpp"
#include "deconvolve/executors/element_passes.hpp"
#include "deconvolve/executors/plane_passes.hpp"
#include "gpu/fft/lengths.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/cufft_library.hpp"

namespace convolume::gpu {
namespace {

bool run_once = false;  ///< each pass runs once, for profilers, which time it themselves

/// Returns the median time in ms.
double median_ms(const std::function<void()>& work, int repeats = 12) {
    if (run_once) {
        work();
        check(cudaDeviceSynchronize(), "a pass");
        return 1;
    }
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "timing");
    check(cudaEventCreate(&end), "timing");
    std::vector<float> times;
    for (int i = 0; i < repeats + 2; ++i) {
        check(cudaEventRecord(begin), "timing");
        work();
        check(cudaEventRecord(end), "timing");
        check(cudaEventSynchronize(end), "timing");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end), "timing");
        if (i >= 2) times.push_back(ms);
    }
    check(cudaEventDestroy(begin), "timing");
    check(cudaEventDestroy(end), "timing");
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    return times[static_cast<std::size_t>(repeats / 2)];
}

void report(const std::string& what, double bytes, const std::function<void()>& work) {
    const double ms = median_ms(work);
    std::printf("%-44s %7.3f GB %8.3f ms %6.2f TB/s\n", what.c_str(), bytes / 1e9, ms,
                bytes / ms / 1e9);
    std::fflush(stdout);
}

/// Times rows, columns along y and columns along z of planes × rows × length real samples.
template <class Real>
class PassTimer {
  public:
    PassTimer(index_t capacity) : a_(capacity), b_(capacity), capacity_(capacity) {
        check(cudaMemset(a_.get(), 0, a_.bytes()), "clearing");
        check(cudaMemset(b_.get(), 0, b_.bytes()), "clearing");
    }

    void time_copy() {
        report("copy", 2.0 * static_cast<double>(a_.bytes()), [&] {
            check(cudaMemcpyAsync(b_.get(), a_.get(), a_.bytes(), cudaMemcpyDeviceToDevice),
                  "copying");
        });
    }

    void time_row_pass(index_t planes, index_t count, index_t length, PixelType type,
                       double subtract) {
        if (!has_row_pass<Real>(length, false, 0)) return;
        const index_t samples = length / 2 + 1, pitch = round_up(samples, tile_columns<Real>);
        RowSource source;
        source.pixels = {b_.get(), type, count * length, length};
        source.planes = planes;
        source.loaded_y = count;
        source.loaded_x = length;
        source.subtract = subtract;
        RowTarget target;
        target.pixels = source.pixels;
        target.planes = planes;
        target.kept_y = count;
        target.kept_x = length;
        const SpectrumPlanes<Real> spectra{a_.get(), count * pitch, pitch, 0, planes};
        const double bytes = static_cast<double>(planes * count) *
                             static_cast<double>(length * static_cast<index_t>(size_of(type)) +
                                                 samples * static_cast<index_t>(sizeof(Sample)));
        const std::string name =
            std::to_string(length) + " " + to_string(type) + (subtract != 0 ? " subtracting" : "");
        report("rows forward " + name, bytes,
               [&] { forward_rows(length, false, source, spectra, nullptr); });
        report("rows inverse " + name, bytes,
               [&] { inverse_rows(length, false, spectra, target, 1.0, nullptr); });
    }

    void time_y_columns(index_t planes, index_t length, index_t columns) {
        if (!has_column_pass<Real>(length, 0)) return;
        const Columns<Real> data{a_.get(), columns, columns, planes, length * columns};
        const PositionMap whole{0, length, 0, length}, half{0, length / 2, 0, length};
        const double bytes = static_cast<double>(planes * length * columns) * sizeof(Sample);
        report("y transform " + std::to_string(length), 2 * bytes, [&] {
            transform_columns(length, PassDirection::forward, data, whole, data, whole, nullptr);
        });
        report("y transform " + std::to_string(length) + " of half", 1.5 * bytes, [&] {
            transform_columns(length, PassDirection::forward, data, half, data, whole, nullptr);
        });
    }

    void time_z_columns(index_t length, index_t columns) {
        if (!has_column_pass<Real>(length, 0)) return;
        const Columns<Real> data{a_.get(), columns, columns, 1, 0};
        const Columns<Real> kernel{b_.get(), columns, columns, 1, 0};
        const PositionMap whole{0, length, 0, length}, half{0, length / 2, 0, length};
        const double bytes = static_cast<double>(length * columns) * sizeof(Sample);
        report("z convolve " + std::to_string(length), 3 * bytes,
               [&] { convolve_columns(length, data, whole, whole, {kernel}, nullptr); });
        report("z convolve " + std::to_string(length) + " of half", 2 * bytes,
               [&] { convolve_columns(length, data, half, half, {kernel}, nullptr); });
        if (transforms_kernels<Real>)
            report("z convolve " + std::to_string(length) + " of half, taps of an eighth",
                   1.125 * bytes, [&] {
                       convolve_columns(length, data, half, half, {kernel, length / 8}, nullptr);
                   });
        report("z transform " + std::to_string(length), 2 * bytes, [&] {
            transform_columns(length, PassDirection::forward, data, whole, kernel, whole, nullptr);
        });
    }

    void time_cufft(index_t planes, index_t count, index_t length) {
        const index_t samples = length / 2 + 1;
        const double real_bytes = static_cast<double>(planes * count * length) * sizeof(Real);
        const double bytes =
            real_bytes + static_cast<double>(planes * count * samples) * sizeof(Sample);
        long long plane[] = {count, length}, row[] = {length};
        const auto plan = [&](int rank, long long* sizes, long long batch, cufftType type) {
            cufftHandle handle;
            std::size_t work = 0;
            check(cufftCreate(&handle), "planning");
            check(cufftMakePlanMany64(handle, rank, sizes, nullptr, 1, 0, nullptr, 1, 0, type,
                                      batch, &work),
                  "planning");
            return handle;
        };
        const auto time = [&](const std::string& name, cufftHandle handle, bool forward,
                              double moved) {
            report("cuFFT " + name, moved, [&] {
                if (forward) {
                    check(cufftExecR2C(handle, reinterpret_cast<float*>(b_.get()),
                                       reinterpret_cast<cufftComplex*>(a_.get())),
                          "transforming");
                } else {
                    check(cufftExecC2R(handle, reinterpret_cast<cufftComplex*>(a_.get()),
                                       reinterpret_cast<float*>(b_.get())),
                          "transforming");
                }
            });
            check(cufftDestroy(handle), "planning");
        };
        const double spectrum = bytes - real_bytes;
        const std::string name = std::to_string(length);
        time("2D r2c " + name + "²", plan(2, plane, planes, CUFFT_R2C), true, bytes + 2 * spectrum);
        time("2D c2r " + name + "²", plan(2, plane, planes, CUFFT_C2R), false,
             bytes + 2 * spectrum);
        time("1D r2c " + name, plan(1, row, planes * count, CUFFT_R2C), true, bytes);
        time("1D c2r " + name, plan(1, row, planes * count, CUFFT_C2R), false, bytes);
    }

    /// Prints the TB/s of every length, with about equal numbers of samples.
    void time_all_lengths(index_t samples) {
        std::printf(
            "%zu bytes a real, TB/s; 10^9 samples a second with taps\n"
            "     n  columns convolve     taps rows: forward inverse\n",
            sizeof(Real));
        for (const int n : lengths<Real>) {
            const index_t columns = round_up(std::max<index_t>(samples / n, 1), 512);
            const index_t row_count = samples / n;
            const PositionMap whole{0, n, 0, n};
            const Columns<Real> data{a_.get(), columns, columns, 1, 0};
            const Columns<Real> kernel{b_.get(), columns, columns, 1, 0};
            const double bytes = static_cast<double>(n) * sizeof(Sample) / 1e9;
            std::printf("%6d", n);
            if (has_column_pass<Real>(n, 0)) {
                const double moved = bytes * static_cast<double>(columns);
                const double transform = median_ms(
                    [&] {
                        transform_columns(n, PassDirection::forward, data, whole, data, whole,
                                          nullptr);
                    },
                    5);
                const double convolve = median_ms(
                    [&] { convolve_columns(n, data, whole, whole, {kernel}, nullptr); }, 5);
                double with_taps = 0;  // 10^9 samples a second; memory does not limit halves
                if (transforms_kernels<Real>) {
                    const PositionMap half{0, (n + 1) / 2, 0, n};
                    const index_t taps = std::max<index_t>(n / 8, 1);
                    const double ms = median_ms(
                        [&] {
                            convolve_columns(n, data, half, half, {kernel, taps}, nullptr);
                        },
                        5);
                    with_taps = static_cast<double>(n * columns) / ms / 1e6;
                }
                std::printf("  %6.2f %8.2f %8.1f", 2 * moved / transform, 3 * moved / convolve,
                            with_taps);
            }
            if (has_row_pass<Real>(2 * n, false, 0)) {
                const index_t pitch = round_up(n + 1, tile_columns<Real>);
                RowSource source;
                source.pixels = {b_.get(), pixel_type_of_v<Real>, 0, 2 * n};
                source.loaded_y = row_count;
                source.loaded_x = 2 * n;
                RowTarget target;
                target.pixels = source.pixels;
                target.kept_y = row_count;
                target.kept_x = 2 * n;
                const SpectrumPlanes<Real> spectra{a_.get(), 0, pitch, 0, 1};
                const double moved = 2 * bytes * static_cast<double>(row_count);
                if (row_count * pitch <= capacity_) {
                    const double forward =
                        median_ms([&] { forward_rows(2 * n, false, source, spectra, nullptr); }, 5);
                    const double inverse = median_ms(
                        [&] { inverse_rows(2 * n, false, spectra, target, 1, nullptr); }, 5);
                    std::printf("           %6.2f %6.2f", moved / forward, moved / inverse);
                }
            }
            std::printf("\n");
        }
    }

    /// Prints picoseconds for each real sample of the element passes, and of the passes of an
    /// iteration: the mean of one with acceleration and one without.
    void time_element_passes(index_t samples, const std::vector<int>& only) {
        check(cudaMemset(b_.get(), 0x3f, b_.bytes()),
              "filling");  // fills with floats of about 0.75
        const index_t rows = 256;
        auto* const arrays = reinterpret_cast<float*>(b_.get());
        const auto& passes = deconvolve::element_passes();
        std::printf("     n  compare  advance   update     load  an iteration\n");
        for (const deconvolve::ElementLength& of : deconvolve::element_lengths) {
            const int n = of.n;
            if (!only.empty() && std::count(only.begin(), only.end(), n) == 0) continue;
            const index_t length = 2 * n, planes = samples / (length * rows);
            const index_t pitch = round_up(n + 1, tile_columns<Real>), all = planes * rows * length;
            const SpectrumPlanes<float> spectra{a_.get(), rows * pitch, pitch, 0, planes};
            const DeviceBuffer<double> sums(2 * passes.most_blocks(length));
            deconvolve::ElementWork work;
            work.rows = rows;
            work.count = static_cast<int>(length);
            work.data = arrays;
            work.newest = arrays;
            work.weight = arrays;
            work.equal_planes = {0, planes};
            const auto time = [&](ElementKind kind, double* of_pass) {
                work.kind = kind;
                const double ms = median_ms(
                    [&] { passes.run(length, work, planes, spectra, 1, of_pass, nullptr); }, 5);
                return 1e9 * ms / static_cast<double>(all);
            };
            const double compare = time(ElementKind::compare, sums.get());
            const double advance = time(ElementKind::advance, nullptr);
            work.before = arrays + all;
            work.change = reinterpret_cast<ShortFloat*>(arrays + 2 * all);
            const double update = time(ElementKind::update, sums.get());
            const double load = time(ElementKind::load, nullptr);
            std::printf("%6d %8.2f %8.2f %8.2f %8.2f %13.2f\n", n, compare, advance, update, load,
                        compare + (advance + update + load) / 2);
        }
    }

  private:
    using Sample = std::complex<Real>;
    DeviceBuffer<Sample> a_, b_;
    index_t capacity_;
};

void time_all() {
    PassTimer<float> volume(index_t{1024} * 1024 * 592);
    volume.time_copy();
    for (const index_t columns : {528 * 1024})
        for (const index_t n : {320, 512, 576, 1024, 1152})
            volume.time_z_columns(n, round_up(columns * 512 / std::max<index_t>(n, 512), 16));
    for (const index_t n : {1024, 1080, 1120, 1152}) volume.time_y_columns(512 * 1024 / n, n, 528);
    for (const index_t n : {1024, 1080, 1120, 1152, 2048})
        volume.time_row_pass(512, 1024 * 1024 / n, n, PixelType::float32, 0);
    volume.time_row_pass(512, 1024, 1024, PixelType::float32, 1);
    volume.time_row_pass(512, 1024, 1024, PixelType::uint16, 0);
    volume.time_row_pass(512, 1024, 1024, PixelType::uint8, 0);
    volume.time_cufft(512, 1024, 1024);
}

}  // namespace
}  // namespace convolume::gpu

int main(int count, char** words) {
    using namespace convolume::gpu;
    const auto asked = [&](const std::string& word) {
        return count == 1 || std::count(words + 1, words + count, word) > 0;
    };
    try {
        if (asked("check") || asked("small")) {
            const convolume::index_t longest = asked("check") ? 100000 : 130;
            check_integer_rows();
            check_all<float>(longest);
            check_all<double>(longest);
            std::printf("checks: %d failures\n", failures);
        }
        run_once = count > 1 && asked("profile");
        if (asked("time") || run_once) time_all();
        if (count > 1 && asked("elements")) {
            std::vector<int> only;
            for (int i = 1; i < count; ++i)
                if (const int n = std::atoi(words[i]); n > 0) only.push_back(n);
            PassTimer<float>(1 << 29).time_element_passes(1 << 28, only);
        }
        if (asked("sweep")) {
            PassTimer<float>(1 << 27).time_all_lengths(1 << 26);
            PassTimer<double>(1 << 26).time_all_lengths(1 << 25);
        }
    } catch (const std::exception& error) {
        std::printf("error: %s\n", error.what());
        return 2;
    }
    return failures == 0 ? 0 : 1;
}
