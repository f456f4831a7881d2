// SPDX-License-Identifier: Apache-2.0
#include "tests/support/filter_conformance.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "convolume/error.hpp"
#include "convolume/filter_options.hpp"
#include "tests/catch.hpp"
#include "tests/support/filter_oracle.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {
namespace {

/// A function of complex samples: none, linear with a halo, or their magnitude.
enum class FunctionKind { none, linear, magnitude };

template <class Sample>
std::shared_ptr<const SampleFunction> make_function(FunctionKind kind) {
    if (kind == FunctionKind::linear)
        return sample_function<Sample>(
            [](const Sample* y) -> Sample {
                using Real = decltype(std::abs(Sample{}));
                return y[-1] + Real(2) * y[0] - y[2];
            },
            1, 2);
    return sample_function<Sample>([](const Sample* y) { return std::abs(*y); });
}

struct FilterCase {
    FilterSpec spec;
    FunctionKind function = FunctionKind::none;
    std::vector<Row> signals;
    std::vector<Row> bank;
    index_t first = 0;  ///< first sample of each signal that is given; samples outside are 0
    index_t count = 0;
    index_t gap = 0;  ///< elements between rows in memory
    SampleRange range;
    bool positions = false;

    std::string describe() const {
        return message(to_string(spec.method), " segment ", spec.segment, ", ", signals.size(),
                       " signals of ", signals[0].size(), " (", first, " + ", count, " given), ",
                       spec.filters, " filters of ", spec.taps, ", ", to_string(spec.sample_type()),
                       spec.power ? " power" : "", " function ", static_cast<int>(function),
                       " window ", to_string(spec.window), ", results ", range.begin, ":",
                       range.end, ", gap ", gap);
    }

    /// Results `range` of filter f for signal s, after the power or the function.
    Row values(std::size_t s, std::size_t f) const {
        constexpr index_t halo = 2;
        const Row padded = filtered(bank[f], signals[s], {range.begin - halo, range.end + halo});
        Row out;
        for (std::size_t i = halo; i + halo < padded.size(); ++i) {
            const std::complex<double>* const y = padded.data() + i;
            if (function == FunctionKind::linear)
                out.push_back(y[-1] + 2.0 * y[0] - y[2]);
            else if (function == FunctionKind::magnitude)
                out.push_back(std::abs(*y));
            else
                out.push_back(spec.power ? std::norm(*y) : *y);
        }
        return out;
    }
    /// Scale of the errors: the level of filtered random data after the power or the function.
    double size(std::size_t s, std::size_t f) const {
        const double y = level(bank[f], signals[s]);
        return spec.power ? 3 * y * y : function == FunctionKind::linear ? 2.5 * y : y;
    }
};

Row random_row(Random& random, index_t count, bool complex) {
    Row row;
    for (index_t i = 0; i < count; ++i) {
        const auto part = [&] {
            return static_cast<double>(static_cast<float>(random.uniform() - 0.5));
        };
        const double re = part();
        row.emplace_back(re, complex ? part() : 0.0);
    }
    return row;
}

FilterCase random_case(Random& random, const FilterSpecPredicate& can) {
    FilterCase c;
    do {
        c = {};
        FilterSpec& spec = c.spec;
        spec.complex_data = random.chance(0.5);
        spec.precision = random.chance(0.6) ? Precision::float32 : Precision::float64;
        spec.filters = random.pick<index_t>({1, 1, 2, 3, 5, 8});
        spec.taps = random.chance(0.2)   ? 1
                    : random.chance(0.7) ? random.integer(1, 99)
                                         : random.integer(100, 1500);
        const double post = random.uniform();
        spec.power = post < 0.2;
        if (post > 0.8) {
            c.function = random.chance(0.5) ? FunctionKind::linear : FunctionKind::magnitude;
            if (spec.complex_data)
                spec.function = spec.precision == Precision::float32
                                    ? make_function<std::complex<float>>(c.function)
                                    : make_function<std::complex<double>>(c.function);
            else
                spec.function = spec.precision == Precision::float32
                                    ? make_function<float>(c.function)
                                    : make_function<double>(c.function);
        }
        const double window = random.uniform();
        if (window < 0.15) spec.window.kind = WindowPost::Kind::decimate;
        if (window > 0.75 && !is_complex(spec.result_type()))
            spec.window.kind = WindowPost::Kind::peak;
        if (spec.window.kind != WindowPost::Kind::none)
            spec.window.length = random.pick<index_t>({1, 2, 7, 32, 100, 777, 20000});
        spec.method =
            random.pick({FilterMethod::automatic, FilterMethod::direct, FilterMethod::overlap_save,
                         FilterMethod::overlap_add, FilterMethod::partitioned});
        if (random.chance(0.5) && spec.method != FilterMethod::direct)
            spec.segment = random.chance(0.5)
                               ? index_t{1} << random.integer(4, 13)
                               : random.integer(random.chance(0.1) ? 2 : spec.taps + spec.taps / 8,
                                                3 * spec.taps + 100);
    } while (can && !can(c.spec));

    const index_t samples = random.chance(0.6) ? random.integer(1, 99)
                            : random.chance(0.8) || c.spec.filters * c.spec.taps > 500
                                ? random.integer(100, 3000)
                                : random.integer(3000, 30000);
    c.first = random.chance(0.5) ? 0 : random.integer(0, samples - 1);
    c.count = random.chance(0.5) ? samples - c.first : random.integer(0, samples - c.first);
    const bool tiny = samples < 1000 && c.spec.taps < 100;
    const index_t signals = tiny ? random.pick<index_t>({1, 1, 2, 3, 17}) : 1;
    c.gap = random.pick<index_t>({0, 1, 5});
    for (index_t s = 0; s < signals; ++s) {
        Row row = random_row(random, samples, c.spec.complex_data);
        for (index_t i = 0; i < samples; ++i)
            if (i < c.first || i >= c.first + c.count) row[static_cast<std::size_t>(i)] = 0;
        c.signals.push_back(std::move(row));
    }
    for (index_t f = 0; f < c.spec.filters; ++f)
        c.bank.push_back(random_row(random, c.spec.taps, c.spec.complex_data));
    const index_t full = samples + c.spec.taps - 1;
    if (random.chance(0.4)) {
        c.range = {0, full};
    } else {  // a range that may reach beyond the result's ends
        c.range.begin = random.integer(-10, full - 1);
        c.range.end = random.integer(c.range.begin + 1, full + 10);
    }
    c.positions = c.spec.window.kind == WindowPost::Kind::peak && random.chance(0.8);
    return c;
}

/// Rows in memory with `gap` NaN elements before, between and behind them.
class GuardedRows {
  public:
    GuardedRows(PixelType type, index_t rows, index_t length, index_t gap)
        : type_(type),
          rows_(rows),
          length_(length),
          gap_(gap),
          memory_({1, 1, gap + rows * (length + gap) + 1}, type) {
        std::memset(memory_.view().data, 0xff, static_cast<std::size_t>(memory_.bytes()));
    }

