// SPDX-License-Identifier: Apache-2.0
#include "cli/run/error_hint.hpp"

#include <array>
#include <utility>
#include <vector>

#include "cli/run/exit_code.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// The command's options for options of the library.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> translations{
    {{"overwrite", "--overwrite"},
     {"max_host_bytes", "--max-host-mem"},
     {"max_gpu_bytes", "--max-gpu-mem"},
     {"max_cpu_engine_bytes", "--engine-mem"},
     {"raw_type", "--raw"},
     {"raw_signals", "--signals"},
     {"raw_samples", "--taps"},
     {"raw_header", "--header"},
     {"raw_byte_order", "--byte-order"},
     {"stored", "--output-type"},
     {"sampling_rate_hz", "--rate"},
     {"segment", "--segment"}}};

/// "(max_host_bytes, max_gpu_bytes)" becomes "(--max-host-mem, --max-gpu-mem)"; parentheses around
/// anything else stay.
std::string translated(std::string_view sentence) {
    std::string text(sentence);
    for (const auto& [name, option] : translations)
        for (std::size_t at = text.find(name); at != std::string::npos;
             at = text.find(name, at + option.size())) {
            const std::string_view before = std::string_view(text).substr(0, at);
            const std::string_view after = std::string_view(text).substr(at + name.size());
            const bool begins = before.ends_with('(') || before.ends_with(", ");
            const bool ends = after.starts_with(')') || after.starts_with(", ");
            const std::size_t open = before.rfind('(');
            const bool inside =
                open != std::string_view::npos && before.find(')', open) == std::string_view::npos;
            if (begins && ends && inside) text.replace(at, name.size(), option);
        }
    return text;
}

struct Hint {
    std::string_view option;    ///< as in --help
    std::string_view argument;  ///< what to give it
};

/// Options that help against errors of a type.
std::vector<Hint> hints_for(const std::exception& error) {
    const std::string_view text = error.what();
    const auto mentions = [text](std::string_view word) {
        return text.find(word) != std::string_view::npos;
    };
    const bool gpu = mentions("GPU") || mentions("CUDA");
    if (is_a<DeviceFailure>(error) || (is_a<Unavailable>(error) && gpu))
        return {{"--device", " cpu"}};
    if (is_a<OutputExists>(error)) return {{"--overwrite", ""}};
    if (is_a<OutOfMemory>(error) && gpu && mentions("host"))
        return {{"--max-host-mem", ""}, {"--max-gpu-mem", ""}};
    if (is_a<OutOfMemory>(error)) return {{gpu ? "--max-gpu-mem" : "--max-host-mem", ""}};
    return {};
}

}  // namespace

std::string with_option_hint(std::string sentence, const std::exception& error,
                             const HasOption& has_option) {
    sentence = translated(sentence);
    for (const char* option : {" --", "(--"})
        if (sentence.find(option) != std::string::npos) return sentence;
    std::string options;
    for (const auto& [option, argument] : hints_for(error)) {
        if (has_option(option)) options += message(options.empty() ? "" : ", ", option, argument);
    }
    return options.empty() ? sentence : message(sentence, " (", options, ")");
}

}  // namespace convolume::cli
