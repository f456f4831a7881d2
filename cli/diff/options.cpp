// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume diff`.

#include <memory>

#include "cli/app.hpp"
#include "cli/diff/command.hpp"
#include "cli/picture/gray_png.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

namespace {

RangeRule parse_range_rule(std::string_view option, const std::string& text) {
    if (text == "image") return {};
    if (text == "type") return {RangeRule::Kind::type, 0};
    const double number = parse_number(option, text);
    if (!(number > 0))
        throw InvalidArgument(message(option, " is image, type or a number above 0, not \"", text,
                                      "\"; choose one of these"));
    return {RangeRule::Kind::number, number};
}

}  // namespace

void add_diff_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "diff", "Measure the difference of two images: PSNR, largest difference, SSIM");
    auto request = std::make_shared<DiffRequest>();
    set_examples(*command, {"convolume diff blurred.tif smooth.tif --picture difference.png",
                            "convolume diff image.tif image.ome.tif --tolerance 0"});
    command->add_option("A", request->first, "The reference: " + io::usual_image_endings())
        ->required();
    command->add_option("B", request->second, "The image to compare with it")->required();
    begin_group(*command, groups::input);
    add_selection_options(*command, request->selection);
    begin_group(*command, groups::method);
    add_parsed(*command, "--range", request->range, parse_range_rule, "image|type|NUMBER",
               "Difference between black and white for PSNR and SSIM: largest less least value of "
               "a channel of A, the whole range of its integer type, or a number (default image)");
    begin_group(*command, "Limits");
    add_parsed(*command, "--require-psnr", request->least_psnr, parse_number, "DB",
               "Exit code 6 if the PSNR of a channel is lower");
    add_parsed(*command, "--tolerance", request->tolerance, parse_number, "X",
               "Exit code 6 if a difference is larger; 0 requires equal images");
    begin_group(*command, groups::output);
    add_value(*command, "--picture", request->picture, "PNG",
              "Picture of the largest differences along each axis");
    command->add_flag("--overwrite", request->overwrite, "Replace a picture that exists");
    add_run_options(*command, request->run);
    command->callback([request, &action] {
        if (!request->picture.empty() && !is_png(request->picture))
            throw InvalidArgument(message("--picture is a PNG file, not \"", request->picture,
                                          "\"; give a name that ends in .png"));
        action = [request] { run_diff(*request); };
    });
}

}  // namespace convolume::cli
