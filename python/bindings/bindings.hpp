// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that each add the classes and functions of one source file to the extension.

#include <nanobind/nanobind.h>

#include <string_view>

namespace convolume::python {

void bind_option_names(nanobind::module_& module);
void bind_machine(nanobind::module_& module);
void bind_convolver(nanobind::module_& module);
void bind_deconvolver(nanobind::module_& module);
void bind_filters(nanobind::module_& module);
void bind_channelizers(nanobind::module_& module);
void bind_correlation(nanobind::module_& module);
void bind_stream_filter(nanobind::module_& module);
void bind_optics(nanobind::module_& module);
void bind_resampling(nanobind::module_& module);
void bind_files(nanobind::module_& module);
void bind_command(nanobind::module_& module);
void bind_formats(nanobind::module_& module);

/// Returns Python's keyword for an option of the library; any other name unchanged.
std::string keyword_of(std::string_view option);

}  // namespace convolume::python
