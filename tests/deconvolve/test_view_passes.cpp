// SPDX-License-Identifier: Apache-2.0
// Compares iterations on several views by passes in host memory with those over whole arrays, for
// shifts and turns, masks, scales and methods.

#include <cmath>
#include <stop_token>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/view_deconvolver.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// A PSF without symmetry, of a size for which transforms are faster than direct sums.
Volume lopsided_psf(Random& random) {
    const Shape3 shape{9, 11, 11};
    Volume psf(shape, PixelType::float32);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const auto from_peak = static_cast<double>(std::abs(z - 4) + std::abs(y - 5)) +
                                       std::abs(static_cast<double>(x) - 4);
                psf.view().at<float>(z, y, x) =
                    static_cast<float>((0.5 + random.uniform()) * std::exp(-0.7 * from_peak));
            }
    return psf;
}

VoxelMap turned(double around_y, double around_z) {
    const double cos = std::cos(around_y), sin = std::sin(around_y);
    VoxelMap first, second;
    first.matrix = {{{cos, 0, sin}, {0, 1, 0}, {-sin, 0, cos}}};
    first.offset = {1.5, 0, 4};
    second.matrix = {{{1, 0, 0},
                      {0, std::cos(around_z), std::sin(around_z)},
                      {0, -std::sin(around_z), std::cos(around_z)}}};
    return composed(second, first);
}

VoxelMap moved(const std::array<double, 3>& by) {
    VoxelMap map;
    map.offset = by;
    return map;
}

// Two equal PSFs at different places are one PSF, but those of a field go over whole arrays.
View with_field(View view) {
    view.psfs.push_back(view.psfs.front());
    view.psfs.back().at = {static_cast<double>(view.image.z), 0, 0};
    return view;
}

double difference(const Volume& a, const Volume& b) {
    double squares = 0, of_b = 0;
    for (index_t i = 0; i < element_count(b.shape()); ++i) {
        const double value = b.elements<float>()[i];
        squares += std::pow(static_cast<double>(a.elements<float>()[i]) - value, 2);
        of_b += value * value;
    }
    return std::sqrt(squares / of_b);
}

}  // namespace

TEST_CASE("the plan of several views has the largest of their transforms", "[views]") {
    Random random(test_seed("plan of views"));
    const Volume psf = lopsided_psf(random);
    const Shape3 shape{12, 22, 26}, higher{40, 16, 26};
    const std::vector<View> views{{shape, {{psf.view()}}}, {higher, {{psf.view()}}}};
    EngineChoice cpu;
    cpu.device = EngineChoice::Device::cpu;
    // Steps by one view after the other go over whole arrays.
    for (const ViewUpdates updates : {ViewUpdates::simultaneous, ViewUpdates::sequential}) {
        DeconvolveOptions options;
        options.view_updates = updates;
        const DeconvolvePlan plan = ViewDeconvolver(shape, views, options, {}, cpu).plan();
        CHECK(plan.grid.z >= 40 + 8);
        CHECK(plan.grid.y >= 22 + 10);
        CHECK(plan.grid.x >= 26 + 10);
        CHECK(plan.to_string().find(" of 2 views, transforms of at most " + to_string(plan.grid)) !=
              std::string::npos);
    }
}

TEST_CASE("views by passes in host memory agree with those over whole arrays", "[views]") {
    Random random(test_seed("views by passes"));
    const Volume psf = lopsided_psf(random);
    const Shape3 shape{12, 22, 26};
    const std::vector<std::vector<VoxelMap>> all_maps{
        {{}, {}},
        {{}, moved({2, -3, 5}), {}},
        {{}, moved({0, 0, 60})},  // the last one lies beside the object
        {turned(0.3, 0), {}},
        {moved({0, 4, 0}), turned(0.3, 0), turned(0.2, 0.3)},
        {turned(0.2, 0.3)},
    };
    std::vector<Volume> images;
    for (int v = 0; v < 3; ++v) {
        Volume& image = images.emplace_back(shape, PixelType::float32);
        for (index_t i = 0; i < element_count(shape); ++i)
            image.elements<float>()[i] = static_cast<float>(random.integer(20, 90));
    }
    Volume mask(shape, PixelType::float32);
    for (index_t i = 0; i < element_count(shape); ++i)
        mask.elements<float>()[i] = static_cast<float>(random.uniform());
    for (const std::vector<VoxelMap>& maps : all_maps)
        for (const bool is_scaled : {false, true})
            for (const DeconvolveMethod method :
                 {DeconvolveMethod::richardson_lucy, DeconvolveMethod::scaled_heavy_ball}) {
                std::vector<View> views, fields;
                std::vector<ConstImageView> seen;
                std::vector<ViewLevels> levels(maps.size());
                for (std::size_t v = 0; v < maps.size(); ++v) {
                    views.push_back({shape, {{psf.view()}}, maps[v]});
                    if (is_scaled && v == 0) views[v].mask = mask.view();
                    fields.push_back(with_field(views[v]));
                    seen.push_back(images[v].view());
                    levels[v].background = 5;
                    levels[v].offset = 0;
                    if (is_scaled) levels[v].light = 1 + static_cast<double>(v);
                    if (is_scaled) levels[v].gain = 1.5 - 0.4 * static_cast<double>(v);
                }
                DeconvolveOptions options;
                options.method = method;
                options.iterations = 5;
                options.hold_out = is_scaled;
                if (method == DeconvolveMethod::richardson_lucy && !is_scaled)
                    options.acceleration =
                        random.pick({Acceleration::none, Acceleration::biggs_andrews});
                const ViewDeconvolver by_passes(shape, views, options, levels, cpu_only(2));
                const ViewDeconvolver by_arrays(shape, fields, options, levels, cpu_only(2));
                // Passes have other arrays, so that a plan without them would have equal bytes.
                REQUIRE(by_passes.plan().array_bytes != by_arrays.plan().array_bytes);
                Volume fused(shape, PixelType::float32), general(shape, PixelType::float32);
                const auto of_passes = by_passes.execute(seen, fused.view());
                const auto of_arrays = by_arrays.execute(seen, general.view());
                INFO(maps.size() << " views, scaled: " << is_scaled << ", " << to_string(method));
                CHECK(difference(fused, general) < 1e-4);
                CHECK(std::abs(of_passes[0].last.likelihood / of_arrays[0].last.likelihood - 1) <
                      1e-5);
                // The next execution does not depend on this one, nor on one that was stopped.
                std::stop_source source;
                ExecutionContext context;
                context.stop = source.get_token();
                context.progress = [&](double) { source.request_stop(); };
                CHECK_THROWS_AS(by_passes.execute(seen, general.view(), {}, context), Cancelled);
                by_passes.execute(seen, general.view());
                CHECK(difference(general, fused) == 0);
                const ViewDeconvolver alone(shape, views, options, levels, cpu_only(1));
                alone.execute(seen, general.view());
                CHECK(difference(general, fused) == 0);
            }
}
