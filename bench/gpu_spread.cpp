// SPDX-License-Identifier: Apache-2.0
// Times convolutions of images in the memory of several GPUs, with halos and by shares of the
// columns, beside the same on one, cuFFT's
// transforms over several GPUs (cufftXt), and copies between the GPUs. With --host, images are in
// page-locked host memory: in-core, in tiles and in parts on 1, 2, 4, … GPUs, with predictions.
// Prints one JSON object a line. Times are medians of milliseconds between events on the first GPU,
// or by the host's clock.

#include <cuda_runtime_api.h>
#include <cufft.h>
#include <cufftXt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>

#include "convolume/device.hpp"
#include "convolume/engines.hpp"
#include "convolume/volume.hpp"
#include "core/threads.hpp"
#include "gpu/runtime/staging.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace {

using namespace convolume;
using nlohmann::json;

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
void check(cufftResult status, const char* what) {
    if (status != CUFFT_SUCCESS)
        throw std::runtime_error(std::string(what) + ": cuFFT status " + std::to_string(status));
}
std::size_t size(index_t bytes) {
    return static_cast<std::size_t>(bytes);
}

class DeviceArray {
  public:
    DeviceArray(int device, index_t bytes) {
        check(cudaSetDevice(device), "switching to a GPU");
        check(cudaMalloc(&data_, size(std::max<index_t>(bytes, 1))), "allocating");
    }
    ~DeviceArray() { static_cast<void>(cudaFree(data_)); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    void* data() const { return data_; }

  private:
    void* data_ = nullptr;
};

void wait_for_all(const std::vector<int>& devices) {
    for (const int device : devices) {
        check(cudaSetDevice(device), "switching to a GPU");
        check(cudaDeviceSynchronize(), "working on the GPUs");
    }
    check(cudaSetDevice(devices[0]), "switching to a GPU");
}

// Returns the median milliseconds of `work` between events on the default stream of devices[0],
// which goes on when all devices are done.
template <class Work>
double median_ms(const std::vector<int>& devices, int repeats, const Work& work) {
    check(cudaSetDevice(devices[0]), "switching to a GPU");
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "creating an event");
    check(cudaEventCreate(&end), "creating an event");
    work();
    work();
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        wait_for_all(devices);
        check(cudaEventRecord(begin), "recording");
        work();
        check(cudaSetDevice(devices[0]), "switching to a GPU");
        check(cudaEventRecord(end), "recording");
        wait_for_all(devices);
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end), "reading a time");
        times.push_back(ms);
    }
    static_cast<void>(cudaEventDestroy(begin));
    static_cast<void>(cudaEventDestroy(end));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

Volume random_volume(const Shape3& shape, unsigned seed, HostMemory memory = HostMemory::ordinary) {
    Volume volume(shape, PixelType::float32, memory);
    float* const samples = volume.elements<float>();
    const index_t count = element_count(shape);
    parallel_for(ceil_div(count, index_t{1} << 16), thread_count(0), [=](index_t block, int) {
        std::mt19937 engine(seed + static_cast<unsigned>(block));
        std::uniform_real_distribution<float> uniform(-0.5f, 1.f);
        for (index_t i = block << 16; i < std::min(count, (block + 1) << 16); ++i)
            samples[i] = uniform(engine);
    });
    return volume;
}

struct Case {
    const char* name;
    Shape3 image, kernel;
    BoundaryKind boundary;
    bool fits_one;          ///< one GPU has memory for it
    index_t max_gibibytes;  ///< of each GPU, with the image; 0: no limit
};
constexpr Case cases[] = {
    {"1024x2048x2048", {1024, 2048, 2048}, {64, 64, 64}, BoundaryKind::wrap, true, 0},
    {"512k64", {512, 1024, 1024}, {64, 64, 64}, BoundaryKind::zero, true, 0},
    {"512psf255", {512, 1024, 1024}, {255, 511, 511}, BoundaryKind::zero, true, 0},
    {"512circular", {512, 1024, 1024}, {64, 64, 64}, BoundaryKind::wrap, true, 0},
    {"2048", {2048, 2048, 2048}, {16, 16, 16}, BoundaryKind::wrap, false, 60},
    {"1024k64", {1024, 2048, 2048}, {64, 64, 64}, BoundaryKind::zero, true, 0},
    {"2048k64", {2048, 2048, 2048}, {64, 64, 64}, BoundaryKind::wrap, true, 76},
};

