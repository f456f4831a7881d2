// SPDX-License-Identifier: Apache-2.0
#include "operations/optics/psf_layers.hpp"

#include <algorithm>
#include <array>

#include "convolume/error.hpp"

namespace convolume {

namespace {

constexpr std::array<std::string_view, 8> layers{"ni0",    "ng",    "ng0",    "ns",
                                                 "ti0_um", "tg_um", "tg0_um", "depth_um"};

}  // namespace

bool is_layer(std::string_view parameter) {
    return std::find(layers.begin(), layers.end(), parameter) != layers.end();
}

void refuse_unused_layers(PsfModel model, const std::vector<std::string>& given) {
    if (has_layers(model)) return;
    for (const std::string_view layer : layers)
        if (std::find(given.begin(), given.end(), layer) != given.end())
            throw InvalidArgument(sentence(OptionName{layer},
                                           " does not apply to models without layers; leave it "
                                           "out, or choose ",
                                           OptionName{"model"}, " gibson-lanni or vectorial"));
}

void complete_objective(PsfOptions& options, const std::vector<std::string>& given) {
    Objective& lens = options.objective;
    const auto is_open = [&](std::string_view name) {
        return std::find(given.begin(), given.end(), name) == given.end();
    };
    if (is_open("ni0")) lens.ni0 = lens.ni;
    if (is_open("ns")) lens.ns = sample_index_for(lens.ni);
    if (is_open("ng0")) lens.ng0 = lens.ng;
    if (is_open("tg0_um")) lens.tg0_um = lens.tg_um;
}

bool needs_wavelength(std::string_view modality) {
    return modality != to_string(Modality::two_photon);
}

}  // namespace convolume
