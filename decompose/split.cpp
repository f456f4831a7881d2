// SPDX-License-Identifier: Apache-2.0
#include "decompose/split.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/pixels/contiguous.hpp"
#include "core/pixels/rows.hpp"
#include "core/system/system.hpp"
#include "core/threads.hpp"
#include "decompose/network.hpp"

namespace convolume::decompose {

index_t split_steps(const SplitLayout& layout) {
    return part_shape(layout.complex_data, {layout.parts - 1, layout.parts, layout.z_grid}).planes;
}

namespace {

// Returns layout.stored, limited to the steps of the split.
StepRange stored_steps(const SplitLayout& layout) {
    return {layout.stored.begin, std::min(layout.stored.end, split_steps(layout))};
}

// Throws InvalidArgument for layouts that cannot be split.
void check_layout(const SplitLayout& layout) {
    part_shape(layout.complex_data, {0, layout.parts, layout.z_grid});
    const StepRange steps = stored_steps(layout);
    if (steps.begin < 0 || steps.begin >= steps.end)
        throw InvalidArgument(message("a split volume with steps ", steps.begin, " to ", steps.end,
                                      " holds nothing; store at least one"));
    if (layout.rows < 1 || layout.columns < 1) {
        throw InvalidArgument(message("a split volume of ", layout.rows, " rows and ",
                                      layout.columns,
                                      " columns holds nothing; both must be at least 1"));
    }
}

// The geometry of a pass over all networks of a layout, and memory, for split and merge.

/// Number of real numbers that enter a network at a time. Together with the results they fit a
/// second-level cache, and for P = 16 a row is still as long as a burst of the memory.
constexpr index_t span_reals = 16384;

/// Least size in bytes of a volume that is written past the caches: a larger volume would be
/// evicted before it is read.
constexpr index_t past_cache_bytes = index_t{32} << 20;

bool is_line_aligned(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 64 == 0;
}

/// Copies a row from the memory of a thread to `target`.
void write_row(const void* row, index_t bytes, void* target, bool past_cache) {
    if (past_cache) {
        pixels::stream_copy(row, bytes, target);
    } else {
        std::memcpy(target, row, static_cast<std::size_t>(bytes));
    }
}

/// The networks of a layout: offsets of their rows, in `Real`s, and factors.
template <class Real>
struct NetworkGeometry {
    explicit NetworkGeometry(const SplitLayout& layout_)
        : layout(layout_),
          reals(layout_.complex_data ? 2 : 1),
          rows(network_rows(layout_.complex_data, layout_.parts)),
          networks(layout_.z_grid / rows.undivided),
          stored(stored_steps(layout_)),
          longest_span(span_reals / (rows.undivided * reals)) {
        const bool part_0_has_two_rows = rows.parts > layout.parts;  // rows at planes n and n + M
        const index_t part_size = layout.samples() / layout.parts * reals;
        for (int row = 0; row < rows.parts; ++row) {
            const auto i = static_cast<std::size_t>(row);
            part_reals[i] = part_0_has_two_rows && row > 1 ? 2 : reals;
            part_begin[i] = (part_0_has_two_rows && row > 0 ? row - 1 : row) * part_size;
        }
        if (part_0_has_two_rows)
            part_begin[1] += (stored.end - stored.begin) * layout.rows * layout.columns;
    }

    /// Returns the offset of sample (n, y, x) in the part that `row` of a network belongs to.
    index_t part_offset(std::size_t row, index_t n, index_t y, index_t x) const {
        return part_begin[row] +
               (((n - stored.begin) * layout.rows + y) * layout.columns + x) * part_reals[row];
    }
    /// Returns the samples of a span when a row of `columns` is cut into equal spans.
    index_t span_for(index_t columns) const {
        return round_up(ceil_div(columns, ceil_div(columns, longest_span)), row_quantum);
    }
    /// Computes the factors of all networks, n = 0 … M-1.
    std::vector<PlaneFactors<Real>> factors(bool inverse) const {
        std::vector<PlaneFactors<Real>> result(static_cast<std::size_t>(networks));
        for (int p = 0; p < layout.parts; ++p) {
            const index_t first = part_frequencies(layout.complex_data, p, layout.parts).first;
            index_t n = 0;
            for (auto& factors_of_plane : result) {
                const auto root = root_of_unity(first * n++, layout.z_grid);
                const auto factor = inverse ? std::conj(root) / double(layout.parts) : root;
                factors_of_plane[static_cast<std::size_t>(p)] = std::complex<Real>(factor);
            }
        }
        return result;
    }

