// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/problem.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "convolume/filter_bank.hpp"

namespace convolume::cli {

namespace {

/// Returns a random number in [0, 1) of 53 bits.
double uniform(std::mt19937_64& random) {
    return static_cast<double>(random() >> 11) * 0x1p-53;
}

/// Describes a plan in a few words: the method, its parts, tiles or slabs, and the engines.
std::string plan_text(const PlanCandidate& chosen, const std::vector<std::string>& engines) {
    std::string text = to_string(chosen.method);
    if (chosen.algorithm == Algorithm::separable)
        text += message(" (", to_string(chosen.algorithm), ')');
    if (chosen.method == Method::dif)
        text += message(", ", chosen.parts, chosen.parts == 1 ? " part" : " parts");
    if (chosen.method == Method::tiled) text += message(", ", to_string(chosen.tiles), " tiles");
    if (chosen.slab_planes > 0) text += message(", slabs of ", chosen.slab_planes, " planes");
    if (chosen.gpus_per_block > 1)
        text += message(", spread over ", chosen.gpus_per_block, " GPUs");
    if (chosen.algorithm == Algorithm::fft) text += message(", grid ", to_string(chosen.grid));
    text += ", on";
    for (const std::string& engine : engines) text += ' ' + engine;
    return text;
}

PlannedWay planned_convolution(const std::shared_ptr<Convolver>& convolver,
                               const ConstImageView& image,
                               const NonfiniteSample::Location& first) {
    const auto execute = [convolver, image, first](const ImageView& result,
                                                   const ExecutionContext& context) {
        try {
            convolver->execute(image, result, context);
        } catch (const NonfiniteSample& error) {
            NonfiniteSample::Location place = first;
            for (int a = 0; a < 3; ++a) place.index[a] += error.place().index[a];
            throw error.at(place);
        }
    };
    const auto facts = [convolver] {
        const Plan plan = convolver->plan();
        const PlanCandidate& chosen = plan.chosen;
        return PlanFacts{plan_text(chosen, plan.engines), chosen.seconds, chosen.host_bytes,
                         chosen.on_gpu ? chosen.engine_bytes : 0};
    };
    return {{convolver->output_shape(), convolver->natural_output_type()}, execute, facts};
}

PlannedWay planned_filters(const std::shared_ptr<FilterBank>& bank, const ConstImageView& signals) {
    const auto execute = [bank, signals](const ImageView& result, const ExecutionContext& context) {
        bank->execute(signals, result, nullptr, context);
    };
    // Plans of filters declare the memory of streams only.
    const auto facts = [bank] {
        const FilterPlan plan = bank->plan();
        std::string text = to_string(plan.method);
        if (plan.segment > 0) text += message(", segments of ", plan.segment);
        return PlanFacts{text + ", on " + plan.engine, plan.seconds};
    };
    return {{{bank->signal_shape().signals, bank->filters(), bank->result_samples()},
             bank->result_type()},
            execute,
            facts};
}

}  // namespace

Problem image_problem(const StackFormat& image, const StackFormat& kernel, const Options& options,
                      const NonfiniteSample::Location& first) {
    const bool complex_data = is_complex(image.type) || is_complex(kernel.type);
    Shape3 shape = image.shape;
    for (int axis = 0; axis < 3; ++axis) {
        if (options.mode == Mode::full) shape[axis] += kernel.shape[axis] - 1;
        if (options.mode == Mode::valid)
            shape[axis] = std::max<index_t>(1, shape[axis] - kernel.shape[axis] + 1);
    }
    Problem problem{.name = message(to_string(image.shape), " * ", to_string(kernel.shape)),
                    .input_name = "image and kernel",
                    .work = element_count(image.shape),
                    .input_bytes = checked_add(image.bytes(), kernel.bytes())};
    problem.result_bytes =
        StackFormat{shape, sample_type(Precision::float64, complex_data)}.bytes();
    problem.products = static_cast<double>(element_count(image.shape)) *
                       static_cast<double>(element_count(kernel.shape));
    problem.plan = [=](const std::vector<Volume>& inputs, const Way& way, index_t limit_bytes) {
        Options chosen = options;
        chosen.method = parse_method(way.method);
        chosen.parts = way.parts;
        chosen.precision = parse_precision(way.precision);
        // A limit of 0 would be refused as an invalid option.
        chosen.max_host_bytes = std::max<index_t>(1, limit_bytes);
        return planned_convolution(
            std::make_shared<Convolver>(image.shape, inputs.at(1).view(), chosen, way.engines(),
                                        image.type, sample_type(chosen.precision, complex_data)),
            inputs.at(0).view(), first);
    };
    return problem;
}

Problem signal_problem(const StackFormat& signals, const std::vector<StackFormat>& filters,
                       const FilterOptions& options) {
    index_t count = 0, taps = 0, input_bytes = signals.bytes();
    bool complex_data = is_complex(signals.type);
    for (const StackFormat& rows : filters) {
        count += rows.shape.y;
        taps = std::max(taps, rows.shape.x);
        input_bytes = checked_add(input_bytes, rows.bytes());
        complex_data = complex_data || is_complex(rows.type);
    }
    const Shape3& shape = signals.shape;
    const index_t longest = options.mode == Mode::full ? shape.x + taps : shape.x;
    const index_t result_bytes = checked_multiply(checked_multiply(shape.y, longest),
                                                  checked_multiply(count, complex_data ? 16 : 8));
    Problem problem{.name = message(shape.y == 1 ? "" : message(shape.y, " signals of "), shape.x,
                                    " samples * ", count,
                                    count == 1 ? " filter of " : " filters of ", taps, " taps"),
                    .input_name = "signal and filters",
                    .work = checked_multiply(element_count(shape), count),
                    .input_bytes = input_bytes,
                    .result_bytes = result_bytes};
    problem.products = static_cast<double>(problem.work) * static_cast<double>(taps);
    problem.plan = [=](const std::vector<Volume>& inputs, const Way& way, index_t limit_bytes) {
        // Every plan takes at least the memory of the results and the input.
        const index_t results = way.precision == "float64" ? result_bytes : result_bytes / 2;
        const index_t bytes = checked_add(results, input_bytes);
        if (bytes > limit_bytes)
            throw OutOfMemory(message("signals and results take ", format_bytes(bytes),
                                      ", and the limit is ", format_bytes(limit_bytes)));
        FilterOptions chosen = options;
        chosen.method = parse_filter_method(way.method);
        chosen.segment = way.segment;
        chosen.precision = parse_precision(way.precision);
        std::vector<ConstImageView> rows;
        for (std::size_t i = 1; i < inputs.size(); ++i) rows.push_back(inputs[i].view());
        return planned_filters(
            std::make_shared<FilterBank>(SignalShape{signals.shape.y, signals.shape.x}, rows,
                                         chosen, way.engines(), signals.type),
            inputs.at(0).view());
    };
    return problem;
}

Volume synthetic_image(const Shape3& shape, std::uint64_t seed) {
    Volume image(shape, PixelType::uint16);
    std::mt19937_64 random(seed);
    auto* const voxels = image.elements<std::uint16_t>();
    for (index_t i = 0; i < element_count(shape); ++i) {
        const double u = uniform(random);
        const double square = u * u;
        voxels[i] = static_cast<std::uint16_t>(std::lround(100 + 3995 * square * square));
    }
    return image;
}

Volume synthetic_kernel(const Shape3& shape, std::uint64_t seed) {
    Volume kernel(shape, PixelType::float32);
    std::mt19937_64 random(seed);
    auto* sample = kernel.elements<float>();
    // Returns the distance from the middle in standard deviations.
    const auto deviations = [](index_t i, index_t extent) {
        return (static_cast<double>(i) - static_cast<double>(extent - 1) / 2) /
               (static_cast<double>(extent) / 6);
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const double dz = deviations(z, shape.z);
                const double dy = deviations(y, shape.y);
                const double dx = deviations(x, shape.x);
                const double envelope = std::exp(-(dz * dz + dy * dy + dx * dx) / 2);
                *sample++ = static_cast<float>(envelope * (0.5 + uniform(random)));
            }
    return kernel;
}

Volume synthetic_rows(index_t rows, index_t samples, std::uint64_t seed) {
    Volume volume({1, rows, samples}, PixelType::float32);
    std::mt19937_64 random(seed);
    auto* const values = volume.elements<float>();
    for (index_t i = 0; i < element_count(volume.shape()); ++i)
        values[i] = static_cast<float>(2 * uniform(random) - 1);
    return volume;
}

}  // namespace convolume::cli
