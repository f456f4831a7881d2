// SPDX-License-Identifier: Apache-2.0
// Times repeated convolutions from host memory to host memory with kernels of any extent.
// large_kernels.py and method_map.py run it. A case is a JSON object: each argument of the command
// line, or, without arguments, each line of stdin. The answer is a line of JSON, also if the case
// fails. Keys of a case, all but the first two optional:
//   image, kernel    extents [z, y, x]; a kernel [z, y, x] of float32 is positive and not of rank 1
//   method, parts    as on the command line of convolume
//   device           auto, cpu, gpu, or gpu:0,1
//   bytes            memory limit of each GPU, or of the CPU engine
//   executions       number of executions after the first one, which prepares the kernel (3)
//   patience_s       begin none of them after this many seconds, except the first of them (20)
//   limit_s          cancel the case after this many seconds (120)

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "core/threads.hpp"

using namespace convolume;
using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Requests a stop after some seconds, unless it is destroyed before.
class TimeLimit {
  public:
    explicit TimeLimit(double seconds)
        : watch_([this, seconds](const std::stop_token& ended) {
              std::unique_lock lock(mutex_);
              wake_.wait_for(lock, ended, std::chrono::duration<double>(seconds),
                             [] { return false; });
              if (!ended.stop_requested()) expired_.request_stop();
          }) {}
    std::stop_token token() const { return expired_.get_token(); }

  private:
    std::stop_source expired_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread watch_;
};

// Calls f(i) for every sample of a volume, from all threads, and stores what it returns.
template <class F>
void fill(Volume& volume, const F& f) {
    const Shape3 shape = volume.shape();
    float* const samples = volume.elements<float>();
    parallel_for(shape.z * shape.y, thread_count(0), [=, &f](index_t row, int) {
        for (index_t x = 0; x < shape.x; ++x)
            samples[row * shape.x + x] =
                static_cast<float>(f(Index3{row / shape.y, row % shape.y, x}));
    });
}

// Returns a pseudorandom number in 0 … 1.
double hashed_fraction(std::uint64_t i) {
    i = (i + 1) * 0x9E3779B97F4A7C15u;
    i = (i ^ (i >> 31)) * 0xD6E8FEB86659FD93u;
    return static_cast<double>((i ^ (i >> 32)) >> 40) / 16777216.0;
}

// Image, kernel and result of the last case, kept as the next one often has the same extents.
struct Arrays {
    Volume image, kernel, output;
    std::vector<double> reference;  ///< samples of the first result of this image and this kernel

    void prepare(const Shape3& image_shape, const Shape3& kernel_shape) {
        if (image.shape() != image_shape) {
            *this = {};
            image = Volume(image_shape, PixelType::float32);
            output = Volume(image_shape, PixelType::float32);
            fill(image, [&](const Index3& at) {
                return hashed_fraction(static_cast<std::uint64_t>(
                    (at.z * image_shape.y + at.y) * image_shape.x + at.x));
            });
        }
        if (kernel.shape() == kernel_shape) return;
        reference.clear();
        kernel = {};
        kernel = Volume(kernel_shape, PixelType::float32);
        // 1 / (1 + r²)², where r is the distance from the center, in units of a tenth of the
        // extents.
        fill(kernel, [&](const Index3& at) {
            double squared = 0;
            for (int a = 0; a < 3; ++a) {
                const auto offset = static_cast<double>(at[a] - kernel_shape[a] / 2) + 0.25;
                squared += std::pow(10 * offset / static_cast<double>(kernel_shape[a]), 2);
            }
            return 1 / ((1 + squared) * (1 + squared));
        });
    }

    // Returns the relative L2 difference between samples of this result and of the first one.
    double deviation() {
        constexpr index_t samples = 4096;
        const index_t count = element_count(output.shape());
        std::vector<double> found;
        for (index_t i = 0; i < count; i += std::max<index_t>(1, count / samples))
            found.push_back(static_cast<double>(output.elements<float>()[i]));
        if (reference.empty()) reference = found;
        double difference = 0, norm = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            difference += (found[i] - reference[i]) * (found[i] - reference[i]);
            norm += reference[i] * reference[i];
        }
        return std::sqrt(difference / norm);
    }
};

Shape3 shape_of(const json& extents) {
    return {extents.at(0), extents.at(1), extents.at(2)};
}

EngineChoice engines_of(const json& work) {
    EngineChoice engines;
    set_devices(engines, work.value("device", "auto"));
    if (work.contains("bytes") && !work["bytes"].is_null())
        engines.max_gpu_bytes = engines.max_cpu_engine_bytes = work["bytes"].get<index_t>();
    return engines;
}

// Returns the seconds of each phase and the bytes that it moved, summed over engines.
json describe(const Timeline& timeline) {
    json phases = json::object(), bytes = json::object();
    for (const Phase phase : all_phases)
        if (timeline.total_s(phase) > 0) phases[to_string(phase)] = timeline.total_s(phase);
    for (const Timeline::Event& event : timeline.events())
        if (event.bytes > 0)
            bytes[to_string(event.phase)] =
                bytes.value(to_string(event.phase), 0.0) + static_cast<double>(event.bytes);
    return {{"phases", phases}, {"bytes", bytes}};
}

json run_case(const json& work, Arrays& arrays) {
    arrays.prepare(shape_of(work.at("image")), shape_of(work.at("kernel")));
    Options options;
    options.method = parse_method(work.value("method", "auto"));
    options.parts = work.value("parts", 0);
    const TimeLimit limit(work.value("limit_s", 120.0));
    const StopScope scope(limit.token());
    reset_memory_peak();
    const index_t held_bytes = memory_use().current_bytes;
    const auto start = Clock::now();
    const Convolver convolver(arrays.image.shape(), arrays.kernel.view(), options,
                              engines_of(work));
    json answer{{"construction_s", seconds_since(start)}};
    answer["plan"] = json::parse(convolver.plan().to_json())["chosen"];
    answer["engines"] = convolver.plan().engines;

    const auto execute = [&] {
        Timeline timeline;
        ExecutionContext context;
        context.timeline = &timeline;
        context.stop = limit.token();
        const auto begin = Clock::now();
        convolver.execute(arrays.image.view(), arrays.output.view(), context);
        return json{{"seconds", seconds_since(begin)}, {"timeline", describe(timeline)}};
    };
    answer["first"] = execute();
    answer["deviation"] = arrays.deviation();
    std::vector<double> seconds;
    const auto repeated = Clock::now();
    try {
        for (int i = 0; i < work.value("executions", 3); ++i) {
            if (i > 0 && seconds_since(repeated) > work.value("patience_s", 20.0)) break;
            answer["last"] = execute();
            seconds.push_back(answer["last"]["seconds"]);
        }
    } catch (const Cancelled&) {  // the first execution counts
    }
    answer["repeated_s"] = seconds;
    answer["peak_host_bytes"] = memory_use().peak_bytes - held_bytes;
    return answer;
}

void answer_case(const std::string& text, Arrays& arrays) {
    json answer;
    try {
        answer = run_case(json::parse(text), arrays);
    } catch (const std::exception& error) {
        answer = {{"error", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    Arrays arrays;
    for (int i = 1; i < argc; ++i) answer_case(argv[i], arrays);
    for (std::string line; argc == 1 && std::getline(std::cin, line);) answer_case(line, arrays);
}
