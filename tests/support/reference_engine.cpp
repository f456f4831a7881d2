// SPDX-License-Identifier: Apache-2.0
#include "tests/support/reference_engine.hpp"

#include <cmath>
#include <limits>

#include "tests/support/circular.hpp"

namespace convolume::testing {
namespace {

struct ReferenceKernel : EngineKernel {
    Array taps;
};

template <class T>
double clamped(double value, ExecutionReport& report) {
    const auto low = static_cast<double>(std::numeric_limits<T>::lowest());
    const auto high = static_cast<double>(std::numeric_limits<T>::max());
    if (std::isnan(value)) {
        ++report.clamped_low;
        return 0;
    }
    const double rounded = std::nearbyint(value);
    report.clamped_low += rounded < low;
    report.clamped_high += rounded > high;
    return std::min(std::max(rounded, low), high);
}

}  // namespace

ReferenceEngine::ReferenceEngine(ReferenceEngineOptions options) {
    info_.name = options.name;
    info_.is_gpu = options.is_gpu;
    info_.memory_limit_bytes = options.memory_limit_bytes;
    info_.tasks_in_flight = options.tasks_in_flight;
}

BlockCost ReferenceEngine::estimate(const Block& block) const {
    const index_t sample_bytes = block.sample_bytes();
    const index_t loaded = element_count(block.loaded());
    const index_t kept = element_count(block.kept());
    const auto taps = static_cast<double>(element_count(block.kernel()));
    BlockCost cost;
    cost.kernel_bytes = checked_multiply(element_count(block.kernel()), sample_bytes);
    if (block.algorithm == Algorithm::fft) {
        cost.workspace_bytes = checked_multiply(element_count(block.grid()), sample_bytes);
        cost.compute_s =
            5e-9 * static_cast<double>(element_count(block.grid())) * (block.complex_data ? 2 : 1);
    } else {
        const Shape3 k = block.kernel();
        cost.workspace_bytes = checked_multiply(checked_add(loaded, kept), sample_bytes);
        cost.compute_s =
            1e-10 * static_cast<double>(kept) *
            (block.algorithm == Algorithm::direct ? taps : static_cast<double>(k.z + k.y + k.x));
    }
    if (info_.is_gpu) {
        cost.host_to_device_s = 1e-10 * static_cast<double>(loaded);
        cost.device_to_host_s = 1e-10 * static_cast<double>(kept);
    }
    cost.seconds = cost.host_to_device_s + cost.compute_s + cost.device_to_host_s;
    return cost;
}

std::shared_ptr<const EngineKernel> ReferenceEngine::prepare(const Block&,
                                                             const ConstImageView& taps, bool) {
    auto kernel = std::make_shared<ReferenceKernel>();
    kernel->taps = to_array(taps);
    return kernel;
}

ExecutionReport ReferenceEngine::convolve(const Block& block, const EngineKernel& kernel,
                                          const BlockInput& input, const BlockOutput& output, int,
                                          const ExecutionContext& context) {
    if (input.await_planes) input.await_planes(input.source.shape.z);
    throw_if_stopped(context);
    ++blocks_convolved_;
    ExecutionReport report;
    Array result = circular_convolve(block, gather_samples(input),
                                     dynamic_cast<const ReferenceKernel&>(kernel).taps);
    for (Complex& value : result.values)
        value += block.complex_data ? output.add : output.add.real();
    visit_pixel_type(output.target.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>)
            for (Complex& value : result.values) value = clamped<T>(value.real(), report);
    });
    store(result, output.target);
    return report;
}

}  // namespace convolume::testing