// Returns the relative L2 error at random voxels, against sums in double precision with taps whose
// sum is 1.
double sampled_error(const Case& c, const Volume& image, const Volume& kernel,
                     const Volume& result) {
    constexpr index_t samples = 32;
    std::vector<double> differences(size(samples)), norms(size(samples));
    const float* const pixels = static_cast<const float*>(image.view().data);
    const float* const taps = static_cast<const float*>(kernel.view().data);
    parallel_for(samples, thread_count(0), [&](index_t sample, int) {
        std::mt19937 engine(static_cast<unsigned>(sample));
        index_t at[3];
        for (int a = 0; a < 3; ++a)
            at[a] = std::uniform_int_distribution<index_t>(0, c.image[a] - 1)(engine);
        double sum = 0, all_taps = 0;
        for (index_t z = 0; z < c.kernel.z; ++z)
            for (index_t y = 0; y < c.kernel.y; ++y)
                for (index_t x = 0; x < c.kernel.x; ++x) {
                    const index_t tap[3] = {z, y, x};
                    index_t from[3];
                    bool inside = true;
                    for (int a = 0; a < 3; ++a) {
                        from[a] = at[a] + c.kernel[a] / 2 - tap[a];
                        if (c.boundary == BoundaryKind::wrap)
                            from[a] = (from[a] + c.image[a]) % c.image[a];
                        inside = inside && from[a] >= 0 && from[a] < c.image[a];
                    }
                    const double weight = taps[(z * c.kernel.y + y) * c.kernel.x + x];
                    all_taps += weight;
                    if (inside)
                        sum += weight *
                               static_cast<double>(
                                   pixels[(from[0] * c.image.y + from[1]) * c.image.x + from[2]]);
                }
        sum /= all_taps;
        const double found = *static_cast<const float*>(result.view().at(at[0], at[1], at[2]));
        differences[size(sample)] = (found - sum) * (found - sum);
        norms[size(sample)] = sum * sum;
    });
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < norms.size(); ++i) {
        difference += differences[i];
        norm += norms[i];
    }
    return std::sqrt(difference / norm);
}

/// An image in slabs, which convolutions overwrite with their results.
class Slabs {
  public:
    explicit Slabs(const DeviceConvolver& convolver) : slabs_(convolver.slabs()) {
        const Shape3& shape = convolver.input_shape();
        plane_bytes_ = shape.y * shape.x * 4;
        for (const DeviceSlab& slab : slabs_) {
            arrays_.push_back(
                std::make_unique<DeviceArray>(slab.device, slab.input_planes * plane_bytes_));
            inputs_.push_back(arrays_.back()->data());
            outputs_.push_back(arrays_.back()->data());
        }
    }
    void fill(const Volume& image) const {
        for (std::size_t i = 0; i < slabs_.size(); ++i) copy(i, image, cudaMemcpyHostToDevice);
    }
    void fetch(const Volume& image) const {
        for (std::size_t i = 0; i < slabs_.size(); ++i) copy(i, image, cudaMemcpyDeviceToHost);
    }
    void execute(const DeviceConvolver& convolver) const { convolver.execute(inputs_, outputs_); }

  private:
    void copy(std::size_t i, const Volume& image, cudaMemcpyKind kind) const {
        char* const host = static_cast<char*>(const_cast<void*>(image.view().data)) +
                           slabs_[i].input_begin * plane_bytes_;
        void* const device = outputs_[i];
        const std::size_t bytes = size(slabs_[i].input_planes * plane_bytes_);
        check(cudaSetDevice(slabs_[i].device), "switching to a GPU");
        check(kind == cudaMemcpyHostToDevice ? cudaMemcpy(device, host, bytes, kind)
                                             : cudaMemcpy(host, device, bytes, kind),
              "copying a slab");
        check(cudaDeviceSynchronize(), "copying a slab");
    }

    std::vector<DeviceSlab> slabs_;
    index_t plane_bytes_;
    std::vector<std::unique_ptr<DeviceArray>> arrays_;
    std::vector<const void*> inputs_;
    std::vector<void*> outputs_;
};

const char* name_of(const std::optional<gpu::SpreadMethod>& method) {
    return !method ? "chosen" : *method == gpu::SpreadMethod::halos ? "halos" : "columns";
}

