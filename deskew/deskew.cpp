// SPDX-License-Identifier: Apache-2.0
#include "convolume/deskew.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/options.hpp"
#include "core/item_steps.hpp"
#include "core/threads.hpp"
#include "deskew/block.hpp"

namespace convolume::deskewing {

namespace {

// Bytes of planes that are read and written at a time if each plane is for itself: more would not
// be faster.
constexpr index_t enough_bytes = index_t{32} << 20;
// Least number of blocks of a rotated volume: the first is read, and the last written, while
// nothing is computed.
constexpr index_t least_blocks = 16;

/// Blocks of a result, in planes, rows and columns.
struct ResultDivision {
    Shape3 block;  ///< extents of the largest block
    Shape3 read;   ///< extents of the largest box that a block needs
    Shape3 count;  ///< blocks along each axis
    index_t host_bytes = 0;
    bool overlapped = true;

    index_t blocks() const { return count.z * count.y; }
    Box3 at(index_t block_number, const Shape3& result) const {
        const index_t z = block_number / count.y * block.z, y = block_number % count.y * block.y;
        return {{z, y, 0},
                {std::min(z + block.z, result.z), std::min(y + block.y, result.y), result.x}};
    }
};

/// Types and storage of the samples of a run.
struct StoredTypes {
    PixelType recorded, result;
    index_t planes_of_piece = 1;  ///< planes that are stored together
};

/// Divides a result into blocks that fit memory.
class Divider {
  public:
    Divider(const Geometry& geometry, const DeskewOptions& options, const StoredTypes& storage)
        : geometry_(geometry), options_(options), storage_(storage) {}

    /// Returns the division into blocks of `planes` planes and `rows` rows.
    ResultDivision division(index_t planes, index_t rows, bool overlapped) const {
        ResultDivision made;
        const Shape3& result = geometry_.result;
        made.block = {planes, rows, result.x};
        made.count = {ceil_div(result.z, planes), ceil_div(result.y, rows), 1};
        made.overlapped = overlapped;
        made.read = {1, 1, geometry_.recorded.x};
        for (index_t i = 0; i < made.blocks(); ++i) {
            const Shape3 read =
                needed_box(geometry_, options_.interpolation, made.at(i, result)).shape();
            made.read = {std::max(made.read.z, read.z), std::max(made.read.y, read.y), made.read.x};
        }
        const index_t one =
            checked_add(bytes(made.read, storage_.recorded), bytes(made.block, storage_.result));
        const index_t threads = thread_count(options_.threads);
        made.host_bytes =
            checked_add(checked_multiply((overlapped ? 2 : 1) + (is_turned() ? 1 : 0), one),
                        checked_multiply(threads, scratch_bytes(geometry_, storage_.recorded)));
        return made;
    }

    /// Returns the largest number of planes of a block with which it fits, or nothing.
    std::optional<ResultDivision> fit_planes(index_t most_planes, index_t rows, index_t limit,
                                             bool overlapped) const {
        for (index_t planes = most_planes;; planes = ceil_div(planes, 2)) {
            const ResultDivision made = division(planes, rows, overlapped);
            if (made.host_bytes <= limit) return made;
            if (planes == 1) return {};
        }
    }

  private:
    // Whether blocks are also held with rows and columns exchanged.
    bool is_turned() const { return options_.scan.axis == ShearAxis::x; }
    static index_t bytes(const Shape3& shape, PixelType type) {
        return checked_multiply(element_count(shape), static_cast<index_t>(size_of(type)));
    }

