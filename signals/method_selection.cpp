// SPDX-License-Identifier: Apache-2.0
#include "signals/method_selection.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/host_memory.hpp"
#include "core/result_chunks.hpp"

namespace convolume {

namespace {

constexpr FilterMethod all_methods[] = {FilterMethod::direct, FilterMethod::overlap_save,
                                        FilterMethod::overlap_add, FilterMethod::partitioned};

bool allows(const FilterOptions& options, FilterMethod method) {
    return options.method == FilterMethod::automatic || options.method == method;
}

[[noreturn]] void throw_no_choice(const FilterProblem& problem, const SignalShape& shape,
                                  const FilterOptions& options, const FilterEngineList& engines) {
    std::string choices;
    bool only_the_segment = false;  // is in the way
    for (const auto& engine : engines)
        for (const FilterMethod method : all_methods) {
            FilterWork work = problem.work;
            work.method = method;
            work.segment = 0;
            const auto cost =
                engine->estimate(work, shape.signals, problem.predicted_results(shape));
            if (!cost) continue;
            only_the_segment |= options.segment > 0 && allows(options, method);
            choices +=
                message(choices.empty() ? "" : ", ", engine->info().name, " ", to_string(method));
            if (cost->segment > 0) choices += message(" (segments of ", cost->segment, ")");
        }
    const std::string text =
        message("no engine filters with ", problem.work.taps, " taps by the method ",
                to_string(options.method),
                options.segment > 0 ? message(" in segments of ", options.segment) : std::string(),
                ": ", choices.empty() ? "there is none" : "there is " + choices);
    if (only_the_segment) throw InvalidArgument(text);
    throw Unavailable(text);
}

// The host's memory that an engine takes itself.
index_t engine_bytes(const MethodSelection& choice) {
    return choice.engine->info().is_gpu ? choice.cost.host_bytes : choice.cost.work_bytes;
}

}  // namespace

MethodSelection select_method(const FilterProblem& problem, const SignalShape& shape,
                              const FilterOptions& options, const FilterEngineList& engines) {
    MethodSelection best;
    bool best_fits = false;
    for (const auto& engine : engines)
        for (const FilterMethod method : all_methods) {
            if (!allows(options, method)) continue;
            FilterWork work = problem.work;
            work.method = method;
            auto cost = engine->estimate(work, shape.signals, problem.predicted_results(shape));
            if (!cost) continue;
            const MethodSelection tried{engine, *std::move(cost)};
            const bool fits =
                !options.max_host_bytes ||
                stream_layout(problem, shape, tried, *options.max_host_bytes).chunk > 0;
            if (!best.engine || (fits && !best_fits) ||
                (fits == best_fits && tried.cost.seconds < best.cost.seconds)) {
                best = tried;
                best_fits = fits;
            }
        }
    if (!best.engine) throw_no_choice(problem, shape, options, engines);
    return best;
}

StreamLayout stream_layout(const FilterProblem& problem, const SignalShape& shape,
                           const MethodSelection& choice, index_t limit_bytes) {
    const FilterWork& work = problem.work;
    const bool peaks = work.window.kind == WindowPost::Kind::peak;
    const auto sample = static_cast<index_t>(size_of(work.sample_type()));
    const index_t stored_sample = static_cast<index_t>(size_of(work.result_type())) +
                                  (peaks ? static_cast<index_t>(sizeof(index_t)) : 0);
    const index_t fixed = checked_add(
        engine_bytes(choice),
        // What a file's samples are converted from, and a window's peaks while it goes on.
        checked_add(
            StreamLayout::raw_samples * static_cast<index_t>(size_of(PixelType::complex128)),
            checked_multiply(work.filters, peaks ? stored_sample : 0)));

    const auto laid_out = [&](index_t chunk, index_t signals) {
        const ResultChunks chunks(problem.engine_range(), work.window, chunk);
        StreamLayout layout{chunk, signals, 0, 0, 0};
        layout.stored = chunks[0].stored;
        const index_t reach = checked_add(
            work.taps - 1 + (work.function ? work.function->before + work.function->after : 0),
            problem.lookahead(shape));
        layout.input_samples =
            std::min(shape.samples, checked_add(std::min(chunk, problem.range.count()), reach));
        const index_t inputs = checked_multiply(signals, layout.input_samples);
        const index_t results =
            checked_multiply(checked_multiply(signals, work.filters), layout.stored);
        // Two of each: one in use by the engine, the other by who reads or writes.
        layout.bytes = checked_add(
            fixed,
            2 * checked_add(
                    Buffer::rounded_bytes(checked_multiply(inputs, sample)),
                    checked_add(
                        Buffer::rounded_bytes(checked_multiply(
                            results, static_cast<index_t>(size_of(work.result_type())))),
                        Buffer::rounded_bytes(
                            peaks ? checked_multiply(results, static_cast<index_t>(sizeof(index_t)))
                                  : 0))));
        return layout;
    };
    const auto fits = [&](index_t chunk, index_t signals) {
        return laid_out(chunk, signals).bytes <= limit_bytes;
    };
    // The largest number up to `most` that fits, given that 1 does.
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
        StreamLayout none = laid_out(1, 1);
        none.chunk = 0;
        return none;
    }
    // Chunks large enough that nothing is lost between them, small enough to overlap with reading.
    constexpr index_t results_at_a_time = index_t{1} << 24;
    const index_t wished = problem.chunk > 0
                               ? problem.chunk
                               : std::max(results_at_a_time / std::max<index_t>(1, work.filters),
                                          checked_multiply(4, work.taps));
    const index_t whole = problem.range.count();
    const index_t chunk =
        largest(std::min(whole, wished), [&](index_t tried) { return fits(tried, 1); });
    if (chunk < whole) return laid_out(chunk, 1);
    const index_t signals = largest(std::clamp<index_t>(wished / whole, 1, shape.signals),
                                    [&](index_t tried) { return fits(whole, tried); });
    return laid_out(whole, signals);
}

index_t stream_limit(const FilterOptions& options) {
    return options.max_host_bytes ? *options.max_host_bytes : available_host_bytes() / 4;
}

}  // namespace convolume
