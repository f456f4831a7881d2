// SPDX-License-Identifier: Apache-2.0
// A plug-in: a shared library by which the command, the Python package and other programs read
// another format. This one reads planes of gray values in PGM files of 8 or 16 bits.
//
//     CONVOLUME_FORMATS=./libpgm_format.so convolume info plane.pgm

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "convolume/error.hpp"
#include "convolume/image_format.hpp"
#include "convolume/volume.hpp"

namespace {

using namespace convolume;

// Returns the next number of a header, in which whitespace and comments stand between numbers.
index_t next_number(std::istream& file, const std::string& path) {
    while (file >> std::ws && file.peek() == '#') {
        std::string comment;
        std::getline(file, comment);
    }
    index_t number = 0;
    if (!(file >> number) || number < 1)
        throw BadData(path + " is a PGM file with a damaged header; write it again");
    return number;
}

class PgmReader final : public io::ImageReader {
  public:
    explicit PgmReader(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        file.ignore(2);  // the letters P5
        const index_t width = next_number(file, path), height = next_number(file, path);
        const index_t most = next_number(file, path);
        file.ignore(1);  // one character ends the header
        metadata_.format = "PGM";
        metadata_.shape = {1, height, width};
        metadata_.axes = "YX";
        metadata_.type = most > 255 ? PixelType::uint16 : PixelType::uint8;
        // The file tells whether it has the samples, before memory is taken for them.
        const auto begin = file.tellg();
        const auto bytes = file.seekg(0, std::ios::end).tellg() - begin;
        if (!file || bytes / width / height < static_cast<index_t>(size_of(metadata_.type)))
            throw BadData(path + " ends before its last sample; copy it again");
        plane_ = Volume(metadata_.shape, metadata_.type);
        file.seekg(begin);
        file.read(static_cast<char*>(plane_.view().data), plane_.bytes());
        if (metadata_.type == PixelType::uint16) {
            // The first byte of a sample is the most significant one.
            auto* const samples = plane_.elements<std::uint16_t>();
            std::transform(samples, samples + width * height, samples, [](std::uint16_t sample) {
                return static_cast<std::uint16_t>(sample >> 8 | sample << 8);
            });
        }
    }

    const io::ImageMetadata& metadata() const override { return metadata_; }
    StackFormat format() const override { return {metadata_.shape, metadata_.type}; }
    void read_box(index_t, index_t, const Box3& box, const ImageView& target) override {
        convert_pixels(subview(plane_.view(), box), target);
    }
    void check_unchanged() const override {}  // all samples are in memory

  private:
    io::ImageMetadata metadata_;
    Volume plane_;
};

void add_formats(io::FormatList& formats) {
    io::ImageFormat pgm;
    pgm.name = "PGM";
    pgm.read_endings = {".pgm"};
    pgm.recognizes = [](const std::string&, std::string_view head) {
        return head.starts_with("P5");
    };
    pgm.open = [](const io::PathSpec& image,
                  const io::OpenOptions&) -> std::unique_ptr<io::ImageReader> {
        return std::make_unique<PgmReader>(image.file);
    };
    formats.add(pgm);
}

}  // namespace

CONVOLUME_FORMAT_PLUGIN(add_formats)
