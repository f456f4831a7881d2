// SPDX-License-Identifier: Apache-2.0
// Times convolutions of images in the memory of several GPUs, with halos and by shares of the
// columns, beside the same on one, cuFFT's transforms over several GPUs (cufftXt), and copies
// between the GPUs, or to and from the host. Prints one JSON object a line. Times are medians of
// milliseconds between events on the first GPU.

#include <cuda_runtime_api.h>
#include <cufft.h>
#include <cufftXt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/spread_cases.hpp"
#include "convolume/device.hpp"
#include "core/machine_rates.hpp"
#include "gpu/volumes/halo_geometry.hpp"
#include "gpu/volumes/spread_geometry.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace {

using namespace convolume;
using namespace convolume::bench;
using nlohmann::json;

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
void check(cufftResult status, const char* what) {
    if (status != CUFFT_SUCCESS)
        throw std::runtime_error(std::string(what) + ": cuFFT status " + std::to_string(status));
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
            {"may_keep_spectrum", keep},
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

// Returns the combined rate of copies between page-locked memory of the host and all devices, in
// both directions.
json host_link_rates(const std::vector<int>& devices, int repeats) {
    const auto planes = static_cast<index_t>(devices.size());
    const Shape3 shape{planes, 16384, 16384};  // 1 GiB for each device
    Volume source = random_volume(shape, 1), target = random_volume(shape, 2);
    for (Volume* const volume : {&source, &target})
        check(cudaHostRegister(volume->elements<float>(), size(volume->bytes()),
                               cudaHostRegisterPortable),
              "locking pages");
    const index_t bytes = source.bytes() / planes;
    struct Copies {
        DeviceArray up, down;
        cudaStream_t up_stream = nullptr, down_stream = nullptr;
        Copies(int device, index_t bytes_each) : up(device, bytes_each), down(device, bytes_each) {
            for (cudaStream_t* const stream : {&up_stream, &down_stream})
                check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking),
                      "creating a stream");
        }
    };
    std::vector<std::unique_ptr<Copies>> copies;
    for (const int device : devices) copies.push_back(std::make_unique<Copies>(device, bytes));
    std::vector<double> times;
    for (int i = 0; i < repeats + 2; ++i) {
        wait_for_all(devices);
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t d = 0; d < devices.size(); ++d) {
            const index_t first = static_cast<index_t>(d) * shape.y * shape.x;
            check(cudaSetDevice(devices[d]), "switching to a GPU");
            check(cudaMemcpyAsync(copies[d]->up.data(), source.elements<float>() + first,
                                  size(bytes), cudaMemcpyHostToDevice, copies[d]->up_stream),
                  "copying to a GPU");
            check(cudaMemcpyAsync(target.elements<float>() + first, copies[d]->down.data(),
                                  size(bytes), cudaMemcpyDeviceToHost, copies[d]->down_stream),
                  "copying from a GPU");
        }
        wait_for_all(devices);
        if (i < 2) continue;
        times.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    for (const auto& each : copies)
        for (const cudaStream_t stream : {each->up_stream, each->down_stream})
            static_cast<void>(cudaStreamDestroy(stream));
    for (Volume* const volume : {&source, &target})
        check(cudaHostUnregister(volume->elements<float>()), "unlocking pages");
    std::sort(times.begin(), times.end());
    return {{"name", "host"},
            {"gpus", devices.size()},
            {"gb_per_s_of_both_directions",
             2e-9 * static_cast<double>(source.bytes()) / times[times.size() / 2]}};
}

