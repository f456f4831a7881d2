// SPDX-License-Identifier: Apache-2.0
// The extension convolume._core: the library's classes with plain types. The package around it has
// the names and defaults that people meet.
#include "bindings/bindings.hpp"
#include "convolume/version.hpp"

NB_MODULE(_core, module) {
    module.doc() = "The compiled part of convolume. Its names may change: use the package's.";
    module.def(
        "version", [] { return convolume::version(); }, "Of the library: \"0.1.0\".");
    convolume::python::bind_errors(module);
    convolume::python::bind_option_names(module);
    convolume::python::bind_machine(module);
    convolume::python::bind_convolver(module);
    convolume::python::bind_device(module);
    convolume::python::bind_deconvolver(module);
    convolume::python::bind_filters(module);
    convolume::python::bind_optics(module);
    convolume::python::bind_files(module);
}
