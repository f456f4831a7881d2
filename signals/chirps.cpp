// SPDX-License-Identifier: Apache-2.0
// Banks of chirps: of signals, and of their spectra.

#include <array>
#include <cmath>
#include <numbers>

#include "convolume/correlation.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

using std::numbers::pi;

void check_mismatch(double mismatch) {
    if (!(mismatch > 0 && mismatch <= 0.5))
        throw InvalidArgument(message("a mismatch of ", mismatch, " is not above 0 and up to 0.5"));
}

// Returns points from begin to end, both included, at most `spacing` apart.
std::vector<double> grid(double begin, double end, double spacing, const char* what) {
    if (!std::isfinite(begin) || !std::isfinite(end) || begin > end)
        throw InvalidArgument(message("the ", what, " from ", begin, " to ", end,
                                      " are no range: give the lower end first"));
    constexpr double most = 1e9;
    const double steps = std::ceil((end - begin) / spacing * (1 - 1e-12));
    if (steps > most)
        throw InvalidArgument(message("the ", what, " need ", steps,
                                      " steps: take a narrower range or a larger mismatch"));
    std::vector<double> points{begin};
    for (double i = 1; i < steps; ++i) points.push_back(begin + (end - begin) * i / steps);
    if (steps > 0) points.push_back(end);
    return points;
}

// Returns ∫_0^1 exp(2πi (−(q + z/2) u + z u²/2)) du, by Gauss–Legendre rules of 5 points.
std::complex<double> response(double drift, double bin) {
    constexpr std::array<double, 5> places = {-0.906179845938664, -0.538469310105683, 0,
                                              0.538469310105683, 0.906179845938664};
    constexpr std::array<double, 5> weights = {0.236926885056189, 0.478628670499366,
                                               0.568888888888889, 0.478628670499366,
                                               0.236926885056189};
    // A section has half a cycle at most.
    const double cycles = std::abs(bin) + std::abs(drift) / 2;
    const auto sections = static_cast<index_t>(std::ceil(2 * cycles)) + 1;
    std::complex<double> sum = 0;
    for (index_t s = 0; s < sections; ++s)
        for (std::size_t i = 0; i < places.size(); ++i) {
            const double u =
                (static_cast<double>(s) + (places[i] + 1) / 2) / static_cast<double>(sections);
            const double turns = -(bin + drift / 2) * u + drift * u * u / 2;
            sum += weights[i] * std::polar(1.0, 2 * pi * turns);
        }
    return sum / (2.0 * static_cast<double>(sections));
}

// Fills rows of templates with value(row, sample).
template <class Value>
Volume filled(index_t rows, index_t samples, const Value& value) {
    Volume templates({1, rows, samples}, PixelType::complex64);
    auto* const to = templates.elements<std::complex<float>>();
    parallel_for(rows, thread_count(0), [&](index_t row, int) {
        for (index_t i = 0; i < samples; ++i)
            to[row * samples + i] = std::complex<float>(value(row, i));
    });
    return templates;
}

}  // namespace

ChirpBank chirp_bank(const ChirpBankOptions& options) {
    check_mismatch(options.mismatch);
    if (options.samples < 2)
        throw InvalidArgument(
            message("chirps of ", options.samples, " samples have no frequency: give 2 or more"));
    if (!(options.rate_hz > 0) || !std::isfinite(options.rate_hz))
        throw InvalidArgument(
            message("a sampling rate of ", options.rate_hz, " Hz is not above 0"));
    const double seconds = static_cast<double>(options.samples) / options.rate_hz;
    // Half the spacing is the largest distance, and each axis may lose half of the mismatch.
    const double per_axis = options.mismatch / 2;
    const auto [lowest, highest] = options.frequency_hz;
    const auto [least, most] = options.drift_hz_per_s;
    const std::vector<double> frequencies =
        grid(lowest, highest, 2 * std::sqrt(6 * per_axis) / (pi * seconds), "frequencies");
    const std::vector<double> drifts =
        grid(least, most, 2 * std::sqrt(360 * per_axis) / (pi * seconds * seconds), "drifts");
    const double reach = std::max(std::abs(lowest), std::abs(highest)) +
                         std::max(std::abs(least), std::abs(most)) * seconds / 2;
    if (reach > options.rate_hz / 2)
        throw InvalidArgument(message("chirps reach ", reach,
                                      " Hz, beyond half the sampling rate, ", options.rate_hz / 2,
                                      " Hz: narrow the ranges"));
    const double count =
        static_cast<double>(frequencies.size()) * static_cast<double>(drifts.size());
    if (count > static_cast<double>(options.most_chirps))
        throw InvalidArgument(sentence(
            "the ranges need ", count, " chirps, more than ", options.most_chirps,
            ": narrow them, allow a larger mismatch, or raise ", OptionName{"most_chirps"}));
    ChirpBank bank;
    for (const double drift : drifts)
        for (const double frequency : frequencies) bank.chirps.push_back({frequency, drift});
    const double middle = static_cast<double>(options.samples - 1) / 2;
    bank.templates = filled(
        static_cast<index_t>(bank.chirps.size()), options.samples, [&](index_t row, index_t i) {
            const Chirp& chirp = bank.chirps[static_cast<std::size_t>(row)];
            const double u = (static_cast<double>(i) - middle) / options.rate_hz;
            return std::polar(1.0,
                              2 * pi * (chirp.frequency_hz * u + chirp.drift_hz_per_s * u * u / 2));
        });
    return bank;
}

ChirpBank spectral_chirp_bank(double max_drift, double mismatch) {
    check_mismatch(mismatch);
    if (!(max_drift >= 0 && max_drift <= 10'000))
        throw InvalidArgument(
            message("a drift of up to ", max_drift, " bins is not from 0 to 10,000"));
    ChirpBank bank;
    // A drift of 0 is always in the bank.
    const std::vector<double> drifts =
        grid(0, max_drift, std::sqrt(1440 * mismatch) / pi, "drifts");
    for (std::size_t i = drifts.size() - 1; i > 0; --i) bank.chirps.push_back({0, -drifts[i]});
    for (const double drift : drifts) bank.chirps.push_back({0, drift});
    // Bins beyond the drift hold what a tone spreads: 16 on each side have 99 % of its power.
    constexpr index_t beyond = 16;
    const index_t reach = static_cast<index_t>(std::ceil(max_drift / 2)) + beyond;
    bank.templates = filled(
        static_cast<index_t>(bank.chirps.size()), 2 * reach + 1, [&](index_t row, index_t i) {
            return response(bank.chirps[static_cast<std::size_t>(row)].drift_hz_per_s,
                            static_cast<double>(i - reach));
        });
    return bank;
}

}  // namespace convolume
