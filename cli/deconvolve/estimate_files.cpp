// SPDX-License-Identifier: Apache-2.0
#include "cli/deconvolve/estimate_files.hpp"

#include <filesystem>
#include <utility>

#include "cli/many_files/output_name.hpp"
#include "cli/run/output_path.hpp"

namespace convolume::cli {

namespace {

std::string padded(index_t number, index_t last, std::size_t least_digits) {
    std::string text = std::to_string(number);
    const std::size_t digits = std::max(std::to_string(last).size(), least_digits);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return text;
}

}  // namespace

std::string estimate_name(const std::string& result, const io::ImageMetadata& image, index_t volume,
                          int iteration, int iterations) {
    std::string mark;
    if (image.frames * image.channels > 1)
        mark = message(".t", padded(volume / image.channels, image.frames - 1, 1), ".c",
                       padded(volume % image.channels, image.channels - 1, 1));
    return marked_name(result, message(mark, ".iter", padded(iteration, iterations, 3)));
}

EstimateFiles::EstimateFiles(int every, int iterations, std::string path,
                             const io::ImageMetadata& result, PixelType type,
                             io::CreateOptions create, const std::vector<std::string>& inputs)
    : every_(every),
      iterations_(iterations),
      path_(std::move(path)),
      result_(result),
      create_(std::move(create)),
      estimate_(result.shape, type) {
    for (index_t volume = 0; volume < result.frames * result.channels; ++volume)
        for (int iteration = every; iteration <= iterations; iteration += every)
            check_outputs({{path_, estimate_name(path_, result_, volume, iteration, iterations)},
                           inputs,
                           create_.overwrite});
}

io::ImageMetadata EstimateFiles::metadata_of(index_t volume) const {
    io::ImageMetadata one = result_;
    one.type = estimate_.type();
    one.scaling.reset();
    if (result_.frames * result_.channels == 1) return one;
    const index_t c = volume % result_.channels;
    const auto channel = static_cast<std::size_t>(c);
    one.frames = one.channels = 1;
    one.frame_interval_s.reset();
    one.axes = "ZYX";
    if (!one.channel_names.empty()) one.channel_names = {result_.channel_names[channel]};
    if (!one.channel_colors.empty()) one.channel_colors = {result_.channel_colors[channel]};
    // What the image's texts say of channels and planes does not fit one volume.
    one.microscope.channels.clear();
    one.ome_xml.clear();
    one.imagej_description.clear();
    io::keep_lookup_tables(one, {c});
    return one;
}

void EstimateFiles::take(index_t volume, const Iteration& iteration, const EstimateReader& read) {
    // The estimates of a search are of some of the photons only.
    if (iteration.searching || iteration.number % every_ != 0) return;
    read(estimate_.view());
    const std::string name = estimate_name(path_, result_, volume, iteration.number, iterations_);
    const auto writer = io::create_image(name, metadata_of(volume), create_);
    writer->write(0, 0, std::as_const(estimate_).view());
    writer->commit();
    written_.push_back(name);
}

void EstimateFiles::remove() {
    for (const std::string& name : written_) {
        std::error_code gone;
        std::filesystem::remove(io::parse_path(name).file, gone);
    }
    written_.clear();
}

}  // namespace convolume::cli
