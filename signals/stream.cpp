// SPDX-License-Identifier: Apache-2.0
#include "signals/stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stop_token>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"
#include "core/host_memory.hpp"
#include "core/item_steps.hpp"
#include "core/result_chunks.hpp"
#include "signals/samples.hpp"

namespace convolume {

namespace {

/// The unit of computation: one chunk of the range, of some signals.
struct StreamChunk {
    index_t first_signal = 0;
    index_t signals = 1;
    index_t index = 0;         ///< number of the chunk in the range
    ResultChunk at{};          ///< results of the chunk; empty if a signal ended before them
    SampleRange samples{};     ///< samples of the signal that the results need
    bool ends_window = false;  ///< the last chunk of a window: the window's results are complete
    bool last = false;         ///< the last chunk of all signals
};

class SignalPipeline {
  public:
    SignalPipeline(const StreamJob& job, SignalSource& source, ResultSink& sink,
                   const ExecutionContext& context)
        : job_(job),
          source_(source),
          sink_(sink),
          context_(context),
          spec_(job.problem.spec),
          peaks_(spec_.window.kind == WindowPost::Kind::peak),
          sample_bytes_(spec_.signal_bytes()),
          result_bytes_(spec_.result_bytes()),
          range_chunks_(job.problem.engine_range(), spec_.window, job.layout.chunk),
          chunks_(ceil_div(job.shape.signals, job.layout.signals) * range_chunks_.count()),
          length_known_(job.shape.samples != unknown_samples),
          samples_(job.shape.samples),
          range_end_(job.problem.engine_range().end) {
        const StreamLayout& layout = job.layout;
        const index_t results = layout.signals * spec_.filters * layout.stored;
        for (index_t slot = 0; slot < 2; ++slot) {
            input(slot) = {
                {}, Buffer(layout.signals * layout.input_samples * sample_bytes_, "signals")};
            input(slot).values.spread();
            output(slot) = {{},
                            Buffer(results * result_bytes_, "results"),
                            Buffer(peaks_ ? bytes_of<index_t>(results) : 0, "positions")};
        }
        if (source.type() != job.problem.signal_element())
            raw_ = Buffer(StreamLayout::raw_samples * sample_bytes(source.type()), "samples");
        if (range_chunks_.chunks_per_window() > 1) {
            window_peaks_ = {{},
                             Buffer(spec_.filters * result_bytes_, "peaks"),
                             Buffer(bytes_of<index_t>(spec_.filters), "positions")};
        }
    }

    ExecutionReport run() {
        ItemSteps steps;
        steps.read = [this](index_t number) { read_chunk(number); };
        steps.compute = [this](index_t number) { filter_chunk(number); };
        steps.write = [this](index_t number) { write(output(number)); };
        steps.is_last = [this](index_t number) { return input(number).chunk.last; };
        steps.cancel = [this] { cancel(); };
        {
            // On a stop, ends waits of the source for samples, and of the sink for its reader.
            const std::stop_callback on_stop(context_.stop, steps.cancel);
            run_item_steps(chunks_, true, steps);
        }
        throw_if_stopped(context_);
        if (context_.progress && length_known_) context_.progress(1);
        ExecutionReport report;
        report.nonfinite_inputs = nonfinite_;
        report.clamped_low = clamped_[0];
        report.clamped_high = clamped_[1];
        return report;
    }

  private:
    struct InputSlot {
        StreamChunk chunk;
        Buffer values;  ///< samples, indexed [signal][sample]
    };
    struct OutputSlot {
        StreamChunk chunk;
        Buffer values;     ///< results, indexed [signal][filter][stored sample]
        Buffer positions;  ///< positions of peaks, indexed like `values`
    };

    InputSlot& input(index_t number) { return inputs_[static_cast<std::size_t>(number % 2)]; }
    OutputSlot& output(index_t number) { return outputs_[static_cast<std::size_t>(number % 2)]; }

