// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seeded random numbers. Each test has a fixed seed; CONVOLUME_TEST_SEED replaces it. The seed is
// printed, and every case of a sweep has its own sequence, so that one case can be run alone.

#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <random>
#include <vector>

#include "tests/support/array.hpp"

namespace convolume::testing {

/// Returns the seed of the test called `name`, and prints it.
inline std::uint64_t test_seed(const char* name, std::uint64_t fixed = 20240229) {
    const char* given = std::getenv("CONVOLUME_TEST_SEED");
    const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : fixed;
    std::cout << name << ": seed " << seed << '\n';
    return seed;
}

class Random {
  public:
    explicit Random(std::uint64_t seed, std::uint64_t sequence = 0)
        : engine_(seed * 0x9E3779B97F4A7C15u ^ (sequence + 1) * 0xBF58476D1CE4E5B9u) {
        engine_.discard(8);
    }

    /// Returns a uniform integer in [low, high].
    index_t integer(index_t low, index_t high) {
        return low + static_cast<index_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(double probability) { return uniform() < probability; }
    /// Returns a uniform number in [0, 1).
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
    template <class T>
    T pick(std::initializer_list<T> choices) {
        return choices.begin()[integer(0, static_cast<index_t>(choices.size()) - 1)];
    }

    /// Returns values uniform in [-0.5, 0.5) + offset in every component, rounded to float so that
    /// all floating-point types hold them exactly.
    Array array(const Shape3& shape, bool complex, double offset = 0) {
        const auto sample = [&] {
            return static_cast<double>(static_cast<float>(uniform() - 0.5 + offset));
        };
        Array result(shape);
        for (Complex& value : result.values) value = {sample(), complex ? sample() : 0.0};
        return result;
    }
    /// Returns one value uniform in [0, 1) for each element.
    template <class T>
    std::vector<T> values(const Shape3& shape) {
        std::vector<T> result(static_cast<std::size_t>(element_count(shape)));
        for (T& value : result) value = static_cast<T>(uniform());
        return result;
    }
    /// Returns whole numbers in [low, high].
    Array integers(const Shape3& shape, index_t low, index_t high) {
        Array result(shape);
        for (Complex& value : result.values) value = static_cast<double>(integer(low, high));
        return result;
    }

  private:
    std::mt19937_64 engine_;
};

}  // namespace convolume::testing
