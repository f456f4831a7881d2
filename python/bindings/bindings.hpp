// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that each add the classes and functions of one source file to the extension.

#include <nanobind/nanobind.h>

namespace convolume::python {

void bind_option_names(nanobind::module_& module);
void bind_machine(nanobind::module_& module);
void bind_convolver(nanobind::module_& module);
void bind_deconvolver(nanobind::module_& module);
void bind_filters(nanobind::module_& module);
void bind_optics(nanobind::module_& module);
void bind_files(nanobind::module_& module);

}  // namespace convolume::python
