// SPDX-License-Identifier: Apache-2.0
// `convolume info`: shape, pixel type and metadata of a file.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/files/plane_groups.hpp"
#include "cli/info/statistics.hpp"
#include "cli/run/output_path.hpp"
#include "cli/text/format.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

struct InfoRequest {
    std::string file;
    std::string axes;
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

nlohmann::ordered_json statistics_json(const PixelStatistics& statistics) {
    return {{"min", statistics.minimum},
            {"max", statistics.maximum},
            {"mean", statistics.mean()},
            {"sum", statistics.sum},
            {"nan", statistics.nan_count}};
}

std::string statistics_text(const PixelStatistics& statistics) {
    return message("minimum: ", format_number(statistics.minimum),
                   "\nmaximum: ", format_number(statistics.maximum),
                   "\nmean: ", format_number(statistics.mean()),
                   "\nsum: ", format_number(statistics.sum), "\nNaN: ", statistics.nan_count, '\n');
}

void run_info(const InfoRequest& request) {
    const auto reader = io::open_image(request.file, {.axes = request.axes});
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
    CLI::App* command = app.add_subcommand("info", "Print a file's shape, pixel type and metadata");
    auto request = std::make_shared<InfoRequest>();
    command->add_option("FILE", request->file, "TIFF, NPY, file.h5 or file.h5:/dataset")
        ->required();
    command->add_option("--axes", request->axes, "Meaning of the axes, slowest first, e.g. TYX")
        ->type_name("AXES");
    command->add_flag("--stats", request->statistics,
                      "Also read the pixels: minimum, maximum, mean, sum and NaN");
    command->add_flag("--json", request->json, "Print a JSON object");
    command->callback([request, &action] { action = [request] { run_info(*request); }; });
}

}  // namespace convolume::cli
