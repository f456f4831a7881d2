// SPDX-License-Identifier: Apache-2.0
// A start on coarser images: that their model is the fine one's, and what comes of it.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "deconvolve/coarse_start.hpp"
#include "deconvolve/thinning.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;
using deconvolve::Coarsening;

namespace {

template <class Visit>
void for_each_index(const Shape3& shape, const Visit& visit) {
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) visit(Index3{z, y, x});
}

Complex& at(Array& array, const Index3& i) {
    return array(i.z, i.y, i.x);
}
double at(const Array& array, const Index3& i) {
    return array(i.z, i.y, i.x).real();
}

double total(const Array& array) {
    double sum = 0;
    for (const Complex& value : array.values) sum += value.real();
    return sum;
}

// From an object that reaches as far beyond the image as the PSF does.
Array blurred(const Array& object, const Array& psf, const Shape3& image) {
    Array result(image);
    const double sum = total(psf);
    for_each_index(image, [&](const Index3& m) {
        for_each_index(psf.shape, [&](const Index3& k) {
            at(result, m) += at(psf, k) / sum *
                             object(m.z + psf.shape.z - 1 - k.z, m.y + psf.shape.y - 1 - k.y,
                                    m.x + psf.shape.x - 1 - k.x);
        });
    });
    return result;
}

Array summed(const Array& image, const Coarsening& coarsening) {
    Array result(coarsening.image(image.shape));
    for_each_index(result.shape, [&](const Index3& i) {
        for_each_index({coarsening.factor(0), coarsening.factor(1), coarsening.factor(2)},
                       [&](const Index3& j) {
                           at(result, i) += image(i.z * coarsening.factor(0) + j.z,
                                                  i.y * coarsening.factor(1) + j.y,
                                                  i.x * coarsening.factor(2) + j.x);
                       });
    });
    return result;
}

// Linear interpolation between the middles of coarse voxels, which give half of their light to
// each fine one, along the axes that are halved.
Array interpolated(const Array& coarse, const Index3& coarse_at, const Coarsening& coarsening,
                   const Shape3& object, const Index3& object_at) {
    Array result(object);
    for_each_index(object, [&](const Index3& i) {
        double value = 0;
        for (int corner = 0; corner < 8; ++corner) {
            Index3 from;
            double share = 1;
            for (int a = 0; a < 3; ++a) {
                const bool upper = ((corner >> a) & 1) != 0;
                const auto place = static_cast<double>(i[a] - object_at[a]);
                // The middle of a coarse voxel N is at 2 N + 1/2 fine ones.
                const double middle = coarsening.factor(a) == 2 ? (place - 0.5) / 2 : place;
                const double low = std::floor(middle);
                share *= upper ? middle - low : 1 - (middle - low);
                if (coarsening.factor(a) == 2) share /= 2;
                from[a] =
                    std::clamp<index_t>(static_cast<index_t>(low) + (upper ? 1 : 0) + coarse_at[a],
                                        0, coarse.shape[a] - 1);
            }
            value += share * at(coarse, from);
        }
        at(result, i) = value;
    });
    return result;
}

double largest_difference(const Array& a, const Array& b) {
    REQUIRE(a.shape == b.shape);
    double largest = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
    return largest;
}

Array spread(const Array& coarse, const Index3& coarse_at, const Coarsening& coarsening,
             const Shape3& object, const Index3& object_at, float least = 0) {
    Volume result(object, PixelType::float32);
    deconvolve::spread(to_volume(coarse, PixelType::float32).view(), coarse_at, coarsening, object,
                       object_at, least, 2, [&](const float* values, index_t first, index_t count) {
                           std::copy_n(values, count, result.elements<float>() + first);
                       });
    return to_array(std::as_const(result).view());
}

struct Geometry {
    Shape3 image;
    Shape3 psf;
    KernelCenter center{};
    Coarsening coarsening{};
};

