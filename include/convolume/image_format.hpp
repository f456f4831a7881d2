// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats of image files, and their registry, which open_image() and create_image() ask. A program
// can register formats of its own.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume::io {

/// A format of image files: its names, and functions that recognize, open and create its files.
/// Several threads may call the functions at once. `image.file` is the path that open_image() or
/// create_image() was given, without the dataset. It may be the path of a folder or a URL.
/// @code{.cpp}
/// io::ImageFormat format;
/// format.name = "PGM";
/// format.read_endings = {".pgm"};
/// format.recognizes = [](const std::string&, std::string_view head) {
///     return head.starts_with("P5");
/// };
/// format.open = [](const io::PathSpec& image,
///                  const io::OpenOptions&) -> std::unique_ptr<io::ImageReader> {
///     throw Unavailable(image.file + " is a PGM file, of which this example reads nothing");
/// };
/// io::register_format(format);
/// assert(io::image_formats().back().name == "PGM");
/// @endcode
struct ImageFormat {
    std::string name;  ///< name in sentences, such as "TIFF"
    /// Endings of the names of files that create() writes, such as {".ome.tif", ".ome.tiff"}. The
    /// first one is the usual one. Letters of either case match. If the endings of several formats
    /// match a name, the longest one decides.
    std::vector<std::string> endings{};
    /// Further endings of files that are read, such as {".lsm"}.
    std::vector<std::string> read_endings{};
    /// Returns whether `path` has this format. `head` is the beginning of the file, up to 64 KiB.
    /// It is empty if there is no regular file, such as for folders and URLs. Empty if no file is
    /// read.
    std::function<bool(const std::string& path, std::string_view head)> recognizes{};
    /// Opens an image that recognizes() has accepted. Throws as open_image() does.
    std::function<std::unique_ptr<ImageReader>(const PathSpec& image, const OpenOptions& options)>
        open{};
    /// Creates an image, whose extents are at least 1. Throws as create_image() does. Empty if the
    /// format is only read.
    std::function<std::unique_ptr<ImageWriter>(const PathSpec& image, const ImageMetadata& metadata,
                                               const CreateOptions& options)>
        create{};
    /// Returns whether the existing file `image.file` has the dataset `image.dataset`. Empty if
    /// files of the format have no datasets; paths that name one are then refused.
    std::function<bool(const PathSpec& image)> has_dataset{};
};

/// Adds a format, or replaces the one of the same name. Formats that are registered later are asked
/// first, so that a format may take files that another one also recognizes. Throws InvalidArgument
/// for a format without a name, for endings that do not begin with a dot, and for missing
/// functions.
CONVOLUME_API void register_format(ImageFormat format);

/// Formats of a plug-in: a shared library that the environment variable CONVOLUME_FORMATS names,
/// with others separated by ':' (on Windows by ';'). Any program that uses the library, the command
/// and the Python package load them before they first ask for a format.
class FormatList {
  public:
    virtual ~FormatList() = default;
    /// Registers a format as register_format() does, in the program that has loaded the plug-in.
    virtual void add(ImageFormat format) = 0;
};

/// Version of the interface between programs and plug-ins: those of other versions are refused.
inline constexpr char format_plugin_version[] = "convolume 0.1, formats 1";

/// Makes a shared library a plug-in, whose function `add_formats(FormatList&)` adds its formats.
/// The library links convolume::io, and is compiled by the same compiler as the program that loads
/// it. examples/format_plugin.cpp is one.
#define CONVOLUME_FORMAT_PLUGIN(add_formats)                                                \
    extern "C" CONVOLUME_API const char* convolume_format_plugin_version() {                \
        return convolume::io::format_plugin_version;                                        \
    }                                                                                       \
    extern "C" CONVOLUME_API void convolume_format_plugin(convolume::io::FormatList& all) { \
        add_formats(all);                                                                   \
    }

/// Loads a plug-in, which stays until the process ends. Throws InputNotFound, or InvalidArgument if
/// the file is no plug-in, or one of another version.
CONVOLUME_API void load_format_plugin(const std::string& path);

/// Returns the formats in the order of their registration, which begins with those of the library:
/// TIFF, OME-TIFF, HDF5, BigDataViewer's XML, NPY, MRC; then come those of plug-ins. Their
/// functions exist in every build; they throw Unavailable if the build lacks the library of the
/// format.
CONVOLUME_API std::vector<ImageFormat> image_formats();

/// Returns the usual endings of the formats that are written, as a text for people:
/// ".tif, .ome.tif, .h5, .h5:/dataset, .npy or .mrc".
CONVOLUME_API std::string usual_image_endings();

/// Ending of the name of an image file.
struct ImageEnding {
    std::size_t size = 0;  ///< length of the ending, which the name ends with
    /// Ending of outputs in its format: ".ome.tif" for "a.OME.TIF", ".tif" for "a.lsm". Empty if
    /// the format is only read.
    std::string output{};
};

/// Returns the ending of `path` that a registered format has, the longest one if there are several.
/// Returns nothing if no format has one.
CONVOLUME_API std::optional<ImageEnding> image_ending(const std::string& path);

}  // namespace convolume::io
