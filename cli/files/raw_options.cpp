// SPDX-License-Identifier: Apache-2.0
#include "cli/files/raw_options.hpp"

#include "cli/text/option_help.hpp"

namespace convolume::cli {

void add_raw_options(CLI::App& app, const char* group, io::OpenSignalOptions& options) {
    const auto add = [&](CLI::Option* option) {
        if (group != nullptr) option->group(group);
    };
    add(add_parsed(app, "--raw", options.raw_type, io::parse_stored_type,
                   "float32|complex64|int16|ci16|…",
                   "Type of raw samples that no file name gives"));
    add(add_parsed(app, "--header", options.raw_header, parse_positive<index_t>, "BYTES",
                   "Bytes before the first raw sample (default 0)"));
    add(add_parsed(app, "--byte-order", options.raw_byte_order, io::parse_byte_order, "little|big",
                   "Byte order of raw samples (default little)"));
    add(add_parsed(app, "--signals", options.raw_signals, parse_positive<index_t>, "N",
                   "Number of signals of equal length, one after another, in a raw file"));
}

}  // namespace convolume::cli
