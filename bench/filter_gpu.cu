// SPDX-License-Identifier: Apache-2.0
// Times banks of filters on a GPU, from device memory to device memory: one JSON object a line.
// filter_gpu.py runs it and its peers and draws the figures.

#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "convolume/cuda/device_sample_function.cuh"
#include "gpu/backend.hpp"

using namespace convolume;

namespace {

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw DeviceFailure(message(what, ": ", cudaGetErrorString(status)));
}

class DeviceArray {
  public:
    explicit DeviceArray(index_t bytes) {
        check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "allocating on the GPU");
    }
    ~DeviceArray() { static_cast<void>(cudaFree(data_)); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    void* data_ = nullptr;
};

// Function of a caller that computes the derivative (y[n+1] - y[n-1]) / 2.
struct CentralDifference {
    template <class Sample>
    __host__ __device__ Sample operator()(const Sample* y) const {
        return halved(y[1] - y[-1]);
    }
    __host__ __device__ static float halved(float y) { return 0.5f * y; }
    __host__ __device__ static gpu::Complex<float> halved(gpu::Complex<float> y) {
        return {0.5f * y.re, 0.5f * y.im};
    }
};

struct FilterCase {
    bool complex_data = false;
    bool double_precision = false;
    index_t taps = 1, filters = 1, samples = 1;
    std::string post = "none";  // "none", "power", "slope" (a caller's function), "direct", …
};

// Signals and filters of the largest case. Each case takes the first signals and filters.
class SignalsAndFilters {
  public:
    SignalsAndFilters(index_t samples, index_t taps, index_t filters)
        : signal_(16 * samples),
          results_(16 * samples * filters),
          host_signal(2 * samples),
          host_taps(2 * taps * filters) {
        std::mt19937 engine(1);
        std::normal_distribution<double> normal;
        for (double& value : host_signal) value = static_cast<float>(normal(engine));
        for (double& value : host_taps) value = static_cast<float>(normal(engine));
    }

    template <class Real>
    void upload() {
        const std::vector<Real> samples(host_signal.begin(), host_signal.end());
        check(cudaMemcpy(signal_.as<void>(), samples.data(), samples.size() * sizeof(Real),
                         cudaMemcpyHostToDevice),
              "copying to the GPU");
    }

  private:
    DeviceArray signal_, results_;

  public:
    std::vector<double> host_signal, host_taps;
    void* signal() const { return signal_.as<void>(); }
    void* results() const { return results_.as<void>(); }
};

// Returns the relative L2 error of some results of the last filter, against sums in double
// precision.
template <class Real>
double relative_error(const FilterCase& c, const SignalsAndFilters& data) {
    const index_t width = c.complex_data ? 2 : 1, origin = (c.taps - 1) / 2;
    std::vector<Real> results(static_cast<std::size_t>(width * c.samples));
    check(cudaMemcpy(results.data(),
                     static_cast<Real*>(data.results()) + (c.filters - 1) * width * c.samples,
                     results.size() * sizeof(Real), cudaMemcpyDeviceToHost),
          "copying from the GPU");
    const auto at = [&](const std::vector<double>& v, index_t i) {
        return c.complex_data ? std::complex<double>(v[static_cast<std::size_t>(2 * i)],
                                                     v[static_cast<std::size_t>(2 * i + 1)])
                              : std::complex<double>(v[static_cast<std::size_t>(i)]);
    };
    double difference = 0, size = 0;
    std::mt19937_64 engine(2);
    for (int trial = 0; trial < 300; ++trial) {
        const auto random = static_cast<index_t>(engine() % static_cast<std::uint64_t>(c.samples));
        const index_t n = trial < 50    ? std::min<index_t>(trial, c.samples - 1)
                          : trial < 100 ? std::max<index_t>(c.samples + 49 - trial, 0) % c.samples
                                        : random;
        std::complex<double> sum = 0;
        for (index_t k = 0; k < c.taps; ++k) {
            const index_t i = n + origin - k;
            if (i >= 0 && i < c.samples)
                sum += at(data.host_taps, (c.filters - 1) * c.taps + k) * at(data.host_signal, i);
        }
        std::complex<double> got =
            c.complex_data ? std::complex<double>(results[static_cast<std::size_t>(2 * n)],
                                                  results[static_cast<std::size_t>(2 * n + 1)])
                           : std::complex<double>(results[static_cast<std::size_t>(n)]);
        difference += std::norm(got - sum);
        size += std::norm(sum);
    }
    return std::sqrt(difference / size);
}

