// SPDX-License-Identifier: Apache-2.0
// Tests kernels that are replaced: results against the oracle and against new convolvers, plans
// that stay, refusals, and executions of other threads.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/reference_engine.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Convolver convolver_for(const ConvolverCase& c, const EngineList& engines) {
    const Volume kernel = to_volume(c.kernel, c.kernel_type());
    return ConvolverFactory::make(c.image_shape, kernel.view(), c.options, engines, c.image_type,
                                  c.output_type());
}

void replace(Convolver& convolver, const ConvolverCase& c) {
    convolver.replace_kernel(to_volume(c.kernel, c.kernel_type()).view());
}

Volume result_of(const ConvolverCase& c, const Convolver& convolver) {
    Volume result(convolver.output_shape(), c.output_type());
    convolver.execute(to_volume(c.image, c.image_type).view(), result.view());
    return result;
}

bool same_bits(const Volume& a, const Volume& b) {
    const auto bytes = static_cast<std::size_t>(bytes_of(a.shape(), a.type()));
    return a.shape() == b.shape() && a.type() == b.type() &&
           std::memcmp(std::as_const(a).view().data, std::as_const(b).view().data, bytes) == 0;
}

/// Returns a case with another kernel of the same extents.
ConvolverCase with_other_kernel(ConvolverCase c, Random& random) {
    c.kernel = random.array(c.kernel.shape, false);
    return c;
}

ConvolverCase with_ones(ConvolverCase c) {
    std::fill(c.kernel.values.begin(), c.kernel.values.end(), 1.0);
    return c;
}

/// A device whose largest number of blocks at once is counted.
class CountingDevice : public ReferenceEngine {
  public:
    CountingDevice() : ReferenceEngine({"gpu:0", true, index_t{1} << 24, 1}) {}

    ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                             const BlockInput& input, const BlockOutput& output, int task,
                             const ExecutionContext& context) override {
        if (inside_.fetch_add(1) > 0) shared = true;
        auto report = ReferenceEngine::convolve(block, kernel, input, output, task, context);
        --inside_;
        return report;
    }
    std::atomic<bool> shared{false};

  private:
    std::atomic<int> inside_{0};
};

}  // namespace

TEST_CASE("a replaced kernel gives the bits of a new convolver") {
    Random random(test_seed("replace kernel"));
    const EngineList engines = cpu_engines(2);
    for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct})
        for (const Operation operation :
             {Operation::convolve, Operation::correlate, Operation::adjoint})
            for (const BoundaryKind kind : {BoundaryKind::constant, BoundaryKind::reflect}) {
                ConvolverCase first = make_case(random, {14, 16, 18}, {3, 4, 5});
                first.options.method = method;
                if (method == Method::dif) first.options.parts = 4;
                first.options.operation = operation;
                first.options.boundary = {kind, kind == BoundaryKind::constant ? 2.5 : 0};
                const ConvolverCase second = with_other_kernel(first, random);
                INFO(second.describe());
                Convolver convolver = convolver_for(first, engines);
                CHECK(defect(first, convolver) == "");
                const std::string plan = convolver.plan().to_json();
                replace(convolver, second);
                CHECK(convolver.plan().to_json() == plan);
                CHECK(defect(second, convolver) == "");
                const Convolver made = convolver_for(second, engines);
                CHECK(convolver.kernel_sum() == made.kernel_sum());
                CHECK(same_bits(result_of(second, convolver), result_of(second, made)));
            }
}

TEST_CASE("kernels that become a product of three, and cease to be one, are planned as new ones") {
    Random random(test_seed("replace rank 1"));
    const EngineList engines = cpu_engines(2);
    ConvolverCase general = make_case(random, {12, 14, 16}, {5, 5, 5});
    general.options.method = Method::direct;
    const ConvolverCase box = with_ones(general);
    Convolver convolver = convolver_for(box, engines);
    REQUIRE(convolver.plan().chosen.algorithm == Algorithm::separable);
    for (const ConvolverCase& c : {general, box, general}) {
        replace(convolver, c);
        const Convolver made = convolver_for(c, engines);
        CHECK(convolver.plan().chosen.algorithm == made.plan().chosen.algorithm);
        CHECK(same_bits(result_of(c, convolver), result_of(c, made)));
        CHECK(defect(c, convolver) == "");
    }
}

