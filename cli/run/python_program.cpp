// SPDX-License-Identifier: Apache-2.0
#include "cli/run/python_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr const char* own_path = "CONVOLUME_COMMAND";

}  // namespace

void run_python_program(std::string name, std::vector<std::string> arguments) {
    std::error_code unknown;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (!unknown) setenv(own_path, self.c_str(), 1);
    std::vector<char*> argv{name.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execvp(name.c_str(), argv.data());
    const int why = errno;
    unsetenv(own_path);
    if (why == ENOENT)
        throw Unavailable(message(name,
                                  " is not on the PATH; it comes with the Python package: pip "
                                  "install 'convolume[zarr]'"));
    throw Unavailable(message(name, " cannot be started: ", std::strerror(why)));
}

bool started_by_python_program() {
    return std::getenv(own_path) != nullptr;
}

}  // namespace convolume::cli