    const Geometry& geometry_;
    const DeskewOptions& options_;
    const StoredTypes& storage_;
};

// Returns the largest number of planes of a block: enough for fast reading, in whole pieces of the
// file, or a share of a volume that is rotated.
index_t most_planes(const Geometry& geometry, const StoredTypes& storage) {
    if (!geometry.planes_coincide) return ceil_div(geometry.result.z, least_blocks);
    const index_t plane = checked_multiply(checked_multiply(geometry.result.y, geometry.result.x),
                                           static_cast<index_t>(size_of(storage.result)));
    const index_t planes = std::max<index_t>(enough_bytes / std::max<index_t>(plane, 1), 1);
    const index_t piece = std::max<index_t>(storage.planes_of_piece, 1);
    return std::min(planes >= piece ? planes / piece * piece : planes, geometry.result.z);
}

double read_samples(const ResultDivision& division) {
    return static_cast<double>(division.blocks()) * static_cast<double>(division.read.z) *
           static_cast<double>(division.read.y);
}

/// Returns the division for a memory limit. Throws OutOfMemory.
ResultDivision divide(const Geometry& geometry, const DeskewOptions& options,
                      const StoredTypes& storage) {
    const index_t limit = host_limit_bytes(options.max_host_bytes);
    const Divider divider(geometry, options, storage);
    const index_t planes = most_planes(geometry, storage);
    index_t least_bytes = INT64_MAX;
    for (const bool overlapped : {true, false}) {
        std::optional<ResultDivision> best;
        for (index_t rows = geometry.result.y;; rows = ceil_div(rows, 2)) {
            const auto fitting = divider.fit_planes(planes, rows, limit, overlapped);
            if (fitting && (!best || read_samples(*fitting) < read_samples(*best))) best = fitting;
            // Planes that are only shifted are read once, however many rows a block has.
            const bool is_largest =
                rows == geometry.result.y && fitting && fitting->block.z == planes;
            if (rows == 1 || is_largest || (best && geometry.planes_coincide)) break;
        }
        if (best) return *best;
        least_bytes = divider.division(1, 1, overlapped).host_bytes;
    }
    throw OutOfMemory(sentence("deskewing takes at least ", format_bytes(least_bytes),
                               ", and the limit is ", format_bytes(limit), "; raise it (",
                               OptionName{"max_host_bytes"}, ")"));
}

}  // namespace

}  // namespace convolume::deskewing

namespace convolume {

namespace {

using deskewing::BlockSums;
using deskewing::Geometry;
using deskewing::reordered;
using deskewing::ResultDivision;

void check_types(PixelType recorded, PixelType result, const DeskewOptions& options) {
    if (is_complex(recorded) || is_complex(result))
        throw BadData("complex images cannot be deskewed; give the magnitude");
    if (is_integer(result) && !std::isfinite(options.fill))
        throw InvalidArgument(sentence("the fill (", OptionName{"fill"}, ") is ", options.fill,
                                       ", which ", to_string(result),
                                       " does not have; give a number, or write float32"));
}

// Edge of the squares that are copied one after the other: their rows in both images stay in cache.
constexpr index_t square = 32;

template <class T>
void turn_rows(const ConstImageView& from, const ImageView& to, index_t z, index_t first_row) {
    const index_t end_row = std::min(first_row + square, from.shape.y);
    const T* const source = static_cast<const T*>(from.at(z, 0, 0));
    T* const target = static_cast<T*>(to.at(z, 0, 0));
    for (index_t first = 0; first < from.shape.x; first += square) {
        const index_t end = std::min(first + square, from.shape.x);
        for (index_t x = first; x < end; ++x)
            for (index_t y = first_row; y < end_row; ++y)
                target[x * from.shape.y + y] = source[y * from.shape.x + x];
    }
}

/// Copies element (z, y, x) of `from` to element (z, x, y) of `to`. Both are contiguous in C order
/// and have the same type.
void turn_planes(const ConstImageView& from, const ImageView& to, int threads) {
    const index_t strips = ceil_div(from.shape.y, square);
    visit_pixel_type(from.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        parallel_for(from.shape.z * strips, threads, [&](index_t i, int) {
            turn_rows<T>(from, to, i / strips, i % strips * square);
        });
    });
}

/// A buffer for boxes of an image, which are contiguous.
class BoxBuffer {
  public:
    BoxBuffer(const Shape3& shape, PixelType type) : volume_(shape, type) {}

    /// Returns the first elements of the buffer as a box of this shape.
    ImageView view(const Shape3& shape) {
        return {volume_.view().data, volume_.type(), shape, contiguous_strides(shape)};
    }

  private:
    Volume volume_;
};

/// Returns a view with y and x exchanged if x is the sheared axis.
template <class View>
View reordered_view(const View& view, ShearAxis axis) {
    return {view.data, view.type, reordered(view.shape, axis), reordered(view.strides, axis)};
}

/// Deskews all volumes of an image from a source to a sink.
class StreamedDeskew {
  public:
    StreamedDeskew(ImageSource& source, ImageSink& sink, const DeskewOptions& options)
        : source_(source),
          sink_(sink),
          options_(options),
          recorded_(source.format()),
          result_(sink.format()),
          geometry_(deskewing::geometry_of(recorded_.shape, options)),
          division_(deskewing::divide(geometry_, options,
                                      {recorded_.type, result_.type, recorded_.piece.z})),
          sums_(geometry_, options, thread_count(options.threads)) {
        check_types(recorded_.type, result_.type, options);
        if (reordered(geometry_.result, axis()) != result_.shape ||
            recorded_.frames != result_.frames || recorded_.channels != result_.channels)
            throw InvalidArgument(message("the deskewed image has the extents z,y,x ",
                                          to_string(reordered(geometry_.result, axis())),
                                          " and the channels and times of "
                                          "the recording, but the output has z,y,x ",
                                          to_string(result_.shape)));
        for (int slot = 0; slot < (division_.overlapped ? 2 : 1); ++slot) {
            inputs_.emplace_back(division_.read, recorded_.type);
            outputs_.emplace_back(division_.block, result_.type);
        }
        if (axis() == ShearAxis::x) {
            turned_input_.emplace(division_.read, recorded_.type);
            turned_output_.emplace(division_.block, result_.type);
        }
    }