// Returns the milliseconds that the planner predicts for a GPU with this memory rate, by its data
// sheet, without the rates that a machine has measured.
json predicted(const Case& c, std::size_t gpus, double memory_bytes_per_s) {
    const MachineRates machine;
    gpu::DeviceRates rates;
    rates.device = gpu::any_device;
    rates.memory = memory_bytes_per_s * machine.gpu_pass_share;
    const bool wraps = c.boundary == BoundaryKind::wrap;
    Block block;
    for (int a = 0; a < 3; ++a) {
        const index_t least = c.image[a] + (wraps ? 0 : c.kernel[a] / 2);
        const index_t grid =
            gpu::length_with_passes(gpu::any_device, a, least, 1, false, Precision::float32);
        block.axes[static_cast<std::size_t>(a)] = {grid, c.image[a], c.kernel[a],
                                                   wraps ? 0 : c.kernel[a] / 2, c.image[a]};
    }
    json figures{{"name", c.name}, {"gpus", gpus}};
    if (gpus == 1) {
        const gpu::BlockGeometry geometry = gpu::block_geometry(block, {0, 0}, 0, rates, true);
        figures["predicted_ms"] = 1e3 * gpu::block_times(block, geometry, rates).compute_s;
        return figures;
    }
    std::vector<index_t> planes(size(c.image.z));
    std::iota(planes.begin(), planes.end(), index_t{0});
    std::vector<IndexRange> slabs;
    for (std::size_t i = 0; i < gpus; ++i) slabs.push_back(gpu::even_part(c.image.z, i, gpus));
    const auto halos = gpu::halo_slabs(block, wraps ? c.kernel.z / 2 : 0, planes, slabs, slabs,
                                       std::vector<int>(gpus, gpu::any_device),
                                       std::vector<index_t>(gpus), rates, true);
    const gpu::BlockGeometry columns = gpu::spread_geometry(block, {0, 0}, gpus, rates, true);
    const double link = machine.gpu_link_bytes_per_s;
    double best_s = gpu::spread_times(block, columns, gpus, rates, link).compute_s;
    figures["columns_ms"] = 1e3 * best_s;
    if (!halos.empty()) {
        const double seconds = gpu::halo_times(halos, rates, link).seconds;
        figures["halos_ms"] = 1e3 * seconds;
        best_s = std::min(best_s, seconds);
    }
    figures["predicted_ms"] = 1e3 * best_s;
    return figures;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times convolutions of images in the memory of several GPUs.");
    std::vector<std::string> names;
    std::vector<int> devices{0, 1};
    int repeats = 10;
    bool unkept = false, both_methods = false, through_host = false;
    app.add_option("CASE", names, case_names() + ", cufft, link, host; all");
    app.add_option("--devices", devices, "GPUs (default 0,1)")->delimiter(',');
    app.add_option("--repeats", repeats, "Timed executions (default 10)");
    bool sweeps = false;
    app.add_flag("--sweep", sweeps, "Only times tunings of the overlap, and steps without it");
    bool predicts = false;
    double memory_tb = 3.35;
    app.add_flag("--predict", predicts, "Only predicts, for 1, 2, 4 and 8 GPUs; needs no GPU");
    app.add_option("--memory-rate", memory_tb, "TB/s of a GPU's memory, to predict (default 3.35)");
    app.add_flag("--methods", both_methods, "Also with halos and by columns, whichever is chosen");
    app.add_flag("--through-host", through_host, "As if no GPU reached the memory of another");
    app.add_flag("--unkept", unkept, "Also without the kernel's spectrum");
    CLI11_PARSE(app, argc, argv);
    if (predicts) {
        for (const Case& c : cases)
            for (const std::size_t gpus : {1U, 2U, 4U, 8U})
                if (is_chosen(names, c.name))
                    print(c.name, [&] { return predicted(c, gpus, memory_tb * 1e12); });
        return 0;
    }
    if (const std::string why = gpu_unavailable(); !why.empty()) {
        std::cerr << why << '\n';
        return 2;
    }
    std::vector<std::optional<gpu::SpreadMethod>> methods{std::nullopt};
    if (both_methods)
        methods.insert(methods.end(), {gpu::SpreadMethod::halos, gpu::SpreadMethod::columns});
    bool good = true;
    if (is_chosen(names, "link") && devices.size() > 1)
        good &= print("link", [&] { return link_rates(devices, repeats); });
    if (is_chosen(names, "host"))
        good &= print("host", [&] { return host_link_rates(devices, repeats); });
    for (const Case& c : cases) {
        if (!is_chosen(names, c.name)) continue;
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
    if (is_chosen(names, "cufft") && !sweeps) {
        const Shape3 grid{512, 1024, 1024};
        good &= print("cufft", [&] { return cufft_xt(grid, devices, repeats); });
    }
    return good ? 0 : 1;
}
