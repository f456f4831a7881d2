// SPDX-License-Identifier: Apache-2.0
// The options of `convolume process`, which the program convolume-process of the Python package
// carries out. --help, completions and the manual work without it.

#include <CLI/CLI.hpp>
#include <array>
#include <cctype>
#include <string>

#include "cli/app.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

struct ProcessOption {
    const char* group;
    const char* flags;
    const char* value;  ///< placeholder; empty for a flag
    const char* help;
};

constexpr auto process_options = std::to_array<ProcessOption>({
    {groups::input, "--axes", "AXES", "Meaning of the source's axes, such as TYX"},
    {groups::input, "--image", "N|NAME",
     "Which image of a source with several: its number from 0 or its name (default: the first)"},
    {groups::input, "--level", "N", "Level of the source's pyramid, from 0"},
    {groups::input, "--missing", "fill|error",
     "Chunks that the source has not stored: the fill value (default), or an error"},
    {groups::input, "--nan", "error|zero|propagate",
     "NaN and infinities of the image: error (default), zero; convolve: also propagate"},
    {groups::input, "--threshold", "X", "Skip blocks without a larger sample"},
    {groups::input, "--mask", "IMAGE", "Skip blocks where it is 0"},
    {groups::input, "--view", "IMAGE", "fuse: a further view, for each; SOURCE is the first one"},
    {groups::psf, "-p,--kernel,--psf,--psf-for", "[CHANNEL=]FILE",
     "The kernel or PSF; given several times, one for each channel in their order, or for channels "
     "by number or name, as --psf DAPI=a.tif; fuse: of all views, or once for each"},
    {groups::psf, "--origin", "middle|scipy|peak|Z,Y,X", "The kernel's center (default middle)"},
    {groups::psf, "--normalize", "sum|peak", "convolve: divide the kernel by it"},
    {groups::method, "--op", "convolve|deconvolve|deskew|fuse", "Required, except with --status"},
    {groups::method, "--boundary", "zero|constant|nearest|reflect|mirror|wrap",
     "convolve: how the image continues beyond its edges (default zero)"},
    {groups::method, "--cval", "X", "convolve: the value outside, for constant"},
    {groups::method, "--method", "METHOD", "deconvolve: as of convolume deconvolve (default rl)"},
    {groups::method, "--iterations", "N", "deconvolve: number of iterations"},
    {groups::method, "--acceleration", "none|biggs-andrews", "deconvolve: default none"},
    {groups::method, "--background", "N|auto",
     "deconvolve: a number, or auto: found once; fuse: of all views, or once for each"},
    {groups::method, "--stop", "X|auto", "deconvolve: finds the number of iterations, once"},
    {groups::method, "--edges", "extend|zero|nearest|reflect|mirror|wrap",
     "deconvolve: the object beyond the image's edges (default extend)"},
    {groups::method, "--halo", "Z,Y,X",
     "deconvolve: samples around a block (default: the PSF's extents)"},
    {groups::method, "--pixel", "LENGTH", "deskew: edge of a camera pixel (default: the image's)"},
    {groups::method, "--opposite-scan", "", "deskew: planes are displaced to lower indices"},
    {groups::method, "--rotate", "", "deskew: make planes parallel to the cover glass"},
    {groups::method, "--transform", "FILE", "fuse: where a view lies, as of convolume fuse"},
    {groups::method, "--transform-unit", "um|voxel", "fuse: unit of the positions in these files"},
    {groups::method, "--result-voxel", "LENGTH",
     "fuse: edge of the result's voxels, which are cubes (default: the first view's voxels)"},
    {groups::method, "--light", "X",
     "fuse: light that a view records, relative to the others, once for each (default 1)"},
    {groups::method, "--view-mask", "FILE",
     "fuse: weight of each pixel of a view, from 0, as --mask of convolume fuse: of all views, or "
     "once for each"},
    {groups::method, "--border", "N",
     "fuse: voxels at the borders of views over which their weight rises from 0 (default 0)"},
    {groups::method, "--view-updates", "simultaneous|sequential|efficient",
     "fuse: as of convolume fuse (default simultaneous)"},
    {groups::machine, "--block", "Z,Y,X|auto", "Samples computed at once: whole shards"},
    {groups::machine, "--block-range", "I/N", "Only the I-th of N shares, from 0"},
    {groups::machine, "--dask", "ADDRESS|local:N", "Compute on a cluster of Dask"},
    {groups::machine, "--device", "auto|cpu|gpu|gpu:0,1", "Where to compute (default auto)"},
    {groups::machine, "--threads", "N", "CPU threads of each process"},
    {groups::machine, "--max-host-mem", "SIZE", "Memory limit of each process, such as 8GiB"},
    {groups::machine, "--max-gpu-mem", "SIZE", "Memory limit of each GPU"},
    {groups::machine, "--fft", "auto|own|fftw", "Library of transforms on the CPU (default auto)"},
    {groups::output, "--output-type", "TYPE", "Pixel type of the result (default float32)"},
    {groups::output, "--zarr-format", "2|3", "Version of the Zarr format (default 3)"},
    {groups::output, "--chunks", "Z,Y,X", "Samples that are compressed at once"},
    {groups::output, "--shards", "Z,Y,X", "Samples in one file: whole chunks"},
    {groups::output, "--compression", "zstd|none|gzip|blosc", "Compression (default zstd)"},
    {groups::output, "--levels", "N", "Levels of the target's pyramid"},
    {groups::output, "--resume", "", "Go on with a target that was begun, or begin it"},
    {groups::output, "--overwrite", "", "Replace an image that exists"},
    {groups::output, "--status", "", "Only tell how far TARGET is"},
    {groups::output, "--dry-run", "", "Only tell blocks, bytes and predicted time"},
    {groups::output, "--json", "", "Print a JSON object on stdout"},
    {groups::output, "-q,--quiet", "", "No line for each block"},
});

