// SPDX-License-Identifier: Apache-2.0
// Tests convolution of images in host memory whose spectra are spread over several GPUs.

#include <algorithm>
#include <stop_token>

#include "engines/engines.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/volumes/spread_geometry.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/slabs.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/errors.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineList engines_on(const std::vector<int>& devices, std::optional<index_t> limit = {},
                      TransferGate gate = TransferGate::per_link) {
    GpuOptions options;
    options.devices = devices;
    options.memory_limit_bytes = limit;
    options.transfer_gate = gate;
    return gpu::make_engines(options);
}

/// Returns a list of one engine, so that no other plan is possible.
EngineList joined_on(const std::vector<int>& devices, std::optional<index_t> limit = {},
                     TransferGate gate = TransferGate::per_link) {
    const EngineList engines = engines_on(devices, limit, gate);
    return {engines.front()->join(engines)};
}

void check_host_sweep(const char* name, const std::vector<std::vector<int>>& devices,
                      std::uint64_t cases) {
    const std::uint64_t seed = test_seed(name);
    int failures = 0;
    for (std::uint64_t number = 0; number < case_count(cases) && failures < 5; ++number) {
        ConvolverCase c = random_convolver_case(seed, number, 1e5);
        c.options.method = Method::in_core;
        c.options.parts = 0;
        const std::vector<int>& chosen = devices[number % devices.size()];
        const TransferGate gate = static_cast<TransferGate>(1 + number % 3);
        std::string wrong;
        try {
            wrong = defect(c, joined_on(chosen, {}, gate));
        } catch (const std::exception& thrown) {
            wrong = thrown.what();
        }
        if (wrong.empty()) continue;
        ++failures;
        UNSCOPED_INFO("case " << number << " on " << chosen.size() << " devices: " << c.describe()
                              << "\n"
                              << wrong);
        CHECK(wrong.empty());
    }
}

/// Compares with one GPU for large images, whose plans take long.
void check_host_against_one_gpu(const std::vector<int>& devices, std::uint64_t cases) {
    const std::uint64_t seed = test_seed("host images over GPUs, and one GPU");
    for (std::uint64_t number = 0; number < std::min(case_count(cases), cases); ++number) {
        Random random(seed, number);
        const Shape3 shape{random.integer(100, 200), random.integer(200, 320),
                           random.integer(200, 360)};
        const Shape3 kernel_shape{random.integer(1, 40), random.integer(1, 40),
                                  random.integer(1, 40)};
        Options options;
        options.mode = static_cast<Mode>(number % 3);
        options.method = Method::in_core;
        options.boundary.kind = random.pick(
            {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap, BoundaryKind::nearest});
        const PixelType type = random.pick({PixelType::float32, PixelType::uint16});
        const Volume kernel = to_volume(random.array(kernel_shape, false), PixelType::float32);
        const Volume image = to_volume(random.integers(shape, 0, 4000), type);
        const auto make = [&](const EngineList& engines) {
            return ConvolverFactory::make(shape, kernel.view(), options, engines, type);
        };
        const Convolver one = make(engines_on({devices[0]})), several = make(joined_on(devices));
        CHECK(several.plan().chosen.gpus_per_block == static_cast<int>(devices.size()));
        Volume want(one.output_shape(), PixelType::float32),
            got(one.output_shape(), PixelType::float32);
        one.execute(image.view(), want.view());
        for (int execution = 0; execution < 2; ++execution) {
            poison(got.view());
            several.execute(image.view(), got.view());
            INFO("case " << number << ", " << to_string(shape) << " * " << to_string(kernel_shape)
                         << " " << to_string(options.mode) << " "
                         << to_string(options.boundary.kind));
            const Comparison comparison = compare(to_array(want.view()), to_array(got.view()));
            INFO(comparison.report);
            CHECK(comparison.error < 2e-6);
        }
    }
}

/// Stops, then fails in the middle: the error is thrown, and the next execution is right.
void check_interruptions(const std::vector<int>& devices) {
    Random random(test_seed("interruptions"));
    ConvolverCase c = make_case(random, {90, 128, 130}, {5, 5, 5});
    c.options.method = Method::in_core;
    const Volume image = to_volume(c.image, PixelType::float32),
                 kernel = to_volume(c.kernel, PixelType::float32);
    const Convolver convolver =
        ConvolverFactory::make(c.image_shape, kernel.view(), c.options, joined_on(devices));
    Volume want(c.image_shape, PixelType::float32), got(c.image_shape, PixelType::float32);
    convolver.execute(image.view(), want.view());
    for (const double until : {0.01, 0.4, 0.6, 0.95}) {
        std::stop_source stop;
        ExecutionContext context;
        context.stop = stop.get_token();
        double last = 0;
        bool is_increasing = true;
        context.progress = [&](double done) {
            is_increasing = is_increasing && done >= last;
            last = done;
            if (done >= until && until < 0.9) stop.request_stop();
        };
        poison(got.view());
        if (until < 0.9)
            CHECK_THROWS_AS(convolver.execute(image.view(), got.view(), context), Cancelled);
        else
            convolver.execute(image.view(), got.view(), context);
        CHECK(is_increasing);
        if (until > 0.9) CHECK(last == 1);
    }
    CHECK(same(to_array(want.view()), to_array(got.view())));
    if (!gpu::has_fault_injection) return;
    int failed = 0;
    for (int call = 1; call < 100; ++call) {
        gpu::inject_fault(gpu::InjectedFault::transfer, call);
        bool is_complete = false;
        try {
            convolver.execute(image.view(), got.view());
            is_complete = true;
        } catch (const DeviceFailure&) {
            ++failed;
        }
        gpu::inject_fault(gpu::InjectedFault::none, 0);
        poison(got.view());
        convolver.execute(image.view(), got.view());
        CHECK(same(to_array(want.view()), to_array(got.view())));
        if (is_complete) break;
    }
    CHECK(failed > 2);
}

