// SPDX-License-Identifier: Apache-2.0
// Overlap-save and overlap-add. Segments of the signal are transformed, multiplied by the spectrum
// of each filter, and transformed back.

#include <limits>

#include "core/stop_scope.hpp"
#include "core/threads.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/signals/methods.hpp"
#include "cpu/signals/result_writer.hpp"
#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

namespace {

// The spectra of a bank for one transform length, and the transforms that filter a segment. All
// transforms are complex: two real segments are the real and imaginary part of one, and real
// filters keep them apart. This takes two thirds of the time of real transforms.
template <class Sample>
class SegmentBank {
  public:
    using Real = real_of<Sample>;
    using Complex = std::complex<Real>;
    /// Number of segments in one transform.
    static constexpr index_t per_transform = is_complex_sample<Sample> ? 1 : 2;

    /// `taps` holds filters × taps samples.
    SegmentBank(const FilterSpec& spec, const Sample* taps, FftLibrary fft)
        : length_(spec.segment), spectra_(bytes(spec), "the filters' spectra") {
        Buffer segment(bytes_of<Complex>(length_), "a segment");
        Complex* const in = segment.as<Complex>();
        const TransformBatch one{length_, 1, 1, length_, 1, length_};
        Buffer other(bytes_of<Complex>(length_), "a segment");
        // FFTW's estimated plans of single transforms are as fast as measured ones.
        forward_ = FftPlan<Real>(one, TransformKind::forward, in, other.data(), {fft});
        inverse_ = FftPlan<Real>(one, TransformKind::inverse, in, other.data(), {fft});
        for (index_t f = 0; f < spec.filters; ++f) {
            throw_if_stopped();
            std::fill(in, in + length_, Complex{});
            for (index_t k = 0; k < spec.taps; ++k)
                in[k] = taps[f * spec.taps + k] / static_cast<Real>(length_);
            forward_.execute(in, spectra_.as<Complex>() + f * stride(length_));
        }
    }

    index_t length() const { return length_; }

    /// Returns the bytes of the spectra.
    static index_t bytes(const FilterSpec& spec) {
        return Buffer::rounded_bytes(
            checked_multiply(checked_multiply(spec.filters, stride(spec.segment)),
                             static_cast<index_t>(sizeof(Complex))));
    }

    /// Transforms `segment`, and overwrites it.
    void transform(Complex* segment, Complex* spectrum) const {
        forward_.execute(segment, spectrum);
    }
    /// Computes `filtered`, the circular convolution of the segment with filter f. Overwrites
    /// `product`.
    void filter(index_t f, const Complex* spectrum, Complex* product, Complex* filtered) const {
        multiply(spectra_.as<Complex>() + f * stride(length_), spectrum, product, length_);
        inverse_.execute(product, filtered);
    }

  private:
    /// Returns the distance between consecutive spectra, rounded up so that all are aligned.
    static index_t stride(index_t length) {
        return round_up(length, static_cast<index_t>(Buffer::alignment / sizeof(Complex)));
    }

    index_t length_;
    Buffer spectra_;  ///< spectra of the filters, divided by the length
    FftPlan<Real> forward_;
    FftPlan<Real> inverse_;
};

// Overlap-save: segments overlap in the signal by taps-1 samples, whose results are aliased and
// dropped. A segment is transformed once. Products, inverse transforms and post-processing of all
// filters stay in a core's cache.
template <class Sample>
class OverlapSave : public CpuFilters {
    using Bank = SegmentBank<Sample>;
    using Real = typename Bank::Real;
    using Complex = typename Bank::Complex;
    static constexpr index_t per_transform = Bank::per_transform;

  public:
    OverlapSave(const FilterSpec& spec, const Sample* taps, FftLibrary fft)
        : bank_(spec, taps, fft), aliased_(spec.taps - 1) {}

