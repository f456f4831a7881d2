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

void add_optional_number(CLI::App& app, const char* name, std::optional<double>& target,
                         const char* type, const char* help) {
    add_parsed(app, name, target, parse_number, type, help)->group("Limits");
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
    add_selection_options(*command, groups::input, request->selection);
    add_parsed(*command, "--range", request->range, parse_range_rule, "image|type|NUMBER",
               "Difference between black and white for PSNR and SSIM: largest less least value of "
               "a channel of A, the whole range of its integer type, or a number (default image)")
        ->group(groups::method);
    add_optional_number(*command, "--require-psnr", request->least_psnr, "DB",
                        "Exit code 6 if the PSNR of a channel is lower");
    add_optional_number(*command, "--tolerance", request->tolerance, "X",
                        "Exit code 6 if a difference is larger; 0 requires equal images");
    const char* group = groups::output;
    command
        ->add_option("--picture", request->picture,
                     "Picture of the largest differences along each axis")
        ->type_name("PNG")
        ->group(group);
    command->add_flag("--overwrite", request->overwrite, "Replace a picture that exists")
        ->group(group);
    add_run_options(*command, group, request->run);
    command->callback([request, &action] {
        if (!request->picture.empty() && !is_png(request->picture))
            throw InvalidArgument(message("--picture is a PNG file, not \"", request->picture,
                                          "\"; give a name that ends in .png"));
        action = [request] { run_diff(*request); };
    });
}

}  // namespace convolume::cli
