// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of 1D signals: arrays whose last axis is the samples, and whose other axes, if any, count
// signals. NPY, HDF5, WAV, and files and pipes that are nothing but their elements ("raw"). Some
// samples are read or written at a time, so that no file has to fit memory.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::io {

/// How samples of signals lie in files that say nothing about them, on pipes, and in WAV files.
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
    cu8,  ///< complex: uint8 real and imaginary part, 127.5 is 0, as RTL-SDR records
    ci8,  ///< complex: int8 real and imaginary part
    ci16,
    ci32,
};

/// "int16", "complex64", "ci16", …
CONVOLUME_API const char* to_string(StoredType type);
/// By that name or by the extension of a raw file without its dot: "i16", "c64", "cf32", "cs16".
/// Throws InvalidArgument that lists the names.
CONVOLUME_API StoredType parse_stored_type(std::string_view name);
/// The type that the extension of `path` names, if any.
CONVOLUME_API std::optional<StoredType> stored_type_of_name(std::string_view path);

CONVOLUME_API index_t bytes_of(StoredType type);
CONVOLUME_API bool is_complex(StoredType type);
CONVOLUME_API bool is_integer(StoredType type);
/// What samples of that type are read as: complex integers as complex64, or complex128 where
/// float32 does not hold them.
CONVOLUME_API PixelType read_type(StoredType type);

/// What a file says about its signals.
struct CONVOLUME_API SignalInfo {
    std::string format;                   ///< "NPY", "HDF5", "WAV" or "raw"
    PixelType type = PixelType::float32;  ///< as which samples are read
    std::vector<index_t> dims;            ///< slowest first; the last is the samples
    std::string stored{};                 ///< where it is not `type`: "ci16", "int24"
    std::optional<double> sampling_rate_hz{};

    index_t samples() const { return dims.back(); }
    index_t signals() const;
    bool length_known() const { return samples() != unknown_samples; }
    /// "2×3×1000 float32", "1000 complex64 (stored as ci16)"
    std::string to_string() const;
};

enum class ByteOrder { little, big };
CONVOLUME_API ByteOrder parse_byte_order(std::string_view);  ///< "little", "big"

struct OpenSignalOptions {
    /// Elements of raw files whose name does not tell: .f32, .c64, .i16, .ci16, … do
    /// (stored_type_of_name()).
    std::optional<StoredType> raw_type{};
    /// Raw files hold this many signals of equal length, one after another: an axis of its own.
    std::optional<index_t> raw_signals{};
    /// The same by the samples of each.
    std::optional<index_t> raw_samples{};
    /// Bytes of raw files before their first sample.
    std::optional<index_t> raw_header{};
    /// Of raw files; little-endian where nothing is given.
    std::optional<ByteOrder> raw_byte_order{};
};

class CONVOLUME_API SignalReader {
  public:
    virtual ~SignalReader() = default;
    virtual const SignalInfo& info() const = 0;
    /// Samples begin … begin+count-1 of one signal, counted in C order over the axes before the
    /// last, to `to`: contiguous, of info().type. Throws InvalidArgument, BadData or IoError.
    virtual void read(index_t signal, index_t begin, index_t count, void* to) = 0;
    /// For signals of unknown length, as SignalSource::read_until_end().
    virtual index_t read_until_end(index_t signal, index_t begin, index_t count, void* to);
    /// From another thread: a read that waits for samples throws Cancelled, now and later.
    virtual void cancel() {}
};

/// Opens `path` ("file.h5:/dataset" for HDF5; without a dataset the only one, or one of the usual
/// names): raw by its name, else by its content. Integers of 64 bits are read as float64; a WAV
/// file's channels are signals, and its integers fractions of full scale, -1 … 1. Throws
/// InputNotFound, BadData (sizes are checked against the file's before anything is allocated),
/// InvalidArgument (options that do not fit the file), or Unavailable.
CONVOLUME_API std::unique_ptr<SignalReader> open_signal(const std::string& path,
                                                        const OpenSignalOptions& options = {});

/// One signal of raw samples from an open file descriptor, such as standard input, until it ends:
/// of unknown_samples. Samples are read in order, each once. The descriptor is not closed. Throws
/// InvalidArgument (no raw_type; several signals); BadData in reads where the last sample is cut.
CONVOLUME_API std::unique_ptr<SignalReader> open_signal_pipe(int descriptor,
                                                             const OpenSignalOptions& options);

/// What is written: results of filters, or positions in them.
enum class SampleType { float32, float64, complex64, complex128, int64 };
CONVOLUME_API const char* to_string(SampleType type);
CONVOLUME_API index_t bytes_of(SampleType type);
/// Throws InvalidArgument for integers.
CONVOLUME_API SampleType sample_type_of(PixelType type);

struct CreateSignalOptions {
    bool overwrite = false;
    std::string software;  ///< kept as the file's provenance where the format can (HDF5, WAV)
    /// How samples are stored where the name does not tell: in .raw, .bin and .wav files and on
    /// pipes. Integers are rounded and clamped.
    std::optional<StoredType> stored{};
    std::optional<double> sampling_rate_hz{};  ///< for WAV, which needs one
};

class CONVOLUME_API SignalWriter {
  public:
    /// Without commit(), whatever was written is removed.
    virtual ~SignalWriter() = default;
    /// Samples begin … begin+count-1 of one row, counted in C order over the axes before the last;
    /// in any order. What is never written is undefined.
    virtual void write(index_t row, index_t begin, index_t count, const void* from) = 0;
    /// Samples, or their parts, that integers of the file could not hold.
    virtual ClampCount clamped() const { return {}; }
    /// From another thread: a write that waits throws Cancelled, now and later.
    virtual void cancel() {}
    /// Completes the file and gives it its final name. Throws IoError or OutputExists.
    virtual void commit() = 0;
};

/// Creates `path` under a temporary name beside it, of extents `dims`. The extension decides: .npy;
/// .h5, .hdf5[:/dataset] (dataset /data); .wav (rows are channels; float32, or options.stored; RF64
/// beyond 4 GiB); raw .f32, .c64, .i16, .ci16, … (stored_type_of_name()), whose floating-point
/// types must be that of the samples, .raw and .bin for any. One row may have unknown_samples, but
/// in HDF5: its file ends with what is written last. Throws OutputExists, CannotCreate, IoError (no
/// space), InvalidArgument, Unavailable.
CONVOLUME_API std::unique_ptr<SignalWriter> create_signal(const std::string& path,
                                                          const std::vector<index_t>& dims,
                                                          SampleType type,
                                                          const CreateSignalOptions& options = {});

/// One row of samples to an open file descriptor, such as standard output, in order, as `stored`
/// (else as they are), little-endian. Nothing can be taken back. The descriptor is not closed.
/// Throws InvalidArgument, and in writes IoError: PipeClosed where nobody reads any more.
CONVOLUME_API std::unique_ptr<SignalWriter> create_signal_pipe(int descriptor, SampleType type,
                                                               std::optional<StoredType> stored);

}  // namespace convolume::io