    ExecutionReport run(const ExecutionContext& context) {
        ItemSteps steps;
        steps.read = [&](index_t item) { read(item, context); };
        steps.compute = [&](index_t item) { compute(item, context); };
        steps.write = [&](index_t item) { write(item, context); };
        run_item_steps(items(), division_.overlapped, steps);
        ExecutionReport report;
        report.clamped_low = clamped_.low;
        report.clamped_high = clamped_.high;
        return report;
    }

  private:
    ShearAxis axis() const { return options_.scan.axis; }
    index_t items() const { return checked_multiply(division_.blocks(), recorded_.volumes()); }
    index_t t(index_t item) const { return item / division_.blocks() / recorded_.channels; }
    index_t c(index_t item) const { return item / division_.blocks() % recorded_.channels; }
    Box3 block(index_t item) const {
        return division_.at(item % division_.blocks(), geometry_.result);
    }
    Box3 needed(index_t item) const {
        return deskewing::needed_box(geometry_, options_.interpolation, block(item));
    }
    std::size_t slot(index_t item) const { return static_cast<std::size_t>(item) % inputs_.size(); }

    // Buffers for reading and writing are in the order of the file.
    ImageView input(index_t item) {
        return inputs_[slot(item)].view(reordered(needed(item).shape(), axis()));
    }
    ImageView output(index_t item) {
        return outputs_[slot(item)].view(reordered(block(item).shape(), axis()));
    }
    static index_t bytes(const ImageView& view) {
        return element_count(view.shape) * static_cast<index_t>(size_of(view.type));
    }

    void read(index_t item, const ExecutionContext& context) {
        throw_if_stopped(context);
        const Box3 box = needed(item);
        if (box.empty()) return;
        const ImageView target = input(item);
        const PhaseTimer timer(context.timeline, Phase::read, -1, static_cast<int>(item),
                               bytes(target));
        source_.read_box(t(item), c(item), reordered(box, axis()), target);
    }

    void compute(index_t item, const ExecutionContext& context) {
        throw_if_stopped(context);
        const PhaseTimer timer(context.timeline, Phase::convolve, -1, static_cast<int>(item));
        const int threads = thread_count(options_.threads);
        const Box3 box = needed(item), made = block(item);
        ImageView recorded = input(item), result = output(item);
        if (turned_input_) {
            recorded = turned_input_->view(box.shape());
            result = turned_output_->view(made.shape());
            if (!box.empty()) turn_planes(input(item), recorded, threads);
        }
        clamped_ += sums_.compute({recorded, box.begin}, made.begin, result);
        if (turned_output_) turn_planes(result, output(item), threads);
        if (context.progress)
            context.progress(static_cast<double>(item + 1) / static_cast<double>(items()));
    }

    void write(index_t item, const ExecutionContext& context) {
        const ImageView made = output(item);
        const PhaseTimer timer(context.timeline, Phase::write, -1, static_cast<int>(item),
                               bytes(made));
        sink_.write_box(t(item), c(item), reordered(block(item), axis()), made);
    }

    ImageSource& source_;
    ImageSink& sink_;
    const DeskewOptions& options_;
    const StackFormat recorded_, result_;
    const Geometry geometry_;
    const ResultDivision division_;
    const BlockSums sums_;
    std::vector<BoxBuffer> inputs_, outputs_;
    /// Blocks with rows along the sheared axis, if the file has columns along it.
    std::optional<BoxBuffer> turned_input_, turned_output_;
    ClampCount clamped_;
};

/// Deskews an image whose columns are adjacent, between views whose rows follow the sheared axis.
void deskew_views(const ConstImageView& recorded, const ImageView& result,
                  const DeskewOptions& options, const ExecutionContext& context) {
    const Geometry geometry =
        deskewing::geometry_of(reordered(recorded.shape, options.scan.axis), options);
    const BlockSums sums(geometry, options, thread_count(options.threads));
    constexpr index_t groups = 32;  // of planes, after each of which a stop is noticed
    const index_t planes = ceil_div(result.shape.z, groups);
    for (index_t z = 0; z < result.shape.z; z += planes) {
        throw_if_stopped(context);
        const index_t end = std::min(z + planes, result.shape.z);
        const ImageView group = subview(result, {{z, 0, 0}, {end, result.shape.y, result.shape.x}});
        static_cast<void>(sums.compute({recorded, {0, 0, 0}}, {z, 0, 0}, group));
        if (context.progress)
            context.progress(static_cast<double>(end) / static_cast<double>(result.shape.z));
    }
}

}  // namespace

