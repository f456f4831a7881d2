// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of 1D signals: arrays whose last axis is the samples, and whose other axes, if any, count
// signals. Formats are NPY, HDF5, WAV, and raw files and pipes, which have samples and no header.
// Samples are read and written in chunks, so that no file has to fit memory.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::io {

/// Type of the samples that a raw file, a pipe or a WAV file stores.
enum class StoredType {
    uint8,
    int8,
    uint16,
    int16,
    int24,  ///< WAV files only
    uint32,
    int32,
    int64,  ///< read as float64
    float32,
    float64,
    complex64,
    complex128,
    cu8,   ///< complex: uint8 real and imaginary part, of which 127.5 means 0, as RTL-SDR records
    ci8,   ///< complex: int8 real and imaginary part
    ci16,  ///< complex: int16 real and imaginary part
    ci32,  ///< complex: int32 real and imaginary part
    float16,   ///< IEEE 754, 16 bits; read as float32
    bfloat16,  ///< upper half of a float32; read as float32
};

/// Returns the type's name, such as "int16", "complex64" or "ci16".
CONVOLUME_API const char* to_string(StoredType type);
/// Parses a name that to_string() returns, or the extension of a raw file without its dot: "i16",
/// "c64", "cf32", "cs16". Throws InvalidArgument, which lists the names, for others.
CONVOLUME_API StoredType parse_stored_type(std::string_view name);
/// Returns the type that the extension of `path` names, if it names one.
CONVOLUME_API std::optional<StoredType> stored_type_of_name(std::string_view path);

/// Returns the number of bytes of one sample.
CONVOLUME_API index_t bytes_of(StoredType type);
/// Returns whether samples have a real and an imaginary part.
CONVOLUME_API bool is_complex(StoredType type);
/// Returns whether samples, or their real and imaginary parts, are integers.
CONVOLUME_API bool is_integer(StoredType type);
/// Returns the type that samples have after reading. Complex integers become complex64, or
/// complex128 if float32 cannot hold them.
CONVOLUME_API PixelType read_type(StoredType type);

/// Places of samples in time and of channels in frequency, as far as they are known. HDF5 files
/// hold them as attributes of the dataset, and FILE.npy has a JSON file FILE.npy.json beside it,
/// both with the names of these members. WAV files hold the sampling rate alone, raw files nothing.
struct SignalCoordinates {
    std::optional<double> sampling_rate_hz{};  ///< samples a second
    double start_s = 0;  ///< time of the first sample in seconds; stored with a sampling rate only
    /// Center frequencies of channels, which lie along the axis before the samples. Empty if the
    /// signals are no channels; stored with a sampling rate only.
    std::vector<double> center_frequencies_hz{};
    friend bool operator==(const SignalCoordinates&, const SignalCoordinates&) = default;
};

/// Metadata of a file of signals.
struct CONVOLUME_API SignalInfo {
    std::string format;                   ///< "NPY", "HDF5", "WAV" or "raw"
    PixelType type = PixelType::float32;  ///< type of the samples after reading
    std::vector<index_t> dims;            ///< extents, slowest first; the last is the samples
    std::string stored{};  ///< type in the file, such as "ci16"; empty if it is `type`
    SignalCoordinates coordinates{};

    /// Returns the number of samples of each signal.
    index_t samples() const { return dims.back(); }
    /// Returns the number of signals: the product of the other extents.
    index_t signals() const;
    /// Returns false if samples() is unknown_samples, as for pipes.
    bool length_known() const { return samples() != unknown_samples; }
    /// Returns a text such as "2×3×1000 float32" or "1000 complex64 (stored as ci16)".
    std::string to_string() const;
};

/// Order of the bytes of a sample in a raw file.
enum class ByteOrder { little, big };
/// Parses "little" or "big". Throws InvalidArgument, which lists these, for others.
CONVOLUME_API ByteOrder parse_byte_order(std::string_view);

/// Order of the samples of several signals in a raw file or pipe.
enum class SignalLayout {
    planar,       ///< all samples of a signal, then those of the next one
    interleaved,  ///< a sample of each signal, then the next sample of each
};
/// Parses "planar" or "interleaved". Throws InvalidArgument, which lists these, for others.
CONVOLUME_API SignalLayout parse_signal_layout(std::string_view);