// Returns the median milliseconds of several runs.
nlohmann::json time_filter(const FilterCase& c, const SignalsAndFilters& data, FilterMethod method,
                           index_t segment) {
    FilterSpec spec;
    spec.filters = c.filters;
    spec.taps = c.taps;
    spec.complex_data = c.complex_data;
    spec.precision = c.double_precision ? Precision::float64 : Precision::float32;
    spec.power = c.post == "power";
    spec.method = method;
    spec.segment = segment;
    if (c.post == "slope")
        spec.function = c.complex_data
                            ? device_sample_function<gpu::Complex<float>>(CentralDifference{}, 1, 1)
                            : device_sample_function<float>(CentralDifference{}, 1, 1);
    if (c.post == "peak") {
        spec.window = {WindowPost::Kind::peak, 64};
        spec.power = c.complex_data;
    }
    const index_t values = c.taps * c.filters * (c.complex_data ? 2 : 1);
    const std::vector<double> taps(data.host_taps.begin(),
                                   data.host_taps.begin() + static_cast<std::ptrdiff_t>(values));
    const std::vector<float> float_taps(taps.begin(), taps.end());
    const auto program = gpu::make_device_filter_program(
        0, spec, c.double_precision ? static_cast<const void*>(taps.data()) : float_taps.data(), 1,
        c.samples);

    const SignalView signal{data.signal(), 1, c.samples, 0, c.samples};
    FilterResult result;
    result.range = {(c.taps - 1) / 2, (c.taps - 1) / 2 + c.samples};
    result.data = data.results();
    result.filter_stride = spec.window.stored(c.samples);
    result.signal_stride = c.filters * result.filter_stride;
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "an event");
    check(cudaEventCreate(&end), "an event");
    std::vector<double> times;
    for (int repeat = -1; repeat < 7; ++repeat) {
        constexpr int runs = 20;
        check(cudaEventRecord(begin), "an event");
        for (int i = 0; i < runs; ++i) program->run(signal, result, nullptr);
        check(cudaEventRecord(end), "an event");
        check(cudaEventSynchronize(end), "filtering");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end), "an event");
        if (repeat >= 0) times.push_back(ms / runs);
    }
    check(cudaEventDestroy(begin), "an event");
    check(cudaEventDestroy(end), "an event");
    std::sort(times.begin(), times.end());
    nlohmann::json json{{"kind", c.complex_data ? "c2c" : "r2r"},
                        {"precision", c.double_precision ? "float64" : "float32"},
                        {"taps", c.taps},
                        {"filters", c.filters},
                        {"samples", c.samples},
                        {"post", c.post},
                        {"method", to_string(program->cost().method)},
                        {"segment", program->cost().segment},
                        {"description", program->cost().description},
                        {"predicted_ms", program->cost().seconds * 1e3},
                        {"ms", times[times.size() / 2]}};
    if (c.post == "none")
        json["error"] =
            c.double_precision ? relative_error<double>(c, data) : relative_error<float>(c, data);
    return json;
}

void print_measurement(const FilterCase& c, const SignalsAndFilters& data, const char* role,
                       FilterMethod method = FilterMethod::automatic, index_t segment = 0) {
    try {
        nlohmann::json json = time_filter(c, data, method, segment);
        json["role"] = role;
        std::puts(json.dump().c_str());
    } catch (const Unavailable&) {
        // The method cannot compute this case, which is left out.
    }
    std::fflush(stdout);
}