std::vector<Geometry> geometries() {
    const auto peak = [](index_t z, index_t y, index_t x) {
        return KernelCenter{KernelCenter::Kind::explicit_, {z, y, x}};
    };
    return {{{4, 6, 8}, {3, 3, 5}, {}, {{true, true, true}}},
            {{5, 7, 9}, {4, 2, 6}, {}, {{true, true, true}}},
            {{1, 8, 7}, {1, 5, 4}, {}, {{false, true, true}}},
            {{4, 6, 5}, {3, 9, 12}, peak(0, 8, 11), {{true, true, true}}},
            {{3, 5, 6}, {2, 3, 1}, peak(1, 0, 0), {{false, true, false}}}};
}

Array specimen_image(Random& random, const Shape3& shape, const Array& psf, double photons = 400) {
    const Index3 center{psf.shape.z / 2, psf.shape.y / 2, psf.shape.x / 2};
    return bead_specimen(random, shape, psf, center, 5, photons, 2, 2).recorded;
}

Array wide_psf() {
    return gaussian_psf({1, 13, 13}, {0, 6, 6}, {1, 2.5, 2.5});
}

double final_likelihood(const Array& image, const Array& psf, const DeconvolveOptions& options) {
    return deconvolved(image, psf, options).report.last.likelihood;
}

bool same(const Array& a, const Array& b) {
    return a.shape == b.shape && a.values == b.values;
}

}  // namespace

TEST_CASE("coarse start: its model is the sum of pixels of what is blurred of spread voxels") {
    Random random(test_seed("coarse model"));
    for (const Geometry& g : geometries()) {
        const Array psf = random_psf(random, g.psf);
        DeconvolveOptions options;
        options.center = g.center;
        options.coarse_start = 3;
        options.background = 1.5;
        const deconvolve::Problem fine = deconvolve::resolve_problem(
            g.image, to_volume(psf, PixelType::float64).view(), options);
        const deconvolve::Problem coarse = deconvolve::coarse_problem(fine, g.coarsening);
        INFO("image " << to_string(g.image) << ", PSF " << to_string(g.psf));
        CHECK(coarse.image == g.coarsening.image(g.image));
        CHECK(*coarse.options.background == 1.5 * static_cast<double>(g.coarsening.pixels()));

        const Array object = random.array(coarse.object, false, 1);
        const Array fine_object =
            interpolated(object, coarse.image_at, g.coarsening, fine.object, fine.image_at);
        const Array want = summed(blurred(fine_object, psf, fine.image), g.coarsening);
        const Array got = blurred(object, to_array(coarse.psf.view()), coarse.image);
        CHECK(largest_difference(want, got) < 1e-12 * norm(want));
        CHECK(largest_difference(fine_object, spread(object, coarse.image_at, g.coarsening,
                                                     fine.object, fine.image_at)) < 1e-6);
    }
}

TEST_CASE("coarse start: spread voxels keep their light, and none is darker than asked for") {
    Random random(test_seed("spread"));
    const Coarsening all{{true, true, true}};
    const Array coarse = random.array({3, 4, 5}, false, 1);
    const Array fine = spread(coarse, {}, all, {6, 8, 10}, {});
    CHECK(std::abs(total(fine) - total(coarse)) < 1e-5 * total(coarse));
    const Array lifted = spread(Array({3, 4, 5}), {}, all, {7, 8, 10}, {}, 0.25F);
    CHECK(std::all_of(lifted.values.begin(), lifted.values.end(),
                      [](const Complex& value) { return value.real() == 0.25; }));
}

