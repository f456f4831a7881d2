// SPDX-License-Identifier: Apache-2.0
// Times banks of filters on a GPU, from device memory to device memory: one JSON object a line.
// filter_gpu.py runs it and its peers and draws the figures.

#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <type_traits>
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
    SampleStorage storage = SampleStorage::plain;  // of signals and results
};

// Value of one step of int16 signals and of int16 results, whose taps and samples are normal.
constexpr double signal_scale = 1.0 / 4096, result_scale = 1.0 / 128;

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

    // Rounds the signal to a storage of 16 bits, which host_signal then has, and uploads it.
    void upload(SampleStorage storage) {
        const double scale = storage == SampleStorage::int16 ? signal_scale : 1;
        std::vector<float> samples(host_signal.size());
        std::transform(host_signal.begin(), host_signal.end(), samples.begin(),
                       [&](double value) { return static_cast<float>(value / scale); });
        std::vector<std::uint16_t> words(samples.size());
        const auto count = static_cast<index_t>(samples.size());
        encode_samples(samples.data(), count, storage, words.data());
        decode_samples(words.data(), count, storage, samples.data());
        std::transform(samples.begin(), samples.end(), host_signal.begin(),
                       [&](float value) { return scale * static_cast<double>(value); });
        check(cudaMemcpy(signal_.as<void>(), words.data(), words.size() * sizeof(words[0]),
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

// Returns the results of the last filter.
template <class Real>
std::vector<double> last_results(const FilterCase& c, const SignalsAndFilters& data) {
    const index_t width = c.complex_data ? 2 : 1;
    std::vector<Real> results(static_cast<std::size_t>(width * c.samples));
    check(cudaMemcpy(results.data(),
                     static_cast<Real*>(data.results()) + (c.filters - 1) * width * c.samples,
                     results.size() * sizeof(Real), cudaMemcpyDeviceToHost),
          "copying from the GPU");
    if constexpr (std::is_same_v<Real, std::uint16_t>) {
        std::vector<float> values(results.size());
        decode_samples(results.data(), width * c.samples, c.storage, values.data());
        std::vector<double> scaled(values.begin(), values.end());
        if (c.storage == SampleStorage::int16)
            for (double& value : scaled) value *= result_scale;
        return scaled;
    } else {
        return {results.begin(), results.end()};
    }
}

// Returns the relative L2 error of some results of the last filter, against sums in double
// precision.
double relative_error(const FilterCase& c, const SignalsAndFilters& data) {
    const index_t origin = (c.taps - 1) / 2;
    const std::vector<double> results = c.storage != SampleStorage::plain
                                            ? last_results<std::uint16_t>(c, data)
                                        : c.double_precision ? last_results<double>(c, data)
                                                             : last_results<float>(c, data);
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

// A bank on the GPU that can be timed.
class TimedBank {
  public:
    TimedBank(const FilterCase& filter_case, const SignalsAndFilters& data, FilterMethod method,
              index_t segment)
        : case_(filter_case) {
        const FilterCase& c = case_;
        FilterSpec spec;
        spec.filters = c.filters;
        spec.taps = c.taps;
        spec.complex_data = c.complex_data;
        spec.precision = c.double_precision ? Precision::float64 : Precision::float32;
        spec.power = c.post == "power";
        spec.method = method;
        spec.segment = segment;
        spec.signal_storage = spec.result_storage = c.storage;
        if (c.post == "slope")
            spec.function =
                c.complex_data
                    ? device_sample_function<gpu::Complex<float>>(CentralDifference{}, 1, 1)
                    : device_sample_function<float>(CentralDifference{}, 1, 1);
        if (c.post == "peak") {
            spec.window = {WindowPost::Kind::peak, 64};
            spec.power = c.complex_data;
        }
        const index_t values = c.taps * c.filters * (c.complex_data ? 2 : 1);
        std::vector<double> taps(data.host_taps.begin(),
                                 data.host_taps.begin() + static_cast<std::ptrdiff_t>(values));
        if (c.storage == SampleStorage::int16) {
            spec.result_scale = result_scale;
            for (double& tap : taps) tap *= signal_scale;
        }
        const std::vector<float> float_taps(taps.begin(), taps.end());
        program_ = gpu::make_device_filter_program(
            0, spec, c.double_precision ? static_cast<const void*>(taps.data()) : float_taps.data(),
            1, c.samples);

        signal_ = {data.signal(), 1, c.samples, 0, c.samples, c.storage};
        result_.range = {(c.taps - 1) / 2, (c.taps - 1) / 2 + c.samples};
        result_.data = data.results();
        result_.filter_stride = spec.window.stored(c.samples);
        result_.signal_stride = c.filters * result_.filter_stride;
        check(cudaEventCreate(&begin_), "an event");
        check(cudaEventCreate(&end_), "an event");
    }
    ~TimedBank() {
        static_cast<void>(cudaEventDestroy(begin_));
        static_cast<void>(cudaEventDestroy(end_));
    }
    TimedBank(const TimedBank&) = delete;
    TimedBank& operator=(const TimedBank&) = delete;

    // Times 20 runs that follow one another. The first measurement is not counted.
    void measure() {
        constexpr int runs = 20;
        check(cudaEventRecord(begin_), "an event");
        for (int i = 0; i < runs; ++i) program_->run(signal_, result_, nullptr);
        check(cudaEventRecord(end_), "an event");
        check(cudaEventSynchronize(end_), "filtering");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin_, end_), "an event");
        if (warm_) times_.push_back(ms / runs);
        warm_ = true;
    }
    double median_ms() {
        std::sort(times_.begin(), times_.end());
        return times_[times_.size() / 2];
    }
    const FilterCost& cost() const { return program_->cost(); }

    nlohmann::json report(const SignalsAndFilters& data) {
        const FilterCase& c = case_;
        nlohmann::json json{{"kind", c.complex_data ? "c2c" : "r2r"},
                            {"precision", c.double_precision ? "float64" : "float32"},
                            {"taps", c.taps},
                            {"filters", c.filters},
                            {"samples", c.samples},
                            {"post", c.post},
                            {"method", to_string(cost().method)},
                            {"segment", cost().segment},
                            {"description", cost().description},
                            {"predicted_ms", cost().seconds * 1e3},
                            {"ms", median_ms()}};
        if (c.storage != SampleStorage::plain) json["storage"] = to_string(c.storage);
        if (c.post == "none") json["error"] = relative_error(c, data);
        return json;
    }

  private:
    FilterCase case_;
    std::unique_ptr<DeviceFilterProgram> program_;
    SignalView signal_;
    FilterResult result_;
    cudaEvent_t begin_{}, end_{};
    bool warm_ = false;
    std::vector<double> times_;
};

constexpr int measurements = 8;  // of which the first is not counted

// Returns the median milliseconds of several runs.
nlohmann::json time_filter(const FilterCase& c, const SignalsAndFilters& data, FilterMethod method,
                           index_t segment) {
    TimedBank bank(c, data, method, segment);
    for (int i = 0; i < measurements; ++i) bank.measure();
    return bank.report(data);
}

// Times each storage of signals and results in turns, with the segments that the planner chooses,
// and with some others.
void measure_storage(FilterCase c) {
    constexpr SampleStorage all[] = {SampleStorage::plain, SampleStorage::float16,
                                     SampleStorage::bfloat16, SampleStorage::int16};
    std::vector<std::unique_ptr<SignalsAndFilters>> data;
    for (const SampleStorage storage : all) {
        data.push_back(std::make_unique<SignalsAndFilters>(c.samples, c.taps, c.filters));
        if (storage == SampleStorage::plain)
            data.back()->upload<float>();
        else
            data.back()->upload(storage);
    }
    for (const index_t segment : {0, 1024, 2048, 4096}) {
        std::vector<std::unique_ptr<TimedBank>> banks;
        for (std::size_t i = 0; i < data.size(); ++i) {
            c.storage = all[i];
            const auto method = segment == 0 ? FilterMethod::automatic : FilterMethod::overlap_save;
            banks.push_back(std::make_unique<TimedBank>(c, *data[i], method, segment));
        }
        for (int turn = 0; turn < 2 * measurements; ++turn)
            for (const auto& bank : banks) bank->measure();
        const double plain_ms = banks[0]->median_ms();
        for (std::size_t i = 0; i < banks.size(); ++i) {
            nlohmann::json json = banks[i]->report(*data[i]);
            json["role"] = segment == 0 ? "storage" : "storage in segments";
            json["times_as_fast"] = plain_ms / banks[i]->median_ms();
            std::puts(json.dump().c_str());
            std::fflush(stdout);
        }
    }
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
                   "table, posts, segments, curves, partitioned, direct, double, storage, paper")
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
        if (name == "storage") {
            measure_storage({false, false, 257, 8, samples});
            measure_storage({true, false, 257, 8, samples});
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
