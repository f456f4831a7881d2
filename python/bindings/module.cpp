// SPDX-License-Identifier: Apache-2.0
// The extension convolume._core: the library's classes with plain types. The package around it has
// the names and defaults that users see. The library's errors become the classes of
// convolume/_errors.py, which are also usual errors of Python: ValueError, MemoryError, OSError,
// RuntimeError.
#include "bindings/bindings.hpp"
#include "convolume/error.hpp"
#include "convolume/version.hpp"

namespace convolume::python {

namespace nb = nanobind;

namespace {

void raise(const char* name, const char* text) {
    const nb::object errors = nb::module_::import_("convolume._errors");
    const nb::object error = errors.attr(name)(nb::str(text));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const InvalidArgument& error) {
        raise("InvalidArgument", error.what());
    } catch (const BadData& error) {
        raise("BadData", error.what());
    } catch (const InputNotFound& error) {
        raise("InputNotFound", error.what());
    } catch (const OutputExists& error) {
        raise("OutputExists", error.what());
    } catch (const CannotCreate& error) {
        raise("CannotCreate", error.what());
    } catch (const IoError& error) {
        raise("FileFailure", error.what());
    } catch (const OutOfMemory& error) {
        raise("OutOfMemory", error.what());
    } catch (const DeviceFailure& error) {
        raise("DeviceFailure", error.what());
    } catch (const Unavailable& error) {
        raise("Unavailable", error.what());
    } catch (const Cancelled& error) {
        raise("Cancelled", error.what());
    } catch (const Error& error) {
        raise("Error", error.what());
    }
}

}  // namespace
}  // namespace convolume::python

NB_MODULE(_core, module) {
    module.doc() = "The compiled part of convolume. Its names may change: use the package's.";
    module.def(
        "version", [] { return convolume::version(); },
        "Returns the version of the library, such as \"0.1.0\".");
    nanobind::register_exception_translator(convolume::python::translate);
    convolume::python::bind_option_names(module);
    convolume::python::bind_machine(module);
    convolume::python::bind_convolver(module);
    convolume::python::bind_deconvolver(module);
    convolume::python::bind_filters(module);
    convolume::python::bind_optics(module);
    convolume::python::bind_files(module);
}
