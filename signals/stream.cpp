// SPDX-License-Identifier: Apache-2.0
#include "signals/stream.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>

#include "convolume/error.hpp"
#include "core/result_chunks.hpp"
#include "signals/convert.hpp"
#include "signals/double_buffer.hpp"
#include "signals/nonfinite.hpp"

namespace convolume {

namespace {

/// What is computed at a time: one chunk of the range, of some signals.
struct Chunk {
    index_t first_signal = 0;
    index_t signals = 1;
    index_t index = 0;  ///< of the chunk of the range
};

class Stream {
  public:
    Stream(const StreamJob& job, SignalSource& source, ResultSink& sink,
           const ExecutionContext& context)
        : job_(job),
          source_(source),
          sink_(sink),
          context_(context),
          work_(job.problem.work),
          peaks_(work_.window.kind == WindowPost::Kind::peak),
          sample_bytes_(static_cast<index_t>(size_of(work_.sample_type()))),
          result_bytes_(static_cast<index_t>(size_of(work_.result_type()))),
          range_chunks_(job.problem.engine_range(), work_.window, job.layout.chunk),
          chunks_(ceil_div(job.shape.signals, job.layout.signals) * range_chunks_.count()) {
        const StreamLayout& layout = job.layout;
        const index_t results = layout.signals * work_.filters * layout.stored;
        for (index_t slot = 0; slot < 2; ++slot) {
            inputs_.slot(slot) =
                Buffer(layout.signals * layout.input_samples * sample_bytes_, "signals");
            outputs_.slot(slot) = {
                Buffer(results * result_bytes_, "results"),
                Buffer(peaks_ ? results * static_cast<index_t>(sizeof(index_t)) : 0, "positions")};
        }
        if (source.type() != work_.sample_type())
            raw_ = Buffer(StreamLayout::raw_samples * static_cast<index_t>(size_of(source.type())),
                          "samples");
        if (range_chunks_.parts() > 1) {
            so_far_ = {Buffer(work_.filters * result_bytes_, "peaks"),
                       Buffer(work_.filters * static_cast<index_t>(sizeof(index_t)), "positions")};
        }
    }

    ExecutionReport run() {
        {
            const std::jthread reader([this] { guard([this] { read_all(); }); });
            guard([this] {  // should there be no second thread, the first is not left waiting
                const std::jthread writer([this] { guard([this] { write_all(); }); });
                guard([this] { filter_all(); });
            });
        }
        if (error_) std::rethrow_exception(error_);
        throw_if_stopped(context_);
        if (context_.progress) context_.progress(1);
        ExecutionReport report;
        report.nonfinite_inputs = nonfinite_;
        return report;
    }

  private:
    struct Results {
        Buffer values;     ///< [signal][filter][stored]
        Buffer positions;  ///< of peaks
    };

    Chunk chunk_at(index_t number) const {
        Chunk chunk;
        chunk.first_signal = number / range_chunks_.count() * job_.layout.signals;
        chunk.signals = std::min(job_.layout.signals, job_.shape.signals - chunk.first_signal);
        chunk.index = number % range_chunks_.count();
        return chunk;
    }
    SampleRange inputs_of(const Chunk& chunk) const {
        return job_.problem.inputs(range_chunks_[chunk.index].results, job_.shape.samples);
    }

    // The first thing that goes wrong in any thread stops all of them.
    template <class Act>
    void guard(const Act& act) {
        try {
            act();
            return;
        } catch (...) {
            const std::lock_guard lock(error_mutex_);
            if (!error_) error_ = std::current_exception();
        }
        inputs_.stop();
        outputs_.stop();
    }

    void read_all() {
        SampleRange before;  // of the previous chunk's signal
        for (index_t number = 0; number < chunks_ && inputs_.await_empty(number); ++number) {
            throw_if_stopped(context_);
            const Chunk now = chunk_at(number);
            const SampleRange wanted = inputs_of(now);
            char* const to = inputs_.slot(number).as<char>();
            // Chunks of one signal overlap: what is there is not read again. (Chunks of several
            // signals hold these whole.)
            index_t known = 0;
            if (now.index > 0 && now.signals == 1 && wanted.begin >= before.begin &&
                wanted.begin < before.end) {
                known = std::min(before.end, wanted.end) - wanted.begin;
                std::memcpy(to,
                            inputs_.slot(number - 1).as<char>() +
                                (wanted.begin - before.begin) * sample_bytes_,
                            static_cast<std::size_t>(known * sample_bytes_));
            }
            for (index_t s = 0; s < now.signals; ++s)
                read(now.first_signal + s, {wanted.begin + known, wanted.end},
                     to + (s * wanted.count() + known) * sample_bytes_);
            before = wanted;
            inputs_.filled();
        }
    }

