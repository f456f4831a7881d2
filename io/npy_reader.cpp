// SPDX-License-Identifier: Apache-2.0
// Stacks in NumPy's array files.

#include "io/axis_layout.hpp"
#include "io/file_array.hpp"
#include "io/formats.hpp"
#include "io/npy_header.hpp"

namespace convolume::io {
namespace {

class NpyReader : public ImageReader {
  public:
    NpyReader(const std::string& path, const OpenOptions& options)
        : file_(path),
          header_(read_npy_header(file_)),
          layout_(axis_layout(header_.dims, "", options.axes, path)),
          strides_(array_strides(layout_.dims, header_.fortran_order)) {
        metadata_.format = "NPY";
        metadata_.type = header_.type;
        set_extents(metadata_, layout_);
        if (layout_.assumed && layout_.axes.size() > 3)
            metadata_.notes.push_back(message("NPY files do not name their axes; ", layout_.axes,
                                              " are assumed, --axes gives others"));
    }

    const ImageMetadata& metadata() const override { return metadata_; }
    StackFormat format() const override { return stack_format(metadata_); }
    void check_unchanged() const override { file_.check_unchanged(); }

    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format(), t, c, box, target);
        index_t first = 0;
        const std::vector<index_t> at = layout_.position(t, c, 0);
        for (std::size_t d = 0; d < at.size(); ++d) first += at[d] * strides_[d];
        const index_t bytes_each = header_.element_bytes();
        const FileArray volume{header_.data_offset + first * bytes_each,
                               {stride('Z'), stride('Y'), stride('X')},
                               header_.swapped};
        read_npy_elements(file_, header_, volume.from(box.begin, bytes_each), target);
    }

  private:
    index_t stride(char axis) const {
        const int d = layout_.dimension(axis);
        return d < 0 ? 0 : strides_[static_cast<std::size_t>(d)];
    }

    RawFile file_;
    NpyHeader header_;
    AxisLayout layout_;
    std::vector<index_t> strides_;
    ImageMetadata metadata_;
};

}  // namespace

std::unique_ptr<ImageReader> open_npy(const std::string& path, const OpenOptions& options) {
    return std::make_unique<NpyReader>(path, options);
}

}  // namespace convolume::io
