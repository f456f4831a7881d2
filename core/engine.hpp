// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine convolves one block (a part, a tile, or everything) on one device. The planner asks it
// for bytes and seconds, the scheduler hands it tasks. CPU and GPU engines implement this interface
// and pass the same conformance suite (tests/support/engine_conformance.hpp).

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

/// The type that data are computed in: real or complex samples of a precision.
constexpr PixelType sample_type(Precision precision, bool complex_data) {
    if (precision == Precision::float32)
        return complex_data ? PixelType::complex64 : PixelType::float32;
    return complex_data ? PixelType::complex128 : PixelType::float64;
}

inline index_t sample_bytes(PixelType type) {
    return static_cast<index_t>(size_of(type));
}
/// Bytes of one sample of the type that data are computed in.
inline index_t sample_bytes(Precision precision, bool complex_data) {
    return sample_bytes(sample_type(precision, complex_data));
}
/// Bytes of all samples. Throws where they exceed 64 bits.
inline index_t bytes_of(const Shape3& shape, PixelType type) {
    return checked_multiply(element_count(shape), sample_bytes(type));
}
template <class T>
index_t bytes_of(index_t count) {
    return checked_multiply(count, static_cast<index_t>(sizeof(T)));
}
/// Samples at `data`, which may be null, in C order.
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

/// The type of the parts of a sample: float of std::complex<float>, and of float.
template <class Sample>
using real_of = typename detail::RealOf<Sample>::type;

/// Sizes of a block along one axis: positions 0 … loaded-1 of the grid hold data, the kernel holds
/// positions 0 … kernel-1, and positions kept_begin … kept_begin+kept-1 are wanted.
struct BlockAxis {
    index_t grid = 1;  ///< 7-smooth for Algorithm::fft
    index_t loaded = 1;
    index_t kernel = 1;
    index_t kept_begin = 0;
    index_t kept = 1;
    friend bool operator==(const BlockAxis&, const BlockAxis&) = default;
};

/// Grid lengths along `axis` (0 is z) are multiples of this: even rows for real data, and what
/// `parts` (1: no split) take along z.
index_t length_multiple(int axis, int parts, bool complex_data);

/// Everything that decides an engine's memory and time for one block; its data come with a task.
struct Block {
    std::array<BlockAxis, 3> axes;  ///< z, y, x
    Algorithm algorithm = Algorithm::fft;
    Precision precision = Precision::float32;
    bool complex_data = false;    ///< complex samples (complex image or kernel, or a complex part)
    bool complex_kernel = false;  ///< of the kernel as given: for `direct`
    /// The result along z is that of a linear convolution, and the engine may walk along z in slabs
    /// of its own choosing instead of holding all planes; grid z is then only a bound.
    bool walks = false;
    /// Bytes of an engine for the block and its kernel; 0: the engine's limit. Blocks of a plan
    /// have the largest one's, so that a smaller one is not laid out more lavishly.
    index_t memory_bytes = 0;
    /// Samples of a source plane that travel to a device, at most; 0: loaded rows times columns.
    index_t source_plane = 0;
    bool whole_rows =
        true;  ///< of the images: tiles along x take parts of them, which travel slower
    PixelType source_type = PixelType::float32;  ///< expected of inputs: decides transfer times
    PixelType target_type = PixelType::float32;  ///< expected of outputs
    /// Bytes a second that a source gives and a sink takes; 0: the images are in memory.
    double source_bytes_per_s = 0;
    double target_bytes_per_s = 0;

    PixelType sample_type() const { return convolume::sample_type(precision, complex_data); }
    index_t sample_bytes() const { return convolume::sample_bytes(precision, complex_data); }
    Shape3 grid() const { return {axes[0].grid, axes[1].grid, axes[2].grid}; }
    Shape3 loaded() const { return {axes[0].loaded, axes[1].loaded, axes[2].loaded}; }
    Shape3 kernel() const { return {axes[0].kernel, axes[1].kernel, axes[2].kernel}; }
    Shape3 kept() const { return {axes[0].kept, axes[1].kept, axes[2].kept}; }
    friend bool operator==(const Block&, const Block&) = default;
};

/// Which separable sub-problem a block is: part `index` of a DIF split into `count` along z, where
/// `z_grid` is the length before the split. {0, 1} is the undivided problem.
struct PartId {
    int index = 0;
    int count = 1;
    index_t z_grid = 0;
    friend bool operator==(const PartId&, const PartId&) = default;
};

/// Bytes and seconds that an engine predicts for a block.
struct BlockCost {
    index_t workspace_bytes = 0;  ///< for each block in flight
    index_t kernel_bytes = 0;     ///< for each prepared kernel, kept between executions
    index_t staging_bytes = 0;    ///< of host memory that a GPU's block in flight passes through
    double read_s = 0;            ///< of streams
    double host_to_device_s = 0;
    double compute_s = 0;
    double device_to_host_s = 0;
    double write_s = 0;  ///< of streams
    /// Processor time of the threads that read and write while others compute.
    double stream_processor_s = 0;
    double seconds = 0;       ///< one block alone, from first read to last write
    double kernel_s = 0;      ///< preparing a kernel
    double first_use_s = 0;   ///< once: memory that is used for the first time, FFT plans
    index_t slab_planes = 0;  ///< outputs of each step along z of a block that is walked through

