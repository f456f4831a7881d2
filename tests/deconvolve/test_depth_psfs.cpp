// SPDX-License-Identifier: Apache-2.0
// Tests PSFs that vary with depth against direct sums in double precision, in which every voxel has
// a PSF of its own.

#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "deconvolve/executors/host_arrays.hpp"
#include "deconvolve/executors/host_passes.hpp"
#include "deconvolve/placement.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::deconvolve;
using namespace convolume::testing;

namespace {

// A PSF at a plane of the image, with the index of its center.
struct PlanePsf {
    Array taps;
    Index3 center;
    double plane;
};

// PSFs as a caller gives them.
class GivenPsfs {
  public:
    explicit GivenPsfs(const std::vector<PlanePsf>& psfs, double um_per_plane = 1) {
        for (const PlanePsf& psf : psfs)
            volumes_.push_back(to_volume(psf.taps, PixelType::float64));
        for (std::size_t k = 0; k < psfs.size(); ++k)
            given_.push_back({volumes_[k].view(), psfs[k].plane * um_per_plane,
                              KernelCenter{KernelCenter::Kind::explicit_, psfs[k].center}});
    }
    const std::vector<DepthPsf>& operator()() const { return given_; }

  private:
    std::vector<Volume> volumes_;
    std::vector<DepthPsf> given_;
};

// Returns the share of PSF k at a plane: a triangle around its plane, and 1 beyond the outermost.
double share_of(const std::vector<PlanePsf>& psfs, std::size_t k, double plane) {
    const double own = psfs[k].plane;
    if (plane <= own) {
        if (k == 0) return 1;
        const double before = psfs[k - 1].plane;
        return std::max(0.0, (plane - before) / (own - before));
    }
    if (k + 1 == psfs.size()) return 1;
    const double after = psfs[k + 1].plane;
    return std::max(0.0, (after - plane) / (after - own));
}

// Calls visit(voxel, pixel, tap) for every pair of an object's voxel and an image's pixel.
template <class Visit>
void visit_pairs(const std::vector<PlanePsf>& psfs, const Shape3& object, const Index3& image_at,
                 const Shape3& image, const Visit& visit) {
    for (index_t oz = 0; oz < object.z; ++oz)
        for (std::size_t k = 0; k < psfs.size(); ++k) {
            const auto& [taps, center, plane] = psfs[k];
            const double share = share_of(psfs, k, static_cast<double>(oz - image_at.z));
            if (share == 0) continue;
            for (index_t oy = 0; oy < object.y; ++oy)
                for (index_t ox = 0; ox < object.x; ++ox)
                    for (index_t z = 0; z < taps.shape.z; ++z)
                        for (index_t y = 0; y < taps.shape.y; ++y)
                            for (index_t x = 0; x < taps.shape.x; ++x) {
                                const index_t iz = oz - image_at.z + z - center.z;
                                const index_t iy = oy - image_at.y + y - center.y;
                                const index_t ix = ox - image_at.x + x - center.x;
                                if (iz < 0 || iy < 0 || ix < 0 || iz >= image.z || iy >= image.y ||
                                    ix >= image.x)
                                    continue;
                                visit((oz * object.y + oy) * object.x + ox,
                                      (iz * image.y + iy) * image.x + ix,
                                      share * taps(z, y, x).real());
                            }
        }
}

Array direct_blur(const std::vector<PlanePsf>& psfs, const DeconvolutionProblem& problem,
                  const Array& object) {
    Array image(problem.image);
    visit_pairs(psfs, problem.object, problem.image_at, problem.image,
                [&](index_t voxel, index_t pixel, double tap) {
                    image.values[static_cast<std::size_t>(pixel)] +=
                        tap * object.values[static_cast<std::size_t>(voxel)];
                });
    return image;
}

Array direct_back(const std::vector<PlanePsf>& psfs, const DeconvolutionProblem& problem,
                  const Array& image) {
    Array object(problem.object);
    visit_pairs(psfs, problem.object, problem.image_at, problem.image,
                [&](index_t voxel, index_t pixel, double tap) {
                    object.values[static_cast<std::size_t>(voxel)] +=
                        tap * image.values[static_cast<std::size_t>(pixel)];
                });
    return object;
}

double relative_difference(const Array& a, const Array& b) {
    Array apart = a;
    for (std::size_t i = 0; i < a.values.size(); ++i) apart.values[i] -= b.values[i];
    return norm(apart) / std::max(norm(b), 1e-300);
}

// Three PSFs of different extents and centers.
std::vector<PlanePsf> uneven_psfs(Random& random) {
    return {{random_psf(random, {3, 5, 4}), {1, 2, 1}, 1.5},
            {random_psf(random, {5, 4, 5}), {3, 1, 2}, 4},
            {random_psf(random, {4, 3, 6}), {0, 1, 4}, 8.25}};
}

Deconvolved deconvolved_with(const Array& image, const std::vector<DepthPsf>& psfs,
                             const DeconvolveOptions& options) {
    Deconvolved done;
    const Volume pixels = to_volume(image, PixelType::float32);
    Volume result(image.shape, PixelType::float32);
    done.report =
        Deconvolver(image.shape, psfs, options, cpu_only(2)).execute(pixels.view(), result.view());
    done.result = to_array(result.view());
    return done;
}

// A specimen of balls, 10 um deep, in which each plane has the PSF of its depth behind oil.
struct DeepSpecimen {
    static constexpr Shape3 shape{25, 40, 40};
    static constexpr double plane_um = 0.4;

