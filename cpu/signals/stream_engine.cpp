// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/stream_engine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "core/pixels/contiguous.hpp"
#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

namespace {

constexpr index_t never = std::numeric_limits<index_t>::min() / 2;

/// Lets a thread compute with 0 instead of denormal numbers, which take up to a hundred times as
/// long on some processors.
class NoDenormals {
  public:
    NoDenormals() : before_(control()) { set_control(before_ | flush_to_zero); }
    ~NoDenormals() { set_control(before_); }
    NoDenormals(const NoDenormals&) = delete;
    NoDenormals& operator=(const NoDenormals&) = delete;

  private:
    // The control register of floating-point arithmetic.
#if defined(__SSE2__)
    static constexpr std::uint64_t flush_to_zero = 0x8040;  // of results and of operands
    static std::uint64_t control() {
        return _mm_getcsr();
    }
    static void set_control(std::uint64_t bits) {
        _mm_setcsr(static_cast<unsigned>(bits));
    }
#elif defined(__aarch64__)
    static constexpr std::uint64_t flush_to_zero = std::uint64_t{1} << 24;
    static std::uint64_t control() {
        std::uint64_t bits = 0;
        asm volatile("mrs %0, fpcr" : "=r"(bits));
        return bits;
    }
    static void set_control(std::uint64_t bits) {
        asm volatile("msr fpcr, %0" : : "r"(bits));
    }
#else
    static constexpr std::uint64_t flush_to_zero = 0;
    static std::uint64_t control() {
        return 0;
    }
    static void set_control(std::uint64_t) {}
#endif

    std::uint64_t before_;
};

}  // namespace

template <class Real>
StreamEngine<Real>::StreamEngine(const StreamRouting& routing, index_t block, index_t most_taps,
                                 int threads, const Real* filters, index_t taps)
    : routing_(routing), block_(block), team_(threads) {
    const PartitionProblem problem{block,
                                   most_taps,
                                   routing.inputs,
                                   routing.outputs,
                                   routing.outputs * routing.sources(),
                                   routing.filters,
                                   static_cast<index_t>(sizeof(Real))};
    partitions_ = plan_partitions(problem);
    index_t scratch_reals = 0, multiple = 1;
    history_.block = block;
    for (const PartitionLevel& level : partitions_) {
        levels_.push_back(
            std::make_unique<StreamLevel<Real>>(level, problem, routing, team_.threads()));
        history_.blocks = std::max(history_.blocks, levels_.back()->history_blocks());
        multiple = std::max(multiple, levels_.back()->history_multiple());
        scratch_reals = std::max(scratch_reals, levels_.back()->scratch_reals());
    }
    history_.blocks = round_up(history_.blocks, multiple);
    constexpr auto bytes_each = static_cast<index_t>(sizeof(Real));
    history_.samples = Buffer(routing.inputs * history_.blocks * block * bytes_each, "a stream");
    received_ = Buffer(routing.inputs * block * bytes_each, "blocks of a stream");
    for (int thread = 0; thread < team_.threads(); ++thread) {
        scratch_.emplace_back((round_up(block, index_t{16}) + scratch_reals) * bytes_each,
                              "scratch memory of a stream");
        std::memset(scratch_.back().data(), 0, static_cast<std::size_t>(scratch_.back().bytes()));
    }
    last_bad_.resize(index_of(routing.inputs));
    has_bad_sample_.resize(index_of(routing.inputs));
    sets_[0] = prepare(filters, taps, 0);
    reset();
}

template <class Real>
StreamEngine<Real>::~StreamEngine() {
    delete prepared_.load();
    free_retired();
}

template <class Real>
index_t StreamEngine<Real>::bytes() const {
    index_t sum = history_.samples.bytes() + received_.bytes();
    for (const auto& level : levels_) sum += level->bytes() + level->spectrum_bytes();
    for (const Buffer& scratch : scratch_) sum += scratch.bytes();
    return sum;
}

