// SPDX-License-Identifier: Apache-2.0
// Measures the costs of grid lengths on the CPU: times the transforms of cpu/volumes/fft_block.cpp
// at all 7-smooth lengths, on one thread, in float. The other axes of the grid have 288 samples.
//   convolume_fft_lengths_bench [--instructions avx2|avx512] > measured.json
//   convolume_fft_lengths_bench --measured FILE... [--write core/fft_length_costs.hpp]
// Prints JSON: nanoseconds per sample of the grid, and the loss by the lengths that this build
// chooses. --measured reads earlier results instead of measuring. --write makes the table anew, the
// mean of all results. Other programs disturb little: all lengths are timed in turns, and the least
// time of each counts.

#include <hwy/targets.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "core/fft_size.hpp"
#include "core/machine_rates.hpp"
#include "cpu/fft/column_fft.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/volumes/fft_block.hpp"
#include "cpu/volumes/vector_loops.hpp"

using namespace convolume;

namespace {

using Clock = std::chrono::steady_clock;
using Columns = cpu::ColumnFft<float>;
using Complex = std::complex<float>;
using cpu::SpectrumLayout;

/// Extent of the axes that are not measured.
constexpr index_t other = 288;
constexpr index_t longest = 2560;
constexpr index_t most_rows = 16;
constexpr index_t batch = SpectrumLayout::z_batch;
constexpr index_t z_columns = 512;

/// Work that is timed in turns with others. The least of its times counts.
struct Timing {
    std::function<void()> work;
    double seconds = std::numeric_limits<double>::infinity();

    void run() {
        const auto begin = Clock::now();
        work();
        const std::chrono::duration<double> taken = Clock::now() - begin;
        seconds = std::min(seconds, taken.count());
    }
};

SpectrumLayout layout_of(index_t y, index_t x, bool complex_data) {
    return {{1, y, x}, complex_data};
}

/// Seconds per sample of the grid at a length along z, y, x, and x of complex data: the time that
/// depends on this length, in a convolution with `other` samples along the other axes.
using GridCosts = std::array<double, 4>;
constexpr const char* axis_names[] = {"z", "y", "x", "complex x"};

class Bench {
  public:
    Bench() {
        for (Buffer* buffer : {&data_, &kernel_, &scratch_}) buffer->touch(1);
        for (index_t length = 2; length <= longest; ++length) {
            if (!is_7_smooth(length)) continue;
            lengths_.push_back(length);
            z_.push_back(columns_along_z(length, batch));
            y_.push_back(columns_along_y(layout_of(length, other, false)));
            for (const bool complex_data : {false, true}) {
                x_rows_[complex_data].push_back(rows(length, most_rows, complex_data));
                x_columns_[complex_data].push_back(
                    columns_along_y(layout_of(other, length, complex_data)));
            }
        }
        z_planes_.push_back(columns_along_z(other, plane));
        for (index_t count = 1; count <= most_rows; ++count)
            row_batches_.push_back(rows(other, count, false));
    }

    /// Times everything in turns for about `seconds`.
    void run(double seconds) {
        const auto begin = Clock::now();
        do
            for (auto* timings : {&z_, &y_, &x_rows_[0], &x_rows_[1], &x_columns_[0],
                                  &x_columns_[1], &z_planes_, &row_batches_})
                for (Timing& timing : *timings) timing.run();
        while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
    }

    const std::vector<index_t>& lengths() const { return lengths_; }

    /// Returns the costs at lengths()[i].
    GridCosts costs(std::size_t i) const {
        const auto length = static_cast<double>(lengths_[i]);
        const SpectrumLayout rows_of_y = layout_of(lengths_[i], other, false);
        GridCosts costs;
        costs[0] = z_[i].seconds / (length * z_columns);
        costs[1] = y_[i].seconds / (length * static_cast<double>(rows_of_y.pitch)) + z_seconds() +
                   row_seconds(rows_of_y.row_batch) - row_seconds(most_rows);
        for (const bool complex_data : {false, true}) {
            const auto pitch =
                static_cast<double>(layout_of(other, lengths_[i], complex_data).pitch);
            costs[complex_data ? 3 : 2] =
                ((x_rows_[complex_data][i].seconds + x_columns_[complex_data][i].seconds) / other +
                 z_seconds() * pitch) /
                length;
        }
        return costs;
    }

    /// Returns the seconds per sample of the image that do not depend on the length.
    GridCosts fixed_costs() const {
        const double rows = row_seconds(most_rows);
        const std::size_t i = index_of(other);
        const auto pitch = static_cast<double>(layout_of(other, other, false).pitch);
        return {rows + y_[i].seconds / (other * pitch) + z_seconds() - costs(i)[0], rows, 0, 0};
    }

