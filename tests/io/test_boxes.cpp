// SPDX-License-Identifier: Apache-2.0
// Reads and writes boxes of every format, in any order and by several threads at once.

#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#ifdef CONVOLUME_HAVE_HDF5
#include <hdf5.h>
#endif

#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

struct FileCase {
    const char* name;
    io::Compression compression;
};

using io::Compression;
const FileCase files[] = {
    {"a.npy", Compression::none},
#ifdef CONVOLUME_HAVE_TIFF
    {"a.tif", Compression::none},     {"a.ome.tif", Compression::none},
    {"a.tif", Compression::deflate},  {"a.tif", Compression::lzw},
    {"a.ome.tif", Compression::zstd}, {"a.tif", Compression::packbits},
#endif
#ifdef CONVOLUME_HAVE_HDF5
    {"a.h5", Compression::none},      {"a.h5:/x/y", Compression::none},
    {"a.h5", Compression::deflate},
#endif
};

/// Returns an image with several TIFF strips or HDF5 chunks along every axis, the last ones cut.
io::ImageMetadata large_image() {
    io::ImageMetadata m;
    m.shape = {9, 301, 517};
    m.type = PixelType::uint16;
    m.frames = 2;
    m.channels = 3;
    return m;
}

Volume volume_of(const io::ImageMetadata& m, index_t t, index_t c) {
    // Few different values, so that there is something to compress.
    Volume volume = random_volume(m.shape, m.type, static_cast<unsigned>(t * m.channels + c));
    auto* bytes = static_cast<unsigned char*>(volume.view().data);
    for (index_t i = 0; i < m.bytes() / (m.frames * m.channels); ++i) bytes[i] &= 0x13;
    return volume;
}

Box3 random_box(const Shape3& shape, std::mt19937& random) {
    Box3 box;
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<index_t>(random()) % (shape[axis] + 1);
        const auto b = static_cast<index_t>(random()) % (shape[axis] + 1);
        box.begin[axis] = std::min(a, b);
        box.end[axis] = std::max(a, b);
    }
    return box;
}

bool equal(const ConstImageView& a, const ConstImageView& b) {
    const auto row_bytes = static_cast<std::size_t>(a.shape.x) * size_of(a.type);
    for (index_t z = 0; z < a.shape.z; ++z)
        for (index_t y = 0; y < a.shape.y; ++y) {
            if (a.strides.x == 1 && b.strides.x == 1) {
                if (std::memcmp(a.at(z, y, 0), b.at(z, y, 0), row_bytes) != 0) return false;
                continue;
            }
            for (index_t x = 0; x < a.shape.x; ++x)
                if (std::memcmp(a.at(z, y, x), b.at(z, y, x), size_of(a.type)) != 0) return false;
        }
    return true;
}

/// Memory for a box, with gaps between rows and planes, or with odd numbers every second column.
struct StridedMemory {
    StridedMemory(const Shape3& shape, PixelType type, unsigned number)
        : memory({shape.z, shape.y + 1, number % 2 == 0 ? shape.x + 3 : 2 * shape.x + 1}, type) {
        view = {memory.view().data, type, shape, memory.view().strides};
        if (number % 2 == 1) view.strides.x = 2;
    }
    Volume memory;
    ImageView view;
};

/// Runs `work(thread)` in four threads, and returns the messages of their errors.
template <class Work>
std::vector<std::string> in_four_threads(const Work& work) {
    std::vector<std::string> errors(4);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            try {
                work(i);
            } catch (const std::exception& error) {
                errors[i] = error.what();
            }
        });
    for (std::thread& thread : threads) thread.join();
    return errors;
}

/// A box of one channel at one time.
struct PlacedBox {
    index_t t, c;
    Box3 box;
};
std::vector<PlacedBox> scattered(const io::ImageMetadata& m, const Shape3& step, unsigned seed) {
    std::vector<PlacedBox> boxes;
    for (index_t t = 0; t < m.frames; ++t)
        for (index_t c = 0; c < m.channels; ++c)
            for (index_t z = 0; z < m.shape.z; z += step.z)
                for (index_t y = 0; y < m.shape.y; y += step.y)
                    for (index_t x = 0; x < m.shape.x; x += step.x)
                        boxes.push_back(
                            {t,
                             c,
                             {{z, y, x},
                              {std::min(z + step.z, m.shape.z), std::min(y + step.y, m.shape.y),
                               std::min(x + step.x, m.shape.x)}}});
    std::shuffle(boxes.begin(), boxes.end(), std::mt19937(seed));
    return boxes;
}

