// SPDX-License-Identifier: Apache-2.0
#include "io/formats.hpp"
#include "io/hdf5_series.hpp"

namespace convolume::io {
namespace {

class Hdf5Reader : public ImageReader {
  public:
    Hdf5Reader(const PathSpec& spec, const OpenOptions& options) : raw_(spec.file) {
        const Hdf5Lock lock;
        file_ = Hdf5Id(H5Fopen(spec.file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
        if (!file_)
            throw BadData(message(spec.file, " cannot be read as HDF5: ", hdf5_reason(),
                                  "; it is truncated, damaged or open for writing, copy it again"));
        try {
            series_ = find_series({file_.get(), raw_}, spec.dataset, options.axes);
        } catch (...) {
            file_.close();
            throw;
        }
    }

    ~Hdf5Reader() override {
        const Hdf5Lock lock;
        file_.close();
    }

    const ImageMetadata& metadata() const override { return series_.metadata; }

    void read_planes(index_t t, index_t c, index_t z_begin, const ImageView& target) override {
        check_request(series_.metadata, t, c, z_begin, target);
        if (target.shape.z == 0) return;
        const Hdf5Lock lock;
        const bool one = series_.datasets.size() == 1;
        const index_t number = one ? 0 : t * series_.metadata.channels + c;
        const Hdf5Dataset dataset(file_.get(), raw_,
                                  series_.datasets[static_cast<std::size_t>(number)]);
        dataset.read(series_.layout, series_.layout.position(t, c, z_begin), target);
    }

  private:
    RawFile raw_;
    Hdf5Id file_;
    Hdf5Series series_;
};

}  // namespace

std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options) {
    return std::make_unique<Hdf5Reader>(spec, options);
}

}  // namespace convolume::io
