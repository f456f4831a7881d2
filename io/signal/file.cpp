// SPDX-License-Identifier: Apache-2.0
#include "io/signal/file.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "convolume/signal_file.hpp"
#include "io/axis_layout.hpp"
#include "io/hdf5/format.hpp"
#include "io/image_file.hpp"
#include "io/image_format.hpp"
#include "io/raw_file.hpp"
#include "io/signal/sample_codec.hpp"
#include "io/tiff/format.hpp"

namespace convolume::io {
namespace {

/// Returns the type that samples of `type` have in the raw file `path`. Returns nothing if its name
/// is not that of a raw file. Throws InvalidArgument if the name contradicts `type` or `options`.
std::optional<StoredType> raw_stored_type(const std::string& path, SampleType type,
                                          const CreateSignalOptions& options) {
    if (has_extension(path, ".raw") || has_extension(path, ".bin"))
        return options.stored.value_or(stored_type_of(type));
    const auto named = stored_type_of_name(path);
    if (!named) return std::nullopt;
    if (options.stored && *options.stored != *named)
        throw InvalidArgument(message("cannot write ", path, " as ", to_string(*options.stored),
                                      ": its name says ", to_string(*named),
                                      "; change one of them"));
    if (*named == stored_type_of(type) ||
        ((is_integer(*named) || is_short_float(*named)) && *named != StoredType::int64 &&
         type != SampleType::int64 && is_complex(*named) == is_complex(stored_type_of(type))))
        return named;
    constexpr std::pair<SampleType, const char*> fitting[] = {
        {SampleType::float32, "*.f32"},
        {SampleType::float64, "*.f64"},
        {SampleType::complex64, "*.c64, *.ci16"},
        {SampleType::complex128, "*.c128, *.ci16"},
        {SampleType::int64, "*.i64"}};
    const auto* const fits = std::find_if(std::begin(fitting), std::end(fitting),
                                          [&](const auto& name) { return name.first == type; });
    throw InvalidArgument(message("cannot write ", path, ": the samples are ", to_string(type),
                                  "; name the file ", fits->second));
}

/// Returns the bytes of an array of `dims`. Throws InvalidArgument beyond 64 bits.
index_t total_bytes(const std::vector<index_t>& dims, index_t bytes_each) {
    index_t bytes = bytes_each;
    for (const index_t extent : dims) bytes = checked_multiply(bytes, extent);
    return bytes;
}

void check_unknown_length(const std::string& path, const std::vector<index_t>& dims) {
    if (dims.back() != unknown_samples) return;
    for (std::size_t d = 0; d + 1 < dims.size(); ++d)
        if (dims[d] != 1)
            throw InvalidArgument(message("cannot write ", path,
                                          ": of signals of unknown length, "
                                          "one is written at a time; use one filter"));
}

/// Throws InvalidArgument if `options` describe a raw file.
void refuse_raw_options(const std::string& file, const OpenSignalOptions& options) {
    if (options.raw_signals || options.raw_samples)
        throw InvalidArgument(sentence(
            file,
            " has a header that tells its shape, and cannot be split; leave out what raw files "
            "need (",
            OptionName{"raw_signals"}, ", ", OptionName{"raw_samples"}, ")"));
    if (options.raw_header || options.raw_byte_order || options.raw_layout)
        throw InvalidArgument(sentence(
            file, " is no raw file, and says where and how its samples lie; leave that out (",
            OptionName{"raw_header"}, ", ", OptionName{"raw_byte_order"}, ", ",
            OptionName{"raw_layout"}, ")"));
}

void refuse_stored(const NewSignals& signals) {
    if (signals.options.stored)
        throw InvalidArgument(sentence(
            signals.path.file, " holds samples as they are computed; leave their type out (",
            OptionName{"stored"}, "), or write a raw or WAV file"));
}

}  // namespace

index_t SignalInfo::signals() const {
    return row_count(dims);
}

std::string SignalInfo::to_string() const {
    std::string text = length_known() ? dims_text(dims) : "samples until their end,";
    text += message(' ', convolume::to_string(type));
    if (!stored.empty()) text += message(" (stored as ", stored, ")");
    if (coordinates.sampling_rate_hz) text += message(", ", *coordinates.sampling_rate_hz, " Hz");
    return text;
}

index_t SignalReader::read_until_end(index_t signal, index_t begin, index_t count, void* to) {
    read(signal, begin, count, to);
    return count;
}

ByteOrder parse_byte_order(std::string_view text) {
    if (text == "little") return ByteOrder::little;
    if (text == "big") return ByteOrder::big;
    throw InvalidArgument(message("a byte order is little or big, not \"", text, "\"; choose one"));
}

SignalLayout parse_signal_layout(std::string_view text) {
    if (text == "planar") return SignalLayout::planar;
    if (text == "interleaved") return SignalLayout::interleaved;
    throw InvalidArgument(
        message("a layout is planar or interleaved, not \"", text, "\"; choose one"));
}

bool begins_as_wav(std::string_view head) {
    constexpr std::string_view wave64("riff\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\x00\x00", 16);
    if (head.starts_with(wave64)) return true;
    if (head.size() < 16 || head.substr(8, 4) != "WAVE") return false;
    const std::string_view name = head.substr(0, 4);
    return name == "RIFF" || name == "RIFX" || name == "RF64" || name == "BW64";
}

std::unique_ptr<SignalReader> open_signal(const std::string& path,
                                          const OpenSignalOptions& options) {
    const PathSpec spec = parse_path(path);
    const auto named = stored_type_of_name(spec.file);
    const std::string head = named ? std::string() : RawFile(spec.file).head(16);
    const bool hdf5 = is_hdf5(spec.file, head), npy = begins_as_npy(head);
    const bool wav = begins_as_wav(head), tiff = is_tiff(head);
    if (hdf5 || npy || wav || tiff) refuse_raw_options(spec.file, options);
    if (hdf5) return open_hdf5_signal(spec);
    require_no_dataset(spec);
    if (npy) return open_npy_signal(spec.file);
    if (wav) return open_wav_signal(spec.file);
    if (tiff) throw BadData(message(spec.file, " is a TIFF image, not signals; save them as NPY"));
    const auto type = named ? named : options.raw_type;
    if (!type)
        throw BadData(
            sentence(spec.file,
                     " is not an NPY, HDF5 or WAV file, and its name does not tell what else; "
                     "name it *.f32, *.c64, … or give its type (",
                     OptionName{"raw_type"}, ")"));
    return open_raw_signal(spec.file, *type, options);
}

std::optional<PixelType> pixel_type_of(SampleType type) {
    switch (type) {
        case SampleType::float32:
            return PixelType::float32;
        case SampleType::float64:
            return PixelType::float64;
        case SampleType::complex64:
            return PixelType::complex64;
        case SampleType::complex128:
            return PixelType::complex128;
        case SampleType::int64:
            return std::nullopt;
    }
    throw InternalError("a sample type outside its enumeration");
}

const char* to_string(SampleType type) {
    const auto pixels = pixel_type_of(type);
    return pixels ? to_string(*pixels) : "int64";
}

index_t bytes_of(SampleType type) {
    const auto pixels = pixel_type_of(type);
    return pixels ? static_cast<index_t>(size_of(*pixels)) : 8;
}

SampleType sample_type_of(PixelType type) {
    for (const SampleType sample :
         {SampleType::float32, SampleType::float64, SampleType::complex64, SampleType::complex128})
        if (pixel_type_of(sample) == type) return sample;
    throw InvalidArgument(
        message("signals are not written as ", to_string(type), "; convert them to float32"));
}

std::unique_ptr<SignalWriter> create_signal(const std::string& path,
                                            const std::vector<index_t>& dims, SampleType type,
                                            const CreateSignalOptions& options) {
    const PathSpec spec = parse_path(path);
    NewSignals signals{spec, dims, type, options};
    if (dims.empty() || total_bytes(dims, bytes_of(type)) == 0)
        throw InvalidArgument(message("cannot write ", path, ": there are no samples"));
    check_unknown_length(path, dims);
    if (names_hdf5(spec.file)) {
        refuse_stored(signals);
        if (dims.back() == unknown_samples)
            throw InvalidArgument(message("cannot write ", path,
                                          ": the number of samples of an "
                                          "HDF5 dataset must be known before; write .npy or .f32"));
        return create_hdf5_signal(signals);
    }
    require_no_new_dataset(spec);
    if (const auto stored = raw_stored_type(spec.file, type, options)) {
        signals.options.stored = stored;
        return create_raw_signal(signals);
    }
    if (has_extension(spec.file, ".wav")) return create_wav_signal(signals);
    if (has_extension(spec.file, ".npy")) return create_npy_signal(signals);
    throw InvalidArgument(
        message("the extension of ", path,
                " names no format that signals are written in; "
                "use .npy, .h5, .wav, .f32, .f64, .c64, .c128, .i16, .ci16, … or .raw"));
}

std::vector<index_t> row_position(const std::vector<index_t>& dims, index_t row) {
    std::vector<index_t> at(dims.size() - 1);
    for (std::size_t d = at.size(); d-- > 0; row /= dims[d]) at[d] = row % dims[d];
    return at;
}

index_t row_count(const std::vector<index_t>& dims) {
    index_t rows = 1;
    for (std::size_t d = 0; d + 1 < dims.size(); ++d) rows *= dims[d];
    return rows;
}

void check_range(const std::vector<index_t>& dims, index_t row, index_t begin, index_t count) {
    if (row < 0 || row >= row_count(dims) || begin < 0 || count < 0 || begin > dims.back() - count)
        throw InvalidArgument(message("samples ", begin, " … ", begin + count - 1, " of signal ",
                                      row, " were asked of ", dims_text(dims)));
}

index_t NewSignals::expected_bytes(index_t bytes_each) const {
    return dims.back() == unknown_samples ? 0 : total_bytes(dims, bytes_each);
}

}  // namespace convolume::io