    index_t stride() const { return length_ + gap_; }
    void* data() { return memory_.view().at(0, 0, gap_); }

    void set(index_t row, index_t i, std::complex<double> value) {
        visit_pixel_type(type_, [&](auto tag) {
            using T = typename decltype(tag)::type;
            T& element = static_cast<T*>(data())[row * stride() + i];
            if constexpr (std::is_floating_point_v<T>)
                element = static_cast<T>(value.real());
            else if constexpr (!std::is_integral_v<T>)
                element = T(value);
        });
    }
    std::complex<double> get(index_t row, index_t i) {
        return visit_pixel_type(type_, [&](auto tag) -> std::complex<double> {
            using T = typename decltype(tag)::type;
            if constexpr (std::is_integral_v<T>)
                return {};
            else
                return std::complex<double>(static_cast<T*>(data())[row * stride() + i]);
        });
    }
    bool gaps_untouched() {
        const auto size = static_cast<index_t>(size_of(type_));
        const auto* const bytes = static_cast<const unsigned char*>(memory_.view().data);
        const index_t elements = gap_ + rows_ * stride() + 1;
        for (index_t i = 0; i < elements * size; ++i) {
            const index_t at = i / size - gap_;
            const bool inside = at >= 0 && at < rows_ * stride() && at % stride() < length_;
            if (!inside && bytes[i] != 0xff) return false;
        }
        return true;
    }

