// SPDX-License-Identifier: Apache-2.0
// `convolume info`: shape, pixel type and metadata of a file.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/files/plane_groups.hpp"
#include "cli/info/signals.hpp"
#include "cli/info/statistics.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/text/format.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

struct InfoRequest {
    std::string file;
    std::string axes;
    std::string image;
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

void run_info(const InfoRequest& request) {
    if (request.as_signals || (request.axes.empty() && request.image.empty() &&
                               holds_signals(request.file, request.signals))) {
        const auto reader = io::open_signal(request.file, request.signals);
        write_stdout(request.json ? signals_json(request.file, *reader, request.statistics)
                                  : signals_text(*reader, request.statistics));
        return;
    }
    const auto reader =
        io::open_image(request.file, {.axes = request.axes, .image = request.image});
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
    command
        ->add_option(
            "FILE", request->file,
            "TIFF, NPY, file.h5, file.h5:/dataset, WAV or raw samples (.f32, .c64, .ci16, …)")
        ->required();
    command->add_option("--axes", request->axes, "Meaning of the axes, slowest first, e.g. TYX")
        ->type_name("AXES");
    command
        ->add_option("--image", request->image,
                     "Which image of a file with several, by its number from 0 or its name")
        ->type_name("N|NAME");
    command->add_flag("--signal", request->as_signals,
                      "Read an array of several axes as signals, as filter does");
    add_raw_options(*command, nullptr, request->signals);
    command->add_flag("--stats", request->statistics,
                      "Also read the pixels or samples: minimum, maximum, mean, sum and NaN");
    command->add_flag("--json", request->json, "Print a JSON object");
    command->callback([request, &action] { action = [request] { run_info(*request); }; });
}

}  // namespace convolume::cli
