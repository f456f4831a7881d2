// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images that are not in memory, split into a PartStore and merged from it band by band.

#include <functional>
#include <vector>

#include "core/buffer_pool.hpp"
#include "decompose/split.hpp"
#include "volumes/part_store.hpp"
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

/// A range of rows and steps of a split. Each step needs a plane of each of several equally spaced
/// places of the image. An image that is not in memory is split and merged band by band.
struct Band {
    decompose::StepRange steps;
    index_t row_begin, row_end;
};

/// The bands that a split volume is divided into.
class Bands {
  public:
    static constexpr int in_flight = 3;  ///< bands that keep reading, splitting and writing busy

    /// A row of the image or of its result has at most `row_bytes`.
    Bands(const decompose::SplitLayout& layout, Precision precision, index_t row_bytes);

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

/// Returns the bands of images and results of a problem.
Bands image_bands(const ConvolutionProblem& problem, const decompose::SplitLayout& layout);

/// An image to split, read box by box.
struct BandSource {
    Shape3 shape;
    PixelType type;
    std::vector<index_t> planes;  ///< plane of the image for each plane of the grid, or -1
    std::function<void(const Box3&, const ImageView&)> read;
    double subtract = 0;
    bool nonfinite_to_zero = false;
    bool refuses_nonfinite = false;  ///< throws NonfiniteInStream for NaN and infinities
};

/// Splits images into a store, and merges the parts. Keeps the store by reference. Thread-safe.
class BandSplitter {
  public:
    BandSplitter(const decompose::SplitLayout& layout, Precision precision, const PartStore& store,
                 int threads)
        : layout_(layout), precision_(precision), store_(store), threads_(threads) {}

    /// Reads and splits a band. Returns the number of NaN and infinities that were read as 0.
    index_t split(const BandSource& source, const Band& band, const ExecutionContext& context);
    /// Merges a band to the planes `scatter` (decompose/split.hpp) of `output`, which has the rows
    /// of the band.
    ClampCount merge(const Band& band, const std::vector<index_t>& scatter,
                     const BlockOutput& output, const ExecutionContext& context);
    /// Returns memory for samples of an image.
    BufferPool::BorrowedBuffer take_box(index_t bytes, const char* purpose) {
        return boxes_.take(bytes, threads_, purpose);
    }

  private:
    BufferPool::BorrowedBuffer take_band(const decompose::SplitLayout& layout);
    /// Calls use(part, box, view) for the samples of every part that a band at `data` holds, up to
    /// `rows` rows and `columns` columns. The samples of `view` are those of `box` of the part.
    template <class Use>
    void for_each_box(const Band& band, void* data, index_t rows, index_t columns,
                      const Use& use) const;

    decompose::SplitLayout layout_;
    Precision precision_;
    const PartStore& store_;
    int threads_;
    BufferPool boxes_, bands_;
};

/// Splits one volume of a stream, and merges its parts. Keeps all arguments by reference.
class StreamedVolume {
  public:
    StreamedVolume(const ExecutionArguments& arguments, index_t t, index_t c, const TaskPlan& plan,
                   BandSplitter& splitter);

    /// Reads and splits a band. Returns the number of NaN and infinities that were read as 0.
    index_t split(const Band& band, const ExecutionContext& context) {
        return splitter_.split(source_, band, context);
    }
    /// Merges and writes a band.
    ClampCount merge(const Band& band, const ExecutionContext& context);

  private:
    const ExecutionArguments& arguments_;
    StreamedImage& stream_;
    index_t t_, c_;
    const TaskPlan& plan_;
    BandSplitter& splitter_;
    BandSource source_;
};

}  // namespace convolume
