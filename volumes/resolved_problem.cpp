// SPDX-License-Identifier: Apache-2.0
#include "volumes/resolved_problem.hpp"

#include <cmath>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"

namespace convolume {

namespace {

bool continues_outside(BoundaryKind boundary) {
    return boundary != BoundaryKind::zero && boundary != BoundaryKind::constant;
}

// The adjoint of same: the outputs of a plain convolution of the convolve's output (extent
// out_end - out_begin) with the flipped kernel, at positions i of the continued image. Sample
// i - out_begin + kernel - 1 of that `full` is Σ_n conj(h[n - i]) y[n].
OutputRange adjoint_range(const OutputRange& forward, index_t image, index_t kernel,
                          bool continued) {
    const index_t shift = kernel - 1 - forward.begin;
    if (continued) return {0, forward.end - forward.begin + kernel - 1};
    return {shift, image + shift};
}

}  // namespace

ResolvedProblem resolve_problem(const Shape3& image, const ConstImageView& kernel,
                                const Options& options, PixelType image_type,
                                PixelType output_type) {
    ResolvedProblem resolved;
    resolved.kernel = examine_kernel(kernel, options.normalization);
    if (options.center.kind == KernelCenter::Kind::corner) {
        Options centered = options;
        centered.center = {};
        return resolve_problem(image, unwrapped_kernel(kernel).view(), centered, image_type,
                               output_type);
    }
    if (options.expected_executions && *options.expected_executions < 1)
        throw InvalidArgument(message(*options.expected_executions,
                                      " executions are expected: give 1 or more, or nothing"));
    for (int a = 0; a < 3; ++a)
        if (image[a] < 1)
            throw InvalidArgument(message("the image's extent along ", axis_name(a), " is ",
                                          image[a], ": it needs at least 1 sample on every axis"));
    if (!std::isfinite(options.boundary.value))
        throw InvalidArgument(
            message("the boundary's value is ", options.boundary.value, ": give a finite number"));
    const bool flips = options.operation != Operation::convolve;
    const bool adjoint = options.operation == Operation::adjoint;
    const bool continued = continues_outside(options.boundary.kind);
    Index3 center = center_index(options.center, kernel);
    if (options.operation == Operation::correlate)
        for (int a = 0; a < 3; ++a) center[a] = kernel.shape[a] - 1 - center[a];

    resolved.problem.kernel = kernel.shape;
    resolved.problem.image_type = image_type;
    resolved.problem.output_type = output_type;
    resolved.problem.complex_kernel = resolved.kernel.complex_taps;
    resolved.problem.complex_data = resolved.kernel.complex_taps || is_complex(image_type);
    resolved.problem.precision = options.precision;
    resolved.problem.streamed = options.streamed;
    resolved.problem.executions = options.expected_executions.value_or(0);
    resolved.folds = adjoint && continued;
    for (int a = 0; a < 3; ++a) {
        const OutputRange forward =
            output_range(options.mode, image[a], kernel.shape[a], center[a]);
        const OutputRange range =
            adjoint ? adjoint_range(forward, image[a], kernel.shape[a], continued) : forward;
        resolved.problem.image[a] = adjoint ? forward.end - forward.begin : image[a];
        resolved.problem.output.begin[a] = range.begin;
        resolved.problem.output.end[a] = range.end;
        resolved.input_shape[a] = resolved.problem.image[a];
        resolved.output_shape[a] = adjoint ? image[a] : range.end - range.begin;
        if (!resolved.folds) continue;
        AxisWindow extended;
        extended.load_begin = forward.begin - (kernel.shape[a] - 1);
        extended.load_end = forward.end;
        resolved.fold_sources[static_cast<std::size_t>(a)] =
            gather_indices(extended, image[a], options.boundary.kind);
    }
    resolved.problem.boundary = adjoint ? BoundaryKind::zero : options.boundary.kind;

    if (resolved.folds) {
        // What runs is a convolution into the continued image; the caller's output comes after.
        resolved.problem.output_type =
            sample_type(options.precision, resolved.problem.complex_data);
        if (!options.streamed)
            resolved.problem.other_host_bytes =
                checked_multiply(element_count(image), static_cast<index_t>(size_of(output_type)));
    }

    Box3 trimmed;
    for (int a = 0; a < 3; ++a) {
        const AxisWindow window = trim_kernel(resolved.problem.axis(a));
        trimmed.begin[a] = window.kernel_begin;
        trimmed.end[a] = window.kernel_end;
    }
    resolved.taps = std::make_shared<const Volume>(
        make_taps(kernel, resolved.kernel, flips, trimmed,
                  sample_type(options.precision, resolved.problem.complex_data)));
    // Kept for the engines.
    resolved.problem.other_host_bytes = checked_add(resolved.problem.other_host_bytes,
                                                    Buffer::rounded_bytes(resolved.taps->bytes()));

    if (options.boundary.kind == BoundaryKind::constant &&
        options.operation != Operation::adjoint && options.mode != Mode::valid) {
        // f - v has a zero boundary, and the convolution of v is v Σh everywhere.
        resolved.subtract = options.boundary.value;
        const std::complex<double> sum = resolved.kernel.normalized_sum;
        resolved.add = options.boundary.value *
                       (options.operation == Operation::correlate ? std::conj(sum) : sum);
    }
    return resolved;
}

}  // namespace convolume
