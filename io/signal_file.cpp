// SPDX-License-Identifier: Apache-2.0
#include "convolume/signal_file.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "io/axis_layout.hpp"
#include "io/file_kind.hpp"
#include "io/signal_formats.hpp"

namespace convolume::io {
namespace {

struct RawExtension {
    const char* text;
    PixelType type;
};
constexpr RawExtension raw_extensions[] = {
    {".f32", PixelType::float32},     {".f64", PixelType::float64}, {".c64", PixelType::complex64},
    {".c128", PixelType::complex128}, {".u8", PixelType::uint8},    {".i8", PixelType::int8},
    {".u16", PixelType::uint16},      {".i16", PixelType::int16},   {".u32", PixelType::uint32},
    {".i32", PixelType::int32}};

std::optional<PixelType> raw_type_of_name(const std::string& path) {
    for (const RawExtension& extension : raw_extensions)
        if (has_extension(path, extension.text)) return extension.type;
    return std::nullopt;
}

/// Whether the name is that of a raw file of `type`; throws for one of another type.
bool names_raw(const std::string& path, SampleType type) {
    if (has_extension(path, ".raw") || has_extension(path, ".bin")) return true;
    constexpr std::pair<const char*, SampleType> names[] = {{".f32", SampleType::float32},
                                                            {".f64", SampleType::float64},
                                                            {".c64", SampleType::complex64},
                                                            {".c128", SampleType::complex128},
                                                            {".i64", SampleType::int64}};
    const auto* const fits = std::find_if(std::begin(names), std::end(names),
                                          [&](const auto& name) { return name.second == type; });
    for (const auto& [extension, named] : names) {
        if (!has_extension(path, extension)) continue;
        if (named != type)
            throw InvalidArgument(message("cannot write ", path, ": the samples are ",
                                          to_string(type), "; name the file *", fits->first));
        return true;
    }
    return false;
}

void refuse_raw_options(const std::string& file, const OpenSignalOptions& options) {
    if (options.raw_signals || options.raw_samples)
        throw InvalidArgument(message(file,
                                      " has a header that tells its shape, and cannot be split; "
                                      "leave out what raw files need (raw_signals, raw_samples)"));
}

}  // namespace

index_t SignalInfo::signals() const {
    index_t signals = 1;
    for (std::size_t d = 0; d + 1 < dims.size(); ++d) signals *= dims[d];
    return signals;
}

std::string SignalInfo::to_string() const {
    return message(dims_text(dims), " ", convolume::to_string(type));
}

std::unique_ptr<SignalReader> open_signal(const std::string& path,
                                          const OpenSignalOptions& options) {
    const PathSpec spec = parse_path(path);
    const auto named = raw_type_of_name(spec.file);
    const FileKind kind = named ? FileKind::other : kind_of(RawFile(spec.file));
    if (kind != FileKind::other) refuse_raw_options(spec.file, options);
    if (kind == FileKind::hdf5) return open_hdf5_signal(spec);
    if (!spec.dataset.empty())
        throw InvalidArgument(message(spec.file, " is not an HDF5 file and has no dataset ",
                                      spec.dataset, "; give the path of the file alone"));
    if (kind == FileKind::npy) return open_npy_signal(spec.file);
    if (kind == FileKind::tiff)
        throw BadData(message(spec.file, " is a TIFF image, not signals; save them as NPY"));
    const auto type = named ? named : options.raw_type;
    if (!type)
        throw BadData(message(spec.file,
                              " is not an NPY or HDF5 file, and its name does not tell what else; "
                              "name it *.f32, *.c64, … or give its type (raw_type)"));
    return open_raw_signal(spec.file, *type, options);
}

const char* to_string(SampleType type) {
    switch (type) {
        case SampleType::float32:
            return "float32";
        case SampleType::float64:
            return "float64";
        case SampleType::complex64:
            return "complex64";
        case SampleType::complex128:
            return "complex128";
        case SampleType::int64:
            return "int64";
    }
    throw InternalError("a sample type outside its enumeration");
}

index_t bytes_of(SampleType type) {
    return type == SampleType::float32 ? 4 : type == SampleType::complex128 ? 16 : 8;
}

SampleType sample_type_of(PixelType type) {
    switch (type) {
        case PixelType::float32:
            return SampleType::float32;
        case PixelType::float64:
            return SampleType::float64;
        case PixelType::complex64:
            return SampleType::complex64;
        case PixelType::complex128:
            return SampleType::complex128;
        default:
            throw InvalidArgument(message("signals are not written as ", to_string(type),
                                          "; convert them to float32"));
    }
}

std::unique_ptr<SignalWriter> create_signal(const std::string& path,
                                            const std::vector<index_t>& dims, SampleType type,
                                            const CreateSignalOptions& options) {
    const PathSpec spec = parse_path(path);
    if (dims.empty() || total_bytes(dims, type) == 0)
        throw InvalidArgument(message("cannot write ", path, ": there are no samples"));
    if (names_hdf5(spec.file)) return create_hdf5_signal(spec, dims, type, options);
    if (!spec.dataset.empty())
        throw InvalidArgument(message("only HDF5 files (.h5, .hdf5) have datasets; ", path,
                                      " names one; give the path of the file alone"));
    if (has_extension(spec.file, ".npy")) return create_npy_signal(spec.file, dims, type, options);
    if (names_raw(spec.file, type)) return create_raw_signal(spec.file, dims, type, options);
    throw InvalidArgument(message("the extension of ", path,
                                  " names no format that signals are written in; "
                                  "use .npy, .h5, .f32, .f64, .c64, .c128, .i64 or .raw"));
}

std::vector<index_t> row_position(const std::vector<index_t>& dims, index_t row) {
    std::vector<index_t> at(dims.size() - 1);
    for (std::size_t d = at.size(); d-- > 0; row /= dims[d]) at[d] = row % dims[d];
    return at;
}

void check_range(const std::vector<index_t>& dims, index_t row, index_t begin, index_t count) {
    index_t rows = 1;
    for (std::size_t d = 0; d + 1 < dims.size(); ++d) rows *= dims[d];
    if (row < 0 || row >= rows || begin < 0 || count < 0 || begin > dims.back() - count)
        throw InvalidArgument(message("samples ", begin, " … ", begin + count - 1, " of signal ",
                                      row, " were asked of ", dims_text(dims)));
}

index_t total_bytes(const std::vector<index_t>& dims, SampleType type) {
    index_t bytes = bytes_of(type);
    for (const index_t extent : dims) bytes = checked_multiply(bytes, extent);
    return bytes;
}

}  // namespace convolume::io