TEST_CASE("coarse start: sums of pixels leave out what is not compared, held or left over") {
    Random random(test_seed("sums of pixels"));
    for (const PixelType type : {PixelType::uint8, PixelType::uint16, PixelType::float32})
        for (const Shape3& shape : {Shape3{4, 6, 8}, Shape3{5, 7, 9}}) {
            Array image = random.integers(shape, 0, 40);
            const Coarsening coarsening{{true, false, true}};
            Volume sums(coarsening.image(shape), PixelType::float32);
            const auto sum = [&](std::optional<double> saturation, const deconvolve::Held& held) {
                return deconvolve::sum_pixels(to_volume(image, type).view(), saturation, held,
                                              coarsening, 2, sums.view());
            };
            CHECK(sum({}, {}) == element_count(sums.shape()));
            CHECK(same(to_array(std::as_const(sums).view()), summed(image, coarsening)));

            // As the iterations hold photons out.
            const deconvolve::Held held{{0.5, 3}, 3};
            Volume data = to_volume(image, PixelType::float32);
            Volume apart(shape, PixelType::float32);
            const deconvolve::SetApart stage{
                data.elements<float>(),        apart.elements<float>(), 3, 0.5F, 3, 1,
                deconvolve::Thinning::hold_out};
            for (index_t i = 0; i < element_count(shape); ++i) stage(i);
            sum({}, held);
            const Array rest = summed(to_array(std::as_const(data).view()), coarsening);
            CHECK(total(rest) < 0.95 * total(summed(image, coarsening)));
            CHECK(largest_difference(to_array(std::as_const(sums).view()), rest) < 1e-4);

            image(1, 2, 3) = 60;
            image(0, 2, 2) = 70;
            image(3, 5, 7) = 90;
            CHECK(sum(60, {}) == element_count(sums.shape()) - 2);
            CHECK(to_array(std::as_const(sums).view())(0, 2, 1).real() ==
                  static_cast<double>(deconvolve::coarse_saturation()));
            image(1, 2, 3) = image(0, 2, 2) = image(3, 5, 7) = 0;
            const Array before = summed(image, coarsening);
            if (type != PixelType::float32) continue;
            image(2, 2, 2) = -5;  // read as 0
            sum({}, {});
            CHECK(to_array(std::as_const(sums).view())(1, 2, 1).real() <= before(1, 2, 1).real());
            CHECK(total(to_array(std::as_const(sums).view())) >= total(before) - 40);
        }
}

TEST_CASE("coarse start: the penalty of an object stays what it was") {
    DeconvolveOptions options;
    options.method = DeconvolveMethod::richardson_lucy_tv;
    options.coarse_start = 2;
    options.tv_weight = 0.5;
    options.voxel = {3, 1, 2};
    const Array psf = wide_psf();
    const deconvolve::Problem fine = deconvolve::resolve_problem(
        {8, 32, 32}, to_volume(psf, PixelType::float64).view(), options);
    // The weighted gradient of a ramp by g along each axis, per fine voxel.
    const auto penalty = [](const DeconvolveOptions& of, const Coarsening& coarsening) {
        const VoxelSize& size = of.voxel;
        const double least = std::min({size.z_um, size.y_um, size.x_um});
        double squares = 0;
        for (int a = 0; a < 3; ++a) {
            const double change =
                0.7 * static_cast<double>(coarsening.pixels() * coarsening.factor(a));
            squares += std::pow(change * least / size[a], 2);
        }
        return of.tv_weight * std::sqrt(squares) / static_cast<double>(coarsening.pixels());
    };
    for (const Coarsening& coarsening :
         {Coarsening{{true, true, true}}, Coarsening{{false, true, true}},
          Coarsening{{true, false, true}}}) {
        const deconvolve::Problem coarse = deconvolve::coarse_problem(fine, coarsening);
        CHECK(std::abs(penalty(coarse.options, coarsening) / penalty(fine.options, {}) - 1) <
              1e-12);
    }
}