// Convolves in place on `devices`, and returns the figures.
json run_on(const Case& c, const std::vector<int>& devices, int repeats, bool keep,
            const gpu::SpreadTuning& tuning, const Volume& image, const Volume& kernel) {
    check(cudaSetDevice(devices[0]), "switching to a GPU");
    Options options;
    options.boundary.kind = c.boundary;
    options.normalization = KernelNormalization::sum;  // repeated results stay finite
    DeviceOptions on;
    on.devices = devices;
    on.keep_kernel_spectrum = keep;
    if (c.max_gibibytes > 0)
        on.max_gpu_bytes =
            (c.max_gibibytes << 30) - image.bytes() / static_cast<index_t>(devices.size());
    gpu::spread_tuning() = tuning;
    const DeviceConvolver convolver(c.image, kernel.view(), options, on);
    gpu::spread_tuning() = {};
    const Slabs slabs(convolver);
    slabs.fill(image);
    slabs.execute(convolver);
    wait_for_all(devices);
    Volume result(c.image, PixelType::float32);
    slabs.fetch(result);
    const double error = sampled_error(c, image, kernel, result);
    const double ms = median_ms(devices, repeats, [&] { slabs.execute(convolver); });
    const auto called = std::chrono::steady_clock::now();
    slabs.execute(convolver);
    const double call_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - called)
            .count();
    wait_for_all(devices);
    const Shape3 grid = convolver.grid();
    return {{"name", c.name},
            {"gpus", devices.size()},
            {"grid_zyx", {grid.z, grid.y, grid.x}},
            {"boundary", to_string(c.boundary)},
            {"spectrum_kept", keep},
            {"method", devices.size() == 1 ? "one GPU" : name_of(tuning.method)},
            {"reaches_peers", tuning.reaches_peers},
            {"ms", ms},
            {"ms_of_the_call", call_ms},
            {"device_bytes", convolver.device_bytes()},
            {"device_bytes_per_voxel", static_cast<double>(convolver.device_bytes()) /
                                           static_cast<double>(element_count(c.image))},
            {"relative_l2_error", error}};
}

DeviceConvolver convolver_of(const Case& c, const std::vector<int>& devices, const Volume& kernel) {
    Options options;
    options.boundary.kind = c.boundary;
    options.normalization = KernelNormalization::sum;
    DeviceOptions on;
    on.devices = devices;
    return {c.image, kernel.view(), options, on};
}

// Prints the median milliseconds of each step on the first GPU, without overlap.
void print_steps(const Case& c, const std::vector<int>& devices, int repeats, const Slabs& slabs,
                 const Volume& kernel, gpu::SpreadMethod method) {
    std::vector<cudaEvent_t> events;
    std::size_t next = 0;
    gpu::SpreadTuning tuning;
    tuning.method = method;
    tuning.halo_chunks = tuning.chunks = 1;
    tuning.z_share = 1;
    tuning.on_step = [&](CUstream_st* stream) {
        if (next == events.size()) {
            events.emplace_back();
            check(cudaEventCreate(&events.back()), "creating an event");
        }
        check(cudaEventRecord(events[next++], stream), "recording");
    };
    gpu::spread_tuning() = tuning;
    const DeviceConvolver convolver = convolver_of(c, devices, kernel);
    gpu::spread_tuning() = {};
    std::vector<std::vector<float>> times;
    for (int i = 0; i < repeats + 2; ++i) {
        wait_for_all(devices);
        next = 0;
        slabs.execute(convolver);
        wait_for_all(devices);
        times.resize(next - 1);
        for (std::size_t step = 0; i >= 2 && step + 1 < next; ++step) {
            float ms = 0;
            check(cudaEventElapsedTime(&ms, events[step], events[step + 1]), "reading a time");
            times[step].push_back(ms);
        }
    }
    const bool by_columns = method == gpu::SpreadMethod::columns;
    const std::vector<const char*> names =
        by_columns ? std::vector{"x", "y", "z", "y_back", "x_back"}
                   : std::vector{"shared", "own", "wait", "z", "y_back", "x_back"};
    json steps;
    for (std::size_t step = 0; step < times.size(); ++step) {
        std::sort(times[step].begin(), times[step].end());
        steps[names[step]] = times[step][times[step].size() / 2];
    }
    std::cout << json{{"name", c.name},
                      {"gpus", devices.size()},
                      {"method", name_of(method)},
                      {"ms_of_steps_without_overlap", steps}}
                     .dump()
              << std::endl;
    for (const cudaEvent_t event : events) static_cast<void>(cudaEventDestroy(event));
}

