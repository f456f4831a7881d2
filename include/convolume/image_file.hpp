// SPDX-License-Identifier: Apache-2.0
#pragma once
// Image files: TIFF (plain, ImageJ, OME), HDF5, NPY, MRC. One reader and one writer interface serve
// all formats. In this interface axes are always t, c, z, y, x.

#include <array>
#include <cmath>
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

/// Scale from stored samples to values:
///
///     value = stored · scale + offset
struct ValueScaling {
    double scale = 1;
    double offset = 0;
};

/// Metadata of the microscope that recorded an image, from OME-XML. Values that the file does not
/// give are not set.
struct MicroscopeMetadata {
    /// Metadata of one channel.
    struct Channel {
        std::optional<double> emission_um;    ///< wavelength of emission in vacuum
        std::optional<double> excitation_um;  ///< wavelength of excitation in vacuum
        std::optional<double> pinhole_um;     ///< diameter in the plane of the pinhole
        std::string acquisition_mode;         ///< OME's word, such as "WideField"; may be empty
    };

    std::optional<double> na;                ///< numerical aperture of the objective
    std::optional<double> refractive_index;  ///< refractive index of the immersion medium
    std::optional<double> magnification;     ///< magnification of the objective
    std::string immersion;                   ///< OME's word, such as "Oil", "Water"; may be empty
    std::optional<int> significant_bits;     ///< significant bits of the camera's samples
    std::vector<Channel> channels;           ///< metadata of each channel; may be empty

    /// Returns the largest value of the camera's samples, if it is known.
    std::optional<double> camera_maximum() const {
        if (!significant_bits) return std::nullopt;
        return std::ldexp(1.0, *significant_bits) - 1;
    }
};

/// Metadata of an image: extents, type, voxel size, and metadata of its format.
/// @code{.cpp}
/// io::ImageMetadata metadata;
/// metadata.shape = {40, 512, 512};
/// metadata.channels = 2;
/// metadata.type = PixelType::uint16;
/// metadata.voxel_size_um = {0.2, 0.065, 0.065};
/// metadata.channel_names = {"DAPI", "GFP"};
/// assert(metadata.bytes() == index_t{2} * 2 * 40 * 512 * 512);
/// std::cout << io::to_string(metadata);
/// @endcode
struct CONVOLUME_API ImageMetadata {
    std::string format;  ///< name such as "ImageJ TIFF", "OME-TIFF", "TIFF", "HDF5", "NPY" or "MRC"
    index_t frames = 1;  ///< number of times: extent along t
    index_t channels = 1;  ///< number of channels: extent along c
    Shape3 shape;          ///< extents along z, y, x of one channel at one time
    PixelType type = PixelType::float32;
    std::string axes = "ZYX";  ///< axes that the file names or implies, slowest first

    /// Voxel size z, y, x in µm. Values that the file does not give are not set.
    std::array<std::optional<double>, 3> voxel_size_um;
    std::string unit;  ///< unit of the voxel size in the file, such as "nm"; may be empty
    std::optional<double> frame_interval_s;  ///< seconds from one time to the next
    index_t images = 1;                      ///< number of images in the file
    index_t image = 0;                       ///< number of this image in the file, from 0
    std::string image_name;                  ///< the file's name for this image; may be empty
    std::vector<std::string> channel_names;  ///< name of each channel; may be empty
    /// Display colors of the channels, 0xRRGGBB, from OME, ImageJ or Imaris. Empty, or one for each
    /// channel.
    std::vector<std::optional<std::uint32_t>> channel_colors;
    /// Scale from samples to values; not set if samples are the values. Readers give stored
    /// samples.
    std::optional<ValueScaling> scaling;

    MicroscopeMetadata microscope;

    /// Notes for the user about assumptions and omissions of reading, one sentence each. Examples
    /// are axes that the file does not name, or a resolution that is not used as a voxel size.
    std::vector<std::string> notes;

