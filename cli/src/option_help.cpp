#include "option_help.hpp"

#include "convolume/options.hpp"

namespace convolume::cli {

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
