// SPDX-License-Identifier: Apache-2.0
#include "cli/info/signals.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/files/metadata_json.hpp"
#include "cli/info/statistics.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/options.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

PixelStatistics statistics_of(io::SignalReader& reader) {
    constexpr index_t samples_at_a_time = index_t{1} << 18;
    const io::SignalInfo& info = reader.info();
    Volume samples({1, 1, std::min(info.samples(), samples_at_a_time)}, info.type);
    PixelStatistics statistics;
    for (index_t signal = 0; signal < info.signals(); ++signal)
        for (index_t begin = 0; begin < info.samples(); begin += samples_at_a_time) {
            const index_t count = std::min(samples_at_a_time, info.samples() - begin);
            ImageView view = samples.view();
            view.shape.x = count;
            reader.read(signal, begin, count, view.data);
            statistics.add(view);
        }
    return statistics;
}

index_t bytes_of(const io::SignalInfo& info) {
    return checked_multiply(checked_multiply(info.signals(), info.samples()),
                            static_cast<index_t>(size_of(info.type)));
}

}  // namespace

bool holds_signals(const std::string& path, const io::OpenSignalOptions& options) {
    const bool raw = options.raw_type || options.raw_signals || options.raw_header ||
                     options.raw_byte_order || io::stored_type_of_name(path);
    if (raw) return true;
    try {
        const auto reader = io::open_signal(path, options);
        return reader->info().format == "WAV" || reader->info().dims.size() == 1;
    } catch (const Unavailable&) {
        throw;
    } catch (const Error&) {
        // An image, or its reader says what is wrong.
        return std::filesystem::path(path).extension() == ".wav";
    }
}

std::string signals_text(io::SignalReader& reader, bool statistics) {
    const io::SignalInfo& info = reader.info();
    std::string text = message("format: ", info.format, "\ntype: ", to_string(info.type), '\n');
    if (!info.stored.empty()) text += message("stored as: ", info.stored, '\n');
    text += message("signals: ", info.signals(), "\nsamples: ", info.samples(), '\n');
    if (info.sampling_rate_hz)
        text += message("sampling rate: ", *info.sampling_rate_hz, " Hz\nduration: ",
                        format_number(static_cast<double>(info.samples()) / *info.sampling_rate_hz),
                        " s\n");
    text += message("bytes: ", bytes_of(info), " (", format_bytes(bytes_of(info)), ")\n");
    if (statistics) text += statistics_text(statistics_of(reader));
    return text;
}

std::string signals_json(const std::string& path, io::SignalReader& reader, bool statistics) {
    const io::SignalInfo& info = reader.info();
    nlohmann::ordered_json json;
    json["file"] = path;
    json["format"] = info.format;
    json["type"] = to_string(info.type);
    json["stored"] = info.stored.empty() ? to_string(info.type) : info.stored;
    json["shape"] = info.dims;
    json["signals"] = info.signals();
    json["samples"] = info.samples();
    json["sampling_rate_hz"] = nullptr;
    if (info.sampling_rate_hz) json["sampling_rate_hz"] = *info.sampling_rate_hz;
    json["bytes"] = bytes_of(info);
    if (statistics) json["stats"] = statistics_json(statistics_of(reader));
    return dump(json);
}

}  // namespace convolume::cli
