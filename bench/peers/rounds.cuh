// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared parts of the programs that time a peer beside the library: values that host and device
// compute alike, rounds in which all take turns with a copy, and a report of one JSON object a
// line. tables.py prints these lines as tables.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/device_buffer.hpp"

namespace convolume::peers {

/// Returns value `i` of a random sequence: a multiple of 2^-23 in [-1, 1).
__host__ __device__ inline float random_value(index_t i, unsigned seed) {
    auto bits = static_cast<unsigned long long>(i) * 0x9e3779b97f4a7c15ULL + seed;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<float>(static_cast<int>(bits >> 40) - (1 << 23)) * 0x1p-23f;
}
/// Returns complex value `i`, whose parts are values 2i and 2i + 1.
inline std::complex<double> random_complex(index_t i, unsigned seed) {
    return {random_value(2 * i, seed), random_value(2 * i + 1, seed)};
}

static __global__ void fill_with_random_values(float* values, index_t count, unsigned seed) {
    const index_t step = index_t{gridDim.x} * blockDim.x;
    for (index_t i = index_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
        values[i] = random_value(i, seed);
}
/// Fills device memory with values 0 … count-1.
inline void fill_randomly(void* values, index_t count, unsigned seed) {
    fill_with_random_values<<<1024, 256>>>(static_cast<float*>(values), count, seed);
    gpu::check(cudaGetLastError(), "filling with random values");
}
/// Returns values 0 … count-1 in host memory.
inline std::vector<float> random_values(index_t count, unsigned seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (index_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = random_value(i, seed);
    return values;
}

/// Returns positions below `count` at which results are checked: the first and last ones, and
/// random ones.
inline std::vector<index_t> positions_to_check(index_t count, int random = 80) {
    std::vector<index_t> positions;
    for (index_t i = 0; i < std::min<index_t>(count, 10); ++i) {
        positions.push_back(i);
        positions.push_back(count - 1 - i);
    }
    for (int i = 0; i < random; ++i) {
        const double part = 0.5 * (1 + static_cast<double>(random_value(i, 99)));
        positions.push_back(std::min(count - 1, static_cast<index_t>(part * double(count))));
    }
    return positions;
}

/// Returns one element of device memory.
template <class T>
T read_element(const void* data, index_t position) {
    T value;
    gpu::check(cudaMemcpy(&value, static_cast<const T*>(data) + position, sizeof(T),
                          cudaMemcpyDeviceToHost),
               "reading a result");
    return value;
}

/// Sums for a relative L2 error. A result that is no number makes the error NaN.
class RelativeError {
  public:
    void add(std::complex<double> found, std::complex<double> wanted) {
        difference_ += std::norm(found - wanted);
        size_ += std::norm(wanted);
    }
    double value() const { return std::sqrt(difference_ / size_); }

  private:
    double difference_ = 0, size_ = 0;
};

/// One library's way to do the work of a case.
struct Contender {
    std::string name;
    std::function<void()> run;      ///< enqueues the work once, on the default stream
    std::function<double()> error;  ///< returns the relative error of the results of the last run
    std::string note = "";          ///< such as the length of segments
};

/// The work that contenders do.
struct Work {
    std::string table, name;
    index_t bytes = 0;  ///< read and written at least
    int rounds = 20;
};

/// A pair of events, between which the GPU's time is measured.
class Stopwatch {
  public:
    Stopwatch() {
        gpu::check(cudaEventCreate(&begin_), "an event");
        gpu::check(cudaEventCreate(&end_), "an event");
    }
    ~Stopwatch() {
        static_cast<void>(cudaEventDestroy(begin_));
        static_cast<void>(cudaEventDestroy(end_));
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

    /// Returns the milliseconds of one of `runs` runs that follow each other.
    double ms_of(int runs, const std::function<void()>& run) const {
        gpu::check(cudaEventRecord(begin_), "an event");
        for (int i = 0; i < runs; ++i) run();
        gpu::check(cudaEventRecord(end_), "an event");
        gpu::check(cudaEventSynchronize(end_), "timed work");
        float ms = 0;
        gpu::check(cudaEventElapsedTime(&ms, begin_, end_), "an event");
        return static_cast<double>(ms) / runs;
    }

  private:
    cudaEvent_t begin_{}, end_{};
};

/// Returns the least of three times of a contender, for a choice among its variants.
inline double quick_ms(const std::function<void()>& run) {
    const Stopwatch watch;
    run();
    double least = watch.ms_of(3, run);
    for (int i = 0; i < 2; ++i) least = std::min(least, watch.ms_of(3, run));
    return least;
}

/// Times of one contender, and what the report says of it.
struct Timing {
    Contender contender;
    nlohmann::json json;
    std::vector<double> ms;
    int runs = 1;
};

inline nlohmann::json least_and_median(std::vector<double> ms) {
    std::sort(ms.begin(), ms.end());
    return {{"ms", ms.front()}, {"median_ms", ms[ms.size() / 2]}};
}

/// Runs contenders once and checks them, then times them in rounds, in turns with a copy within the
/// device of half of the bytes (a copy reads and writes). Prints one JSON object. A contender that
/// throws is reported with its message. Returns how many failed or are wrong by more than
/// `tolerance`.
inline int compare(const Work& work, std::vector<Contender> contenders, double tolerance = 2e-5) {
    const Stopwatch watch;
    const gpu::DeviceBuffer<char> from(work.bytes / 2), to(work.bytes / 2);
    contenders.push_back({"copy",
                          [&] {
                              gpu::check(cudaMemcpyAsync(to.get(), from.get(), from.bytes(),
                                                         cudaMemcpyDeviceToDevice),
                                         "a copy");
                          },
                          [] { return 0.0; }});
    int failures = 0;
    std::vector<Timing> timings;
    nlohmann::json ways = nlohmann::json::array();
    for (Contender& contender : contenders) {
        nlohmann::json json{{"way", contender.name}, {"note", contender.note}};
        try {
            contender.run();
            gpu::check(cudaGetLastError(), contender.name.c_str());
            gpu::check(cudaDeviceSynchronize(), contender.name.c_str());
            const double error = contender.error();
            json["error"] = error;
            json["wrong"] = !(error <= tolerance);
            if (json["wrong"]) ++failures;
            const double once = watch.ms_of(1, contender.run);
            const int runs = std::clamp(static_cast<int>(4 / std::max(once, 1e-3)), 1, 20);
            timings.push_back({contender, json, {}, runs});
        } catch (const std::exception& error) {
            json["failure"] = error.what();
            ways.push_back(json);
            ++failures;
        }
    }
    for (int round = 0; round < work.rounds; ++round)
        for (Timing& timing : timings)
            timing.ms.push_back(watch.ms_of(timing.runs, timing.contender.run));
    for (Timing& timing : timings) {
        timing.json.update(least_and_median(timing.ms));
        ways.push_back(timing.json);
    }
    const nlohmann::json line{{"table", work.table},
                              {"case", work.name},
                              {"bytes", work.bytes},
                              {"rounds", work.rounds},
                              {"ways", ways}};
    std::puts(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    std::fflush(stdout);
    return failures;
}

/// Prints what stopped a case, as compare() prints contenders.
inline void report_failure(const std::string& table, const std::string& name, const char* what) {
    const nlohmann::json line{
        {"table", table}, {"case", name}, {"ways", {{{"way", "all"}, {"failure", what}}}}};
    std::puts(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    std::fflush(stdout);
}

}  // namespace convolume::peers