    // Metadata of the format, which writers copy unchanged if the output's format can hold them.
    std::string ome_xml;                        ///< OME-XML document
    std::string imagej_description;             ///< ImageJ's text in ImageDescription
    std::vector<std::uint8_t> imagej_metadata;  ///< TIFF tag 50839, in this machine's byte order
    std::vector<std::uint32_t> imagej_metadata_counts;  ///< TIFF tag 50838, bytes of the items
    std::map<std::string, std::string> text;            ///< further text attributes, by name

    /// Returns the bytes of all pixels. Throws InvalidArgument beyond 64 bits.
    index_t bytes() const;
};

/// Reduces ImageJ's metadata (tag 50839), for an output that has only some planes of an image.
/// Keeps the lookup tables of `channels`, in that order. Drops the rest: labels and regions of
/// planes, display ranges, notes.
CONVOLUME_API void keep_lookup_tables(ImageMetadata& metadata,
                                      const std::vector<index_t>& channels);

/// Adapts metadata to an output of `shape` whose first sample is at index `first` of the image,
/// which may be outside. Labels of planes (ImageJ) and facts of planes (OME) move with their
/// planes. Planes outside the image get the name of their channel or an empty label. ImageJ's
/// regions are dropped if the output begins elsewhere.
CONVOLUME_API void move_planes(ImageMetadata& metadata, const Shape3& shape, const Index3& first);

/// Returns the metadata for people, with one "name: value" in a line: format, type, shape, voxel
/// size and others.
CONVOLUME_API std::string to_string(const ImageMetadata& metadata);

/// Options of open_image().
struct OpenOptions {
    /// Meaning of the axes of a stack: one letter of T, C, Z, Y, X for each dimension, slowest
    /// first, such as "TYX" or "CZYX". If empty, the axes that the file names. If it names none,
    /// the pages of a TIFF are z, and arrays of 1 … 5 dimensions are X, YX, ZYX, CZYX, TCZYX.
    std::string axes{};
    /// Image to read of a file that has several: its number, from 0, or its name. If empty, the
    /// first one whose planes are in the file.
    std::string image{};
    /// Axis along which several files are joined to one image: T, C or Z. `path` is then a folder,
    /// or a pattern such as "series/z*.tif". Files are taken in the natural order of their names.
    std::string stack{};
    /// Files, folders and patterns of the stack, in this order, in place of `path`.
    std::vector<std::string> stack_files{};
};

/// An image of a file as a source of boxes. Several threads may call read_box(), read_planes() and
/// read() at once. They throw BadData for damaged content, and IoError if the file cannot be read.
/// @code{.cpp}
/// io::ImageMetadata metadata;
/// metadata.shape = {8, 64, 64};
/// const auto writer = io::create_image("zeros.npy", metadata, {.overwrite = true});
/// writer->write(0, 0, Volume(metadata.shape, metadata.type).view());
/// writer->commit();
/// const std::unique_ptr<io::ImageReader> reader = io::open_image("zeros.npy");
/// Volume image(reader->metadata().shape, reader->metadata().type);
/// reader->read(0, 0, image.view());  // t = 0, c = 0
/// reader->check_unchanged();
/// @endcode
class CONVOLUME_API ImageReader : public ImageSource {
  public:
    /// Returns the metadata of the image.
    virtual const ImageMetadata& metadata() const = 0;
    /// Reads planes z_begin … z_begin + target.shape.z - 1 of channel c at time t; `target` has the
    /// image's type, y and x, and any strides.
    void read_planes(index_t t, index_t c, index_t z_begin, const ImageView& target);
    /// Reads channel c at time t into `target` (same shape and type, any strides).
    void read(index_t t, index_t c, const ImageView& target);
    /// Throws IoError if the file was changed since it was opened: samples may then be of both
    /// states. Call it after the last box was read.
    virtual void check_unchanged() const = 0;
};