    // Samples of one signal, converted.
    void read(index_t signal, const SampleRange& wanted, char* to) {
        const PixelType type = source_.type();
        const bool convert = type != work_.sample_type();
        const index_t step = convert ? StreamLayout::raw_samples : wanted.count();
        for (index_t begin = wanted.begin; begin < wanted.end; begin += step) {
            const index_t count = std::min(step, wanted.end - begin);
            void* const raw = convert ? raw_.data() : to;
            source_.read(signal, begin, count, raw);
            const ConstImageView samples{raw, type, {1, 1, count}, {count, count, 1}};
            const index_t bad = check_finite(samples, job_.nan, signal, begin, 1);
            if (convert || bad > 0)
                convert_row(samples, 0, 0, count, bad > 0, work_.sample_type(), to);
            nonfinite_ += bad;
            to += count * sample_bytes_;
        }
    }

    void filter_all() {
        index_t written = 0;  // of a window in parts, only the last leaves results
        for (index_t number = 0; number < chunks_; ++number) {
            throw_if_stopped(context_);
            if (!inputs_.await_filled(number) || !outputs_.await_empty(written)) return;
            const Chunk now = chunk_at(number);
            const SampleRange samples = inputs_of(now);
            const index_t stored = range_chunks_[now.index].stored;
            Results& results = outputs_.slot(written);
            index_t* const positions = peaks_ ? results.positions.as<index_t>() : nullptr;
            const index_t count = now.signals * work_.filters * stored;

            ExecutionContext context = context_;
            if (context_.progress)
                context.progress = [&](double done) {
                    context_.progress((static_cast<double>(number) + done) /
                                      static_cast<double>(chunks_ + 1));
                };
            job_.engine.filter(work_, job_.prepared,
                               {inputs_.slot(number).data(), now.signals, samples.count(),
                                samples.begin, samples.count()},
                               {range_chunks_[now.index].results, results.values.data(), positions,
                                work_.filters * stored, stored},
                               context);
            inputs_.emptied();
            if (positions)
                std::for_each(positions, positions + count,
                              [&](index_t& n) { n -= job_.problem.shift; });
            if (range_chunks_.parts() > 1) combine_parts(now.index, results);
            if (!ends_window(now.index)) continue;
            outputs_.filled();
            ++written;
        }
    }

    /// Whether a chunk ends a window: its results, and those of its parts before, are complete.
    bool ends_window(index_t chunk) const {
        return (chunk + 1) % range_chunks_.parts() == 0 || chunk + 1 == range_chunks_.count();
    }

    // Adds a part of a window to those before; after the last, `results` are the whole window's.
    void combine_parts(index_t chunk, const Results& results) {
        const bool first = chunk % range_chunks_.parts() == 0;
        if (work_.result_type() == PixelType::float32)
            combine<float>(results, first);
        else
            combine<double>(results, first);
        if (ends_window(chunk)) {
            std::memcpy(results.values.data(), so_far_.values.data(),
                        static_cast<std::size_t>(work_.filters * result_bytes_));
            std::memcpy(results.positions.data(), so_far_.positions.data(),
                        static_cast<std::size_t>(work_.filters) * sizeof(index_t));
        }
    }
    template <class Real>
    void combine(const Results& results, bool first) {
        for (index_t f = 0; f < work_.filters; ++f) {
            const Real value = results.values.as<Real>()[f];
            Real& largest = so_far_.values.as<Real>()[f];
            if (!first && !is_higher(value, largest)) continue;
            largest = value;
            so_far_.positions.as<index_t>()[f] = results.positions.as<index_t>()[f];
        }
    }

    void write_all() {
        index_t written = 0;
        for (index_t number = 0; number < chunks_; ++number) {
            const Chunk now = chunk_at(number);
            if (!ends_window(now.index)) continue;
            if (!outputs_.await_filled(written)) return;
            throw_if_stopped(context_);
            write(now, outputs_.slot(written));
            outputs_.emptied();
            ++written;
        }
    }

    void write(const Chunk& now, const Results& results) {
        const ResultChunk at = range_chunks_[now.index];
        for (index_t s = 0; s < now.signals; ++s)
            for (index_t f = 0; f < work_.filters; ++f) {
                const index_t from = (s * work_.filters + f) * at.stored;
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
    const FilterWork& work_;
    bool peaks_;
    index_t sample_bytes_;
    index_t result_bytes_;
    ResultChunks range_chunks_;
    index_t chunks_;

    DoubleBuffer<Buffer> inputs_;
    DoubleBuffer<Results> outputs_;
    Buffer raw_;      ///< of the source's type
    Results so_far_;  ///< peaks of a window in parts
    index_t nonfinite_ = 0;

    std::mutex error_mutex_;
    std::exception_ptr error_;
};

}  // namespace

ExecutionReport stream_signals(const StreamJob& job, SignalSource& source, ResultSink& sink,
                               const ExecutionContext& context) {
    return Stream(job, source, sink, context).run();
}

}  // namespace convolume
