// SPDX-License-Identifier: Apache-2.0
#pragma once
// Methods of deconvolution by their definitions, in double precision. They share no code with the
// library.

#include "convolume/deconvolver.hpp"
#include "tests/support/array.hpp"
#include "tests/support/oracle.hpp"

namespace convolume::testing {

/// The blur A and its adjoint from their definitions, and the image's position in the object.
struct Model {
    Array psf;
    Definition definition;
    Shape3 image;
    Shape3 object;
    Index3 image_at{};

    Model(const Array& taps, const Shape3& extents, const DeconvolveOptions& options)
        : psf(taps), image(extents), object(extents) {
        definition.center = center_index(options.center, psf.shape);
        if (options.boundary) {
            definition.boundary = *options.boundary;
            return;
        }
        definition.mode = Mode::valid;
        for (int a = 0; a < 3; ++a) {
            object[a] = image[a] + psf.shape[a] - 1;
            image_at[a] = psf.shape[a] - 1 - definition.center[a];
        }
    }
    Array blur(const Array& x) const { return oracle_convolve(x, psf, definition); }
    Array back(const Array& y) const { return oracle_adjoint(y, object, psf, definition); }
    Array crop(const Array& x) const {
        Array result(image);
        for (index_t k = 0; k < image.z; ++k)
            for (index_t j = 0; j < image.y; ++j)
                for (index_t i = 0; i < image.x; ++i)
                    result(k, j, i) = x(k + image_at.z, j + image_at.y, i + image_at.x);
        return result;
    }
};

/// Returns an array whose elements are `value`.
Array filled(const Shape3& shape, double value);
/// Returns the sum of the real parts.
double total(const Array& array);

/// Returns the object after the iterations of `options` from the image `y`: those of Richardson and
/// Lucy, without a penalty, with total variation or with a roughness. `weights` are those of
/// pixels.
Array richardson_lucy(const Model& model, const Array& y, const DeconvolveOptions& options,
                      const Array* weights = nullptr);

/// The gradient Aᵀ(A x + b - y), and half the squared norm of A x + b - y.
struct Gradient {
    Gradient(const Model& model, const Array& y, const Array& x, double background)
        : values(model.object) {
        Array difference = model.blur(x);
        for (std::size_t i = 0; i < difference.values.size(); ++i) {
            difference.values[i] += background - y.values[i];
            objective += std::pow(difference.values[i].real(), 2) / 2;
        }
        values = model.back(difference);
    }
    double operator[](std::size_t i) const { return values.values[i].real(); }
    Array values;
    double objective = 0;
};

/// Returns the object after iterations of non-negative least squares.
Array least_squares(const Model& model, const Array& y, const DeconvolveOptions& options);

}  // namespace convolume::testing
