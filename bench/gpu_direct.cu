// SPDX-License-Identifier: Apache-2.0
// Times direct sums on a device, with three access patterns for samples and in the four forms of
// textbooks, and Fourier transforms of the same convolution in the same run. Prints one JSON object
// a line; times are medians between events.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/direct_forms.cuh"
#include "bench/direct_samples.hpp"
#include "convolume/convolver.hpp"
#include "convolume/device.hpp"
#include "convolume/engines.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/direct/direct_instances.cuh"
#include "volumes/convolver_factory.hpp"

namespace convolume::gpu {

namespace {

// Returns the median milliseconds between events around `work`.
template <class Work>
double median_ms(int repeats, const Work& work) {
    const CudaEvent begin(true), end(true);
    work();
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        begin.record(nullptr);
        work();
        end.record(nullptr);
        end.wait();
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end), "reading a time");
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// Returns a random sample that depends on its index alone, equally on host and device.
__host__ __device__ float random_sample(std::uint64_t i) {
    i = (i + 1) * 0x9E3779B97F4A7C15u;
    i ^= i >> 29;
    i *= 0xBF58476D1CE4E5B9u;
    return static_cast<float>(i >> 40) * (1.5f / (1 << 24)) - 0.5f;
}

template <class Real>
__global__ void fill(Real* values, index_t count) {
    for (index_t i = blockIdx.x * index_t{blockDim.x} + threadIdx.x; i < count;
         i += index_t{gridDim.x} * blockDim.x)
        values[i] = random_sample(static_cast<std::uint64_t>(i));
}

/// Device memory for the outputs, the samples that they need, and the taps.
template <class T>
class DirectSumsBench {
  public:
    using Real = real_type_t<T>;

    DirectSumsBench(const Shape3& kept, const Shape3& kernel, int repeats)
        : kept_(kept), kernel_(kernel), repeats_(repeats), layout_(tap_layout<T>(kernel)) {
        samples_.row_packs = pack_count<T>(kept.x) + layout_.template reach_packs<T>();
        samples_.rows = round_up(kept.y, index_t{DirectShape::thread_rows}) + layout_.reach_y();
        samples_.plane_packs = samples_.rows * samples_.row_packs;
        samples_.ring = kept.z + kernel.z - 1;
        const index_t packs = samples_.ring * samples_.plane_packs;
        data_ = DeviceMemory(0, packs * pack_bytes);
        fill<<<1024, 256>>>(reinterpret_cast<Real*>(data_.data()),
                            packs * pack_bytes / static_cast<index_t>(sizeof(Real)));
        check(cudaGetLastError(), "making samples");
        samples_.data = reinterpret_cast<const Pack<T>*>(data_.data());
        target_ = DeviceMemory(0, pack_count<T>(element_count(kept)) * pack_bytes);
        std::vector<T> taps(static_cast<std::size_t>(element_count(kernel)));
        for (std::size_t i = 0; i < sizeof(T) / sizeof(Real) * taps.size(); ++i)
            reinterpret_cast<Real*>(taps.data())[i] = random_sample(i + 99);
        taps_.assign(taps.rbegin(), taps.rend());
        packed_ = arrange_taps<T>(layout_, taps.data(), kernel);
        device_taps_ = DeviceMemory(0, static_cast<index_t>(packed_.size()) * pack_bytes);
        check(cudaMemcpy(device_taps_.data(), packed_.data(), packed_.size() * pack_bytes,
                         cudaMemcpyHostToDevice),
              "copying taps");
    }

    /// Times the sums as the library runs them.
    nlohmann::json time_library_sums() {
        // This program contains its own compilation of the library's CUDA kernel.
        const DirectCudaKernel cuda_kernel = find_direct_cuda_kernel<T>(layout_);
        if (layout_.template are_constant<T>())
            return time_cuda_kernel(cuda_kernel.function, cuda_kernel.shared_bytes,
                                    job_with_constant_taps());
        return time_cuda_kernel(cuda_kernel.function, cuda_kernel.shared_bytes,
                                job_with_global_taps());
    }