    /// Time between the ends of blocks that follow each other, several in flight: the slowest of
    /// these, and a little of the others, which are never hidden wholly.
    double interval_s() const {
        const double computing_s = compute_s + stream_processor_s;
        const double slowest =
            std::max({read_s, host_to_device_s, computing_s, device_to_host_s, write_s});
        const double all = read_s + host_to_device_s + computing_s + device_to_host_s + write_s;
        return slowest + hidden_share * (all - slowest);
    }
    static constexpr double hidden_share = 0.15;
};

/// Samples of a block: position (z, y, x) of the grid holds
/// source(gather[0][z], gather[1][y], gather[2][x]) - subtract, or 0 where an index is -1.
struct BlockInput {
    ConstImageView source;  ///< without data where `read` is set
    std::array<std::vector<index_t>, 3> gather;
    double subtract = 0;  ///< constant boundary: f - v has a zero boundary
    bool nonfinite_to_zero = false;
    /// Engines on devices look for NaN and infinities among what they are given, which costs them
    /// nothing, and report whether there are any (ExecutionReport::nonfinite_inputs).
    bool find_nonfinite = false;
    /// Set if the source is still being made: returns when its planes below the argument are there,
    /// or throws. Only engines whose info().is_gpu is set are given such a source.
    std::function<void(index_t)> await_planes = {};
    /// Set if the source is not in memory: reads a box of it. Thread-safe. Only engines whose
    /// info().streams is set are given such a source, or such a target.
    std::function<void(const Box3&, const ImageView&)> read = {};
};

/// 0, 1, …, count-1: an axis gathered as it is.
std::vector<index_t> identity_indices(index_t count);

/// Target of the kept positions: `target` has the shape Block::kept(). `add` is added to every
/// value before it is rounded and clamped to an integer target.
struct BlockOutput {
    ImageView target;              ///< without data where `write` is set
    std::complex<double> add = 0;  ///< its real part alone where the data are real
    /// Set if the target is not in memory: takes a box of it. Thread-safe.
    std::function<void(const Box3&, const ConstImageView&)> write = {};
};

/// A kernel as an engine keeps it: spectrum or taps, with what it needs to run. Immutable.
class EngineKernel {
  public:
    virtual ~EngineKernel() = default;
};

struct EngineInfo {
    std::string name;  ///< "cpu:0"
    int index = 0;     ///< in the list it belongs to: its row on timelines
    bool is_gpu = false;
    bool streams = false;            ///< reads and writes images that are not in memory
    int threads = 1;                 ///< of the host
    index_t memory_limit_bytes = 0;  ///< 0: whatever the host has left
    int tasks_in_flight = 1;         ///< as many as keep it busy
    MachineRates rates;              ///< what predictions are made of
};

class Engine {
  public:
    virtual ~Engine() = default;

    virtual const EngineInfo& info() const = 0;

    /// The limit as it is now: a device shared with others may have less than it had.
    virtual index_t memory_limit_bytes() const { return info().memory_limit_bytes; }

    virtual bool supports(Algorithm) const { return true; }

    /// The length of at least `least` that this engine's FFT is fastest at along `axis` (0 is z),
    /// for data that are split along it into `parts`.
    virtual index_t good_length(int axis, index_t least, int parts, bool complex_data,
                                Precision precision) const;

    /// Whether a transform of just this length is about as fast as its neighbors'.
    virtual bool is_good_length(int axis, index_t length, int parts, bool complex_data,
                                Precision precision) const;

    /// Whether blocks with `walks` are walked through; else they are held whole.
    virtual bool can_walk() const { return false; }

    /// Arithmetic only: nothing is allocated.
    virtual BlockCost estimate(const Block& block) const = 0;

    /// The kernel for `part` of a split (or the whole), transformed and kept. `taps` is the compact
    /// kernel: contiguous, in `block.precision`, of the undivided problem's extent, and complex
    /// when the undivided data are. One that is used `once` may stay compact until then: an engine
    /// holds BlockCost::kernel_bytes for a single such kernel, however many blocks are in flight.
    virtual std::shared_ptr<const EngineKernel> prepare(const Block& block, const PartId& part,
                                                        const ConstImageView& taps,
                                                        bool once = false) = 0;

    /// Convolves one block; returns when `output.target` is written. With Algorithm::fft and
    /// a block that is not walked through, input and output may be the same memory. Safe to call
    /// from several threads.
    virtual ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                                     const BlockInput& input, const BlockOutput& output, int task,
                                     const ExecutionContext& context) = 0;

    /// Gives back workspaces kept for reuse.
    virtual void release_workspaces() = 0;
};

using EngineList = std::vector<std::shared_ptr<Engine>>;

}  // namespace convolume
