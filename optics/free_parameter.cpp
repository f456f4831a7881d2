// SPDX-License-Identifier: Apache-2.0
#include "optics/free_parameter.hpp"

#include <algorithm>

namespace convolume::optics {

bool has_layers(const PsfOptions& model) {
    return model.model == PsfModel::gibson_lanni || model.model == PsfModel::vectorial;
}

double value_of(const PsfOptions& model, PsfParameter parameter) {
    switch (parameter) {
        case PsfParameter::na:
            return model.objective.na;
        case PsfParameter::index:
            return has_layers(model) ? model.objective.ns : model.objective.ni;
        case PsfParameter::depth:
            break;
    }
    return model.depth_um;
}

void set_value(PsfOptions& model, PsfParameter parameter, double value) {
    switch (parameter) {
        case PsfParameter::na:
            model.objective.na = value;
            return;
        case PsfParameter::index:
            if (has_layers(model))
                model.objective.ns = value;
            else
                model.objective.ni = model.objective.ni0 = value;
            return;
        case PsfParameter::depth:
            model.depth_um = value;
            return;
    }
}

Range range_of(const PsfOptions& model, PsfParameter parameter) {
    constexpr double margin = 0.002;
    const Objective& lens = model.objective;
    // Where index is that of the immersion medium, NA and index stay apart.
    const double between =
        has_layers(model) ? 1 : std::max(lens.ni - 0.15, (lens.na + lens.ni) / 2);
    switch (parameter) {
        case PsfParameter::na: {
            const double least =
                has_layers(model) ? std::min({lens.ni, lens.ni0, lens.ng, lens.ng0}) : between;
            return {0.6 * lens.na, std::max(lens.na, std::min(1.4 * lens.na, least - margin)),
                    1e-3};
        }
        case PsfParameter::index: {
            const double index = value_of(model, parameter);
            return {std::max({1.0, index - 0.15, between}), index + 0.15, 1e-3};
        }
        case PsfParameter::depth:
            break;
    }
    return {0, 2 * model.depth_um + 10, 0.02};
}

}  // namespace convolume::optics