    template <int Width, int Height, template <class, class> class Source>
    nlohmann::json time_access_pattern(bool constant) {
        const index_t shared = Source<T, DirectBlock>::bytes(layout_);
        if (!constant)
            return time_cuda_kernel(
                reinterpret_cast<const void*>(
                    direct_cuda_kernel<Width, Height, Source, T, GlobalTaps<T>>),
                shared, job_with_global_taps());
        if (!layout_.template are_constant<T>()) return "too many taps";
        return time_cuda_kernel(reinterpret_cast<const void*>(
                                    direct_cuda_kernel<Width, Height, Source, T, ConstantTaps<T>>),
                                shared, job_with_constant_taps());
    }

    const TapLayout& layout() const { return layout_; }

  private:
    template <class Taps>
    DirectJob<T, Taps> make_job() const {
        DirectJob<T, Taps> job;
        job.samples = samples_;
        job.planes = kept_.z;
        set_outputs(layout_, kept_.y, kept_.x, job);
        job.target = {target_.data(), pixel_type(), kept_.y * kept_.x, kept_.x};
        RowTarget rows;
        rows.pixels = job.target;
        rows.kept_x = kept_.x;
        job.whole_packs = can_store_packs<T>(rows);
        return job;
    }
    DirectJob<T> job_with_global_taps() const {
        auto job = make_job<GlobalTaps<T>>();
        job.taps = {reinterpret_cast<const Pack<T>*>(device_taps_.data())};
        return job;
    }
    DirectJob<T, ConstantTaps<T>> job_with_constant_taps() const {
        auto job = make_job<ConstantTaps<T>>();
        std::copy(packed_.begin(), packed_.end(), job.taps.packs);
        return job;
    }
    static PixelType pixel_type() {
        return sample_type(sizeof(Real) == 4 ? Precision::float32 : Precision::float64,
                           is_complex_pixel<T>);
    }

    template <class Job>
    nlohmann::json time_cuda_kernel(const void* kernel, index_t shared, Job job) {
        if (job.groups_per_sum > 0) shared += DirectShape::sums_bytes;
        check(cudaMemset(target_.data(), 0xff, static_cast<std::size_t>(target_.bytes())),
              "clearing");
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared)),
              "shared memory");
        void* arguments[] = {&job};
        const double ms = median_ms(repeats_, [&] {
            check(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(thread_blocks(job))),
                                   dim3(DirectShape::threads), arguments,
                                   static_cast<std::size_t>(shared), nullptr),
                  "launching");
        });
        const double products = static_cast<double>(element_count(kept_)) *
                                static_cast<double>(element_count(kernel_)) *
                                (is_complex_pixel<T> ? 4 : 1);
        return {
            {"ms", ms}, {"tera_multiply_adds", products / ms * 1e-9}, {"error", relative_error()}};
    }

    // Returns the relative error of some outputs, against sums in double precision.
    double relative_error() const {
        std::mt19937 random(5);
        double difference = 0, norm = 0;
        for (int n = 0; n < 60; ++n) {
            index_t at[3];
            for (int a = 0; a < 3; ++a)
                at[a] = n == 0 ? kept_[a] - 1
                               : std::uniform_int_distribution<index_t>(0, kept_[a] - 1)(random);
            std::complex<double> want = 0;
            const T* tap = taps_.data();
            for (index_t z = 0; z < kernel_.z; ++z)
                for (index_t y = 0; y < kernel_.y; ++y)
                    for (index_t x = 0; x < kernel_.x; ++x, ++tap) {
                        const index_t sample = ((at[0] + z) * samples_.plane_packs +
                                                (at[1] + y) * samples_.row_packs) *
                                                   pack_size<T> +
                                               at[2] + x;
                        constexpr index_t reals = sizeof(T) / sizeof(Real);
                        const auto part = [&](index_t i) {
                            return static_cast<double>(
                                random_sample(static_cast<std::uint64_t>(sample * reals + i)));
                        };
                        if constexpr (is_complex_pixel<T>)
                            want += std::complex<double>(part(0), part(1)) *
                                    std::complex<double>(tap->re, tap->im);
                        else
                            want += part(0) * static_cast<double>(*tap);
                    }
            T got;
            check(cudaMemcpy(&got,
                             target_.data() + ((at[0] * kept_.y + at[1]) * kept_.x + at[2]) *
                                                  static_cast<index_t>(sizeof(T)),
                             sizeof got, cudaMemcpyDeviceToHost),
                  "copying a result");
            if constexpr (is_complex_pixel<T>)
                difference += std::norm(std::complex<double>(got.re, got.im) - want);
            else
                difference += std::norm(static_cast<double>(got) - want);
            norm += std::norm(want);
        }
        return std::sqrt(difference / norm);
    }

    Shape3 kept_, kernel_;
    int repeats_;
    TapLayout layout_;
    DirectSamples<T> samples_;
    DeviceMemory data_, target_, device_taps_;
    std::vector<T> taps_;
    std::vector<Pack<T>> packed_;
};

