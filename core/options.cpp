// SPDX-License-Identifier: Apache-2.0
#include "convolume/options.hpp"

#include <charconv>
#include <cmath>
#include <span>

#include "convolume/error.hpp"

namespace convolume {

namespace {

// The names of one option; the first name of a value is the one printed.
template <class Value>
struct Name {
    const char* name;
    Value value;
};

constexpr Name<Mode> modes[] = {{"full", Mode::full}, {"same", Mode::same}, {"valid", Mode::valid}};
constexpr Name<BoundaryKind> boundaries[] = {
    {"zero", BoundaryKind::zero},       {"constant", BoundaryKind::constant},
    {"nearest", BoundaryKind::nearest}, {"reflect", BoundaryKind::reflect},
    {"mirror", BoundaryKind::mirror},   {"wrap", BoundaryKind::wrap},
    {"dirichlet", BoundaryKind::zero},  {"neumann", BoundaryKind::nearest},
    {"edge", BoundaryKind::nearest},    {"symmetric", BoundaryKind::reflect},
    {"periodic", BoundaryKind::wrap}};
constexpr Name<Operation> operations[] = {{"convolve", Operation::convolve},
                                          {"correlate", Operation::correlate},
                                          {"adjoint", Operation::adjoint}};
constexpr Name<Method> methods[] = {{"auto", Method::automatic},
                                    {"in-core", Method::in_core},
                                    {"dif", Method::dif},
                                    {"tiled", Method::tiled},
                                    {"direct", Method::direct}};
constexpr Name<Precision> precisions[] = {{"float32", Precision::float32},
                                          {"float64", Precision::float64}};
constexpr Name<NanPolicy> nan_policies[] = {
    {"error", NanPolicy::error}, {"zero", NanPolicy::zero}, {"propagate", NanPolicy::propagate}};
constexpr Name<KernelNormalization> normalizations[] = {{"none", KernelNormalization::none},
                                                        {"sum", KernelNormalization::sum},
                                                        {"peak", KernelNormalization::peak}};

template <class Value, std::size_t n>
const char* name_in(const Name<Value> (&names)[n], Value value) {
    for (const auto& entry : names)
        if (entry.value == value) return entry.name;
    throw InternalError("an option outside its enumeration");
}

template <class Value, std::size_t n>
Value value_in(const Name<Value> (&names)[n], std::string_view name, const char* option) {
    std::string choices;
    for (const auto& entry : names) {
        if (entry.name == name) return entry.value;
        choices += choices.empty() ? "" : ", ";
        choices += entry.name;
    }
    throw InvalidArgument(message("'", name, "' is no ", option, ": use one of ", choices));
}

}  // namespace

const char* to_string(Mode value) {
    return name_in(modes, value);
}
const char* to_string(BoundaryKind value) {
    return name_in(boundaries, value);
}
const char* to_string(Operation value) {
    return name_in(operations, value);
}
const char* to_string(Method value) {
    return name_in(methods, value);
}
const char* to_string(Precision value) {
    return name_in(precisions, value);
}
const char* to_string(NanPolicy value) {
    return name_in(nan_policies, value);
}
const char* to_string(KernelNormalization value) {
    return name_in(normalizations, value);
}

std::string to_string(const Boundary& boundary) {
    if (boundary.kind != BoundaryKind::constant) return to_string(boundary.kind);
    char digits[32];  // the shortest that read back as the same number
    const auto end = std::to_chars(std::begin(digits), std::end(digits), boundary.value).ptr;
    return "constant:" + std::string(digits, end);
}

Mode parse_mode(std::string_view text) {
    return value_in(modes, text, "mode");
}
Operation parse_operation(std::string_view text) {
    return value_in(operations, text, "operation");
}
Method parse_method(std::string_view text) {
    return value_in(methods, text, "method");
}
Precision parse_precision(std::string_view text) {
    return value_in(precisions, text, "precision");
}
NanPolicy parse_nan_policy(std::string_view text) {
    return value_in(nan_policies, text, "treatment of NaN");
}
KernelNormalization parse_kernel_normalization(std::string_view text) {
    return value_in(normalizations, text, "kernel normalization");
}

Boundary parse_boundary(std::string_view text) {
    const std::size_t colon = text.find(':');
    Boundary boundary{value_in(boundaries, text.substr(0, colon), "boundary"), 0};
    const bool is_constant = boundary.kind == BoundaryKind::constant;
    if (is_constant != (colon != std::string_view::npos))
        throw InvalidArgument(message("'", text, "' is no boundary: ",
                                      is_constant
                                          ? "write the value after a colon, as in constant:100"
                                          : "only constant takes a value"));
    if (is_constant) {
        const char* const end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data() + colon + 1, end, boundary.value);
        if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(boundary.value))
            throw InvalidArgument(
                message("'", text.substr(colon + 1),
                        "' is no boundary value: write a number, as in constant:100"));
    }
    return boundary;
}

std::string to_string(const KernelCenter& center) {
    switch (center.kind) {
        case KernelCenter::Kind::middle:
            return "middle";
        case KernelCenter::Kind::scipy:
            return "scipy";
        case KernelCenter::Kind::peak:
            return "peak";
        case KernelCenter::Kind::centroid:
            return "centroid";
        case KernelCenter::Kind::corner:
            return "corner";
        case KernelCenter::Kind::explicit_:
            return to_string(center.index, ",");
    }
    throw InternalError("a kernel center outside its enumeration");
}

KernelCenter parse_kernel_center(std::string_view text) {
    if (text == "middle") return {};
    if (text == "scipy") return {KernelCenter::Kind::scipy, {}};
    if (text == "peak") return {KernelCenter::Kind::peak, {}};
    if (text == "centroid") return {KernelCenter::Kind::centroid, {}};
    if (text == "corner") return {KernelCenter::Kind::corner, {}};
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

const char* to_string(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::fft:
            return "fft";
        case Algorithm::direct:
            return "direct";
        case Algorithm::separable:
            return "separable";
    }
    throw InternalError("an algorithm outside its enumeration");
}

}  // namespace convolume
