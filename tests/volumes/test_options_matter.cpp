// SPDX-License-Identifier: Apache-2.0
// Checks that every option changes the result, and changes it as defined.

#include <functional>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

void check(const ConvolverCase& c, const EngineList& engines) {
    const std::string wrong = defect(c, engines);
    INFO(c.describe() << "\n" << wrong);
    CHECK(wrong.empty());
}

}  // namespace

TEST_CASE("each option changes the result") {
    Random random(test_seed("options matter"));
    const EngineList engines = cpu_engines();
    for (const Method method :
         {Method::automatic, Method::in_core, Method::dif, Method::tiled, Method::direct}) {
        ConvolverCase base = make_case(random, {9, 10, 12}, {4, 4, 6});
        base.options.method = method;
        base.options.boundary.kind = BoundaryKind::nearest;
        const Array plain = result_of(base, engines);
        const auto differs = [&](const std::function<void(Options&)>& change) {
            ConvolverCase c = base;
            change(c.options);
            check(c, engines);
            const Array other = result_of(c, engines);
            if (!(other.shape == plain.shape)) return true;
            return compare(plain, other).error > 1e-3;
        };
        INFO(to_string(method));
        CHECK(differs([](Options& o) { o.mode = Mode::full; }));
        CHECK(differs([](Options& o) { o.mode = Mode::valid; }));
        for (const BoundaryKind kind :
             {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::mirror, BoundaryKind::wrap})
            CHECK(differs([&](Options& o) { o.boundary.kind = kind; }));
        CHECK(differs([](Options& o) { o.boundary = {BoundaryKind::constant, 3}; }));
        CHECK(differs([](Options& o) { o.operation = Operation::correlate; }));
        CHECK(differs([](Options& o) { o.operation = Operation::adjoint; }));
        CHECK(differs([](Options& o) { o.center.kind = KernelCenter::Kind::scipy; }));
        CHECK(differs([](Options& o) { o.center = {KernelCenter::Kind::explicit_, {3, 0, 1}}; }));
    }
}

TEST_CASE("normalization divides by the kernel's sum or peak") {
    Random random(test_seed("normalization"));
    const EngineList engines = cpu_engines();
    for (const Operation operation :
         {Operation::convolve, Operation::correlate, Operation::adjoint})
        for (const auto normalization :
             {KernelNormalization::none, KernelNormalization::sum, KernelNormalization::peak}) {
            ConvolverCase c = make_case(random, {6, 7, 8}, {3, 4, 5});
            c.kernel = random.array({3, 4, 5}, false, 0.75);  // positive taps
            c.options.operation = operation;
            c.options.normalization = normalization;
            c.options.boundary = {BoundaryKind::constant, 2};
            double sum = 0, peak = 0;
            for (const Complex& tap : c.kernel.values) {
                sum += tap.real();
                peak = std::max(peak, tap.real());
            }
            const double divisor = normalization == KernelNormalization::none  ? 1
                                   : normalization == KernelNormalization::sum ? sum
                                                                               : peak;
            ConvolverCase divided = c;
            for (Complex& tap : divided.kernel.values) tap /= divisor;
            const auto comparison = compare(divided.expected(), result_of(c, engines));
            INFO(to_string(normalization) << " " << to_string(operation) << "\n"
                                          << comparison.report);
            CHECK(comparison.within(Precision::float32));
            const Volume kernel = to_volume(c.kernel, PixelType::float32);
            CHECK(std::abs(ConvolverFactory::make(c.image_shape, kernel.view(), c.options, engines)
                               .kernel_sum() -
                           sum) < 1e-6 * sum);
        }
}

TEST_CASE("a negative peak keeps its sign in normalization by the sum only") {
    Random random(test_seed("signed normalization"));
    const EngineList engines = cpu_engines();
    ConvolverCase c = make_case(random, {6, 7, 8}, {3, 3, 3});
    c.options.normalization = KernelNormalization::sum;
    for (Complex& tap : c.kernel.values) tap = tap.real() - 1;
    Complex sum = 0;
    for (const Complex& tap : c.kernel.values) sum += tap;
    ConvolverCase divided = c;
    for (Complex& tap : divided.kernel.values) tap /= sum;
    CHECK(compare(divided.expected(), result_of(c, engines)).within(Precision::float32));
}

TEST_CASE("float64 is more precise than float32, with images of either") {
    Random random(test_seed("precision"));
    const EngineList engines = cpu_engines();
    ConvolverCase c = make_case(random, {9, 10, 11}, {4, 5, 6});
    c.options.method = Method::in_core;
    double coarse = 0, fine = 0;
    CHECK(defect(c, engines, &coarse).empty());
    c.options.precision = Precision::float64;
    CHECK(defect(c, engines, &fine).empty());
    CHECK(fine < 1e-6 * coarse);
}
