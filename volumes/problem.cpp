// SPDX-License-Identifier: Apache-2.0
#include "volumes/problem.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "core/kernel_survey.hpp"
#include "core/system/system.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"
#include "volumes/adjoint.hpp"

namespace convolume {

namespace {

// A kernel before normalization, and its factor.
struct KernelStatistics {
    KernelSurvey survey;
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

ConstImageView reversed(const ConstImageView& view) {
    ConstImageView flipped = view;
    flipped.data = view.at(view.shape.z - 1, view.shape.y - 1, view.shape.x - 1);
    flipped.strides = {-view.strides.z, -view.strides.y, -view.strides.x};
    return flipped;
}

// Checks the kernel and computes its sums. Throws InvalidArgument for an extent of 0. Throws
// BadData for NaN, a kernel of zeros, and a sum of 0 that is to be normalized.
KernelStatistics check_kernel(const ConstImageView& kernel, KernelNormalization normalization) {
    check_not_empty(kernel.shape, "the kernel");
    KernelStatistics statistics{survey_kernel(kernel, thread_count(0))};
    const KernelSurvey& survey = statistics.survey;
    if (survey.nonfinite)
        throw BadData(message("the kernel holds ", survey.nonfinite_value,
                              " at z,y,x = ", to_string(*survey.nonfinite, ","),
                              ": replace it by a finite number"));
    if (survey.most == 0)
        throw BadData(
            "the kernel is zero everywhere: check that the right file or channel was given");

    const std::complex<double> sum = survey.sum;
    switch (normalization) {
        case KernelNormalization::none:
            break;
        case KernelNormalization::sum:
            // Dividing by a sum that is only rounding error would make a huge kernel.
            if (std::abs(sum) <=
                (kernel.type == PixelType::float64 || kernel.type == PixelType::complex128 ? 1e-12
                                                                                           : 1e-6) *
                    survey.magnitudes)
                throw BadData(
                    "the kernel's sum is 0, so it cannot be normalized to 1: choose normalization "
                    "peak or none");
            statistics.factor = 1.0 / sum;
            break;
        case KernelNormalization::peak:
            statistics.factor = 1.0 / survey.most;
            break;
    }
    statistics.normalized_sum = sum * statistics.factor;
    statistics.normalized_peak = survey.most * std::abs(statistics.factor);
    return statistics;
}

// Returns a sample times the factor, conjugated if `flip` is set.
template <class T, class S>
T tap_of(const S& sample, const std::complex<double>& factor, bool flip) {
    // Real kernels have a real factor. Products of complex numbers are slow.
    if constexpr (std::is_floating_point_v<T> && std::is_arithmetic_v<S>)
        return static_cast<T>(static_cast<double>(sample) * factor.real());
    std::complex<double> value = as_complex(sample);
    value *= factor;
    if (flip) value = std::conj(value);
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(value.real());
    else
        return {static_cast<typename T::value_type>(value.real()),
                static_cast<typename T::value_type>(value.imag())};
}

// Returns the samples of `box` of the kernel, normalized and converted to `type`. With `flip` the
// kernel is first flipped along all axes and conjugated, and `box` refers to the flipped kernel.
// The taps take the memory of `given_up`, which holds the kernel unless it is null, if they fit.
// They are in a file in `directory` if `given_up` is in a file.
// Throws BadData if `type` cannot hold the peak of the kernel.
Volume normalized_taps(const ConstImageView& kernel, const KernelStatistics& statistics, bool flip,
                       const Box3& box, PixelType type, Volume* given_up,
                       const std::string& directory) {
    const bool single = type == PixelType::float32 || type == PixelType::complex64;
    if (single && (statistics.normalized_peak > std::numeric_limits<float>::max() ||
                   statistics.normalized_peak < std::numeric_limits<float>::min()))
        throw BadData(message("the kernel's peak is ", statistics.normalized_peak,
                              ", beyond what float32 holds: normalize it, or compute in float64"));
    const bool in_place =
        given_up != nullptr && !flip && box.shape() == kernel.shape && type == kernel.type;
    Volume taps = in_place ? std::move(*given_up)
                  : given_up != nullptr && given_up->is_in_file()
                      ? Volume::in_file(box.shape(), type, directory)
                      : Volume(box.shape(), type);
    const Shape3& shape = taps.shape();
    const std::complex<double> factor = statistics.factor;
    if (in_place && factor == 1.0) return taps;
    const ConstImageView source = subview(flip ? reversed(kernel) : kernel, box);
    visit_pixel_type(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (requires(T value) { value.imag(); } || std::is_floating_point_v<T>) {
            T* const elements = taps.elements<T>();
            for_each_row(source, row_groups(shape), thread_count(0),
                         [&](const auto* row, auto stride, index_t z, index_t y, index_t) {
                             T* const out = elements + (z * shape.y + y) * shape.x;
#pragma omp simd
                             for (index_t x = 0; x < shape.x; ++x)
                                 out[x] = tap_of<T>(row[x * stride], factor, flip);
                         });
        } else {
            throw InternalError("taps are floating-point numbers");
        }
    });
    return taps;
}

Index3 middle_of(const Shape3& shape) {
    return {shape.z / 2, shape.y / 2, shape.x / 2};
}

}  // namespace

Index3 kernel_peak(const ConstImageView& kernel) {
    return survey_kernel(kernel, thread_count(0)).peak;
}

std::array<double, 3> kernel_centroid(const ConstImageView& kernel) {
    return centroid_of(survey_kernel(kernel, thread_count(0)));
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
        if (element_count(part.shape) > 0) convert_pixels(part, subview(unwrapped.view(), to), 0);
    }
    return unwrapped;
}