/// Adds an option that is read later.
void add_text(CLI::App& command, const ProcessOption& option) {
    CLI::Option* const added = *option.value == '\0'
                                   ? command.add_flag(option.flags, option.help)
                                   : command.add_option(option.flags, option.help);
    added->group(option.group)->take_last();
    if (*option.value != '\0') added->type_name(option.value);
}

/// Adds options of deskewing as the command deskew has them.
void add_scan_options(CLI::App& command) {
    for (const char* name :
         {"angle_deg", "step_um", "axis", "interpolation", "output_voxel_um", "fill"})
        with_option<DeskewOptions>(name, [&](const auto& field) {
            const std::string type = option_type(field);
            std::string help = option_help(field, DeskewOptions{});
            help.front() = static_cast<char>(std::tolower(help.front()));
            help.insert(0, "deskew: ");
            add_text(command, {groups::method, field.text.flags, type.c_str(), help.c_str()});
        });
}

}  // namespace

void add_process_command(CLI::App& app, Action& /*action*/) {
    CLI::App* command = app.add_subcommand(
        "process",
        "Convolve, deconvolve, deskew or fuse images of any size block by block into OME-Zarr\n"
        "It can be stopped, resumed, and shared among processes and machines. The Python package "
        "contains the program: pip install '.[zarr]' in a clone.");
    set_examples(*command, {"convolume process image.tif sharp.zarr --op deconvolve --psf psf.tif",
                            "convolume process --status sharp.zarr"});
    command->add_option("SOURCE",
                        "An image: OME-Zarr (path, https://, s3://), or a file of another format");
    command->add_option("TARGET", "OME-Zarr: a path or s3://bucket/name.zarr")->required();
    for (const ProcessOption& option : process_options) add_text(*command, option);
    add_scan_options(*command);
    for (const char* name :
         {"--kernel", "--view", "--transform", "--light", "--view-mask", "--background"})
        command->get_option(name)->take_all()->allow_extra_args(false);
}

ProcessWords parse_process(const std::vector<std::string>& words) {
    CLI::App app("", "convolume");
    Action unused;
    add_commands(app, unused);
    CLI::App* command = app.get_subcommand("process");
    command->get_option("TARGET")->required(
        false);  // --status takes one image, which is SOURCE here
    std::vector<const char*> arguments{"convolume", "process"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    try {
        parse_command_line(app, static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::ParseError& error) {
        throw InvalidArgument(message(error.what(), "; see convolume process --help"));
    }
    ProcessWords given;
    for (const CLI::Option* option : command->get_options())
        if (option->count() > 0) {
            const auto& names = option->get_lnames();
            given[names.empty() ? option->get_name() : names.front()] = option->results();
        }
    return given;
}

}  // namespace convolume::cli