template <class Real>
index_t StreamEngine<Real>::most_blocks_before_fade() const {
    // A job begins after at most `pushes` blocks, and its results are complete as many later.
    return levels_.size() == 1 ? 0 : 2 * levels_.back()->pushes();
}

template <class Real>
std::unique_ptr<typename StreamEngine<Real>::FilterSet> StreamEngine<Real>::prepare(
    const Real* filters, index_t taps, index_t fade) const {
    auto set = std::make_unique<FilterSet>();
    set->taps = taps;
    set->fade = fade;
    for (const auto& level : levels_) set->spectra.push_back(level->filter_spectra(filters, taps));
    return set;
}

template <class Real>
void StreamEngine<Real>::replace(const Real* filters, index_t taps, index_t fade) {
    auto set = prepare(filters, taps, fade);
    // A set that push() has not taken yet is dropped.
    delete prepared_.exchange(set.release());
    free_retired();
}

template <class Real>
void StreamEngine<Real>::retire(FilterSet* set) noexcept {
    set->next_retired = retired_.load();
    while (!retired_.compare_exchange_weak(set->next_retired, set)) {
    }
}

template <class Real>
void StreamEngine<Real>::free_retired() {
    FilterSet* set = retired_.exchange(nullptr);
    while (set != nullptr) delete std::exchange(set, set->next_retired);
}

template <class Real>
void StreamEngine<Real>::reset() {
    for (auto& level : levels_) level->reset();
    std::memset(history_.samples.data(), 0, static_cast<std::size_t>(history_.samples.bytes()));
    std::fill(last_bad_.begin(), last_bad_.end(), never);
    position_ = 0;
    // Filters that were to fade in are the filters from now on.
    if (sets_[index_of(other())]) {
        sets_[index_of(active_)].reset();
        active_ = other();
    }
    if (FilterSet* const next = prepared_.exchange(nullptr)) sets_[index_of(active_)].reset(next);
    faded_ = -1;
    is_fading_now_ = false;
    has_next_.store(false);
    free_retired();
}

template <class Real>
void StreamEngine<Real>::take_prepared() noexcept {
    if (sets_[index_of(other())]) return;
    has_next_.store(true);  // before the set leaves prepared_
    FilterSet* const next = prepared_.exchange(nullptr);
    has_next_.store(next != nullptr);
    if (next == nullptr) return;
    sets_[index_of(other())].reset(next);
    faded_ = -1;
}

template <class Real>
void StreamEngine<Real>::begin_levels() noexcept {
    const bool has_next = sets_[index_of(other())] != nullptr;
    bool is_ready = has_next;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        std::array<const std::complex<Real>*, filter_sets> spectra{};
        for (std::size_t set = 0; set < spectra.size(); ++set)
            if (sets_[set]) spectra[set] = sets_[set]->spectra[i].template as<std::complex<Real>>();
        levels_[i]->begin_push(position_, spectra);
        is_ready = is_ready && levels_[i]->has_results_of(other());
    }
    if (is_ready && faded_ < 0) faded_ = 0;
    is_fading_now_ = faded_ >= 0;
}

template <class Real>
void StreamEngine<Real>::take_input(index_t input, const Real* samples) noexcept {
    Real* const to = history_.at(input, position_);
    has_bad_sample_[index_of(input)] = 0;
    if (samples == nullptr) {
        std::fill_n(to, block_, Real{});
        return;
    }
    std::copy_n(samples, block_, to);
    if (pixels::all_finite(to, block_)) return;
    has_bad_sample_[index_of(input)] = 1;
    std::copy_n(to, block_, received_.as<Real>() + input * block_);
    for (index_t n = 0; n < block_; ++n)
        if (!std::isfinite(to[n])) to[n] = 0;
}