DeskewPlan plan_deskew(const StackFormat& recorded, PixelType result,
                       const DeskewOptions& options) {
    check_types(recorded.type, result, options);
    const Geometry geometry = deskewing::geometry_of(recorded.shape, options);
    const ResultDivision division =
        deskewing::divide(geometry, options, {recorded.type, result, recorded.piece.z});
    double read = 0;
    for (index_t i = 0; i < division.blocks(); ++i) {
        const Box3 box =
            deskewing::needed_box(geometry, options.interpolation, division.at(i, geometry.result));
        if (!box.empty()) read += static_cast<double>(element_count(box.shape()));
    }
    return {reordered(division.block, options.scan.axis), division.blocks(), division.host_bytes,
            division.overlapped, read / static_cast<double>(element_count(recorded.shape))};
}

ExecutionReport deskew(ImageSource& source, ImageSink& sink, const DeskewOptions& options,
                       const ExecutionContext& context) {
    const auto begin = std::chrono::steady_clock::now();
    ExecutionReport report = StreamedDeskew(source, sink, options).run(context);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

Volume deskew(const ConstImageView& image, const DeskewOptions& options,
              const ExecutionContext& context) {
    check_types(image.type, image.type, options);
    Volume result(deskewed_grid(image.shape, options).shape, image.type);
    const ConstImageView recorded = reordered_view(image, options.scan.axis);
    if (recorded.strides.x == 1) {  // no copy is needed
        deskew_views(recorded, reordered_view(result.view(), options.scan.axis), options, context);
        return result;
    }
    ViewSource source(image);
    ViewSink sink(result.view());
    static_cast<void>(deskew(source, sink, options, context));
    return result;
}

Box3 deskew_needs(const Shape3& recorded, const Box3& block, const DeskewOptions& options) {
    const ShearAxis axis = options.scan.axis;
    const Box3 needed = deskewing::needed_box(deskewing::geometry_of(recorded, options),
                                              options.interpolation, reordered(block, axis));
    return reordered(needed, axis);
}

ExecutionReport deskew_block(const Shape3& recorded, const PlacedImage& part, const Index3& begin,
                             const ImageView& block, const DeskewOptions& options) {
    check_types(part.view.type, block.type, options);
    const auto begun = std::chrono::steady_clock::now();
    const ShearAxis axis = options.scan.axis;
    const Geometry geometry = deskewing::geometry_of(recorded, options);
    const Index3 first = reordered(begin, axis);
    const ImageView made = reordered_view(block, axis);
    const Box3 box{first, {first.z + made.shape.z, first.y + made.shape.y, first.x + made.shape.x}};
    if (intersection(box, {{0, 0, 0}, geometry.result}) != box)
        throw InvalidArgument(message("the block of z,y,x ", to_string(block.shape), " at ",
                                      to_string(begin), " reaches out of the deskewed image of ",
                                      to_string(reordered(geometry.result, axis))));
    const Box3 needed = deskewing::needed_box(geometry, options.interpolation, box);
    const Index3 at = reordered(part.begin, axis);
    ConstImageView read = reordered_view(part.view, axis);
    if (!needed.empty() &&
        intersection(needed,
                     {at, {at.z + read.shape.z, at.y + read.shape.y, at.x + read.shape.x}}) !=
            needed)
        throw InvalidArgument(
            message("a block needs samples of the recording that its part of z,y,x ",
                    to_string(part.view.shape), " at ", to_string(part.begin),
                    " does not have; give those of deskew_needs()"));
    const int threads = thread_count(options.threads);
    Volume copy;
    if (read.strides.x != 1) {
        copy = Volume(read.shape, read.type);
        if (axis == ShearAxis::x && is_contiguous(part.view))
            turn_planes(part.view, copy.view(), threads);
        else
            convert_pixels(read, copy.view());
        read = copy.view();
    }
    const BlockSums sums(geometry, options, threads);
    const ClampCount clamped = sums.compute({read, at}, first, made);
    ExecutionReport report;
    report.clamped_low = clamped.low;
    report.clamped_high = clamped.high;
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return report;
}

}  // namespace convolume
