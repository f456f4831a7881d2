// SPDX-License-Identifier: Apache-2.0
// Tests forward models and deconvolutions of several views in a GPU's memory: images, adjoints and
// results are those of the CPU.

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "convolume/device_forward_model.hpp"
#include "convolume/view_deconvolver.hpp"
#include "forward/device_model.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"
#include "tests/catch.hpp"
#include "tests/forward/views.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineChoice engine(EngineChoice::Device device) {
    EngineChoice choice;
    choice.device = device;
    if (device == EngineChoice::Device::gpu) choice.gpus = {0};
    return choice;
}

// Positive numbers, for images and masks.
Volume light(Random& random, const Shape3& shape, double most) {
    Volume volume(shape, PixelType::float32);
    for (index_t i = 0; i < element_count(shape); ++i)
        volume.elements<float>()[i] = static_cast<float>(most * random.uniform());
    return volume;
}

template <class T>
double relative_difference(const Volume& found, const Volume& right) {
    double squares = 0, all = 0;
    for (index_t i = 0; i < element_count(right.shape()); ++i) {
        const double value = right.elements<T>()[i];
        squares += std::pow(static_cast<double>(found.elements<T>()[i]) - value, 2);
        all += value * value;
    }
    return std::sqrt(squares / all);
}

// Memory that holds NaN.
gpu::DeviceMemory poisoned(index_t bytes) {
    gpu::DeviceMemory memory(0, bytes);
    gpu::check(cudaMemset(memory.data(), 0xFF, static_cast<std::size_t>(bytes)), "poisoning");
    gpu::check(cudaDeviceSynchronize(), "poisoning");
    return memory;
}

template <class T>
void check_model(const std::vector<View>& views, const Shape3& result, double most) {
    Random random(test_seed("views on a GPU"));
    constexpr PixelType type = pixel_type_of_v<T>;
    const ObjectGrid grid = object_grid(result, views);
    ForwardModelOptions options;
    options.precision = type == PixelType::float64 ? Precision::float64 : Precision::float32;
    const ForwardModel right(grid, views, options, engine(EngineChoice::Device::cpu));
    const DeviceForwardModel model(grid, views, options, 0, index_t{1} << 30);
    const Volume object = to_volume(random.array(grid.shape, false), type);
    const gpu::DeviceMemory object_on_gpu = on_device(object);
    for (int round = 0; round < 2; ++round)
        for (std::size_t v = 0; v < views.size(); ++v) {
            CAPTURE(round, v);
            Volume image(views[v].image, type), back(grid.shape, type);
            right.record(v, object.view(), image.view());
            const gpu::DeviceMemory image_on_gpu = poisoned(image.bytes());
            model.record(v, object_on_gpu.data(), image_on_gpu.data());
            CHECK(relative_difference<T>(fetched(image_on_gpu, image.shape(), type), image) < most);
            // The adjoint is added to what is there.
            const gpu::DeviceMemory back_on_gpu = on_device(object), other = on_device(image);
            convert_pixels(object.view(), back.view());
            right.add_back(v, image.view(), back.view());
            model.add_back(v, other.data(), back_on_gpu.data());
            CHECK(relative_difference<T>(fetched(back_on_gpu, grid.shape, type), back) < most);
        }
}

struct Field {
    Field() {
        Random random(test_seed("field on a GPU"));
        for (int i = 0; i < 3; ++i) {
            psfs.push_back(light(random, {3 + i, 5, 4 + i}, 1));
            places.push_back({0, 8.0 * i, 3});
        }
        mask = light(random, {9, 20, 22}, 1);
    }
    std::vector<FieldPsf> of_view(std::size_t count) const {
        std::vector<FieldPsf> chosen;
        for (std::size_t i = 0; i < count; ++i) chosen.push_back({psfs[i].view(), {}, places[i]});
        return chosen;
    }
    std::vector<Volume> psfs;
    std::vector<std::array<double, 3>> places;
    Volume mask;
};

}  // namespace

TEST_CASE("device views: images and adjoints are those of the CPU", "[gpu]") {
    NEEDS_GPU();
    const Field field;
    const Shape3 shape{9, 20, 22};
    std::vector<View> views;
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}})
        for (const bool is_masked : {false, true})
            for (const std::optional<Boundary>& boundary :
                 {std::optional<Boundary>{}, std::optional(Boundary{BoundaryKind::reflect}),
                  std::optional(Boundary{BoundaryKind::wrap})}) {
                View& view = views.emplace_back(View{shape, field.of_view(count)});
                view.boundary = boundary;
                if (is_masked) view.mask = field.mask.view();
            }
    for (const VoxelMap& map :
         {VoxelMap{}, turned(0.4, {-1, 0.5, 2}), turned(1.2, {0, 0, 9}, 2.5)}) {
        for (View& view : views) view.map = map;
        views.back().image = {7, 26, 18};  // workspaces hold the largest view
        views.back().mask = {};
        check_model<float>(views, shape, 1e-5);
        check_model<double>(views, shape, 1e-12);
    }
}