    static PlanePsf psf(double depth_um) {
        PsfOptions options;
        options.model = PsfModel::gibson_lanni;
        options.objective.ns = 1.38;
        options.voxel = {plane_um, 0.1, 0.1};
        options.size = {21, 27, 27};
        options.depth_um = depth_um;
        return {to_array(make_psf(options).values.view()), {10, 13, 13}, depth_um / plane_um};
    }
    static std::vector<PlanePsf> psfs(const std::vector<double>& depths_um) {
        std::vector<PlanePsf> all;
        for (const double depth : depths_um) all.push_back(psf(depth));
        return all;
    }

    DeepSpecimen() : truth(shape), recorded(shape) {
        Random random(test_seed("deep specimen"));
        for (int ball = 0; ball < 40; ++ball) {
            const Index3 at{random.integer(0, shape.z - 1), random.integer(4, shape.y - 5),
                            random.integer(4, shape.x - 5)};
            const double light = 2000 + 8000 * random.uniform();
            for (index_t z = -1; z <= 1; ++z)
                for (index_t y = -4; y <= 4; ++y)
                    for (index_t x = -4; x <= 4; ++x)
                        if (at.z + z >= 0 && at.z + z < shape.z && 9 * z * z + y * y + x * x <= 18)
                            truth(at.z + z, at.y + y, at.x + x) += light;
        }
        std::vector<double> depths;
        for (index_t z = 0; z < shape.z; ++z) depths.push_back(plane_um * static_cast<double>(z));
        const std::vector<PlanePsf> exact = psfs(depths);
        for (index_t z = 0; z < shape.z; ++z)
            for (index_t y = 0; y < shape.y; ++y)
                for (index_t x = 0; x < shape.x; ++x) {
                    if (truth(z, y, x) == 0.0) continue;
                    const auto& [taps, center, plane] = exact[static_cast<std::size_t>(z)];
                    for (index_t k = 0; k < taps.shape.z; ++k)
                        for (index_t j = 0; j < taps.shape.y; ++j)
                            for (index_t i = 0; i < taps.shape.x; ++i) {
                                const index_t pz = z + k - center.z, py = y + j - center.y,
                                              px = x + i - center.x;
                                if (std::min({pz, py, px}) < 0 || pz >= shape.z || py >= shape.y ||
                                    px >= shape.x)
                                    continue;
                                recorded(pz, py, px) += truth(z, y, x).real() * taps(k, j, i);
                            }
                }
        for (Complex& pixel : recorded.values) pixel = poisson(random, pixel.real() + 2);
    }

    double quality(const std::vector<double>& depths_um) const {
        DeconvolveOptions options;
        options.voxel = {plane_um, 0.1, 0.1};
        options.background = 2;
        options.iterations = 100;  // details that differ with depth converge last
        const GivenPsfs given(psfs(depths_um), plane_um);
        return psnr(truth, deconvolved_with(recorded, given(), options).result);
    }

    Array truth, recorded;
};

}  // namespace

