// SPDX-License-Identifier: Apache-2.0
#include "io/signal/coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "convolume/error.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string path_beside(const std::string& npy_path) {
    return npy_path + ".json";
}

/// Returns the content of a JSON file that has a sampling rate; null for other files and none.
OrderedJson coordinates_json(const std::string& path) {
    constexpr index_t most_bytes = index_t{1} << 28;
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return {};
    const RawFile file(path);
    if (file.size() > most_bytes) return {};
    OrderedJson json = OrderedJson::parse(file.head(file.size()), nullptr, false);
    if (!json.is_object()) return {};
    const auto rate = json.find(coordinate_names::sampling_rate);
    return rate != json.end() && rate->is_number() ? json : OrderedJson();
}

bool all_finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double one) { return std::isfinite(one); });
}

std::string text_of(const CreateSignalOptions& options) {
    const SignalCoordinates& coordinates = options.coordinates;
    OrderedJson json;
    if (!options.software.empty()) json["software"] = options.software;
    json[coordinate_names::sampling_rate] = *coordinates.sampling_rate_hz;
    json[coordinate_names::start] = coordinates.start_s;
    if (!coordinates.center_frequencies_hz.empty())
        json[coordinate_names::center_frequencies] = coordinates.center_frequencies_hz;
    return json.dump() + '\n';
}

}  // namespace

void check_coordinates(const std::string& path, const SignalCoordinates& coordinates,
                       const std::vector<index_t>& dims) {
    if (!coordinates.sampling_rate_hz) return;
    const double rate = *coordinates.sampling_rate_hz;
    if (!(rate > 0) || !std::isfinite(rate) || !std::isfinite(coordinates.start_s) ||
        !all_finite(coordinates.center_frequencies_hz))
        throw BadData(message(path, " names a sampling rate of ", rate,
                              " Hz, or a time or frequency that is not finite; correct it"));
    const auto count = static_cast<index_t>(coordinates.center_frequencies_hz.size());
    if (count == 0) return;
    const index_t channels = dims.size() > 1 ? dims[dims.size() - 2] : 1;
    if (count != channels)
        throw BadData(message(path, " names ", count, " center frequencies for ", channels,
                              channels == 1 ? " channel" : " channels",
                              "; it is of another array, remove or correct it"));
}

SignalCoordinates coordinates_beside(const std::string& npy_path,
                                     const std::vector<index_t>& dims) {
    const std::string path = path_beside(npy_path);
    const OrderedJson json = coordinates_json(path);
    SignalCoordinates coordinates;
    if (json.is_null()) return coordinates;
    coordinates.sampling_rate_hz = json[coordinate_names::sampling_rate].get<double>();
    try {
        coordinates.start_s = json.value(coordinate_names::start, 0.0);
        coordinates.center_frequencies_hz =
            json.value(coordinate_names::center_frequencies, std::vector<double>());
    } catch (const OrderedJson::exception&) {
        throw BadData(message(path, " has times or frequencies that are no numbers; correct it"));
    }
    check_coordinates(path, coordinates, dims);
    return coordinates;
}

CoordinatesBeside::CoordinatesBeside(const std::string& npy_path,
                                     const CreateSignalOptions& options)
    : path_(path_beside(npy_path)), removes_old_(!coordinates_json(path_).is_null()) {
    if (removes_old_ && !options.overwrite)
        throw OutputExists(
            message("\"", path_, "\" exists already, and would describe \"", npy_path, "\""));
    if (!options.coordinates.sampling_rate_hz) return;
    const std::string text = text_of(options);
    const auto bytes = static_cast<index_t>(text.size());
    output_ = std::make_unique<AtomicOutput>(path_, options.overwrite, bytes);
    output_->write(0, text.data(), bytes);
}

void CoordinatesBeside::commit() {
    if (output_) return output_->commit();
    if (removes_old_ && std::remove(path_.c_str()) != 0)
        throw IoError(message("removing ", path_,
                              " failed, which is of an earlier array; remove "
                              "it"));
}

}  // namespace convolume::io
