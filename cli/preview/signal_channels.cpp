// SPDX-License-Identifier: Apache-2.0
// Channels of signals in a picture: frequencies rise upwards, and times go from left to right.

#include <algorithm>
#include <numeric>

#include "cli/preview/command.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

namespace {

/// Returns the metadata of a file of signals; nothing if it is none.
std::optional<io::SignalInfo> signal_info(const std::string& path) {
    try {
        return io::open_signal(path)->info();
    } catch (const Error&) {
        return std::nullopt;
    }
}

void reorder_rows(FloatPlane& plane, const std::vector<std::size_t>& order) {
    const FloatPlane before = plane;
    for (std::size_t row = 0; row < order.size(); ++row)
        std::copy_n(&before.values[order[row] * static_cast<std::size_t>(plane.columns)],
                    plane.columns, &plane.values[row * static_cast<std::size_t>(plane.columns)]);
}

}  // namespace

void show_frequencies(const std::string& path, PreviewStack& stack) {
    const auto info = signal_info(path);
    if (!info || info->coordinates.center_frequencies_hz.empty()) return;
    const std::vector<double>& frequencies = info->coordinates.center_frequencies_hz;
    std::vector<std::size_t> order(frequencies.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return frequencies[a] > frequencies[b]; });
    for (PreviewChannel& channel : stack.channels) {
        if (channel.views.along_z.rows != static_cast<index_t>(order.size())) return;
        reorder_rows(channel.views.along_z, order);
        reorder_rows(channel.views.along_x, order);
    }
    stack.unit = "s";
    stack.samples_per_unit = *info->coordinates.sampling_rate_hz;
    const double start_s = info->coordinates.start_s;
    const double end_s =
        start_s + static_cast<double>(info->samples() - 1) / stack.samples_per_unit;
    stack.captions.back() = message(format_number(frequencies[order.back()]), " to ",
                                    format_number(frequencies[order.front()]), " Hz upwards, ",
                                    format_number(start_s), " to ", format_number(end_s), " s");
}

}  // namespace convolume::cli
