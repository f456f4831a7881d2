// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of the values of options of deskewing (core/option_names.hpp).

#include "convolume/deskew.hpp"
#include "core/option_names.hpp"

namespace convolume {

template <>
inline constexpr auto names_of<Interpolation> = std::to_array<NamedValue<Interpolation>>(
    {{"linear", Interpolation::linear}, {"lanczos", Interpolation::lanczos}});

}  // namespace convolume