    StreamChunk chunk_at(index_t number) const {
        StreamChunk chunk;
        chunk.first_signal = number / range_chunks_.count() * job_.layout.signals;
        chunk.signals = std::min(job_.layout.signals, job_.shape.signals - chunk.first_signal);
        chunk.index = number % range_chunks_.count();
        chunk.at = range_chunks_[chunk.index];
        chunk.samples = job_.problem.inputs(chunk.at.results, samples_);
        chunk.samples.end =
            std::min(samples_, chunk.samples.end + job_.problem.samples_to_detect_end(job_.shape));
        chunk.last = number + 1 == chunks_;
        chunk.ends_window = (chunk.index + 1) % range_chunks_.chunks_per_window() == 0 ||
                            chunk.index + 1 == range_chunks_.count();
        return chunk;
    }

    // Sets the length of the signal, which was unknown before.
    void end_signal(index_t samples) {
        if (samples == 0) throw BadData("the signal holds no samples; check what writes it");
        length_known_ = true;
        samples_ = samples;
        const index_t shift = job_.problem.shift;
        range_end_ = job_.problem.range_of(samples).end + shift;
    }

    // Removes the results that do not exist because the signal has ended.
    void clip(StreamChunk& chunk) const {
        SampleRange& results = chunk.at.results;
        chunk.samples.end = std::clamp(samples_, chunk.samples.begin, chunk.samples.end);
        if (range_end_ > results.end) return;
        chunk.last = chunk.ends_window = true;
        results.end = std::max(range_end_, results.begin);
        // Earlier chunks of the window may have results to be stored.
        const bool window_begun = chunk.index % range_chunks_.chunks_per_window() != 0;
        chunk.at.stored =
            std::max<index_t>(spec_.window.stored(results.count()), window_begun ? 1 : 0);
    }

    void cancel() {
        source_.cancel();
        sink_.cancel();
    }

    void read_chunk(index_t number) {
        throw_if_stopped(context_);
        StreamChunk now = chunk_at(number);
        const SampleRange wanted = now.samples;
        char* const to = input(number).values.as<char>();
        // Chunks of one signal overlap: common samples are copied from the previous slot.
        // (Chunks of several signals hold whole signals.)
        const InputSlot& previous = input(number + 1);
        const SampleRange& before = previous.chunk.samples;
        index_t copied = 0;
        if (now.index > 0 && now.signals == 1 && wanted.begin >= before.begin &&
            wanted.begin < before.end) {
            copied = std::min(before.end, wanted.end) - wanted.begin;
            std::memcpy(to,
                        previous.values.as<char>() + (wanted.begin - before.begin) * sample_bytes_,
                        static_cast<std::size_t>(copied * sample_bytes_));
        }
        for (index_t s = 0; s < now.signals; ++s) {
            throw_if_stopped(context_);
            read(now.first_signal + s, {wanted.begin + copied, wanted.end},
                 to + (s * wanted.count() + copied) * sample_bytes_);
        }
        if (job_.shape.samples == unknown_samples && length_known_) clip(now);
        input(number).chunk = now;
    }

    // Reads and converts samples of one signal; fewer if the signal ends.
    void read(index_t signal, const SampleRange& wanted, char* to) {
        const PixelType type = source_.type();
        const bool convert = type != job_.problem.signal_element();
        const index_t step = convert ? StreamLayout::raw_samples : wanted.count();
        for (index_t begin = wanted.begin; begin < std::min(wanted.end, samples_); begin += step) {
            index_t count = std::min(step, wanted.end - begin);
            void* const raw = convert ? raw_.data() : to;
            if (length_known_) {
                source_.read(signal, begin, count, raw);
            } else if (const index_t samples_read =
                           source_.read_until_end(signal, begin, count, raw);
                       samples_read < count) {
                end_signal(begin + samples_read);
                count = std::max<index_t>(samples_read, 0);
                if (count == 0) break;
            }
            const index_t elements = count * job_.problem.signal_elements();
            const ConstImageView samples{raw, type, {1, 1, elements}, {elements, elements, 1}};
            nonfinite_ += check(samples, signal, begin, convert, to);
            to += count * sample_bytes_;
        }
    }

    // Checks samples of one signal, and converts or clears them. Returns how many are not finite.
    index_t check(const ConstImageView& samples, index_t signal, index_t begin, bool convert,
                  char* to) const {
        if (spec_.signal_storage != SampleStorage::plain) {
            const index_t bad =
                check_finite_words(samples, spec_.signal_storage, job_.problem.signal_elements(),
                                   job_.nan, signal, begin, 1);
            if (bad > 0)
                clear_nonfinite(reinterpret_cast<std::uint16_t*>(to), samples.shape.x,
                                spec_.signal_storage);
            return bad;
        }
        const index_t bad = check_finite(samples, job_.nan, signal, begin, 1);
        if (convert || bad > 0)
            convert_row(samples, 0, 0, samples.shape.x, bad > 0, spec_.sample_type(), to);
        return bad;
    }

