// SPDX-License-Identifier: Apache-2.0
// Compares random shapes, kinds and options with the oracle.

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/reference_engine.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr int failures_shown = 5;

/// Runs cases first … first + count - 1, each on engines(number).
template <class Engines>
void sweep(const char* name, std::uint64_t count, double work, const Engines& engines) {
    const std::uint64_t seed = test_seed(name);
    int failures = 0;
    double worst[2] = {};
    for (std::uint64_t number = 0; number < count && failures < failures_shown; ++number) {
        const ConvolverCase c = random_convolver_case(seed, number, work);
        double error = 0;
        const std::string wrong = defect(c, engines(number), &error);
        if (wrong.empty()) {
            double& largest = worst[c.options.precision == Precision::float64];
            largest = std::max(largest, error);
            continue;
        }
        ++failures;
        UNSCOPED_INFO("case " << number << ": " << c.describe() << "\n" << wrong);
        CHECK(wrong.empty());
    }
    REQUIRE(failures == 0);
    std::cout << name << ": " << count << " cases, worst relative L2 error " << worst[0]
              << " (float32), " << worst[1] << " (float64)\n";
}

}  // namespace

TEST_CASE("the convolver agrees with the oracle on a reference engine") {
    const EngineList one{std::make_shared<ReferenceEngine>()};
    const EngineList two{std::make_shared<ReferenceEngine>(ReferenceEngineOptions{"a", true, 0}),
                         std::make_shared<ReferenceEngine>(ReferenceEngineOptions{"b", true, 0})};
    sweep("sweep on reference engines", 600, 2e4,
          [&](std::uint64_t number) { return number % 2 ? one : two; });
}

TEST_CASE("the convolver agrees with the oracle on CPU engines", "[long]") {
    EngineList engines[3];
    for (int n = 0; n < 3; ++n) {
        EngineChoice choice;
        choice.device = EngineChoice::Device::cpu;
        choice.cpu_engines = n + 1;
        choice.threads = n + 1;
        engines[n] = make_engines(choice);
    }
    sweep("sweep on CPU engines", 2916, 2e5,
          [&](std::uint64_t number) { return engines[number / 5 % 3]; });
}