void time_tuning(const Case& c, const std::vector<int>& devices, int repeats,
                 const gpu::SpreadTuning& tuning, const Volume& kernel, const Slabs& slabs) {
    gpu::spread_tuning() = tuning;
    const DeviceConvolver convolver = convolver_of(c, devices, kernel);
    gpu::spread_tuning() = {};
    const double ms = median_ms(devices, repeats, [&] { slabs.execute(convolver); });
    json figures{{"name", c.name}, {"gpus", devices.size()}, {"method", name_of(tuning.method)}};
    if (tuning.method == gpu::SpreadMethod::halos)
        figures["chunks"] = tuning.halo_chunks.value_or(0);
    else
        figures.update({{"chunks", tuning.chunks}, {"z_share", tuning.z_share}});
    figures["ms"] = ms;
    std::cout << figures.dump() << std::endl;
}

// Times a case with other numbers of chunks and other shares of the thread blocks.
void sweep(const Case& c, const std::vector<int>& devices, int repeats) {
    const Volume image = random_volume(c.image, 1), kernel = random_volume(c.kernel, 2);
    const Slabs slabs(convolver_of(c, devices, kernel));
    slabs.fill(image);
    for (const auto method : {gpu::SpreadMethod::halos, gpu::SpreadMethod::columns})
        print_steps(c, devices, repeats, slabs, kernel, method);
    for (const int chunks : {1, 2, 4, 8, 16}) {
        gpu::SpreadTuning tuning;
        tuning.method = gpu::SpreadMethod::halos;
        tuning.halo_chunks = chunks;
        time_tuning(c, devices, repeats, tuning, kernel, slabs);
    }
    for (const int chunks : {1, 8, 12, 16}) {
        for (const double z_share : {0.45, 0.5, 0.55, 0.6}) {
            gpu::SpreadTuning tuning;
            tuning.method = gpu::SpreadMethod::columns;
            tuning.chunks = chunks;
            tuning.z_share = chunks == 1 ? 1 : z_share;
            tuning.y_share = 1 - z_share;
            tuning.least_chunk_bytes = 1;
            time_tuning(c, devices, repeats, tuning, kernel, slabs);
            if (chunks == 1) break;
        }
    }
}

// Times cufftXt's forward and inverse real transforms, without the product of spectra.
json cufft_xt(const Shape3& grid, std::vector<int> devices, int repeats) {
    check(cudaSetDevice(devices[0]), "switching to a GPU");
    const int n[3] = {static_cast<int>(grid.z), static_cast<int>(grid.y), static_cast<int>(grid.x)};
    cufftHandle plans[2];
    std::size_t work[16] = {};
    for (int p = 0; p < 2; ++p) {
        check(cufftCreate(&plans[p]), "creating a plan");
        if (devices.size() > 1)
            check(cufftXtSetGPUs(plans[p], static_cast<int>(devices.size()), devices.data()),
                  "naming GPUs");
        check(cufftMakePlan3d(plans[p], n[0], n[1], n[2], p == 0 ? CUFFT_R2C : CUFFT_C2R, work),
              "planning cufftXt");
    }
    cudaLibXtDesc* data = nullptr;
    check(cufftXtMalloc(plans[0], &data, CUFFT_XT_FORMAT_INPLACE), "allocating for cufftXt");
    for (int i = 0; i < data->descriptor->nGPUs; ++i) {
        check(cudaSetDevice(data->descriptor->GPUs[i]), "switching to a GPU");
        check(cudaMemset(data->descriptor->data[i], 0, data->descriptor->size[i]), "clearing");
    }
    wait_for_all(devices);
    // Its transforms do not end in order on one stream, so that the host's clock measures them.
    std::vector<double> times;
    for (int i = 0; i < repeats + 2; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        check(cufftXtExecDescriptorR2C(plans[0], data, data), "running cufftXt");
        check(cufftXtExecDescriptorC2R(plans[1], data, data), "running cufftXt");
        wait_for_all(devices);
        if (i >= 2)
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                    .count());
    }
    std::sort(times.begin(), times.end());
    static_cast<void>(cufftXtFree(data));
    for (const cufftHandle plan : plans) static_cast<void>(cufftDestroy(plan));
    return {{"name", "cufftXt forward and inverse"},
            {"gpus", devices.size()},
            {"grid_zyx", {grid.z, grid.y, grid.x}},
            {"work_bytes", std::max(work[0], work[1])},
            {"ms", times[times.size() / 2]}};
}

