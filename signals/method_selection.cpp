// SPDX-License-Identifier: Apache-2.0
#include "signals/method_selection.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "signals/stream.hpp"

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

}  // namespace convolume
