// SPDX-License-Identifier: Apache-2.0
#include "convolume/options.hpp"

#include <charconv>
#include <cmath>

#include "core/option_names.hpp"
#include "core/text.hpp"

namespace convolume {

namespace {

BoundaryKind parse_boundary_kind(std::string_view name) {
    if (const auto kind = value_named<BoundaryKind>(name)) return *kind;
    for (const NamedValue<BoundaryKind>& alias : boundary_aliases)
        if (is_name(name, alias.name)) return alias.value;
    throw InvalidArgument(
        message("'", name, "' is no boundary: use one of ", list_of_names<BoundaryKind>()));
}

}  // namespace

CONVOLUME_NAMES(Mode, parse_mode, parse_named, "mode")
CONVOLUME_TO_STRING(BoundaryKind)
CONVOLUME_NAMES(Operation, parse_operation, parse_named, "operation")
CONVOLUME_NAMES(Method, parse_method, parse_named, "method")
CONVOLUME_TO_STRING(Algorithm)
CONVOLUME_NAMES(Precision, parse_precision, parse_named, "precision")
CONVOLUME_NAMES(NanPolicy, parse_nan_policy, parse_named, "treatment of NaN")
CONVOLUME_NAMES(KernelNormalization, parse_kernel_normalization, parse_named,
                "kernel normalization")

std::string to_string(const Boundary& boundary) {
    if (boundary.kind != BoundaryKind::constant) return to_string(boundary.kind);
    char digits[32];  // shortest digits that are read back as the same number
    const auto end = std::to_chars(std::begin(digits), std::end(digits), boundary.value).ptr;
    return "constant:" + std::string(digits, end);
}

Boundary parse_boundary(std::string_view text) {
    const std::size_t colon = text.find(':');
    Boundary boundary{parse_boundary_kind(text.substr(0, colon)), 0};
    const bool is_constant = boundary.kind == BoundaryKind::constant;
    if (is_constant != (colon != std::string_view::npos))
        throw InvalidArgument(message("'", text, "' is no boundary: ",
                                      is_constant
                                          ? "write the value after a colon, as in constant:100"
                                          : "only constant takes a value"));
    if (is_constant) {
        const auto value = number_in<double>(text.substr(colon + 1));
        if (!value || !std::isfinite(*value))
            throw InvalidArgument(
                message("'", text.substr(colon + 1),
                        "' is no boundary value: write a number, as in constant:100"));
        boundary.value = *value;
    }
    return boundary;
}

std::string to_string(const KernelCenter& center) {
    if (center.kind == KernelCenter::Kind::explicit_) return to_string(center.index, ",");
    return name_of(center.kind);
}

KernelCenter parse_kernel_center(std::string_view text) {
    if (const auto kind = value_named<KernelCenter::Kind>(text)) return {*kind, {}};
    KernelCenter center{KernelCenter::Kind::explicit_, {}};
    const char* position = text.data();
    const char* const end = text.data() + text.size();
    for (int axis = 0; axis < 3; ++axis) {
        const auto parsed = std::from_chars(position, end, center.index[axis]);
        const bool separated =
            axis == 2 ? parsed.ptr == end : parsed.ptr != end && *parsed.ptr == ',';
        if (parsed.ec != std::errc() || !separated)
            throw InvalidArgument(message("'", text,
                                          "' is no kernel center: write middle, scipy, peak, "
                                          "centroid, corner or three indices Z,Y,X"));
        position = parsed.ptr + 1;
    }
    return center;
}

}  // namespace convolume