  private:
    std::size_t index_of(index_t length) const {
        return static_cast<std::size_t>(std::find(lengths_.begin(), lengths_.end(), length) -
                                        lengths_.begin());
    }
    // Returns seconds per complex sample of a plane of `other` rows and columns.
    double z_seconds() const {
        return z_planes_[0].seconds / static_cast<double>(other * z_columns);
    }
    double row_seconds(index_t count) const {
        const index_t pitch = layout_of(other, other, false).pitch;
        return row_batches_[static_cast<std::size_t>(count - 1)].seconds /
               static_cast<double>(other / count * count * pitch);
    }

    /// Transforms `other` rows, forward and inverse, `count` at a time.
    Timing rows(index_t length, index_t count, bool complex_data) {
        using Kind = cpu::TransformKind;
        const index_t pitch = layout_of(other, length, complex_data).pitch;
        const index_t distance = round_up(length, index_t{16});
        void *const samples = scratch_.data(), *const spectra = data_.data();
        const auto forward = std::make_shared<const cpu::FftPlan<float>>(
            cpu::TransformBatch{length, count, 1, distance, 1, pitch},
            complex_data ? Kind::forward : Kind::real_forward, samples, spectra,
            cpu::FftPlanning{});
        const auto inverse = std::make_shared<const cpu::FftPlan<float>>(
            cpu::TransformBatch{length, count, 1, pitch, 1, distance},
            complex_data ? Kind::inverse : Kind::real_inverse, spectra, samples,
            cpu::FftPlanning{});
        return {[=, this] {
            const auto transform = [&](auto* from) {
                for (index_t row = 0; row + count <= other; row += count) {
                    forward->execute(from, data_.as<Complex>() + row * pitch);
                    inverse->execute(data_.as<Complex>() + row * pitch, from);
                }
            };
            complex_data ? transform(scratch_.as<Complex>()) : transform(scratch_.as<float>());
        }};
    }

    /// Transforms the columns of a plane along y, forward and inverse.
    Timing columns_along_y(const SpectrumLayout& layout) {
        const auto fft = std::make_shared<const Columns>(layout.rows);
        return {[=, this] {
            for (index_t first = 0; first < layout.pitch; first += SpectrumLayout::column_batch) {
                Complex* const data = data_.as<Complex>() + first;
                const index_t columns =
                    std::min(SpectrumLayout::column_batch, layout.pitch - first);
                const Columns::InputColumns from{data, layout.pitch, layout.rows};
                const Columns::OutputColumns to{data, layout.pitch, 0, layout.rows};
                fft->forward(from, to, columns, scratch_.as<Complex>());
                fft->inverse(from, to, columns, scratch_.as<Complex>());
            }
        }};
    }

    /// Convolves columns along z with a kernel of a quarter of the grid. Planes are `distance`
    /// samples apart. If that is one batch, all batches are the same, which stays in the cache:
    /// memory traffic does not depend on the length of the grid.
    Timing columns_along_z(index_t length, index_t distance) {
        const auto fft = std::make_shared<const Columns>(length);
        const index_t kernel = ceil_div(length, index_t{4}), image = length - kernel + 1;
        return {[=, this] {
            Complex* const image_columns = scratch_.as<Complex>();
            Complex* const kernel_columns = image_columns + length * batch;
            Complex* const scratch = kernel_columns + length * batch;
            for (index_t first = 0; first < z_columns; first += batch) {
                const index_t at = first % distance;
                Complex* const data = data_.as<Complex>() + at;
                fft->forward({data, distance, image}, {image_columns, batch, 0, length}, batch,
                             scratch);
                fft->forward({kernel_.as<Complex>() + at, distance, kernel},
                             {kernel_columns, batch, 0, length}, batch, scratch);
                cpu::multiply(kernel_columns, image_columns, length * batch);
                fft->inverse({image_columns, batch, length}, {data, distance, kernel / 2, image},
                             batch, scratch);
            }
        }};
    }

    static Buffer samples(index_t count) {
        return Buffer(count * index_t{sizeof(Complex)}, "a measurement");
    }

    /// Samples between planes in memory: those of an image with fewer rows than `other`, and no
    /// multiple of a page.
    static constexpr index_t plane = 75 * 152;