    static index_t scratch_bytes(const FilterSpec& spec) {
        return round_up(3 * ScratchArena::room_for<Complex>(spec.segment) +
                            per_transform * ScratchArena::room_for<Sample>(spec.segment) +
                            ResultWriter<Sample>::scratch_bytes(spec, overlap_save_useful(spec)),
                        static_cast<index_t>(Buffer::alignment));
    }

    void filter(const FilterSpec& spec, const SignalView& signal, const FilterResult& result,
                const ExecutionResources& resources) const override {
        const ResultWriter<Sample> writer(spec, result, signal.signals, overlap_save_useful(spec));
        const index_t chunks = signal.signals * writer.chunks().count();
        const index_t units = ceil_div(chunks, per_transform);
        const index_t groups = filter_groups(units, spec.filters, resources.threads);
        const int threads = static_cast<int>(
            std::min<index_t>(resources.threads, std::max<index_t>(1, units * groups)));
        const index_t bytes = scratch_bytes(spec);
        const BufferPool::BorrowedBuffer memory =
            resources.memory.take(bytes * threads, threads, "segments");

        ParallelLoop(threads, resources.context)
            .run(units * groups, 0, 1, [&](index_t task, int thread) {
                const index_t group = task % groups;
                ScratchArena scratch(static_cast<char*>(memory.data()) + thread * bytes);
                run(signal, writer, task / groups, chunks,
                    {group * spec.filters / groups, (group + 1) * spec.filters / groups}, scratch);
            });
        writer.finish();
    }

  private:
    // Filters the chunks of one unit, from chunk unit · per_transform on, through some of the
    // filters.
    void run(const SignalView& signal, const ResultWriter<Sample>& writer, index_t unit,
             index_t chunks, const SampleRange& filters, ScratchArena scratch) const {
        const index_t length = bank_.length();
        Complex* const segment = scratch.take<Complex>(length);
        Complex* const spectrum = scratch.take<Complex>(length);
        Complex* const product = scratch.take<Complex>(length);
        Sample* rows[2];
        for (index_t p = 0; p < per_transform; ++p) rows[p] = scratch.take<Sample>(length);

        const index_t first = unit * per_transform;
        const index_t count = std::min(per_transform, chunks - first);
        const index_t per_signal = writer.chunks().count();
        const auto results_of = [&](index_t chunk) {
            return writer.chunks()[chunk % per_signal].results;
        };
        // Returns the index of the first sample of a chunk's segment.
        const auto origin = [&](index_t chunk) {
            return results_of(chunk).begin - writer.before() - aliased_;
        };
        if constexpr (per_transform == 1) {
            load_samples(signal, first / per_signal, origin(first), length, segment);
        } else {
            const Sample* const re =
                samples_at(signal, first / per_signal, origin(first), length, rows[0]);
            const Sample* im = rows[1];
            if (count == per_transform)
                im = samples_at(signal, (first + 1) / per_signal, origin(first + 1), length,
                                rows[1]);
            else
                std::fill(rows[1], rows[1] + length, Sample{});
            interleave(re, im, segment, length);
        }
        bank_.transform(segment, spectrum);

        // The position in the segment at which results begin
        const index_t kept = aliased_ + writer.before();
        const index_t results = results_of(first).count();
        const bool is_written_directly = writer.is_plain() && count == per_transform &&
                                         results_of(first + count - 1).count() == results;
        for (index_t f = filters.begin; f < filters.end; ++f) {
            bank_.filter(f, spectrum, product, segment);
            const auto address = [&](index_t p) {
                const index_t chunk = first + p;
                return writer.result_address(chunk / per_signal, f, results_of(chunk).begin);
            };
            if constexpr (per_transform == 1) {
                writer.store(first / per_signal, f, first % per_signal, segment + kept, scratch);
            } else if (is_written_directly) {
                deinterleave(segment + kept, address(0), address(1), results);
            } else {
                deinterleave(segment + aliased_, rows[0], rows[1], length - aliased_);
                for (index_t p = 0; p < count; ++p)
                    writer.store((first + p) / per_signal, f, (first + p) % per_signal,
                                 rows[p] + writer.before(), scratch);
            }
        }
    }

