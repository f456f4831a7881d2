// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/fft_size.hpp"
#include "cpu/signals/methods.hpp"

namespace convolume::cpu {

namespace {

constexpr CpuFilterTimes times;

double fft_s(index_t length) {
    const auto last = static_cast<int>(times.fft_sample_s.size()) - 1;
    const double place = std::min<double>(std::log2(static_cast<double>(length)), last);
    const int below = std::min(static_cast<int>(place), last - 1);
    const double share = place - below;
    const double sample = times.fft_sample_s[static_cast<std::size_t>(below)] * (1 - share) +
                          times.fft_sample_s[static_cast<std::size_t>(below + 1)] * share;
    const double other_factors = std::has_single_bit(static_cast<std::uint64_t>(length)) ? 1
                                 : is_7_smooth(length) ? times.smooth_length
                                                       : times.other_length;
    return static_cast<double>(length) * sample * other_factors;
}

// Work of a real number in units of a float: 1 for float, 2 for double.
double size_factor(const FilterSpec& spec) {
    return spec.precision == Precision::float32 ? 1 : 2;
}
double floats_per_sample(const FilterSpec& spec) {
    return size_factor(spec) * (spec.complex_data ? 2 : 1);
}

// Returns the seconds for `tasks` tasks of `each_s` seconds on `threads` threads, which together
// move `bytes` through memory.
double shared_s(index_t tasks, double each_s, double bytes, int threads) {
    const auto rounds = static_cast<double>(ceil_div(tasks, threads));
    // With many tasks the load evens out, and a count of rounds would be too high.
    const double share = static_cast<double>(tasks) / threads;
    const double busy = tasks < 8 * threads ? rounds : share;
    return times.call_s + std::max(busy * (each_s + times.task_s), bytes * times.memory_byte_s);
}

double memory_bytes(const FilterSpec& spec, index_t signals, index_t outputs) {
    const auto sample = static_cast<double>(spec.signal_bytes());
    const auto stored =
        static_cast<double>(spec.window.stored(outputs)) * static_cast<double>(spec.result_bytes());
    // Memory that is written is read first, so results count twice.
    return static_cast<double>(signals) *
           (static_cast<double>(outputs) * sample + 2 * static_cast<double>(spec.filters) * stored);
}

// Returns the seconds to fetch a filter's spectrum if a core's cache does not hold all that a
// segment needs.
double fetch_s(const FilterSpec& spec) {
    const double spectrum = static_cast<double>(spec.segment) * 8 * size_factor(spec);
    const double met = spectrum * (static_cast<double>(spec.filters) + 4);
    return spectrum * times.uncached_byte_s * std::clamp(met / times.cached_bytes - 1, 0.0, 1.0);
}

std::optional<FilterCost> direct_cost(const FilterSpec& spec, index_t signals, index_t outputs,
                                      int threads) {
    if (spec.segment != 0) return {};
    const index_t units = checked_multiply(signals, ceil_div(outputs, direct_chunk));
    const index_t groups = filter_groups(units, spec.filters, threads);
    const double results =
        static_cast<double>(std::min(outputs, direct_chunk) + function_halo(spec));
    const double per_tap = times.multiply_add_s * (spec.complex_data ? 4 : 1) * size_factor(spec);
    const double floats = floats_per_sample(spec);
    const double each = (results + static_cast<double>(spec.taps)) * floats * times.load_s +
                        static_cast<double>(spec.filters) / static_cast<double>(groups) * results *
                            (static_cast<double>(spec.taps) * per_tap + floats * times.store_s);
    FilterCost cost;
    cost.seconds = shared_s(units * groups, each, memory_bytes(spec, signals, outputs), threads);
    cost.work_bytes = direct_bytes(spec, threads);
    cost.description = "sums in time";
    return cost;
}

// Returns the seconds for `units` segments. Each is transformed once, then multiplied and
// transformed back for every filter. Each float of the results takes `stored_s`.
double segments_s(const FilterSpec& spec, index_t units, double stored_s, double bytes,
                  int threads) {
    const index_t groups = filter_groups(units, spec.filters, threads);
    const auto length = static_cast<double>(spec.segment);
    const double factor = size_factor(spec);
    const double transform = fft_s(spec.segment) * factor;
    const double per_filter = transform + length * factor * (times.product_s + 2 * stored_s) +
                              fetch_s(spec) + times.step_s;
    const double each =
        transform + length * 2 * factor * times.load_s +
        static_cast<double>(spec.filters) / static_cast<double>(groups) * per_filter;
    return shared_s(units * groups, each, bytes, threads);
}

std::optional<FilterCost> overlap_save_cost(const FilterSpec& spec, index_t signals,
                                            index_t outputs, int threads) {
    const index_t useful = overlap_save_useful(spec);
    if (useful < 1) return {};
    const index_t chunks = checked_multiply(signals, ceil_div(outputs, useful));
    FilterCost cost;
    cost.seconds = segments_s(spec, ceil_div(chunks, spec.complex_data ? 1 : 2), times.store_s,
                              memory_bytes(spec, signals, outputs), threads);
    cost.work_bytes = overlap_save_bytes(spec, threads);
    cost.description = message("overlap-save in segments of ", spec.segment);
    return cost;
}

std::optional<FilterCost> overlap_add_cost(const FilterSpec& spec, index_t signals, index_t outputs,
                                           int threads) {
    const index_t hop = spec.segment - (spec.taps - 1);
    if (hop < 1) return {};
    const index_t segments =
        ceil_div(checked_add(checked_add(outputs, spec.taps - 1), function_halo(spec)), hop);
    const index_t units = checked_multiply(signals, ceil_div(segments, spec.complex_data ? 1 : 2));
    FilterCost cost;
    // Adding results reads and writes them once more.
    cost.seconds = segments_s(spec, units, times.store_s + times.sum_s,
                              1.5 * memory_bytes(spec, signals, outputs), threads);
    cost.work_bytes = overlap_add_bytes(spec, outputs, threads);
    cost.description = message("overlap-add of segments of ", spec.segment);
    return cost;
}

std::optional<FilterCost> partitioned_cost(const FilterSpec& spec, index_t signals, index_t outputs,
                                           int threads) {
    if (spec.segment < 2 || spec.segment % 2 != 0) return {};
    const index_t partitions = partition_count(spec);
    const index_t segments = ceil_div(checked_add(outputs, function_halo(spec)), spec.segment / 2);
    const auto length = static_cast<double>(spec.segment);
    const double factor = floats_per_sample(spec);
    // A real transform is a complex one of half the length, and a loop that joins its halves.
    const double transform = (spec.complex_data ? fft_s(spec.segment)
                                                : fft_s(spec.segment / 2) + length * times.join_s) *
                             size_factor(spec);
    // The first outputs have fewer partitions to add, because there is no signal before them.
    const auto all = static_cast<double>(segments);
    const auto most = static_cast<double>(std::min(partitions, segments));
    const double summed = most * (1 - 0.5 * (most - 1) / all);
    const double per_output =
        transform + length * factor * (times.store_s + 0.5 * summed * times.product_sum_s) +
        times.step_s;
    FilterCost cost;
    cost.seconds =
        static_cast<double>(signals) *
        (shared_s(segments + partitions, transform + length * factor * times.load_s, 0, threads) +
         shared_s(checked_multiply(segments, spec.filters), per_output,
                  memory_bytes(spec, 1, outputs), threads));
    cost.work_bytes = partitioned_bytes(spec, outputs, threads);
    cost.description =
        message("partitioned convolution, ", partitions, " partitions of ", spec.segment / 2);
    return cost;
}

std::optional<FilterCost> cost_of_segment(const FilterSpec& spec, index_t signals, index_t outputs,
                                          int threads) {
    std::optional<FilterCost> cost;
    switch (spec.method) {
        case FilterMethod::direct:
            cost = direct_cost(spec, signals, outputs, threads);
            break;
        case FilterMethod::overlap_save:
            cost = overlap_save_cost(spec, signals, outputs, threads);
            break;
        case FilterMethod::overlap_add:
            cost = overlap_add_cost(spec, signals, outputs, threads);
            break;
        case FilterMethod::partitioned:
            cost = partitioned_cost(spec, signals, outputs, threads);
            break;
        case FilterMethod::automatic:
            break;
    }
    if (cost) {
        cost->method = spec.method;
        cost->segment = spec.segment;
    }
    return cost;
}

}  // namespace

std::optional<FilterCost> filter_cost(const FilterSpec& spec, index_t signals, index_t outputs,
                                      int threads) {
    constexpr index_t longest = index_t{1} << 30;
    if (spec.segment > longest) return {};
    if (spec.segment != 0 || spec.method == FilterMethod::direct)
        return cost_of_segment(spec, signals, outputs, threads);
    // No segment needs to be longer than all results and their inputs.
    const index_t everything = checked_add(checked_add(outputs, spec.taps), function_halo(spec));
    constexpr index_t shortest = 64;
    std::optional<FilterCost> best;
    FilterSpec tried = spec;
    for (index_t two = shortest; two <= longest; two *= 2) {
        for (const index_t length : {two, two / 2 * 3}) {
            tried.segment = length;
            auto cost = cost_of_segment(tried, signals, outputs, threads);
            if (cost && (!best || cost->seconds < best->seconds)) best = std::move(cost);
        }
        if (two >= 2 * everything) break;
    }
    return best;
}

}  // namespace convolume::cpu
