// SPDX-License-Identifier: Apache-2.0
// `convolume info`: shape, pixel type and metadata of a file.

#include "cli/info/command.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/app.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/files/volumes.hpp"
#include "cli/picture/projection.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/image_format.hpp"
#include "convolume/options.hpp"
#include "convolume/signal_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

struct InfoRequest {
    std::string file;
    std::string axes;
    std::string image;
    std::string stack;
    std::vector<std::string> files;  ///< files as typed; `file` is the first
    io::OpenSignalOptions signals;
    bool as_signals = false;
    bool json = false;
    bool statistics = false;
};

PixelStatistics statistics_of(io::ImageReader& reader) {
    const io::ImageMetadata& metadata = reader.metadata();
    PixelStatistics statistics;
    for (index_t t = 0; t < metadata.frames; ++t)
        for (index_t c = 0; c < metadata.channels; ++c)
            for_each_plane_group(
                reader, t, c,
                [&statistics](const ConstImageView& planes, index_t) { statistics.add(planes); });
    return statistics;
}

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

nlohmann::ordered_json statistics_json(const PixelStatistics& statistics) {
    const bool has_values = statistics.nan_count < statistics.count;
    const auto known = [&](double value) {
        return has_values ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    return {{"min", known(statistics.minimum)},
            {"max", known(statistics.maximum)},
            {"mean", known(statistics.mean())},
            {"sum", statistics.value_sum},
            {"nan", statistics.nan_count}};
}

std::string statistics_text(const PixelStatistics& statistics) {
    if (statistics.nan_count == statistics.count)
        return message("all values are NaN: ", statistics.nan_count, '\n');
    return message("minimum: ", format_number(statistics.minimum),
                   "\nmaximum: ", format_number(statistics.maximum),
                   "\nmean: ", format_number(statistics.mean()),
                   "\nsum: ", format_number(statistics.value_sum), "\nNaN: ", statistics.nan_count,
                   '\n');
}

/// Returns true if `path` holds signals rather than an image: raw files, WAV, arrays of one axis,
/// and those with a sampling rate. Returns false for files that cannot be opened. Throws
/// Unavailable for formats that this build does not have.
bool holds_signals(const std::string& path, const io::OpenSignalOptions& options) {
    const bool raw = options.raw_type || options.raw_signals || options.raw_header ||
                     options.raw_byte_order || options.raw_layout || io::stored_type_of_name(path);
    if (raw) return true;
    try {
        const auto reader = io::open_signal(path, options);
        const io::SignalInfo& info = reader->info();
        return info.format == "WAV" || info.dims.size() == 1 || info.coordinates.sampling_rate_hz;
    } catch (const Unavailable&) {
        throw;
    } catch (const Error&) {
        // The file is an image, or the reader of images will report the error.
        return std::filesystem::path(path).extension() == ".wav";
    }
}

std::string signals_text(io::SignalReader& reader, bool statistics) {
    const io::SignalInfo& info = reader.info();
    std::string text = message("format: ", info.format, "\ntype: ", to_string(info.type), '\n');
    if (!info.stored.empty()) text += message("stored as: ", info.stored, '\n');
    text += message("signals: ", info.signals(), "\nsamples: ", info.samples(), '\n');
    if (info.coordinates.sampling_rate_hz)
        text += message(
            "sampling rate: ", *info.coordinates.sampling_rate_hz, " Hz\nduration: ",
            format_number(static_cast<double>(info.samples()) / *info.coordinates.sampling_rate_hz),
            " s\n");
    if (info.coordinates.start_s != 0)
        text += message("first sample at: ", format_number(info.coordinates.start_s), " s\n");
    if (const auto& frequencies = info.coordinates.center_frequencies_hz; !frequencies.empty()) {
        const auto [lowest, highest] = std::minmax_element(frequencies.begin(), frequencies.end());
        text += message("center frequencies: ", frequencies.size(), " from ", *lowest, " to ",
                        *highest, " Hz\n");
    }
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
    json["sampling_rate_hz"] = or_null(info.coordinates.sampling_rate_hz);
    if (info.coordinates.sampling_rate_hz) json["start_s"] = info.coordinates.start_s;
    if (const auto& frequencies = info.coordinates.center_frequencies_hz; !frequencies.empty())
        json["center_frequencies_hz"] = frequencies;
    json["bytes"] = bytes_of(info);
    if (statistics) json["stats"] = statistics_json(statistics_of(reader));
    return dump(json);
}

void run_info(const InfoRequest& request) {
    if (request.as_signals ||
        (request.axes.empty() && request.image.empty() && request.stack.empty() &&
         holds_signals(request.file, request.signals))) {
        const auto reader = io::open_signal(request.file, request.signals);
        write_stdout(request.json ? signals_json(request.file, *reader, request.statistics)
                                  : signals_text(*reader, request.statistics));
        return;
    }
    const auto reader = io::open_image(request.file, {.axes = request.axes,
                                                      .image = request.image,
                                                      .stack = request.stack,
                                                      .stack_files = request.files});
    const io::ImageMetadata& metadata = reader->metadata();
    if (request.json) {
        nlohmann::ordered_json json = to_json(request.file, metadata);
        if (request.statistics) json["stats"] = statistics_json(statistics_of(*reader));
        write_stdout(dump(json));
    } else {
        std::string text = io::to_string(metadata);
        text += message("bytes: ", metadata.bytes(), " (", format_bytes(metadata.bytes()), ")\n");
        if (request.statistics) text += statistics_text(statistics_of(*reader));
        write_stdout(text);
    }
}

}  // namespace

void add_info_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("info", "Print a file's shape, type and metadata");
    auto request = std::make_shared<InfoRequest>();
    set_examples(*command, {"convolume info image.tif", "convolume info image.tif --stats --json"});
    begin_group(*command, groups::input);
    command
        ->add_option(
            "FILE", request->files,
            "Images (" + io::usual_image_endings() + "), WAV or raw samples (.f32, .c64, .ci16, …)")
        ->required();
    begin_group(*command, groups::input);
    add_stack_option(*command, request->stack);
    add_value(*command, "--axes", request->axes, "AXES",
              "Meaning of the axes, slowest first, e.g. TYX");
    add_value(*command, "--image", request->image, "N|NAME",
              "Which image of a file with several, by its number from 0 or its name");
    command->add_flag("--signal", request->as_signals,
                      "Read an array of several axes as signals, as filter does");
    add_raw_options(*command, request->signals);
    begin_group(*command, groups::output);
    command->add_flag("--stats", request->statistics,
                      "Also read the pixels or samples: minimum, maximum, mean, sum and NaN");
    command->add_flag("--json", request->json, "Print a JSON object");
    command->callback([request, &action] {
        request->file = request->files.front();
        if (request->files.size() == 1) request->files.clear();
        if (!request->files.empty() && request->stack.empty())
            throw InvalidArgument(
                "info reads one file; add --stack z to read several as the planes of one image, or "
                "call it for each");
        action = [request] { run_info(*request); };
    });
}

}  // namespace convolume::cli
