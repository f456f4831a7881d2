// SPDX-License-Identifier: Apache-2.0
// Rules that the package shares with the command (operations).
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "operations/channels/channel_kernels.hpp"
#include "operations/files/outputs.hpp"
#include "operations/warnings/images.hpp"

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
        "find_channel",
        [](const std::string& option, const std::string& text, const io::ImageMetadata& metadata) {
            std::vector<std::string> notes;
            const index_t number = find_channel(option, text, channels_of(metadata), notes);
            return std::pair{number, notes};
        },
        "Returns the number of the channel that a text names, and what is doubtful.", "option"_a,
        "text"_a, "metadata"_a);
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

void bind_warnings(nb::module_& module) {
    module.def("input_warnings", &input_warnings,
               "Returns sentences on what reading an image assumed or left out.", "name"_a,
               "image"_a);
    module.def(
        "changed_samples_warnings",
        [](const std::string& type, index_t low, index_t high, index_t nonfinite,
           const std::string& input, const std::string& option) {
            return changed_samples_warnings({low, high, type, option, nonfinite, input});
        },
        "Returns sentences on samples that were clamped, or read as 0 since they were not finite.",
        "type"_a, "low"_a, "high"_a, "nonfinite"_a = 0, "input"_a = "image", "option"_a = "dtype");
}

}  // namespace

void bind_rules(nb::module_& module) {
    bind_channels(module);
    bind_warnings(module);
    module.def("check_not_input", &check_not_input,
               "Raises InvalidArgument if writing the output would replace the input. `is_image` "
               "tells whether a folder is one image.",
               "output"_a, "input"_a, "is_image"_a);
}

}  // namespace convolume::python
