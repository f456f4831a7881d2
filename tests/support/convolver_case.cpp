// SPDX-License-Identifier: Apache-2.0
#include "tests/support/convolver_case.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "engines/engines.hpp"
#include "tests/support/streams.hpp"
#include "volumes/convolver_factory.hpp"

namespace convolume::testing {
namespace {

Definition definition_of(const ConvolverCase& c) {
    return {c.options.mode, c.options.boundary, c.options.operation,
            center_index(c.options.center, c.kernel.shape)};
}

void choose_extents(Random& random, Mode mode, double work, Shape3& image, Shape3& kernel) {
    const auto extent = [&] {
        return random.pick<index_t>({1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 19, 23});
    };
    const auto dimensions = random.integer(1, 5);  // 3, 4 and 5 all mean three dimensions
    do {
        for (int a = 0; a < 3; ++a) {
            const bool flat = 3 - a > dimensions;
            image[a] = flat ? 1 : extent();
            kernel[a] = flat ? 1 : random.chance(0.7) ? random.integer(1, 7) : extent();
            if (mode == Mode::valid) kernel[a] = std::min(kernel[a], image[a]);
        }
    } while (oracle_cost(mode, image, kernel) > work);
}

}  // namespace

std::string ConvolverCase::describe() const {
    const Index3 c = center_index(options.center, kernel.shape);
    return message("image ", to_string(image_shape), " ", to_string(image_type), " kernel ",
                   to_string(kernel.shape), is_real(kernel) ? " real " : " complex ",
                   to_string(options.mode), " ", to_string(options.boundary), " ",
                   to_string(options.operation), " center ", c.z, ",", c.y, ",", c.x, " method ",
                   to_string(options.method), " parts ", options.parts, " ",
                   to_string(options.precision));
}

Array ConvolverCase::expected() const {
    return oracle(image, image_shape, kernel, definition_of(*this));
}

double ConvolverCase::norm_floor(index_t outputs) const {
    const BoundaryKind boundary = options.boundary.kind;
    const bool adjoint = options.operation == Operation::adjoint;
    // Mode valid reads nothing outside the image, so the boundary's value must not raise the floor.
    const bool reads_constant =
        boundary == BoundaryKind::constant && !adjoint && options.mode != Mode::valid;
    if (adjoint && boundary != BoundaryKind::zero && boundary != BoundaryKind::constant) {
        // The adjoint sums samples that the boundary copied, with the errors of all positions.
        outputs = 1;
        for (int a = 0; a < 3; ++a) outputs *= image.shape[a] + kernel.shape[a] - 1;
    }
    return testing::norm_floor(image, kernel, outputs, reads_constant ? options.boundary.value : 0);
}

ConvolverCase random_convolver_case(std::uint64_t seed, std::uint64_t number, double work) {
    Random random(seed, number);
    ConvolverCase c;
    Options& options = c.options;
    options.mode = static_cast<Mode>(number % 3);
    options.boundary.kind = static_cast<BoundaryKind>(number / 3 % 6);
    options.operation = static_cast<Operation>(number / 18 % 3);
    if (options.boundary.kind == BoundaryKind::constant)
        options.boundary.value = random.pick({0.0, 1.5, -0.75});
    options.method = random.pick({Method::automatic, Method::in_core, Method::dif, Method::dif,
                                  Method::dif, Method::tiled, Method::direct});
    if (options.method == Method::dif) options.parts = random.pick({0, 1, 2, 4, 8, 16});
    options.precision = random.pick({Precision::float32, Precision::float64});

    Shape3 kernel;
    choose_extents(random, options.mode, work, c.image_shape, kernel);
    options.center.kind = random.pick(
        {KernelCenter::Kind::middle, KernelCenter::Kind::scipy, KernelCenter::Kind::explicit_});
    if (options.center.kind == KernelCenter::Kind::explicit_)
        for (int a = 0; a < 3; ++a)  // half of the centers are at an end
            options.center.index[a] = random.chance(0.5) ? random.pick<index_t>({0, kernel[a] - 1})
                                                         : random.integer(0, kernel[a] - 1);

    const bool complex_image = random.chance(0.3);
    c.image_type = pixel_type(random.pick({Precision::float32, Precision::float64}), complex_image);
    const bool adjoint = options.operation == Operation::adjoint;
    c.image = random.array(
        adjoint ? oracle_output_shape(options.mode, c.image_shape, kernel) : c.image_shape,
        complex_image, random.pick({0.0, 0.5}));
    c.kernel = random.array(kernel, random.chance(0.25), random.pick({0.0, 0.5}));
    return c;
}

ConvolverCase make_case(Random& random, const Shape3& image, const Shape3& kernel,
                        const Options& options) {
    ConvolverCase c;
    c.options = options;
    c.image_shape = image;
    c.image = random.array(options.operation == Operation::adjoint
                               ? oracle_output_shape(options.mode, image, kernel)
                               : image,
                           false);
    c.kernel = random.array(kernel, false);
    return c;
}

std::string defect(const ConvolverCase& c, const EngineList& engines, double* error) {
    try {
        const Volume kernel = to_volume(c.kernel, c.kernel_type());
        const Convolver convolver = ConvolverFactory::make(c.image_shape, kernel.view(), c.options,
                                                           engines, c.image_type, c.output_type());
        return defect(c, convolver, error);
    } catch (const std::exception& exception) {
        return message("threw: ", exception.what());
    }
}

std::string defect(const ConvolverCase& c, const Convolver& convolver, double* error) {
    const Array want = c.expected();
    if (!(convolver.input_shape() == c.image.shape))
        return "input_shape() is " + to_string(convolver.input_shape());
    if (!(convolver.output_shape() == want.shape))
        return "output_shape() is " + to_string(convolver.output_shape());
    const Volume image = to_volume(c.image, c.image_type);
    Volume output(want.shape, c.output_type());
    for (int execution = 1; execution <= 2; ++execution) {
        poison(output.view());
        convolver.execute(image.view(), output.view());
        const auto comparison = compare(want, to_array(output.view()), c.norm_floor(want.count()));
        if (error) *error = execution == 1 ? comparison.error : std::max(*error, comparison.error);
        if (!comparison.within(c.options.precision))
            return message("execution ", execution, ": ", comparison.report, "\n",
                           convolver.plan().to_string());
    }
    if (compare(c.image, to_array(image.view())).error != 0) return "the input was changed";

    // Executes the same plan from a source to a sink.
    TestSource source({&image});
    TestSink sink({want.shape, c.output_type()});
    convolver.execute(source, sink);
    if (const std::string wrong = sink.defect(); !wrong.empty()) return "streamed: " + wrong;
    if (!same_bytes(output, sink.volume(0))) {
        const auto comparison =
            compare(want, to_array(sink.volume(0).view()), c.norm_floor(want.count()));
        return message("streamed, it differs from the result in memory: ", comparison.report, "\n",
                       convolver.plan().to_string());
    }
    return {};
}

EngineList cpu_engines() {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    return make_engines(choice);
}

EngineList cpu_engines(int count, std::optional<index_t> memory) {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.cpu_engines = count;
    choice.threads = 2;
    choice.max_cpu_engine_bytes = memory;
    return make_engines(choice);
}

Array result_of(const ConvolverCase& c, const EngineList& engines) {
    const Volume kernel = to_volume(c.kernel, c.kernel_type()),
                 image = to_volume(c.image, c.image_type);
    const Convolver convolver = ConvolverFactory::make(c.image_shape, kernel.view(), c.options,
                                                       engines, c.image_type, c.output_type());
    Volume output(convolver.output_shape(), c.output_type());
    poison(output.view());
    convolver.execute(image.view(), output.view());
    return to_array(output.view());
}

}  // namespace convolume::testing
