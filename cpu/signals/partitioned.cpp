// SPDX-License-Identifier: Apache-2.0
// Partitioned convolution: signal and filters are divided into partitions of half a transform's
// length. The spectra of the signal's partitions are kept. For an output partition, all products of
// a partition of the signal and one of the filter are added before a single inverse transform.

#include "core/stop_scope.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/signals/methods.hpp"
#include "cpu/signals/result_writer.hpp"
#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

namespace {

// Output partitions that are computed together.
constexpr index_t outputs_at_a_time = 4;

// Returns the number of output partitions in a section. Each section transforms the signal's
// partitions before it anew, which are few compared with its own.
index_t section_partitions(const FilterSpec& spec) {
    constexpr index_t least = 32;
    return std::max(least, 4 * partition_count(spec));
}

index_t section_length(const FilterSpec& spec) {
    return checked_add(checked_multiply(section_partitions(spec), spec.segment / 2),
                       section_chunk + function_halo(spec));
}

template <class Sample>
class Partitioned : public CpuFilters {
    using Real = real_of<Sample>;
    using Complex = std::complex<Real>;

  public:
    Partitioned(const FilterSpec& spec, const Sample* taps, FftLibrary fft)
        : length_(spec.segment),
          partition_length_(spec.segment / 2),
          partitions_(partition_count(spec)),
          spectra_(bank_bytes(spec), "the filters' spectra") {
        Buffer samples(bytes_of<Sample>(length_), "a partition");
        Buffer spectrum(bytes_of<Complex>(stride(length_)), "a spectrum");
        Sample* const in = samples.as<Sample>();
        plan(in, spectrum.data(), fft);
        for (index_t f = 0; f < spec.filters; ++f)
            for (index_t p = 0; p < partitions_; ++p) {
                throw_if_stopped();
                const index_t count =
                    std::min(partition_length_, spec.taps - p * partition_length_);
                const Sample* const from = taps + f * spec.taps + p * partition_length_;
                for (index_t k = 0; k < count; ++k) in[k] = from[k] / static_cast<Real>(length_);
                std::fill(in + count, in + length_, Sample{});
                forward_.execute(in,
                                 spectra_.as<Complex>() + (f * partitions_ + p) * stride(length_));
            }
    }

    static index_t bank_bytes(const FilterSpec& spec) {
        return checked_multiply(checked_multiply(spec.filters, partition_count(spec)),
                                bytes_of<Complex>(stride(spec.segment)));
    }
    static index_t scratch_bytes(const FilterSpec& spec) {
        return ScratchArena::room_for<Sample>(spec.segment) +
               outputs_at_a_time * ScratchArena::room_for<Complex>(stride(spec.segment));
    }
    static index_t signal_bytes(const FilterSpec& spec, index_t results) {
        const index_t inputs =
            ceil_div(section_samples(spec, section_length(spec), results), spec.segment / 2) + 1;
        return checked_multiply(checked_add(inputs, partition_count(spec)),
                                bytes_of<Complex>(stride(spec.segment)));
    }

    void filter(const FilterSpec& spec, const SignalView& signal, const FilterResult& result,
                const ExecutionResources& resources) const override {
        const index_t bytes = scratch_bytes(spec);
        const BufferPool::BorrowedBuffer memory =
            resources.memory.take(bytes * resources.threads, resources.threads, "partitions");
        const BufferPool::BorrowedBuffer spectra = resources.memory.take(
            signal_bytes(spec, result.range.count()), resources.threads, "the signal's spectra");
        const auto scratch_of = [&](int thread) {
            return ScratchArena(static_cast<char*>(memory.data()) + thread * bytes);
        };
        for_each_section<Sample>(
            spec, signal, result, section_length(spec), resources,
            [&](const ResultSection<Sample>& section, double begin, double end) {
                const SectionPartitions partitions(*this, signal, section,
                                                   static_cast<Complex*>(spectra.data()));
                const double middle = begin + (end - begin) / 4;
                ParallelLoop(resources.threads, resources.context)
                    .run(partitions.inputs(), begin, middle, [&](index_t i, int thread) {
                        partitions.transform(i, scratch_of(thread));
                    });
                // Computes as many outputs at a time as leave work for all threads.
                const index_t group =
                    std::clamp<index_t>(partitions.outputs * spec.filters / (4 * resources.threads),
                                        1, outputs_at_a_time);
                const index_t groups = ceil_div(partitions.outputs, group);
                ParallelLoop(resources.threads, resources.context)
                    .run(spec.filters * groups, middle, end, [&](index_t i, int thread) {
                        const index_t first = i % groups * group;
                        partitions.filter(i / groups, first,
                                          std::min(group, partitions.outputs - first),
                                          scratch_of(thread));
                    });
            });
    }

  private:
    // Returns the bins of a spectrum: real data have half as many.
    static index_t bins(index_t length) {
        return is_complex_sample<Sample> ? length : length / 2 + 1;
    }
    // Returns the distance between consecutive spectra, rounded up to whole cache lines.
    static index_t stride(index_t length) {
        return round_up(bins(length), static_cast<index_t>(Buffer::alignment / sizeof(Complex)));
    }

    void plan(void* samples, void* spectrum, FftLibrary fft) {
        const TransformBatch one{length_, 1, 1, length_, 1, length_};
        const bool real = !is_complex_sample<Sample>;
        forward_ = FftPlan<Real>(one, real ? TransformKind::real_forward : TransformKind::forward,
                                 samples, spectrum, {fft});
        inverse_ = FftPlan<Real>(one, real ? TransformKind::real_inverse : TransformKind::inverse,
                                 spectrum, samples, {fft});
    }

