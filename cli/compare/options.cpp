// SPDX-License-Identifier: Apache-2.0
// The command lines of `convolume compare` and `convolume compare filter`.

#include <memory>

#include "cli/app.hpp"
#include "cli/compare/command.hpp"
#include "cli/compare/way.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

namespace {

/// Adds an option that takes a list, whose values `parse` converts into elements of `target`.
template <class T, class Parse>
void add_list(CLI::App& app, const std::string& name, std::vector<T>& target, Parse parse,
              const std::string& choices, const std::string& help) {
    const auto parse_all = [parse](std::string_view option, const std::string& text) {
        std::vector<T> values;
        for (const std::string& value : split_list(option, text))
            values.push_back(parse(option, value));
        return values;
    };
    add_parsed(app, name, target, parse_all, choices, help);
}

/// Returns a function that returns the text of a value if `parse` accepts it.
template <class Parse>
auto checked_by(Parse parse) {
    return [parse](std::string_view, const std::string& text) {
        parse(text);
        return text;
    };
}

/// Returns a parser of numbers from 0 to `most`.
auto number_up_to(double most) {
    return [most](std::string_view option, const std::string& text) {
        const double value = parse_number(option, text);
        if (!(value >= 0 && value <= most))
            throw InvalidArgument(message(option, " is a number from 0 to ", most, ", not \"", text,
                                          "\"; correct it"));
        return value;
    };
}

void add_ways(CLI::App& app, CompareRequest& request) {
    begin_group(app, groups::method);
    add_list(app, "--devices", request.option_lists.devices, checked_by(parse_compared_device),
             "cpu,gpu:0,gpu:0+1,auto",
             "Devices; gpu:0+1 are two GPUs together (default: the CPU, every GPU, and all GPUs)");
    add_list(app, "--precision", request.option_lists.precisions, checked_by(parse_precision),
             list_of_names<Precision>(",", ","), "Precisions of the computation (default both)");
    add_list(app, "--threads", request.option_lists.threads, parse_positive<int>, "1,2,…",
             "Numbers of CPU threads (default: all)");
    add_list(
        app, "--fft", request.option_lists.fft,
        [](std::string_view, const std::string& text) { return parse_fft_library(text); },
        list_of_names<FftLibrary>(",", ","),
        "Libraries of Fourier transforms on the CPU (default auto)");
}

void add_measurement(CLI::App& app, CompareRequest& request) {
    begin_group(app, "Measurement");
    add_parsed(app, "--repeats", request.repeats, parse_positive<int>, "N",
               "Turns of every way; times are their medians (default 3)");
    add_parsed(app, "--time-limit", request.time_limit_s, number_up_to(1e6), "SECONDS",
               "Leave out ways whose execution is predicted to take longer, and stop those that do "
               "(default 60)");
    add_choice(app, "--reference", request.reference,
               {{"auto", "auto"}, {"direct", "direct"}, {"fft", "fft"}, {"none", "none"}},
               "What errors are measured against, in float64 on the CPU: direct sums, or Fourier "
               "transforms (default auto: direct sums up to 4e9 products)");
    add_parsed(app, "--fail-if-error-above", request.most_error, number_up_to(1e300), "X",
               "End with exit code 6 if the relative L∞ error of a way, max |A - B| / max |B|, is "
               "above X");
    add_parsed(
        app, "--max-host-mem", request.max_host_bytes, parse_byte_size, "SIZE",
        "Memory limit of input, reference, kept results and one way together (default: three "
        "quarters of free memory)");
}

void add_sweep(CLI::App& app, CompareRequest& request, const std::string& help) {
    begin_group(app, "Sweeps without files");
    add_parsed(app, "--sizes", request.sizes, parse_sizes, "64..512|64,100,128", help);
    add_parsed(app, "--seed", request.seed, parse_seed, "N", "Seed of the random data (default 1)");
}

void add_output(CLI::App& app, CompareRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output", request.output, "REPORT", "JSON file of all figures");
    app.add_flag("--overwrite", request.overwrite, "Replace a report that exists");
    add_json_option(app, request.run);
    add_verbosity_options(app, request.run, "Also print every turn");
}

/// Checks that either files or sizes are given, and a file for the report.
void check_request(const CompareRequest& request, bool no_files, bool all_files,
                   const char* files) {
    if (request.sizes.empty() && !all_files)
        throw InvalidArgument(
            message("nothing to compare was named; give ", files, ", or --sizes for random data"));
    if (!request.sizes.empty() && !no_files)
        throw InvalidArgument("both files and --sizes were given; leave out one of them");
    if (request.output.empty())
        throw InvalidArgument("no file was named for the report; give -o report.json");
    if (request.most_error && request.reference == "none")
        throw InvalidArgument(
            "--fail-if-error-above needs a reference; leave out --reference none");
}

void add_images(CLI::App& app, ImageCompareRequest& request) {
    app.add_option("IMAGE", request.image, io::usual_image_endings());
    app.add_option("KERNEL", request.kernel, "The kernel (PSF): one 3D stack of any format");
    add_ways(app, request);
    add_list(app, "--methods", request.option_lists.methods, checked_by(parse_method),
             list_of_names<Method>(",", ","), "Methods (default all)");
    add_list(
        app, "--parts", request.option_lists.parts,
        [](std::string_view, const std::string& text) { return parse_parts(text); },
        "auto,1,2,4,8,16", "Numbers of parts of method dif (default auto)");
    add_options(app, request.options, {"mode", "boundary", "normalization", "nan"});
    begin_group(app, groups::psf);
    add_kernel_options(app, request.kernel_options);
    begin_group(app, groups::input);
    add_selection_options(app, request.selection);
    add_sweep(app, request,
              "Edges of random images, doubled from the first to the last, or a list");
    add_parsed(app, "--kernel-size", request.kernel_size, parse_positive<index_t>, "K",
               "Edge of the random kernel (default: a quarter of the image's)");
    add_measurement(app, request);
    add_output(app, request);
}

void add_signals(CLI::App& app, SignalCompareRequest& request) {
    app.add_option("SIGNAL", request.signal,
                   "NPY, file.h5, file.h5:/dataset, WAV or raw (.f32, .c64, .i16, .ci16, …)");
    app.add_option("BANK", request.filter_files,
                   "One or more files, each with one filter (1D) or several (filters × taps)");
    add_ways(app, request);
    add_list(app, "--methods", request.option_lists.methods, checked_by(parse_filter_method),
             list_of_names<FilterMethod>(",", ","), "Methods (default all)");
    add_list(app, "--segments", request.option_lists.segments, parse_positive<index_t>,
             "1024,4096,…", "Lengths of the transforms (default: chosen automatically)");
    add_options(app, request.options, {"mode", "origin", "nan"});
    begin_group(app, groups::input);
    add_raw_options(app, request.signal_options);
    begin_group(app, "Sweeps without files");
    add_parsed(app, "--taps", request.taps, parse_positive<index_t>, "M",
               "Taps of each filter: of random ones (default 257), or in raw BANK");
    add_parsed(app, "--filters", request.filters, parse_positive<index_t>, "F",
               "Random filters (default 8)");
    add_sweep(app, request,
              "Samples of a random signal, doubled from the first to the last, or a list");
    add_measurement(app, request);
    add_output(app, request);
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("compare",
                           "Measure time, memory and precision of devices and methods\n"
                           "convolume diff A B measures the difference of two images.");
    auto images = std::make_shared<ImageCompareRequest>();
    set_examples(*command, {"convolume compare image.tif psf.tif -o report.json",
                            "convolume compare --sizes 32,48 --devices cpu -o sweep.json"});
    add_images(*command, *images);
    CLI::App* filter = command->add_subcommand(
        "filter", "Measure time, memory and precision of filters of 1D signals");
    auto signals = std::make_shared<SignalCompareRequest>();
    set_examples(*filter,
                 {"convolume compare filter signal.npy filters.npy -o filters.json",
                  "convolume compare filter --sizes 4096,8192 --filters 4 -o signals.json"});
    add_signals(*filter, *signals);
    filter->callback([signals, &action] {
        check_request(*signals, signals->signal.empty(),
                      !signals->signal.empty() && !signals->filter_files.empty(),
                      "SIGNAL and BANK");
        action = [signals] { compare(*signals); };
    });
    command->callback([command, filter, images, &action] {
        if (command->got_subcommand(filter)) return;
        if (images->output.empty() && !images->image.empty() && !images->kernel.empty())
            throw InvalidArgument(
                "no file was named for the report on devices and methods; give -o report.json, or "
                "measure the difference of two images with convolume diff A B, or draw them with "
                "convolume preview A --after B");
        check_request(*images, images->image.empty(),
                      !images->image.empty() && !images->kernel.empty(), "IMAGE and KERNEL");
        action = [images] { compare(*images); };
    });
}

}  // namespace convolume::cli