std::vector<Volume> volumes_of(const io::ImageMetadata& m) {
    std::vector<Volume> volumes;
    for (index_t t = 0; t < m.frames; ++t)
        for (index_t c = 0; c < m.channels; ++c) volumes.push_back(volume_of(m, t, c));
    return volumes;
}

/// Reads random boxes by four threads, and compares them with `wanted`.
void check_boxes(io::ImageReader& reader, const std::vector<Volume>& wanted, unsigned seed) {
    const StackFormat format = reader.format();
    const auto errors = in_four_threads([&](unsigned thread) {
        std::mt19937 random(seed + thread);
        for (unsigned i = 0; i < 12; ++i) {
            const auto t = static_cast<index_t>(random()) % format.frames;
            const auto c = static_cast<index_t>(random()) % format.channels;
            const Box3 box = random_box(format.shape, random);
            const StridedMemory room(box.shape(), format.type, i);
            reader.read_box(t, c, box, room.view);
            const Volume& whole = wanted[static_cast<std::size_t>(t * format.channels + c)];
            if (!equal(room.view, subview(whole.view(), box)))
                throw BadData(
                    message("box ", to_string(box.begin), " to ", to_string(box.end), " differs"));
        }
    });
    for (const std::string& error : errors) CHECK(error == "");
    reader.check_unchanged();
}

}  // namespace

TEST_CASE("boxes are written in any order and read in any order by four threads", "[io]") {
    const unsigned seed = 4711;
    INFO("seed " << seed);
    const io::ImageMetadata m = large_image();
    const std::vector<Volume> wanted = volumes_of(m);
    const Shape3 steps[] = {{2, 97, 130}, {1, 301, 517}, {9, 50, 517}, {4, 7, 301}};
    // Each file has every second step. Formats of several files have all.
    std::size_t parity = 0;
    for (const FileCase& file : files) {
        parity = 1 - parity;
        for (std::size_t number = parity; number < std::size(steps); number += 2) {
            const Shape3& step = steps[number];
            INFO(file.name << " " << to_string(file.compression) << " boxes " << to_string(step));
            const MemoryFolder folder;
            const std::string path = folder / file.name;
            const auto writer = io::create_image(path, m, {false, file.compression, ""});
            const StackFormat format = writer->format();
            CHECK(format.shape == m.shape);
            CHECK(format.type == m.type);
            CHECK(format.frames == m.frames);
            CHECK(format.channels == m.channels);
            const std::vector<PlacedBox> boxes = scattered(m, step, seed);
            std::atomic<std::size_t> next{0};
            const auto errors = in_four_threads([&](unsigned) {
                for (std::size_t i; (i = next.fetch_add(1)) + 1 < boxes.size();) {
                    const auto& [t, c, box] = boxes[i];
                    const Volume& whole = wanted[static_cast<std::size_t>(t * m.channels + c)];
                    writer->write_box(t, c, box, subview(whole.view(), box));
                }
            });
            for (const std::string& error : errors) CHECK(error == "");
            // commit() refuses an image of which a box is missing.
            CHECK_THROWS_AS(writer->commit(), InvalidArgument);
            CHECK(!std::filesystem::exists(io::parse_path(path).file));
            const auto& [t, c, box] = boxes.back();
            const Volume& whole = wanted[static_cast<std::size_t>(t * m.channels + c)];
            writer->write_box(t, c, box, subview(whole.view(), box));
            writer->commit();
            CHECK(folder.names().size() == 1);

            const auto reader = io::open_image(path);
            for (index_t i = 0; i < 6; ++i)
                CHECK(same_bytes(read_channel(*reader, i / 3, i % 3),
                                 wanted[static_cast<std::size_t>(i)]));
            check_boxes(*reader, wanted, seed);
        }
    }
}