/// Options of open_signal(). They describe raw files, which have no metadata.
struct OpenSignalOptions {
    /// Type of the samples. It is not needed if the extension names it: .f32, .c64, .i16, .ci16 and
    /// others (stored_type_of_name()).
    std::optional<StoredType> raw_type{};
    /// Number of signals of equal length; they become an axis.
    std::optional<index_t> raw_signals{};
    /// Number of samples of each signal, instead of raw_signals.
    std::optional<index_t> raw_samples{};
    /// Order of the samples. Files of several signals need it, as nothing else tells it.
    std::optional<SignalLayout> raw_layout{};
    /// Bytes before the first sample.
    std::optional<index_t> raw_header{};
    /// Byte order of the samples. If not given, little-endian.
    std::optional<ByteOrder> raw_byte_order{};
};

/// Reads signals from a file or pipe, some samples at a time.
/// @code{.cpp}
/// const std::vector<float> signal(1000, 0.5F);
/// const auto file =
///     io::create_signal("half.f32", {1000}, io::SampleType::float32, {.overwrite = true});
/// file->write(0, 0, 1000, signal.data());
/// file->commit();
/// const std::unique_ptr<io::SignalReader> reader = io::open_signal("half.f32");
/// std::vector<float> samples(100);
/// reader->read(0, 500, 100, samples.data());
/// assert(samples[0] == 0.5F);
/// @endcode
class CONVOLUME_API SignalReader {
  public:
    virtual ~SignalReader() = default;
    /// Returns the metadata of the signals.
    virtual const SignalInfo& info() const = 0;
    /// Reads samples begin … begin+count-1 of one signal into `to`, contiguous, of info().type.
    /// Signals are numbered in C order over the axes before the last. Throws InvalidArgument,
    /// BadData or IoError.
    virtual void read(index_t signal, index_t begin, index_t count, void* to) = 0;
    /// Reads a signal of unknown length, as SignalSource::read_until_end() does.
    virtual index_t read_until_end(index_t signal, index_t begin, index_t count, void* to);
    /// Makes reads that wait for samples throw Cancelled, now and later. Another thread calls it.
    virtual void cancel() {}
};

/// Opens a file of signals. The extension tells raw files, and the content tells other formats. For
/// HDF5, `path` may name a dataset, "file.h5:/dataset". Without one, it is the only dataset, or one
/// with a usual name. Integers of 64 bits are read as float64. The channels of a WAV file are
/// signals, and its integers are fractions of full scale, −1 … 1.
///
/// Throws InputNotFound, BadData (damaged), InvalidArgument (options that do not fit the file), or
/// Unavailable. Sizes are compared with the file's size before memory is allocated.
/// @code{.cpp}
/// const std::vector<char> bytes(4000);
/// io::write_whole_file("zeros.raw", bytes);
/// io::OpenSignalOptions options;
/// options.raw_type = io::StoredType::int16;
/// options.raw_signals = 2;
/// options.raw_layout = io::SignalLayout::interleaved;
/// const auto reader = io::open_signal("zeros.raw", options);
/// assert(reader->info().signals() == 2 && reader->info().samples() == 1000);
/// @endcode
CONVOLUME_API std::unique_ptr<SignalReader> open_signal(const std::string& path,
                                                        const OpenSignalOptions& options = {});

/// Opens signals that come from an open file descriptor, such as standard input: raw samples if
/// options.raw_type is given, else WAV (RIFF or RF64). One signal has unknown_samples and ends with
/// the input; its samples are read in order, each once. Several signals are interleaved. They are
/// stored in a file without a name in the system's temporary folder first, and then have a known
/// length and are read in any order. The descriptor is not closed. Throws what open_frame_pipe()
/// throws, and Cancelled if `stop` is requested before the signals are stored. Reads throw BadData
/// if the input ends within a sample.
/// @code{.cpp}
/// int ends[2];
/// if (pipe(ends) != 0) throw std::runtime_error("there is no pipe");
/// const auto writer = io::create_signal_pipe(ends[1], io::SampleType::float32, {});
/// const std::vector<float> signal = {1, 2, 3};
/// writer->write(0, 0, 3, signal.data());
/// writer->commit();
/// close(ends[1]);
/// io::OpenSignalOptions options;
/// options.raw_type = io::StoredType::float32;
/// std::vector<float> samples(10);
/// assert(io::open_signal_pipe(ends[0], options)->read_until_end(0, 0, 10, samples.data()) == 3);
/// close(ends[0]);
/// @endcode
CONVOLUME_API std::unique_ptr<SignalReader> open_signal_pipe(int descriptor,
                                                             const OpenSignalOptions& options,
                                                             std::stop_token stop = {});

