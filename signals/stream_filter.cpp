// SPDX-License-Identifier: Apache-2.0
#include "convolume/stream_filter.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "convolume/error.hpp"
#include "core/pixels/contiguous.hpp"
#include "core/threads.hpp"
#include "cpu/fft/own_fft.hpp"
#include "cpu/signals/stream_engine.hpp"
#include "signals/samples.hpp"

namespace convolume {

namespace {

constexpr index_t least_block = 32, largest_block = 4096, most_live_taps = index_t{1} << 24;
constexpr index_t most_live_channels = 1 << 16;

void check_options(const StreamFilterOptions& options) {
    if (options.block < least_block || options.block > largest_block)
        throw InvalidArgument(message("blocks of ", options.block, " samples: a block has ",
                                      least_block, " to ", largest_block));
    if (!cpu::OwnFft<float>::takes(options.block))
        throw InvalidArgument(message("blocks of ", options.block,
                                      " samples, a number with a prime factor above 13, cannot be "
                                      "transformed; take a power of two"));
    if (options.channels < 0 || options.channels > most_live_channels)
        throw InvalidArgument(
            message(options.channels, " channels: a filter has 1 to ", most_live_channels));
    if (options.max_taps < 0 || options.max_taps > most_live_taps)
        throw InvalidArgument(
            message("filters of up to ", options.max_taps, " taps: the most are ", most_live_taps));
    check_threads(options.threads);
}

void check_filters(const ConstImageView& filters, const StreamFilterOptions& options) {
    const Shape3& shape = filters.shape;
    if (element_count(shape) < 1 || filters.data == nullptr)
        throw InvalidArgument("a filter without taps; give each at least one");
    if (is_complex(filters.type))
        throw InvalidArgument(
            "filters of streams are real, and these are complex; filter real and "
            "imaginary parts by a filter each");
    if (!options.is_matrix && shape.z != 1)
        throw InvalidArgument(
            message("filters of shape ", shape.z, " × ", shape.y, " × ", shape.x,
                    " are a matrix of outputs × inputs × taps, but one filter for "
                    "each channel is requested"));
    if (shape.y > most_live_channels || shape.z > most_live_channels)
        throw InvalidArgument(message("filters for ", std::max(shape.y, shape.z),
                                      " channels: the most are ", most_live_channels));
    const bool is_shared = !options.is_matrix && shape.y == 1;
    if (options.channels > 0 && !is_shared && options.channels != shape.y)
        throw InvalidArgument(
            message(options.channels, " channels and ", shape.y,
                    " filters; give one filter for each channel, or one for all"));
    if (shape.x > most_live_taps)
        throw InvalidArgument(
            message("filters of ", shape.x, " taps: the most are ", most_live_taps));
}

cpu::StreamRouting routing_of(const ConstImageView& filters, const StreamFilterOptions& options) {
    const Shape3& shape = filters.shape;
    if (options.is_matrix) return {true, shape.y, shape.z, shape.y * shape.z};
    const index_t channels = std::max(options.channels, shape.y);
    return {false, channels, channels, shape.y};
}

/// Returns the taps of all filters, one filter after the other. Throws BadData.
template <class Real>
std::vector<Real> taps_of(const ConstImageView& filters) {
    const Shape3& shape = filters.shape;
    std::vector<Real> taps(static_cast<std::size_t>(element_count(shape)));
    for (index_t z = 0; z < shape.z; ++z) {
        ConstImageView plane = filters;
        plane.data = filters.at(z, 0, 0);
        plane.shape.z = 1;
        for (index_t y = 0; y < shape.y; ++y) {
            Real* const row = taps.data() + (z * shape.y + y) * shape.x;
            convert_row(plane, y, 0, shape.x, false, row);
            for (index_t k = 0; k < shape.x; ++k)
                if (!std::isfinite(row[k]))
                    throw BadData(message("tap ", k, " of filter ", z * shape.y + y, " is ", row[k],
                                          "; filters are of finite numbers"));
        }
    }
    return taps;
}

}  // namespace

struct StreamFilter::Impl {
    StreamFilterOptions options;
    cpu::StreamRouting routing{};
    Shape3 shape{};  ///< of the filters
    index_t taps = 0;
    std::variant<std::unique_ptr<cpu::StreamEngine<float>>,
                 std::unique_ptr<cpu::StreamEngine<double>>>
        engine;

