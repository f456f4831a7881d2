// SPDX-License-Identifier: Apache-2.0
#include "convolume/deskew.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

#include "core/item_steps.hpp"
#include "core/threads.hpp"
#include "deskew/block.hpp"
#include "deskew/plan.hpp"

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

}  // namespace convolume
