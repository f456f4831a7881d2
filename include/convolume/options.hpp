// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a caller chooses. Definitions, with the image f (extent Kf) continued outside by the
// boundary in every mode and the kernel h (extent Kg), on each axis:
//   full[n] = sum_j h[j] f(n - j),  n = 0 … Kf+Kg-2
//   same[i] = full[i + c],          i = 0 … Kf-1,  c the kernel's center
//   valid   = full[Kg-1 … Kf-1],    for Kf >= Kg

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

enum class Mode { full, same, valid };

/// How the image continues outside its edges (a b c d), in the words of scipy.ndimage.
enum class BoundaryKind {
    zero,      ///< 0 0 | a b c d | 0 0
    constant,  ///< v v | a b c d | v v
    nearest,   ///< a a | a b c d | d d   (Neumann)
    reflect,   ///< b a | a b c d | d c   (numpy.pad "symmetric")
    mirror,    ///< c b | a b c d | c b   (numpy.pad "reflect")
    wrap,      ///< c d | a b c d | a b   (periodic)
};
struct Boundary {
    BoundaryKind kind = BoundaryKind::zero;
    double value = 0;  ///< of `constant`
    friend bool operator==(const Boundary&, const Boundary&) = default;
};

enum class Operation {
    convolve,
    /// conj(h) flipped, center k-1-c: same[i] = sum_j conj(h[j]) f(i + j - c).
    correlate,
    /// The exact adjoint of `convolve` with the same options, for every mode and boundary: takes an
    /// image of convolve's output shape and returns one of its input shape. A constant boundary
    /// makes convolve affine; its linear part is what is transposed.
    adjoint,
};

enum class Method {
    automatic,  ///< least predicted time among those that fit
    in_core,    ///< one padded transform
    dif,        ///< decimation in frequency into parts along z
    tiled,      ///< overlap-save tiles
    direct,     ///< sums in space: three 1D passes when the kernel has rank 1
};

/// What an engine does with each block.
enum class Algorithm {
    fft,        ///< circular convolution on the grid
    direct,     ///< sums in space
    separable,  ///< three 1D sums in space, for kernels of rank 1
};

enum class Precision { float32, float64 };

/// What to do with NaN and infinities in the image.
enum class NanPolicy {
    error,      ///< throw BadData naming the first one
    zero,       ///< read them as 0
    propagate,  ///< compute with them (a Fourier method spreads one over the whole result)
};

enum class KernelNormalization { none, sum, peak };

/// Index of the kernel's center, used by Mode::same.
struct KernelCenter {
    enum class Kind {
        middle,    ///< k/2: ITK, scipy.ndimage, MATLAB
        scipy,     ///< (k-1)/2: scipy.signal, numpy
        peak,      ///< the sample of largest magnitude: kernel_peak() of convolver.hpp
        centroid,  ///< the center of mass, rounded to a sample
        corner,    ///< 0, of a kernel in FFT order: unwrapped_kernel() of convolver.hpp is used
        explicit_  ///< `index`
    };
    Kind kind = Kind::middle;
    Index3 index{};
};

struct Options {
    Mode mode = Mode::same;
    Boundary boundary{};
    Operation operation = Operation::convolve;
    KernelCenter center{};
    KernelNormalization normalization = KernelNormalization::none;
    Precision precision = Precision::float32;
    NanPolicy nan = NanPolicy::error;

    Method method = Method::automatic;
    int parts = 0;  ///< of Method::dif: 1, 2, 4, 8, 16; 0 lets the planner choose
    /// Bytes that the image, the output, scratch volumes and CPU engines may take together;
    /// nothing: three quarters of the memory that is free when the plan is made.
    std::optional<index_t> max_host_bytes;
    /// The image comes from an ImageSource and the result goes to an ImageSink: neither is held in
    /// memory as a whole, unless the plan says so.
    bool streamed = false;
    /// Folder of the scratch files of streamed images; empty: the system's for temporary files.
    std::string scratch_directory;
    /// Images (channels × times × calls) that will be convolved; nothing: so many that preparing
    /// the kernel does not count.
    std::optional<index_t> expected_executions;
};

/// Names as on the command line; parsers throw InvalidArgument that lists the choices.
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
CONVOLUME_API Mode parse_mode(std::string_view);
CONVOLUME_API Boundary
    parse_boundary(std::string_view);  ///< also "constant:V", "symmetric", "periodic", …
CONVOLUME_API Operation parse_operation(std::string_view);
CONVOLUME_API Method parse_method(std::string_view);
CONVOLUME_API Precision parse_precision(std::string_view);
CONVOLUME_API NanPolicy parse_nan_policy(std::string_view);
CONVOLUME_API KernelNormalization parse_kernel_normalization(std::string_view);
CONVOLUME_API KernelCenter parse_kernel_center(std::string_view);  ///< names as above, or "Z,Y,X"
/// "512M", "8GiB", "1.5GB", "4096": bytes. K, M, G, T and KiB… are powers of 1024, KB… of 1000.
CONVOLUME_API index_t parse_byte_size(std::string_view);
/// "1.5 GiB"
CONVOLUME_API std::string format_bytes(index_t bytes);

}  // namespace convolume
