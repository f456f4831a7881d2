// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of the values of options of PSFs and phantoms (core/option_names.hpp).

#include "convolume/beads.hpp"
#include "convolume/phantom.hpp"
#include "convolume/psf.hpp"
#include "core/option_names.hpp"

namespace convolume {

template <>
inline constexpr auto names_of<PsfModel> =
    std::to_array<NamedValue<PsfModel>>({{"gaussian", PsfModel::gaussian},
                                         {"born-wolf", PsfModel::born_wolf},
                                         {"gibson-lanni", PsfModel::gibson_lanni},
                                         {"vectorial", PsfModel::vectorial}});

template <>
inline constexpr auto names_of<Modality> =
    std::to_array<NamedValue<Modality>>({{"widefield", Modality::widefield},
                                         {"confocal", Modality::confocal},
                                         {"light-sheet", Modality::light_sheet},
                                         {"two-photon", Modality::two_photon},
                                         {"spinning-disc", Modality::spinning_disc}});

template <>
inline constexpr auto names_of<PsfParameter> = std::to_array<NamedValue<PsfParameter>>(
    {{"na", PsfParameter::na}, {"index", PsfParameter::index}, {"depth", PsfParameter::depth}});

template <>
inline constexpr auto names_of<PhantomKind> =
    std::to_array<NamedValue<PhantomKind>>({{"beads", PhantomKind::beads},
                                            {"filaments", PhantomKind::filaments},
                                            {"shells", PhantomKind::shells},
                                            {"cells", PhantomKind::cells},
                                            {"mixed", PhantomKind::mixed}});

}  // namespace convolume
