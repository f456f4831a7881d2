// SPDX-License-Identifier: Apache-2.0
#include "convolume/filter_bank.hpp"

#include <algorithm>

#include "convolume/device_signals.hpp"
#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "core/report.hpp"
#include "core/result_chunks.hpp"
#include "core/stop_scope.hpp"
#include "core/threads.hpp"
#include "engines/engines.hpp"
#include "signals/filter_bank_factory.hpp"
#include "signals/filter_problem.hpp"
#include "signals/samples.hpp"
#include "signals/stream.hpp"

namespace convolume {

void ResultSink::write_positions(index_t, index_t, index_t, index_t, const index_t*) {}

std::string FilterPlan::to_string() const {
    std::string text = message("method: ", convolume::to_string(method));
    if (segment > 0) text += message(" in segments of ", segment);
    text += message("\nengine: ", engine, "\npredicted: ", seconds * 1e3, " ms");
    text += "\n";
    if (chunk == 0) return text;
    text += message("streaming: ", chunk, " results at a time in ", format_bytes(stream_bytes),
                    " of memory\n");
    return text;
}

struct FilterBank::Impl {
    SignalShape shape;
    FilterOptions options;
    FilterProblem problem;
    MethodSelection choice;
    FilterPlan plan;
    std::shared_ptr<const PreparedFilters> prepared;

    Impl(const SignalShape& signal_shape, const std::vector<ConstImageView>& filters,
         const FilterOptions& opts, const FilterEngineList& engines, PixelType signal_type)
        : shape(signal_shape),
          options(opts),
          problem(resolve_filters(shape, filters, options, signal_type)),
          choice(select_method(problem, shape, options, engines)) {
        problem.spec.method = choice.cost.method;
        problem.spec.segment = choice.cost.segment;
        const StreamLayout layout = stream_layout(problem, shape, choice, stream_limit(options));
        plan = {choice.cost.method,  choice.cost.segment, choice.engine->info().name,
                choice.cost.seconds, layout.chunk,        layout.bytes};
        prepared = choice.engine->prepare(problem.spec, problem.taps.view().data);
        problem.taps = {};  // the engine has its own copy
    }

    void check(const ConstImageView& signals, const ImageView& results,
               const index_t* positions) const {
        const auto expect = [](const char* what, const Shape3& found, const Shape3& wanted) {
            if (found != wanted)
                throw InvalidArgument(message(what, " have the shape ", to_string(found),
                                              ", but this bank was planned for ",
                                              to_string(wanted)));
        };
        expect("the signals", signals.shape,
               {1, shape.signals, checked_multiply(shape.samples, problem.signal_elements())});
        expect("the results", results.shape,
               {shape.signals, problem.spec.filters,
                checked_multiply(problem.stored(), problem.result_elements())});
        refuse_null(signals.data == nullptr && element_count(signals.shape) > 0, "signals");
        refuse_null(results.data == nullptr && element_count(results.shape) > 0, "results");
        if (overlap(signals, results))
            throw InvalidArgument(
                "signals and results overlap in memory: filter into memory of its own");
        check_type(signals.type);
        check_stored_type(problem.result_element(), results.type, "results");
        if (results.shape.x > 1 && results.strides.x != 1)
            throw InvalidArgument("the samples of a result must follow each other in memory");
        const index_t elements = problem.result_elements();
        if (results.strides.z % elements != 0 || results.strides.y % elements != 0)
            throw InvalidArgument(
                "rows of complex results must be an even number of elements apart");
        if (positions && problem.spec.window.kind != WindowPost::Kind::peak)
            throw InvalidArgument(
                "only the peaks of windows have positions: give no array for them (null)");
    }

    void check_type(PixelType type) const {
        const SampleStorage storage = problem.spec.signal_storage;
        if (storage != SampleStorage::plain && type != element_type(storage))
            throw InvalidArgument(message(
                "the signals are ", to_string(type), ", but this bank was planned for elements of ",
                to_string(element_type(storage)), " that store ", to_string(storage)));
        if (is_complex(type) && !problem.spec.complex_data)
            throw InvalidArgument(
                "the signals are complex, but this bank was planned for real ones: give the "
                "complex type when planning");
    }