// Measures copies from one GPU to another, in one direction and in both at a time.
json link_rates(const std::vector<int>& devices, int repeats) {
    constexpr index_t bytes = index_t{1} << 30;
    const int a = devices[0], b = devices[1];
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
        check(cudaSetDevice(from), "switching to a GPU");
        const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
        if (status != cudaErrorPeerAccessAlreadyEnabled) check(status, "enabling peer access");
        static_cast<void>(cudaGetLastError());
    }
    const DeviceArray on_a(a, bytes), on_b(b, bytes), other_a(a, bytes), other_b(b, bytes);
    cudaStream_t one, two;
    check(cudaSetDevice(a), "switching to a GPU");
    check(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), "creating a stream");
    check(cudaSetDevice(b), "switching to a GPU");
    check(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking), "creating a stream");
    const auto rate = [&](bool both) {
        std::vector<double> times;
        for (int i = 0; i < repeats + 2; ++i) {
            wait_for_all(devices);
            const auto begin = std::chrono::steady_clock::now();
            check(cudaMemcpyPeerAsync(on_b.data(), b, on_a.data(), a, size(bytes), one), "copying");
            if (both)
                check(cudaMemcpyPeerAsync(other_a.data(), a, other_b.data(), b, size(bytes), two),
                      "copying");
            wait_for_all(devices);
            times.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(times.begin(), times.end());
        return static_cast<double>(bytes) / times[times.size() / 2] / 1e9;
    };
    const double alone = rate(false), in_both = rate(true);
    static_cast<void>(cudaStreamDestroy(one));
    static_cast<void>(cudaStreamDestroy(two));
    return {{"name", "link"}, {"gb_per_s", alone}, {"gb_per_s_each_of_both_directions", in_both}};
}

// Convolves from host memory to host memory, and returns the figures.
json run_from_host(const Case& c, const std::vector<int>& devices, Method method, int repeats,
                   const Volume& image, const Volume& kernel, Volume& result) {
    Options options;
    options.method = method;
    options.boundary.kind = c.boundary;
    options.normalization = KernelNormalization::sum;
    EngineChoice choice;
    choice.device = EngineChoice::Device::gpu;
    choice.gpus = devices;
    const Convolver convolver(c.image, kernel.view(), options, choice);
    const PlanCandidate chosen = convolver.plan().chosen;
    const auto execute = [&] { return convolver.execute(image.view(), result.view()).seconds; };
    const double first_s = execute();
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) times.push_back(execute());
    Timeline timeline;
    ExecutionContext context;
    context.timeline = &timeline;
    convolver.execute(image.view(), result.view(), context);
    std::sort(times.begin(), times.end());
    // Seconds from the first begin of a phase to its last end, over all GPUs.
    json phases;
    for (const Phase phase : {Phase::host_to_device, Phase::convolve, Phase::device_to_host}) {
        double begin_s = 1e9, end_s = 0;
        for (const Timeline::Event& event : timeline.events()) {
            if (event.phase != phase) continue;
            begin_s = std::min(begin_s, event.begin_s);
            end_s = std::max(end_s, event.end_s);
        }
        phases[to_string(phase)] = {std::round(begin_s * 1e4) / 10, std::round(end_s * 1e4) / 10};
    }
    return {{"name", c.name},
            {"gpus", devices.size()},
            {"method", to_string(chosen.method)},
            {"gpus_per_block", chosen.gpus_per_block},
            {"parts", chosen.parts},
            {"tiles_zyx", {chosen.tiles.z, chosen.tiles.y, chosen.tiles.x}},
            {"gib_of_each", static_cast<double>(chosen.engine_bytes >> 20) / 1024},
            {"page_locked", gpu::is_page_locked(image.view().data, image.bytes()) &&
                                gpu::is_page_locked(result.view().data, result.bytes())},
            {"predicted_ms", chosen.seconds * 1e3},
            {"ms", times[times.size() / 2] * 1e3},
            {"first_ms", first_s * 1e3},
            {"ms_of_phases", phases},
            {"relative_l2_error", sampled_error(c, image, kernel, result)}};
}