    template <class Real>
    void make_engine(const ConstImageView& filters) {
        const std::vector<Real> all = taps_of<Real>(filters);
        engine = std::make_unique<cpu::StreamEngine<Real>>(
            routing, options.block, taps,
            static_cast<int>(std::min<index_t>(thread_count(options.threads),
                                               std::max(routing.inputs, routing.outputs))),
            all.data(), filters.shape.x);
    }

    template <class Real>
    void push(const Real* const* inputs, Real* const* outputs, index_t samples) {
        if (samples != options.block)
            throw InvalidArgument(message("a block of ", samples,
                                          " samples, and this filter takes ", options.block,
                                          " at once; collect samples to blocks of that size"));
        auto* const typed = std::get_if<std::unique_ptr<cpu::StreamEngine<Real>>>(&engine);
        if (typed == nullptr)
            throw InvalidArgument(message(
                "a block of ", sizeof(Real) == sizeof(float) ? "float32" : "float64",
                " samples for a filter of the other precision; convert them, or plan for it"));
        (*typed)->push(inputs, outputs);
    }
};

StreamFilter::StreamFilter(const ConstImageView& filters, const StreamFilterOptions& options)
    : impl_(std::make_unique<Impl>()) {
    check_options(options);
    check_filters(filters, options);
    impl_->options = options;
    impl_->routing = routing_of(filters, options);
    impl_->shape = filters.shape;
    impl_->taps = std::max(options.max_taps, filters.shape.x);
    if (options.precision == Precision::float64)
        impl_->make_engine<double>(filters);
    else
        impl_->make_engine<float>(filters);
}

const StreamFilterOptions& StreamFilter::options() const {
    return impl_->options;
}
index_t StreamFilter::inputs() const {
    return impl_->routing.inputs;
}
index_t StreamFilter::outputs() const {
    return impl_->routing.outputs;
}
index_t StreamFilter::taps() const {
    return impl_->taps;
}

std::vector<StreamPartition> StreamFilter::partitions() const {
    std::vector<StreamPartition> all;
    std::visit(
        [&](const auto& engine) {
            for (const cpu::PartitionLevel& level : engine->partitions())
                all.push_back({level.size, level.count});
        },
        impl_->engine);
    return all;
}

index_t StreamFilter::bytes() const {
    return std::visit([](const auto& engine) { return engine->bytes(); }, impl_->engine);
}

std::string StreamFilter::to_string() const {
    TextStream text;
    text << "blocks of " << block() << ", " << inputs() << " inputs, " << outputs()
         << " outputs, filters of up to " << taps() << " taps, in partitions of ";
    bool first = true;
    for (const StreamPartition& level : partitions()) {
        text << (first ? "" : ", ") << level.count << " × " << level.taps;
        first = false;
    }
    return text.str();
}

void StreamFilter::push(const float* const* inputs, float* const* outputs, index_t samples) {
    impl_->push(inputs, outputs, samples);
}
void StreamFilter::push(const double* const* inputs, double* const* outputs, index_t samples) {
    impl_->push(inputs, outputs, samples);
}

void StreamFilter::replace(const ConstImageView& filters, index_t fade) {
    check_filters(filters, impl_->options);
    const Shape3 &now = impl_->shape, &next = filters.shape;
    if (next.z != now.z || next.y != now.y)
        throw InvalidArgument(message("filters of shape ", next.z, " × ", next.y,
                                      " in place of filters of ", now.z, " × ", now.y,
                                      "; give as many"));
    if (next.x > impl_->taps)
        throw InvalidArgument(sentence("filters of ", next.x,
                                       " taps, and this filter was made for ", impl_->taps,
                                       "; make it for more (", OptionName{"max_taps"}, ")"));
    if (fade < 0) throw InvalidArgument(message("a fade of ", fade, " samples cannot be negative"));
    if (fade == 0) fade = block();
    std::visit(
        [&]<class Real>(const std::unique_ptr<cpu::StreamEngine<Real>>& engine) {
            engine->replace(taps_of<Real>(filters).data(), next.x, fade);
        },
        impl_->engine);
}

bool StreamFilter::is_replacing() const {
    return std::visit([](const auto& engine) { return engine->is_replacing(); }, impl_->engine);
}

index_t StreamFilter::max_replace_delay() const {
    return block() *
           std::visit([](const auto& engine) { return engine->most_blocks_before_fade(); },
                      impl_->engine);
}

void StreamFilter::reset() {
    std::visit([](const auto& engine) { engine->reset(); }, impl_->engine);
}

}  // namespace convolume
