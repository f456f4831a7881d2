// SPDX-License-Identifier: Apache-2.0
// Executes one object on several CUDA streams of the caller and from several threads. The results
// equal those of executions one after another, to the last bit.

#include <cuda_runtime_api.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "convolume/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr std::size_t lanes = 4;
constexpr int repeats = 10;

std::size_t size(index_t bytes) {
    return static_cast<std::size_t>(bytes);
}

Volume random_volume(const Shape3& shape, std::uint64_t number) {
    Random random(20240229, number);
    return to_volume(random.array(shape, false, 1), PixelType::float32);
}

using Enqueue = std::function<void(const void* input, void* output, cudaStream_t stream)>;

/// Input and output of one CUDA stream on the device, and copies of its executions' results.
struct Lane {
    Lane(const Volume& input, index_t bytes_out)
        : source(0, input.bytes()),
          target(0, bytes_out),
          results(size(repeats), std::vector<char>(size(bytes_out))) {
        copy_to_device(source.data(), input.view().data, input.bytes());
        for (int n = 0; n < repeats; ++n) copies.emplace_back(0, bytes_out);
    }

    /// Enqueues poisoning the output, an execution, and copying its result.
    void enqueue(const Enqueue& execute, int n, cudaStream_t stream) {
        gpu::check(cudaMemsetAsync(target.data(), 0xFF, size(target.bytes()), stream),
                   "poisoning an output");  // NaN
        execute(source.data(), target.data(), stream);
        gpu::check(cudaMemcpyAsync(copies[size(n)].data(), target.data(), size(target.bytes()),
                                   cudaMemcpyDeviceToDevice, stream),
                   "copying a result");
    }

    /// Waits for the device, and returns a result on the host.
    const std::vector<char>& fetched(int n) {
        std::vector<char>& result = results[size(n)];
        gpu::check(cudaMemcpy(result.data(), copies[size(n)].data(), result.size(),
                              cudaMemcpyDeviceToHost),
                   "copying a result");
        return result;
    }

    gpu::DeviceMemory source;
    gpu::DeviceMemory target;
    std::vector<gpu::DeviceMemory> copies;
    std::vector<std::vector<char>> results;
};

/// Lanes with different input data. Lane t executes with executes[t % executes.size()].
class Lanes {
  public:
    Lanes(const Shape3& input_shape, index_t bytes_out, std::vector<Enqueue> executes)
        : executes_(std::move(executes)) {
        for (std::size_t t = 0; t < lanes; ++t)
            lanes_.push_back(
                std::make_unique<Lane>(random_volume(input_shape, 100 + t), bytes_out));
        // Computes the expected results, one execution after another.
        const gpu::CudaStream stream;
        for (std::size_t t = 0; t < lanes; ++t) {
            enqueue(t, 0, stream);
            stream.wait();
            serial_.push_back(lanes_[t]->fetched(0));
        }
        for (std::size_t t = 1; t < lanes; ++t) REQUIRE(serial_[t] != serial_[0]);
    }

    void enqueue(std::size_t lane, int n, cudaStream_t stream) {
        lanes_[lane]->enqueue(executes_[lane % executes_.size()], n, stream);
    }

    /// Returns the number of results that differ from those of serial executions.
    int wrong() {
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        int count = 0;
        for (std::size_t t = 0; t < lanes; ++t)
            for (int n = 0; n < repeats; ++n) count += lanes_[t]->fetched(n) != serial_[t];
        return count;
    }

  private:
    std::vector<Enqueue> executes_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<std::vector<char>> serial_;
};

/// Runs `act(lane)` from a thread for each lane, all at once. Returns the first error, or "".
std::string from_threads(const std::function<void(std::size_t)>& act) {
    std::vector<std::string> errors(lanes);
    std::barrier start(static_cast<std::ptrdiff_t>(lanes));
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < lanes; ++t)
            threads.emplace_back([&, t] {
                start.arrive_and_wait();
                try {
                    act(t);
                } catch (const std::exception& error) {
                    errors[t] = error.what();
                }
            });
    }
    for (const std::string& error : errors)
        if (!error.empty()) return error;
    return {};
}