/// The GPU that is named first, and another if there is one.
std::vector<int> two_devices() {
    return {0, gpu::device_count() > 1 ? 1 : 0};
}

}  // namespace

TEST_CASE("spread layouts: devices divide planes and columns evenly, and bytes fall with each") {
    gpu::DeviceRates rates;
    rates.device = gpu::any_device;
    rates.memory = 2e12;
    Block block;
    block.axes[0] = {1080, 1024, 64, 32, 1024};
    block.axes[1] = {2160, 2048, 64, 32, 2048};
    block.axes[2] = {2160, 2048, 64, 32, 2048};
    block.staging_engines = 0;  // images in page-locked memory
    const gpu::PlaneBytes pixels = gpu::expected_plane_bytes(block);
    const gpu::BlockGeometry one = gpu::spread_geometry(block, pixels, 1, rates, true);
    const gpu::SpreadBytes whole = gpu::spread_bytes(one, 1);
    double before_s = gpu::spread_times(block, one, 1, rates, 3e11).alone_s;
    CHECK(gpu::exchanged_bytes(block, one, 1) == 0);
    for (const std::size_t parts : {std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
        const gpu::BlockGeometry g = gpu::spread_geometry(block, pixels, parts, rates, true);
        CHECK(g.is_spread);
        index_t planes = 0;
        for (std::size_t i = 0; i < parts; ++i) {
            const IndexRange own = gpu::even_part(g.ring, i, parts);
            CHECK(own.begin == planes);
            planes = own.end;
        }
        CHECK(planes == g.ring);
        const gpu::SpreadBytes bytes = gpu::spread_bytes(g, parts);
        const auto count = static_cast<double>(parts);
        CHECK(static_cast<double>(bytes.spectra) <
              1.01 * static_cast<double>(whole.spectra) / count);
        CHECK(static_cast<double>(bytes.kernel) < 1.01 * static_cast<double>(whole.kernel) / count);
        const gpu::BlockTimes times = gpu::spread_times(block, g, parts, rates, 3e11);
        CHECK(times.alone_s < before_s);
        before_s = times.alone_s;
        // Half of the planes of two devices cross the link, for loads and for stores.
        if (parts == 2)
            CHECK(gpu::exchanged_bytes(block, g, 2) ==
                  2048.0 * static_cast<double>(g.plane_bytes()) / 4);
        // A slow link decides.
        const gpu::BlockTimes slow = gpu::spread_times(block, g, parts, rates, 1e9);
        CHECK(slow.alone_s > gpu::exchanged_bytes(block, g, parts) / 1e9);
        // Ordinary memory is copied by the host.
        Block ordinary = block;
        ordinary.staging_engines = 1;
        CHECK(gpu::spread_times(ordinary, g, parts, rates, 3e11).to_device_s ==
              gpu::block_times(ordinary, g, rates).to_device_s);
    }
}

TEST_CASE("spread host images: every operation, mode, boundary and type agrees with the oracle",
          "[gpu]") {
    NEEDS_GPU();
    check_host_sweep("host images over one GPU", {{0, 0}, {0, 0, 0}}, 400);
}

TEST_CASE("spread host images: several GPUs agree with the oracle", "[gpu]") {
    NEEDS_TWO_GPUS();
    std::vector<std::vector<int>> devices{{0, 1}, {1, 0}, {0, 1, 0}};
    std::vector<int> all;
    for (int device = 0; device < gpu::device_count(); ++device) all.push_back(device);
    if (all.size() > 2 && gpu::why_no_peer_memory(all).empty()) devices.push_back(all);
    check_host_sweep("host images over GPUs", devices, 600);
}

TEST_CASE("spread host images: results equal those of one GPU", "[gpu]") {
    NEEDS_TWO_GPUS();
    check_host_against_one_gpu({0, 1}, 8);
}

TEST_CASE("spread host images: a stop or a failed transfer ends an execution, not the plan",
          "[gpu]") {
    NEEDS_GPU();
    check_interruptions(two_devices());
}

TEST_CASE("spread host images: an image that no GPU holds is planned for several", "[gpu]") {
    NEEDS_TWO_GPUS();
    Random random(test_seed("spread plan"));
    const Shape3 shape{128, 256, 256};
    const Volume kernel = to_volume(random.array({65, 65, 65}, false), PixelType::float32);
    const Volume image = to_volume(random.integers(shape, 0, 4000), PixelType::uint16);
    Options options;
    options.method = Method::in_core;
    const auto plan_within = [&](index_t limit) {
        return ConvolverFactory::make(shape, kernel.view(), options,
                                      with_joined_gpus(engines_on({0, 1}, limit)),
                                      PixelType::uint16);
    };
    const Convolver large = plan_within(2048 * mib);
    index_t one = 0, two = 0;
    for (const PlanCandidate& candidate : large.plan().candidates)
        (candidate.gpus_per_block == 2 ? two : one) = candidate.engine_bytes;
    INFO(large.plan().to_string());
    REQUIRE((one > 0 && two > 0));
    // Without a limit that matters, the kernel's spectrum is kept.
    const index_t limit = one - mib;
    gpu::reset_device_memory_peak();
    const index_t before = gpu::device_memory_use().current_bytes;
    const Convolver spread = plan_within(limit);
    INFO(spread.plan().to_string());
    CHECK(spread.plan().chosen.gpus_per_block == 2);
    CHECK(spread.plan().engines == std::vector<std::string>{"gpu:0", "gpu:1"});
    CHECK(spread.plan().chosen.engine_bytes <= limit);
    CHECK(contains(spread.plan().to_string(), "on 2 GPUs"));
    Volume want(shape, PixelType::float32), got(shape, PixelType::float32);
    spread.execute(image.view(), got.view());
    CHECK(gpu::device_memory_use().peak_bytes - before <= 2 * spread.plan().chosen.engine_bytes);
    large.execute(image.view(), want.view());
    CHECK(compare(to_array(want.view()), to_array(got.view())).error < 2e-6);
    CHECK_THROWS_AS(plan_within(16 * mib), OutOfMemory);

    EngineChoice choice;
    choice.device = EngineChoice::Device::gpu;
    choice.gpus = {0, 1};
    choice.max_gpu_bytes = limit;
    const Convolver of_choice(shape, kernel.view(), options, choice, PixelType::uint16);
    CHECK(of_choice.plan().chosen.gpus_per_block == 2);
    poison(got.view());
    of_choice.execute(image.view(), got.view());
    CHECK(compare(to_array(want.view()), to_array(got.view())).error < 2e-6);
}

TEST_CASE("spread host images: memory that is reserved counts in a GPU's pool", "[gpu]") {
    NEEDS_GPU();
    gpu::DevicePool pool(0, 64 * mib);
    static_cast<void>(pool.take(40 * mib, "a test"));  // stays idle in the pool
    auto reserved = pool.reserve(60 * mib, "a test");
    CHECK_THROWS_AS(pool.reserve(8 * mib, "a test"), OutOfMemory);
    CHECK_THROWS_AS(pool.take(8 * mib, "a test"), OutOfMemory);
    reserved.reset();
    CHECK(pool.take(60 * mib, "a test") != nullptr);
}

TEST_CASE("spread host images: refused memory leads to a smaller plan", "[gpu]") {
    NEEDS_GPU();
    NEEDS_FAULT_INJECTION();
    Random random(test_seed("spread replans"));
    ConvolverCase c = make_case(random, {40, 30, 34}, {5, 5, 5});
    c.options.method = Method::in_core;
    const Volume psf = to_volume(c.kernel, PixelType::float32);
    for (const int countdown : {1, 3, 5}) {
        const Convolver convolver = ConvolverFactory::make(c.image_shape, psf.view(), c.options,
                                                           joined_on(two_devices(), 256 * mib));
        gpu::inject_fault(gpu::InjectedFault::allocation, countdown);
        const std::string wrong = defect(c, convolver);
        gpu::inject_fault(gpu::InjectedFault::none, 0);
        CHECK(wrong == "");
    }
}

TEST_CASE("spread host images: timelines name each GPU and have its transfers", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("spread timeline"));
    ConvolverCase c = make_case(random, {40, 30, 34}, {5, 5, 5});
    c.options.method = Method::in_core;
    const Volume psf = to_volume(c.kernel, PixelType::float32),
                 source = to_volume(c.image, PixelType::float32);
    const Convolver convolver =
        ConvolverFactory::make(c.image_shape, psf.view(), c.options, joined_on(two_devices()));
    Volume target(convolver.output_shape(), PixelType::float32);
    Timeline timeline;
    ExecutionContext context;
    context.timeline = &timeline;
    convolver.execute(source.view(), target.view(), context);
    for (const int engine : {0, 1})
        for (const Phase phase : {Phase::host_to_device, Phase::convolve, Phase::device_to_host}) {
            const auto& events = timeline.events();
            CHECK(std::any_of(events.begin(), events.end(), [&](const Timeline::Event& event) {
                return event.engine == engine && event.phase == phase;
            }));
        }
}
