// SPDX-License-Identifier: Apache-2.0
// Compares surveys of kernels with plain loops over all samples, in every pixel type.

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/kernel_survey.hpp"
#include "tests/catch.hpp"
#include "tests/core/row_types.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// Returns the survey by one loop in C order.
template <class T>
KernelSurvey expected_survey(const ConstImageView& kernel) {
    KernelSurvey want;
    const Shape3& shape = kernel.shape;
    const auto from_middle = [&](const Index3& at) {
        const auto square = [](index_t i, index_t n) { return (i - n / 2) * (i - n / 2); };
        return square(at.z, shape.z) + square(at.y, shape.y) + square(at.x, shape.x);
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const T sample = *static_cast<const T*>(kernel.at(z, y, x));
                const std::complex<double> value(static_cast<double>(std::real(sample)),
                                                 static_cast<double>(std::imag(sample)));
                const Index3 at{z, y, x};
                const bool finite = std::isfinite(value.real()) && std::isfinite(value.imag());
                if (!finite && !want.nonfinite) want.nonfinite = at;
                const double magnitude =
                    is_complex_type<T> ? std::abs(value) : std::abs(value.real());
                want.sum += value;
                want.magnitudes += magnitude;
                for (std::size_t a = 0; a < 3; ++a)
                    want.moments[a] += magnitude * static_cast<double>(at[static_cast<int>(a)]);
                if (magnitude < want.least) want.least = magnitude;
                if (magnitude > want.most ||
                    (magnitude == want.most && from_middle(at) < from_middle(want.peak))) {
                    want.most = magnitude;
                    want.peak = at;
                }
            }
    return want;
}

template <class T>
void check(const ConstImageView& kernel, int threads) {
    const KernelSurvey want = expected_survey<T>(kernel);
    const KernelSurvey found = survey_kernel(kernel, threads);
    INFO(to_string(kernel.type) << ' ' << to_string(kernel.shape) << ", strides "
                                << to_string(kernel.strides, ",") << ", " << threads << " threads");
    CHECK(found.nonfinite.has_value() == want.nonfinite.has_value());
    if (want.nonfinite && found.nonfinite) {
        CHECK(*found.nonfinite == *want.nonfinite);
        CHECK_FALSE(std::isfinite(found.nonfinite_value));
        return;
    }
    const double close = 1e-12 * want.magnitudes;
    CHECK(std::abs(found.sum - want.sum) <= close);
    CHECK(std::abs(found.magnitudes - want.magnitudes) <= close);
    for (std::size_t a = 0; a < 3; ++a)
        CHECK(std::abs(found.moments[a] - want.moments[a]) <=
              close * static_cast<double>(kernel.shape[static_cast<int>(a)]));
    CHECK(found.least == Approx(want.least));
    CHECK(found.most == Approx(want.most));
    CHECK(found.peak == want.peak);
    // The number of threads changes no bit.
    const KernelSurvey alone = survey_kernel(kernel, 1);
    CHECK(found.sum == alone.sum);
    CHECK(found.magnitudes == alone.magnitudes);
    CHECK(found.moments == alone.moments);
}

template <class T>
T sample_of(Random& random, index_t levels) {
    const auto number = [&] {
        return static_cast<RealOf<T>>(std::is_unsigned_v<T> ? random.integer(0, levels)
                                                            : random.integer(-levels, levels));
    };
    if constexpr (is_complex_type<T>)
        return {number(), number()};
    else
        return number();
}

/// Checks the kernel as it is, from its end, and with its axes exchanged.
template <class T>
void check_views(Volume& kernel) {
    const ConstImageView view = kernel.view();
    const Shape3& shape = view.shape;
    for (const int threads : {1, 2, 5}) {
        check<T>(view, threads);
        check<T>({view.at(shape.z - 1, shape.y - 1, shape.x - 1),
                  view.type,
                  shape,
                  {-view.strides.z, -view.strides.y, -view.strides.x}},
                 threads);
        check<T>({view.data,
                  view.type,
                  {shape.x, shape.z, shape.y},
                  {view.strides.x, view.strides.z, view.strides.y}},
                 threads);
    }
}

}  // namespace

TEST_CASE("a survey equals a loop over all samples") {
    Random random(test_seed("kernel survey"));
    for (int type = 0; type <= static_cast<int>(PixelType::complex128); ++type)
        visit_pixel_type(static_cast<PixelType>(type), [&](auto tag) {
            using T = typename decltype(tag)::type;
            for (const Shape3& shape :
                 {Shape3{1, 1, 1}, Shape3{1, 1, 500}, Shape3{3, 5, 7}, Shape3{1, 90, 1700},
                  Shape3{40, 60, 61}, Shape3{1, 1, 140000}, Shape3{7, 1, 33}})
                for (const index_t levels : {1, 100}) {  // a single level has many equal peaks
                    // Samples are divided among threads alike for all types.
                    if (element_count(shape) > 100000 && !std::is_same_v<T, std::uint16_t> &&
                        !std::is_same_v<T, float> && !std::is_same_v<T, std::complex<double>>)
                        continue;
                    Volume kernel(shape, pixel_type_of_v<T>);
                    T* const samples = kernel.elements<T>();
                    for (index_t i = 0; i < element_count(shape); ++i)
                        samples[i] = sample_of<T>(random, levels);
                    check_views<T>(kernel);
                    if constexpr (!std::is_integral_v<T>) {
                        using Real = RealOf<T>;
                        for (int bad = 0; bad < 2; ++bad)
                            samples[random.integer(0, element_count(shape) - 1)] =
                                T(random.pick({std::numeric_limits<Real>::quiet_NaN(),
                                               -std::numeric_limits<Real>::infinity()}));
                        check_views<T>(kernel);
                    }
                }
        });
}

TEST_CASE("sums of finite samples may overflow") {
    Volume kernel({2, 3, 4}, PixelType::float64);
    double* const samples = kernel.elements<double>();
    for (index_t i = 0; i < 24; ++i) samples[i] = std::numeric_limits<double>::max();
    const KernelSurvey survey = survey_kernel(kernel.view(), 2);
    CHECK_FALSE(survey.nonfinite);
    CHECK(std::isinf(survey.magnitudes));
    CHECK(survey.peak == Index3{1, 1, 2});
    samples[17] = -std::numeric_limits<double>::infinity();
    CHECK(survey_kernel(kernel.view(), 2).nonfinite == Index3{1, 1, 1});
    CHECK(survey_kernel(kernel.view(), 2).nonfinite_value ==
          -std::numeric_limits<double>::infinity());
}

TEST_CASE("extremes of integers are exact") {
    const std::int32_t whole[] = {std::numeric_limits<std::int32_t>::min(), 5,
                                  std::numeric_limits<std::int32_t>::max()};
    const KernelSurvey survey = survey_kernel(view_of(whole, {1, 1, 3}), 1);
    CHECK(survey.most == 2147483648.0);
    CHECK(survey.least == 5);
    CHECK(survey.peak == Index3{});
    CHECK(survey.sum == 4.0);
    const std::int8_t small[] = {-128, 127};
    CHECK(survey_kernel(view_of(small, {1, 1, 2}), 1).most == 128);
}

TEST_CASE("kernels without samples have no peak") {
    const KernelSurvey survey =
        survey_kernel(ConstImageView{nullptr, PixelType::float32, {0, 5, 1}, {5, 1, 1}}, 2);
    CHECK(survey.most == -1);
    CHECK(survey.magnitudes == 0);
    CHECK(survey.peak == Index3{});
}
