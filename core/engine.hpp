// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine convolves one block (a part, a tile, or the whole image) on one device, or spread over
// several. The planner asks engines for bytes and seconds, and the scheduler gives them tasks. CPU
// and GPU engines implement this interface and pass the same conformance tests
// (tests/support/engine_conformance.hpp).

#include <algorithm>
#include <array>
#include <complex>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"
#include "convolume/volume.hpp"
#include "core/machine_rates.hpp"

namespace convolume {

inline index_t sample_bytes(PixelType type) {
    return static_cast<index_t>(size_of(type));
}
/// Returns the bytes of one sample of the type that data are computed in.
inline index_t sample_bytes(Precision precision, bool complex_data) {
    return sample_bytes(sample_type(precision, complex_data));
}
/// Returns the bytes of an image. Throws InvalidArgument if they do not fit 64 bits.
inline index_t bytes_of(const Shape3& shape, PixelType type) {
    return checked_multiply(element_count(shape), sample_bytes(type));
}
template <class T>
index_t bytes_of(index_t count) {
    return checked_multiply(count, static_cast<index_t>(sizeof(T)));
}
/// Returns a view of samples in C order at `data`, which may be null.
inline ImageView contiguous_view(void* data, PixelType type, const Shape3& shape) {
    return {data, type, shape, contiguous_strides(shape)};
}

namespace detail {
template <class Sample>
struct RealOf {
    using type = Sample;
};
template <class Real>
struct RealOf<std::complex<Real>> {
    using type = Real;
};
}  // namespace detail

/// Real type of a sample: float for float and for std::complex<float>.
template <class Sample>
using real_of = typename detail::RealOf<Sample>::type;

/// Sizes of a block along one axis. Grid positions 0 … loaded-1 hold data, positions 0 … kernel-1
/// hold the kernel. Positions kept_begin … kept_begin+kept-1 are the result.
struct BlockAxis {
    index_t grid = 1;  ///< samples of the padded axis; 7-smooth for Algorithm::fft
    index_t loaded = 1;
    index_t kernel = 1;
    index_t kept_begin = 0;
    index_t kept = 1;
    friend bool operator==(const BlockAxis&, const BlockAxis&) = default;
};

/// Returns the number that grid lengths along `axis` (0 is z) must be a multiple of. Rows of real
/// data have an even length, and a split into `parts` (1: no split) divides z.
index_t length_multiple(int axis, int parts, bool complex_data);

/// Everything that decides how much memory and time an engine needs for one block. The data come
/// with a task.
struct Block {
    std::array<BlockAxis, 3> axes;  ///< sizes along z, y and x
    Algorithm algorithm = Algorithm::fft;
    Precision precision = Precision::float32;
    /// Samples are complex: the image, the kernel or the part of a split is.
    bool complex_data = false;
    bool complex_kernel = false;  ///< the caller's kernel is complex; used by Algorithm::direct
    /// The result along z is that of a linear convolution. The engine may walk along z in slabs
    /// whose height it chooses, instead of holding all planes. Grid z is then only an upper bound.
    bool walks = false;
    /// The kernel has one plane, so that each plane of the result needs one plane of the image, and
    /// an engine may leave out transforms along z.
    bool planes_are_apart = false;
    /// Memory limit for the block and its kernel; 0: the engine's limit. All blocks of a plan have
    /// the value of the largest block, so that a smaller block does not take a more generous
    /// layout.
    index_t memory_bytes = 0;
    /// Largest number of samples of a source plane that travel to a device; 0: loaded rows times
    /// columns.
    index_t source_plane = 0;
    bool whole_rows =
        true;  ///< the block covers whole rows of the images: partial rows travel slower
    /// Expected type of inputs: decides transfer times.
    PixelType source_type = PixelType::float32;
    PixelType target_type = PixelType::float32;  ///< expected type of outputs
    /// Bytes per second that a source delivers and a sink accepts; 0: the images are in memory.
    double source_bytes_per_s = 0;
    double target_bytes_per_s = 0;
    /// The source delivers whole planes, which several blocks share.
    bool source_in_planes = false;
    /// Number of engines whose images in ordinary memory travel through staging buffers at once;
    /// 0: images are page-locked.
    int staging_engines = 1;

