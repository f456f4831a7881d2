// SPDX-License-Identifier: Apache-2.0
#pragma once
// The request for a run that makes one image of another with a kernel, for one image or many, and
// the options of the command line that fill it.

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/engines.hpp"
#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

struct MadePsfRequest {
    nlohmann::ordered_json typed = nlohmann::ordered_json::object();  ///< see psf/parameters.hpp
    std::vector<double> wavelengths_um;  ///< of emission: none, one, or one for each channel
    std::optional<double> capture;       ///< typed
    bool offered = false;                ///< by the subcommand
    bool asked = false;                  ///< there is no file

    bool any_typed() const { return !typed.empty() || !wavelengths_um.empty() || capture; }
};

/// The options of the microscope, in a group of their own.
void add_made_psf_options(CLI::App& app, MadePsfRequest& request);

/// A channel of an image; metadata are those of what is selected of it.
struct ImageChannel {
    const std::string& path;
    const io::ImageMetadata& metadata;
    index_t channel;  ///< of those that are selected
};

struct MadePsf {
    PsfOptions options;
    std::string optics;  ///< what the image's metadata gave and left to assume; may be empty
    std::vector<std::string> warnings;
};

/// The PSF of a channel, of the image's voxels. What was not typed is taken from the image's
/// metadata. Its size is {0, 0, 0} where none was typed. Throws InvalidArgument where something is
/// missing or does not fit.
MadePsf made_psf(const MadePsfRequest& request, const ImageChannel& image);

/// A kernel for one channel of the file, counted from 0.
struct ChannelKernel {
    index_t channel = 0;
    std::string path;
};

/// Where the kernel of a channel comes from.
struct KernelSource {
    std::string path;                    ///< a file; empty for a PSF that is made
    std::shared_ptr<const MadePsf> psf;  ///< null for a file

    /// The same for kernels that are the same.
    std::string name() const;
};

struct ImageRequest {
    std::string image;
    std::string kernel;  ///< of the channels that `channel_kernels` does not name; may be empty
    std::vector<ChannelKernel> channel_kernels;
    MadePsfRequest made_psf;   ///< of the same channels, where it is asked for
    std::string output;        ///< may be empty in a dry run
    ImageSelection selection;  ///< of the image
    KernelOptions kernel_options;
    EngineChoice engines;
    io::CreateOptions create{.software = software_name()};
    RunOptions run;

    /// Paths of all kernels that are files, each once.
    std::vector<std::string> kernels() const;
    std::vector<std::string> inputs() const;
    RunFiles files() const { return {{run.timeline, output}, inputs(), create.overwrite}; }
};

/// "0=a.tif,1=b.tif"; commas in names are kept. Throws InvalidArgument.
std::vector<ChannelKernel> parse_channel_kernels(std::string_view option, const std::string& text);

/// The kernel for each channel that is selected of an image. Throws InvalidArgument where a channel
/// has none, or where one is named that the selection does not have, and as made_psf() does.
std::vector<KernelSource> kernel_of_each_channel(const ImageRequest& request,
                                                 const io::ImageMetadata& selected);

/// What a kernel that is ready to use depends on within a run: images of the same text can share
/// it.
std::string problem_of(const KernelSource& kernel, const io::ImageMetadata& image);

/// How many volumes there are of each problem.
using ExpectedVolumes = std::map<std::string, index_t>;

/// Adds the volumes of an image.
void expect_volumes(ExpectedVolumes& expected, const std::vector<KernelSource>& kernels,
                    const io::ImageMetadata& image);

struct ManyFilesRequest {
    std::vector<std::string> images;  ///< paths and patterns
    std::string list;                 ///< a file of paths, "-" for standard input; empty: none
    std::string output_folder;        ///< may be empty in a dry run
    std::string output_name = "{stem}";
    bool resume = false;
    std::string image_name, kernel_name;  ///< of the arguments in --help
    HasOption has_option;                 ///< of the subcommand
    bool asked = false;                   ///< else there is one image and one output
};

/// An argument in --help: "IMAGE" and what it is.
struct ArgumentHelp {
    const char* name;
    const char* help;
};

/// IMAGE… KERNEL; what is typed is kept in `many` until divide_arguments().
void add_image_arguments(CLI::App& app, ManyFilesRequest& many, const ArgumentHelp& image,
                         const ArgumentHelp& kernel);

/// --psf-for, a kernel for each channel.
void add_channel_kernel_option(CLI::App& app, const char* group, ImageRequest& request);

/// --list, --output-dir, --output-name and --resume.
void add_many_files_options(CLI::App& app, ManyFilesRequest& many);

/// Says which argument is the kernel, and whether there are many images. Throws InvalidArgument
/// where an argument is missing or options do not go together.
void divide_arguments(const CLI::App& app, ImageRequest& request, ManyFilesRequest& many);

}  // namespace convolume::cli
