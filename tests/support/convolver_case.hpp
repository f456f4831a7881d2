// SPDX-License-Identifier: Apache-2.0
#pragma once
// One convolution as a caller requests it, run through Convolver and compared with the oracle.

#include <optional>
#include <string>

#include "convolume/convolver.hpp"
#include "engines/engines.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

struct ConvolverCase {
    Array image;  ///< input; for the adjoint it has the shape of convolve's output
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

/// Draws options and extents. `mode`, `boundary` and `operation` take every combination as `number`
/// counts up. The oracle's sums have at most `work` products.
ConvolverCase random_convolver_case(std::uint64_t seed, std::uint64_t number, double work = 2e5);

/// Returns a float32 case of given shapes and options with random data.
ConvolverCase make_case(Random& random, const Shape3& image, const Shape3& kernel,
                        const Options& options = {});

/// Executes twice into poisoned memory, and once as a stream. Returns a description of the first
/// defect, or "". Sets `error` to the largest relative L2 error.
std::string defect(const ConvolverCase& c, const EngineList& engines, double* error = nullptr);

/// Tests a given Convolver.
std::string defect(const ConvolverCase& c, const Convolver& convolver, double* error = nullptr);

/// Returns one CPU engine with all threads.
EngineList cpu_engines();
/// Returns CPU engines that have two threads together, and at most `memory` bytes each.
EngineList cpu_engines(int count, std::optional<index_t> memory = {});

/// Returns one result in the natural output type.
Array result_of(const ConvolverCase& c, const EngineList& engines);

}  // namespace convolume::testing