    PixelType sample_type() const { return convolume::sample_type(precision, complex_data); }
    index_t sample_bytes() const { return convolume::sample_bytes(precision, complex_data); }
    Shape3 grid() const { return {axes[0].grid, axes[1].grid, axes[2].grid}; }
    Shape3 loaded() const { return {axes[0].loaded, axes[1].loaded, axes[2].loaded}; }
    Shape3 kernel() const { return {axes[0].kernel, axes[1].kernel, axes[2].kernel}; }
    Shape3 kept() const { return {axes[0].kept, axes[1].kept, axes[2].kept}; }
    friend bool operator==(const Block&, const Block&) = default;
};

/// Bytes and seconds that an engine predicts for a block.
struct BlockCost {
    index_t workspace_bytes = 0;  ///< bytes for each block in flight
    index_t kernel_bytes = 0;     ///< bytes for each prepared kernel, kept between executions
    /// Host memory through which a block in flight travels to and from a GPU.
    index_t staging_bytes = 0;
    double read_s = 0;  ///< seconds in which the source of a stream delivers the block
    double host_to_device_s = 0;
    double compute_s = 0;
    double device_to_host_s = 0;
    double staging_s = 0;  ///< seconds of the host to copy ordinary memory for both directions
    double write_s = 0;    ///< seconds in which the sink of a stream accepts the block
    /// Processor time of the threads that read and write streams while other threads compute.
    double stream_processor_s = 0;
    double seconds = 0;  ///< seconds of one block alone, from the first read to the last write
    double kernel_to_device_s = 0;  ///< seconds in which the taps of a kernel travel
    double kernel_s = 0;            ///< seconds to prepare a kernel
    /// Seconds once for a plan: memory is used for the first time, and FFT plans are made.
    double first_use_s = 0;
    index_t slab_planes = 0;  ///< output planes of each step of a walk along z; 0: no walk

    /// Returns the seconds between the ends of consecutive blocks, several of which are in flight.
    /// The slowest activity counts in full, the others with `hidden_share`, since they are never
    /// hidden completely.
    double interval_s() const {
        const double computing_s = compute_s + stream_processor_s;
        const double slowest =
            std::max({read_s, host_to_device_s, computing_s, device_to_host_s, write_s});
        const double all = read_s + host_to_device_s + computing_s + device_to_host_s + write_s;
        return std::max(staging_s, slowest + hidden_share * (all - slowest));
    }
    static constexpr double hidden_share = 0.15;
};

/// Source of a block. Position (z, y, x) of the grid holds
///     source(gather[0][z], gather[1][y], gather[2][x]) - subtract
/// or 0 if an index is -1.
struct BlockInput {
    ConstImageView source;  ///< image that is read; without data if `read` is set
    std::array<std::vector<index_t>, 3> gather;
    double subtract = 0;  ///< value v of a constant boundary: f - v has a zero boundary
    bool nonfinite_to_zero = false;
    /// Asks for a search for NaN and infinities in the input (ExecutionReport::nonfinite_inputs).
    /// Only GPU engines search, at no cost.
    bool find_nonfinite = false;
    /// Set if the source is not complete yet: returns when the planes below the argument are
    /// available, or throws. Only engines with info().is_gpu accept such a source.
    std::function<void(index_t)> await_planes = {};
    /// Set if the source is not in memory: reads a box of the source. Thread-safe. Only engines
    /// with info().streams accept such a source or target.
    std::function<void(const Box3&, const ImageView&)> read = {};
};

/// Returns 0, 1, …, count-1: the gather of an axis without a boundary.
std::vector<index_t> identity_indices(index_t count);

/// Target of the result. `target` has the shape Block::kept(). `add` is added to every value before
/// it is rounded and clamped to an integer type.
struct BlockOutput {
    ImageView target;              ///< image that is written; without data if `write` is set
    std::complex<double> add = 0;  ///< value to add; only its real part counts if the data are real
    /// Set if the target is not in memory: writes a box of the target. Thread-safe.
    std::function<void(const Box3&, const ConstImageView&)> write = {};
};

/// A kernel prepared by an engine: its spectrum or taps, and what the engine needs besides.
/// Immutable.
class EngineKernel {
  public:
    virtual ~EngineKernel() = default;
};

struct EngineInfo {
    std::string name;  ///< "cpu:0"
    int index = 0;     ///< position in the list of engines: the row on timelines
    bool is_gpu = false;
    bool streams = false;            ///< whether images need not be in memory
    int threads = 1;                 ///< number of host threads
    index_t memory_limit_bytes = 0;  ///< 0: all available memory of the host
    int tasks_in_flight = 1;         ///< number of concurrent tasks that keeps the device busy
    MachineRates rates;              ///< rates from which times are predicted
    /// Names of the engines that are joined in this one; empty if it computes on one device.
    std::vector<std::string> members = {};
};

class Engine {
  public:
    virtual ~Engine() = default;