/// Opens an image file. The content of the file at `path` decides about its format. For HDF5,
/// `path` may name a dataset: "file.h5:/dataset". BigDataViewer's XML opens the HDF5 file that it
/// names. If `path` names no dataset, HDF5 files give the whole stack of BigDataViewer, Imaris or
/// Fiji's plug-in. Other HDF5 files give /data, /t0/channel0, /Data, /exported_data, or their only
/// array of pixels.
///
/// Several files are read as one image if `path` is a template of their names, such as
/// "img_t{t}_c{c}_z{z}.tif", or if OpenOptions::stack is set. All have one shape and type.
///
/// Throws InputNotFound, BadData (damaged or not supported), or Unavailable (this build lacks the
/// format). Sizes are compared with the file's size before memory is allocated.
/// @code{.cpp}
/// io::ImageMetadata metadata;
/// metadata.shape = {8, 64, 64};
/// metadata.type = PixelType::uint16;
/// const auto recorded = io::create_image("cells.ome.tif", metadata, {.overwrite = true});
/// recorded->write(0, 0, Volume(metadata.shape, metadata.type).view());
/// recorded->commit();
/// const auto cells = io::open_image("cells.ome.tif");
/// Volume kernel({3, 3, 3}, PixelType::float32);
/// kernel.elements<float>()[13] = 1;
/// metadata.type = PixelType::float32;
/// const auto blurred = io::create_image("blurred.ome.tif", metadata, {.overwrite = true});
/// Convolver(metadata.shape, kernel.view()).execute(*cells, *blurred);
/// blurred->commit();
/// @endcode
CONVOLUME_API std::unique_ptr<ImageReader> open_image(const std::string& path,
                                                      const OpenOptions& options = {});

/// Returns true if `path` is a template of names: it has a field {t}, {c} or {z}, and there is no
/// file of that name. {t} and {z} stand for numbers, {c} for numbers or names of channels.
CONVOLUME_API bool is_name_template(const std::string& path);

/// Returns the files that match a pattern of the shell with *, ? or […], in their natural order: z2
/// comes before z10. Returns the path itself if it is no pattern, or if a file has that name.
/// Throws InputNotFound if no file matches.
CONVOLUME_API std::vector<std::string> matching_files(const std::string& pattern);

/// Returns the files that open_image() reads: {path}, or those of a stack.
CONVOLUME_API std::vector<std::string> image_files(const std::string& path,
                                                   const OpenOptions& options = {});

/// Compression of the pixels in a file.
enum class Compression { none, deflate, lzw, zstd, packbits };
/// Returns the name that parse_compression() takes.
CONVOLUME_API const char* to_string(Compression);
/// Parses "none", "deflate", "lzw", "zstd" or "packbits". Throws InvalidArgument, which lists
/// these, for others.
CONVOLUME_API Compression parse_compression(std::string_view);

/// Options of create_image().
struct CreateOptions {
    /// Whether a file of that name may be replaced, or the dataset that is named in an HDF5 file.
    bool overwrite = false;
    Compression compression = Compression::none;
    /// Name of the program that makes the file, for the TIFF Software tag or an HDF5 attribute.
    std::string software{};
};

/// An image of a file as a sink of boxes. Several threads may call write_box(), write_planes() and
/// write() at once, in any order. Every sample is written once. Boxes of whole pieces
/// (StackFormat::piece) are written fastest. Incomplete pieces wait in memory, and beyond 1 GiB in
/// a file beside the output. After an error (IoError: no space) the file cannot be committed.
/// @code{.cpp}
/// io::ImageMetadata metadata;
/// metadata.shape = {8, 64, 64};
/// const Volume image(metadata.shape, PixelType::float32);
/// const std::unique_ptr<io::ImageWriter> writer =
///     io::create_image("written.npy", metadata, {.overwrite = true});
/// for (index_t z = 0; z < 8; z += 2)
///     writer->write_planes(0, 0, z, subview(image.view(), {{z, 0, 0}, {z + 2, 64, 64}}));
/// writer->commit();
/// @endcode
class CONVOLUME_API ImageWriter : public ImageSink {
  public:
    // Without commit(), the destructor removes the file.