    ExecutionReport filter_in_memory(const ConstImageView& signals, const ImageView& results,
                                     index_t* positions, const ExecutionContext& context) const {
        const FilterSpec& spec = problem.spec;
        const SampleRange range = problem.engine_range();
        const SampleRange needed = problem.inputs(range, shape.samples);
        ExecutionReport report;
        if (needed.count() > 0) report.nonfinite_inputs = check_samples(signals, needed);

        const index_t elements = problem.signal_elements();
        index_t clamped[2] = {};
        const FilterResult result{range,
                                  results.data,
                                  positions,
                                  results.strides.z / problem.result_elements(),
                                  results.strides.y / problem.result_elements(),
                                  clamped};
        const bool is_native = signals.type == problem.signal_element() &&
                               (signals.strides.x == 1 || signals.shape.x == 1) &&
                               signals.strides.y % elements == 0 && report.nonfinite_inputs == 0;
        if (is_native)
            choice.engine->filter(
                spec, *prepared,
                {signals.at(0, 0, needed.begin * elements), shape.signals,
                 signals.strides.y / elements, needed.begin, needed.count(), spec.signal_storage},
                result, context);
        else
            filter_converted(signals, result, report.nonfinite_inputs > 0, context);
        report.clamped_low = clamped[0];
        report.clamped_high = clamped[1];
        return report;
    }

    // Searches the samples `needed` for NaN, as check_finite() does.
    index_t check_samples(const ConstImageView& signals, const SampleRange& needed) const {
        const index_t elements = problem.signal_elements();
        const int threads = choice.engine->info().threads;
        const ConstImageView used = subview(
            signals, {{0, 0, needed.begin * elements}, {1, shape.signals, needed.end * elements}});
        const SampleStorage storage = problem.spec.signal_storage;
        if (storage == SampleStorage::plain)
            return check_finite(used, options.nan, 0, needed.begin, threads);
        return check_finite_words(used, storage, elements, options.nan, 0, needed.begin, threads);
    }

    // Filters signals of other types or layouts: converts them chunk by chunk and writes results in
    // place.
    void filter_converted(const ConstImageView& signals, const FilterResult& result,
                          bool nonfinite_to_zero, const ExecutionContext& context) const {
        const FilterSpec& spec = problem.spec;
        const auto sample = sample_bytes(spec.sample_type());
        const auto stored = spec.result_bytes();
        constexpr index_t samples_at_a_time = index_t{1} << 23;
        // Windows of peaks are not divided, because this loop does not combine partial peaks.
        const index_t longest =
            std::max({ceil_div(samples_at_a_time, shape.signals), 4 * spec.taps,
                      spec.window.kind == WindowPost::Kind::peak ? spec.window.length : 1});
        const ResultChunks chunks(result.range, spec.window, longest);
        Buffer buffer;
        for (index_t i = 0; i < chunks.count(); ++i) {
            throw_if_stopped(context);
            const ResultChunk chunk = chunks[i];
            const SampleRange inputs = problem.inputs(chunk.results, shape.samples);
            const index_t bytes =
                checked_multiply(checked_multiply(shape.signals, inputs.count()), sample);
            if (buffer.bytes() < bytes) buffer = Buffer(bytes, "converted signals");
            convert(signals, inputs, nonfinite_to_zero, buffer.as<char>());

            FilterResult chunk_result = result;
            chunk_result.range = chunk.results;
            chunk_result.data = static_cast<char*>(result.data) + chunk.first_stored * stored;
            if (chunk_result.peak_positions) chunk_result.peak_positions += chunk.first_stored;
            ExecutionContext chunk_context = context;
            if (context.progress)
                chunk_context.progress = [&](double done) {
                    context.progress((static_cast<double>(i) + done) /
                                     static_cast<double>(chunks.count()));
                };
            choice.engine->filter(
                spec, *prepared,
                {buffer.data(), shape.signals, inputs.count(), inputs.begin, inputs.count()},
                chunk_result, chunk_context);
        }
    }

    void convert(const ConstImageView& signals, const SampleRange& inputs, bool nonfinite_to_zero,
                 char* to) const {
        const PixelType type = problem.spec.sample_type();
        const SampleStorage storage = problem.spec.signal_storage;
        const index_t elements = problem.signal_elements();
        const auto sample = sample_bytes(type);
        constexpr index_t chunk = index_t{1} << 16;
        const index_t chunks = ceil_div(inputs.count(), chunk);
        const index_t tasks = shape.signals * chunks;
        parallel_for(tasks, choice.engine->info().threads, [&](index_t task, int) {
            const index_t s = task / chunks;
            const index_t begin = task % chunks * chunk;
            const index_t count = std::min(chunk, inputs.count() - begin);
            char* const row = to + (s * inputs.count() + begin) * sample;
            if (storage == SampleStorage::plain)
                convert_row(signals, s, inputs.begin + begin, count, nonfinite_to_zero, type, row);
            else
                convert_words(static_cast<const std::uint16_t*>(
                                  signals.at(0, s, (inputs.begin + begin) * elements)),
                              count * elements, signals.strides.x, storage, nonfinite_to_zero,
                              reinterpret_cast<float*>(row));
        });
    }