void check_streams(const Shape3& input_shape, index_t bytes_out,
                   const std::vector<Enqueue>& executes) {
    Lanes work(input_shape, bytes_out, executes);
    std::vector<std::unique_ptr<gpu::CudaStream>> streams;
    for (std::size_t t = 0; t < lanes; ++t) streams.push_back(std::make_unique<gpu::CudaStream>());
    {
        INFO("one thread, a stream for each lane");
        for (int n = 0; n < repeats; ++n)
            for (std::size_t t = 0; t < lanes; ++t) work.enqueue(t, n, *streams[t]);
        CHECK(work.wrong() == 0);
    }
    {
        INFO("a thread and a stream for each lane");
        CHECK(from_threads([&](std::size_t t) {
                  for (int n = 0; n < repeats; ++n) work.enqueue(t, n, *streams[t]);
              }) == "");
        CHECK(work.wrong() == 0);
    }
    {
        INFO("a thread for each lane, each on its own default stream, which have one handle");
        CHECK(from_threads([&](std::size_t t) {
                  for (int n = 0; n < repeats; ++n) work.enqueue(t, n, cudaStreamPerThread);
              }) == "");
        CHECK(work.wrong() == 0);
    }
    {
        INFO("a thread for each lane, all on the default stream");
        CHECK(from_threads([&](std::size_t t) {
                  for (int n = 0; n < repeats; ++n) work.enqueue(t, n, nullptr);
              }) == "");
        CHECK(work.wrong() == 0);
    }
}

Enqueue enqueue_of(const DeviceConvolver& convolver) {
    return [&convolver](const void* input, void* output, cudaStream_t stream) {
        convolver.execute(input, output, stream);
    };
}

}  // namespace

TEST_CASE(
    "device convolver: executions on several CUDA streams and threads do not disturb each other",
    "[gpu]") {
    NEEDS_GPU();
    const Volume kernel = random_volume({9, 11, 13}, 1);
    for (const bool keep : {true, false})
        for (const Operation operation : {Operation::convolve, Operation::adjoint}) {
            Options options;
            options.operation = operation;
            options.boundary.kind = BoundaryKind::mirror;
            DeviceOptions device;
            device.keep_kernel_spectrum = keep;
            const DeviceConvolver convolver({80, 96, 100}, kernel.view(), options, device);
            INFO(to_string(operation) << (keep ? ", spectrum kept" : ", spectrum not kept"));
            check_streams(convolver.input_shape(), 4 * element_count(convolver.output_shape()),
                          {enqueue_of(convolver)});
        }
}

TEST_CASE(
    "device convolver: two that share a workspace on several CUDA streams do not disturb each "
    "other",
    "[gpu]") {
    NEEDS_GPU();
    const Volume kernel = random_volume({9, 11, 13}, 1);
    const Shape3 shape{80, 96, 100};
    const DeviceConvolver first(shape, kernel.view());
    Options adjoint;
    adjoint.operation = Operation::adjoint;
    DeviceOptions shared;
    shared.workspace_of = &first;
    const DeviceConvolver second(shape, kernel.view(), adjoint, shared);
    check_streams(shape, 4 * element_count(shape), {enqueue_of(first), enqueue_of(second)});
}

TEST_CASE(
    "device filter bank: executions on several CUDA streams and threads do not disturb each other",
    "[gpu]") {
    NEEDS_GPU();
    const index_t samples = 200000;
    for (const index_t taps : {31, 3000})
        for (const FilterMethod method :
             {FilterMethod::direct, FilterMethod::overlap_save, FilterMethod::partitioned}) {
            if (method == FilterMethod::direct && taps > 31) continue;
            const Volume filters = random_volume({1, 5, taps}, 2);
            FilterOptions options;
            options.method = method;
            const DeviceFilterBank bank({2, samples}, {filters.view()}, options);
            INFO(bank.plan().to_string());
            check_streams({1, 2, samples}, 4 * 2 * bank.filters() * bank.result_samples(),
                          {[&](const void* input, void* output, cudaStream_t stream) {
                              bank.execute(input, output, nullptr, stream);
                          }});
        }
}

TEST_CASE("device classes: null pointers are refused by name", "[gpu]") {
    NEEDS_GPU();
    const float one = 1;
    const ConstImageView tap = view_of(&one, Shape3{1, 1, 1});
    const gpu::DeviceMemory memory(0, 64);
    const DeviceConvolver convolver({1, 1, 8}, tap);
    const DeviceFilterBank bank({1, 8}, {tap});
    const auto refusal = [](const auto& act) { return message_of<InvalidArgument>(act); };
    CHECK(contains(refusal([&] { convolver.execute(nullptr, memory.data()); }), "input"));
    CHECK(contains(refusal([&] { convolver.execute(memory.data(), nullptr); }), "output"));
    CHECK(contains(refusal([&] { bank.execute(nullptr, memory.data()); }), "signals"));
    CHECK(contains(refusal([&] { bank.execute(memory.data(), nullptr); }), "results"));
    const ConstImageView nothing{nullptr, PixelType::float32, {1, 1, 3}, {3, 3, 1}};
    CHECK(contains(refusal([&] { DeviceConvolver({1, 1, 8}, nothing); }), "kernel"));
    CHECK(contains(refusal([&] { DeviceFilterBank({1, 8}, {nothing}); }), "filter"));
}