    Bank bank_;
    index_t aliased_;  ///< aliased samples at the start of a segment
};

// Returns the memory of transforms of a segment, two of which are one complex row if data are real.
template <class Sample>
index_t fft_bytes(const FilterSpec& spec, int threads) {
    return fft_pair_bytes<real_of<Sample>>(spec.segment, true, threads);
}

}  // namespace

index_t overlap_save_useful(const FilterSpec& spec) {
    return spec.segment - (spec.taps - 1) - function_halo(spec);
}

index_t overlap_save_bytes(const FilterSpec& spec, int threads) {
    return visit_sample_type(spec, [&](auto tag) {
        using Sample = typename decltype(tag)::type;
        return checked_add(checked_add(SegmentBank<Sample>::bytes(spec),
                                       Buffer::rounded_bytes(checked_multiply(
                                           OverlapSave<Sample>::scratch_bytes(spec), threads))),
                           fft_bytes<Sample>(spec, threads));
    });
}

std::shared_ptr<const CpuFilters> make_overlap_save(const FilterSpec& spec, const void* taps,
                                                    FftLibrary fft) {
    return make_filters<OverlapSave>(spec, taps, fft);
}

namespace {

// Returns the number of filtered samples in a section. Plain results are computed in one section.
index_t overlap_add_section_samples(const FilterSpec& spec) {
    if (is_plain(spec)) return std::numeric_limits<index_t>::max();
    constexpr index_t segments_at_a_time = 64;
    return checked_add(checked_multiply(segments_at_a_time, spec.segment),
                       section_chunk + function_halo(spec));
}

// Overlap-add: segments do not overlap in the signal, but their results overlap by taps-1 samples.
// Results are added in two steps, even segments first and odd ones second. Results of one step
// never overlap, so that sums need no atomics. More steps are needed only if a segment has fewer
// samples than filters have taps.
template <class Sample>
class OverlapAdd : public CpuFilters {
    using Bank = SegmentBank<Sample>;
    using Real = typename Bank::Real;
    using Complex = typename Bank::Complex;
    static constexpr index_t per_transform = Bank::per_transform;

  public:
    OverlapAdd(const FilterSpec& spec, const Sample* taps, FftLibrary fft)
        : bank_(spec, taps, fft),
          length_(spec.segment),
          segment_samples_(spec.segment - (spec.taps - 1)),
          steps_(std::max<index_t>(2, ceil_div(length_, segment_samples_))) {}

    static index_t scratch_bytes(const FilterSpec& spec) {
        return 3 * ScratchArena::room_for<Complex>(spec.segment) +
               2 * ScratchArena::room_for<Sample>(spec.segment);
    }

    void filter(const FilterSpec& spec, const SignalView& signal, const FilterResult& result,
                const ExecutionResources& resources) const override {
        const index_t bytes = scratch_bytes(spec);
        const BufferPool::BorrowedBuffer memory =
            resources.memory.take(bytes * resources.threads, resources.threads, "segments");
        for_each_section<Sample>(
            spec, signal, result, overlap_add_section_samples(spec), resources,
            [&](const ResultSection<Sample>& section, double begin, double end) {
                const index_t segments =
                    ceil_div(section.range.count() + length_ - segment_samples_, segment_samples_);
                for (index_t step = 0; step < std::min(steps_, segments); ++step) {
                    const index_t in_step = ceil_div(segments - step, steps_);
                    const index_t units = ceil_div(in_step, per_transform);
                    const index_t groups = filter_groups(units, spec.filters, resources.threads);
                    const double share = (end - begin) / static_cast<double>(steps_);
                    const double from = begin + static_cast<double>(step) * share;
                    ParallelLoop(resources.threads, resources.context)
                        .run(units * groups, from, from + share, [&](index_t task, int thread) {
                            const index_t group = task % groups;
                            run(signal, section, {step, task / groups * per_transform, in_step},
                                {group * spec.filters / groups,
                                 (group + 1) * spec.filters / groups},
                                ScratchArena(static_cast<char*>(memory.data()) + thread * bytes));
                        });
                }
            });
    }