template <class Real>
void StreamEngine<Real>::push(const Real* const* inputs, Real* const* outputs) noexcept {
    const NoDenormals no_denormals;
    take_prepared();
    begin_levels();
    // First the portions of the levels, from the longest one, which need only earlier blocks. Then
    // the blocks of the inputs.
    const auto lanes = static_cast<index_t>(team_.threads());
    const index_t portions = (static_cast<index_t>(levels_.size()) - 1) * lanes;
    team_.run(portions + routing_.inputs, [&](index_t task, int thread) {
        const NoDenormals none;
        Real* const scratch = scratch_[index_of(thread)].as<Real>();
        if (task < portions) {
            StreamLevel<Real>& level = *levels_[levels_.size() - 1 - index_of(task / lanes)];
            return level.run(position_, task % lanes, history_, scratch);
        }
        const index_t input = task - portions;
        take_input(input, inputs[input]);
        levels_[0]->transform_input(position_, input, thread, history_, scratch);
        // The output of an input of its own does not wait for other inputs.
        if (!routing_.is_matrix) finish_output(input, thread, outputs[input]);
    });
    if (routing_.is_matrix)
        team_.run(routing_.outputs, [&](index_t output, int thread) {
            const NoDenormals none;
            finish_output(output, thread, outputs[output]);
        });
    remember_bad_samples();
    end_fade();
    ++position_;
}

template <class Real>
void StreamEngine<Real>::remember_bad_samples() noexcept {
    for (index_t i = 0; i < routing_.inputs; ++i) {
        if (has_bad_sample_[index_of(i)] == 0) continue;
        const Real* const samples = received_.as<Real>() + i * block_;
        for (index_t n = 0; n < block_; ++n)
            if (!std::isfinite(samples[n])) last_bad_[index_of(i)] = position_ * block_ + n;
    }
}

template <class Real>
void StreamEngine<Real>::finish_output(index_t output, int thread, Real* result) noexcept {
    Real* const scratch = scratch_[index_of(thread)].as<Real>();
    levels_[0]->compute_output(position_, output, thread, scratch);
    add_levels(output, active_, result);
    if (is_fading_now_) {
        add_levels(output, other(), scratch);
        const auto length = static_cast<Real>(sets_[index_of(other())]->fade);
        for (index_t n = 0; n < block_; ++n) {
            const Real weight =
                std::min(Real{1}, (static_cast<Real>(faded_ + n) + Real{0.5}) / length);
            result[n] += weight * (scratch[n] - result[n]);
            if (weight == Real{1}) result[n] = scratch[n];
        }
    }
    mark_not_finite(output, result);
}

template <class Real>
void StreamEngine<Real>::add_levels(index_t output, int set, Real* result) const noexcept {
    std::copy_n(levels_[0]->results(position_, set, output), block_, result);
    for (std::size_t i = 1; i < levels_.size(); ++i)
        if (const Real* const more = levels_[i]->results(position_, set, output))
            add(more, result, block_);
}

// A sum over taps 0 … M-1 meets sample m in results m … m+M-1.
template <class Real>
void StreamEngine<Real>::mark_not_finite(index_t output, Real* result) const noexcept {
    index_t taps = sets_[index_of(active_)]->taps;
    if (is_fading_now_) taps = std::max(taps, sets_[index_of(other())]->taps);
    const index_t begin = position_ * block_;
    for (index_t source = 0; source < routing_.sources(); ++source) {
        const index_t input = routing_.input_of(output, source);
        index_t last = last_bad_[index_of(input)];
        const bool has_bad = has_bad_sample_[index_of(input)] != 0;
        if (!has_bad && begin - last >= taps) continue;
        const Real* const samples = received_.as<Real>() + input * block_;
        for (index_t n = 0; n < block_; ++n) {
            if (has_bad && !std::isfinite(samples[n])) last = begin + n;
            if (begin + n - last < taps) result[n] = std::numeric_limits<Real>::quiet_NaN();
        }
    }
}

template <class Real>
void StreamEngine<Real>::end_fade() noexcept {
    if (!is_fading_now_) return;
    faded_ += block_;
    if (faded_ < sets_[index_of(other())]->fade) return;
    for (auto& level : levels_) level->drop(active_);
    retire(sets_[index_of(active_)].release());
    active_ = other();
    faded_ = -1;
    has_next_.store(false);
}

template class StreamEngine<float>;
template class StreamEngine<double>;

}  // namespace convolume::cpu