TEST_CASE("boxes outside the image or with another shape or type are refused", "[io]") {
    io::ImageMetadata m;
    m.shape = {4, 5, 6};
    for (const FileCase& file : files) {
        INFO(file.name << " " << to_string(file.compression));
        const MemoryFolder folder;
        write_image(folder / file.name, m, 1, {false, file.compression, ""});
        const auto reader = io::open_image(folder / file.name);
        const auto writer = io::create_image(folder / file.name, m, {true, file.compression, ""});
        Volume volume({2, 2, 2}, m.type);
        const std::pair<Box3, bool> boxes[] = {{{{0, 0, 0}, {2, 2, 2}}, true},
                                               {{{3, 0, 0}, {5, 2, 2}}, false},
                                               {{{0, 4, 0}, {2, 6, 2}}, false},
                                               {{{0, 0, -1}, {2, 2, 1}}, false},
                                               {{{0, 0, 0}, {2, 2, 3}}, false}};
        for (const auto& [box, fits] : boxes) {
            if (fits) {
                CHECK_NOTHROW(reader->read_box(0, 0, box, volume.view()));
                CHECK_NOTHROW(writer->write_box(0, 0, box, volume.view()));
            } else {
                CHECK_THROWS_AS(reader->read_box(0, 0, box, volume.view()), InvalidArgument);
                CHECK_THROWS_AS(writer->write_box(0, 0, box, volume.view()), InvalidArgument);
            }
        }
        CHECK_THROWS_AS(reader->read_box(0, 1, {{0, 0, 0}, {2, 2, 2}}, volume.view()),
                        InvalidArgument);
        const Volume doubles({2, 2, 2}, PixelType::float64);
        CHECK_THROWS_AS(writer->write_box(0, 0, {{0, 0, 0}, {2, 2, 2}}, doubles.view()),
                        InvalidArgument);
    }
}

TEST_CASE("samples that are written twice do not make up for missing ones", "[io]") {
    io::ImageMetadata m;
    m.shape = {4, 5, 6};
    for (const FileCase& file : files) {
        INFO(file.name << " " << to_string(file.compression));
        const MemoryFolder folder;
        const auto writer = io::create_image(folder / file.name, m, {false, file.compression, ""});
        const Volume volume = random_volume(m.shape, m.type, 1);
        try {
            writer->write(0, 0, volume.view());
            writer->write(0, 0, volume.view());
            writer->commit();
            FAIL("not refused");
        } catch (const InvalidArgument& error) {
            CHECK(contains(error.what(), "once"));
        }
    }
}

TEST_CASE("a file that changes while it is read is an error", "[io]") {
    for (const FileCase& file : files) {
        INFO(file.name << " " << to_string(file.compression));
        const MemoryFolder folder;
        const std::string path = folder / file.name;
        const std::string on_disk = io::parse_path(path).file;
        io::ImageMetadata m;
        m.shape = {40, 64, 64};
        write_image(path, m, 1, {false, file.compression, ""});
        {
            const auto reader = io::open_image(path);
            CHECK_NOTHROW(reader->check_unchanged());
            std::filesystem::last_write_time(
                on_disk, std::filesystem::last_write_time(on_disk) + std::chrono::seconds(1));
            try {
                reader->check_unchanged();
                FAIL("not noticed");
            } catch (const IoError& error) {
                CHECK(contains(error.what(), "was changed while it was read"));
            }
        }
        const auto reader = io::open_image(path);
        std::filesystem::resize_file(on_disk, std::filesystem::file_size(on_disk) / 4);
        CHECK_THROWS_AS(read_channel(*reader), IoError);
        CHECK_THROWS_AS(reader->check_unchanged(), IoError);
    }
}