TEST_CASE("coarse start: axes that are short or sharp are not halved") {
    const auto halved = [](const Shape3& shape, const Array& psf, std::optional<Boundary> edges) {
        DeconvolveOptions options;
        options.boundary = edges;
        return deconvolve::coarsening_of(
                   deconvolve::resolve_problem(shape, to_volume(psf, PixelType::float64).view(),
                                               options))
            .halved;
    };
    using Axes = std::array<bool, 3>;
    const Boundary wrap{BoundaryKind::wrap};
    CHECK(halved({40, 40, 40}, wide_psf(), {}) == Axes{false, true, true});
    CHECK(halved({1, 40, 12}, wide_psf(), {}) == Axes{false, true, false});
    CHECK(halved({40, 41, 40}, wide_psf(), wrap) == Axes{false, false, true});
    CHECK(halved({40, 40, 40}, gaussian_psf({9, 9, 9}, {4, 4, 4}, {2, 0.3, 2}), {}) ==
          Axes{true, false, true});
}

TEST_CASE("coarse start: fewer iterations come as near, and many to the same likelihood") {
    Random random(test_seed("coarse start"));
    const Array psf = wide_psf();
    for (const DeconvolveMethod method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::scaled_heavy_ball,
          DeconvolveMethod::richardson_lucy_tv})
        for (const Acceleration acceleration : {Acceleration::none, Acceleration::biggs_andrews}) {
            const Array image = specimen_image(random, {1, 64, 71}, psf);
            DeconvolveOptions options;
            options.method = method;
            options.acceleration = acceleration;
            options.background = 2;
            options.tv_weight = 1e-3;
            options.iterations = 5;
            INFO(to_string(method) << " " << to_string(acceleration));
            const double plain = final_likelihood(image, psf, options);
            options.coarse_start = 20;
            const Deconvolved started = deconvolved(image, psf, options);
            CHECK(started.report.iterations == 5);
            CHECK(started.report.coarse_iterations == 40);  // on two images
            options.coarse_start = 0;
            options.iterations = 12;
            CHECK(started.report.last.likelihood > final_likelihood(image, psf, options));
            CHECK(started.report.last.likelihood > plain);

            options.iterations = 400;
            const double limit = final_likelihood(image, psf, options);
            options.coarse_start = 20;
            CHECK(std::abs(final_likelihood(image, psf, options) / limit - 1) < 0.01);
        }
}

TEST_CASE("coarse start: any shape, PSF and edges") {
    Random random(test_seed("coarse shapes"));
    struct Case {
        Shape3 shape;
        Array psf;
    };
    const Case cases[] = {
        {{1, 33, 37}, wide_psf()},
        {{17, 19, 23}, gaussian_psf({8, 6, 7}, {4, 3, 3}, {2, 1.7, 2})},
        {{1, 1, 61}, gaussian_psf({1, 1, 11}, {0, 0, 5}, {1, 1, 2.2})},
        {{16, 20, 18}, gaussian_psf({31, 41, 41}, {15, 20, 20}, {3, 3, 3})},
    };
    for (const Case& c : cases)
        for (const char* edges : {"extend", "zero", "nearest", "reflect", "mirror", "wrap"}) {
            Array image = random.integers(c.shape, 0, 40);
            for_each_index({c.shape.z, c.shape.y, c.shape.x / 2},
                           [&](const Index3& i) { at(image, i) += 200; });
            DeconvolveOptions options;
            options.boundary = parse_edges(edges);
            options.iterations = 2;
            options.background.reset();
            INFO(to_string(c.shape) << ", PSF " << to_string(c.psf.shape) << ", " << edges);
            const Deconvolved plain = deconvolved(image, c.psf, options);
            options.coarse_start = 8;
            const Deconvolved started = deconvolved(image, c.psf, options);
            CHECK(started.report.background == plain.report.background);
            if (started.report.coarse_iterations == 0) {
                CHECK(edges == std::string("wrap"));  // of odd extents
                CHECK(same(started.result, plain.result));
            } else {
                CHECK(started.report.last.likelihood > plain.report.last.likelihood);
            }
        }
}