    /// The partitions of one section of results. For filters of P partitions, input i holds the
    /// samples of output i - (P-1) and of the output before that.
    struct SectionPartitions {
        const Partitioned& bank;
        const SignalView& signal;
        const ResultSection<Sample>& section;
        Complex* spectra;  ///< spectra of the inputs
        index_t outputs;

        SectionPartitions(const Partitioned& partitioned, const SignalView& view,
                          const ResultSection<Sample>& target, Complex* memory)
            : bank(partitioned),
              signal(view),
              section(target),
              spectra(memory),
              outputs(ceil_div(target.range.count(), partitioned.partition_length_)) {}

        index_t inputs() const { return outputs + bank.partitions_ - 1; }
        index_t first_sample(index_t input) const {
            return section.range.begin + (input - bank.partitions_) * bank.partition_length_;
        }
        bool is_zero(index_t input) const {
            return first_sample(input) >= signal.first + signal.count ||
                   first_sample(input) + bank.length_ <= signal.first;
        }
        Complex* spectrum(index_t input) const { return spectra + input * stride(bank.length_); }

        void transform(index_t input, ScratchArena scratch) const {
            if (is_zero(input)) return;
            Sample* const samples = scratch.template take<Sample>(bank.length_);
            load_samples(signal, section.signal, first_sample(input), bank.length_, samples);
            bank.forward_.execute(samples, spectrum(input));
        }

        /// Computes `count` outputs from `first` on, through filter f.
        void filter(index_t f, index_t first, index_t count, ScratchArena scratch) const {
            Sample* const samples = scratch.template take<Sample>(bank.length_);
            Complex* sums[outputs_at_a_time];
            for (Complex*& sum : sums) sum = scratch.template take<Complex>(stride(bank.length_));
            add_products(f, first, count, sums);
            for (index_t i = 0; i < count; ++i) {
                const index_t begin = (first + i) * bank.partition_length_;
                const index_t kept =
                    std::min(bank.partition_length_, section.range.count() - begin);
                Sample* const target = section.row(f) + begin;
                if (is_zero_output(first + i)) {
                    std::fill(target, target + kept, Sample{});
                    continue;
                }
                bank.inverse_.execute(sums[i], samples);
                std::copy(samples + bank.partition_length_, samples + bank.partition_length_ + kept,
                          target);
            }
        }

        // Works on a few bins at a time, so that neighboring outputs find common data of filter and
        // signal in cache. Works on a few partitions at a time, so that sums stay in registers.
        void add_products(index_t f, index_t first, index_t count, Complex* const* sums) const {
            constexpr index_t bins_at_a_time = 2048;
            constexpr index_t terms_at_a_time = 8;
            const Complex* filter_spectra[terms_at_a_time];
            const Complex* input_spectra[terms_at_a_time];
            const index_t all = bins(bank.length_);
            for (index_t begin = 0; begin < all; begin += bins_at_a_time)
                for (index_t i = 0; i < count; ++i) {
                    bool started = false;
                    index_t terms = 0;
                    for (index_t p = 0; p < bank.partitions_; ++p) {
                        const index_t input = input_of(first + i, p);
                        if (!is_zero(input)) {
                            filter_spectra[terms] =
                                bank.spectra_.template as<Complex>() +
                                (f * bank.partitions_ + p) * stride(bank.length_) + begin;
                            input_spectra[terms++] = spectrum(input) + begin;
                        }
                        if (terms == terms_at_a_time || (terms > 0 && p + 1 == bank.partitions_)) {
                            sum_products(filter_spectra, input_spectra, terms, started,
                                         sums[i] + begin, std::min(bins_at_a_time, all - begin));
                            started = true;
                            terms = 0;
                        }
                    }
                }
        }

        /// Returns the input that partition p of a filter is multiplied with for an output.
        index_t input_of(index_t writer, index_t p) const {
            return writer + bank.partitions_ - 1 - p;
        }
        bool is_zero_output(index_t writer) const {
            for (index_t p = 0; p < bank.partitions_; ++p)
                if (!is_zero(input_of(writer, p))) return false;
            return true;
        }
    };

    index_t length_;
    index_t partition_length_;  ///< half the transform length
    index_t partitions_;        ///< partitions of each filter
    Buffer spectra_;            ///< spectra [filter][partition], divided by the length
    FftPlan<Real> forward_;
    FftPlan<Real> inverse_;
};

}  // namespace

index_t partitioned_bytes(const FilterSpec& spec, index_t results, int threads) {
    return visit_sample_type(spec, [&](auto tag) {
        using Sample = typename decltype(tag)::type;
        using Method = Partitioned<Sample>;
        index_t bytes = Buffer::rounded_bytes(Method::bank_bytes(spec));
        for (const index_t more :
             {Method::signal_bytes(spec, results),
              checked_multiply(Method::scratch_bytes(spec), threads),
              section_bytes<Sample>(spec, section_length(spec), results, threads),
              fft_pair_bytes<real_of<Sample>>(spec.segment, is_complex_sample<Sample>, threads)})
            bytes = checked_add(bytes, Buffer::rounded_bytes(more));
        return bytes;
    });
}

std::shared_ptr<const CpuFilters> make_partitioned(const FilterSpec& spec, const void* taps,
                                                   FftLibrary fft) {
    return make_filters<Partitioned>(spec, taps, fft);
}

}  // namespace convolume::cpu