TEST_CASE("a disk that fills while boxes are written is an error and leaves nothing", "[io]") {
    for (const FileCase& file : files) {
        const MemoryFolder folder;
        io::ImageMetadata m;
        m.shape = {64, 64, 64};
        const Volume volume = random_volume(m.shape, m.type, 1);
        // A child process limits the size of files after the output is created, which stands for a
        // full disk.
        const pid_t child = ::fork();
        if (child == 0) {
            std::signal(SIGXFSZ, SIG_IGN);
            int result = 1;
            try {
                const auto writer =
                    io::create_image(folder / file.name, m, {false, file.compression, ""});
                const rlimit limit{300000, 300000};
                ::setrlimit(RLIMIT_FSIZE, &limit);
                const auto errors = in_four_threads([&](unsigned i) {
                    const index_t z = i * 16;
                    writer->write_planes(0, 0, z,
                                         subview(volume.view(), {{z, 0, 0}, {z + 16, 64, 64}}));
                });
                writer->commit();
            } catch (const InvalidArgument&) {
                // commit() refused the incomplete output.
                result = folder.names().size() == 0 ? 0 : 2;
            } catch (const IoError&) {
                result = folder.names().size() == 0 ? 0 : 2;
            } catch (...) {
                result = 3;
            }
            ::_exit(result);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        INFO(file.name << " " << to_string(file.compression));
        CHECK(status == 0);
        CHECK(folder.names().size() == 0);
    }
}

#ifdef CONVOLUME_HAVE_HDF5
namespace {

struct DatasetStorage {
    bool chunked;
    int deflate;  ///< compression level; -1 for none
    bool shuffle;
    bool fletcher;
    bool big_endian;
};

/// Writes a dataset with HDF5 itself; of a chunked one, the last third of the planes stays
/// unwritten.
void write_with_hdf5(const std::string& path, const Volume& volume, const DatasetStorage& how) {
    const Shape3& s = volume.shape();
    const hsize_t dims[3] = {static_cast<hsize_t>(s.z), static_cast<hsize_t>(s.y),
                             static_cast<hsize_t>(s.x)};
    const hsize_t chunk[3] = {3, 17, 40};
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, dims, nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const std::uint16_t fill = 0x1234;
    H5Pset_fill_value(properties, H5T_NATIVE_UINT16, &fill);
    if (how.chunked) H5Pset_chunk(properties, 3, chunk);
    if (how.shuffle) H5Pset_shuffle(properties);
    if (how.deflate >= 0) H5Pset_deflate(properties, static_cast<unsigned>(how.deflate));
    if (how.fletcher) H5Pset_fletcher32(properties);
    const hid_t dataset = H5Dcreate2(file, "d", how.big_endian ? H5T_STD_U16BE : H5T_STD_U16LE,
                                     space, H5P_DEFAULT, properties, H5P_DEFAULT);
    REQUIRE(dataset >= 0);
    hsize_t start[3] = {0, 0, 0};
    hsize_t count[3] = {how.chunked ? dims[0] / 3 * 2 : dims[0], dims[1], dims[2]};
    const hid_t memory = H5Screate_simple(3, count, nullptr);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, volume.view().data) >=
            0);
    for (const hid_t id : {memory, space}) H5Sclose(id);
    H5Pclose(properties);
    H5Dclose(dataset);
    H5Fclose(file);
}

}  // namespace

TEST_CASE("boxes of HDF5 datasets of every storage are read by four threads", "[io][hdf5]") {
    const unsigned seed = 99;
    INFO("seed " << seed);
    for (const bool chunked : {false, true})
        for (const int deflate : {-1, 0, 4})
            for (const bool shuffle : {false, true})
                for (const bool fletcher : {false, true})
                    for (const bool big_endian : {false, true}) {
                        if (!chunked && (deflate >= 0 || shuffle || fletcher)) continue;
                        INFO("chunked " << chunked << " deflate " << deflate << " shuffle "
                                        << shuffle << " fletcher " << fletcher << " big "
                                        << big_endian);
                        const MemoryFolder folder;
                        std::vector<Volume> wanted;
                        wanted.push_back(random_volume({15, 61, 130}, PixelType::uint16, seed));
                        write_with_hdf5(folder / "a.h5", wanted[0],
                                        {chunked, deflate, shuffle, fletcher, big_endian});
                        auto* samples = static_cast<std::uint16_t*>(wanted[0].view().data);
                        // Of five HDF5 chunks of 3 planes, four are stored and one is not. 10
                        // planes were written.
                        if (chunked)
                            std::fill(samples + 10 * 61 * 130, samples + 15 * 61 * 130, 0x1234);
                        const auto reader = io::open_image(folder / "a.h5");
                        CHECK(reader->format().piece ==
                              (chunked ? Shape3{3, 17, 40} : Shape3{1, 1, 1}));
                        check_boxes(*reader, wanted, seed);
                        // Reads in small steps along z.
                        Volume walked(wanted[0].shape(), PixelType::uint16);
                        for (index_t z = 0; z < 15; ++z)
                            reader->read_planes(
                                0, 0, z, subview(walked.view(), {{z, 0, 0}, {z + 1, 61, 130}}));
                        CHECK(same_bytes(walked, wanted[0]));
                    }
}

TEST_CASE("HDF5 chunks that skipped some of their filters are read", "[io][hdf5]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.h5";
    const Volume zeros({15, 61, 130}, PixelType::uint16);
    write_with_hdf5(path, zeros, {true, 4, true, false, false});
    const Volume plain = random_volume({3, 17, 40}, PixelType::uint16, 5);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "d", H5P_DEFAULT);
    const hsize_t start[3] = {3, 17, 40};
    REQUIRE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 3, start, 3 * 17 * 40 * 2, plain.view().data) >=
            0);
    H5Dclose(dataset);
    H5Fclose(file);
    const auto reader = io::open_image(path);
    Volume got({3, 17, 40}, PixelType::uint16);
    reader->read_box(0, 0, {{3, 17, 40}, {6, 34, 80}}, got.view());
    CHECK(same_bytes(got, plain));
}
#endif

}  // namespace convolume::testing