TEST_CASE("coarse start: what saturated pixels hold makes no difference") {
    Random random(test_seed("coarse saturation"));
    const Array psf = wide_psf();
    Array image = specimen_image(random, {1, 40, 44}, psf);
    DeconvolveOptions options;
    options.iterations = 3;
    options.background = 2;
    options.coarse_start = 10;
    options.saturation = 5000;
    for (index_t i = 0; i < 12; ++i) image(0, 3 * i, 20 + i) = 5000;
    const Deconvolved one = deconvolved(image, psf, options);
    for (index_t i = 0; i < 12; ++i) image(0, 3 * i, 20 + i) = 9000 + static_cast<double>(i);
    const Deconvolved other = deconvolved(image, psf, options);
    CHECK(one.report.coarse_iterations > 0);
    CHECK(one.report.saturated_pixels == 12);
    CHECK(same(one.result, other.result));

    // One in every coarse pixel: there is nothing to begin with.
    for (index_t y = 0; y < 40; y += 2)
        for (index_t x = 0; x < 44; x += 2) image(0, y, x) = 5000;
    const Deconvolved none = deconvolved(image, psf, options);
    CHECK(none.report.coarse_iterations == 0);
    options.coarse_start = 0;
    const Deconvolved plain = deconvolved(image, psf, options);
    CHECK(std::abs(none.report.last.likelihood / plain.report.last.likelihood - 1) < 0.05);
}

TEST_CASE("coarse start: held-out photons are left out of it, too") {
    Random random(test_seed("coarse held out"));
    const Array psf = wide_psf();
    const Array image = specimen_image(random, {1, 64, 64}, psf, 4000);
    DeconvolveOptions options;
    options.iterations = 100;
    options.background = 2;
    options.coarse_start = 4;
    options.hold_out = true;
    options.photons = PhotonScale{};
    const Deconvolved found = deconvolved(image, psf, options);
    CHECK(found.report.searched > 0);
    CHECK(found.report.coarse_iterations == 16);  // two images, twice
    CHECK(found.report.iterations >= 1);
    // The search begins as a deconvolution of what is left of the photons does.
    Volume data = to_volume(image, PixelType::float32);
    Volume apart(image.shape, PixelType::float32);
    const deconvolve::SetApart stage{
        data.elements<float>(),        apart.elements<float>(), 3, 1, 0, 1,
        deconvolve::Thinning::hold_out};
    for (index_t i = 0; i < element_count(image.shape); ++i) stage(i);
    DeconvolveOptions of_rest = options;
    of_rest.hold_out = false;
    of_rest.background = 2 * 7.0 / 8;
    of_rest.iterations = 1;
    const Array rest = to_array(std::as_const(data).view());
    const double first = deconvolved(rest, psf, of_rest).likelihoods.front();
    CHECK(std::abs(found.likelihoods.front() / first - 1) < 1e-4);

    // The result is that of as many iterations with all photons.
    options.hold_out = false;
    options.iterations = found.report.iterations;
    CHECK(same(found.result, deconvolved(image, psf, options).result));
}

TEST_CASE("coarse start: where an estimate is given, that is what is begun with") {
    Random random(test_seed("coarse start given"));
    const Array psf = wide_psf();
    const Array image = specimen_image(random, {1, 40, 44}, psf);
    const Volume start = to_volume(random.array(image.shape, false, 3), PixelType::float32);
    const auto resumed = [&](int coarse) {
        DeconvolveOptions options;
        options.iterations = 3;
        options.coarse_start = coarse;
        const Deconvolver deconvolver(image.shape, to_volume(psf, PixelType::float64).view(),
                                      options, cpu_only());
        Volume result(image.shape, PixelType::float32);
        DeconvolveRun run;
        run.start = start.view();
        const DeconvolveReport report =
            deconvolver.execute(to_volume(image, PixelType::float32).view(), result.view(), run);
        CHECK(report.coarse_iterations == 0);
        return to_array(std::as_const(result).view());
    };
    CHECK(same(resumed(0), resumed(10)));
}

