// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of 1D signals: arrays whose last axis is the samples, and whose other axes, if any, count
// signals. NPY, HDF5, and files that are nothing but their little-endian elements ("raw"). Some
// samples are read or written at a time, so that no file has to fit memory.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::io {

/// What a file says about its signals.
struct CONVOLUME_API SignalInfo {
    std::string format;  ///< "NPY", "HDF5" or "raw"
    PixelType type = PixelType::float32;
    std::vector<index_t> dims;  ///< slowest first; the last is the samples

    index_t samples() const { return dims.back(); }
    index_t signals() const;
    /// "2×3×1000 float32"
    std::string to_string() const;
};

struct OpenSignalOptions {
    /// Elements of raw files whose name does not tell: .f32, .f64, .c64, .c128, .u8, .i8, .u16,
    /// .i16, .u32 and .i32 do.
    std::optional<PixelType> raw_type;
    /// Raw files hold this many signals of equal length, one after another: an axis of its own.
    std::optional<index_t> raw_signals;
    /// The same by the samples of each.
    std::optional<index_t> raw_samples;
};

class CONVOLUME_API SignalReader {
  public:
    virtual ~SignalReader() = default;
    virtual const SignalInfo& info() const = 0;
    /// Samples begin … begin+count-1 of one signal, counted in C order over the axes before the
    /// last, to `to`: contiguous, of info().type. Throws InvalidArgument, BadData or IoError.
    virtual void read(index_t signal, index_t begin, index_t count, void* to) = 0;
};

/// Opens `path` ("file.h5:/dataset" for HDF5; without a dataset the only one, or one of the usual
/// names): raw by its name, else by its content. Integers of 64 bits are read as float64. Throws
/// InputNotFound, BadData (sizes are checked against the file's before anything is allocated),
/// InvalidArgument (options that do not fit the file), or Unavailable.
CONVOLUME_API std::unique_ptr<SignalReader> open_signal(const std::string& path,
                                                        const OpenSignalOptions& options = {});

/// What is written: results of filters, or positions in them.
enum class SampleType { float32, float64, complex64, complex128, int64 };
CONVOLUME_API const char* to_string(SampleType type);
CONVOLUME_API index_t bytes_of(SampleType type);
/// Throws InvalidArgument for integers.
CONVOLUME_API SampleType sample_type_of(PixelType type);

struct CreateSignalOptions {
    bool overwrite = false;
    std::string software;  ///< kept as the file's provenance where the format can (HDF5)
};

class CONVOLUME_API SignalWriter {
  public:
    /// Without commit(), whatever was written is removed.
    virtual ~SignalWriter() = default;
    /// Samples begin … begin+count-1 of one row, counted in C order over the axes before the last;
    /// in any order. What is never written is undefined.
    virtual void write(index_t row, index_t begin, index_t count, const void* from) = 0;
    /// Completes the file and gives it its final name. Throws IoError or OutputExists.
    virtual void commit() = 0;
};

/// Creates `path` under a temporary name beside it, of extents `dims`. The extension decides: .npy;
/// .h5, .hdf5[:/dataset] (dataset /data); raw .f32, .f64, .c64, .c128, .i64, which must fit the
/// type, .raw and .bin for any. Throws OutputExists, CannotCreate, IoError (no space),
/// InvalidArgument, Unavailable.
CONVOLUME_API std::unique_ptr<SignalWriter> create_signal(const std::string& path,
                                                          const std::vector<index_t>& dims,
                                                          SampleType type,
                                                          const CreateSignalOptions& options = {});

}  // namespace convolume::io
