// SPDX-License-Identifier: Apache-2.0
#include "cli/correlate/peak_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

template <class Number>
std::string number_text(Number value) {
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

}  // namespace

TableFormat table_format(std::string_view path) {
    if (path == "-" || path.ends_with(".csv")) return TableFormat::csv;
    if (path.ends_with(".json")) return TableFormat::json;
    throw InvalidArgument(message("\"", path,
                                  "\" is no table of peaks: name a .csv or .json file, or - for "
                                  "CSV on standard output"));
}

std::string PeakTable::header() const {
    if (format_ == TableFormat::json) return "[";
    return message("signal,template,position", rate_hz_ ? ",seconds" : "", ",snr,phase",
                   chirps_.empty() ? "" : ",frequency,drift", "\n");
}

std::string PeakTable::rows(std::span<const CorrelationPeak> peaks) {
    std::string text;
    for (const CorrelationPeak& peak : peaks) {
        std::vector<std::pair<const char*, std::string>> fields = {
            {"signal", number_text(peak.signal)},
            {"template", number_text(peak.template_index)},
            {"position", number_text(peak.position)}};
        if (rate_hz_) fields.emplace_back("seconds", number_text(peak.position / *rate_hz_));
        fields.emplace_back("snr", number_text(peak.snr));
        fields.emplace_back("phase", number_text(peak.phase));
        if (!chirps_.empty()) {
            const Chirp& chirp = chirps_[static_cast<std::size_t>(peak.template_index)];
            fields.emplace_back("frequency", number_text(chirp.frequency_hz));
            fields.emplace_back("drift", number_text(chirp.drift_hz_per_s));
        }
        const bool is_json = format_ == TableFormat::json;
        if (is_json) text += peaks_ == 0 ? "\n{" : ",\n{";
        for (std::size_t i = 0; i < fields.size(); ++i) {
            if (i > 0) text += is_json ? ", " : ",";
            if (is_json) text += message('"', fields[i].first, "\": ");
            text += fields[i].second;
        }
        text += is_json ? "}" : "\n";
        ++peaks_;
        strongest_ = std::max(strongest_, peak.snr);
    }
    return text;
}

}  // namespace convolume::cli
