// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/series.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "io/units.hpp"

namespace convolume::io {
namespace {

/// Returns the sorted different values of the member `number`.
std::vector<index_t> sorted_numbers(const std::vector<NumberedDataset>& placed,
                                    index_t NumberedDataset::*number) {
    std::set<index_t> values;
    for (const NumberedDataset& dataset : placed) values.insert(dataset.*number);
    return {values.begin(), values.end()};
}

/// Gives the only dataset of a layout the axes that the caller requests. Throws InvalidArgument if
/// there are several datasets, whose axes are known.
void apply_axes(const Hdf5Source& source, const std::string& axes, Hdf5Series& series) {
    const std::string requested = upper_case(axes);
    if (requested.empty() || requested == series.metadata.axes || requested == "TCZYX") return;
    if (series.datasets.size() > 1)
        throw InvalidArgument(message("axes \"", axes, "\" do not fit ", source.files.main().path(),
                                      ", which has the axes ", series.metadata.axes, " in ",
                                      series.datasets.size(), " datasets; name one of them as ",
                                      source.files.main().path(), ":/", series.datasets[0]));
    const Hdf5Dataset dataset(source.files, series.datasets[0]);
    const Shape3 whole{series.layout.extent('Z'), series.layout.extent('Y'),
                       series.layout.extent('X')};
    if (series.metadata.shape != whole)
        throw InvalidArgument(message("axes \"", axes, "\" do not fit ", dataset.full_name(),
                                      ", which is padded along z, y, x; leave them out"));
    series.layout = axis_layout(dataset.dims(), "", axes, dataset.full_name());
    set_extents(series.metadata, series.layout);
    series.metadata.channel_names.clear();
    series.metadata.channel_colors.clear();
}

/// Adds a note that the file has other arrays than those that are read.
void note_others(const Hdf5Source& source, std::size_t others, Hdf5Series& series) {
    if (others == 0) return;
    const std::string& path = source.files.main().path();
    series.metadata.notes.push_back(
        message(path, " holds ", others, others == 1 ? " other dataset" : " other datasets",
                others == 1 ? " that is" : " that are", " not read; ", path, ":/NAME chooses one"));
}

/// Returns the number of arrays of pixels outside the series, among the first 1000 other names.
std::size_t count_others(const Hdf5Source& source, const std::vector<std::string>& all,
                         const Hdf5Series& series, bool (*is_of_layout)(const std::string&)) {
    constexpr int most_tried = 1000;
    const std::set<std::string> read(series.datasets.begin(), series.datasets.end());
    std::size_t others = 0;
    int compared = 0;
    for (const std::string& name : all) {
        if (read.count(name) > 0 || (is_of_layout != nullptr && is_of_layout(name))) continue;
        if (++compared > most_tried) break;
        if (is_pixel_array(source, name, 2)) ++others;
    }
    return others;
}

/// Returns the names of datasets that can be the image if the caller names none.
std::vector<std::string> image_candidates(const Hdf5Source& source) {
    std::vector<std::string> names = list_datasets(source);
    const std::size_t all = names.size();
    names.erase(std::remove_if(names.begin(), names.end(), is_bdv_table), names.end());
    if (names.empty() && all > 0)
        throw BadData(message(source.files.main().path(),
                              " holds tables of BigDataViewer's layout, but no image; copy it and "
                              "the files it links to again"));
    return names;
}

/// A layout of another program: functions that find an image in it, and recognize its datasets.
struct SeriesLayout {
    std::optional<Hdf5Series> (*find)(const Hdf5Source&, const std::vector<std::string>&);
    // null if only the datasets that are read belong to it
    bool (*is_of_layout)(const std::string&);
};
constexpr SeriesLayout layouts[] = {
    {find_bdv, is_of_bdv}, {find_imaris, is_of_imaris}, {find_fiji, nullptr}};

}  // namespace

std::optional<NumberedDataset> parse_numbered_name(const std::string& name,
                                                   std::string_view pattern,
                                                   std::string_view order) {
    constexpr std::size_t most_digits = 9;
    NumberedDataset placed{.name = name};
    std::string_view rest = name;
    for (const char letter : pattern) {
        if (letter != '#') {
            if (!rest.starts_with(letter)) return std::nullopt;
            rest.remove_prefix(1);
            continue;
        }
        index_t& number = order[0] == 'T'   ? placed.time
                          : order[0] == 'C' ? placed.channel
                                            : placed.level;
        order.remove_prefix(1);
        const std::string_view digits = rest.substr(0, most_digits);
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (parsed.ec != std::errc() || number < 0) return std::nullopt;
        rest.remove_prefix(static_cast<std::size_t>(parsed.ptr - digits.data()));
    }
    return rest.empty() ? std::optional(placed) : std::nullopt;
}

std::vector<NumberedDataset> find_numbered(const std::vector<std::string>& datasets,
                                           std::string_view pattern, std::string_view order) {
    std::vector<NumberedDataset> found;
    for (const std::string& name : datasets)
        if (auto placed = parse_numbered_name(name, pattern, order);
            placed && (placed->level == 0 || datasets.size() == 1))
            found.push_back(*std::move(placed));
    return found;
}

void arrange_datasets(const Hdf5Source& source, const std::vector<NumberedDataset>& placed,
                      Hdf5Series& series) {
    const std::string& path = source.files.main().path();
    const std::vector<index_t> times = sorted_numbers(placed, &NumberedDataset::time);
    const std::vector<index_t> channels = sorted_numbers(placed, &NumberedDataset::channel);
    if (times.size() * channels.size() != placed.size())
        throw BadData(message(path, " has ", placed.size(), " volumes for ", times.size(),
                              " times and ", channels.size(), " channels; name one of them as ",
                              path, ":/", placed.front().name));
    series.metadata.frames = static_cast<index_t>(times.size());
    series.metadata.channels = static_cast<index_t>(channels.size());
    series.datasets.assign(placed.size(), "");
    for (const NumberedDataset& dataset : placed) {
        const auto t = std::lower_bound(times.begin(), times.end(), dataset.time) - times.begin();
        const auto c =
            std::lower_bound(channels.begin(), channels.end(), dataset.channel) - channels.begin();
        series
            .datasets[static_cast<std::size_t>(t) * channels.size() + static_cast<std::size_t>(c)] =
            dataset.name;
    }
    const Hdf5Dataset first(source.files, series.datasets[0]);
    series.metadata.type = first.type();
    const std::string axes = first.dims().size() == 2 ? "YX" : "ZYX";
    series.layout = axis_layout(first.dims(), axes, "", first.full_name());
    if (series.layout.axes != axes)
        throw BadData(message(first.full_name(), " is of shape ", dims_text(first.dims()),
                              ", not z, y, x; name one dataset, and give --axes"));
    series.metadata.shape = {series.layout.extent('Z'), series.layout.extent('Y'),
                             series.layout.extent('X')};
    for (const std::string& name : series.datasets) {
        const Hdf5Dataset dataset(source.files, name);
        if (dataset.dims() != first.dims() || dataset.type() != first.type())
            throw BadData(message(dataset.full_name(), " is ", dims_text(dataset.dims()), " ",
                                  to_string(dataset.type()), ", but ", first.full_name(), " is ",
                                  dims_text(first.dims()), " ", to_string(first.type()),
                                  "; name one of them"));
    }
    series.metadata.axes =
        std::string(times.size() > 1 ? "T" : "") + (channels.size() > 1 ? "C" : "") + axes;
}

Hdf5Series find_series(const Hdf5Source& source, const std::string& dataset,
                       const std::string& axes) {
    const bool is_named = !dataset.empty();
    const std::vector<std::string> all =
        is_named ? std::vector{named_dataset(source, dataset)} : image_candidates(source);
    for (const SeriesLayout& layout : layouts) {
        auto series = layout.find(source, all);
        if (!series) continue;
        apply_axes(source, axes, *series);
        if (!is_named)
            note_others(source, count_others(source, all, *series, layout.is_of_layout), *series);
        return *std::move(series);
    }
    if (is_named) return plain_series(source, all[0], axes);
    const ChosenDataset choice = default_dataset(source, all, 2);
    Hdf5Series series = plain_series(source, choice.name, axes);
    note_others(source, choice.others, series);
    return series;
}

}  // namespace convolume::io