    SplitLayout layout;
    index_t reals;  ///< real numbers in one undivided sample: 1 or 2
    NetworkRows rows;
    index_t networks;      ///< number of networks, M: planes between two undivided rows
    StepRange stored;      ///< networks whose planes are stored
    index_t longest_span;  ///< samples of a row that go through a network at a time, at most
    std::array<index_t, max_rows> part_reals{};  ///< real numbers in one sample of each part row
    std::array<index_t, max_rows> part_begin{};  ///< offset in `Real`s of each part row at n = 0
};

/// Returns a buffer that the calling thread keeps until it ends.
Buffer& buffer_of_thread() {
    static system::ThreadPointer ended([](void* kept) { delete static_cast<Buffer*>(kept); });
    thread_local Buffer* kept = nullptr;
    if (kept == nullptr) {
        auto buffer = std::make_unique<Buffer>();
        if (!ended.set(buffer.get())) throw std::bad_alloc();
        kept = buffer.release();
    }
    return *kept;
}

/// Memory of the calling thread for the spans that enter and leave a network, and for a row of
/// zeros. Threads keep it, since its first use takes longer than splitting what passes through it.
template <class Real>
class SpanBuffers {
  public:
    explicit SpanBuffers(const NetworkGeometry<Real>& geometry)
        : rows_(static_cast<std::size_t>(geometry.rows.undivided)),
          row_reals_(2 * geometry.longest_span + padding) {
        // A network has at most as many part rows as undivided rows.
        const auto bytes =
            static_cast<std::size_t>(zero_reals + 2 * static_cast<index_t>(rows_) * row_reals_) *
            sizeof(Real);
        Buffer& kept = buffer_of_thread();
        if (kept.bytes() < static_cast<index_t>(bytes)) {
            // Threads may live longer than a caller's memory resource.
            kept = Buffer(static_cast<index_t>(bytes), "the rows of a split", nullptr);
            kept.touch(1);
        }
        data_ = kept.as<Real>();
    }
    Real* in(std::size_t row) const { return at(row); }
    Real* out(std::size_t row) const { return at(rows_ + row); }
    const Real* zeros() const { return data_; }

  private:
    static constexpr index_t padding = 16;  // keeps rows out of each other's cache sets
    // The longest span of any network. No other row begins within it.
    static constexpr index_t zero_reals = 2 * span_reals + padding;

    Real* at(std::size_t row) const {
        return data_ + zero_reals + static_cast<index_t>(row) * row_reals_;
    }

