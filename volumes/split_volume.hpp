// SPDX-License-Identifier: Apache-2.0
#pragma once
// The split volume of a problem in parts, in memory or in scratch files. Engines get its parts from
// here. It is split from a stream and merged into a stream band by band.

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

/// Returns the layout of the whole split volume of a plan in parts.
inline decompose::SplitLayout split_layout(const TaskPlan& plan) {
    return {plan.problem.complex_data, plan.chosen.parts, plan.scratch.z, plan.scratch.y,
            plan.scratch.x};
}

/// Calls `use` with `data` as a pointer to float or double.
template <class Use>
decltype(auto) visit_reals(Precision precision, void* data, const Use& use) {
    return precision == Precision::float32 ? use(static_cast<float*>(data))
                                           : use(static_cast<double*>(data));
}

/// The boxes of part number `part` that hold samples of the image and, afterwards, its results.
struct PartBoxes {
    int part;
    Box3 image, kept;
};

/// Sets where a task of an engine gets its samples, and where it puts its results.
using ConnectPart = std::function<void(BlockInput&, BlockOutput&)>;

/// The parts of a split volume, each with a source and a sink of its boxes.
class PartStore {
  public:
    /// Keeps the parts in memory, at `data`.
    PartStore(const decompose::SplitLayout& layout, Precision precision, void* data);
    /// Keeps the parts in scratch files in `directory`.
    PartStore(const decompose::SplitLayout& layout, Precision precision,
              const std::string& directory);

    ImageSource& source(int part) const;
    ImageSink& sink(int part) const;
    ConnectPart connection(const PartBoxes& boxes) const;

  private:
    struct PartInMemory {
        ImageView view;
        ViewSource source;
        ViewSink sink;
    };
    // One element for each part; only one of the two lists is filled.
    std::vector<std::unique_ptr<PartInMemory>> memory_;
    std::vector<std::unique_ptr<ScratchVolume>> files_;
};

/// Runs parts in scratch files on an engine that convolves in memory: one part is convolved in
/// place while another is read or written.
class LoadedParts {
  public:
    static constexpr int in_flight = 2;

    /// Reads, convolves and writes a part; `convolve` calls the engine. Thread-safe.
    ExecutionReport run(const PartStore& store, const PartBoxes& boxes,
                        const std::function<ExecutionReport(const ConnectPart&)>& convolve);

  private:
    std::mutex engine_;
    BufferPool parts_;
};

/// Some rows of some steps of a split. The steps need a few planes all over the image. An image
/// that is not in memory is split and merged band by band.
struct Band {
    decompose::StepRange steps;
    index_t row_begin, row_end;
};

/// The bands that a split volume is divided into.
class Bands {
  public:
    static constexpr int in_flight = 3;  ///< bands that keep reading, splitting and writing busy

    /// `split` has the extents of the split volume; z is the grid.
    Bands(const ConvolutionProblem& problem, int parts, const Shape3& split);

    index_t count() const { return checked_multiply(across_steps_, across_rows_); }
    Band operator[](index_t index) const;
    /// Returns the bytes of the bands in flight, with their planes of image and output.
    index_t bytes() const;

  private:
    index_t steps_, rows_;                ///< steps and rows of the split volume
    index_t band_steps_, band_rows_;      ///< steps and rows of a band
    index_t across_steps_, across_rows_;  ///< numbers of bands along steps and rows
    index_t row_bytes_;                   ///< bytes of one row of one step, in all its planes
};

/// Splits one volume of a stream, and merges its parts. Keeps all arguments by reference.
class StreamedVolume {
  public:
    StreamedVolume(const ExecutionArguments& arguments, index_t t, index_t c, const TaskPlan& plan,
                   const PartStore& store, int threads);

    /// Reads and splits a band. Returns the number of NaN and infinities that were read as 0.
    index_t split(const Band& band, const ExecutionContext& context);
    /// Merges and writes a band.
    ClampCount merge(const Band& band, const ExecutionContext& context);

  private:
    BufferPool::BorrowedBuffer take_band(const decompose::SplitLayout& layout);
    /// Calls use(part, box, view) for the samples of every part that a band at `data` holds, up to
    /// `rows` rows and `columns` columns. The samples of `view` are those of `box` of the part.
    template <class Use>
    void for_each_box(const Band& band, void* data, index_t rows, index_t columns,
                      const Use& use) const;

    const ExecutionArguments& arguments_;
    StreamedImage& stream_;
    index_t t_, c_;
    const TaskPlan& plan_;
    decompose::SplitLayout layout_;
    const PartStore& store_;
    int threads_;
    std::vector<index_t> planes_;  ///< plane of the image for each plane of the grid, or -1
    BufferPool boxes_, bands_;
};

}  // namespace convolume
