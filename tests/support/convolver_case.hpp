// SPDX-License-Identifier: Apache-2.0
#pragma once
// One convolution as a caller asks for it, run through Convolver and compared with the oracle.

#include <string>

#include "convolume/convolver.hpp"
#include "engines/engines.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

struct ConvolverCase {
    Array image;  ///< for Operation::adjoint: of convolve's output shape
    Array kernel;
    Shape3 image_shape;
    Options options;
    PixelType image_type = PixelType::float32;

    bool is_complex() const { return convolume::is_complex(image_type) || !is_real(kernel); }
    PixelType output_type() const { return pixel_type(options.precision, is_complex()); }
    PixelType kernel_type() const { return pixel_type(Precision::float64, !is_real(kernel)); }
    std::string describe() const;
    Array expected() const;
    double norm_floor(index_t outputs) const;
};

/// Options and extents drawn at random; `mode`, `boundary` and `operation` take every combination
/// as `number` counts up. At most `work` products in the oracle's sums.
ConvolverCase random_convolver_case(std::uint64_t seed, std::uint64_t number, double work = 2e5);

/// A float32 case of given shapes with random data for `options` as they are.
ConvolverCase make_case(Random& random, const Shape3& image, const Shape3& kernel,
                        const Options& options = {});

/// Executes twice into poisoned memory; what is wrong, or nothing. `error` becomes the larger
/// relative L2 error.
std::string defect(const ConvolverCase& c, const EngineList& engines, double* error = nullptr);

/// The same for a given Convolver.
std::string defect(const ConvolverCase& c, const Convolver& convolver, double* error = nullptr);

/// One result in the natural type.
Array result_of(const ConvolverCase& c, const EngineList& engines);

}  // namespace convolume::testing
