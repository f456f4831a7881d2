// SPDX-License-Identifier: Apache-2.0
#include "io/image_format.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <mutex>

#include "convolume/error.hpp"
#include "io/image_file.hpp"
#include "io/raw_file.hpp"
#include "io/signal/file.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr index_t head_bytes = 1 << 16;

struct Registry {
    std::mutex mutex;
    std::vector<ImageFormat> formats = built_in_formats();
};

Registry& registry() {
    // It stays until the process ends, as formats may be used by destructors of static objects.
    static Registry& only = *new Registry;
    return only;
}

/// Throws if a plug-in cannot be loaded. Lists of formats, as help texts have them, do without it.
void require_plugins() {
    if (const std::exception_ptr failure = load_named_plugins()) std::rethrow_exception(failure);
}

/// Returns the beginning of a regular file; empty for others.
std::string head_of(const std::string& path) {
    std::error_code unreadable;
    if (!std::filesystem::is_regular_file(path, unreadable)) return {};
    return RawFile(path).head(head_bytes);
}

std::string alternatives_text(const std::vector<std::string>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
    return text;
}

/// Names formats that are not read by their first bytes.
std::string_view foreign_format(std::string_view head) {
    struct Known {
        std::size_t at;
        std::string_view bytes;
        std::string_view format;
    };
    using namespace std::string_view_literals;
    static constexpr Known formats[] = {
        {0, "ZISRAWFILE"sv, "a CZI file of Zeiss"},
        {0, "\x70\0\0\0"sv, "a LIF file of Leica"},
        {0, "\xDA\xCE\xBE\x0A"sv, "an ND2 file of Nikon"},
        {0, "\0\0\0\x0CjP  "sv, "a JPEG 2000 file (ND2 files of Nikon before 2010 are, too)"},
        {0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "an OIB file of Olympus or ZVI file of Zeiss"},
        {96, "\xA0\xC0"sv, "a DV file of DeltaVision"},
        {96, "\xC0\xA0"sv, "a DV file of DeltaVision"},
        {0, "\x89PNG"sv, "a PNG file"},
        {0, "\xFF\xD8\xFF"sv, "a JPEG file, which has lost the noise of photons"},
    };
    for (const Known& known : formats)
        if (head.size() > known.at && head.substr(known.at).starts_with(known.bytes))
            return known.format;
    return {};
}

}  // namespace

void register_format(ImageFormat format) {
    if (format.name.empty()) throw InvalidArgument("an image format has no name; give it one");
    const auto refuse = [&](const std::string& what) {
        throw InvalidArgument(message("the image format ", format.name, ' ', what));
    };
    for (const auto* endings : {&format.endings, &format.read_endings})
        for (const std::string& ending : *endings)
            if (ending.size() < 2 || ending[0] != '.')
                refuse(message("has the ending \"", ending, "\"; begin it with a dot"));
    if (!format.open != !format.recognizes)
        refuse("has one of the functions recognizes and open; give both or none");
    if (!format.create != format.endings.empty())
        refuse("has either endings or the function create; give both or none");
    const std::lock_guard lock(registry().mutex);
    std::vector<ImageFormat>& formats = registry().formats;
    const auto old = std::find_if(formats.begin(), formats.end(), [&](const ImageFormat& other) {
        return other.name == format.name;
    });
    if (old == formats.end()) return formats.push_back(std::move(format));
    std::rotate(old, old + 1, formats.end());
    std::swap(formats.back(), format);  // destroys the old one after the unlocking
}

std::vector<ImageFormat> image_formats() {
    load_named_plugins();
    const std::lock_guard lock(registry().mutex);
    return registry().formats;
}

std::string usual_image_endings() {
    std::vector<std::string> endings;
    for (const ImageFormat& format : image_formats()) {
        if (format.endings.empty()) continue;
        endings.push_back(format.endings[0]);
        if (format.has_dataset) endings.push_back(format.endings[0] + ":/dataset");
    }
    return alternatives_text(endings);
}

std::optional<ImageEnding> image_ending(const std::string& path) {
    std::optional<ImageEnding> longest;
    for (const ImageFormat& format : image_formats())
        for (const auto* endings : {&format.endings, &format.read_endings})
            for (const std::string& ending : *endings)
                if (has_extension(path, ending) && (!longest || ending.size() >= longest->size)) {
                    const bool is_written = endings == &format.endings;
                    longest = {ending.size(), is_written               ? ending
                                              : format.endings.empty() ? std::string()
                                                                       : format.endings[0]};
                }
    return longest;
}

std::optional<ImageFormat> recognized_format(const std::string& path) {
    require_plugins();
    const std::string head = head_of(path);
    std::vector<ImageFormat> formats = image_formats();
    for (auto format = formats.rbegin(); format != formats.rend(); ++format)
        if (format->recognizes && format->recognizes(path, head)) return std::move(*format);
    return std::nullopt;
}

std::optional<ImageFormat> written_format(const std::string& path) {
    require_plugins();
    const auto ending = image_ending(path);
    std::vector<ImageFormat> formats = image_formats();
    for (auto format = formats.rbegin(); ending && format != formats.rend(); ++format)
        for (const std::string& one : format->endings)
            if (one.size() == ending->size && has_extension(path, one)) return std::move(*format);
    return std::nullopt;
}

void refuse_unknown_content(const std::string& path) {
    const std::string head = RawFile(path).head(head_bytes);
    const std::string_view foreign = foreign_format(head);
    if (begins_as_wav(head))
        throw BadData(message(path,
                              " is a WAV file, which holds signals and no image; use a command "
                              "for signals, such as convolume filter, or read it with SciPy"));
    if (!foreign.empty())
        throw BadData(message(path, " is ", foreign,
                              ", which is not read; convert it, for example with Fiji"));
    std::vector<std::string> names;
    for (const ImageFormat& format : image_formats())
        if (format.open) names.push_back(format.name);
    throw BadData(message(path, " is not a ", alternatives_text(names),
                          " file, or its beginning is damaged; convert it, for example with Fiji"));
}

void refuse_unknown_ending(const std::string& path) {
    throw InvalidArgument(message("the extension of ", path,
                                  " names no format that can be written; use ",
                                  usual_image_endings()));
}

void require_no_dataset(const PathSpec& image) {
    if (!image.dataset.empty())
        throw InvalidArgument(message(image.file,
                                      " is of a format without datasets and has no "
                                      "dataset ",
                                      image.dataset, "; give the path of the file alone"));
}

void require_no_new_dataset(const PathSpec& image) {
    if (image.dataset.empty()) return;
    std::vector<std::string> formats;
    for (const ImageFormat& format : image_formats())
        if (format.has_dataset && format.create)
            formats.push_back(
                message(format.name, " files (", alternatives_text(format.endings), ")"));
    throw InvalidArgument(message("only ", alternatives_text(formats), " have datasets; ",
                                  image.file, ":", image.dataset,
                                  " names one; give the path of the file alone"));
}

bool is_xml(std::string_view head) {
    if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
    const auto first = head.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || head[first] != '<') return false;
    const std::string_view tag = head.substr(first + 1);
    return !tag.empty() &&
           (tag[0] == '?' || tag[0] == '!' || std::isalpha(static_cast<unsigned char>(tag[0])));
}

bool has_ome_element(std::string_view text) {
    for (const char* element : {"<OME", "<ome:OME", "<OME:OME"})
        if (text.find(element) != std::string_view::npos) return true;
    return false;
}

}  // namespace convolume::io
