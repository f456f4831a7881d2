// SPDX-License-Identifier: Apache-2.0
// Parses a command line, whose words are lines, or refuses it by a typed error. No command is run.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "convolume/error.hpp"

namespace {

using namespace convolume;

/// Number of command lines that one parser reads before a new parser is made. Making a parser takes
/// longer than parsing, but a parser keeps the values that lists have got from earlier command
/// lines.
constexpr int uses_of_a_parser = 1000;

struct CommandLine {
    CLI::App app{"", "convolume"};
    cli::Action action;
    int uses = 0;

    CommandLine() { cli::add_commands(app, action); }
};

std::vector<const char*> words_of(std::string& text) {
    std::vector<const char*> words{"convolume"};
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        words.push_back(text.c_str() + begin);
        if (end < text.size()) text[end] = '\0';
        begin = end + 1;
    }
    return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static std::unique_ptr<CommandLine> line;
    if (!line || ++line->uses > uses_of_a_parser) line = std::make_unique<CommandLine>();
    std::string text(reinterpret_cast<const char*>(data), size);
    const std::vector<const char*> words = words_of(text);
    try {
        cli::parse_command_line(line->app, static_cast<int>(words.size()), words.data());
    } catch (const CLI::Error&) {
    } catch (const Error&) {
    }
    return 0;
}