TEST_CASE("device views: deconvolutions are those of the CPU", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("deconvolved views on a GPU"));
    const Field field;
    const Shape3 shape{9, 20, 22};
    std::vector<View> views{{shape, field.of_view(3)}, {shape, field.of_view(1)}};
    views[1].map = turned(0.3, {1, 0, -2});
    views[1].mask = field.mask.view();
    const Volume first = light(random, shape, 900), second = light(random, shape, 500);
    std::vector<ViewLevels> levels(2);
    levels[0].background = 20;
    levels[0].gain = 1;
    levels[1].background = 30;
    levels[1].gain = 0.5;
    levels[1].light = 0.7;
    std::optional<double> saturation;
    const auto check = [&](DeconvolveMethod method, ViewUpdates updates) {
        DeconvolveOptions options;
        options.method = method;
        options.saturation = saturation;
        options.view_updates = updates;
        options.iterations = 8;
        options.offset = 0;
        if (uses_option(method, "roughness")) options.roughness = 1e-3;
        const auto restored = [&](EngineChoice::Device device, int times) {
            const ViewDeconvolver deconvolver(shape, views, options, levels, engine(device));
            CHECK(deconvolver.plan().on_device == (device == EngineChoice::Device::gpu));
            CHECK(deconvolver.plan().grid.z >= shape.z);
            Volume result(shape, PixelType::float32);
            for (int i = 0; i < times; ++i) {
                std::fill_n(result.elements<float>(), element_count(shape), NAN);
                deconvolver.execute({first.view(), second.view()}, result.view());
            }
            return result;
        };
        const Volume on_cpu = restored(EngineChoice::Device::cpu, 1);
        const Volume once = restored(EngineChoice::Device::gpu, 1);
        const Volume twice = restored(EngineChoice::Device::gpu, 2);
        CAPTURE(to_string(method), to_string(updates));
        CHECK(relative_difference<float>(once, on_cpu) < 1e-4);
        CHECK(std::memcmp(once.view().data, twice.view().data,
                          static_cast<std::size_t>(once.bytes())) == 0);
    };
    for (const DeconvolveMethod method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
          DeconvolveMethod::scaled_heavy_ball, DeconvolveMethod::maximum_a_posteriori})
        check(method, ViewUpdates::simultaneous);
    check(DeconvolveMethod::richardson_lucy, ViewUpdates::sequential);
    views[0].psfs = field.of_view(1);
    check(DeconvolveMethod::richardson_lucy, ViewUpdates::efficient);
    // Views inside the result have no weights. Their pixels are scaled, also bounds.
    views[1].map = {};
    views[1].mask = {};
    levels[0].offset = 3;
    levels[1].offset = 5;
    saturation = 400;
    check(DeconvolveMethod::richardson_lucy, ViewUpdates::simultaneous);
    check(DeconvolveMethod::richardson_lucy, ViewUpdates::sequential);
}

TEST_CASE("device views: GPUs that are named share the views", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("views on several GPUs"));
    const Field field;
    const Shape3 shape{9, 20, 22};
    std::vector<View> views{
        {shape, field.of_view(3)}, {shape, field.of_view(1)}, {shape, field.of_view(1)}};
    views[0].map = turned(0.3, {1, 0, -2});
    views[1].mask = field.mask.view();
    std::vector<Volume> images;
    std::vector<ConstImageView> seen;
    std::vector<ViewLevels> levels(views.size());
    for (std::size_t v = 0; v < views.size(); ++v) {
        images.push_back(light(random, shape, 500 + 200 * static_cast<double>(v)));
        levels[v].background = 20;
        levels[v].gain = 1;
        levels[v].light = 1 - 0.2 * static_cast<double>(v);
    }
    for (const Volume& image : images) seen.push_back(image.view());
    const auto check = [&](DeconvolveMethod method, ViewUpdates updates) {
        DeconvolveOptions options;
        options.method = method;
        options.view_updates = updates;
        options.iterations = 6;
        options.offset = 0;
        if (uses_option(method, "roughness")) options.roughness = 1e-3;
        const auto restored = [&](const std::vector<int>& gpus, const char* engines) {
            EngineChoice choice = engine(EngineChoice::Device::gpu);
            choice.gpus = gpus;
            const ViewDeconvolver deconvolver(shape, views, options, levels, choice);
            CHECK(deconvolver.plan().engines == engines);
            Volume once(shape, PixelType::float32), twice(shape, PixelType::float32);
            deconvolver.execute(seen, once.view());
            deconvolver.execute(seen, twice.view());
            CHECK(relative_difference<float>(twice, once) == 0);
            return once;
        };
        CAPTURE(to_string(method), to_string(updates));
        const bool are_divided = updates == ViewUpdates::simultaneous;
        const Volume by_one = restored({0}, "gpu:0");
        const Volume by_two = restored({0, 0}, are_divided ? "gpu:0 gpu:0" : "gpu:0");
        // A fourth GPU has no view.
        const Volume by_all = restored({0, 0, 0, 0}, are_divided ? "gpu:0 gpu:0 gpu:0" : "gpu:0");
        if (gpu::device_count() > 1) {
            const Volume by_others = restored({0, 1}, are_divided ? "gpu:0 gpu:1" : "gpu:0");
            CHECK(relative_difference<float>(by_others, by_one) < 1e-4);
        }
        CHECK(relative_difference<float>(by_two, by_one) < 1e-4);
        CHECK(relative_difference<float>(by_all, by_one) < 1e-4);
    };
    for (const DeconvolveMethod method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
          DeconvolveMethod::scaled_heavy_ball, DeconvolveMethod::maximum_a_posteriori})
        check(method, ViewUpdates::simultaneous);
    check(DeconvolveMethod::richardson_lucy, ViewUpdates::sequential);
}

