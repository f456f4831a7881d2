// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/scales.hpp"

#include <cmath>
#include <memory>

#include "io/hdf5/answers.hpp"
#include "io/hdf5/attributes.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr hsize_t most_coordinates = 1 << 20;
/// Coordinates in single precision are rounded.
constexpr double evenness = 1e-3;
constexpr double step_rounding = 1e-7;

/// Distance of neighbors, if all distances are equal within `evenness`.
std::optional<double> step_of(const std::vector<double>& coordinates) {
    const auto intervals = static_cast<double>(coordinates.size()) - 1;
    if (intervals < 1) return std::nullopt;
    const double step = (coordinates.back() - coordinates.front()) / intervals;
    if (!std::isfinite(step) || step == 0) return std::nullopt;
    for (std::size_t i = 1; i < coordinates.size(); ++i)
        if (!(std::abs(coordinates[i] - coordinates[i - 1] - step) <= evenness * std::abs(step)))
            return std::nullopt;
    return std::abs(step);
}

std::optional<double> read_step(hid_t scale, hsize_t extent) {
    const Hdf5Id type(H5Dget_type(scale), H5Tclose);
    const Hdf5Id space(H5Dget_space(scale), H5Sclose);
    const Hdf5Id properties(H5Dget_create_plist(scale), H5Pclose);
    if (!type || !space || !properties || H5Sget_simple_extent_ndims(space.get()) != 1 ||
        H5Pget_layout(properties.get()) == H5D_VIRTUAL ||
        H5Pget_external_count(properties.get()) != 0)
        return std::nullopt;
    const H5T_class_t kind = H5Tget_class(type.get());
    hsize_t count = 0;
    H5Sget_simple_extent_dims(space.get(), &count, nullptr);
    if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || count != extent || count > most_coordinates)
        return std::nullopt;
    std::vector<double> coordinates(count);
    if (H5Dread(scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, coordinates.data()) < 0)
        return std::nullopt;
    const auto step = step_of(coordinates);
    // 0.1 µm, not the mean of rounded distances.
    return step ? std::optional(near_decimal(*step, step_rounding)) : step;
}

std::string last_name(hid_t object) {
    std::string name(256, '\0');
    const ssize_t length = H5Iget_name(object, name.data(), name.size());
    if (length < 1 || length >= static_cast<ssize_t>(name.size())) return "";
    name.resize(static_cast<std::size_t>(length));
    return name.substr(name.rfind('/') + 1);
}

/// Calls `use` with the first scale of every dimension; it is not open where there is none.
template <class Use>
void for_each_scale(hid_t dataset, std::size_t rank, const Use& use) {
    if (H5Aexists(dataset, "DIMENSION_LIST") <= 0) return;
    const Hdf5Id attribute(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT), H5Aclose);
    const Hdf5Id space(attribute ? H5Aget_space(attribute.get()) : H5I_INVALID_HID, H5Sclose);
    const Hdf5Id type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
    const Hdf5Id file_type(attribute ? H5Aget_type(attribute.get()) : H5I_INVALID_HID, H5Tclose);
    if (!space || !type || !file_type || H5Tequal(file_type.get(), type.get()) <= 0 ||
        H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(rank))
        return;
    std::vector<hvl_t> lists(rank, hvl_t{});
    if (H5Aread(attribute.get(), type.get(), lists.data()) < 0) return;
    const auto reclaim = [&](std::vector<hvl_t>* read) {
        H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, read->data());
    };
    const std::unique_ptr<std::vector<hvl_t>, decltype(reclaim)> reclaimed(&lists, reclaim);
    for (const hvl_t& list : lists) {
        const bool has_scale = list.len > 0 && list.p != nullptr;
        const Hdf5Id scale(
            has_scale ? H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, list.p) : H5I_INVALID_HID,
            H5Oclose);
        use(scale && H5Iget_type(scale.get()) == H5I_DATASET ? scale.get() : H5I_INVALID_HID);
    }
}

}  // namespace

std::vector<Hdf5Scale> read_scales(const Hdf5Dataset& dataset) {
    constexpr std::size_t parts = 3;
    const std::vector<index_t>& dims = dataset.dims();
    const Hdf5Answer found = carried_answer("scales", [&] {
        Hdf5Answer answer;
        for_each_scale(dataset.id(), dims.size(), [&](hid_t scale) {
            const std::size_t d = answer.size() / parts;
            const bool there = scale >= 0;
            const auto step =
                there ? read_step(scale, static_cast<hsize_t>(dims[d])) : std::optional<double>();
            answer.push_back(there ? last_name(scale) : "");
            answer.push_back(there ? direct_text_attribute(scale, "units").value_or("") : "");
            answer.push_back(step ? number_text(*step) : "");
        });
        return answer;
    });
    std::vector<Hdf5Scale> scales;
    for (std::size_t i = 0; i + parts <= found.size(); i += parts)
        scales.push_back({found[i], found[i + 1], parse_number(found[i + 2])});
    return scales;
}

}  // namespace convolume::io
