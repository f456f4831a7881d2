// SPDX-License-Identifier: Apache-2.0
// The registry of image formats: endings, recognition, and formats of the caller.

#include "convolume/image_format.hpp"
#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

/// An image of one value at every sample.
class ConstantReader : public io::ImageReader {
  public:
    explicit ConstantReader(unsigned char value) : value_(value) {
        metadata_.shape = {2, 3, 4};
        metadata_.type = PixelType::uint8;
    }
    const io::ImageMetadata& metadata() const override { return metadata_; }
    StackFormat format() const override { return {metadata_.shape, metadata_.type}; }
    void read_box(index_t, index_t, const Box3&, const ImageView& target) override {
        for (index_t z = 0; z < target.shape.z; ++z)
            for (index_t y = 0; y < target.shape.y; ++y)
                for (index_t x = 0; x < target.shape.x; ++x)
                    *static_cast<unsigned char*>(target.at(z, y, x)) = value_;
    }
    void check_unchanged() const override {}

  private:
    unsigned char value_;
    io::ImageMetadata metadata_;
};

/// A format of files that begin with "CONST" and their value.
io::ImageFormat constant_format(const std::string& name) {
    return {
        .name = name,
        .read_endings = {".constant"},
        .recognizes = [](const std::string&,
                         std::string_view head) { return head.starts_with("CONST"); },
        .open =
            [](const io::PathSpec& image, const io::OpenOptions&) {
                const std::string bytes = read_bytes(image.file);
                return std::make_unique<ConstantReader>(static_cast<unsigned char>(bytes.at(5)));
            }};
}

std::string output_of(const std::string& path) {
    const auto ending = io::image_ending(path);
    return ending ? ending->output : "none";
}

}  // namespace

TEST_CASE("the longest ending of a name decides about its format", "[io]") {
    CHECK(output_of("a.tif") == ".tif");
    CHECK(output_of("a.OME.Tif") == ".ome.tif");
    CHECK(io::image_ending("a.OME.Tif")->size == 8);
    CHECK(output_of("a.lsm") == ".tif");
    CHECK(output_of("a.ims") == ".h5");
    CHECK(output_of("ome.hdf5") == ".hdf5");
    CHECK(output_of(".tif") == "none");
    CHECK(output_of("a.xyz") == "none");
    for (const char* ending : {".tif", ".ome.tif", ".h5:/dataset", ".npy"})
        CHECK(contains(io::usual_image_endings(), ending));
}

TEST_CASE("a dataset is told from the path of a file or a URL", "[io]") {
    CHECK(io::parse_path("a.h5:/b/c").dataset == "/b/c");
    CHECK(io::parse_path("a.h5://b").dataset == "//b");
    CHECK(io::parse_path("s3://bucket/a.zarr").file == "s3://bucket/a.zarr");
    CHECK(io::parse_path("a/b.tif").dataset.empty());
}

TEST_CASE("a registered format reads its files, and the last one of two is asked first", "[io]") {
    const MemoryFolder folder;
    write_bytes(folder / "a.constant", "CONST\x07");
    CHECK(contains(refusal<BadData>(folder / "a.constant"), "is not a TIFF"));
    io::register_format(constant_format("constant"));
    const auto reader = io::open_image(folder / "a.constant");
    CHECK(read_channel(*reader).elements<unsigned char>()[23] == 7);
    CHECK(contains(refusal<InvalidArgument>((folder / "a.constant") + ":/x"), "no dataset"));
    CHECK(output_of("a.constant").empty());

    // A stack of a folder takes files by the endings of the registered formats.
    write_bytes(folder / "b.constant", "CONST\x08");
    io::OpenOptions stacked;
    stacked.stack = "z";
    const auto stack = io::open_image(folder / "", stacked);
    CHECK(stack->metadata().shape == Shape3{4, 3, 4});

    io::ImageFormat other = constant_format("other");
    other.open = [](const io::PathSpec&, const io::OpenOptions&) {
        return std::make_unique<ConstantReader>(static_cast<unsigned char>(9));
    };
    io::register_format(other);
    CHECK(read_channel(*io::open_image(folder / "a.constant")).elements<unsigned char>()[0] == 9);
    const std::size_t formats = io::image_formats().size();
    io::register_format(constant_format("constant"));  // replaces, and is now the last one
    CHECK(io::image_formats().size() == formats);
    CHECK(read_channel(*io::open_image(folder / "a.constant")).elements<unsigned char>()[0] == 7);
    // Without functions, nothing is read any more.
    io::register_format({.name = "constant"});
    io::register_format({.name = "other"});
    CHECK(contains(refusal<BadData>(folder / "a.constant"), "is not a TIFF"));
}

TEST_CASE("a format takes paths that are no regular files", "[io]") {
    const MemoryFolder folder;
    std::filesystem::create_directory(folder / "a.folder");
    io::ImageFormat format = constant_format("folders");
    format.recognizes = [](const std::string& path, std::string_view head) {
        return head.empty() && (path.ends_with(".folder") || path.starts_with("none://"));
    };
    format.open = [](const io::PathSpec& image, const io::OpenOptions&) {
        return std::make_unique<ConstantReader>(static_cast<unsigned char>(image.file.size()));
    };
    io::register_format(format);
    CHECK(io::open_image(folder / "a.folder")->metadata().shape == Shape3{2, 3, 4});
    CHECK(read_channel(*io::open_image("none://a/b.c")).elements<unsigned char>()[0] == 12);
    CHECK(contains(refusal<InputNotFound>(folder / "b.folder2"), "b.folder2"));
    io::register_format({.name = "folders"});
    CHECK(contains(refusal<InputNotFound>(folder / "a.folder"), "is a folder"));
}

TEST_CASE("incomplete formats are refused", "[io]") {
    const auto refused = [](const io::ImageFormat& format, const char* part) {
        try {
            io::register_format(format);
        } catch (const InvalidArgument& error) {
            return contains(error.what(), part);
        }
        return false;
    };
    io::ImageFormat format = constant_format("");
    CHECK(refused(format, "no name"));
    format.name = "x";
    format.read_endings = {"constant"};
    CHECK(refused(format, "begin it with a dot"));
    format = constant_format("x");
    format.endings = {".x"};
    CHECK(refused(format, "create"));
    format = constant_format("x");
    format.recognizes = nullptr;
    CHECK(refused(format, "recognizes"));
}

}  // namespace convolume::testing
