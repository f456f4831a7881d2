// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of the values of options of signals (core/option_names.hpp).

#include "convolume/correlation.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/resample_options.hpp"
#include "core/option_names.hpp"

namespace convolume {

template <>
inline constexpr auto names_of<FilterMethod> =
    std::to_array<NamedValue<FilterMethod>>({{"auto", FilterMethod::automatic},
                                             {"direct", FilterMethod::direct},
                                             {"overlap-save", FilterMethod::overlap_save},
                                             {"overlap-add", FilterMethod::overlap_add},
                                             {"partitioned", FilterMethod::partitioned}});

template <>
inline constexpr auto names_of<SampleStorage> =
    std::to_array<NamedValue<SampleStorage>>({{"plain", SampleStorage::plain},
                                              {"float16", SampleStorage::float16},
                                              {"bfloat16", SampleStorage::bfloat16},
                                              {"int16", SampleStorage::int16}});

/// The kind `explicit_` has no name: it is written as an index.
template <>
inline constexpr auto names_of<FilterOrigin::Kind> =
    std::to_array<NamedValue<FilterOrigin::Kind>>({{"center", FilterOrigin::Kind::center},
                                                   {"causal", FilterOrigin::Kind::causal},
                                                   {"anticausal", FilterOrigin::Kind::anticausal}});

template <>
inline constexpr auto names_of<PointPost> =
    std::to_array<NamedValue<PointPost>>({{"none", PointPost::none},
                                          {"power", PointPost::power},
                                          {"derivative", PointPost::derivative}});

template <>
inline constexpr auto names_of<SignalExtension> =
    std::to_array<NamedValue<SignalExtension>>({{"constant", SignalExtension::constant},
                                                {"edge", SignalExtension::edge},
                                                {"wrap", SignalExtension::wrap},
                                                {"symmetric", SignalExtension::symmetric},
                                                {"reflect", SignalExtension::reflect},
                                                {"antisymmetric", SignalExtension::antisymmetric},
                                                {"antireflect", SignalExtension::antireflect},
                                                {"smooth", SignalExtension::smooth},
                                                {"line", SignalExtension::line}});

template <>
inline constexpr auto names_of<PeakPosition> =
    std::to_array<NamedValue<PeakPosition>>({{"sample", PeakPosition::sample},
                                             {"parabola", PeakPosition::parabola},
                                             {"interpolated", PeakPosition::interpolated}});

}  // namespace convolume