Index3 center_index(const KernelCenter& center, const ConstImageView& kernel) {
    using Kind = KernelCenter::Kind;
    const bool needs_samples = center.kind == Kind::peak || center.kind == Kind::centroid;
    return center_index(center, kernel.shape,
                        needs_samples ? survey_kernel(kernel, thread_count(0)) : KernelSurvey());
}

namespace {

// Throws InvalidArgument for an empty image and for options with impossible values.
void check_request(const Shape3& image, const Options& options) {
    if (options.expected_executions && *options.expected_executions < 1)
        throw InvalidArgument(message(*options.expected_executions,
                                      " executions are expected: give 1 or more, or nothing"));
    check_not_empty(image, "the image");
    if (options.nan == NanPolicy::missing && options.operation == Operation::adjoint)
        throw InvalidArgument(
            "an adjoint has no missing samples, as its input is a result: choose another treatment "
            "of NaN");
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
                                const Options& options, PixelType image_type, PixelType output_type,
                                Volume* given_up) {
    const KernelStatistics statistics = check_kernel(kernel, options.normalization);
    check_request(image, options);
    const bool adjoint = options.operation == Operation::adjoint;
    Index3 center, peak = statistics.survey.peak;
    ConstImageView natural_order = kernel;
    Volume unwrapped;
    if (options.center.kind == KernelCenter::Kind::corner) {
        unwrapped = unwrapped_kernel(kernel);
        natural_order = unwrapped.view();
        if (given_up != nullptr) *given_up = Volume();
        given_up = &unwrapped;
        center = middle_of(kernel.shape);
        for (int a = 0; a < 3; ++a) peak[a] = (peak[a] + center[a]) % kernel.shape[a];
    } else {
        center = center_index(options.center, kernel.shape, statistics.survey);
    }
    if (options.operation == Operation::correlate)
        for (int a = 0; a < 3; ++a) center[a] = kernel.shape[a] - 1 - center[a];

    ResolvedProblem resolved;
    resolved.kernel_sum = statistics.survey.sum.real();
    resolved.folds = adjoint && continues_outside(options.boundary.kind);
    ConvolutionProblem& problem = resolved.problem;
    problem.kernel = kernel.shape;
    problem.image_type = image_type;
    problem.complex_kernel = is_complex(kernel.type);
    problem.complex_data = problem.complex_kernel || is_complex(image_type);
    if (problem.complex_data && options.nan == NanPolicy::missing)
        throw InvalidArgument(
            "missing samples are left out of real images and kernels only: convolve real and "
            "imaginary part, or read missing samples as zero");
    problem.precision = options.precision;
    problem.streamed = options.streamed;
    problem.sink_in_memory =
        !options.scratch_directory.empty() && system::is_in_memory(options.scratch_directory);
    problem.executions = options.expected_executions.value_or(0);
    problem.boundary = adjoint ? BoundaryKind::zero : options.boundary.kind;
    for (int a = 0; a < 3; ++a) resolve_axis(a, image[a], center[a], options, resolved);

    // A folding adjoint runs as a convolution into the continued image, which is folded afterwards.
    const PixelType natural = sample_type(options.precision, problem.complex_data);
    problem.output_type = resolved.folds ? natural : output_type;
    const bool flip = options.operation != Operation::convolve;
    const Box3 used = used_taps(problem);
    resolved.taps = std::make_shared<const Volume>(normalized_taps(
        natural_order, statistics, flip, used, natural, given_up, options.scratch_directory));
    resolved.taps->release_pages();
    if (given_up != nullptr) *given_up = Volume();
    for (int a = 0; a < 3; ++a)
        peak[a] = (flip ? kernel.shape[a] - 1 - peak[a] : peak[a]) - used.begin[a];
    resolved.peak = peak;
    // Counts the bytes of the taps, which are kept for engines, and of a folded output, which the
    // plan does not count.
    const index_t caller_bytes =
        resolved.folds && !options.streamed ? bytes_of(image, output_type) : 0;
    problem.other_host_bytes =
        checked_add(caller_bytes, Buffer::rounded_bytes(resolved.taps->memory_bytes()));

    if (options.boundary.kind == BoundaryKind::constant && !adjoint &&
        options.mode != Mode::valid) {
        // The image minus the boundary's value v has a zero boundary. The convolution of the
        // constant v is v Σh everywhere.
        resolved.subtract = options.boundary.value;
        const std::complex<double> sum = statistics.normalized_sum;
        resolved.add = options.boundary.value *
                       (options.operation == Operation::correlate ? std::conj(sum) : sum);
    }
    if (options.nan == NanPolicy::missing) {
        const double sum = statistics.normalized_sum.real();
        resolved.weight.emplace(sum, std::abs(statistics.factor) * statistics.survey.magnitudes,
                                options.precision == Precision::float64);
        const BoundaryKind kind = options.boundary.kind;
        if ((kind == BoundaryKind::zero || kind == BoundaryKind::constant) &&
            options.mode != Mode::valid) {
            resolved.subtract_of_ones = 1;
            resolved.add_of_ones = sum;
        }
        // The mask, the sums and the weights of an image in memory.
        if (!options.streamed && !is_integer(image_type))
            for (const index_t bytes : {bytes_of(resolved.input_shape, PixelType::float32),
                                        bytes_of(resolved.output_shape, natural),
                                        bytes_of(resolved.output_shape, natural)})
                problem.other_host_bytes = checked_add(problem.other_host_bytes, bytes);
    }
    return resolved;
}

void check_result_type(bool complex_data, PixelType type) {
    if (complex_data && !is_complex(type))
        throw InvalidArgument(message("the result is complex and cannot be stored as ",
                                      to_string(type), ": use complex64 or complex128"));
}

}  // namespace convolume
