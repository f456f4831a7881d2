// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/bandwidth.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "convolume/error.hpp"
#include "core/kept_measurements.hpp"
#include "core/machine_rates.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/runtime/transfers.hpp"

namespace convolume::gpu {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t test_bytes = std::size_t{32} << 20;

struct HostDeleter {
    void operator()(char* data) const { static_cast<void>(cudaFreeHost(data)); }
};
using PinnedMemory = std::unique_ptr<char, HostDeleter>;

PinnedMemory pinned_memory() {
    void* data = nullptr;
    check(cudaHostAlloc(&data, test_bytes, cudaHostAllocPortable), "a buffer to measure with");
    return PinnedMemory(static_cast<char*>(data));
}

struct TransferTest {
    explicit TransferTest(int number)
        : scope(number),
          upload_source(pinned_memory()),
          download_target(pinned_memory()),
          device_first(number, test_bytes),
          device_second(number, test_bytes) {
        // Tests copy only initialized memory.
        device_first.clear();
        device_second.clear();
    }

    void upload() const {
        check(cudaMemcpyAsync(device_first.data(), upload_source.get(), test_bytes,
                              cudaMemcpyHostToDevice, first),
              "copying to the GPU");
    }
    void download() const {
        check(cudaMemcpyAsync(download_target.get(), device_second.data(), test_bytes,
                              cudaMemcpyDeviceToHost, second),
              "copying from the GPU");
    }
    void copy() const {
        check(cudaMemcpyAsync(device_second.data(), device_first.data(), test_bytes,
                              cudaMemcpyDeviceToDevice, first),
              "copying on the GPU");
    }
    void wait() const {
        first.wait();
        second.wait();
    }

    DeviceScope scope;
    PinnedMemory upload_source, download_target;
    DeviceMemory device_first, device_second;
    CudaStream first, second;
};

// Returns the seconds that `work` takes, the least of several runs.
template <class Work>
double best_seconds(const TransferTest& device, const Work& work) {
    double best = 1e9;
    for (int run = 0; run < 4; ++run) {
        const auto start = Clock::now();
        work();
        device.wait();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
}

// Returns the gate for devices whose uploads, one or all at once, have these rates.
TransferGate gate_of(double one_upload, double all_uploads) {
    // On a shared link, concurrent uploads only make every device wait longer for its first task.
    constexpr double worthwhile_gain = 1.15;
    return all_uploads < worthwhile_gain * one_upload ? TransferGate::global
                                                      : TransferGate::per_link;
}

// Measures transfers of ordinary memory through staging buffers.
StagedRates measure_staged(int number, int host_threads) {
    const DeviceScope scope(number);
    constexpr index_t bytes = index_t{128} << 20;
    Volume source({1, 1, bytes}, PixelType::uint8), target(source.shape(), source.type());
    DeviceMemory uploaded(number, bytes), downloaded(number, bytes);
    downloaded.clear();
    BusGate gate(TransferGate::off);
    StagingPool up_staging(4), down_staging(4);
    const CudaStream up, down;
    DeviceTimeline no_timeline(nullptr, 0, -1, up);
    const auto upload = [&] {
        const DeviceScope of_thread(number);
        Uploader uploader({number, host_threads, &gate, &up_staging, &no_timeline}, up);
        uploader.upload(source.view(), uploaded.data());
        uploader.finish();
    };
    const auto download = [&] {
        Downloader downloader({number, host_threads, &gate, &down_staging, &no_timeline}, down);
        downloader.download(downloaded.data(), target.view());
        downloader.finish();
    };
    const auto best_rate = [](const auto& transfer) {
        double best = 0;
        for (int run = 0; run < 3; ++run) {
            const auto start = Clock::now();
            transfer();
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            best = std::max(best, static_cast<double>(bytes) / seconds);
        }
        return best;
    };
    return {best_rate(upload), best_rate(download), 2 * best_rate([&] {
                                                        const std::jthread uploading(upload);
                                                        download();
                                                    })};
}

}  // namespace

GpuBandwidth measure_bandwidth(int number) {
    const TransferTest device(number);
    const auto size = static_cast<double>(test_bytes);
    GpuBandwidth result;
    result.host_to_device = size / best_seconds(device, [&] { device.upload(); });
    result.device_to_host = size / best_seconds(device, [&] { device.download(); });
    result.both = 2 * size / best_seconds(device, [&] {
                      device.upload();
                      device.download();
                  });
    constexpr int copies = 20;
    result.device = 2 * copies * size / best_seconds(device, [&] {
                        for (int i = 0; i < copies; ++i) device.copy();
                    });
    return result;
}

double measure_concurrent_upload(const std::vector<int>& devices) {
    std::vector<std::unique_ptr<TransferTest>> measured;
    for (const int number : devices) measured.push_back(std::make_unique<TransferTest>(number));
    double best = 0;
    for (int run = 0; run < 3; ++run) {
        const auto start = Clock::now();
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const DeviceScope scope(devices[i]);
            measured[i]->upload();
        }
        for (const auto& device : measured) device->wait();
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        best = std::max(best, static_cast<double>(devices.size() * test_bytes) / seconds);
    }
    // Device scopes must end in reverse order.
    while (!measured.empty()) measured.pop_back();
    return best;
}

