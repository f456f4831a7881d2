// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that each add the classes and functions of one source file to the extension.

#include <nanobind/nanobind.h>

#include <string_view>

namespace convolume::python {

namespace nb = nanobind;
using namespace nb::literals;  // "name"_a is an argument

void bind_option_names(nb::module_& module);
void bind_machine(nb::module_& module);
void bind_convolver(nb::module_& module);
void bind_deconvolver(nb::module_& module);
void bind_deskew(nb::module_& module);
void bind_filters(nb::module_& module);
void bind_channelizers(nb::module_& module);
void bind_correlation(nb::module_& module);
void bind_stream_filter(nb::module_& module);
void bind_optics(nb::module_& module);
void bind_rate_conversion(nb::module_& module);
void bind_resampling(nb::module_& module);
void bind_files(nb::module_& module);
void bind_signals(nb::module_& module);
void bind_views(nb::module_& module);
void bind_command(nb::module_& module);
void bind_rules(nb::module_& module);
void bind_formats(nb::module_& module);

/// Returns Python's keyword for an option of the library; any other name unchanged. For the
/// program of `convolume process` returns the flag of the command.
std::string keyword_of(std::string_view option);

}  // namespace convolume::python
