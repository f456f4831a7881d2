// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/inputs.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/compare/image_subject.hpp"
#include "cli/compare/signal_subject.hpp"
#include "cli/filter/files.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

Json data_json(const Volume& volume) {
    return {{"shape", to_string(volume.shape(), "x")},
            {"type", to_string(volume.type())},
            {"checksum", checksum(volume)}};
}

void check_memory(const std::string& file, index_t bytes, index_t limit_bytes) {
    if (bytes > limit_bytes)
        throw OutOfMemory(sentence("\"", file, "\" takes ", format_bytes(bytes),
                                   " of memory, and the limit is ", format_bytes(limit_bytes),
                                   "; set ", OptionName{"max_host_bytes"},
                                   ", or compare a part of it"));
}

Volume read_image(const ImageCompareRequest& request, io::ImageReader& reader,
                  index_t limit_bytes) {
    const io::ImageMetadata& metadata = reader.metadata();
    if (metadata.frames * metadata.channels > 1)
        throw InvalidArgument(message("\"", request.image, "\" holds ", metadata.frames,
                                      " frames and ", metadata.channels,
                                      " channels; choose one by --frame and --channel"));
    check_memory(request.image, metadata.bytes(), limit_bytes);
    Volume image(metadata.shape, metadata.type);
    reader.read(0, 0, image.view());
    reader.check_unchanged();
    return image;
}

void add_notes(const std::string& path, const io::ImageMetadata& image,
               std::vector<std::string>& warnings) {
    for (const std::string& note : image.notes)
        warnings.push_back(message("\"", path, "\": ", note));
}

Json convolution_json(const Options& options) {
    return {{"mode", to_string(options.mode)},
            {"boundary", to_string(options.boundary)},
            {"normalize", to_string(options.normalization)},
            {"nan", to_string(options.nan)}};
}

Volume read_signals(const SignalCompareRequest& request, index_t limit_bytes) {
    const auto reader = io::open_signal(request.signal, request.signal_options);
    const io::SignalInfo& info = reader->info();
    const Shape3 shape{1, info.signals(), info.samples()};
    check_memory(request.signal,
                 checked_multiply(element_count(shape), static_cast<index_t>(size_of(info.type))),
                 limit_bytes);
    Volume signals(shape, info.type);
    for (index_t row = 0; row < shape.y; ++row)
        reader->read(row, 0, shape.x, signals.view().at(0, row, 0));
    return signals;
}

}  // namespace

std::string checksum(const Volume& volume) {
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto* const bytes = static_cast<const unsigned char*>(volume.view().data);
    for (index_t i = 0; i < volume.bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
    return text.data();
}

CompareInputs inputs_of(const ImageCompareRequest& request, index_t limit_bytes) {
    CompareInputs inputs;
    Options options = request.options;
    if (!request.sizes.empty()) {
        for (const index_t size : request.sizes) {
            const index_t kernel =
                request.kernel_size > 0 ? request.kernel_size : std::max<index_t>(1, size / 4);
            inputs.subjects.push_back(
                std::make_unique<ImageSubject>(size, kernel, request.seed, options));
        }
        inputs.identity["sizes"] = request.sizes;
        inputs.identity["kernel size"] = request.kernel_size;
        inputs.identity["seed"] = request.seed;
    } else {
        const auto reader = open_selected(request.image, request.selection);
        Volume image = read_image(request, *reader, limit_bytes);
        Timeline unused;
        KernelFile kernel =
            load_kernel(request.kernel, reader->metadata(), request.kernel_options, unused);
        options.center = kernel.explicit_center();
        inputs.identity["image"] = data_json(image);
        inputs.identity["kernel"] = data_json(kernel.values);
        inputs.identity["kernel center"] = to_string(options.center);
        add_notes(request.image, reader->metadata(), inputs.warnings);
        add_notes(request.kernel, kernel.metadata, inputs.warnings);
        for (const std::string& warning : kernel.warnings) inputs.warnings.push_back(warning);
        inputs.subjects.push_back(std::make_unique<ImageSubject>(
            std::move(image), std::move(kernel.values), options, reader->place_in_file({})));
    }
    inputs.identity["convolution"] = convolution_json(options);
    return inputs;
}

CompareInputs inputs_of(const SignalCompareRequest& request, index_t limit_bytes) {
    CompareInputs inputs;
    const FilterOptions& options = request.options;
    if (!request.sizes.empty()) {
        const index_t taps = request.taps > 0 ? request.taps : 257;
        for (const index_t size : request.sizes)
            inputs.subjects.push_back(std::make_unique<SignalSubject>(size, request.filters, taps,
                                                                      request.seed, options));
        inputs.identity["sizes"] = request.sizes;
        inputs.identity["filters"] = request.filters;
        inputs.identity["taps"] = taps;
        inputs.identity["seed"] = request.seed;
    } else {
        Volume signals = read_signals(request, limit_bytes);
        io::OpenSignalOptions filter_options;
        filter_options.raw_type = request.signal_options.raw_type;
        if (request.taps > 0) filter_options.raw_samples = request.taps;
        Timeline unused;
        std::vector<Volume> filters;
        inputs.identity["signal"] = data_json(signals);
        inputs.identity["filters"] = Json::array();
        for (FilterFile& file : read_filters(request.filter_files, filter_options, unused)) {
            inputs.identity["filters"].push_back(data_json(file.taps));
            filters.push_back(std::move(file.taps));
        }
        inputs.subjects.push_back(
            std::make_unique<SignalSubject>(std::move(signals), std::move(filters), options));
    }
    inputs.identity["filtering"] = {
        {"mode", to_string(options.mode)},
        {"origin", message(static_cast<int>(options.origin.kind), ':', options.origin.index)},
        {"nan", to_string(options.nan)}};
    return inputs;
}

}  // namespace convolume::cli
