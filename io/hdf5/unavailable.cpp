// SPDX-License-Identifier: Apache-2.0
#include "convolume/error.hpp"
#include "io/formats.hpp"
#include "io/signal/formats.hpp"

namespace convolume::io {
namespace {

[[noreturn]] void refuse(const std::string& path) {
    throw Unavailable(
        message(path,
                " is an HDF5 file and convolume was built without HDF5; install "
                "libhdf5-dev, libdeflate-dev and libpugixml-dev, then build it again"));
}

}  // namespace

std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions&) {
    refuse(spec.file);
}

std::unique_ptr<ImageReader> open_bdv_xml(const PathSpec& spec, const OpenOptions&) {
    throw Unavailable(message(spec.file,
                              " is an XML file and convolume was built without HDF5, whose images "
                              "such files describe; install libhdf5-dev, libdeflate-dev and "
                              "libpugixml-dev, then build it again"));
}

std::unique_ptr<ImageWriter> create_hdf5(const PathSpec& spec, const ImageMetadata&,
                                         const CreateOptions&) {
    refuse(spec.file);
}

std::unique_ptr<SignalReader> open_hdf5_signal(const PathSpec& spec) {
    refuse(spec.file);
}

std::unique_ptr<SignalWriter> create_hdf5_signal(const PathSpec& spec, const std::vector<index_t>&,
                                                 SampleType, const CreateSignalOptions&) {
    refuse(spec.file);
}

}  // namespace convolume::io