    void filter_chunk(index_t number) {
        throw_if_stopped(context_);
        const InputSlot& from = input(number);
        OutputSlot& results = output(number);
        const StreamChunk& now = results.chunk = from.chunk;
        const SampleRange& samples = now.samples;
        const index_t stored = now.at.stored;
        index_t* const positions = peaks_ ? results.positions.as<index_t>() : nullptr;
        const index_t count = now.signals * spec_.filters * stored;

        ExecutionContext context = context_;
        context.progress = {};
        if (context_.progress && job_.shape.samples != unknown_samples)
            context.progress = [&](double done) {
                context_.progress((static_cast<double>(number) + done) /
                                  static_cast<double>(chunks_ + 1));
            };
        if (now.at.results.count() > 0) {
            job_.engine.filter(spec_, job_.prepared,
                               {from.values.data(), now.signals, samples.count(), samples.begin,
                                samples.count(), spec_.signal_storage},
                               {now.at.results, results.values.data(), positions,
                                spec_.filters * stored, stored, clamped_},
                               context);
            if (positions)
                std::for_each(positions, positions + count,
                              [&](index_t& n) { n -= job_.problem.shift; });
        }
        if (range_chunks_.chunks_per_window() > 1 && stored > 0) combine_chunk_peaks(now, results);
    }

    // Combines the peaks of one chunk with those of earlier chunks of its window. After the
    // window's last chunk, `results` are those of the whole window.
    void combine_chunk_peaks(const StreamChunk& chunk, const OutputSlot& results) {
        const bool first = chunk.index % range_chunks_.chunks_per_window() == 0;
        if (chunk.at.results.count() == 0)
            ;  // the signal ended with the previous chunk
        else if (spec_.result_type() == PixelType::float32)
            combine<float>(results, first);
        else
            combine<double>(results, first);
        if (chunk.ends_window) {
            std::memcpy(results.values.data(), window_peaks_.values.data(),
                        static_cast<std::size_t>(spec_.filters * result_bytes_));
            std::memcpy(results.positions.data(), window_peaks_.positions.data(),
                        static_cast<std::size_t>(spec_.filters) * sizeof(index_t));
        }
    }
    template <class Real>
    void combine(const OutputSlot& results, bool first) {
        for (index_t f = 0; f < spec_.filters; ++f) {
            const Real value = results.values.as<Real>()[f];
            Real& largest = window_peaks_.values.as<Real>()[f];
            if (!first && !is_higher(value, largest)) continue;
            largest = value;
            window_peaks_.positions.as<index_t>()[f] = results.positions.as<index_t>()[f];
        }
    }

    // Writes the results of a chunk; those of a window in several chunks are in the last one.
    void write(const OutputSlot& results) {
        throw_if_stopped(context_);
        const StreamChunk& now = results.chunk;
        const ResultChunk& at = now.at;
        if (at.stored == 0 || !now.ends_window) return;
        for (index_t s = 0; s < now.signals; ++s)
            for (index_t f = 0; f < spec_.filters; ++f) {
                throw_if_stopped(context_);
                const index_t from = (s * spec_.filters + f) * at.stored;
                sink_.write(now.first_signal + s, f, at.first_stored, at.stored,
                            results.values.as<char>() + from * result_bytes_);
                if (peaks_)
                    sink_.write_positions(now.first_signal + s, f, at.first_stored, at.stored,
                                          results.positions.as<index_t>() + from);
            }
    }

    const StreamJob& job_;
    SignalSource& source_;
    ResultSink& sink_;
    const ExecutionContext& context_;
    const FilterSpec& spec_;
    bool peaks_;
    index_t sample_bytes_;
    index_t result_bytes_;
    ResultChunks range_chunks_;
    index_t chunks_;
    // For signals of unknown length, the reading thread sets these when the signal ends.
    bool length_known_;
    index_t samples_;
    index_t range_end_;