    std::vector<index_t> lengths_;
    Buffer data_ = samples(std::max(longest, plane) * other), kernel_ = samples(other * plane),
           scratch_ = samples(2 * batch * longest + Columns::scratch_samples(longest));
    std::vector<Timing> z_, z_planes_, y_, x_rows_[2], x_columns_[2], row_batches_;
};

void use_instructions(const std::string& name) {
    const std::int64_t target = name == "avx512" ? HWY_AVX3 : HWY_AVX2;
    if ((hwy::SupportedTargets() & target) == 0)
        throw InvalidArgument(message("this processor has no ", name));
    hwy::SetSupportedTargetsForTest(target);
}

using Json = nlohmann::json;

/// Measures all costs. `machine` is noted.
Json measure(const std::string& machine, double seconds) {
    Bench bench;
    bench.run(seconds);
    Json report{{"machine", machine}, {"lengths", bench.lengths()}};
    for (std::size_t a = 0; a < std::size(axis_names); ++a) {
        Json& axis = report[axis_names[a]];
        axis["fixed_ns"] = 1e9 * bench.fixed_costs()[a];
        for (std::size_t i = 0; i < bench.lengths().size(); ++i)
            axis["ns"].push_back(1e9 * bench.costs(i)[a]);
    }
    return report;
}

/// Returns the share of time that a convolution loses by the chosen lengths: mean and maximum over
/// extents.
Json loss(const Json& report, int use) {
    const auto lengths = report["lengths"].get<std::vector<index_t>>();
    const auto costs = report[axis_names[use]]["ns"].get<std::vector<double>>();
    const double fixed = report[axis_names[use]]["fixed_ns"];
    const index_t step = use == 2 ? 2 : 1;
    double sum = 0, most = 0;
    index_t count = 0, most_at = 0;
    for (index_t n = 32; n <= lengths.back(); ++n, ++count) {
        const index_t chosen = good_fft_size(n, step, std::min(use, 2), use == 3);
        if (chosen > lengths.back()) break;
        double taken = 0, best = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            if (lengths[i] < n || lengths[i] % step != 0) continue;
            const double all =
                static_cast<double>(n) * fixed + static_cast<double>(lengths[i]) * costs[i];
            best = std::min(best, all);
            if (lengths[i] == chosen) taken = all;
        }
        sum += taken / best - 1;
        if (taken / best - 1 > most) {
            most = taken / best - 1;
            most_at = n;
        }
    }
    return {{"mean", sum / static_cast<double>(count)}, {"most", most}, {"most_at", most_at}};
}

/// Writes the mean of the reports as the table.
void write_table(const std::vector<Json>& reports, const std::string& path) {
    const auto lengths = reports[0]["lengths"].get<std::vector<index_t>>();
    std::string machines;
    for (const Json& report : reports) machines += "\n//   " + report["machine"].get<std::string>();
    std::ofstream file(path);
    file << "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"
            "// Written by bench/fft_lengths.cpp. Measured on:"
         << machines
         << "\n\n#include <cstdint>\n\nnamespace convolume {\n\n"
            "/// Cost per sample of a grid length along z, y, x, and x of complex data, in "
            "thousandths of that\n/// of length 288.\nstruct GridLength {\n"
            "    std::int16_t length;\n    std::int16_t costs[4];\n};\n\n"
            "// clang-format off\ninline constexpr GridLength grid_lengths[] = {\n"
            "    {1, {0, 0, 0, 0}},";
    const auto unit = std::find(lengths.begin(), lengths.end(), other) - lengths.begin();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        file << (i % 3 == 2 ? "\n    {" : " {") << lengths[i] << ", {";
        for (std::size_t a = 0; a < std::size(axis_names); ++a) {
            double sum = 0;
            for (const Json& report : reports) {
                const Json& costs = report[axis_names[a]]["ns"];
                sum += costs[i].get<double>() / costs[static_cast<std::size_t>(unit)].get<double>();
            }
            file << std::lround(1000 * sum / static_cast<double>(reports.size()))
                 << (a < 3 ? "," : "}},");
        }
    }
    file << "\n};\n// clang-format on\n\n}  // namespace convolume\n";
    if (!file.flush()) throw IoError(message(path, " cannot be written"));
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app("Measures the costs of grid lengths on the CPU");
    std::string instructions, path;
    std::vector<std::string> files;
    double seconds = 50;
    app.add_option("--instructions", instructions, "instruction set; the best one if not given")
        ->check(CLI::IsMember({"avx2", "avx512"}));
    app.add_option("--seconds", seconds, "time of the measurement");
    app.add_option("--measured", files, "earlier results");
    app.add_option("--write", path, "file of the table to write");
    CLI11_PARSE(app, argc, argv);
    if (!instructions.empty()) use_instructions(instructions);

    std::vector<Json> reports;
    for (const std::string& file : files) reports.push_back(Json::parse(std::ifstream(file)));
    if (reports.empty()) {
        const std::int64_t targets = hwy::SupportedTargets();
        const std::string best = hwy::TargetName(targets & ~(targets - 1));
        const std::string& used = instructions.empty() ? best : instructions;
        reports.push_back(measure(processor_name() + ", " + used, seconds));
    }
    for (Json& report : reports) {
        for (int use = 0; use < 4; ++use) report[axis_names[use]]["loss"] = loss(report, use);
        std::printf("%s\n", report.dump().c_str());
    }
    if (!path.empty()) write_table(reports, path);
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
