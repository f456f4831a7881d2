// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/stream_level.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "cpu/fft/roots.hpp"
#include "cpu/signals/stream_loops.hpp"
#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

namespace {

constexpr index_t most_terms = 64;       // of a sum of products that is computed at once
constexpr index_t longest_chunk = 4096;  // bytes

index_t chunk_of(index_t row_length, index_t bin_bytes) {
    index_t chunk = row_length;
    while (chunk * bin_bytes > longest_chunk && chunk % 2 == 0) chunk /= 2;
    return chunk;
}

Buffer zeros(index_t bytes, const char* purpose) {
    Buffer buffer(bytes, purpose);
    std::memset(buffer.data(), 0, static_cast<std::size_t>(bytes));
    return buffer;
}

}  // namespace

template <class Real>
double StreamLevel<Real>::StepList::sum() const {
    return std::accumulate(ns.begin(), ns.end(), 0.0);
}

template <class Real>
StreamLevel<Real>::StreamLevel(const PartitionLevel& partitions, const PartitionProblem& problem,
                               const StreamRouting& routing, index_t lanes)
    : routing_(routing),
      size_(partitions.size),
      count_(partitions.count),
      first_tap_(partitions.first_tap),
      block_(problem.block),
      pushes_(partitions.size / problem.block),
      delay_(partitions.first_tap / problem.block),
      chunk_(1),
      fft_(size_) {
    constexpr auto bin_bytes = static_cast<index_t>(sizeof(Complex));
    chunk_ = chunk_of(fft_.row_length(), bin_bytes);
    for (index_t n = 0; n < size_; ++n)
        rotations_.push_back(static_cast<Complex>(root_of_unity(n, 4 * size_)));
    spectra_ = zeros(routing.inputs * count_ * size_ * bin_bytes, "spectra of a stream");
    frames_ = zeros(filter_sets * 2 * routing.outputs * size_ * static_cast<index_t>(sizeof(Real)),
                    "results of a stream");
    lines_ = zeros(lanes * (1 + filter_sets) * size_ * bin_bytes, "transforms of a stream");
    make_steps(problem, lanes);
}

template <class Real>
index_t StreamLevel<Real>::spectrum_bytes() const {
    return routing_.filters * count_ * size_ * static_cast<index_t>(sizeof(Complex));
}

template <class Real>
index_t StreamLevel<Real>::bytes() const {
    return spectra_.bytes() + frames_.bytes() + lines_.bytes();
}

template <class Real>
void StreamLevel<Real>::make_steps(const PartitionProblem& problem, index_t lanes) {
    // Shares of a transform's time that the first or last step, a radix step and a row step take.
    const double transform_ns = predicted_transform_ns(size_);
    const double gather_ns = 0.15 * transform_ns / static_cast<double>(gather_steps());
    const double radix_ns =
        fft_.radix_steps() == 0 ? 0 : 0.3 * transform_ns / static_cast<double>(fft_.radix_steps());
    const double row_ns = 0.6 * transform_ns / static_cast<double>(fft_.row_steps());
    const double sum_ns =
        predicted_product_ns(problem) * static_cast<double>(chunk_ * count_ * routing_.sources());
    const auto append = [](StepList& list, index_t steps, double ns) {
        list.ns.insert(list.ns.end(), static_cast<std::size_t>(steps), ns);
    };
    append(forward_, gather_steps(), gather_ns);
    append(forward_, fft_.radix_steps(), radix_ns);
    append(forward_, fft_.row_steps(), row_ns);
    for (index_t row = 0; row < fft_.row_steps(); ++row) {
        append(output_, fft_.row_length() / chunk_, sum_ns);
        append(output_, 1, row_ns);
    }
    append(output_, fft_.radix_steps(), radix_ns);
    append(output_, gather_steps(), gather_ns);
    if (pushes_ == 1) return;  // all steps are done at once
    const double forward = forward_.sum() * static_cast<double>(routing_.inputs);
    const double all = forward + output_.sum() * static_cast<double>(routing_.outputs);
    forward_pushes_ = std::clamp<index_t>(
        std::llround(static_cast<double>(pushes_) * forward / all), 1, pushes_ - 1);
    forward_lanes_ = spread(routing_.inputs, forward_, lanes, forward_pushes_);
    output_lanes_ = spread(routing_.outputs, output_, lanes, pushes_ - forward_pushes_);
}