TEST_CASE("coarse start: plan, progress, an end in between, and what is refused") {
    Random random(test_seed("coarse plan"));
    const Array psf = wide_psf();
    const Array image = specimen_image(random, {1, 64, 64}, psf);
    DeconvolveOptions options;
    options.iterations = 4;
    options.coarse_start = 6;
    const Volume taps = to_volume(psf, PixelType::float64);
    const Deconvolver deconvolver(image.shape, taps.view(), options, cpu_only());
    const DeconvolvePlan plan = deconvolver.plan();
    CHECK(plan.coarse_images == std::vector<Shape3>{{1, 16, 16}, {1, 32, 32}});
    CHECK(contains(plan.to_string(), "6 iterations on an image of 1×32×32"));
    options.coarse_start = 0;
    const Deconvolver plain(image.shape, taps.view(), options, cpu_only());
    CHECK(plain.plan().host_bytes < plan.host_bytes);
    CHECK(plain.plan().coarse_images.empty());
    CHECK(!contains(plain.plan().to_string(), "begins"));

    const Volume pixels = to_volume(image, PixelType::uint16);
    Volume result(image.shape, PixelType::uint16);
    std::vector<double> fractions;
    int told = 0;
    ExecutionContext context;
    context.progress = [&](double fraction) { fractions.push_back(fraction); };
    DeconvolveRun run;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        CHECK(iteration.number == ++told);
        CHECK(iteration.of == 4);
    };
    deconvolver.execute(pixels.view(), result.view(), run, context);
    CHECK(told == 4);
    CHECK(std::is_sorted(fractions.begin(), fractions.end()));
    CHECK(fractions.size() >= 16);
    CHECK(fractions.back() == 1);

    std::stop_source stop;
    context.stop = stop.get_token();
    context.progress = [&](double) { stop.request_stop(); };
    CHECK_THROWS_AS(deconvolver.execute(pixels.view(), result.view(), {}, context), Cancelled);

    options.coarse_start = 6;
    const Array point = gaussian_psf({1, 3, 3}, {0, 1, 1}, {1, 0.2, 0.2});
    const Deconvolver sharp(image.shape, to_volume(point, PixelType::float64).view(), options,
                            cpu_only());
    CHECK(contains(sharp.plan().to_string(), "no coarser image"));

    options.coarse_start = -1;
    CHECK_THROWS_AS(Deconvolver(image.shape, taps.view(), options, cpu_only()), InvalidArgument);
    options.coarse_start = 1;
    for (const DeconvolveMethod method :
         {DeconvolveMethod::wiener, DeconvolveMethod::wiener_butterworth,
          DeconvolveMethod::gradient_consensus}) {
        options.method = method;
        CHECK(contains(message_of<InvalidArgument>(
                           [&] { Deconvolver(image.shape, taps.view(), options, cpu_only()); }),
                       "coarse start"));
    }
}

TEST_CASE("coarse start: memory is planned for, and its limit kept") {
    const Shape3 shape{40, 48, 56};
    Random random(test_seed("coarse memory"));
    const Volume taps =
        to_volume(gaussian_psf({9, 9, 9}, {4, 4, 4}, {2, 2, 2}), PixelType::float32);
    DeconvolveOptions options;
    options.iterations = 2;
    options.coarse_start = 2;
    options.max_host_bytes = index_t{9000} << 10;
    const index_t before = memory_use().current_bytes;
    reset_memory_peak();
    const Deconvolver engine(shape, taps.view(), options, cpu_only());
    Volume image(shape, PixelType::float32);
    std::fill_n(image.elements<float>(), element_count(shape), 5.0F);
    CHECK(engine.execute(image.view(), image.view()).coarse_iterations > 0);
    CHECK(engine.plan().host_bytes <= *options.max_host_bytes);
    CHECK(memory_use().peak_bytes - before <= engine.plan().host_bytes);
    options.max_host_bytes = index_t{1} << 20;
    CHECK_THROWS_AS(Deconvolver(shape, taps.view(), options, cpu_only()), OutOfMemory);
}
