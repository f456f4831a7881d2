// SPDX-License-Identifier: Apache-2.0
// Tests the search for numbers of iterations, on the image and on coarser ones.

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Array hazy_psf() {
    Array psf = gaussian_psf({1, 61, 61}, {0, 30, 30}, {1, 2, 2});
    const Array haze = gaussian_psf({1, 61, 61}, {0, 30, 30}, {1, 12, 12});
    for (std::size_t i = 0; i < psf.values.size(); ++i)
        psf.values[i] = 0.3 * psf.values[i] + 0.7 * haze.values[i];
    return psf;
}

// Returns the factor from the number of iterations on halves to that on all photons.
double expected_growth(const Array& psf, index_t planes) {
    double far = 0, all = 0;
    for (index_t y = 0; y < psf.shape.y; ++y)
        for (index_t x = 0; x < psf.shape.x; ++x) {
            const double light = psf(0, y, x).real();
            all += light;
            if (std::abs(y - psf.shape.y / 2) > 16 || std::abs(x - psf.shape.x / 2) > 16)
                far += light;
        }
    return planes == 1 ? 1 : 1.25 + 0.4 * far / all;
}

// The halves of the photons of an image, each twice as bright, of the gain 1 and the offset 0.
std::array<Array, 2> halves_of(const Array& image) {
    std::array<Array, 2> halves{Array(image.shape), Array(image.shape)};
    for (std::size_t i = 0; i < image.values.size(); ++i) {
        deconvolve::PixelRandomBits bits(1, deconvolve::ThinningPurpose::hold_out,
                                         static_cast<index_t>(i));
        const auto value = static_cast<float>(image.values[i].real());
        halves[0].values[i] = 2 * deconvolve::drawn_value(value, 1, 1, 0, bits);
        halves[1].values[i] = 2.0 * image.values[i] - halves[0].values[i];
    }
    return halves;
}

// Returns the number of iterations after which an estimate of the second half is nearest to one of
// the first, which has one of the numbers of iterations in `references`.
int nearest_of(const std::array<Array, 2>& halves, const Array& psf, DeconvolveOptions options,
               const std::vector<int>& references) {
    const Shape3 shape = halves[0].shape;
    options.gain.reset();
    int nearest = 1;
    for (const int most : references) {
        options.iterations = most;
        const Array reference = deconvolved(halves[0], psf, options, cpu_only()).result;
        Volume estimate(shape, PixelType::float32), result(shape, PixelType::float32);
        double least = 0;
        DeconvolveRun run;
        run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
            read(estimate.view());
            double distance = 0;
            for (std::size_t i = 0; i < reference.values.size(); ++i)
                distance += std::norm(static_cast<double>(estimate.elements<float>()[i]) -
                                      reference.values[i]);
            if (iteration.number > 1 && distance >= least) return;
            nearest = iteration.number;
            least = distance;
        };
        Deconvolver(shape, to_volume(psf, PixelType::float64).view(), options, cpu_only())
            .execute(to_volume(halves[1], PixelType::float32).view(), result.view(), run);
        if (nearest <= 0.5 * most) break;
    }
    return nearest;
}

DeconvolveOptions options_of_search() {
    DeconvolveOptions options;
    options.iterations = 100;
    options.coarse_start = 0;
    options.background = 2;
    options.gain = 1;
    options.offset = 0;
    return options;
}

}  // namespace

TEST_CASE("search: the number of iterations follows from halves of the photons and from haze") {
    Random random(test_seed("coarse number"));
    const std::vector<int> of_plane{25, 50, 100}, of_stack{100};
    for (const auto& [psf, planes, references] : {std::tuple{wide_psf(), 1, of_plane},
                                                  {hazy_psf(), 1, of_plane},
                                                  {hazy_psf(), 2, of_stack}}) {
        const Array image = specimen_image(random, {planes, 64, 64}, psf, 2000);
        DeconvolveOptions options = options_of_search();
        const int nearest = nearest_of(halves_of(image), psf, options, references);
        options.hold_out = true;
        const int found = deconvolved(image, psf, options, cpu_only()).report.iterations;
        INFO(planes << " planes, nearest after " << nearest << " iterations");
        CHECK(found == std::min(100L, std::lround(expected_growth(psf, planes) * nearest)));
    }
}

namespace {

// Returns the number of iterations, at most `most`, after which halves of the sums of 2 x 2 pixels
// are nearest.
int nearest_on_coarse(const std::array<Array, 2>& halves, const Array& psf, int most) {
    const Shape3 shape = halves[0].shape, coarse{shape.z, shape.y / 2, shape.x / 2};
    const deconvolve::DeconvolutionProblem problem = deconvolve::coarse_problem(
        deconvolve::resolve_problem(shape, to_volume(psf, PixelType::float64).view(),
                                    options_of_search(), 1),
        {{false, true, true}});
    std::array<Array, 2> sums{Array(coarse), Array(coarse)};
    for (std::size_t half = 0; half < 2; ++half)
        for (index_t z = 0; z < shape.z; ++z)
            for (index_t y = 0; y < shape.y; ++y)
                for (index_t x = 0; x < shape.x; ++x)
                    sums[half](z, y / 2, x / 2) += halves[half](z, y, x);
    DeconvolveOptions of_sums = options_of_search();
    of_sums.background = 4 * 2;
    of_sums.center = problem.options.center;
    return nearest_of(sums, to_array(std::as_const(problem.psf).view()), of_sums, {most});
}

// Returns the numbers of iterations of the references that follow those of a coarser image.
std::vector<int> references_after(int coarser, int limit) {
    std::vector<int> references;
    double number = std::clamp(1.5 * coarser, 30.0, 80.0);
    for (; 2.5 * number <= limit; number *= 2.5) references.push_back(static_cast<int>(number));
    references.push_back(limit);
    return references;
}

}  // namespace

TEST_CASE("coarse start: a search finds the number of iterations on a coarser image as well") {
    Random random(test_seed("coarse number of the coarse image"));
    const Shape3 shape{2, 24, 24};  // its coarse image is too small for a second one
    std::vector<int> numbers;
    for (const auto& [psf, photons, most] :
         {std::tuple{hazy_psf(), 100.0, 90}, {hazy_psf(), 1500.0, 90}, {wide_psf(), 1500.0, 20}}) {
        const Array image = specimen_image(random, shape, psf, photons);
        const std::array<Array, 2> halves = halves_of(image);
        DeconvolveOptions options = options_of_search();
        const int on_coarse = nearest_on_coarse(halves, psf, most);
        options.coarse_start = on_coarse;
        const int on_fine = nearest_of(halves, psf, options, references_after(on_coarse, 100));
        options.coarse_start = 90;
        options.hold_out = true;
        const DeconvolveReport found = deconvolved(image, psf, options, cpu_only()).report;
        const double growth = expected_growth(psf, shape.z);
        INFO(photons << " photons, nearest after " << on_coarse << " and " << on_fine);
        CHECK(found.coarse_iterations == std::min<long>(most, std::lround(growth * on_coarse)));
        CHECK(found.iterations == std::min(100L, std::lround(growth * on_fine)));
        numbers.push_back(on_coarse);
    }
    CHECK(numbers[0] < numbers[1]);
}
