// SPDX-License-Identifier: Apache-2.0
// Prints random oracle results as JSON lines for check_oracle.py.

#include <nlohmann/json.hpp>

#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

namespace {

using namespace convolume;
using namespace convolume::testing;

nlohmann::json to_json(const Array& array) {
    nlohmann::json real = nlohmann::json::array(), imag = nlohmann::json::array();
    for (const Complex& value : array.values) {
        real.push_back(value.real());
        imag.push_back(value.imag());
    }
    return {
        {"shape", {array.shape.z, array.shape.y, array.shape.x}}, {"real", real}, {"imag", imag}};
}

void dump(Random& random, const Definition& definition, const Shape3& image_shape,
          const Shape3& kernel_shape) {
    const Array image = random.array(image_shape, random.chance(0.4));
    const Array kernel = random.array(kernel_shape, random.chance(0.4));
    const Index3 c = definition.center;
    std::cout << nlohmann::json{{"mode", to_string(definition.mode)},
                                {"boundary", to_string(definition.boundary.kind)},
                                {"constant", definition.boundary.value},
                                {"operation", to_string(definition.operation)},
                                {"center", {c.z, c.y, c.x}},
                                {"image", to_json(image)},
                                {"kernel", to_json(kernel)},
                                {"result", to_json(oracle_convolve(image, kernel, definition))}}
                     .dump()
              << '\n';
}

}  // namespace

int main() {
    for (std::uint64_t n = 0; n < 400; ++n) {
        Random random(7, n);
        Shape3 image, kernel;
        for (int a = 0; a < 3; ++a) {
            image[a] = random.integer(1, 7);
            kernel[a] = random.integer(1, 6);
        }
        Definition definition;
        definition.operation = random.pick({Operation::convolve, Operation::correlate});
        if (n % 2 == 0) {
            definition.mode = random.pick({Mode::full, Mode::same, Mode::valid});
            definition.center = center_index({KernelCenter::Kind::scipy, {}}, kernel);
            if (definition.operation == Operation::correlate)
                definition.operation = Operation::convolve;
            if (definition.mode == Mode::valid)
                for (int a = 0; a < 3; ++a) kernel[a] = std::min(kernel[a], image[a]);
        } else {
            definition.boundary.kind =
                random.pick({BoundaryKind::constant, BoundaryKind::nearest, BoundaryKind::reflect,
                             BoundaryKind::mirror, BoundaryKind::wrap});
            definition.boundary.value =
                definition.boundary.kind == BoundaryKind::constant ? 0.75 : 0;
            for (int a = 0; a < 3; ++a) definition.center[a] = random.integer(0, kernel[a] - 1);
        }
        dump(random, definition, image, kernel);
    }
}