TEST_CASE("the weights of missing samples are those of the new kernel") {
    Random random(test_seed("replace missing"));
    ConvolverCase first = make_case(random, {6, 7, 8}, {3, 3, 3});
    first.options.nan = NanPolicy::missing;
    first.options.normalization = KernelNormalization::sum;
    first = with_ones(first);
    ConvolverCase second = first;
    second.kernel.values[5] = 4;
    Volume image = to_volume(first.image, PixelType::float32);
    image.elements<float>()[100] = std::numeric_limits<float>::quiet_NaN();
    Convolver convolver = convolver_for(first, cpu_engines(1));
    replace(convolver, second);
    const Convolver made = convolver_for(second, cpu_engines(1));
    Volume found(image.shape(), PixelType::float32), expected(image.shape(), PixelType::float32);
    convolver.execute(image.view(), found.view());
    made.execute(image.view(), expected.view());
    CHECK(same_bits(found, expected));
}

TEST_CASE("other extents, types and centers are refused, and the kernel stays") {
    Random random(test_seed("replace refusals"));
    ConvolverCase c = make_case(random, {8, 9, 10}, {3, 3, 3});
    c.options.center = {KernelCenter::Kind::peak};
    c.kernel.values[13] = 10;
    Convolver convolver = convolver_for(c, cpu_engines(1));
    const auto refused = [&](const Volume& kernel) {
        return message_of<InvalidArgument>([&] { convolver.replace_kernel(kernel.view()); });
    };
    CHECK(contains(refused(to_volume(random.array({3, 3, 4}, false), c.kernel_type())), "3×3×4"));
    CHECK(contains(refused(to_volume(c.kernel, PixelType::float32)), "of float32"));
    ConvolverCase moved = c;
    std::swap(moved.kernel.values[13], moved.kernel.values[14]);
    CHECK(contains(refused(to_volume(moved.kernel, c.kernel_type())), "center elsewhere"));
    Volume bad = to_volume(c.kernel, c.kernel_type());
    bad.elements<double>()[3] = std::numeric_limits<double>::infinity();
    CHECK_THROWS_AS(convolver.replace_kernel(bad.view()), BadData);
    CHECK_THROWS_AS(convolver.replace_kernel(Volume({3, 3, 3}, c.kernel_type()).view()), BadData);
    CHECK(defect(c, convolver) == "");
}

TEST_CASE("executions of other threads have one kernel or the other, and a GPU has one at a time") {
    Random random(test_seed("replace while executing"));
    const auto device = std::make_shared<CountingDevice>();
    for (const EngineList& engines : {cpu_engines(2), EngineList{device}}) {
        ConvolverCase first = make_case(random, {8, 9, 10}, {3, 3, 4});
        first.options.method = Method::in_core;
        const ConvolverCase second = with_other_kernel(first, random);
        Convolver convolver = convolver_for(first, engines);
        const Volume of_first = result_of(first, convolver);
        const Volume of_second = result_of(first, convolver_for(second, engines));
        std::atomic<int> wrong{0}, executions{0};
        std::atomic<bool> ended{false};
        {
            std::vector<std::jthread> threads;
            for (int t = 0; t < 3; ++t)
                threads.emplace_back([&] {
                    while (!ended) {
                        const Volume found = result_of(first, convolver);
                        if (!same_bits(found, of_first) && !same_bits(found, of_second)) ++wrong;
                        ++executions;
                    }
                });
            for (int i = 0; executions < 30; ++i) replace(convolver, i % 2 == 0 ? second : first);
            ended = true;
        }
        CHECK(wrong == 0);
    }
    CHECK_FALSE(device->shared);
}