  private:
    /// The segments first, first+1 … of a step that has `count` segments.
    struct StepSegments {
        index_t step;
        index_t first;
        index_t count;
    };

    void run(const SignalView& signal, const ResultSection<Sample>& section,
             const StepSegments& segments, const SampleRange& filters, ScratchArena scratch) const {
        Complex* const segment = scratch.take<Complex>(length_);
        Complex* const spectrum = scratch.take<Complex>(length_);
        Complex* const product = scratch.take<Complex>(length_);
        Sample* rows[2];
        for (Sample*& row : rows) row = scratch.take<Sample>(length_);
        // Returns the index of a segment's first sample, which is also the first result that it
        // adds to.
        const auto start = [&](index_t p) {
            return section.range.begin - (length_ - segment_samples_) +
                   (segments.step + (segments.first + p) * steps_) * segment_samples_;
        };
        const index_t count = std::min(per_transform, segments.count - segments.first);
        for (index_t p = 0; p < per_transform; ++p) {
            Sample* const row = per_transform == 1 ? reinterpret_cast<Sample*>(segment) : rows[p];
            const index_t samples = p < count ? segment_samples_ : 0;
            if (samples > 0) load_samples(signal, section.signal, start(p), samples, row);
            std::fill(row + samples, row + length_, Sample{});
        }
        if constexpr (per_transform == 2) interleave(rows[0], rows[1], segment, length_);
        bank_.transform(segment, spectrum);
        for (index_t f = filters.begin; f < filters.end; ++f) {
            bank_.filter(f, spectrum, product, segment);
            if constexpr (per_transform == 1) {
                add_segment(segment, start(0), segments.step == 0, section, f);
            } else {
                deinterleave(segment, rows[0], rows[1], length_);
                for (index_t p = 0; p < count; ++p)
                    add_segment(rows[p], start(p), segments.step == 0, section, f);
            }
        }
    }

    // Adds a segment's results to the section. Segments of the first step overwrite the section and
    // fill the gaps between them with zeros; segments of other steps are added.
    void add_segment(const Sample* y, index_t start, bool first_step,
                     const ResultSection<Sample>& section, index_t f) const {
        const index_t begin = std::max(start, section.range.begin);
        const index_t end = std::min(start + length_, section.range.end);
        Sample* const row = section.row(f) - section.range.begin;
        if (first_step) {
            std::copy(y + (begin - start), y + (end - start), row + begin);
            const index_t covered = std::min(start + steps_ * segment_samples_, section.range.end);
            if (covered > end) std::fill(row + end, row + covered, Sample{});
        } else if (end > begin) {
            constexpr index_t reals = sizeof(Sample) / sizeof(Real);
            add(reinterpret_cast<const Real*>(y + (begin - start)),
                reinterpret_cast<Real*>(row + begin), (end - begin) * reals);
        }
    }

    Bank bank_;
    index_t length_;
    index_t segment_samples_;  ///< samples of the signal in each segment
    index_t steps_;
};

}  // namespace

index_t overlap_add_bytes(const FilterSpec& spec, index_t results, int threads) {
    return visit_sample_type(spec, [&](auto tag) {
        using Sample = typename decltype(tag)::type;
        return checked_add(
            checked_add(SegmentBank<Sample>::bytes(spec),
                        Buffer::rounded_bytes(
                            checked_multiply(OverlapAdd<Sample>::scratch_bytes(spec), threads))),
            checked_add(
                section_bytes<Sample>(spec, overlap_add_section_samples(spec), results, threads),
                fft_bytes<Sample>(spec, threads)));
    });
}

std::shared_ptr<const CpuFilters> make_overlap_add(const FilterSpec& spec, const void* taps,
                                                   FftLibrary fft) {
    return make_filters<OverlapAdd>(spec, taps, fft);
}

}  // namespace convolume::cpu