    std::size_t rows_;
    index_t row_reals_;
    Real* data_;
};

/// Calls work(thread, n, y) for n < planes, y < rows in `threads` threads. May throw Cancelled.
template <class Work>
void for_each_row(index_t planes, index_t rows, int threads, const ExecutionContext& context,
                  const Work& work) {
    parallel_ranges(planes * rows, threads, [&](index_t begin, index_t end, int thread) {
        for (index_t item = begin; item < end && !context.stop.stop_requested(); ++item)
            work(thread, item / rows, item % rows);
        pixels::stream_fence();
    });
    throw_if_stopped(context);
}

// Returns the steps that are in both ranges.
StepRange common_steps(const StepRange& a, const StepRange& b) {
    const index_t begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
}

void check_input(const BlockInput& input, const SplitLayout& layout, index_t first_row) {
    check_layout(layout);
    const Shape3 extents{static_cast<index_t>(input.gather[0].size()),
                         first_row + static_cast<index_t>(input.gather[1].size()),
                         static_cast<index_t>(input.gather[2].size())};
    if (extents.z > layout.z_grid || extents.y > layout.rows || extents.x > layout.columns) {
        throw InvalidArgument(
            message("an image of ", to_string(extents), " samples does not fit a split volume of ",
                    to_string({layout.z_grid, layout.rows, layout.columns}), "; enlarge the grid"));
    }
    if (is_complex(input.source.type) && !layout.complex_data) {
        throw InvalidArgument(
            "a complex image cannot be split as real data; ask for a complex layout");
    }
}

/// Splits the image. T is the sample type of the undivided data.
template <class T, class Real>
index_t split_typed(const BlockInput& input, const SplitLayout& layout, Real* data, int threads,
                    const ExecutionContext& context, const SplitSection& section) {
    const NetworkGeometry<Real> geometry(layout);
    const auto factors = geometry.factors(false);
    const auto undivided = static_cast<std::size_t>(geometry.rows.undivided);
    const auto parts = static_cast<std::size_t>(geometry.rows.parts);
    const pixels::RowGather gather(input.gather[2]);
    const pixels::LoadOptions options{input.subtract, input.nonfinite_to_zero};
    const ConstImageView& source = input.source;
    const bool readable_in_place = source.type == pixel_type_of_v<T> && source.strides.x == 1 &&
                                   input.subtract == 0 && !input.nonfinite_to_zero;
    const bool past_cache = layout.samples() * static_cast<index_t>(sizeof(T)) >= past_cache_bytes;
    std::vector<index_t> replaced(static_cast<std::size_t>(threads), 0);

    const auto source_plane = [&](index_t z) {
        const auto& planes = input.gather[0];
        return z < static_cast<index_t>(planes.size()) ? planes[static_cast<std::size_t>(z)] : -1;
    };

    const index_t longest = geometry.span_for(gather.size());

    const StepRange steps = common_steps(geometry.stored, section.steps);
    for_each_row(
        steps.end - steps.begin, static_cast<index_t>(input.gather[1].size()), threads, context,
        [&](int thread, index_t step_number, index_t y) {
            const SpanBuffers<Real> buffers(geometry);
            const index_t n = steps.begin + step_number;
            const index_t row = input.gather[1][static_cast<std::size_t>(y)];
            for (index_t x = 0; x < gather.size(); x += longest) {
                const index_t count = std::min(longest, gather.size() - x);
                const bool whole = count % row_quantum == 0;
                const bool in_place = readable_in_place && whole && x >= gather.run_begin() &&
                                      x + count <= gather.run_end();
                NetworkSpan<Real> span;
                span.samples = round_up(count, row_quantum);
                for (std::size_t q = 0; q < undivided; ++q) {
                    const index_t plane =
                        source_plane(n + static_cast<index_t>(q) * geometry.networks);
                    if (plane < 0 || row < 0) {
                        span.in[q] = buffers.zeros();
                    } else if (in_place) {
                        span.in[q] = static_cast<const Real*>(
                            source.at(plane, row, gather.run_source() + x - gather.run_begin()));
                    } else {
                        Real* loaded = buffers.in(q);
                        replaced[static_cast<std::size_t>(thread)] +=
                            pixels::load_span(source, plane, row, gather, {x, count}, options,
                                              reinterpret_cast<T*>(loaded));
                        span.in[q] = loaded;
                    }
                }
                std::array<Real*, max_rows> target;
                for (std::size_t p = 0; p < parts; ++p) {
                    target[p] = data + geometry.part_offset(p, n, section.first_row + y, x);
                    span.past_cache[p] = whole && past_cache && is_line_aligned(target[p]);
                    const bool direct = whole && (span.past_cache[p] || !past_cache);
                    span.out[p] = direct ? target[p] : buffers.out(p);
                }
                split_span(layout.complex_data, layout.parts, factors[static_cast<std::size_t>(n)],
                           span);
                for (std::size_t p = 0; p < parts; ++p) {
                    if (span.out[p] == target[p]) continue;
                    const index_t reals = count * geometry.part_reals[p];
                    write_row(span.out[p], reals * static_cast<index_t>(sizeof(Real)), target[p],
                              past_cache);
                }
            }
        });
    index_t total = 0;
    for (const index_t r : replaced) total += r;
    return total;
}

}  // namespace

index_t SplitLayout::samples() const {
    const StepRange steps = stored_steps(*this);
    const index_t planes_of_step = z_grid / split_steps(*this);
    return element_count(
        {checked_multiply(steps.end - steps.begin, planes_of_step), rows, columns});
}

ImageView SplitLayout::part(void* data, int index, Precision precision) const {
    const PartShape part = part_shape(complex_data, {index, parts, z_grid});
    const StepRange steps = stored_steps(*this);
    const index_t planes_of_step = part.planes / split_steps(*this);
    const Shape3 shape{(steps.end - steps.begin) * planes_of_step, rows, columns};
    const index_t bytes_of_part = samples() / parts * sample_bytes(precision, complex_data);
    return {static_cast<char*>(data) + index * bytes_of_part,
            sample_type(precision, complex_data || part.complex_data), shape,
            contiguous_strides(shape)};
}

template <class Real>
index_t split(const BlockInput& input, const SplitLayout& layout, Real* data, int threads,
              const ExecutionContext& context, const SplitSection& section) {
    check_input(input, layout, section.first_row);
    if (layout.complex_data) {
        return split_typed<std::complex<Real>>(input, layout, data, threads, context, section);
    }
    return split_typed<Real>(input, layout, data, threads, context, section);
}

template index_t split(const BlockInput&, const SplitLayout&, float*, int, const ExecutionContext&,
                       const SplitSection&);
template index_t split(const BlockInput&, const SplitLayout&, double*, int, const ExecutionContext&,
                       const SplitSection&);

namespace {

void check_output(const SplitLayout& layout, const std::vector<index_t>& scatter,
                  const ImageView& target, index_t first_row) {
    check_layout(layout);
    const auto planes = static_cast<index_t>(scatter.size());
    const index_t last = scatter.empty() ? -1 : *std::max_element(scatter.begin(), scatter.end());
    if (planes > layout.z_grid || last >= target.shape.z ||
        first_row + target.shape.y > layout.rows || target.shape.x > layout.columns) {
        throw InvalidArgument(message(
            "an output of ", to_string(target.shape), " does not lie within a split volume of ",
            to_string({layout.z_grid, layout.rows, layout.columns}), "; enlarge the grid"));
    }
    if (layout.complex_data && !is_complex(target.type)) {
        throw InvalidArgument(message("complex data cannot be stored as ", to_string(target.type),
                                      "; ask for a complex type"));
    }
}

/// Merges the parts. T is the sample type of the undivided data.
template <class T, class Real>
ClampCount merge_typed(const Real* data, const SplitLayout& layout,
                       const std::vector<index_t>& scatter, const BlockOutput& output, int threads,
                       const ExecutionContext& context, const SplitSection& section) {
    const NetworkGeometry<Real> geometry(layout);
    const auto factors = geometry.factors(true);
    const auto undivided = static_cast<std::size_t>(geometry.rows.undivided);
    const auto parts = static_cast<std::size_t>(geometry.rows.parts);
    const ImageView& target = output.target;
    const bool plain =
        target.type == pixel_type_of_v<T> && target.strides.x == 1 && output.add == 0.0;
    const bool past_cache =
        plain && element_count(target.shape) * static_cast<index_t>(sizeof(T)) >= past_cache_bytes;
    std::vector<ClampCount> clamped(static_cast<std::size_t>(threads));

    const index_t longest = geometry.span_for(target.shape.x);

    const StepRange steps = common_steps(geometry.stored, section.steps);
    for_each_row(steps.end - steps.begin, target.shape.y, threads, context,
                 [&](int thread, index_t step_number, index_t y) {
                     const SpanBuffers<Real> buffers(geometry);
                     const index_t n = steps.begin + step_number;
                     std::array<index_t, max_rows> plane;  // plane of the target, or -1
                     bool needed = false;
                     for (std::size_t q = 0; q < undivided; ++q) {
                         const auto z = static_cast<std::size_t>(n) +
                                        q * static_cast<std::size_t>(geometry.networks);
                         plane[q] = z < scatter.size() ? scatter[z] : -1;
                         needed = needed || plane[q] >= 0;
                     }
                     if (!needed) return;
                     for (index_t x = 0; x < target.shape.x; x += longest) {
                         const index_t count = std::min(longest, target.shape.x - x);
                         const bool whole = count % row_quantum == 0;
                         NetworkSpan<Real> span;
                         span.samples = round_up(count, row_quantum);
                         for (std::size_t p = 0; p < parts; ++p) {
                             span.in[p] =
                                 data + geometry.part_offset(p, n, section.first_row + y, x);
                             if (whole) continue;
                             // Vectors could reach beyond the end of the volume.
                             std::copy_n(span.in[p], count * geometry.part_reals[p], buffers.in(p));
                             span.in[p] = buffers.in(p);
                         }
                         for (std::size_t q = 0; q < undivided; ++q) {
                             span.out[q] = buffers.out(q);
                             span.past_cache[q] = false;
                             if (plane[q] < 0 || !plain || !whole) continue;
                             auto* address = static_cast<Real*>(target.at(plane[q], y, x));
                             span.past_cache[q] = past_cache && is_line_aligned(address);
                             if (span.past_cache[q] || !past_cache) span.out[q] = address;
                         }
                         merge_span(layout.complex_data, layout.parts,
                                    factors[static_cast<std::size_t>(n)], span);
                         for (std::size_t q = 0; q < undivided; ++q) {
                             if (plane[q] < 0 || span.out[q] != buffers.out(q)) continue;
                             if (plain) {
                                 write_row(span.out[q], count * static_cast<index_t>(sizeof(T)),
                                           target.at(plane[q], y, x), past_cache);
                             } else {
                                 clamped[static_cast<std::size_t>(thread)] +=
                                     pixels::store_row(reinterpret_cast<const T*>(span.out[q]),
                                                       count, output.add, target, plane[q], y, x);
                             }
                         }
                     }
                 });
    ClampCount total;
    for (const ClampCount& c : clamped) total += c;
    return total;
}

}  // namespace

template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, const std::vector<index_t>& scatter,
                 const BlockOutput& output, int threads, const ExecutionContext& context,
                 const SplitSection& section) {
    check_output(layout, scatter, output.target, section.first_row);
    if (layout.complex_data)
        return merge_typed<std::complex<Real>>(data, layout, scatter, output, threads, context,
                                               section);
    return merge_typed<Real>(data, layout, scatter, output, threads, context, section);
}

template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, index_t z_begin,
                 const BlockOutput& output, int threads, const ExecutionContext& context) {
    const index_t planes = output.target.shape.z;
    if (z_begin < 0 || planes > layout.z_grid - z_begin)
        throw InvalidArgument(message("planes ", z_begin, " to ", z_begin + planes,
                                      " do not lie within a grid of ", layout.z_grid,
                                      " planes; enlarge the grid"));
    std::vector<index_t> scatter(static_cast<std::size_t>(z_begin), -1);
    for (index_t z = 0; z < planes; ++z) scatter.push_back(z);
    return merge(data, layout, scatter, output, threads, context);
}

template ClampCount merge(const float*, const SplitLayout&, index_t, const BlockOutput&, int,
                          const ExecutionContext&);
template ClampCount merge(const double*, const SplitLayout&, index_t, const BlockOutput&, int,
                          const ExecutionContext&);
template ClampCount merge(const float*, const SplitLayout&, const std::vector<index_t>&,
                          const BlockOutput&, int, const ExecutionContext&, const SplitSection&);
template ClampCount merge(const double*, const SplitLayout&, const std::vector<index_t>&,
                          const BlockOutput&, int, const ExecutionContext&, const SplitSection&);

}  // namespace convolume::decompose
