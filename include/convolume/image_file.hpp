// SPDX-License-Identifier: Apache-2.0
#pragma once
// Image files: TIFF (plain, ImageJ, OME), HDF5, NPY. One reader and one writer interface for all.
// In this interface axes are always t, c, z, y, x.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"

namespace convolume::io {

/// What stored samples stand for: value = stored * scale + offset.
struct ValueScaling {
    double scale = 1;
    double offset = 0;
};

/// What a file says about the microscope that recorded it (OME-XML); nothing where it does not say.
struct MicroscopeMetadata {
    struct Channel {
        std::optional<double> emission_um;    ///< wavelength in vacuum
        std::optional<double> excitation_um;  ///< the same
        std::optional<double> pinhole_um;     ///< diameter in the plane of the pinhole
        std::string acquisition_mode;         ///< OME's word: "WideField", …; may be empty
    };

    std::optional<double> na;
    std::optional<double> refractive_index;  ///< of the immersion medium
    std::optional<double> magnification;
    std::string immersion;  ///< OME's word: "Oil", "Water", "WaterDipping", "Air", …; may be empty
    std::optional<int> significant_bits;  ///< of the camera
    std::vector<Channel> channels;        ///< empty or one per channel
};

/// What a file says about its pixels.
struct CONVOLUME_API ImageMetadata {
    std::string format;    ///< "ImageJ TIFF", "OME-TIFF", "TIFF", "HDF5", "NPY", …
    index_t frames = 1;    ///< t
    index_t channels = 1;  ///< c
    Shape3 shape;          ///< z, y, x of one channel at one time
    PixelType type = PixelType::float32;
    std::string axes = "ZYX";  ///< axes the file names or implies, slowest first

    /// z, y, x in µm; nothing where the file does not say.
    std::array<std::optional<double>, 3> voxel_size_um;
    std::string unit;  ///< the file's own word for it: "um", "nm", "pixel", …; may be empty
    std::optional<double> frame_interval_s;
    index_t images = 1;                      ///< that the file holds
    index_t image = 0;                       ///< number of this one among them, from 0
    std::string image_name;                  ///< the file's name for this image; may be empty
    std::vector<std::string> channel_names;  ///< empty or one per channel
    /// Colors that channels are shown in, 0xRRGGBB: those of OME, ImageJ and Imaris. Empty or one
    /// per channel.
    std::vector<std::optional<std::uint32_t>> channel_colors;
    /// Nothing where samples are the values themselves. Readers give samples as they are stored.
    std::optional<ValueScaling> scaling;

    MicroscopeMetadata microscope;

    /// Assumptions and omissions of reading, one sentence each, for the user: axes that the file
    /// does not name, a unit, a resolution that is not taken for a voxel size.
    std::vector<std::string> notes;

    // Carried from input to output as they are, where the formats allow.
    std::string ome_xml;
    std::string imagej_description;
    std::vector<std::uint8_t> imagej_metadata;  ///< TIFF tag 50839, in this machine's byte order
    std::vector<std::uint32_t> imagej_metadata_counts;  ///< TIFF tag 50838
    std::map<std::string, std::string> text;            ///< other text attributes by name