/// Type of the samples that a SignalWriter takes: results of filters, or positions (int64) in them.
enum class SampleType { float32, float64, complex64, complex128, int64 };
/// Returns the type's name, such as "float32".
CONVOLUME_API const char* to_string(SampleType type);
/// Returns the number of bytes of one sample.
CONVOLUME_API index_t bytes_of(SampleType type);
/// Returns the SampleType of results of type `type`. Throws InvalidArgument for integers.
CONVOLUME_API SampleType sample_type_of(PixelType type);

/// Options of create_signal().
struct CreateSignalOptions {
    bool overwrite = false;  ///< whether a file of that name may be replaced
    std::string software{};  ///< name of the program that makes the file, for HDF5 and WAV
    /// Type of the stored samples, for files whose extension does not name it: .raw, .bin, .wav
    /// and, of real samples, .npy. Integers are rounded and clamped.
    std::optional<StoredType> stored{};
    /// Times and frequencies, which raw files do not hold. WAV requires the sampling rate.
    SignalCoordinates coordinates{};
};

/// Writes signals to a file or pipe, some samples at a time.
/// @code{.cpp}
/// io::CreateSignalOptions options;
/// options.overwrite = true;
/// const std::unique_ptr<io::SignalWriter> writer =
///     io::create_signal("results.npy", {2, 1000}, io::SampleType::float32, options);
/// const std::vector<float> row(1000);
/// writer->write(0, 0, 1000, row.data());
/// writer->write(1, 0, 1000, row.data());
/// writer->commit();
/// @endcode
class CONVOLUME_API SignalWriter {
  public:
    /// Removes the file if commit() was not called.
    virtual ~SignalWriter() = default;
    /// Writes samples begin … begin+count-1 of one row, in any order of calls. Rows are numbered in
    /// C order over the axes before the last. Samples that are never written are undefined.
    virtual void write(index_t row, index_t begin, index_t count, const void* from) = 0;
    /// Returns the numbers of samples, or of their real and imaginary parts, that were clamped to
    /// the range of the file's integers.
    virtual ClampCount clamped() const { return {}; }
    /// Makes writes that wait throw Cancelled, now and later. Another thread calls it.
    virtual void cancel() {}
    /// Completes the file and gives it its final name. Throws IoError or OutputExists.
    virtual void commit() = 0;
};

/// Creates a file of signals under a temporary name beside `path`. `dims` are its extents, slowest
/// first; the last is the samples. The extension decides about the format:
///
///     .npy                                       NPY
///     .h5, .hdf5, .h5:/dataset, .hdf5:/dataset   HDF5 (by default dataset /data)
///     .wav                                       WAV, RF64 beyond 4 GiB; rows are channels
///     .f32, .c64, .i16, .ci16, …                 raw, of the type that the extension names
///     .raw, .bin                                 raw, of any type
///
/// WAV files store float32, and NPY files the samples' type, or options.stored. If a raw extension
/// names a floating-point type of more than 16 bits (stored_type_of_name()), it must be that of the
/// samples. One row may have unknown_samples, except in HDF5; the file then ends with the last
/// sample that is written. Throws OutputExists, CannotCreate, IoError (no space), InvalidArgument,
/// or Unavailable.
/// @code{.cpp}
/// io::CreateSignalOptions options;
/// options.overwrite = true;
/// options.stored = io::StoredType::int16;
/// const auto writer = io::create_signal("tone.raw", {4}, io::SampleType::float32, options);
/// const std::vector<float> tone = {0, 1000, 40000, -1000};
/// writer->write(0, 0, 4, tone.data());
/// assert(writer->clamped().high == 1);
/// writer->commit();
/// @endcode
CONVOLUME_API std::unique_ptr<SignalWriter> create_signal(const std::string& path,
                                                          const std::vector<index_t>& dims,
                                                          SampleType type,
                                                          const CreateSignalOptions& options = {});

/// Creates a writer of one row of samples to an open file descriptor, such as standard output. They
/// are written in order, little-endian, as `stored` if given, else with their own type. They are
/// sent at once and cannot be removed. The descriptor is not closed. Throws InvalidArgument. Writes
/// throw IoError, and PipeClosed if the reader closed the pipe.
CONVOLUME_API std::unique_ptr<SignalWriter> create_signal_pipe(int descriptor, SampleType type,
                                                               std::optional<StoredType> stored);

}  // namespace convolume::io