    /// Writes planes z_begin … z_begin + source.shape.z - 1 of channel c at time t; `source` has
    /// the type, y and x given at creation.
    void write_planes(index_t t, index_t c, index_t z_begin, const ConstImageView& source);
    /// Writes all planes of channel c at time t.
    void write(index_t t, index_t c, const ConstImageView& source);
    /// Completes the file and gives it its final name, once all boxes are written. Throws IoError,
    /// OutputExists, or InvalidArgument if samples are missing.
    virtual void commit() = 0;

  protected:
    virtual const ImageMetadata& metadata() const = 0;
};

/// Creates an image file under a temporary name beside `path`. The extension decides about the
/// format. The library has these, and register_format() (image_format.hpp) adds others:
///
///     .ome.tif, .ome.tiff, .ome.tf2, .ome.tf8, .ome.btf   OME-TIFF
///     .tif, .tiff, .btf, .tf8                             ImageJ's TIFF, or TIFF with OME-XML
///     .h5, .hdf5, .h5:/dataset, .hdf5:/dataset            HDF5 (by default dataset /data)
///     .npy                                                NPY
///     .mrc, .mrcs, .map                                   MRC
///
/// ImageJ's TIFF holds uint8, uint16 and float32 without compression; other pixels are written with
/// OME-XML. TIFF files from 4 GiB on are BigTIFF. Throws OutputExists, CannotCreate, IoError (no
/// space) or Unavailable. Throws InvalidArgument for an unknown extension, and for a compression or
/// value scaling that the format does not have.
/// @code{.cpp}
/// io::ImageMetadata metadata;
/// metadata.shape = {1, 64, 64};
/// metadata.voxel_size_um = {0.2, 0.1, 0.1};
/// io::CreateOptions options;
/// options.overwrite = true;
/// const auto writer = io::create_image("plane.tif", metadata, options);
/// writer->write(0, 0, Volume(metadata.shape, metadata.type).view());
/// writer->commit();
/// @endcode
CONVOLUME_API std::unique_ptr<ImageWriter> create_image(const std::string& path,
                                                        const ImageMetadata& metadata,
                                                        const CreateOptions& options = {});

/// A path that may name a dataset of an HDF5 file.
struct PathSpec {
    std::string file;     ///< path of the file
    std::string dataset;  ///< path of the dataset in the file; empty if none is named
};
/// Splits a path: "file.h5:/a/b" gives {"file.h5", "/a/b"}.
CONVOLUME_API PathSpec parse_path(const std::string& path);

/// Returns whether an output at `path` would replace something: a file, or the dataset that `path`
/// names in an HDF5 file. A dataset whose name is free there is added without
/// CreateOptions::overwrite.
CONVOLUME_API bool output_exists(const std::string& path);

/// Sets whether HDF5 files are first opened in a forked copy of the process, within limits of time
/// and memory. The HDF5 library can crash or hang on damaged files. With `on`, open_image() and
/// open_signal() throw BadData for such a file; without it, which is the default, the file can end
/// the process. The setting holds for the whole process, from the next file on. The convolume
/// command sets it.
///
/// Only programs that may fork at any time may set it. Other threads may run, but should not use
/// HDF5 meanwhile. Reads also go through copies of the process if HDF5 itself decodes or converts
/// the samples. Filters of HDF5's plug-ins run in the process itself.
CONVOLUME_API void contain_damage(bool on);

/// Writes a file of `bytes`, or replaces one. The file gets its name when it is completely on disk;
/// until then an older file of that name stays. Throws CannotCreate or IoError (no space).
CONVOLUME_API void write_whole_file(const std::string& path, std::span<const char> bytes);

/// Removes all outputs of the process that are not committed. It is async-signal-safe, so that a
/// handler of Ctrl-C may call it.
CONVOLUME_API void remove_uncommitted_outputs() noexcept;

}  // namespace convolume::io