template <class Real>
std::vector<typename StreamLevel<Real>::Lane> StreamLevel<Real>::spread(index_t items,
                                                                        const StepList& steps,
                                                                        index_t lanes,
                                                                        index_t pushes) const {
    std::vector<Lane> spread_lanes;
    for (index_t i = 0; i < lanes; ++i) {
        Lane lane{i * items / lanes, 0, {0}};
        lane.items = (i + 1) * items / lanes - lane.first_item;
        const double all = steps.sum() * static_cast<double>(lane.items);
        const index_t last = lane.items * steps.steps();
        double done = 0;
        index_t step = 0;
        for (index_t push = 1; push < pushes; ++push) {
            const double due = all * static_cast<double>(push) / static_cast<double>(pushes);
            // The step that reaches beyond the portion is done if most of it is within.
            while (step < last) {
                const double ns = steps.ns[index_of(step % steps.steps())];
                if (done + ns / 2 > due) break;
                done += ns;
                ++step;
            }
            lane.ends.push_back(step);
        }
        lane.ends.push_back(last);
        spread_lanes.push_back(std::move(lane));
    }
    return spread_lanes;
}

template <class Real>
Buffer StreamLevel<Real>::filter_spectra(const Real* filters, index_t taps) const {
    Buffer all(spectrum_bytes(), "spectra of filters");
    AlignedTable<Complex> line(index_of(size_));
    AlignedTable<Real> padded(index_of(2 * size_)), scratch(index_of(scratch_reals()));
    for (index_t filter = 0; filter < routing_.filters; ++filter)
        for (index_t p = 0; p < count_; ++p) {
            const index_t first = std::min(taps, first_tap_ + p * size_);
            const index_t there = std::min(taps - first, size_);
            std::fill(padded.begin(), padded.end(), Real{});
            // Transforms back are not normalized.
            for (index_t n = 0; n < there; ++n)
                padded[index_of(n)] = filters[filter * taps + first + n] / static_cast<Real>(size_);
            rotate_in(padded.data(), padded.data() + size_, rotations_.data(), line.data(), size_);
            for (index_t step = 0; step < fft_.radix_steps(); ++step) fft_.split(step, line.data());
            for (index_t row = 0; row < fft_.row_steps(); ++row) {
                Complex* const at = line.data() + row * fft_.row_length();
                fft_.transform_row(at, at, false, scratch.data());
            }
            for (index_t chunk = 0; chunk < chunks(); ++chunk)
                std::copy_n(
                    line.data() + chunk * chunk_, chunk_,
                    all.as<Complex>() + ((filter * chunks() + chunk) * count_ + p) * chunk_);
        }
    return all;
}

template <class Real>
void StreamLevel<Real>::begin_push(index_t push,
                                   const std::array<const Complex*, filter_sets>& sets) {
    const index_t since = push - (delay_ - pushes_);
    if (pushes_ == 1) {
        job_sets_ = sets;
        return;
    }
    if (since < 0 || since % pushes_ != 0) return;
    has_begun_ = true;
    for (int set = 0; set < filter_sets; ++set) {
        // The frames before the first job are zero, whatever the filters.
        reads_[index_of(set)] = since == 0 || works_[index_of(set)];
        works_[index_of(set)] = sets[index_of(set)] != nullptr;
    }
    job_sets_ = sets;
}

template <class Real>
void StreamLevel<Real>::drop(int set) {
    job_sets_[index_of(set)] = nullptr;
    if (has_begun_) works_[index_of(set)] = reads_[index_of(set)] = false;
}

template <class Real>
void StreamLevel<Real>::run(index_t push, index_t lane, const InputHistory<Real>& history,
                            Real* scratch) {
    const index_t since = push - (delay_ - pushes_);
    if (since < 0) return;
    const index_t job = since / pushes_, slot = since % pushes_;
    const bool forward = slot < forward_pushes_;
    const Lane& work = (forward ? forward_lanes_ : output_lanes_)[index_of(lane)];
    const index_t steps = (forward ? forward_ : output_).steps();
    const index_t part = forward ? slot : slot - forward_pushes_;
    for (index_t i = work.ends[index_of(part)]; i < work.ends[index_of(part + 1)]; ++i) {
        const index_t item = work.first_item + i / steps;
        if (forward)
            forward_step(i % steps, item, job, lane, history, scratch);
        else
            output_step(i % steps, item, job, lane, scratch);
    }
}

template <class Real>
void StreamLevel<Real>::transform_input(index_t push, index_t input, index_t lane,
                                        const InputHistory<Real>& history, Real* scratch) {
    for (index_t step = 0; step < forward_.steps(); ++step)
        forward_step(step, input, push, lane, history, scratch);
}

