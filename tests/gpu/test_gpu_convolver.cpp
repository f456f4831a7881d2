// SPDX-License-Identifier: Apache-2.0
// Compares the convolver on GPUs with the oracle, for every method, limit and boundary.

#include <limits>

#include "engines/engines.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/streams.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineList gpus(std::optional<index_t> limit = {}, TransferGate gate = TransferGate::automatic) {
    GpuOptions options;
    options.memory_limit_bytes = limit;
    options.transfer_gate = gate;
    return gpu::make_engines(options);
}

}  // namespace

TEST_CASE("the convolver agrees with the oracle on all GPUs", "[gpu]") {
    NEEDS_GPU();
    const std::uint64_t seed = test_seed("sweep on GPUs");
    const EngineList engines = gpus();
    int failures = 0;
    double worst[2] = {};
    for (std::uint64_t number = 0; number < 1500 && failures < 5; ++number) {
        const ConvolverCase c = random_convolver_case(seed, number, 2e5);
        double error = 0;
        std::string wrong;
        try {
            wrong = defect(c, engines, &error);
        } catch (const std::exception& thrown) {
            wrong = thrown.what();
        }
        double& largest = worst[c.options.precision == Precision::float64];
        largest = std::max(largest, error);
        if (wrong.empty()) continue;
        ++failures;
        UNSCOPED_INFO("case " << number << ": " << c.describe() << "\n" << wrong);
        CHECK(wrong.empty());
    }
    std::cout << "worst relative L2 error " << worst[0] << " (float32), " << worst[1]
              << " (float64)\n";
}

TEST_CASE("parts, tiles, pixel types and transfer gates agree on a GPU of little memory", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("gpu limits"));
    // 64 MiB hold one part of this image, 12 MiB a tile or some planes, but neither holds the
    // whole.
    const Shape3 image{96, 210, 250}, kernel{9, 7, 5};
    for (const TransferGate gate :
         {TransferGate::per_link, TransferGate::global, TransferGate::off})
        for (const Method method : {Method::tiled, Method::dif, Method::direct}) {
            Options options;
            options.method = method;
            options.boundary.kind =
                random.pick({BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap});
            const EngineList small = gpus(method == Method::dif ? 64 * mib : 12 * mib, gate);
            EngineChoice cpu;
            cpu.device = EngineChoice::Device::cpu;
            const Array data = random.array(image, false), taps = random.array(kernel, false);
            const Volume source = to_volume(data, PixelType::float32),
                         psf = to_volume(taps, PixelType::float32);
            const Convolver on_gpu = ConvolverFactory::make(image, psf.view(), options, small);
            Options whole = options;
            whole.method = Method::in_core;
            whole.precision = Precision::float64;
            const Convolver on_cpu =
                ConvolverFactory::make(image, psf.view(), whole, make_engines(cpu));
            Volume want(image, PixelType::float64);
            on_cpu.execute(source.view(), want.view());
            gpu::reset_device_memory_peak();
            // Other tests may have left memory that is kept for later.
            const index_t before = gpu::device_memory_use().current_bytes;
            for (const HostMemory memory : {HostMemory::ordinary, HostMemory::page_locked}) {
                Volume in(image, PixelType::float32, memory),
                    got(image, PixelType::float32, memory);
                store(data, in.view());
                poison(got.view());
                const ExecutionReport report = on_gpu.execute(in.view(), got.view());
                CHECK(report.seconds > 0);
                INFO(on_gpu.plan().to_string());
                const auto comparison = compare(to_array(want.view()), to_array(got.view()));
                INFO(comparison.report);
                CHECK(comparison.within(Precision::float32));
            }
            CHECK(gpu::device_memory_use().peak_bytes - before <=
                  static_cast<index_t>(small.size()) * on_gpu.plan().chosen.engine_bytes);
            CHECK(on_gpu.plan().chosen.engine_bytes <= small.front()->memory_limit_bytes());
        }
}

TEST_CASE("parts on a GPU travel through scratch files if host memory is too small for them",
          "[gpu]") {
    NEEDS_GPU();
    const Shape3 shape{128, 512, 512}, kernel_shape{9, 7, 5};
    Random random(test_seed("gpu scratch files"));
    const Volume image = to_volume(random.integers(shape, 0, 4000), PixelType::uint16);
    const Volume kernel = to_volume(random.array(kernel_shape, false), PixelType::float32);
    for (const BoundaryKind boundary : {BoundaryKind::zero, BoundaryKind::reflect}) {
        Options options;
        options.method = Method::dif;
        options.parts = 8;
        options.boundary.kind = boundary;
        const auto make = [&] {
            return ConvolverFactory::make(shape, kernel.view(), options, gpus(), image.type());
        };
        Volume expected(shape, PixelType::float32);
        make().execute(image.view(), expected.view());

        options.streamed = true;
        // With less and less memory, fewer parts are in flight, and then the split volume goes to
        // disk.
        Convolver convolver = make();
        CHECK(convolver.plan().chosen.scratch_file_bytes == 0);
        while (!convolver.plan().chosen.image_in_files) {
            options.max_host_bytes = convolver.plan().chosen.host_bytes - 1;
            convolver = make();
        }
        CHECK(convolver.plan().chosen.scratch_file_bytes >= convolver.plan().scratch_bytes);
        TestSource source({&image});
        TestSink sink({shape, PixelType::float32});
        convolver.execute(source, sink);
        CHECK(sink.defect().empty());
        CHECK(same_bytes(expected, sink.volume(0)));
    }
}