    /// Bytes of all pixels; throws InvalidArgument beyond 64 bits.
    index_t bytes() const;
};

/// For images of fewer planes: of ImageJ's metadata (tag 50839) keeps the lookup tables of
/// `channels`, in that order, and drops all else (labels and regions of planes, display ranges,
/// notes).
CONVOLUME_API void keep_lookup_tables(ImageMetadata& metadata,
                                      const std::vector<index_t>& channels);

/// What people want to know of a file, one "name: value" a line: format, type, shape, voxel size, …
CONVOLUME_API std::string to_string(const ImageMetadata& metadata);

struct OpenOptions {
    /// Overrides what the axes of a stack mean, one letter of T, C, Z, Y, X for each dimension,
    /// slowest first, e.g. "TYX" or "CZYX". Empty: what the file says; where it says nothing, z for
    /// the pages of a TIFF, and X, YX, ZYX, CZYX, TCZYX for arrays of 1 … 5 dimensions.
    std::string axes{};
    /// Which image to read of a file that holds several: its number, from 0, or its name. Empty:
    /// the first one whose planes are in the file.
    std::string image{};
};

/// An image of a file as a source of boxes. read_box() and what calls it may be called by several
/// threads at once; they throw BadData for what the file holds, IoError where it cannot be read.
class CONVOLUME_API ImageReader : public ImageSource {
  public:
    virtual const ImageMetadata& metadata() const = 0;
    /// Reads planes z_begin … z_begin + target.shape.z - 1 of channel c at time t; `target` has the
    /// image's type, y and x, and any strides.
    void read_planes(index_t t, index_t c, index_t z_begin, const ImageView& target);
    /// Reads channel c at time t into `target` (same shape and type, any strides).
    void read(index_t t, index_t c, const ImageView& target);
    /// Throws IoError when the file was changed since it was opened: what was read may be of both
    /// states. For whoever has read the last box.
    virtual void check_unchanged() const = 0;
};

/// Opens `path` by its content ("file.h5:/dataset" for HDF5; BigDataViewer's XML opens the HDF5
/// file that it names). Throws InputNotFound, BadData (corrupt or unsupported; sizes are checked
/// against the file's size before anything is allocated), or Unavailable (format not built in).
/// Without a dataset, HDF5 files give stacks of BigDataViewer, Imaris or Fiji's plug-in whole, else
/// /data, /t0/channel0, /Data, /exported_data, or their only array of pixels.
CONVOLUME_API std::unique_ptr<ImageReader> open_image(const std::string& path,
                                                      const OpenOptions& options = {});

enum class Compression { none, deflate, lzw, zstd, packbits };
CONVOLUME_API const char* to_string(Compression);
/// "none", "deflate", "lzw", "zstd", "packbits"; throws InvalidArgument that lists them.
CONVOLUME_API Compression parse_compression(std::string_view);

struct CreateOptions {
    bool overwrite = false;
    Compression compression = Compression::none;
    /// Text stored as the file's provenance (TIFF Software tag, HDF5 attribute).
    std::string software;
};

/// An image of a file as a sink of boxes. write_box() and what calls it may be called by several
/// threads at once, in any order; every sample is written once. Boxes of whole pieces
/// (StackFormat::piece) are written fastest; in formats that have pieces, those that are not whole
/// yet wait in memory, and beyond 1 GiB in a file beside the output. What it throws (IoError: no
/// space) leaves a file that cannot be committed.
class CONVOLUME_API ImageWriter : public ImageSink {
  public:
    // Without commit(), the destructor removes whatever was written.

    /// Writes planes z_begin … z_begin + source.shape.z - 1 of channel c at time t; `source` has
    /// the type, y and x given at creation.
    void write_planes(index_t t, index_t c, index_t z_begin, const ConstImageView& source);
    /// Writes channel c at time t, all of it.
    void write(index_t t, index_t c, const ConstImageView& source);
    /// Completes the file and gives it its final name, once all boxes are written. Throws IoError,
    /// OutputExists, or InvalidArgument when samples are missing.
    virtual void commit() = 0;

  protected:
    virtual const ImageMetadata& metadata() const = 0;
};

/// Creates `path` under a temporary name beside it. The extension decides: .ome.tif, .ome.tiff,
/// .ome.tf2, .ome.tf8, .ome.btf write OME-TIFF; .tif, .tiff, .btf, .tf8 write ImageJ's TIFF where
/// that holds the pixels (uint8, uint16, float32, uncompressed) and OME-XML where not, both as
/// BigTIFF from 4 GiB on; .h5, .hdf5[:/dataset] HDF5 (dataset /data); .npy NPY. Throws
/// OutputExists, CannotCreate, IoError (no space), InvalidArgument (unknown extension, compression
/// or scaling of values that the format lacks), Unavailable.
CONVOLUME_API std::unique_ptr<ImageWriter> create_image(const std::string& path,
                                                        const ImageMetadata& metadata,
                                                        const CreateOptions& options = {});

/// "file.h5:/a/b" → {"file.h5", "/a/b"}; the second is empty where there is none.
struct PathSpec {
    std::string file;
    std::string dataset;
};
CONVOLUME_API PathSpec parse_path(const std::string& path);

/// Whether HDF5 files are opened in a forked copy of the process first, within limits of time and
/// memory. The HDF5 library can crash or hang on damaged files; then open_image() and open_signal()
/// throw BadData instead. It holds for the process, from the next file on. Without it, the
/// default, such a file can end the process. The convolume command asks for it. Programs may that
/// may fork at any time; other threads may run, but should not use HDF5 on their own meanwhile.
/// Reads go through copies, too, where HDF5 itself decodes or converts the samples; filters of
/// HDF5's plug-ins run in the process.
CONVOLUME_API void contain_damage(bool on);

/// Writes a file of these bytes, or replaces one. It gets its name when all of it is on disk; the
/// file that was there stays until then. Throws CannotCreate, IoError (no space).
CONVOLUME_API void write_whole_file(const std::string& path, std::span<const char> bytes);

/// Removes all outputs of the process that are not committed; async-signal-safe (for Ctrl-C).
CONVOLUME_API void remove_uncommitted_outputs() noexcept;

}  // namespace convolume::io
