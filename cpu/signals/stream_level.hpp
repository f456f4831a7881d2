// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partitions of equal size of filters with bounded latency: their spectra, and the work for each
// block of their size, in steps that are spread over the blocks of the caller.
//
// A job is the work for one block of the size N of the partitions. It transforms the last 2N
// samples of each input, multiplies with the spectra of the partitions, and transforms the sums
// back to a frame of N results for each output. Products of polynomials modulo z^2N + 1 keep N
// results free of aliases, and need transforms of N complex numbers only:
//
//     u[n] = (x[n] + i x[n+N]) e^{iπn/2N},    n = 0 … N-1

#include <array>
#include <complex>
#include <vector>

#include "convolume/volume.hpp"
#include "cpu/signals/partition_plan.hpp"
#include "cpu/signals/stepped_fft.hpp"

namespace convolume::cpu {

/// Which filters connect inputs and outputs.
struct StreamRouting {
    bool is_matrix;  ///< output o sums all inputs i, by filter o · inputs + i
    index_t inputs, outputs;
    index_t filters;  ///< if not a matrix: output c is input c by filter c, or by the only filter

    index_t sources() const { return is_matrix ? inputs : 1; }  ///< inputs of each output
    index_t input_of(index_t output, index_t source) const { return is_matrix ? source : output; }
    index_t filter_of(index_t output, index_t source) const {
        return is_matrix ? output * inputs + source : filters == 1 ? 0 : output;
    }
};

/// The latest samples of each input. Block b of `block` samples begins at sample
/// (b modulo blocks) · block of its row. All rows are zero at first.
template <class Real>
struct InputHistory {
    Buffer samples;
    index_t block = 0, blocks = 0;
    Real* at(index_t input, index_t index) const {
        const index_t slot = (index % blocks + blocks) % blocks;
        return samples.as<Real>() + (input * blocks + slot) * block;
    }
};

/// Filters of which two sets may be in use, while one fades into the other.
inline constexpr int filter_sets = 2;

template <class Real>
class StreamLevel {
  public:
    using Complex = std::complex<Real>;

    /// `lanes` is the number of threads that may work on a job at once.
    StreamLevel(const PartitionLevel& partitions, const PartitionProblem& problem,
                const StreamRouting& routing, index_t lanes);

    /// Returns the least number of blocks that the inputs' history must have, and of which number
    /// it must be a multiple.
    index_t history_blocks() const { return delay_ + pushes_ + 1; }
    index_t history_multiple() const { return pushes_; }
    /// Returns the number of blocks that the work for one block of this level is spread over.
    index_t pushes() const { return pushes_; }
    index_t scratch_reals() const { return fft_.scratch_reals() + 2 * fft_.row_length(); }
    index_t spectrum_bytes() const;  ///< bytes of the spectra of all filters
    index_t bytes() const;           ///< bytes of everything else

    /// Computes the spectra of filters of `taps` taps each, one after the other in memory.
    Buffer filter_spectra(const Real* filters, index_t taps) const;

    /// Begins the work of block `push`. Jobs that begin compute with the sets of spectra that are
    /// not null.
    void begin_push(index_t push, const std::array<const Complex*, filter_sets>& sets);
    /// Returns whether this block's results, and those of the job in progress, include a set.
    bool has_results_of(int set) const { return reads_[index_of(set)] && works_[index_of(set)]; }
    /// Ends the work for a set.
    void drop(int set);
    /// Does a lane's portion of the work of block `push`.
    void run(index_t push, index_t lane, const InputHistory<Real>& history, Real* scratch);
    /// Returns the results for block `push` of an output, or null if there are none yet.
    const Real* results(index_t push, int set, index_t output) const;

    // All work of a level of one block.
    void transform_input(index_t push, index_t input, index_t lane,
                         const InputHistory<Real>& history, Real* scratch);
    void compute_output(index_t push, index_t output, index_t lane, Real* scratch);

    void reset();

  private:
    static std::size_t index_of(index_t i) { return static_cast<std::size_t>(i); }

    /// Step counts of the work for one input or output, and their predicted times.
    struct StepList {
        std::vector<double> ns;
        index_t steps() const { return static_cast<index_t>(ns.size()); }
        double sum() const;
    };
    /// The work of one lane: the steps of some inputs or outputs, one after the other. Entry i of
    /// `ends` is the number of steps that are done after i blocks.
    struct Lane {
        index_t first_item, items;
        std::vector<index_t> ends;
    };
    std::vector<Lane> spread(index_t items, const StepList& steps, index_t lanes,
                             index_t pushes) const;
    void make_steps(const PartitionProblem& problem, index_t lanes);

    void forward_step(index_t step, index_t input, index_t job, index_t lane,
                      const InputHistory<Real>& history, Real* scratch);
    void output_step(index_t step, index_t output, index_t job, index_t lane, Real* scratch);
    void sum_chunk(const Complex* filters, index_t chunk, index_t output, index_t job,
                   Complex* sum);

    index_t chunks() const { return size_ / chunk_; }
    index_t gather_steps() const { return ceil_div(size_, most_gathered); }
    Complex* spectrum_chunk(index_t input, index_t chunk, index_t slot) const {
        return spectra_.as<Complex>() + ((input * chunks() + chunk) * count_ + slot) * chunk_;
    }
    Real* frame(int set, index_t job, index_t output) const {
        return frames_.as<Real>() + ((set * 2 + (job & 1)) * routing_.outputs + output) * size_;
    }

    static constexpr index_t most_gathered = 4096;  ///< samples of the first or last step

    StreamRouting routing_;
    index_t size_, count_, first_tap_;
    index_t block_;
    index_t pushes_;  ///< blocks of the caller in a block of this level
    index_t delay_;   ///< of the first partition, in blocks of the caller
    index_t chunk_;   ///< bins of a spectrum that are neighbors in memory
    SteppedFft<Real> fft_;
    AlignedTable<Complex> rotations_;
    Buffer spectra_;  ///< of the last blocks: inputs × chunks × partitions × bins
    Buffer frames_;   ///< sets × 2 × outputs × samples
    Buffer lines_;    ///< of the lanes, for the transform in progress: lanes × (1 + sets) × bins
    StepList forward_, output_;
    std::vector<Lane> forward_lanes_, output_lanes_;
    index_t forward_pushes_ = 0;  ///< blocks of the caller in which inputs are transformed
    std::array<const Complex*, filter_sets> job_sets_{};
    bool has_begun_ = false;  ///< whether the first job has begun
    /// Sets that the job in progress computes with, and sets of the frames that are read now.
    std::array<bool, filter_sets> works_{true, true}, reads_{true, true};
};

}  // namespace convolume::cpu