TransferGateChoice choose_transfer_gate(const std::vector<int>& devices) {
    TransferGateChoice choice;
    if (devices.size() < 2) return choice;
    choice.one_upload = measure_concurrent_upload({devices.front()});
    choice.all_uploads = measure_concurrent_upload(devices);
    choice.gate = gate_of(choice.one_upload, choice.all_uploads);
    return choice;
}

namespace {

// Returns the measurements of this machine's GPUs with this driver.
KeptMeasurements& kept_measurements() {
    static KeptMeasurements kept(
        measurements_file("gpu-rates.json"),
        message(machine_key(), ", driver ", driver_version(), ", CUDA ", runtime_version()));
    return kept;
}

std::string name_of(int device) {
    return message(device_properties(device).name, " at ", bus_address(device));
}

}  // namespace

TransferGate kept_transfer_gate(const std::vector<int>& devices) {
    if (devices.size() < 2) return choose_transfer_gate(devices).gate;
    std::string name = "uploads to ";
    for (const int device : devices) name += (name.ends_with(' ') ? "" : ", ") + name_of(device);
    const KeptMeasurements::Values rates = kept_measurements().find_or_measure(name, 2, [&] {
        const TransferGateChoice choice = choose_transfer_gate(devices);
        return KeptMeasurements::Values{choice.one_upload, choice.all_uploads};
    });
    return gate_of(rates[0], rates[1]);
}

TransferRates direct_transfer_rates(int device) {
    // rates to the device, to the host, and both directions together
    const KeptMeasurements::Values rates =
        kept_measurements().find_or_measure("transfers of " + name_of(device), 3, [&] {
            const GpuBandwidth measured = measure_bandwidth(device);
            return KeptMeasurements::Values{measured.host_to_device, measured.device_to_host,
                                            measured.both};
        });
    const double each_of_both = 0.5 * rates[2];
    return {std::min(rates[0], each_of_both), std::min(rates[1], each_of_both)};
}

StagedRates staged_transfer_rates(int device, int host_threads) {
    const auto measure = [&] {
        const StagedRates measured = measure_staged(device, host_threads);
        return KeptMeasurements::Values{measured.to_device, measured.to_host, measured.both};
    };
    try {
        const KeptMeasurements::Values rates = kept_measurements().find_or_measure(
            message("staged transfers of ", name_of(device), ", ", host_threads, " threads"), 3,
            measure);
        return {rates[0], rates[1], rates[2]};
    } catch (const OutOfMemory&) {  // a later process may have the memory
        const TransferRates expected = transfer_rates(device);
        return {expected.to_device, expected.to_host, expected.to_device + expected.to_host};
    }
}

TransferRates transfer_rates(int device) {
    constexpr MachineRates machine;
    const TransferRates direct = direct_transfer_rates(device);
    return {direct.to_device * machine.gpu_staged_share, direct.to_host * machine.gpu_staged_share};
}

}  // namespace convolume::gpu