template <class Real>
void StreamLevel<Real>::compute_output(index_t push, index_t output, index_t lane, Real* scratch) {
    for (index_t step = 0; step < output_.steps(); ++step)
        output_step(step, output, push, lane, scratch);
}

template <class Real>
const Real* StreamLevel<Real>::results(index_t push, int set, index_t output) const {
    if (pushes_ == 1) return frame(set, push, output);
    const index_t since = push - (delay_ - pushes_);
    if (since < pushes_) return nullptr;
    return frame(set, since / pushes_ - 1, output) + since % pushes_ * block_;
}

template <class Real>
void StreamLevel<Real>::forward_step(index_t step, index_t input, index_t job, index_t lane,
                                     const InputHistory<Real>& history, Real* scratch) {
    Complex* const line = lines_.as<Complex>() + lane * (1 + filter_sets) * size_;
    if (step < gather_steps()) {
        const index_t begin = step * most_gathered;
        const index_t end = std::min(begin + most_gathered, size_);
        rotate_in(history.at(input, (job - 1) * pushes_) + begin,
                  history.at(input, job * pushes_) + begin, rotations_.data() + begin, line + begin,
                  end - begin);
        return;
    }
    step -= gather_steps();
    if (step < fft_.radix_steps()) return fft_.split(step, line);
    const index_t row = step - fft_.radix_steps(), length = fft_.row_length();
    auto* const bins = reinterpret_cast<Complex*>(scratch + fft_.scratch_reals());
    fft_.transform_row(line + row * length, bins, false, scratch);
    for (index_t part = 0; part < length / chunk_; ++part)
        std::copy_n(bins + part * chunk_, chunk_,
                    spectrum_chunk(input, row * (length / chunk_) + part, job % count_));
}

template <class Real>
void StreamLevel<Real>::output_step(index_t step, index_t output, index_t job, index_t lane,
                                    Real* scratch) {
    const index_t chunks_in_row = fft_.row_length() / chunk_;
    const index_t in_rows = (chunks_in_row + 1) * fft_.row_steps();
    for (int set = 0; set < filter_sets; ++set) {
        const Complex* const filters = job_sets_[index_of(set)];
        if (filters == nullptr) continue;
        Complex* const line = lines_.as<Complex>() + (lane * (1 + filter_sets) + 1 + set) * size_;
        if (step < in_rows) {
            const index_t row = step / (chunks_in_row + 1), part = step % (chunks_in_row + 1);
            Complex* const in_row = line + row * fft_.row_length();
            if (part < chunks_in_row)
                sum_chunk(filters, row * chunks_in_row + part, output, job, in_row + part * chunk_);
            else
                fft_.transform_row(in_row, in_row, true, scratch);
        } else if (step < in_rows + fft_.radix_steps()) {
            fft_.merge(step - in_rows, line);
        } else {
            const index_t begin = (step - in_rows - fft_.radix_steps()) * most_gathered;
            const index_t end = std::min(begin + most_gathered, size_);
            rotate_out(line + begin, rotations_.data() + begin, frame(set, job, output) + begin,
                       end - begin);
        }
    }
}

template <class Real>
void StreamLevel<Real>::sum_chunk(const Complex* filters, index_t chunk, index_t output,
                                  index_t job, Complex* sum) {
    std::array<const Complex*, most_terms> signals, taps;
    index_t terms = 0;
    bool accumulate = false;
    const auto add_terms = [&] {
        sum_products(signals.data(), taps.data(), terms, accumulate, sum, chunk_);
        accumulate = true;
        terms = 0;
    };
    for (index_t source = 0; source < routing_.sources(); ++source) {
        const index_t input = routing_.input_of(output, source);
        const Complex* const filter =
            filters + (routing_.filter_of(output, source) * chunks() + chunk) * count_ * chunk_;
        for (index_t p = 0; p < count_; ++p) {
            const index_t slot = ((job - p) % count_ + count_) % count_;
            signals[index_of(terms)] = spectrum_chunk(input, chunk, slot);
            taps[index_of(terms)] = filter + p * chunk_;
            if (++terms == most_terms) add_terms();
        }
    }
    if (terms > 0) add_terms();
}

template <class Real>
void StreamLevel<Real>::reset() {
    for (const Buffer* buffer : {&spectra_, &frames_})
        std::memset(buffer->data(), 0, static_cast<std::size_t>(buffer->bytes()));
    works_ = reads_ = {true, true};
    has_begun_ = false;
}

template class StreamLevel<float>;
template class StreamLevel<double>;

}  // namespace convolume::cpu
