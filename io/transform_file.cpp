// SPDX-License-Identifier: Apache-2.0
#include "convolume/transform_file.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#if defined(CONVOLUME_HAVE_TIFF) || defined(CONVOLUME_HAVE_HDF5)
#include <pugixml.hpp>
#define CONVOLUME_READS_XML 1
#endif

#include "convolume/error.hpp"

namespace convolume::io {

namespace {

constexpr const char* itk_head = "#Insight Transform File";
constexpr std::uintmax_t most_transform_bytes =
    256 << 20;  // datasets of many views have long descriptions

std::vector<double> numbers_in(const std::string& path, const std::string& text) {
    std::istringstream words(text);
    std::vector<double> numbers;
    for (std::string word; words >> word;) {
        std::size_t used = 0;
        try {
            numbers.push_back(std::stod(word, &used));
        } catch (const std::exception&) {
            used = 0;
        }
        if (used != word.size())
            throw BadData(message("\"", path, "\" has \"", word.substr(0, 40),
                                  "\" where a number of a transform is expected"));
    }
    return numbers;
}

// Returns the map of 12 numbers in rows x, y, z and columns x, y, z, 1.
VoxelMap map_of_rows(const std::vector<double>& numbers) {
    VoxelMap map;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t row = 4 * (2 - a);
        for (std::size_t b = 0; b < 3; ++b) map.matrix[a][b] = numbers[row + 2 - b];
        map.offset[a] = numbers[row + 3];
    }
    return map;
}

VoxelMap map_of_numbers(const std::string& path, const std::string& text) {
    std::istringstream lines(text);
    std::string rest;
    for (std::string line; std::getline(lines, line);)
        if (line.find_first_not_of(" \t\r") != line.find('#') ||
            line.find('#') == std::string::npos)
            rest += line + "\n";
    std::replace(rest.begin(), rest.end(), ',', ' ');
    const std::vector<double> numbers = numbers_in(path, rest);
    const bool has_last_row =
        numbers.size() == 16 &&
        std::vector<double>(numbers.begin() + 12, numbers.end()) == std::vector<double>{0, 0, 0, 1};
    if (numbers.size() != 12 && !has_last_row)
        throw BadData(message("\"", path, "\" has ", numbers.size(),
                              " numbers: a transform has 12, in 3 rows x, y, z of 4, or 16 with "
                              "the last row 0 0 0 1"));
    return map_of_rows(numbers);
}

// Returns the text behind a name and a colon, up to the end of the line.
std::string itk_field(const std::string& text, const std::string& name) {
    const std::size_t at = text.find("\n" + name + ":");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
}

// T(p) = M (p - c) + c + t, from the fixed space to the moving image.
VoxelMap map_of_itk(const std::string& path, const std::string& text) {
    std::string kind = itk_field(text, "Transform");
    kind.erase(
        std::remove_if(kind.begin(), kind.end(), [](char c) { return c == ' ' || c == '\r'; }),
        kind.end());
    const std::vector<double> given = numbers_in(path, itk_field(text, "Parameters"));
    std::vector<double> center = numbers_in(path, itk_field(text, "FixedParameters"));
    center.resize(3);
    std::vector<double> rows{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    if (kind.starts_with("TranslationTransform") && given.size() == 3) {
        for (std::size_t a = 0; a < 3; ++a) rows[4 * a + 3] = given[a];
    } else if ((kind.starts_with("AffineTransform") ||
                kind.starts_with("MatrixOffsetTransformBase")) &&
               given.size() == 12) {
        for (std::size_t a = 0; a < 3; ++a) {
            rows[4 * a + 3] = given[9 + a] + center[a];
            for (std::size_t b = 0; b < 3; ++b) {
                rows[4 * a + b] = given[3 * a + b];
                rows[4 * a + 3] -= given[3 * a + b] * center[b];
            }
        }
    } else {
        throw BadData(message("\"", path, "\" is a transform of ITK of the type \"",
                              kind.substr(0, 80), "\" with ", given.size(),
                              " parameters: convert it to an AffineTransform in 3D"));
    }
    return inverse(map_of_rows(rows));
}

struct XmlPlace {
    std::string file, setup, time = "0";
};

// Divides "dataset.xml:1:5".
XmlPlace xml_place(const std::string& path) {
    const std::size_t at = path.rfind(".xml:");
    if (at == std::string::npos) return {path, "", "0"};
    XmlPlace place{path.substr(0, at + 4), path.substr(at + 5), "0"};
    if (const std::size_t colon = place.setup.find(':'); colon != std::string::npos) {
        place.time = place.setup.substr(colon + 1);
        place.setup.resize(colon);
    }
    return place;
}

#ifdef CONVOLUME_READS_XML
// Transforms are listed with the last one that is applied first.
VoxelMap map_of_xml(const XmlPlace& place, const std::string& text) {
    pugi::xml_document document;
    if (!document.load_buffer(text.data(), text.size()))
        throw BadData(message("\"", place.file, "\" is no XML that can be read"));
    const pugi::xml_node all = document.child("SpimData").child("ViewRegistrations");
    if (!all)
        throw BadData(message("\"", place.file,
                              "\" has no ViewRegistrations: give the XML of BigDataViewer or "
                              "BigStitcher"));
    for (const pugi::xml_node& view : all.children("ViewRegistration")) {
        if (view.attribute("setup").as_string() != place.setup ||
            view.attribute("timepoint").as_string() != place.time)
            continue;
        VoxelMap map;
        for (const pugi::xml_node& one : view.children("ViewTransform")) {
            const std::vector<double> numbers =
                numbers_in(place.file, one.child("affine").text().as_string());
            if (numbers.size() != 12)
                throw BadData(message("a transform of setup ", place.setup, " in \"", place.file,
                                      "\" has ", numbers.size(), " numbers, and not 12"));
            map = composed(map, map_of_rows(numbers));
        }
        return map;
    }
    throw BadData(message("\"", place.file, "\" has no setup \"", place.setup, "\" at time \"",
                          place.time, "\": give both as in dataset.xml:1:0"));
}
#else
VoxelMap map_of_xml(const XmlPlace& place, const std::string&) {
    throw Unavailable(message("this build does not read XML, as \"", place.file,
                              "\" is; build it with libtiff or HDF5"));
}
#endif

}  // namespace

FileTransform read_transform(const std::string& path) {
    const XmlPlace place = xml_place(path);
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(place.file, error);
    std::ifstream file(place.file, std::ios::binary);
    if (error || !file)
        throw InputNotFound(message("cannot open the transform \"", place.file, "\""));
    if (bytes > most_transform_bytes)
        throw BadData(message("\"", place.file, "\" is no transform: it has ", bytes, " bytes"));
    std::ostringstream content;
    content << file.rdbuf();
    const std::string text = content.str();
    FileTransform found;
    if (text.starts_with(itk_head)) {
        found.map = map_of_itk(path, text);
    } else if (const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
               first != std::string::npos && text[first] == '<') {
        if (place.setup.empty())
            throw BadData(message("\"", path,
                                  "\" describes several views: add the number of the "
                                  "setup, as in ",
                                  place.file, ":0"));
        found = {map_of_xml(place, text), true};
    } else {
        found.map = map_of_numbers(path, text);
    }
    try {
        static_cast<void>(inverse(found.map));
    } catch (const InvalidArgument&) {
        throw BadData(
            message("the transform \"", path, "\" has no inverse, or a number that is not finite"));
    }
    return found;
}

}  // namespace convolume::io