TEST_CASE("deconvolve: a PSF that varies with depth blurs and projects back as direct sums do") {
    Random random(test_seed("PSFs at depths"));
    const std::vector<PlanePsf> psfs = uneven_psfs(random);
    const GivenPsfs given(psfs);
    for (const bool zero : {false, true})
        for (const bool keep_spectrum : {false, true}) {
            DeconvolveOptions options;
            if (zero) options.boundary = Boundary{};
            const deconvolve::DeconvolutionProblem problem =
                resolve_problem({9, 13, 11}, given(), options);
            const HostPassLayout layout(problem, 2, keep_spectrum);
            auto passes = make_plane_passes(layout.first(), problem.psf_views());
            HostPassArrays arrays(problem, passes, 2);
            const Array x = random.array(problem.object, false, 1);
            const Array y = random.array(problem.image, false, 1);
            store(x, view_of(arrays.object(0), problem.object));
            store(y, view_of(arrays.image(0), problem.image));
            arrays.blur(arrays.object(0), arrays.image(1));
            arrays.blur_back(arrays.image(0), arrays.object(1));
            const Array blurred = to_array(view_of(arrays.image(1), problem.image));
            const Array projected = to_array(view_of(arrays.object(1), problem.object));
            INFO((zero ? "zero" : "extend") << (keep_spectrum ? ", spectra kept" : ""));
            CHECK(relative_difference(blurred, direct_blur(psfs, problem, x)) < 1e-6);
            CHECK(relative_difference(projected, direct_back(psfs, problem, y)) < 1e-6);
            const double ax_y = inner_product(blurred, y).real();
            CHECK(std::abs(ax_y - inner_product(x, projected).real()) < 1e-6 * std::abs(ax_y));
        }
}

TEST_CASE("deconvolve: iterations with a PSF that varies with depth follow their definition") {
    Random random(test_seed("iterations with PSFs at depths"));
    const std::vector<PlanePsf> psfs = uneven_psfs(random);
    const GivenPsfs given(psfs);
    const Array image = random.integers({9, 13, 11}, 5, 90);
    DeconvolveOptions options;
    options.acceleration = Acceleration::none;
    options.iterations = 4;
    options.background = 3;
    const deconvolve::DeconvolutionProblem problem = resolve_problem(image.shape, given(), options);
    Array ones(problem.image), x(problem.object);
    for (Complex& value : ones.values) value = 1;
    const Array weights = direct_back(psfs, problem, ones);
    double mean = 0;
    for (const Complex& value : image.values) mean += value.real();
    mean = mean / static_cast<double>(image.count()) - 3;
    for (Complex& value : x.values) value = mean;
    for (int k = 0; k < options.iterations; ++k) {
        Array ratio = direct_blur(psfs, problem, x);
        for (std::size_t i = 0; i < ratio.values.size(); ++i)
            ratio.values[i] = image.values[i] / (ratio.values[i] + 3.0);
        const Array correction = direct_back(psfs, problem, ratio);
        for (std::size_t i = 0; i < x.values.size(); ++i)
            x.values[i] = weights.values[i].real() < 1e-2
                              ? 0
                              : x.values[i] * correction.values[i] / weights.values[i];
    }
    Array expected(image.shape);
    for (index_t z = 0; z < image.shape.z; ++z)
        for (index_t y = 0; y < image.shape.y; ++y)
            for (index_t i = 0; i < image.shape.x; ++i)
                expected(z, y, i) =
                    x(z + problem.image_at.z, y + problem.image_at.y, i + problem.image_at.x);
    CHECK(relative_difference(deconvolved_with(image, given(), options).result, expected) < 1e-5);

    // Without a penalty, total variation over whole arrays takes the same steps as passes.
    options.method = DeconvolveMethod::richardson_lucy_tv;
    options.tv_weight = 0;
    CHECK(relative_difference(deconvolved_with(image, given(), options).result, expected) < 1e-5);
    std::vector<DepthPsf> unsorted = given();
    std::swap(unsorted[0], unsorted[2]);
    CHECK(relative_difference(deconvolved_with(image, unsorted, options).result, expected) < 1e-5);
}

TEST_CASE("deconvolve: equal PSFs at several depths are as good as one") {
    Random random(test_seed("equal PSFs at depths"));
    const Array psf = gaussian_psf({5, 7, 7}, {2, 3, 3}, {1, 1.5, 1.5});
    const Array image = random.integers({12, 20, 18}, 5, 90);
    std::vector<PlanePsf> psfs;
    for (const double plane : {-1.0, 2.0, 3.5, 10.0, 30.0}) psfs.push_back({psf, {2, 3, 3}, plane});
    const GivenPsfs given(psfs);
    DeconvolveOptions options;
    options.iterations = 3;  // more iterations amplify rounding
    options.background = 1;
    for (const auto method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::scaled_heavy_ball,
          DeconvolveMethod::richardson_lucy_tv, DeconvolveMethod::gradient_consensus,
          DeconvolveMethod::non_negative_least_squares, DeconvolveMethod::wiener})
        for (const int coarse_start : {0, 3}) {
            if (coarse_start > 0 && !(method == DeconvolveMethod::richardson_lucy)) continue;
            options.method = method;
            options.coarse_start = coarse_start;
            INFO(to_string(method) << ", coarse start " << coarse_start);
            const Array one = deconvolved(image, psf, options).result;
            CHECK(relative_difference(deconvolved_with(image, given(), options).result, one) <
                  1e-6);
        }
}

