// SPDX-License-Identifier: Apache-2.0
#include "cli/run/errors.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "core/option_tables.hpp"
#include "deconvolve/option_table.hpp"
#include "deskew/option_table.hpp"
#include "optics/option_table.hpp"
#include "signals/option_table.hpp"

namespace convolume::cli {

namespace {

/// Returns the first flag of a library's option in the tables, or nothing.
template <class... Structs>
std::string flag_in_tables(std::string_view option) {
    std::string found;
    const auto look = [&](const auto& field) {
        const std::string_view flags = field.text.flags;
        if (field.text.name == option && found.empty()) found = flags.substr(0, flags.find(','));
    };
    (for_each_option<Structs>(look), ...);
    return found;
}

/// Returns the command's option for an option of the library.
std::string command_option(std::string_view library_option) {
    constexpr std::pair<std::string_view, const char*> other_names[] = {
        {"raw_type", "--raw"},       {"raw_signals", "--signals"},
        {"raw_samples", "--taps"},   {"raw_layout", "--layout"},
        {"raw_header", "--header"},  {"raw_byte_order", "--byte-order"},
        {"stored", "--output-type"}, {"sampling_rate_hz", "--rate"},
        {"kernel", "--psf"}};
    for (const auto& [name, option] : other_names)
        if (name == library_option) return option;
    std::string flag = flag_in_tables<Options, EngineChoice, DeconvolveOptions, FilterOptions,
                                      PsfOptions, DeskewOptions>(library_option);
    if (!flag.empty()) return flag;
    flag = message(library_option.starts_with("--") ? "" : "--", library_option);
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

struct OptionHint {
    std::string_view option;    ///< name of the option, such as "--device"
    std::string_view argument;  ///< argument of the option, after a space; may be empty
};

/// Returns the options that help against an error.
std::vector<OptionHint> hints_for(const Error& error) {
    if (is_a<DeviceFailure>(error) || is_a<GpuUnavailable>(error)) return {{"--device", " cpu"}};
    if (is_a<OutputExists>(error)) return {{"--overwrite", ""}};
    const auto* const refused = dynamic_cast<const OutOfMemory*>(&error);
    std::vector<OptionHint> hints;
    if (refused && refused->memory() != MemoryKind::gpu) hints.push_back({"--max-host-mem", ""});
    if (refused && refused->memory() != MemoryKind::host) hints.push_back({"--max-gpu-mem", ""});
    return hints;
}

std::string with_options(const Error& error, const HasOption& has_option) {
    if (error.sentence().names_options()) return in_words_of_command(error.sentence());
    std::string options;
    for (const auto& [option, argument] : hints_for(error))
        if (has_option(option)) options += message(options.empty() ? "" : ", ", option, argument);
    return options.empty() ? error.what() : message(error.what(), " (", options, ")");
}

}  // namespace

std::string in_words_of_command(const Sentence& text) {
    return text.with_names(command_option);
}

ExitCode exit_code_of(const std::exception& error) {
    if (const auto* files = dynamic_cast<const FilesFailed*>(&error)) return files->code();
    if (is_a<ErrorTooLarge>(error)) return ExitCode::error_too_large;
    return static_cast<ExitCode>(error_code(error));
}

std::string sentence_of(const std::exception& error, const HasOption& has_option) {
    std::string text = error.what();
    if (is_a<Cancelled>(error) && !is_a<Interrupted>(error))
        text = "interrupted; nothing was written";
    else if (is_a<std::bad_alloc>(error))
        text = message("the system refused memory; close other programs",
                       has_option("--max-host-mem") ? " or set --max-host-mem" : "");
    else if (is_refused_thread(error))
        text = message("the system refused a thread; close other programs",
                       has_option("--threads") ? " or set --threads" : "");
    else if (exit_code_of(error) == ExitCode::internal && !is_a<FilesFailed>(error))
        text = internal_error + text;
    else if (const auto* const known = dynamic_cast<const Error*>(&error))
        text = with_options(*known, has_option);
    return in_one_line(std::move(text));
}

std::string in_one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

}  // namespace convolume::cli
