// SPDX-License-Identifier: Apache-2.0
// Rules that the package shares with the command (operations).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "operations/channels/channel_kernels.hpp"

namespace convolume::python {

namespace {

void bind_channels(nb::module_& module) {
    module.def(
        "parse_channel_kernels",
        [](const std::string& option, const std::vector<std::string>& texts) {
            std::vector<std::pair<std::string, std::string>> kernels;
            for (const ChannelKernel& one : parse_channel_kernels(option, texts))
                kernels.emplace_back(one.channel, one.path);
            return kernels;
        },
        "Returns channels and paths that the values of an option name; \"\" is no channel.",
        "option"_a, "texts"_a);
    module.def(
        "kernels_of_channels",
        [](const std::string& option, const std::string& image, std::vector<std::string> named,
           const io::ImageMetadata& metadata) {
            std::vector<std::size_t> indices;
            for (const auto& index :
                 kernels_of_channels({option, image, std::move(named)}, channels_of(metadata)))
                indices.push_back(index.value());
            return indices;
        },
        "Returns for each channel the index of its kernel; \"\" in `named` is no channel.",
        "option"_a, "image"_a, "named"_a, "metadata"_a);
}

}  // namespace

void bind_rules(nb::module_& module) {
    bind_channels(module);
}

}  // namespace convolume::python
