// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume project`.

#include <memory>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/picture/gray_png.hpp"
#include "cli/project/command.hpp"
#include "cli/project/reduction.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

namespace {

int parse_axis(std::string_view option, const std::string& text) {
    for (int axis = 0; axis < 3; ++axis)
        if (text == axis_name(axis)) return axis;
    throw InvalidArgument(message(option, " is z, y or x, not \"", text, "\"; choose one"));
}

}  // namespace

void add_project_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("project", "Project stacks along an axis: maximum, mean or sum");
    auto request = std::make_shared<ProjectRequest>();
    set_examples(*command, {"convolume project image.tif --max -o brightest.tif",
                            "convolume project image.tif --axis y --by mean -o mean.tif"});
    command->add_option("IMAGE", request->image, "TIFF, NPY, file.h5 or file.h5:/dataset")
        ->required();
    const char* group = groups::method;
    add_parsed(*command, "--axis", request->axis, parse_axis, "z|y|x",
               "The axis to project along (default z)")
        ->group(group);
    add_parsed(
        *command, "--by", request->by, parse_project_by, "max|mean|sum",
        "The largest value along the axis, which keeps the pixel type, or the mean or sum, which "
        "are float32 (default max; --max, --mean and --sum are short for it)")
        ->group(group);
    add_selection_options(*command, groups::input, request->selection);
    group = groups::output;
    command
        ->add_option("-o,--output", request->output,
                     "The projection: .tif, .ome.tif, .h5, .h5:/dataset, .npy, or .png for one "
                     "gray picture")
        ->type_name("OUT")
        ->group(group);
    add_compression_option(*command, group, request->create,
                           "Compression of the output (default none)");
    command->add_flag("--overwrite", request->create.overwrite, "Replace an output that exists")
        ->group(group);
    add_run_options(*command, group, request->run);
    command->callback([request, &action] {
        require_output(request->output, request->run);
        if (is_png(request->output) && request->create.compression != io::Compression::none)
            throw InvalidArgument(
                "PNG files are always compressed, by deflate; leave --compression out");
        action = [request] { run_steps<ProjectSteps>(*request); };
    });
}

}  // namespace convolume::cli