    virtual const EngineInfo& info() const = 0;

    /// Returns the present memory limit. On a device that other programs use, it may be lower than
    /// info() says.
    virtual index_t memory_limit_bytes() const { return info().memory_limit_bytes; }

    virtual bool supports(Algorithm) const { return true; }

    /// Returns the length of at least `least` along `axis` (0 is z) at which this engine's FFT is
    /// fastest, for data that are split into `parts` along z.
    virtual index_t good_length(int axis, index_t least, int parts, bool complex_data,
                                Precision precision) const;

    /// Returns true if a transform of exactly this length is about as fast as transforms of similar
    /// lengths.
    virtual bool is_good_length(int axis, index_t length, int parts, bool complex_data,
                                Precision precision) const;

    /// Returns true if the engine walks through blocks with `walks`; otherwise it holds them whole.
    virtual bool can_walk() const { return false; }

    /// Returns an engine that spreads each block over the devices of `engines`, of which this is
    /// the first. Its bytes are those on each device. Null if such engines cannot be joined.
    virtual std::shared_ptr<Engine> join(const std::vector<std::shared_ptr<Engine>>&) const {
        return nullptr;
    }

    /// Returns a sentence that says why the engine cannot convolve a block; empty if it can.
    virtual std::string why_unsuitable(const Block&) const { return {}; }

    /// Predicts bytes and seconds. Allocates nothing.
    virtual BlockCost estimate(const Block& block) const = 0;

    /// Prepares the kernel of a block. `taps` are contiguous, of the type block.sample_type();
    /// those of a part of a split are its own (decompose/split.hpp). With Algorithm::fft, rows may
    /// be padded. The taps need not outlive the call. With `once`, the kernel serves a single block
    /// and may stay compact until then. An engine holds BlockCost::kernel_bytes for one such kernel
    /// at a time, however many blocks are in flight.
    virtual std::shared_ptr<const EngineKernel> prepare(const Block& block,
                                                        const ConstImageView& taps,
                                                        bool once = false) = 0;

    /// Convolves one block; returns when `output.target` is written. Input and output may be the
    /// same memory with Algorithm::fft, unless the engine walks through the block. Safe to call
    /// from several threads.
    virtual ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                                     const BlockInput& input, const BlockOutput& output, int task,
                                     const ExecutionContext& context) = 0;

    /// Frees the workspaces that are kept for reuse.
    virtual void release_workspaces() = 0;
};

using EngineList = std::vector<std::shared_ptr<Engine>>;

}  // namespace convolume