TEST_CASE("deconvolve: four PSFs recover what one PSF loses in a deep specimen", "[long]") {
    const DeepSpecimen specimen;
    const double one = specimen.quality({5});
    const double four = specimen.quality({0, 10. / 3, 20. / 3, 10});
    std::vector<double> all;
    for (int z = 0; z < 25; ++z) all.push_back(0.4 * z);
    const double exact = specimen.quality(all);
    INFO("one " << one << " dB, four " << four << " dB, one for each plane " << exact << " dB");
    CHECK(four > one + 0.7);
    CHECK(four > exact - 0.5);
}

TEST_CASE("deconvolve: plans count the spectra of all PSFs, and respect limits") {
    const Array psf = gaussian_psf({9, 15, 15}, {4, 7, 7}, {2, 3, 3});
    std::vector<PlanePsf> psfs;
    for (int k = 0; k < 5; ++k) psfs.push_back({psf, {4, 7, 7}, 5.0 * k});
    const GivenPsfs given(psfs);
    const Shape3 shape{21, 64, 64};
    const auto plan = [&](std::size_t count, DeconvolveOptions options) {
        const std::vector<DepthPsf> some(given().begin(),
                                         given().begin() + static_cast<std::ptrdiff_t>(count));
        return Deconvolver(shape, some, options, cpu_only(1)).plan();
    };
    for (const auto method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv}) {
        DeconvolveOptions options;
        options.method = method;
        const DeconvolvePlan two = plan(2, options);
        const DeconvolvePlan five = plan(5, options);
        CHECK(five.psfs == 5);
        CHECK(contains(five.to_string(), "5, interpolated"));
        const index_t spectrum = five.grid.z * five.grid.y * (five.grid.x / 2 + 1) * 8;
        CHECK(five.host_bytes - two.host_bytes >= 3 * spectrum);
        options.max_host_bytes = five.host_bytes - 1;  // spectra are not kept
        CHECK(plan(5, options).host_bytes < five.host_bytes);
        options.max_host_bytes = two.array_bytes + (index_t{1} << 20);
        const std::string text = message_of<OutOfMemory>([&] { plan(5, options); });
        INFO(text);
        const std::size_t begin = text.find("allow ") + 6;
        options.max_host_bytes =
            parse_byte_size(text.substr(begin, text.find(" of host memory") - begin));
        CHECK(plan(5, options).host_bytes <= *options.max_host_bytes);
    }
    // PSFs of depths that the object does not reach take nothing.
    const GivenPsfs far({{psf, {4, 7, 7}, 0}, {psf, {4, 7, 7}, 40}, {psf, {4, 7, 7}, 80}});
    CHECK(Deconvolver(shape, far(), {}, cpu_only(1)).plan().psfs == 2);
}

TEST_CASE("deconvolve: PSFs at depths are refused with their cause") {
    const Array psf = gaussian_psf({3, 3, 3}, {1, 1, 1}, {1, 1, 1});
    const PlanePsf at_0{psf, {1, 1, 1}, 0}, at_4{psf, {1, 1, 1}, 4};
    const auto refusal = [](const std::vector<PlanePsf>& psfs, const DeconvolveOptions& options) {
        const GivenPsfs given(psfs);
        return message_of<Error>([&] { Deconvolver({6, 8, 8}, given(), options, cpu_only(1)); });
    };
    CHECK(contains(refusal({}, {}), "no PSF"));
    CHECK(contains(refusal({at_0, at_0}, {}), "two PSFs are of the depth 0"));
    CHECK(contains(refusal({at_0, {psf, {1, 1, 1}, std::nan("")}}, {}), "finite"));
    CHECK(contains(refusal({at_0, {Array({3, 3, 3}), {1, 1, 1}, 4}}, {}), "no light"));
    DeconvolveOptions options;
    options.method = DeconvolveMethod::wiener_butterworth;
    CHECK(contains(refusal({at_0, at_4}, options), "wb"));
    options = {};
    options.boundary = Boundary{BoundaryKind::reflect};
    CHECK(contains(refusal({at_0, at_4}, options), "extend or zero"));
}