double fft_ms(const Shape3& image, const Shape3& kernel, int repeats) {
    const auto bytes = element_count(image) * 4;
    const DeviceMemory input(0, bytes), output(0, bytes);
    check(cudaMemset(input.data(), 0, static_cast<std::size_t>(bytes)), "clearing");
    Volume taps(kernel, PixelType::float32);
    for (index_t i = 0; i < element_count(kernel); ++i)
        taps.elements<float>()[i] = random_sample(static_cast<std::uint64_t>(i));
    DeviceConvolver convolver(image, taps.view());
    return median_ms(repeats, [&] { convolver.execute(input.data(), output.data()); });
}

nlohmann::json to_json_zyx(const Shape3& shape) {
    return {shape.z, shape.y, shape.x};
}

// Times float sums with every access pattern, if the CUDA kernel is one of those compiled here.
void compare_access_patterns(const Shape3& image, const Shape3& kernel, int repeats) {
    nlohmann::json line{{"image_zyx", to_json_zyx(image)}, {"kernel_zyx", to_json_zyx(kernel)}};
    {
        DirectSumsBench<float> bench(image, kernel, repeats);
        const TapLayout& layout = bench.layout();
        line["tap_groups"] = message(layout.groups_y, "×", layout.groups_x, " of ", layout.height,
                                     "×", layout.width);
        line["library"] = bench.time_library_sums();
        const auto compare = [&]<int width, int height>() {
            if (layout.width != width || layout.height != height) return;
            line["cached"] = bench.time_access_pattern<width, height, CachedSamples>(false);
            line["shared"] = bench.time_access_pattern<width, height, SharedSamples>(false);
            line["cached_halo"] =
                bench.time_access_pattern<width, height, CachedHaloSamples>(false);
            line["cached_constant"] = bench.time_access_pattern<width, height, CachedSamples>(true);
            line["shared_constant"] = bench.time_access_pattern<width, height, SharedSamples>(true);
            line["cached_halo_constant"] =
                bench.time_access_pattern<width, height, CachedHaloSamples>(true);
        };
        compare.operator()<3, 3>();
        compare.operator()<5, 5>();
        compare.operator()<7, 7>();
        compare.operator()<9, 3>();
        compare.operator()<4, 4>();
    }
    line["fft_ms"] = fft_ms(image, kernel, repeats);
    std::cout << line.dump() << std::endl;
}

// Times the four forms with one output a thread, in 1D (height 1) or 2D, and the library's own
// sums.
class FormsBench {
  public:
    FormsBench(index_t height, index_t width, int taps_y, int taps_x, int repeats)
        : height_(height),
          width_(width),
          taps_y_(taps_y),
          taps_x_(taps_x),
          repeats_(repeats),
          block_(height > 1 ? dim3(32, 32) : dim3(1024)),
          samples_(0, height * width * 4),
          results_(0, height * width * 4),
          device_taps_(0, index_t{taps_y} * taps_x * 4) {
        fill<<<1024, 256>>>(reinterpret_cast<float*>(samples_.data()), height * width);
        check(cudaGetLastError(), "making samples");
        taps_.resize(static_cast<std::size_t>(taps_y * taps_x));
        for (std::size_t i = 0; i < taps_.size(); ++i) taps_[i] = random_sample(i + 99);
        check(
            cudaMemcpy(device_taps_.data(), taps_.data(), taps_.size() * 4, cudaMemcpyHostToDevice),
            "copying taps");
        check(cudaMemcpyToSymbol(forms::constant_taps, taps_.data(), taps_.size() * 4),
              "copying taps to constant memory");
    }