    std::array<InputSlot, 2> inputs_;
    std::array<OutputSlot, 2> outputs_;
    Buffer raw_;               ///< samples of the source's type
    OutputSlot window_peaks_;  ///< peaks so far of a window in several chunks
    index_t nonfinite_ = 0;
    index_t clamped_[2] = {};
};

// Returns the bytes of host memory that an engine allocates itself.
index_t engine_bytes(const MethodSelection& choice) {
    return choice.engine->info().is_gpu ? choice.cost.host_bytes : choice.cost.work_bytes;
}

}  // namespace

StreamLayout stream_layout(const FilterProblem& problem, const SignalShape& shape,
                           const MethodSelection& choice, index_t limit_bytes) {
    const FilterSpec& spec = problem.spec;
    const bool peaks = spec.window.kind == WindowPost::Kind::peak;
    const index_t sample = spec.signal_bytes();
    const index_t stored_sample =
        spec.result_bytes() + (peaks ? static_cast<index_t>(sizeof(index_t)) : 0);
    const index_t fixed = checked_add(
        engine_bytes(choice),
        // Buffers for samples before conversion, and for the peaks of a window in several chunks.
        checked_add(StreamLayout::raw_samples * sample_bytes(PixelType::complex128),
                    checked_multiply(spec.filters, peaks ? stored_sample : 0)));

    const auto layout_of = [&](index_t chunk, index_t signals) {
        const ResultChunks chunks(problem.engine_range(), spec.window, chunk);
        StreamLayout layout{chunk, signals, 0, 0, 0};
        layout.stored = chunks[0].stored;
        const index_t reach = checked_add(
            spec.taps - 1 + (spec.function ? spec.function->before + spec.function->after : 0),
            problem.samples_to_detect_end(shape));
        layout.input_samples =
            std::min(shape.samples, checked_add(std::min(chunk, problem.range.count()), reach));
        const index_t inputs = checked_multiply(signals, layout.input_samples);
        const index_t results =
            checked_multiply(checked_multiply(signals, spec.filters), layout.stored);
        // There are two buffers of each kind: one for the engine, one for the reading or writing
        // thread.
        layout.bytes = checked_add(
            fixed,
            2 * checked_add(
                    Buffer::rounded_bytes(checked_multiply(inputs, sample)),
                    checked_add(
                        Buffer::rounded_bytes(checked_multiply(results, spec.result_bytes())),
                        Buffer::rounded_bytes(peaks ? bytes_of<index_t>(results) : 0))));
        return layout;
    };
    const auto fits = [&](index_t chunk, index_t signals) {
        return layout_of(chunk, signals).bytes <= limit_bytes;
    };
    // Returns the largest number up to `most` for which `fitting` holds, given that it holds for 1.
    const auto largest = [](index_t most, const auto& fitting) {
        index_t low = 1;
        while (low < most) {
            const index_t middle = low + (most - low + 1) / 2;
            if (fitting(middle))
                low = middle;
            else
                most = middle - 1;
        }
        return low;
    };
    if (!fits(1, 1)) {
        StreamLayout none = layout_of(1, 1);
        none.chunk = 0;
        return none;
    }
    // Chunks are large enough that overheads are negligible, and small enough that reading overlaps
    // with filtering.
    constexpr index_t results_at_a_time = index_t{1} << 24;
    const index_t wanted_results =
        problem.chunk > 0 ? problem.chunk
                          : std::max(results_at_a_time / std::max<index_t>(1, spec.filters),
                                     checked_multiply(4, spec.taps));
    const index_t whole = problem.range.count();
    const index_t chunk =
        largest(std::min(whole, wanted_results), [&](index_t tried) { return fits(tried, 1); });
    if (chunk < whole) return layout_of(chunk, 1);
    const index_t signals = largest(std::clamp<index_t>(wanted_results / whole, 1, shape.signals),
                                    [&](index_t tried) { return fits(whole, tried); });
    return layout_of(whole, signals);
}

index_t stream_limit(const FilterOptions& options) {
    return options.max_host_bytes ? *options.max_host_bytes : available_host_bytes() / 4;
}

ExecutionReport stream_signals(const StreamJob& job, SignalSource& source, ResultSink& sink,
                               const ExecutionContext& context) {
    return SignalPipeline(job, source, sink, context).run();
}

}  // namespace convolume
