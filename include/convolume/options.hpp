// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a convolution. On each axis, the image f has Kf samples and is continued outside
// by the boundary, in every mode. The kernel h has Kg samples, and c is the index of its center:
//
//     full[n] = Σ_j h[j] f(n − j),    n = 0 … Kf+Kg−2
//     same[i] = full[i + c],          i = 0 … Kf−1
//     valid   = full[Kg−1 … Kf−1],    for Kf ≥ Kg

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// Part of the convolution that is computed. The head of options.hpp defines the three.
enum class Mode { full, same, valid };

/// Continuation of an image a b c d outside its edges. The names are those of scipy.ndimage.
enum class BoundaryKind {
    zero,      ///< 0 0 | a b c d | 0 0
    constant,  ///< v v | a b c d | v v
    nearest,   ///< a a | a b c d | d d   (Neumann)
    reflect,   ///< b a | a b c d | d c   (numpy.pad "symmetric")
    mirror,    ///< c b | a b c d | c b   (numpy.pad "reflect")
    wrap,      ///< c d | a b c d | a b   (periodic)
};
/// The continuation of an image, with its value if it is `constant`.
struct Boundary {
    BoundaryKind kind = BoundaryKind::zero;
    double value = 0;  ///< value outside the image, used by `constant` alone
    friend bool operator==(const Boundary&, const Boundary&) = default;
};

/// The linear operation that is applied to the image.
enum class Operation {
    /// Convolution, as the head of options.hpp defines it.
    convolve,
    /// Correlation, a convolution with conj(h) flipped, whose center is k−1−c:
    ///
    ///     same[i] = Σ_j conj(h[j]) f(i + j − c)
    correlate,
    /// The exact adjoint of `convolve` with the same options, for every mode and boundary. It takes
    /// an image of convolve's output shape and returns one of convolve's input shape. A constant
    /// boundary makes convolve affine; the adjoint is that of its linear part.
    adjoint,
};

/// The method by which an image is convolved. Each gives the same result, up to rounding.
enum class Method {
    automatic,  ///< the method of least predicted time among those that fit
    in_core,    ///< one padded transform of the whole image
    dif,        ///< decimation in frequency (DIF) into parts along z
    tiled,      ///< overlap-save tiles
    direct,     ///< sums in space: three 1D passes if the kernel has rank 1
};

/// The algorithm by which an engine convolves each block.
enum class Algorithm {
    fft,        ///< circular convolution on the padded grid
    direct,     ///< sums in space
    separable,  ///< three 1D sums in space, for kernels of rank 1
};

/// The floating-point type in which results are computed.
enum class Precision { float32, float64 };

/// Returns the type that data are computed in, and that results have if no other one is requested:
/// real or complex samples of a precision.
constexpr PixelType sample_type(Precision precision, bool complex_data) {
    if (precision == Precision::float32)
        return complex_data ? PixelType::complex64 : PixelType::float32;
    return complex_data ? PixelType::complex128 : PixelType::float64;
}
/// Returns whether float32 would round samples of a type.
constexpr bool needs_float64(PixelType type) {
    return type == PixelType::float64 || type == PixelType::complex128 ||
           type == PixelType::int32 || type == PixelType::uint32;
}

/// Treatment of NaN and infinities in the image.
enum class NanPolicy {
    error,      ///< throw BadData, which names the first NaN or infinity
    zero,       ///< read NaN and infinities as 0
    propagate,  ///< compute with NaN and infinities; Fourier methods spread each over the result
    /// Leave NaN and infinities out, by normalized convolution: a result is the sum over the finite
    /// samples, divided by the part of the kernel's sum that is on these (Knutsson and Westin, CVPR
    /// 1993). It is NaN where there is none. Samples beyond the image's edges are those of the
    /// boundary, also zeros. For real images and kernels, and convolutions and correlations in host
    /// memory or from files; takes twice the time if any sample is missing.
    missing
};

/// Divisor of the kernel: 1, the sum of its samples, or the largest magnitude of a sample.
enum class KernelNormalization { none, sum, peak };

/// Index of the kernel's center, used by Mode::same. An axis of the kernel has k samples.
struct KernelCenter {
    /// The rule that gives the index.
    enum class Kind {
        middle,    ///< k/2: ITK, scipy.ndimage, MATLAB
        scipy,     ///< (k−1)/2: scipy.signal, numpy
        peak,      ///< the sample of largest magnitude: kernel_peak() of convolver.hpp
        centroid,  ///< the center of mass, rounded to a sample: kernel_centroid()
        corner,    ///< 0, for a kernel in FFT order: unwrapped_kernel() of convolver.hpp is used
        explicit_  ///< the value of the member `index`
    };
    Kind kind = Kind::middle;
    Index3 index{};  ///< z, y, x, used by `explicit_` alone
};