    ExecutionReport execute(const ConstImageView& signals, const ImageView& results,
                            index_t* positions, const ExecutionContext& context) const {
        const StopScope scope(context.stop);
        check(signals, results, positions);
        throw_if_stopped(context);
        const index_t count = shape.signals * problem.spec.filters * problem.stored();
        ExecutionReport report;
        if (positions && !is_contiguous(results)) {
            // Engines store positions with the strides of results, so results are contiguous, too.
            Volume dense(results.shape, results.type);
            report = filter_in_memory(signals, dense.view(), positions, context);
            copy_rows(dense.view(), results);
        } else {
            report = filter_in_memory(signals, results, positions, context);
        }
        if (positions && problem.shift != 0)
            std::for_each(positions, positions + count, [&](index_t& n) { n -= problem.shift; });
        return report;
    }

    static void copy_rows(const ConstImageView& from, const ImageView& to) {
        const auto bytes = from.shape.x * sample_bytes(from.type);
        for (index_t z = 0; z < from.shape.z; ++z)
            for (index_t y = 0; y < from.shape.y; ++y) {
                const char* const row = static_cast<const char*>(from.at(z, y, 0));
                std::copy(row, row + bytes, static_cast<char*>(to.at(z, y, 0)));
            }
    }

    ExecutionReport filter_stream(SignalSource& source, ResultSink& sink,
                                  const ExecutionContext& context) const {
        const StopScope scope(context.stop);
        check_type(source.type());
        const index_t limit = stream_limit(options);
        const StreamLayout layout = stream_layout(problem, shape, choice, limit);
        if (layout.chunk == 0)
            throw OutOfMemory(sentence("streaming these signals takes at least ",
                                       format_limit(layout.bytes), " of memory, and the limit is ",
                                       format_bytes(limit), ": raise it to that (",
                                       OptionName{"max_host_bytes"},
                                       "), or filter with fewer or shorter filters at a time"));
        return stream_signals({problem, shape, options.nan, layout, *choice.engine, *prepared},
                              source, sink, context);
    }
};

FilterBank::FilterBank(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                       const FilterOptions& options, const EngineChoice& engines,
                       PixelType signal_type)
    : FilterBank(FilterBankFactory::make(shape, filters, options, make_filter_engines(engines),
                                         signal_type)) {}
FilterBank::FilterBank(Hidden<Impl> impl) : impl_(std::move(impl)) {}

const SignalShape& FilterBank::signal_shape() const {
    return impl_->shape;
}
index_t FilterBank::filters() const {
    return impl_->problem.spec.filters;
}
index_t FilterBank::taps() const {
    return impl_->problem.frame_taps;
}
index_t FilterBank::origin() const {
    return impl_->problem.origin;
}
SampleRange FilterBank::range() const {
    return impl_->problem.range;
}
index_t FilterBank::result_samples() const {
    return impl_->problem.stored();
}
PixelType FilterBank::result_type() const {
    return impl_->problem.result_element();
}
index_t FilterBank::result_elements() const {
    return impl_->problem.result_elements();
}
FilterPlan FilterBank::plan() const {
    return impl_->plan;
}

ExecutionReport FilterBank::execute(const ConstImageView& signals, const ImageView& results,
                                    index_t* peak_positions,
                                    const ExecutionContext& context) const {
    return timed([&] { return impl_->execute(signals, results, peak_positions, context); });
}

ExecutionReport FilterBank::execute(SignalSource& source, ResultSink& sink,
                                    const ExecutionContext& context) const {
    return timed([&] { return impl_->filter_stream(source, sink, context); });
}

Volume filter_signals(const ConstImageView& signals, const ConstImageView& filters,
                      const FilterOptions& options, const EngineChoice& engines) {
    const FilterBank bank({signals.shape.y, signals.shape.x}, {filters}, options, engines,
                          signals.type);
    Volume results({bank.signal_shape().signals, bank.filters(),
                    bank.result_samples() * bank.result_elements()},
                   bank.result_type());
    bank.execute(signals, results.view());
    return results;
}

FilterBank FilterBankFactory::make(const SignalShape& shape,
                                   const std::vector<ConstImageView>& filters,
                                   const FilterOptions& options, const FilterEngineList& engines,
                                   PixelType signal_type) {
    return FilterBank(
        std::make_unique<FilterBank::Impl>(shape, filters, options, engines, signal_type));
}

namespace {

void check_device_options(const FilterOptions& options) {
    if (options.nan == NanPolicy::zero)
        throw InvalidArgument(
            "signals in a GPU's memory are taken as they are: replace NaN by zero before, or let "
            "it propagate");
    if (options.function && options.function->device_kernels() == nullptr)
        throw InvalidArgument(
            "the function runs on the CPU only: make it with device_sample_function() of "
            "convolume/cuda/device_sample_function.cuh");
}

}  // namespace

struct DeviceFilterBank::Impl {
    int device = 0;
    SignalShape shape;
    FilterProblem problem;
    std::unique_ptr<DeviceFilterProgram> program;
};

DeviceFilterBank::DeviceFilterBank(const SignalShape& shape,
                                   const std::vector<ConstImageView>& filters,
                                   const FilterOptions& options, const DeviceFilterOptions& device)
    : impl_(std::make_unique<Impl>()) {
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    check_device_options(options);
    impl_->device = device.device;
    impl_->shape = shape;
    FilterProblem& problem = impl_->problem;
    problem = resolve_filters(shape, filters, options, device.signal_type);
    impl_->program = require_gpu_backend().make_device_filter_program(
        device.device, problem.spec, problem.taps.view().data, shape.signals,
        problem.range.count());
    problem.taps = {};  // the device has its own copy
}

const SignalShape& DeviceFilterBank::signal_shape() const {
    return impl_->shape;
}
index_t DeviceFilterBank::filters() const {
    return impl_->problem.spec.filters;
}
index_t DeviceFilterBank::taps() const {
    return impl_->problem.frame_taps;
}
index_t DeviceFilterBank::origin() const {
    return impl_->problem.origin;
}
SampleRange DeviceFilterBank::range() const {
    return impl_->problem.range;
}
index_t DeviceFilterBank::result_samples() const {
    return impl_->problem.stored();
}
PixelType DeviceFilterBank::sample_type() const {
    return impl_->problem.signal_element();
}
PixelType DeviceFilterBank::result_type() const {
    return impl_->problem.result_element();
}
index_t DeviceFilterBank::sample_elements() const {
    return impl_->problem.signal_elements();
}
index_t DeviceFilterBank::result_elements() const {
    return impl_->problem.result_elements();
}
ClampCount DeviceFilterBank::clamped(DeviceStream stream) const {
    return impl_->program->clamped(stream.get());
}
index_t DeviceFilterBank::device_bytes() const {
    return impl_->program->bytes();
}
FilterPlan DeviceFilterBank::plan() const {
    const FilterCost& cost = impl_->program->cost();
    FilterPlan plan;
    plan.method = cost.method;
    plan.segment = cost.segment;
    plan.engine = message("gpu:", impl_->device);
    plan.seconds = cost.seconds;
    return plan;
}

void DeviceFilterBank::execute(const void* signals, void* results, index_t* peak_positions,
                               DeviceStream stream) const {
    refuse_null(signals == nullptr, "signals");
    refuse_null(results == nullptr, "results");
    const FilterProblem& problem = impl_->problem;
    const SignalShape& shape = impl_->shape;
    const auto is_aligned = [](const void* array, index_t elements) {
        return elements == 1 || reinterpret_cast<std::uintptr_t>(array) % 4 == 0;
    };
    if (!is_aligned(signals, problem.signal_elements()) ||
        !is_aligned(results, problem.result_elements()))
        throw InvalidArgument(
            "complex samples of 16 bits must begin at a multiple of 4 bytes: move the array");
    if (peak_positions && problem.spec.window.kind != WindowPost::Kind::peak)
        throw InvalidArgument(
            "only the peaks of windows have positions: give no array for them (null)");
    // The caller's result n is the engine's result n + shift. For signals that begin `shift`
    // earlier, both numbers agree, and peaks have the caller's positions.
    const SignalView view{signals,        shape.signals, shape.samples,
                          -problem.shift, shape.samples, problem.spec.signal_storage};
    FilterResult result;
    result.range = problem.range;
    result.data = results;
    result.peak_positions = peak_positions;
    result.filter_stride = problem.stored();
    result.signal_stride = problem.spec.filters * problem.stored();
    impl_->program->run(view, result, stream.get());
}

}  // namespace convolume
