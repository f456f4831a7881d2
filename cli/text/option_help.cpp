#include "cli/text/option_help.hpp"

#include "cli/convolve/request.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

double parse_number(std::string_view option, const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end)
        throw InvalidArgument(message(option, " is a number, not \"", text, "\"; correct it"));
    return value;
}

void add_device_option(CLI::App& app, const char* group, EngineChoice& choice) {
    app.add_option_function<std::string>(
           "--device", [&choice](const std::string& text) { parse_device(text, choice); },
           "Where to compute (default auto: CPU or GPUs, whichever is predicted to be faster)")
        ->type_name("auto|cpu|gpu|gpu:0,1")
        ->group(group);
}

void add_gpu_memory_option(CLI::App& app, const char* group, EngineChoice& choice) {
    add_parsed(app, "--max-gpu-mem", choice.gpu_memory_bytes, parse_byte_size, "SIZE",
               "Memory limit of each GPU, e.g. 8G (default: most of what is free)")
        ->group(group);
}

void add_threads_option(CLI::App& app, const char* group, EngineChoice& choice) {
    const auto threads = [](const std::string& text) { return parse_positive("--threads", text); };
    add_parsed(app, "--threads", choice.threads, threads, "N", "CPU threads in all (default: all)")
        ->group(group);
}

void add_seed_option(CLI::App& app, const char* group, std::uint64_t& seed, const char* help) {
    const auto parse = [](const std::string& text) {
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value);
        if (parsed.ec != std::errc() || parsed.ptr != end)
            throw InvalidArgument(message("--seed is a whole number from 0 to 2^64 - 1, not \"",
                                          text, "\"; correct it"));
        return value;
    };
    add_parsed(app, "--seed", seed, parse, "N", help)->group(group);
}

void add_host_memory_option(CLI::App& app, const char* group, std::optional<index_t>& bytes) {
    add_parsed(app, "--max-host-mem", bytes, parse_byte_size, "SIZE",
               "Memory limit of image, result, scratch and CPU engines together (default: three "
               "quarters of what is free)")
        ->group(group);
}

void add_convolution_options(CLI::App& app, const char* group, Options& options,
                             EngineChoice& engines) {
    add_parsed(app, "--method", options.method, parse_method, "auto|in-core|dif|tiled|direct",
               "Default auto: the least predicted time that fits the memory")
        ->group(group);
    add_parsed(app, "--parts", options.parts, parse_parts, "auto|1|2|4|8|16",
               "Parts of method dif (default auto)")
        ->group(group);
    add_parsed(app, "--precision", options.precision, parse_precision, "float32|float64",
               "Of the computation (default float32)")
        ->group(group);
    add_device_option(app, group, engines);
    const auto count = [](const std::string& text) { return parse_positive("--engines", text); };
    add_parsed(app, "--engines", engines.cpu_engines, count, "N",
               "CPU engines that share the threads (default 1)")
        ->group(group);
    add_parsed(app, "--engine-mem", engines.engine_memory_bytes, parse_byte_size, "SIZE",
               "Memory limit of each CPU engine, e.g. 512M (default: none)")
        ->group(group);
    add_gpu_memory_option(app, group, engines);
    add_parsed(app, "--transfer-gate", engines.transfer_gate, parse_transfer_gate,
               "auto|global|per-link|off",
               "Transfers between host and GPUs at a time: one in all (global), one for each GPU "
               "and direction (per-link), any number (off) (default auto: by a measurement)")
        ->group(group);
    add_host_memory_option(app, group, options.max_host_bytes);
    add_threads_option(app, group, engines);
}

void add_axes_option(CLI::App& app, const char* group, std::string& axes) {
    app.add_option("--axes", axes,
                   "Meaning of the image's axes, slowest first, e.g. TYX, where the file is silent "
                   "or wrong")
        ->type_name("AXES")
        ->group(group);
}

void add_image_output_options(CLI::App& app, const char* group, std::string& output,
                              std::string& output_type, io::CreateOptions& create,
                              const std::string& usual_type) {
    app.add_option("-o,--output", output, "The result: .tif, .ome.tif, .h5, .h5:/dataset or .npy")
        ->type_name("OUT")
        ->group(group);
    const auto type = [](const std::string& text) {
        if (text != "same") static_cast<void>(pixel_type_from_name(text));
        return text;
    };
    add_parsed(app, "--output-type", output_type, type, "same|float32|uint16|…",
               "Pixel type; integers are rounded and clamped (default: " + usual_type + ")")
        ->group(group);
    add_parsed(app, "--compression", create.compression, parse_compression,
               "none|deflate|lzw|zstd|packbits", "Of the output (default none)")
        ->group(group);
    app.add_flag("--overwrite", create.overwrite, "Replace an output that exists")->group(group);
}

void require_output(const std::string& output, const ReportOptions& options) {
    if (output.empty() && !options.dry_run)
        throw InvalidArgument("no output was named; give -o OUT, or --dry-run for the plan alone");
}

void add_report_options(CLI::App& app, const char* group, ReportOptions& options) {
    app.add_flag("--dry-run", options.dry_run, "Print the plan; compute and write nothing")
        ->group(group);
    app.add_flag("--json", options.json, "Print a JSON object on stdout")->group(group);
    app.add_option("--timeline", options.timeline,
                   "Write what ran when, for Perfetto or chrome://tracing")
        ->type_name("FILE")
        ->group(group);
    const auto verbosity = [&](const char* name, Verbosity value, const char* help) {
        return app.add_flag_callback(
            name, [&options, value] { options.verbosity = value; }, help);
    };
    CLI::Option* quiet = verbosity("-q,--quiet", Verbosity::quiet, "Only warnings and errors");
    CLI::Option* verbose = verbosity("-v,--verbose", Verbosity::verbose, "Also the full plan");
    quiet->group(group)->excludes(verbose);
    verbose->group(group);
}

}  // namespace convolume::cli
