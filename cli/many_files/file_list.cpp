// SPDX-License-Identifier: Apache-2.0
#include "cli/many_files/file_list.hpp"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& line) {
    constexpr const char* blanks = " \t\r";
    const auto begin = line.find_first_not_of(blanks);
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_last_not_of(blanks) + 1 - begin);
}

std::vector<std::string> paths_of(std::istream& lines, const std::string& name) {
    std::vector<std::string> paths;
    for (std::string line; std::getline(lines, line);) {
        if (line.find('\0') != std::string::npos)
            throw BadData(message("the list \"", name,
                                  "\" is not a text file; give a file of one path a line"));
        const std::string path = trimmed(line);
        if (!path.empty() && path.front() != '#') paths.push_back(path);
    }
    if (lines.bad())
        throw IoError(message("reading the list \"", name, "\" failed (", std::strerror(errno),
                              "); check the disk it is on"));
    return paths;
}

}  // namespace

bool is_pattern(const std::string& path) {
    const std::string file = io::parse_path(path).file;
    std::error_code unreadable;
    return file.find_first_of("*?[") != std::string::npos && !fs::exists(file, unreadable);
}

std::vector<std::string> matching_files(const std::string& path) {
    if (!is_pattern(path)) return {path};
    const io::PathSpec spec = io::parse_path(path);
    glob_t found{};
    const int error = glob(spec.file.c_str(), GLOB_NOSORT, nullptr, &found);
    const std::unique_ptr<glob_t, void (*)(glob_t*)> freed(&found, globfree);
    if (error == GLOB_NOSPACE) throw OutOfMemory(message("no memory to expand \"", path, "\""));
    std::vector<std::string> files;
    for (std::size_t i = 0; error == 0 && i < found.gl_pathc; ++i)
        files.push_back(found.gl_pathv[i] + (spec.dataset.empty() ? "" : ":" + spec.dataset));
    if (files.empty())
        throw InputNotFound(message("no file matches \"", path, "\"; correct the pattern"));
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::string> read_file_list(const std::string& path) {
    if (path == "-") return paths_of(std::cin, "standard input");
    std::error_code unreadable;
    if (fs::is_directory(path, unreadable))
        throw InvalidArgument(message("--list names the folder \"", path,
                                      "\"; give a file of one path a line, or a pattern such as \"",
                                      (fs::path(path) / "*.tif").string(), "\" as the image"));
    std::ifstream lines(path, std::ios::binary);
    if (!lines)
        throw InputNotFound(message("cannot open the list \"", path, "\" (", std::strerror(errno),
                                    "); check its path"));
    return paths_of(lines, path);
}

void check_kernel_path(const std::string& path) {
    std::error_code unreadable;
    if (is_pattern(path))
        throw InvalidArgument(message("the kernel \"", path,
                                      "\" is a pattern; name one file, which is the last argument "
                                      "after the images"));
    if (fs::is_directory(path, unreadable))
        throw InvalidArgument(message("the kernel \"", path, "\" is a folder; name a file in it"));
}

}  // namespace convolume::cli
