// SPDX-License-Identifier: Apache-2.0
// The library's errors become the classes of convolume/_errors.py, which are Python's usual ones as
// well: ValueError, MemoryError, OSError, RuntimeError.
#include <nanobind/nanobind.h>

#include "bindings/bindings.hpp"
#include "convolume/error.hpp"

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

void bind_errors(nb::module_&) {
    nb::register_exception_translator(translate);
}

}  // namespace convolume::python