    void run(nlohmann::json& line) {
        const auto area = [&](int reach_y, int reach_x) {
            return static_cast<std::size_t>(static_cast<int>(block_.y) + 2 * reach_y) *
                   static_cast<std::size_t>(static_cast<int>(block_.x) + 2 * reach_x) * 4;
        };
        line["basic"] = time_cuda_kernel(forms::correlate_through_caches<forms::GlobalTaps>, 0);
        line["constant"] =
            time_cuda_kernel(forms::correlate_through_caches<forms::ConstantTaps>, 0);
        line["tile_halo"] =
            time_cuda_kernel(forms::correlate_tile_with_halo, area(taps_y_ / 2, taps_x_ / 2));
        line["tile_cached_halo"] =
            time_cuda_kernel(forms::correlate_tile_with_cached_halo, area(0, 0));
    }

  private:
    nlohmann::json time_cuda_kernel(void (*kernel)(forms::PlaneCorrelation), std::size_t shared) {
        forms::PlaneCorrelation problem{reinterpret_cast<const float*>(samples_.data()),
                                        reinterpret_cast<const float*>(device_taps_.data()),
                                        reinterpret_cast<float*>(results_.data()),
                                        width_,
                                        height_,
                                        taps_x_ / 2,
                                        taps_y_ / 2};
        check(cudaMemset(results_.data(), 0xff, static_cast<std::size_t>(results_.bytes())),
              "clearing");
        const dim3 grid(static_cast<unsigned>(ceil_div(width_, index_t{block_.x})),
                        static_cast<unsigned>(ceil_div(height_, index_t{block_.y})));
        const double ms = median_ms(repeats_, [&] {
            kernel<<<grid, block_, shared>>>(problem);
            check(cudaGetLastError(), "launching");
        });
        return {{"ms", ms}, {"error", relative_error()}};
    }

    double relative_error() const {
        std::mt19937 random(5);
        double difference = 0, norm = 0;
        for (int n = 0; n < 60; ++n) {
            const index_t y = std::uniform_int_distribution<index_t>(0, height_ - 1)(random);
            const index_t x = std::uniform_int_distribution<index_t>(0, width_ - 1)(random);
            double want = 0;
            for (index_t j = 0; j < taps_y_; ++j)
                for (index_t i = 0; i < taps_x_; ++i) {
                    const index_t at_y = y + j - taps_y_ / 2, at_x = x + i - taps_x_ / 2;
                    if (at_y < 0 || at_y >= height_ || at_x < 0 || at_x >= width_) continue;
                    want += static_cast<double>(
                                random_sample(static_cast<std::uint64_t>(at_y * width_ + at_x))) *
                            static_cast<double>(taps_[static_cast<std::size_t>(j * taps_x_ + i)]);
                }
            float got = 0;
            check(cudaMemcpy(&got, reinterpret_cast<const float*>(results_.data()) + y * width_ + x,
                             sizeof got, cudaMemcpyDeviceToHost),
                  "copying a result");
            difference += (static_cast<double>(got) - want) * (static_cast<double>(got) - want);
            norm += want * want;
        }
        return std::sqrt(difference / norm);
    }

    index_t height_, width_;
    int taps_y_, taps_x_, repeats_;
    dim3 block_;
    DeviceMemory samples_, results_, device_taps_;
    std::vector<float> taps_;
};

void compare_forms(const Shape3& image, int taps_y, int taps_x, int repeats) {
    const Shape3 kernel{1, taps_y, taps_x};
    nlohmann::json line{{"forms", image.y > 1 ? "2D" : "1D"},
                        {"image_zyx", to_json_zyx(image)},
                        {"kernel_zyx", to_json_zyx(kernel)}};
    FormsBench(image.y, image.x, taps_y, taps_x, repeats).run(line);
    if (image.y >
        1) {  // in 1D the library filters signals, which convolume_filter_gpu_bench direct times
        line["library"] = DirectSumsBench<float>(image, kernel, repeats).time_library_sums();
        line["fft_ms"] = fft_ms(image, kernel, repeats);
    }
    std::cout << line.dump() << std::endl;
}

