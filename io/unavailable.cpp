// SPDX-License-Identifier: Apache-2.0
// Replacements for readers and writers of formats whose libraries this build lacks.

#include "convolume/error.hpp"
#include "io/hdf5/format.hpp"
#include "io/ome/document.hpp"
#include "io/signal/file.hpp"
#include "io/tiff/format.hpp"

namespace convolume::io {

#ifndef CONVOLUME_HAVE_TIFF

[[noreturn]] static void refuse_tiff(const std::string& path) {
    throw Unavailable(message(path,
                              " is a TIFF file and convolume was built without TIFF; install "
                              "libtiff-dev and libpugixml-dev, then build it again"));
}

std::unique_ptr<ImageReader> open_tiff(const PathSpec& spec, const OpenOptions&) {
    refuse_tiff(spec.file);
}

std::unique_ptr<ImageReader> open_ome_companion(const PathSpec& spec, const OpenOptions&) {
    refuse_tiff(spec.file);
}

std::unique_ptr<ImageWriter> create_tiff(const PathSpec& spec, const ImageMetadata&,
                                         const CreateOptions&) {
    refuse_tiff(spec.file);
}

std::unique_ptr<ImageWriter> create_ome_tiff(const PathSpec& spec, const ImageMetadata&,
                                             const CreateOptions&) {
    refuse_tiff(spec.file);
}

// Only TIFF readers set OME-XML.
bool names_several_files(const std::string&, const std::string&) {
    return false;
}

// Only TIFF readers set lookup tables and facts of planes, so there is nothing to keep or to move.
void keep_lookup_tables(ImageMetadata&, const std::vector<index_t>&) {}
void move_planes(ImageMetadata& metadata, const Shape3& shape, const Index3&) {
    metadata.shape = shape;
}

#endif
#ifndef CONVOLUME_HAVE_HDF5

[[noreturn]] static void refuse_hdf5(const std::string& path) {
    throw Unavailable(
        message(path,
                " is an HDF5 file and convolume was built without HDF5; install libhdf5-dev, "
                "libdeflate-dev and libpugixml-dev, then build it again"));
}

std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions&) {
    refuse_hdf5(spec.file);
}

std::unique_ptr<ImageReader> open_bdv_xml(const PathSpec& spec, const OpenOptions&) {
    throw Unavailable(message(spec.file,
                              " is an XML file and convolume was built without HDF5, whose images "
                              "such files describe; install libhdf5-dev, libdeflate-dev and "
                              "libpugixml-dev, then build it again"));
}

std::unique_ptr<ImageWriter> create_hdf5(const PathSpec& spec, const ImageMetadata&,
                                         const CreateOptions&) {
    refuse_hdf5(spec.file);
}

bool is_free_in_hdf5(const PathSpec&) {
    return false;
}

std::unique_ptr<SignalReader> open_hdf5_signal(const PathSpec& spec) {
    refuse_hdf5(spec.file);
}

std::unique_ptr<SignalWriter> create_hdf5_signal(const NewSignals& signals) {
    refuse_hdf5(signals.path.file);
}

#endif
#ifndef CONVOLUME_HAVE_SNDFILE

[[noreturn]] static void refuse_wav(const std::string& path) {
    throw Unavailable(message(path,
                              " is a WAV file and convolume was built without libsndfile; install "
                              "libsndfile1-dev, then build it again"));
}

std::unique_ptr<SignalReader> open_wav_signal(const std::string& path) {
    refuse_wav(path);
}

std::unique_ptr<SignalWriter> create_wav_signal(const NewSignals& signals) {
    refuse_wav(signals.path.file);
}

#endif

}  // namespace convolume::io
