// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/comparison.hpp"

#include <algorithm>

namespace convolume::cli {

namespace {

template <class Value>
std::vector<double> of_turns(const std::vector<Turn>& turns, Value value) {
    std::vector<double> values;
    for (const Turn& turn : turns) values.push_back(value(turn));
    return values;
}

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double Measurement::median_s() const {
    return median(of_turns(turns, [](const Turn& turn) { return turn.seconds; }));
}

double Measurement::first_s() const {
    return median(of_turns(turns, [](const Turn& turn) { return turn.first_s; }));
}

double Measurement::spread() const {
    const auto seconds = of_turns(turns, [](const Turn& turn) { return turn.seconds; });
    if (seconds.empty() || median_s() <= 0) return 0;
    const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
    return (*slowest - *fastest) / median_s();
}

std::vector<std::pair<std::string, double>> Measurement::phases() const {
    std::vector<std::pair<std::string, double>> medians;
    if (turns.empty()) return medians;
    for (const auto& [name, unused] : turns.front().phases) {
        const auto seconds_of = [&name = name](const Turn& turn) {
            for (const auto& [other, seconds] : turn.phases)
                if (other == name) return seconds;
            return 0.0;
        };
        medians.emplace_back(name, median(of_turns(turns, seconds_of)));
    }
    return medians;
}

Measurement* ComparedProblem::find(const Way& way) {
    for (Measurement& measurement : measured)
        if (measurement.way == way) return &measurement;
    return nullptr;
}

std::optional<double> ComparedProblem::difference(const std::string& a,
                                                  const std::string& b) const {
    for (const PairDifference& pair : pairs)
        if ((pair.a == a && pair.b == b) || (pair.a == b && pair.b == a)) return pair.relative_l2;
    return std::nullopt;
}

int Comparison::finished_ways() const {
    int count = 0;
    for (const ComparedProblem& problem : problems)
        for (const Measurement& measurement : problem.measured)
            count += static_cast<int>(measurement.turns.size()) >= repeats;
    return count;
}

std::optional<double> Comparison::largest_error() const {
    std::optional<double> largest;
    for (const ComparedProblem& problem : problems)
        for (const Measurement& measurement : problem.measured)
            if (measurement.errors)
                largest = std::max(largest.value_or(0), measurement.errors->relative_largest);
    return largest;
}

}  // namespace convolume::cli