/// Options of Convolver, convolve() and DeviceConvolver.
/// @code{.cpp}
/// Options options;
/// options.mode = Mode::valid;
/// options.boundary = parse_boundary("reflect");
/// options.normalization = KernelNormalization::sum;
/// options.max_host_bytes = parse_byte_size("8GiB");
/// @endcode
struct Options {
    Mode mode = Mode::same;
    Boundary boundary{};
    Operation operation = Operation::convolve;
    KernelCenter center{};
    KernelNormalization normalization = KernelNormalization::none;
    Precision precision = Precision::float32;
    NanPolicy nan = NanPolicy::error;

    Method method = Method::automatic;
    int parts = 0;  ///< number of parts of Method::dif: 1, 2, 4, 8, 16; 0 lets the planner choose
    /// Bytes that the image, the output, scratch volumes and CPU engines may take together. If not
    /// given, three quarters of the memory that is free when the plan is made.
    std::optional<index_t> max_host_bytes;
    /// The image comes from an ImageSource and the result goes to an ImageSink. Neither is held in
    /// memory as a whole, unless the plan says otherwise.
    bool streamed = false;
    /// Folder of the scratch files of streamed images. If empty, the system's temporary folder.
    std::string scratch_directory;
    /// Number of images (channels × times × calls) that will be convolved. If not given, there are
    /// enough of them that the time to prepare the kernel does not count.
    std::optional<index_t> expected_executions;
};

/// Returns the name on the command line. The parsers below take these names, and throw
/// InvalidArgument, which lists the choices, for all others.
/// @{
CONVOLUME_API const char* to_string(Mode);
CONVOLUME_API const char* to_string(BoundaryKind);
CONVOLUME_API const char* to_string(Operation);
CONVOLUME_API const char* to_string(Method);
CONVOLUME_API const char* to_string(Algorithm);
CONVOLUME_API const char* to_string(Precision);
CONVOLUME_API const char* to_string(NanPolicy);
CONVOLUME_API const char* to_string(KernelNormalization);
CONVOLUME_API std::string to_string(const Boundary&);
CONVOLUME_API std::string to_string(const KernelCenter&);
/// @}
/// Parses "full", "same" or "valid".
CONVOLUME_API Mode parse_mode(std::string_view);
/// Parses the name of a BoundaryKind, "constant:V" with a value V, or a synonym such as
/// "symmetric" or "periodic".
CONVOLUME_API Boundary parse_boundary(std::string_view);
/// Parses "convolve", "correlate" or "adjoint".
CONVOLUME_API Operation parse_operation(std::string_view);
/// Parses "auto", "in-core", "dif", "tiled" or "direct".
CONVOLUME_API Method parse_method(std::string_view);
/// Parses "float32" or "float64".
CONVOLUME_API Precision parse_precision(std::string_view);
/// Parses "error", "zero" or "propagate".
CONVOLUME_API NanPolicy parse_nan_policy(std::string_view);
/// Parses "none", "sum" or "peak".
CONVOLUME_API KernelNormalization parse_kernel_normalization(std::string_view);
/// Parses the name of a KernelCenter::Kind, or an index "Z,Y,X".
CONVOLUME_API KernelCenter parse_kernel_center(std::string_view);
/// Parses a number of bytes, such as "512M", "8GiB", "1.5GB" or "4096". K, M, G, T and KiB … are
/// powers of 1024; KB … are powers of 1000. A space may precede the unit. Throws InvalidArgument
/// for other texts.
/// @code{.cpp}
/// assert(parse_byte_size("1.5GB") == 1'500'000'000);
/// assert(format_bytes(parse_byte_size("1.5G")) == "1.50 GiB");
/// @endcode
CONVOLUME_API index_t parse_byte_size(std::string_view);
/// Returns a text for people, such as "1.50 GiB".
CONVOLUME_API std::string format_bytes(index_t bytes);
/// Returns a text for an option that limits memory: whole units, and at least `bytes`.
/// @code{.cpp}
/// assert(format_limit(1'500'000) == "1465 KiB");
/// @endcode
CONVOLUME_API std::string format_limit(index_t bytes);

}  // namespace convolume
