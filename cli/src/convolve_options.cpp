// The command line of `convolume convolve`.

#include <memory>

#include "app.hpp"
#include "convolve_command.hpp"
#include "convolve_request.hpp"
#include "option_help.hpp"

namespace convolume::cli {

namespace {

void add_meaning(CLI::App& app, ConvolveRequest& request) {
    Options& options = request.options;
    const char* group = "What is computed";
    add_parsed(app, "--mode", options.mode, parse_mode, "full|same|valid",
               "Size of the result (default same)")
        ->group(group);
    add_parsed(app, "--boundary", options.boundary, parse_boundary,
               "zero|constant:V|nearest|reflect|mirror|wrap",
               "How the image continues outside, in the words of scipy.ndimage (default zero)")
        ->group(group);
    add_parsed(app, "--operation,--op", options.operation, parse_operation,
               "convolve|correlate|adjoint", "Default convolve")
        ->group(group);
    add_kernel_options(app, group, request.kernel_choice);
    add_parsed(app, "--kernel-normalize,--psf-normalize", options.normalization,
               parse_kernel_normalization, "sum|peak|none",
               "Divide the kernel by its sum (default) or its peak, or leave it")
        ->group(group);
    add_parsed(app, "--nan", options.nan, parse_nan_policy, "error|zero|propagate",
               "What to do with NaN and infinities in the image (default error)")
        ->group(group);
    add_axes_option(app, group, request.axes);
}

void add_execution(CLI::App& app, ConvolveRequest& request) {
    const char* group = "How it is computed";
    add_parsed(app, "--method", request.options.method, parse_method,
               "auto|in-core|dif|tiled|direct",
               "Default auto: the least predicted time that fits the memory")
        ->group(group);
    add_parsed(app, "--parts", request.options.parts, parse_parts, "auto|1|2|4|8|16",
               "Parts of method dif (default auto)")
        ->group(group);
    add_parsed(app, "--precision", request.options.precision, parse_precision, "float32|float64",
               "Of the computation (default float32)")
        ->group(group);
    add_device_option(app, group, request.engines);
    const auto engines = [](const std::string& text) { return parse_positive("--engines", text); };
    add_parsed(app, "--engines", request.engines.cpu_engines, engines, "N",
               "CPU engines that share the threads (default 1)")
        ->group(group);
    add_parsed(app, "--engine-mem", request.engines.engine_memory_bytes, parse_byte_size, "SIZE",
               "Memory limit of each CPU engine, e.g. 512M (default: none)")
        ->group(group);
    add_gpu_memory_option(app, group, request.engines);
    add_parsed(app, "--transfer-gate", request.engines.transfer_gate, parse_transfer_gate,
               "auto|global|per-link|off",
               "Transfers between host and GPUs at a time: one in all (global), one for each GPU "
               "and direction (per-link), any number (off) (default auto: by a measurement)")
        ->group(group);
    add_host_memory_option(app, group, request.options.max_host_bytes);
    add_threads_option(app, group, request.engines);
}

void add_output(CLI::App& app, ConvolveRequest& request) {
    const char* group = "What is written";
    add_image_output_options(app, group, request.output, request.output_type, request.create,
                             "the precision's type");
    add_report_options(app, group, request.report);
}

}  // namespace

void add_convolve_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("convolve", "Convolve an image with a kernel");
    auto request = std::make_shared<ConvolveRequest>();
    command->add_option("IMAGE", request->image, "TIFF, NPY, file.h5 or file.h5:/dataset")
        ->required();
    command->add_option("KERNEL", request->kernel, "The kernel (PSF): one 3D stack of any format")
        ->required();
    add_meaning(*command, *request);
    add_execution(*command, *request);
    add_output(*command, *request);
    command->callback([request, &action] {
        if (request->output.empty() && !request->report.dry_run)
            throw InvalidArgument(
                "no output was named; give -o OUT, or --dry-run for the plan alone");
        action = [request] { run_convolve(*request); };
    });
}

}  // namespace convolume::cli