TEST_CASE("a GPU that has less memory than it reported gets a smaller plan", "[gpu]") {
    NEEDS_GPU();
    NEEDS_FAULT_INJECTION();
    Random random(test_seed("gpu replans"));
    const ConvolverCase c = make_case(random, {40, 30, 34}, {5, 5, 5});
    const EngineList engines = gpus(256 * mib);
    const Volume psf = to_volume(c.kernel, PixelType::float32);
    for (const int countdown : {1, 2}) {
        const Convolver convolver =
            ConvolverFactory::make(c.image_shape, psf.view(), c.options, engines);
        gpu::inject_fault(gpu::InjectedFault::allocation, countdown);
        const std::string wrong = defect(c, convolver);
        gpu::inject_fault(gpu::InjectedFault::none, 0);
        CHECK(wrong == "");
    }
}

TEST_CASE("NaN in an image is found on the device, for every method and policy", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("gpu nan"));
    for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct}) {
        ConvolverCase c = make_case(random, {30, 20, 24}, {5, 3, 3});
        c.options.method = method;
        const Volume psf = to_volume(c.kernel, PixelType::float32);
        Volume image = to_volume(c.image, PixelType::float32);
        image.elements<float>()[777] = std::numeric_limits<float>::quiet_NaN();
        image.elements<float>()[999] = std::numeric_limits<float>::infinity();
        Volume target(c.image_shape, PixelType::float32);
        const auto run = [&](NanPolicy policy) {
            Options options = c.options;
            options.nan = policy;
            return ConvolverFactory::make(c.image_shape, psf.view(), options, gpus())
                .execute(image.view(), target.view());
        };
        CHECK_THROWS_AS(run(NanPolicy::error), BadData);
        c.image.values[777] = c.image.values[999] = 0;
        CHECK(run(NanPolicy::zero).nonfinite_inputs == 2);
        CHECK(compare(c.expected(), to_array(target.view())).within(Precision::float32));
        CHECK(run(NanPolicy::propagate).nonfinite_inputs == 0);
    }
}

TEST_CASE("a kernel of rank 1 is summed directly on a GPU, not separably", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("gpu rank 1"));
    ConvolverCase c = make_case(random, {20, 30, 34}, {3, 5, 5});
    c.options.method = Method::direct;
    for (Complex& tap : c.kernel.values) tap = 0.5;
    const Volume psf = to_volume(c.kernel, PixelType::float32);
    const Convolver convolver =
        ConvolverFactory::make(c.image_shape, psf.view(), c.options, gpus());
    CHECK(convolver.plan().chosen.algorithm == Algorithm::direct);
    CHECK(defect(c, convolver) == "");
}

TEST_CASE("timelines of a GPU have transfers and computations, in order", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("gpu timeline"));
    const ConvolverCase c = make_case(random, {40, 30, 34}, {5, 5, 5});
    const Volume psf = to_volume(c.kernel, PixelType::float32),
                 source = to_volume(c.image, PixelType::float32);
    const Convolver convolver =
        ConvolverFactory::make(c.image_shape, psf.view(), c.options, gpus());
    Volume target(convolver.output_shape(), PixelType::float32);
    Timeline timeline;
    ExecutionContext context;
    context.timeline = &timeline;
    convolver.execute(source.view(), target.view(), context);
    CHECK(timeline.total_s(Phase::host_to_device) > 0);
    CHECK(timeline.total_s(Phase::convolve) > 0);
    CHECK(timeline.total_s(Phase::device_to_host) > 0);
    for (const Timeline::Event& event : timeline.events()) {
        CHECK(event.begin_s >= -1e-3);
        CHECK(event.end_s >= event.begin_s);
        CHECK(event.end_s <= timeline.now_s() + 1e-3);
    }
}

TEST_CASE("automatic devices: GPUs are chosen only if they are predicted to win", "[gpu]") {
    NEEDS_GPU();
    const EngineList all = make_engines();
    const Volume psf = [] {
        Volume taps({33, 33, 33}, PixelType::float32);
        for (index_t i = 0; i < element_count(taps.shape()); ++i)
            taps.elements<float>()[i] = 1 + static_cast<float>(i % 7);
        return taps;
    }();
    const Convolver large = ConvolverFactory::make({256, 512, 512}, psf.view(), {}, all);
    INFO(large.plan().to_string());
    CHECK(large.plan().chosen.on_gpu);
}