// Prints the figures that `work` returns, or its error.
template <class Work>
bool print(const char* name, const Work& work) {
    try {
        std::cout << work().dump() << std::endl;
        return true;
    } catch (const std::exception& error) {
        static_cast<void>(cudaGetLastError());
        std::cout << json{{"name", name}, {"error", error.what()}}.dump() << std::endl;
        return false;
    }
}

// Times a case from host memory on 1, 2, 4, … and all of `devices`, with every method.
bool time_from_host(Case c, const std::vector<int>& devices, int repeats) {
    c.boundary = BoundaryKind::zero;
    const Volume image = random_volume(c.image, 1, HostMemory::page_locked),
                 kernel = random_volume(c.kernel, 2);
    Volume result(c.image, PixelType::float32, HostMemory::page_locked);
    bool good = true;
    for (std::size_t count = 1; count <= devices.size();
         count = count < devices.size() ? std::min(2 * count, devices.size()) : count + 1) {
        const std::vector<int> used(devices.begin(),
                                    devices.begin() + static_cast<std::ptrdiff_t>(count));
        for (const Method method : {Method::in_core, Method::tiled, Method::dif})
            good &= print(c.name, [&] {
                return run_from_host(c, used, method, repeats, image, kernel, result);
            });
    }
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times convolutions of images in the memory of several GPUs.");
    std::vector<std::string> names;
    std::vector<int> devices{0, 1};
    int repeats = 10;
    bool unkept = false, both_methods = false, through_host = false;
    app.add_option("CASE", names,
                   "1024x2048x2048, 512k64, 512psf255, 512circular, 2048, 1024k64, 2048k64, "
                   "cufft, link; all");
    app.add_option("--devices", devices, "GPUs (default 0,1)")->delimiter(',');
    app.add_option("--repeats", repeats, "Timed executions (default 10)");
    bool sweeps = false;
    app.add_flag("--sweep", sweeps, "Only times tunings of the overlap, and steps without it");
    bool from_host = false;
    app.add_flag("--host", from_host, "Only times images in host memory, with zero boundary");
    app.add_flag("--methods", both_methods, "Also with halos and by columns, whichever is chosen");
    app.add_flag("--through-host", through_host, "As if no GPU reached the memory of another");
    app.add_flag("--unkept", unkept, "Also without the kernel's spectrum");
    CLI11_PARSE(app, argc, argv);
    if (const std::string why = gpu_unavailable(); !why.empty()) {
        std::cerr << why << '\n';
        return 2;
    }
    const auto is_chosen = [&](const std::string& name) {
        return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
    };
    std::vector<std::optional<gpu::SpreadMethod>> methods{std::nullopt};
    if (both_methods)
        methods.insert(methods.end(), {gpu::SpreadMethod::halos, gpu::SpreadMethod::columns});
    bool good = true;
    if (is_chosen("link") && !from_host)
        good &= print("link", [&] { return link_rates(devices, repeats); });
    for (const Case& c : cases) {
        if (!is_chosen(c.name)) continue;
        if (from_host) {
            good &= time_from_host(c, devices, repeats);
            continue;
        }
        if (sweeps) {
            if (c.fits_one) sweep(c, devices, repeats);
            continue;
        }
        const Volume image = random_volume(c.image, 1), kernel = random_volume(c.kernel, 2);
        for (const bool keep : {true, false}) {
            if (!keep && !unkept) continue;
            if (c.fits_one)
                good &= print(c.name, [&] {
                    return run_on(c, {devices[0]}, repeats, keep, {}, image, kernel);
                });
            if (devices.size() == 1 && c.fits_one) continue;
            for (const auto& method : methods) {
                gpu::SpreadTuning tuning;
                tuning.method = method;
                tuning.reaches_peers = !through_host;
                good &= print(c.name, [&] {
                    return run_on(c, devices, repeats, keep, tuning, image, kernel);
                });
            }
        }
    }
    if (is_chosen("cufft") && !sweeps && !from_host) {
        const Shape3 grid{512, 1024, 1024};
        good &= print("cufft", [&] { return cufft_xt(grid, devices, repeats); });
    }
    return good ? 0 : 1;
}