  private:
    PixelType type_;
    index_t rows_;
    index_t length_;
    index_t gap_;
    Volume memory_;
};

/// Describes the first defect of one result, or returns "".
std::string defect(const FilterCase& c, const std::vector<Row>& values, GuardedRows& results,
                   const index_t* positions) {
    const auto windows = windows_of(c.spec.window, c.range.count());
    const bool peaks = c.spec.window.kind == WindowPost::Kind::peak;
    for (std::size_t s = 0; s < c.signals.size(); ++s)
        for (std::size_t f = 0; f < c.bank.size(); ++f) {
            const index_t row = static_cast<index_t>(s * c.bank.size() + f);
            const Row& all = values[static_cast<std::size_t>(row)];
            const double size = c.size(s, f);
            Row want, got;
            for (std::size_t w = 0; w < windows.size(); ++w) {
                got.push_back(results.get(row, static_cast<index_t>(w)));
                if (!peaks) {
                    want.push_back(all[static_cast<std::size_t>(windows[w].begin)]);
                    continue;
                }
                double largest = -std::numeric_limits<double>::infinity();
                for (index_t i = windows[w].begin; i < windows[w].end; ++i)
                    largest = std::max(largest, all[static_cast<std::size_t>(i)].real());
                want.push_back(largest);
                if (!positions) continue;
                const index_t n = positions[row * results.stride() + static_cast<index_t>(w)];
                if (n < c.range.begin + windows[w].begin || n >= c.range.begin + windows[w].end)
                    return message("the peak of window ", w, " is said to be at ", n);
                const double value_there = all[static_cast<std::size_t>(n - c.range.begin)].real();
                if (largest - value_there >
                    30 * filter_tolerance(c.spec.precision) * std::max(size, std::abs(largest)))
                    return message("the peak of window ", w, " is ", largest, ", but ", value_there,
                                   " at ", n);
            }
            const double error = relative_error(want, got, size);
            // The mean error of a few samples varies more than that of many.
            const double few = 1 + 2 / std::sqrt(static_cast<double>(want.size()));
            const double allowed =
                few * (c.spec.power ? 2 : 1) * filter_tolerance(c.spec.precision);
            if (!(error < allowed))
                return message("signal ", s, " filter ", f, ": error ", error, " of ", allowed);
        }
    if (!results.gaps_untouched()) return "memory between the results was written";
    return {};
}

std::string run_case(FilterEngine& engine, const FilterCase& c) {
    const auto signals = static_cast<index_t>(c.signals.size());
    GuardedRows signal(c.spec.sample_type(), signals, c.count, c.gap);
    for (index_t s = 0; s < signals; ++s)
        for (index_t i = 0; i < c.count; ++i)
            signal.set(
                s, i,
                c.signals[static_cast<std::size_t>(s)][static_cast<std::size_t>(c.first + i)]);
    std::shared_ptr<const PreparedFilters> prepared;
    {
        GuardedRows bank(c.spec.sample_type(), c.spec.filters, c.spec.taps, 0);
        for (index_t f = 0; f < c.spec.filters; ++f)
            for (index_t k = 0; k < c.spec.taps; ++k)
                bank.set(f, k, c.bank[static_cast<std::size_t>(f)][static_cast<std::size_t>(k)]);
        prepared = engine.prepare(c.spec, bank.data());  // `bank`, with the taps, is destroyed now
    }
    std::vector<Row> values;
    for (std::size_t s = 0; s < c.signals.size(); ++s)
        for (std::size_t f = 0; f < c.bank.size(); ++f) values.push_back(c.values(s, f));
    const index_t stored = c.spec.window.stored(c.range.count());
    for (int execution = 1; execution <= 2; ++execution) {
        GuardedRows results(c.spec.result_type(), signals * c.spec.filters, stored, c.gap);
        std::vector<index_t> positions(
            static_cast<std::size_t>(signals * c.spec.filters * results.stride()), -12345);
        index_t* const given = c.positions ? positions.data() : nullptr;
        engine.filter(
            c.spec, *prepared, {signal.data(), signals, signal.stride(), c.first, c.count},
            {c.range, results.data(), given, c.spec.filters * results.stride(), results.stride()},
            {});
        const std::string wrong = defect(c, values, results, given);
        if (!wrong.empty()) return message("execution ", execution, ": ", wrong);
    }
    return {};
}

}  // namespace

void check_filter_engine(FilterEngine& engine, std::uint64_t seed, int cases,
                         const FilterSpecPredicate& can) {
    int failures = 0;
    int done = 0;
    for (int n = 0; done < cases && n < 4 * cases && failures < 5; ++n) {
        Random random(seed, static_cast<std::uint64_t>(n));
        FilterCase c = random_case(random, can);
        const auto signals = static_cast<index_t>(c.signals.size());
        auto cost = engine.estimate(c.spec, signals, c.range.count());
        if (!cost && c.spec.segment != 0) {
            c.spec.segment = 0;
            cost = engine.estimate(c.spec, signals, c.range.count());
        }
        if (!cost) continue;
        ++done;
        c.spec.method = cost->method;
        c.spec.segment = cost->segment;
        std::string wrong;
        try {
            wrong = run_case(engine, c);
        } catch (const std::exception& error) {
            wrong = message("threw: ", error.what());
        }
        if (wrong.empty()) continue;
        ++failures;
        UNSCOPED_INFO("case " << n << ": " << c.describe() << "\n" << wrong);
        CHECK(wrong.empty());
    }
    REQUIRE(failures == 0);
    REQUIRE(done > cases / 2);
}

}  // namespace convolume::testing
