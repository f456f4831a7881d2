// SPDX-License-Identifier: Apache-2.0
// Checks that a plan is a value: a copy remains valid after its object is gone.

#include <memory>
#include <type_traits>

#include "tests/catch.hpp"
#include "tests/interface/problems.hpp"

using namespace convolume;
using namespace convolume::testing;

static_assert(std::is_same_v<decltype(std::declval<const Convolver&>().plan()), Plan>);
static_assert(std::is_same_v<decltype(std::declval<const FilterBank&>().plan()), FilterPlan>);
static_assert(std::is_same_v<decltype(std::declval<const Deconvolver&>().plan()), DeconvolvePlan>);

TEST_CASE("plans outlive the objects that made them") {
    const Volume kernel = random_volume({3, 4, 5}, 1), taps = random_volume({1, 2, 31}, 2);
    auto convolver =
        std::make_unique<Convolver>(Shape3{12, 16, 20}, kernel.view(), Options{}, on_cpu());
    auto bank = std::make_unique<FilterBank>(
        SignalShape{2, 5000}, std::vector<ConstImageView>{taps.view()}, FilterOptions{}, on_cpu());
    auto deconvolver = std::make_unique<Deconvolver>(Shape3{12, 16, 20}, kernel.view(),
                                                     DeconvolveOptions{}, on_cpu());
    const Plan convolution = convolver->plan();
    const FilterPlan filtering = bank->plan();
    const DeconvolvePlan deconvolution = deconvolver->plan();
    const std::string texts[] = {convolution.to_string(), convolution.to_json(),
                                 filtering.to_string(), deconvolution.to_string()};
    convolver.reset();
    bank.reset();
    deconvolver.reset();
    CHECK(convolution.to_string() == texts[0]);
    CHECK(convolution.to_json() == texts[1]);
    CHECK(filtering.to_string() == texts[2]);
    CHECK(deconvolution.to_string() == texts[3]);
    for (const std::string& text : texts) CHECK_FALSE(text.empty());

    CHECK(convolution.image == Shape3{12, 16, 20});
    CHECK(convolution.kernel == Shape3{3, 4, 5});
    CHECK(convolution.engines == std::vector<std::string>{"cpu:0"});
    CHECK_FALSE(convolution.candidates.empty());
    CHECK(filtering.engine == "cpu:0");
    CHECK(deconvolution.object == Shape3{14, 19, 24});
}

TEST_CASE("changing a copy of a plan changes no object") {
    const Volume kernel = random_volume({3, 4, 5}, 1);
    const Convolver convolver({12, 16, 20}, kernel.view(), {}, on_cpu());
    Plan copy = convolver.plan();
    copy.image = {1, 1, 1};
    copy.engines.clear();
    copy.candidates.clear();
    CHECK(convolver.plan().image == Shape3{12, 16, 20});
    CHECK(convolver.plan().engines.size() == 1);
    CHECK_FALSE(convolver.plan().candidates.empty());
}

TEST_CASE("moved objects keep their plans") {
    const Volume kernel = random_volume({3, 4, 5}, 1);
    Convolver convolver({12, 16, 20}, kernel.view(), {}, on_cpu());
    const std::string before = convolver.plan().to_string();
    const Convolver moved = std::move(convolver);
    CHECK(moved.plan().to_string() == before);
}
