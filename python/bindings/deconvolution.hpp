// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that the classes of deconvolution share: they make dicts of reports, and execute with
// callbacks.

#include <nanobind/nanobind.h>

#include <functional>
#include <optional>

#include "bindings/arrays.hpp"
#include "convolume/deconvolver.hpp"

namespace convolume::python {

nb::dict to_dict(const DeconvolveReport& report);

using ExecuteDeconvolution =
    std::function<DeconvolveReport(const DeconvolveRun& run, const ExecutionContext& context)>;

/// Runs a deconvolution, and returns its report. `callback(facts, read)` is called after each
/// iteration with a dict and a function that copies the estimate into an array. An exception that
/// it raises ends the work.
nb::dict execute_deconvolution(const std::optional<ReadArray>& start, const nb::object& callback,
                               const nb::object& progress, const ExecuteDeconvolution& deconvolve);

}  // namespace convolume::python