index_t smooth_length(index_t least) {
    for (index_t n = least + least % 2;; n += 2) {
        index_t rest = n;
        for (const index_t p : {2, 3, 5, 7})
            while (rest % p == 0) rest /= p;
        if (rest == 1) return n;
    }
}

// Segments that only cuFFT transforms, as the library's own CUDA kernels need powers of two.
constexpr index_t cufft_segments[] = {6144, 12288};

// Times the library's own segments, and overlap-save by cuFFT.
void print_ours_and_cufft(const FilterCase& c, const SignalsAndFilters& data) {
    print_measurement(c, data, "ours");
    for (const index_t n : cufft_segments)
        print_measurement(c, data, "cufft-ols", FilterMethod::overlap_save, n);
}

// Times the cases in the figures of Adámek et al. (2020), for reproduce/measure_2020.py.
void measure_paper_cases(index_t samples) {
    constexpr index_t few = 1 << 18, many = 1 << 23;
    SignalsAndFilters data(many, 8191, 64);
    data.upload<float>();
    for (const bool complex_data : {true, false}) {
        for (index_t n = 1 << 15; n <= many; n *= 2) {  // case of figure 3
            const FilterCase c{complex_data, false, 64, 8, n};
            print_ours_and_cufft(c, data);
            print_measurement(c, data, "cufft-one", FilterMethod::overlap_save,
                              smooth_length(n + c.taps - 1));
        }
        for (const index_t taps : {65, 257, 513, 1025, 2049, 3073}) {  // figures 4 to 7, 10, 11
            for (const index_t filters : {1, 2, 4, 8, 16, 32, 64})
                print_ours_and_cufft({complex_data, false, taps, filters, samples}, data);
            for (index_t n = 1 << 17; n <= many; n *= 4)
                print_ours_and_cufft({complex_data, false, taps, 8, n}, data);
        }
        for (const index_t taps : {257, 1025})  // figures 8, 12
            for (const index_t n : {few, many})
                for (const index_t filters : {1, 2, 8, 32, 64})
                    print_ours_and_cufft({complex_data, false, taps, filters, n}, data);
        for (const index_t taps : {65, 129, 257, 513, 1025, 2049, 3073, 4097, 6145,
                                   8191}) {  // filters of figure 9, and longer ones
            const FilterCase c{complex_data, false, taps, 8, samples};
            for (index_t n = 256; n <= 16384; n *= 2)
                if (taps < n) print_measurement(c, data, "segment", FilterMethod::overlap_save, n);
            print_ours_and_cufft(c, data);
            for (const index_t n : {24576, 49152})
                print_measurement(c, data, "cufft-ols", FilterMethod::overlap_save, n);
            print_measurement(c, data, "cufft-one", FilterMethod::overlap_save,
                              smooth_length(samples + taps - 1));
        }
        for (const index_t taps : {65, 257, 513, 1025, 2049})  // filters of figure 13
            print_ours_and_cufft({complex_data, false, taps, 8, samples, "slope"}, data);
    }
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app("Times banks of filters on a GPU");
    std::vector<std::string> what;
    app.add_option("WHAT", what,
                   "table, posts, segments, curves, partitioned, direct, double, paper")
        ->required();
    CLI11_PARSE(app, argc, argv);

    constexpr index_t samples = 2097152;
    const std::vector<std::pair<index_t, index_t>> table = {
        {65, 8}, {257, 8}, {1025, 8}, {3073, 8}, {65, 32}, {257, 32}, {1025, 32}, {2049, 32}};
    for (const std::string& name : what) {
        if (name == "paper") {
            measure_paper_cases(samples);
            continue;
        }
        if (name == "partitioned") {
            SignalsAndFilters data(1 << 20, 1 << 20, 1);
            data.upload<float>();
            for (const bool complex_data : {true, false}) {
                const FilterCase c{complex_data, false, 1 << 20, 1, 1 << 20};
                print_measurement(c, data, "automatic");
                print_measurement(c, data, "one transform", FilterMethod::overlap_save, 1 << 21);
                for (index_t n = 1 << 13; n <= 1 << 20; n *= 2)
                    print_measurement(c, data, "partitioned", FilterMethod::partitioned, n);
            }
            continue;
        }
        SignalsAndFilters data(name == "curves" ? 2 * samples : samples, 8192,
                               name == "double" ? 8 : 64);
        data.upload<float>();
        if (name == "table") {
            for (const auto& [taps, filters] : table)
                for (const bool complex_data : {true, false}) {
                    const FilterCase c{complex_data, false, taps, filters, samples};
                    print_measurement(c, data, "automatic");
                    for (const index_t n : {6144, 12288, 24576, 32768, 49152, 65536})
                        print_measurement(c, data, "cufft overlap-save", FilterMethod::overlap_save,
                                          n);
                    print_measurement(c, data, "cufft", FilterMethod::overlap_save,
                                      smooth_length(samples + taps - 1));
                }
        } else if (name == "posts") {
            for (const auto& [taps, filters] : {std::pair<index_t, index_t>{257, 8}, {1025, 8}})
                for (const bool complex_data : {true, false})
                    for (const char* post : {"none", "power", "slope", "peak"})
                        for (const index_t n : {1024, 4096})
                            print_measurement({complex_data, false, taps, filters, samples, post},
                                              data, "post", FilterMethod::overlap_save, n);
            // The derivative is folded into the filters, which get two more taps.
            for (const auto& [taps, filters] : table)
                for (const bool complex_data : {true, false})
                    for (const index_t more : {0, 2})
                        print_measurement({complex_data, false, taps + more, filters, samples},
                                          data, more ? "derivative" : "plain");
        } else if (name == "segments") {
            for (const auto& [taps, filters] : table)
                for (const bool complex_data : {true, false})
                    for (index_t n = 256; n <= 16384; n *= 2)
                        print_measurement({complex_data, false, taps, filters, samples}, data,
                                          "segment", FilterMethod::overlap_save, n);
        } else if (name == "curves") {
            for (const bool complex_data : {true, false}) {
                for (const index_t taps : {3, 9, 17, 33, 65, 129, 193, 257, 385, 513, 769, 1025,
                                           1537, 2049, 3073, 4097, 6145, 8192})
                    for (const index_t filters : {1, 8, 32})
                        print_measurement({complex_data, false, taps, filters, samples}, data,
                                          "length");
                for (const index_t filters : {1, 2, 3, 4, 8, 16, 32, 64})
                    for (const index_t taps : {65, 257, 1025})
                        print_measurement({complex_data, false, taps, filters, samples}, data,
                                          "filters");
                for (index_t n = 1 << 10; n <= 2 * samples; n *= 2)
                    for (const index_t taps : {65, 257, 1025})
                        print_measurement({complex_data, false, taps, 8, n}, data, "samples");
            }
        } else if (name == "direct") {
            for (const bool complex_data : {true, false})
                for (const index_t taps : {1, 3, 5, 9, 17, 25, 33, 49, 65, 97})
                    for (const index_t filters : {1, 8}) {
                        const FilterCase c{complex_data, false, taps, filters, samples};
                        print_measurement(c, data, "direct", FilterMethod::direct);
                        print_measurement(c, data, "overlap-save", FilterMethod::overlap_save);
                        print_measurement(c, data, "automatic");
                    }
        } else if (name == "double") {
            data.upload<double>();
            for (const index_t taps : {65, 257, 1025, 3073})
                for (const bool complex_data : {true, false}) {
                    print_measurement({complex_data, true, taps, 8, samples}, data, "automatic");
                    for (index_t n = 256; n <= 8192; n *= 2)
                        print_measurement({complex_data, true, taps, 8, samples}, data, "segment",
                                          FilterMethod::overlap_save, n);
                }
        } else {
            throw InvalidArgument(message("there is no measurement \"", name, "\"; see --help"));
        }
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "convolume_filter_gpu_bench: %s\n", error.what());
    return 1;
}
