// SPDX-License-Identifier: Apache-2.0
// Programs that are recognized by tags or descriptions, but whose metadata are not read. Their
// channels, times and positions must not be read as planes along z.

#include <algorithm>

#include "convolume/error.hpp"
#include "io/tiff/dialects.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// A private tag that only one program writes.
struct ProgramTag {
    int tag;
    const char* program;
};
constexpr ProgramTag program_tags[] = {
    {34361, "Olympus FluoView"},
    {34362, "Olympus FluoView"},
    {51123, "Micro-Manager"},
    {33560, "Olympus SIS"},
    {33471, "Olympus SIS"},
    {43314, "NIH Image"},
    {50288, "Media Cybernetics"},
    {65420, "Hamamatsu NDPI"},
    {65027, "Gatan DigitalMicrograph"},
    {4864, "Andor Technology"},
    {37706, "TVIPS"},
};

/// Beginning of a description that only one program writes.
struct ProgramPrefix {
    const char* begin;
    const char* program;
};
constexpr ProgramPrefix program_prefixes[] = {
    {"Aperio ", "Aperio SVS"},
    {"<MetaData>", "MetaMorph (MetaSeries)"},
    {"<DataObject", "Philips"},
    {"<scn ", "Leica SCN"},
    {"<PerkinElmer-QPI", "PerkinElmer QPI"},
    {"state.configPath", "ScanImage"},
    {"frameNumbers", "ScanImage"},
    {"scanimage.SI", "ScanImage"},
    {"SI.", "ScanImage"},
    {"Intelligent Imaging Innovations", "SlideBook"},
};

std::string program_of(const TiffSource& source) {
    const TiffNumbers numbers(source.file);
    const std::uint64_t directory = source.first_page().directory;
    for (const ProgramTag& known : program_tags)
        if (numbers.find(directory, known.tag)) return known.program;
    for (const ProgramPrefix& known : program_prefixes)
        if (source.description.starts_with(known.begin)) return known.program;
    if (source.tiff.text(TIFFTAG_SOFTWARE).starts_with("SI.")) return "ScanImage";
    return "";
}

/// Returns the beginning of the first line as ASCII, for a message.
std::string beginning_of(const std::string& description) {
    constexpr std::size_t longest = 40;
    std::string text = description.substr(0, std::min(description.find_first_of("\r\n"), longest));
    for (char& letter : text)
        if (letter < ' ' || letter > '~') letter = '?';
    return text;
}

/// Tells whether a description is made for programs, so that it may describe the pages.
bool is_structured(const std::string& description) {
    const auto first = description.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return false;
    if (description[first] == '<' || description[first] == '{') return true;
    const std::string words = lower_case(description);
    constexpr const char* dimensions[] = {"channels", "frames", "slices", "timepoints"};
    return std::any_of(std::begin(dimensions), std::end(dimensions), [&](const char* word) {
        const auto at = words.find(word);
        return at != std::string::npos && words.find_first_of("=:", at) != std::string::npos;
    });
}

}  // namespace

std::optional<TiffStack> read_foreign(TiffSource& source, ImageMetadata& metadata) {
    if (source.full_pages.size() < 2) return std::nullopt;
    const std::string program = program_of(source);
    if (program.empty() && !is_structured(source.description)) return std::nullopt;
    TiffStack stack = read_plain(source, metadata);
    stack.ambiguity =
        program.empty()
            ? message("has a description of its ", source.full_pages.size(),
                      " pages that is not understood (\"", beginning_of(source.description), "…\")")
            : message("was written by ", program, ", whose metadata are not understood, and has ",
                      source.full_pages.size(), " pages, which may be planes, channels or times");
    metadata.format = program.empty() ? "TIFF" : program + " TIFF";
    return stack;
}

}  // namespace convolume::io