template <class T>
void time_pixel_type(const char* name, const Shape3& image, const Shape3& kernel, int repeats) {
    DirectSumsBench<T> bench(image, kernel, repeats);
    std::cout << nlohmann::json{{"samples", name},
                                {"image_zyx", to_json_zyx(image)},
                                {"kernel_zyx", to_json_zyx(kernel)},
                                {"library", bench.time_library_sums()}}
                     .dump()
              << std::endl;
}

// Times direct sums from page-locked host memory to page-locked host memory.
void time_host_to_host(const Shape3& image, const std::vector<int>& kernels) {
    Volume source(image, PixelType::float32, HostMemory::page_locked),
        target(image, PixelType::float32, HostMemory::page_locked);
    std::memset(source.view().data, 0, static_cast<std::size_t>(source.bytes()));
    for (const int k : kernels) {
        Volume taps({image.z > 1 ? k : 1, k, k}, PixelType::float32);
        for (index_t i = 0; i < element_count(taps.shape()); ++i)
            taps.elements<float>()[i] = random_sample(static_cast<std::uint64_t>(i));
        for (const Method method : {Method::automatic, Method::direct, Method::tiled}) {
            Options options;
            options.method = method;
            options.max_host_bytes = index_t{64} << 30;
            const Convolver convolver = ConvolverFactory::make(image, taps.view(), options,
                                                               gpu::make_engines({.devices = {0}}));
            double least = 1e9;
            for (int i = 0; i < 4; ++i) {
                const auto start = std::chrono::steady_clock::now();
                convolver.execute(source.view(), target.view());
                const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
                least = std::min(least, took.count());
            }
            const PlanCandidate chosen = convolver.plan().chosen;
            std::cout << nlohmann::json{{"host_to_host", to_json_zyx(image)},
                                        {"kernel", k},
                                        {"method", to_string(method)},
                                        {"chosen", to_string(chosen.method)},
                                        {"tiles_z", chosen.tiles.z},
                                        {"slab", chosen.slab_planes},
                                        {"predicted_ms", chosen.seconds * 1e3},
                                        {"ms", least * 1e3}}
                             .dump()
                      << std::endl;
        }
    }
}

}  // namespace

}  // namespace convolume::gpu

int main(int argc, char** argv) {
    using namespace convolume;
    using namespace convolume::gpu;
    CLI::App app("Times sums in space on a device, beside Fourier transforms.");
    int repeats = 7;
    std::vector<std::string> parts{"volume", "slice", "forms", "types", "host"};
    app.add_option("PART", parts, "volume, slice, forms, types, host; all")->delimiter(',');
    app.add_option("--repeats", repeats, "Timed executions (default 7)");
    CLI11_PARSE(app, argc, argv);
    if (const std::string why = gpu_unavailable(); !why.empty()) {
        std::cerr << why << '\n';
        return 2;
    }
    try {
        const Shape3 volume{512, 1024, 1024}, slice{1, 1024, 1024}, part{64, 1024, 1024};
        const auto asked = [&](const char* part) {
            return std::find(parts.begin(), parts.end(), part) != parts.end();
        };
        if (asked("volume"))
            for (const index_t k : {3, 5, 7, 9, 11})
                compare_access_patterns(volume, {k, k, k}, repeats);
        if (asked("slice"))
            for (const index_t k : {3, 5, 7, 9, 11, 15, 21, 31})
                compare_access_patterns(slice, {1, k, k}, 3 * repeats);
        if (asked("forms")) {
            for (const int k : {3, 5, 7, 9, 11, 15, 21, 31})
                for (const index_t extent : {1024, 4096})
                    compare_forms({1, extent, extent}, k, k, 3 * repeats);
            for (const int k : {3, 5, 9, 17, 25, 33, 49, 65, 97})
                compare_forms({1, 1, 2097152}, 1, k, 3 * repeats);
        }
        for (const index_t k : {3, 5, 7}) {
            if (!asked("types")) break;
            time_pixel_type<double>("double", part, {k, k, k}, repeats);
            time_pixel_type<Complex<float>>("complex float", part, {k, k, k}, repeats);
            time_pixel_type<Complex<double>>("complex double", part, {k, k, k}, repeats);
        }
        if (asked("host")) {
            time_host_to_host(volume, {3, 5, 7, 9, 11, 15});
            time_host_to_host(slice, {5, 11, 21});
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
