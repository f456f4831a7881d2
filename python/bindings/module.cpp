// SPDX-License-Identifier: Apache-2.0
// The extension convolume._core: the library's classes with plain types. The package around it has
// the names and defaults that users see. The library's errors become the classes of
// convolume/_errors.py, which are also usual errors of Python: ValueError, MemoryError, OSError,
// RuntimeError.
#include <new>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "convolume/error.hpp"
#include "convolume/version.hpp"

namespace convolume::python {

namespace {

void raise(const char* name, const std::string& text) {
    const nb::object errors = nb::module_::import_("convolume._errors");
    const nb::object error = errors.attr(name)(nb::str(text.c_str()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

/// Returns the keywords that help against an error, in parentheses; empty if there are none.
std::string hint(const OutOfMemory& error) {
    switch (error.memory()) {
        case MemoryKind::host:
            return " (max_host_mem)";
        case MemoryKind::gpu:
            return " (max_gpu_mem)";
        case MemoryKind::host_and_gpu:
            return " (max_host_mem, max_gpu_mem)";
    }
    return {};
}
std::string hint(const DeviceFailure&) {
    return " (device='cpu')";
}
std::string hint(const GpuUnavailable&) {
    return " (device='cpu')";
}

/// Returns the sentence of an error with Python's keywords for the options that it names.
template <class Thrown>
std::string sentence_of(const Thrown& error) {
    if (error.sentence().names_options()) return error.sentence().with_names(keyword_of);
    if constexpr (requires { hint(error); })
        return error.what() + hint(error);
    else
        return error.what();
}

void raise_out_of_memory() {
    raise("OutOfMemory", "the system refused memory: ask for less, or free some");
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const WrongType& error) {
        raise("WrongType", sentence_of(error));
    } catch (const InvalidArgument& error) {
        raise("InvalidArgument", sentence_of(error));
    } catch (const BadData& error) {
        raise("BadData", sentence_of(error));
    } catch (const InputNotFound& error) {
        raise("InputNotFound", sentence_of(error));
    } catch (const OutputExists& error) {
        raise("OutputExists", sentence_of(error));
    } catch (const CannotCreate& error) {
        raise("CannotCreate", sentence_of(error));
    } catch (const IoError& error) {
        raise("FileFailure", sentence_of(error));
    } catch (const OutOfMemory& error) {
        raise("OutOfMemory", sentence_of(error));
    } catch (const DeviceFailure& error) {
        raise("DeviceFailure", sentence_of(error));
    } catch (const GpuUnavailable& error) {
        raise("Unavailable", sentence_of(error));
    } catch (const Unavailable& error) {
        raise("Unavailable", sentence_of(error));
    } catch (const Cancelled& error) {
        raise("Cancelled", sentence_of(error));
    } catch (const Error& error) {
        raise("Error", sentence_of(error));
    } catch (const std::bad_alloc&) {
        raise_out_of_memory();
    } catch (const std::length_error&) {  // of a container beyond every memory
        raise_out_of_memory();
    }
}

}  // namespace
}  // namespace convolume::python

NB_MODULE(_core, module) {
    // Objects that daemon threads still hold at exit are no leaks. Debug builds report them.
#ifdef NDEBUG
    nanobind::set_leak_warnings(false);
#endif
    module.doc() = "The compiled part of convolume. Its names may change: use the package's.";
    module.def(
        "version", [] { return convolume::version(); },
        "Returns the version of the library, such as \"1.2.3\".");
    nanobind::register_exception_translator(convolume::python::translate);
    convolume::python::bind_option_names(module);
    convolume::python::bind_machine(module);
    convolume::python::bind_convolver(module);
    convolume::python::bind_deconvolver(module);
    convolume::python::bind_filters(module);
    convolume::python::bind_channelizers(module);
    convolume::python::bind_correlation(module);
    convolume::python::bind_stream_filter(module);
    convolume::python::bind_optics(module);
    convolume::python::bind_deskew(module);
    convolume::python::bind_views(module);
    convolume::python::bind_rate_conversion(module);
    convolume::python::bind_resampling(module);
    convolume::python::bind_signals(module);
    convolume::python::bind_files(module);
    convolume::python::bind_command(module);
    convolume::python::bind_rules(module);
    convolume::python::bind_formats(module);
}
