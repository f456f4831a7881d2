// SPDX-License-Identifier: Apache-2.0
#include "cli/files/image_output.hpp"

#include <array>
#include <utility>

#include "cli/files/metadata_json.hpp"
#include "cli/text/format.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

std::string scaling_text(const io::ValueScaling& scaling) {
    return message("value = stored * ", format_number(scaling.scale),
                   scaling.offset != 0 ? " + " + format_number(scaling.offset) : std::string());
}

PixelType resolve_output_type(std::string_view name, PixelType image, PixelType kernel,
                              Precision precision) {
    const bool complex = is_complex(image) || is_complex(kernel);
    PixelType type = PixelType::float32;
    if (name.empty()) {
        if (precision == Precision::float64)
            type = complex ? PixelType::complex128 : PixelType::float64;
        else
            type = complex ? PixelType::complex64 : PixelType::float32;
    } else {
        type = name == "same" ? image : parse_pixel_type(name);
    }
    if (complex && !is_complex(type))
        throw InvalidArgument(message("the result is complex since ",
                                      is_complex(image) ? "the image" : "the kernel",
                                      " is, and cannot be written as ", to_string(type),
                                      "; choose --output-type complex64 or complex128"));
    return type;
}

void add_compression_option(CLI::App& app, const char* group, io::CreateOptions& create,
                            const char* help) {
    add_parsed(app, "--compression", create.compression, io::parse_compression,
               "none|deflate|lzw|zstd|packbits", help)
        ->group(group);
}

void add_image_output_options(CLI::App& app, const char* group, std::string& output,
                              std::string& output_type, io::CreateOptions& create,
                              const std::string& usual_type) {
    app.add_option("-o,--output", output, "The result: .tif, .ome.tif, .h5, .h5:/dataset or .npy")
        ->type_name("OUT")
        ->group(group);
    const auto type = [](const std::string& text) {
        if (text != "same") static_cast<void>(parse_pixel_type(text));
        return text;
    };
    add_parsed(app, "--output-type", output_type, type, "same|float32|uint16|…",
               "Pixel type; integers are rounded and clamped (default: " + usual_type + ")")
        ->group(group);
    add_compression_option(app, group, create, "Compression of the output (default none)");
    app.add_flag("--overwrite", create.overwrite, "Replace an output that exists")->group(group);
}

void report_output(const Console& console, const std::string& path, const io::ImageMetadata& image,
                   io::Compression compression) {
    console.fact("output",
                 message(path, ": z,y,x ", to_string(image.shape), ' ', to_string(image.type),
                         image.scaling ? ", " + scaling_text(*image.scaling) : std::string()));
    if (compression == io::Compression::zstd)
        console.warning(message("ImageJ and Bio-Formats do not open ", path,
                                ", since its compression is zstd; choose --compression deflate for "
                                "them"));
}

void warn_of_clamped_values(const Console& console, const ExecutionReport& executed,
                            PixelType type) {
    if (executed.clamped_low > 0 || executed.clamped_high > 0)
        console.warning(message(executed.clamped_low, " values below and ", executed.clamped_high,
                                " above the range of ", to_string(type),
                                " were clamped; choose a wider --output-type to keep them"));
}

nlohmann::ordered_json output_json(const std::string& path, const io::ImageMetadata& image) {
    return {{"file", path.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(path)},
            {"shape", shape_json(image.shape)},
            {"type", to_string(image.type)},
            {"value_scaling", scaling_json(image)}};
}

}  // namespace convolume::cli