TEST_CASE("device views: executions from several streams follow one another", "[gpu]") {
    NEEDS_GPU();
    const Field field;
    const Shape3 shape{9, 20, 22};
    const std::vector<View> views{{shape, field.of_view(3)}};
    const ObjectGrid grid = object_grid(shape, views);
    const DeviceForwardModel model(grid, views);
    CHECK(model.views() == 1);
    CHECK(model.image(0) == shape);
    Random random(test_seed("streams of a forward model"));
    const Volume object = to_volume(random.array(grid.shape, false), PixelType::float32);
    const gpu::DeviceMemory object_on_gpu = on_device(object);
    const index_t bytes = bytes_of(shape, PixelType::float32);
    const gpu::DeviceMemory alone = poisoned(bytes);
    const gpu::CudaStream streams[2];
    model.record(0, object_on_gpu.data(), alone.data(), static_cast<cudaStream_t>(streams[0]));
    streams[0].wait();
    const Volume want = fetched(alone, shape, PixelType::float32);
    std::vector<gpu::DeviceMemory> images;
    for (std::size_t i = 0; i < 10; ++i) images.push_back(poisoned(bytes));
    for (std::size_t i = 0; i < images.size(); ++i)
        model.record(0, object_on_gpu.data(), images[i].data(),
                     static_cast<cudaStream_t>(streams[i % 2]));
    for (const gpu::CudaStream& stream : streams) stream.wait();
    for (const gpu::DeviceMemory& image : images)
        CHECK(relative_difference<float>(fetched(image, shape, PixelType::float32), want) == 0);
    CHECK_THROWS_AS(model.record(1, object_on_gpu.data(), alone.data()), InvalidArgument);
    CHECK_THROWS_AS(model.record(0, nullptr, alone.data()), InvalidArgument);
    CHECK_THROWS_AS(model.add_back(0, alone.data(), nullptr), InvalidArgument);
}

TEST_CASE("device views: PSFs over the field share a workspace", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("memory of a field on a GPU"));
    const Volume psf = light(random, {1, 9, 9}, 1);
    View view{{16, 256, 256}, {}};
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) view.psfs.push_back({psf.view(), {}, {0, 64.0 * i, 64.0 * j}});
    const ObjectGrid grid = object_grid(view.image, {view});
    // Without the spectra of all kernels, the model fits a limit of a few arrays.
    const index_t limit = 12 * bytes_of(grid.shape, PixelType::float32);
    const forward::DeviceModel<float> model(grid, {view}, {}, 0, limit);
    CHECK(model.device_bytes() <= limit);
    CHECK(forward::DeviceModel<float>(grid, {view}, {}, 0, index_t{1} << 32).device_bytes() >=
          model.device_bytes());
}

TEST_CASE("device views: too little memory of the GPU is said, and the CPU takes over", "[gpu]") {
    NEEDS_GPU();
    const Field field;
    const Shape3 shape{9, 20, 22};
    const std::vector<View> views{{shape, field.of_view(3)}};
    CHECK(contains(message_of<OutOfMemory>([&] {
                       forward::DeviceModel<float>(object_grid(shape, views), views, {}, 0, 1000);
                   }),
                   "the arrays of the forward model take"));
    EngineChoice small;
    small.max_gpu_bytes = 100000;
    DeconvolveOptions options;
    options.iterations = 2;
    const DeconvolvePlan plan = ViewDeconvolver(shape, views, options, {}, small).plan();
    CHECK(!plan.on_device);
    CHECK(contains(plan.why_not_on_device, "arrays"));
}
