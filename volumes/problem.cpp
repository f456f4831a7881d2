// SPDX-License-Identifier: Apache-2.0
#include "volumes/problem.hpp"

#include <cmath>
#include <limits>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "core/views.hpp"
#include "volumes/adjoint.hpp"

namespace convolume {

namespace {

// Sums and peak of a kernel.
struct KernelStatistics {
    double sum = 0;                   ///< real part of the sum, before normalization
    std::complex<double> factor = 1;  ///< factor that normalizes the kernel
    std::complex<double> normalized_sum = 0;
    double normalized_peak = 0;  ///< largest magnitude after normalization
};

template <class T>
std::complex<double> as_complex(T value) {
    if constexpr (requires { value.imag(); })
        return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
    else
        return static_cast<double>(value);
}

// Returns |value|. std::abs() of a complex number is slow, also if its imaginary part is 0.
double magnitude_of(const std::complex<double>& value) {
    return value.imag() == 0 ? std::abs(value.real()) : std::abs(value);
}

ConstImageView reversed(const ConstImageView& view) {
    ConstImageView flipped = view;
    flipped.data = view.at(view.shape.z - 1, view.shape.y - 1, view.shape.x - 1);
    flipped.strides = {-view.strides.z, -view.strides.y, -view.strides.x};
    return flipped;
}

// Checks the kernel and computes its sums. Throws InvalidArgument for an extent of 0. Throws
// BadData for NaN, a kernel of zeros, and a sum of 0 that is to be normalized.
KernelStatistics check_kernel(const ConstImageView& kernel, KernelNormalization normalization) {
    for (int a = 0; a < 3; ++a)
        if (kernel.shape[a] < 1)
            throw InvalidArgument(message("the kernel's extent along ", axis_name(a), " is ",
                                          kernel.shape[a],
                                          ": it needs at least 1 sample on every axis"));
    check_memory(kernel, "the kernel");
    KernelStatistics statistics;
    std::complex<double> sum = 0;
    std::complex<double> peak = 0;
    double magnitude = 0, most = 0;
    for_each_sample(kernel, [&](const auto& sample, const Index3& at) {
        const std::complex<double> value = as_complex(sample);
        if (!std::isfinite(value.real()) || !std::isfinite(value.imag()))
            throw BadData(message("the kernel holds ", value.real(), " at z,y,x = ",
                                  to_string(at, ","), ": replace it by a finite number"));
        sum += value;
        const double own = magnitude_of(value);
        magnitude += own;
        if (own > most) {
            most = own;
            peak = value;
        }
    });
    if (peak == 0.0)
        throw BadData(
            "the kernel is zero everywhere: check that the right file or channel was given");

    statistics.sum = sum.real();
    switch (normalization) {
        case KernelNormalization::none:
            break;
        case KernelNormalization::sum:
            // Dividing by a sum that is only rounding error would make a huge kernel.
            if (std::abs(sum) <=
                (kernel.type == PixelType::float64 || kernel.type == PixelType::complex128 ? 1e-12
                                                                                           : 1e-6) *
                    magnitude)
                throw BadData(
                    "the kernel's sum is 0, so it cannot be normalized to 1: choose normalization "
                    "peak or none");
            statistics.factor = 1.0 / sum;
            break;
        case KernelNormalization::peak:
            statistics.factor = 1.0 / std::abs(peak);
            break;
    }
    statistics.normalized_sum = sum * statistics.factor;
    statistics.normalized_peak = std::abs(peak * statistics.factor);
    return statistics;
}

// Returns the samples of `box` of the kernel, normalized and converted to `type`. With `flip` the
// kernel is first flipped along all axes and conjugated, and `box` refers to the flipped kernel.
// Throws BadData if `type` cannot hold the peak of the kernel.
Volume normalized_taps(const ConstImageView& kernel, const KernelStatistics& statistics, bool flip,
                       const Box3& box, PixelType type) {
    const bool single = type == PixelType::float32 || type == PixelType::complex64;
    if (single && (statistics.normalized_peak > std::numeric_limits<float>::max() ||
                   statistics.normalized_peak < std::numeric_limits<float>::min()))
        throw BadData(message("the kernel's peak is ", statistics.normalized_peak,
                              ", beyond what float32 holds: normalize it, or compute in float64"));
    Volume taps(box.shape(), type);
    const ConstImageView source = subview(flip ? reversed(kernel) : kernel, box);
    visit_pixel_type(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (requires(T value) { value.imag(); } || std::is_floating_point_v<T>) {
            T* const elements = taps.elements<T>();
            const Index3 strides = contiguous_strides(taps.shape());
            for_each_sample(source, [&](const auto& sample, const Index3& at) {
                T& tap = elements[at.z * strides.z + at.y * strides.y + at.x];
                // Real kernels have a real factor. Products of complex numbers are slow.
                if constexpr (std::is_floating_point_v<T> && !requires { sample.imag(); }) {
                    tap = static_cast<T>(static_cast<double>(sample) * statistics.factor.real());
                    return;
                }
                std::complex<double> value = as_complex(sample);
                value *= statistics.factor;
                if (flip) value = std::conj(value);
                if constexpr (std::is_floating_point_v<T>)
                    tap = static_cast<T>(value.real());
                else
                    tap = {static_cast<typename T::value_type>(value.real()),
                           static_cast<typename T::value_type>(value.imag())};
            });
        } else {
            throw InternalError("taps are floating-point numbers");
        }
    });
    return taps;
}

// Calls f(|sample|, {z, y, x}) for every sample of the kernel.
template <class F>
void for_each_magnitude(const ConstImageView& kernel, const F& f) {
    check_memory(kernel, "the kernel");
    for_each_sample(kernel, [&](const auto& sample, const Index3& at) {
        if constexpr (requires { sample.imag(); })
            f(static_cast<double>(std::abs(sample)), at);
        else
            f(std::abs(static_cast<double>(sample)), at);
    });
}

index_t distance_squared(const Index3& a, const Index3& b) {
    index_t sum = 0;
    for (int axis = 0; axis < 3; ++axis) sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

Index3 middle_of(const Shape3& shape) {
    return {shape.z / 2, shape.y / 2, shape.x / 2};
}

// Rounds to the nearest index. Half-way positions are rounded up, as the middle k/2 is, also if
// rounding errors have made them a little less.
Index3 rounded(const std::array<double, 3>& position) {
    Index3 index;
    for (int a = 0; a < 3; ++a)
        index[a] = static_cast<index_t>(position[static_cast<std::size_t>(a)] + 0.5 + 1e-6);
    return index;
}

}  // namespace

Index3 kernel_peak(const ConstImageView& kernel) {
    check_memory(kernel, "the kernel");
    const Index3 middle = middle_of(kernel.shape);
    double highest = -1;
    Index3 peak;
    for_each_magnitude(kernel, [&](double magnitude, const Index3& at) {
        const bool nearer =
            magnitude == highest && distance_squared(at, middle) < distance_squared(peak, middle);
        if (magnitude > highest || nearer) {
            highest = magnitude;
            peak = at;
        }
    });
    return peak;
}

std::array<double, 3> kernel_centroid(const ConstImageView& kernel) {
    check_memory(kernel, "the kernel");
    double sum = 0;
    std::array<double, 3> moment{};
    for_each_magnitude(kernel, [&](double magnitude, const Index3& at) {
        sum += magnitude;
        for (int a = 0; a < 3; ++a)
            moment[static_cast<std::size_t>(a)] += magnitude * static_cast<double>(at[a]);
    });
    if (!(sum > 0) || !std::isfinite(sum))
        throw BadData(
            "a kernel that is zero everywhere, or not finite, has no centroid: check "
            "that the right file was given, or choose another center");
    for (double& value : moment) value /= sum;
    return moment;
}

Volume unwrapped_kernel(const ConstImageView& kernel) {
    check_memory(kernel, "the kernel");
    Volume unwrapped(kernel.shape, kernel.type);
    const Shape3& shape = kernel.shape;
    const Index3 middle = middle_of(shape);
    // Exchanges the two halves of the kernel along each axis.
    for (int corner = 0; corner < 8; ++corner) {
        Box3 from, to;
        for (int a = 0; a < 3; ++a) {
            const bool upper = (corner >> a & 1) != 0;
            const index_t first = shape[a] - middle[a];  // first index of the wrapped half
            from.begin[a] = upper ? first : 0;
            from.end[a] = upper ? shape[a] : first;
            to.begin[a] = upper ? 0 : middle[a];
            to.end[a] = upper ? middle[a] : shape[a];
        }
        const ConstImageView part = subview(kernel, from);
        if (element_count(part.shape) > 0) convert_pixels(part, subview(unwrapped.view(), to));
    }
    return unwrapped;
}

Index3 center_index(const KernelCenter& center, const ConstImageView& kernel) {
    using Kind = KernelCenter::Kind;
    Index3 index = center.index;
    if (center.kind == Kind::peak) index = kernel_peak(kernel);
    if (center.kind == Kind::centroid) index = rounded(kernel_centroid(kernel));
    for (int a = 0; a < 3; ++a) {
        if (center.kind == Kind::middle) index[a] = kernel.shape[a] / 2;
        if (center.kind == Kind::scipy) index[a] = (kernel.shape[a] - 1) / 2;
        if (center.kind == Kind::corner) index[a] = 0;
        if (index[a] < 0 || index[a] >= kernel.shape[a])
            throw InvalidArgument(message(
                "the kernel's center ", index[a], " along ", axis_name(a), " lies outside its ",
                kernel.shape[a], " samples: give an index from 0 to ", kernel.shape[a] - 1));
    }
    return index;
}

namespace {

// Throws InvalidArgument for an empty image and for options with impossible values.
void check_request(const Shape3& image, const Options& options) {
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
}

// Sets the extents of `resolved` along one axis.
void resolve_axis(int a, index_t image, index_t center, const Options& options,
                  ResolvedProblem& resolved) {
    const bool adjoint = options.operation == Operation::adjoint;
    const index_t kernel = resolved.problem.kernel[a];
    const OutputRange forward = output_range(options.mode, image, kernel, center);
    const OutputRange range =
        adjoint ? adjoint_range(forward, image, kernel, resolved.folds) : forward;
    resolved.problem.image[a] = adjoint ? forward.end - forward.begin : image;
    resolved.problem.output.begin[a] = range.begin;
    resolved.problem.output.end[a] = range.end;
    resolved.input_shape[a] = resolved.problem.image[a];
    resolved.output_shape[a] = adjoint ? image : range.end - range.begin;
    if (resolved.folds)
        resolved.fold_sources[static_cast<std::size_t>(a)] =
            fold_sources(forward, image, kernel, options.boundary.kind);
}

// Returns the box of taps that can reach an output.
Box3 used_taps(const ConvolutionProblem& problem) {
    Box3 used;
    for (int a = 0; a < 3; ++a) {
        const AxisWindow window = trim_kernel(problem.axis(a));
        used.begin[a] = window.kernel_begin;
        used.end[a] = window.kernel_end;
    }
    return used;
}

}  // namespace

ResolvedProblem resolve_problem(const Shape3& image, const ConstImageView& kernel,
                                const Options& options, PixelType image_type,
                                PixelType output_type) {
    const KernelStatistics statistics = check_kernel(kernel, options.normalization);
    if (options.center.kind == KernelCenter::Kind::corner) {
        Options centered = options;
        centered.center = {};
        return resolve_problem(image, unwrapped_kernel(kernel).view(), centered, image_type,
                               output_type);
    }
    check_request(image, options);
    const bool adjoint = options.operation == Operation::adjoint;
    Index3 center = center_index(options.center, kernel);
    if (options.operation == Operation::correlate)
        for (int a = 0; a < 3; ++a) center[a] = kernel.shape[a] - 1 - center[a];

    ResolvedProblem resolved;
    resolved.kernel_sum = statistics.sum;
    resolved.folds = adjoint && continues_outside(options.boundary.kind);
    ConvolutionProblem& problem = resolved.problem;
    problem.kernel = kernel.shape;
    problem.image_type = image_type;
    problem.complex_kernel = is_complex(kernel.type);
    problem.complex_data = problem.complex_kernel || is_complex(image_type);
    problem.precision = options.precision;
    problem.streamed = options.streamed;
    problem.executions = options.expected_executions.value_or(0);
    problem.boundary = adjoint ? BoundaryKind::zero : options.boundary.kind;
    for (int a = 0; a < 3; ++a) resolve_axis(a, image[a], center[a], options, resolved);

    // A folding adjoint runs as a convolution into the continued image, which is folded afterwards.
    const PixelType natural = sample_type(options.precision, problem.complex_data);
    problem.output_type = resolved.folds ? natural : output_type;
    resolved.taps = std::make_shared<const Volume>(normalized_taps(
        kernel, statistics, options.operation != Operation::convolve, used_taps(problem), natural));
    // Counts the bytes of the taps, which are kept for engines, and of a folded output, which the
    // plan does not count.
    const index_t caller_bytes =
        resolved.folds && !options.streamed ? bytes_of(image, output_type) : 0;
    problem.other_host_bytes =
        checked_add(caller_bytes, Buffer::rounded_bytes(resolved.taps->bytes()));

    if (options.boundary.kind == BoundaryKind::constant && !adjoint &&
        options.mode != Mode::valid) {
        // The image minus the boundary's value v has a zero boundary. The convolution of the
        // constant v is v Σh everywhere.
        resolved.subtract = options.boundary.value;
        const std::complex<double> sum = statistics.normalized_sum;
        resolved.add = options.boundary.value *
                       (options.operation == Operation::correlate ? std::conj(sum) : sum);
    }
    return resolved;
}

void check_result_type(bool complex_data, PixelType type) {
    if (complex_data && !is_complex(type))
        throw InvalidArgument(message("the result is complex and cannot be stored as ",
                                      to_string(type), ": use complex64 or complex128"));
}

}  // namespace convolume
