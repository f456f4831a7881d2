// SPDX-License-Identifier: Apache-2.0
#pragma once
// The split volume of a problem in parts: in memory or in scratch files, how engines get its parts,
// and how it is made of a stream and merged into one, band by band.

#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <vector>

#include "core/buffer_pool.hpp"
#include "core/scratch_file.hpp"
#include "decompose/split.hpp"
#include "volumes/plan.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume {

/// The whole split volume of a plan in parts.
inline decompose::SplitLayout split_layout(const TaskPlan& plan) {
    return {plan.problem.complex_data, plan.chosen.parts, plan.scratch.z, plan.scratch.y,
            plan.scratch.x};
}

/// Calls `use` with `data` as float or double.
template <class Use>
decltype(auto) visit_reals(Precision precision, void* data, const Use& use) {
    return precision == Precision::float32 ? use(static_cast<float*>(data))
                                           : use(static_cast<double*>(data));
}

/// A part, the box of it that holds the image's samples, and the one its results take.
struct PartRows {
    int part;
    Box3 image, kept;
};

/// Gives a task of an engine its samples and a place for its results.
using ConnectPart = std::function<void(BlockInput&, BlockOutput&)>;

/// The parts of a split volume, and how engines get them.
class PartStore {
  public:
    /// In memory, at `data`.
    PartStore(const decompose::SplitLayout& layout, Precision precision, void* data);
    /// In scratch files in `directory`.
    PartStore(const decompose::SplitLayout& layout, Precision precision,
              const std::string& directory);

    ImageSource& source(int part) const;
    ImageSink& sink(int part) const;
    ConnectPart connection(const PartRows& rows) const;

  private:
    struct InMemory {
        ImageView view;
        ViewSource source;
        ViewSink sink;
    };
    // One for each part.
    std::vector<std::unique_ptr<InMemory>> memory_;
    std::vector<std::unique_ptr<ScratchVolume>> files_;
};

/// Parts from scratch files for an engine that convolves in memory: one is convolved, in place,
/// while another is read or written.
class LoadedParts {
  public:
    static constexpr int in_flight = 2;

    /// `convolve` calls the engine. Thread-safe.
    ExecutionReport run(const PartStore& store, const PartRows& rows,
                        const std::function<ExecutionReport(const ConnectPart&)>& convolve);

  private:
    std::mutex engine_;
    BufferPool parts_;
};

/// Rows of some steps of a split, which take a few planes from all over the image: what is split
/// and merged at once if the image is not in memory.
struct Band {
    decompose::StepRange steps;
    index_t row_begin, row_end;
};

/// The bands that a split volume is divided into.
class Bands {
  public:
    static constexpr int in_flight = 3;  ///< bands that keep reading, splitting and writing busy

    /// `split`: the extents of the split volume, z the grid.
    Bands(const ConvolutionProblem& problem, int parts, const Shape3& split);

    index_t count() const { return checked_multiply(across_steps_, across_rows_); }
    Band operator[](index_t index) const;
    /// Bytes of the bands in flight, with the planes of image and output that they meet.
    index_t bytes() const;

  private:
    index_t steps_, rows_;  ///< in all
    index_t band_steps_, band_rows_;
    index_t across_steps_, across_rows_;
    index_t row_bytes_;  ///< of one row of one step, in all planes
};

/// One volume of a stream on its way into the parts of a split volume and out of them. All
/// arguments are kept by reference.
class StreamedVolume {
  public:
    StreamedVolume(const RunArguments& arguments, index_t t, index_t c, const TaskPlan& plan,
                   const PartStore& store, int threads);

    /// Reads and splits the band. Returns the number of samples that were read as 0 because they
    /// are not finite.
    index_t split(const Band& band, const ExecutionContext& context);
    /// Merges and writes the band.
    ClampCount merge(const Band& band, const ExecutionContext& context);

  private:
    BufferPool::BorrowedBuffer take_band(const decompose::SplitLayout& layout);
    /// Calls `use(part, box, piece)` for what a band at `data` holds of every part, up to that many
    /// rows and columns: `piece` of the band is `box` of the part.
    template <class Use>
    void for_each_piece(const Band& band, void* data, index_t rows, index_t columns,
                        const Use& use) const;

    const RunArguments& arguments_;
    StreamedImage& stream_;
    index_t t_, c_;
    const TaskPlan& plan_;
    decompose::SplitLayout layout_;
    const PartStore& store_;
    int threads_;
    std::vector<index_t> planes_;  ///< of the image, for each plane of the grid
    BufferPool boxes_, bands_;
};

}  // namespace convolume
