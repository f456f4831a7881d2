// SPDX-License-Identifier: Apache-2.0
// Tests that outputs appear complete or not at all.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#ifdef CONVOLUME_HAVE_HDF5
#include <hdf5.h>
#endif

#include "convolume/signal_file.hpp"
#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

io::ImageMetadata small_image() {
    io::ImageMetadata m;
    m.shape = {2, 3, 4};
    m.type = PixelType::uint8;
    return m;
}

#if defined(CONVOLUME_HAVE_TIFF) && defined(CONVOLUME_HAVE_HDF5)
const char* const names[] = {"a.tif", "a.ome.tif", "a.h5", "a.npy"};
#else
const char* const names[] = {"a.npy"};
#endif

}  // namespace

TEST_CASE("an output that is not committed leaves nothing", "[io]") {
    for (const char* name : names) {
        const MemoryFolder folder;
        {
            const auto writer = io::create_image(folder / name, small_image());
            writer->write(0, 0, random_volume({2, 3, 4}, PixelType::uint8, 1).view());
            CHECK(folder.names().size() == 1);
            CHECK(!std::filesystem::exists(folder / name));
        }
        CHECK(folder.names().size() == 0);
        const auto writer = io::create_image(folder / name, small_image());
        CHECK_THROWS_AS(writer->commit(), InvalidArgument);
        CHECK_THROWS_AS(writer->write(0, 0, random_volume({2, 3, 5}, PixelType::uint8, 1).view()),
                        InvalidArgument);
        CHECK_THROWS_AS(writer->write(0, 1, random_volume({2, 3, 4}, PixelType::uint8, 1).view()),
                        InvalidArgument);
    }
}

TEST_CASE("planes written a few at a time make the same image", "[io]") {
    io::ImageMetadata m;
    m.shape = {7, 5, 6};
    m.type = PixelType::uint16;
    m.frames = 2;
    m.channels = 2;
    for (const std::string name : names)
        for (const auto compression : {io::Compression::none, io::Compression::deflate}) {
            if (compression != io::Compression::none && name == "a.npy") continue;
            const MemoryFolder folder;
            const auto writer = io::create_image(folder / name, m, {false, compression, ""});
            for (index_t t = 0; t < 2; ++t)
                for (index_t c = 0; c < 2; ++c) {
                    const Volume whole =
                        random_volume(m.shape, m.type, static_cast<unsigned>(2 * t + c));
                    for (const auto& [begin, end] :
                         {std::pair<index_t, index_t>{0, 1}, {1, 5}, {5, 7}}) {
                        const ConstImageView planes =
                            subview(whole.view(), {{begin, 0, 0}, {end, 5, 6}});
                        CHECK_THROWS_AS(writer->write_planes(t, c, 8 - planes.shape.z, planes),
                                        InvalidArgument);
                        CHECK_THROWS_AS(writer->write(t, c, planes), InvalidArgument);
                        writer->write_planes(t, c, begin, planes);
                        if (end < 7) CHECK_THROWS_AS(writer->commit(), InvalidArgument);
                    }
                }
            writer->commit();
            const auto reader = io::open_image(folder / name);
            for (index_t t = 0; t < 2; ++t)
                for (index_t c = 0; c < 2; ++c)
                    CHECK(same_bytes(
                        read_channel(*reader, t, c),
                        random_volume(m.shape, m.type, static_cast<unsigned>(2 * t + c))));
        }
}

TEST_CASE("existing outputs are kept unless overwriting is allowed", "[io]") {
    for (const char* name : names) {
        const MemoryFolder folder;
        const std::string path = folder / name;
        write_bytes(path, "precious");
        CHECK_THROWS_AS(io::create_image(path, small_image()), OutputExists);
        CHECK(read_bytes(path) == "precious");
        write_image(path, small_image(), 1, {true, io::Compression::none, ""});
        CHECK(read_bytes(path) != "precious");
        std::filesystem::remove(path);

        // Another program creates the output while we write.
        const auto writer = io::create_image(path, small_image());
        writer->write(0, 0, random_volume({2, 3, 4}, PixelType::uint8, 1).view());
        write_bytes(path, "precious");
        CHECK_THROWS_AS(writer->commit(), OutputExists);
        CHECK(read_bytes(path) == "precious");
    }
}

TEST_CASE("unfinished files of dead processes are removed, others stay", "[io]") {
    const MemoryFolder folder;
    // The child process is killed while it writes.
    const pid_t child = fork();
    if (child == 0) {
        const auto writer = io::create_image(folder / "a.npy", small_image());
        raise(SIGKILL);
    }
    REQUIRE(waitpid(child, nullptr, 0) == child);
    const std::vector<std::string> left = folder.names();
    REQUIRE(left.size() == 1);
    // Unfinished files of another machine, and of a process that is alive, must stay.
    const std::string of_child = message("-", child, "-");
    const std::size_t at = left[0].find(of_child);
    REQUIRE(at != std::string::npos);
    const std::string begin = left[0].substr(0, at);
    const std::string alive = message(begin, "-", getpid(), "-77");
    const std::string elsewhere = ".b.npy.partial-00000000" + of_child + "0";
    for (const std::string& name : {alive, elsewhere, std::string("b.npy.partial-") + of_child})
        write_bytes(folder / name, "precious");
    {
        const auto writer = io::create_image(folder / "c.npy", small_image());
        const std::vector<std::string> now = folder.names();
        CHECK(std::find(now.begin(), now.end(), left[0]) == now.end());
        CHECK(now.size() == 4);
    }
    CHECK(folder.names().size() == 3);
    CHECK(read_bytes(folder / alive) == "precious");
    CHECK(read_bytes(folder / elsewhere) == "precious");
}

TEST_CASE("an output may replace its own input, also behind a link", "[io]") {
    for (const char* name : names) {
        const MemoryFolder folder;
        const std::string path = folder / name;
        write_image(path, small_image(), 5);
        const std::string link = folder / (std::string("link-") + name);
        std::filesystem::create_symlink(path, link);
        const auto reader = io::open_image(path);
        const auto writer =
            io::create_image(link, small_image(), {true, io::Compression::none, ""});
        writer->write(0, 0, read_channel(*reader).view());
        writer->commit();
        CHECK(std::filesystem::is_symlink(link));
        CHECK(same_bytes(read_channel(*io::open_image(path)),
                         random_volume({2, 3, 4}, PixelType::uint8, 5)));
        CHECK(folder.names().size() == 2);
    }
}

TEST_CASE("impossible outputs are refused with their reason", "[io]") {
    const MemoryFolder folder;
    CHECK_THROWS_AS(io::create_image(folder / "no/such/folder.npy", small_image()), CannotCreate);
    CHECK_THROWS_AS(io::create_image(folder / "a.png", small_image()), InvalidArgument);
    CHECK_THROWS_AS(io::create_image(folder / "a.npy:/data", small_image()), InvalidArgument);
    CHECK_THROWS_AS(
        io::create_image(folder / "a.npy", small_image(), {false, io::Compression::lzw, ""}),
        InvalidArgument);
    std::filesystem::create_directory(folder / "folder.npy");
    CHECK_THROWS_AS(
        io::create_image(folder / "folder.npy", small_image(), {true, io::Compression::none, ""}),
        CannotCreate);
    io::ImageMetadata huge = small_image();
    huge.shape = {1 << 20, 1 << 20, 1 << 10};
    CHECK_THROWS_AS(io::create_image(folder / "a.npy", huge), IoError);
    huge.shape = {index_t{1} << 40, 1 << 20, 1 << 20};
    CHECK_THROWS_AS(io::create_image(folder / "a.npy", huge), InvalidArgument);
    CHECK(folder.names().size() == 1);
#ifdef CONVOLUME_HAVE_TIFF
    io::ImageMetadata scaled = small_image();
    scaled.type = PixelType::float32;
    scaled.scaling = io::ValueScaling{2, 1};
    for (const char* name : {"a.tif", "a.ome.tif", "b.npy"})
        CHECK_THROWS_AS(io::create_image(folder / name, scaled), InvalidArgument);
    CHECK(folder.names().size() == 1);
#endif
}

TEST_CASE("lengths that no voxel has are not written", "[io]") {
    io::ImageMetadata m = small_image();
    m.voxel_size_um = {-1.0, 0.0, std::nan("")};
    for (const char* name : names) {
        const MemoryFolder folder;
        const auto writer = io::create_image(folder / name, m);
        const Volume zeros(m.shape, m.type);
        writer->write_box(0, 0, {{0, 0, 0}, m.shape}, zeros.view());
        writer->commit();
        for (const auto& size : io::open_image(folder / name)->metadata().voxel_size_um)
            CHECK(!size);
    }
}

TEST_CASE("a write that fails is an error and leaves nothing", "[io]") {
    for (const char* name : names) {
        const MemoryFolder folder;
        io::ImageMetadata m = small_image();
        m.shape = {64, 64, 64};
        // In a child process, a limit on file sizes stands for a full disk. The volume is made
        // before the limit is set.
        const Volume volume = random_volume(m.shape, m.type, 1);
        const pid_t child = ::fork();
        if (child == 0) {
            std::signal(SIGXFSZ, SIG_IGN);
            const rlimit limit{100000, 100000};
            ::setrlimit(RLIMIT_FSIZE, &limit);
            int result = 1;
            try {
                const auto writer = io::create_image(folder / name, m);
                writer->write(0, 0, volume.view());
                writer->commit();
            } catch (const IoError&) {
                result = folder.names().size() == 0 ? 0 : 2;
            } catch (...) {
                result = 3;
            }
            ::_exit(result);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        INFO(name);
        CHECK(status == 0);
        CHECK(folder.names().size() == 0);
    }
}

TEST_CASE("small files are replaced as a whole or not at all", "[io]") {
    const MemoryFolder folder;
    const std::string path = folder / "report.json";
    io::write_whole_file(path, std::string_view("{}"));
    CHECK(read_bytes(path) == "{}");
    io::write_whole_file(path, {});
    CHECK(read_bytes(path).empty());
    io::write_whole_file(path, std::string_view("[1]"));
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1000, 1000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        int result = 1;
        try {
            io::write_whole_file(path, std::vector<char>(5000, 'x'));
        } catch (const IoError&) {
            result = 0;
        } catch (...) {
        }
        ::_exit(result);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(read_bytes(path) == "[1]");
    CHECK(folder.names().size() == 1);
    CHECK_THROWS_AS(io::write_whole_file(folder / "none/report.json", {}), CannotCreate);
}

TEST_CASE("a signal handler can remove unfinished files", "[io]") {
    const MemoryFolder folder;
    const auto first = io::create_image(folder / "a.npy", small_image());
    const auto second = io::create_image(folder / "b.npy", small_image());
    write_bytes(folder / "other", "x");
    CHECK(folder.names().size() == 3);
    io::remove_uncommitted_outputs();
    CHECK(folder.names().size() == 1);
}

#ifdef CONVOLUME_HAVE_HDF5
namespace {

void write_dataset(const std::string& path, unsigned seed, bool overwrite) {
    const auto writer =
        io::create_image(path, small_image(), {overwrite, io::Compression::none, ""});
    writer->write(0, 0, random_volume({2, 3, 4}, PixelType::uint8, seed).view());
    writer->commit();
}

void check_dataset(const std::string& path, unsigned seed) {
    INFO(path);
    CHECK(same_bytes(read_channel(*io::open_image(path)),
                     random_volume({2, 3, 4}, PixelType::uint8, seed)));
}

}  // namespace

TEST_CASE("a named dataset is added to an HDF5 file or replaced in it, and others are kept",
          "[io]") {
    const MemoryFolder folder;
    const std::string file = folder / "a.h5";
    write_dataset(file + ":/run/1", 1, false);
    CHECK_THROWS_AS(write_dataset(file + ":/run/1", 2, false), OutputExists);
    CHECK_THROWS_AS(write_dataset(file + ":/run/1/below", 2, false), CannotCreate);
    CHECK_THROWS_AS(write_dataset(file, 2, false), OutputExists);
    CHECK(io::output_exists(file));
    CHECK(io::output_exists(file + ":/run/1"));
    CHECK(io::output_exists(file + ":/run"));
    CHECK_FALSE(io::output_exists(file + ":/run/2"));
    CHECK_FALSE(io::output_exists(folder / "b.h5:/run/1"));
    check_dataset(file + ":/run/1", 1);
    write_dataset(file + ":/run/2", 2, false);
    write_dataset(file + ":/other/deep/3", 3, true);
    check_dataset(file + ":/run/1", 1);
    check_dataset(file + ":/run/2", 2);
    check_dataset(file + ":/other/deep/3", 3);

    // A dataset is replaced while a reader of the old dataset is open. Nothing else changes.
    const auto reader = io::open_image(file + ":/run/1");
    write_dataset(file + ":/run/1", 4, true);
    CHECK(same_bytes(read_channel(*reader), random_volume({2, 3, 4}, PixelType::uint8, 1)));
    check_dataset(file + ":/run/1", 4);
    check_dataset(file + ":/run/2", 2);

    // Signals are added to a file and replaced as images are.
    {
        const auto writer =
            io::create_signal(file + ":/traces", {2, 5}, io::SampleType::float32, {true, ""});
        const std::vector<float> row{1, 2, 3, 4, 5};
        for (const index_t r : {0, 1}) writer->write(r, 0, 5, row.data());
        writer->commit();
    }
    check_dataset(file + ":/run/1", 4);
    CHECK(io::open_signal(file + ":/traces")->info().dims == std::vector<index_t>{2, 5});

    // A group cannot be replaced by a dataset.
    CHECK_THROWS_AS(write_dataset(file + ":/run", 5, true), CannotCreate);
    check_dataset(file + ":/run/2", 2);
    CHECK(folder.names().size() == 1);

    // Without the name of a dataset, the whole file is replaced.
    write_dataset(file, 6, true);
    check_dataset(file, 6);
    CHECK_THROWS_AS(io::open_image(file + ":/run/2"), BadData);
}

TEST_CASE("a dataset is not added to a file that is not HDF5 or that another writer changes",
          "[io]") {
    const MemoryFolder folder;
    const std::string text = folder / "text.h5";
    std::ofstream(text) << "no HDF5";
    CHECK_THROWS_AS(write_dataset(text + ":/run/1", 1, true), CannotCreate);
    CHECK(std::filesystem::file_size(text) == 7);
    CHECK(folder.names().size() == 1);

    const std::string file = folder / "a.h5";
    write_dataset(file + ":/run/1", 1, false);
    const auto slow =
        io::create_image(file + ":/run/2", small_image(), {true, io::Compression::none, ""});
    slow->write(0, 0, random_volume({2, 3, 4}, PixelType::uint8, 2).view());
    write_dataset(file + ":/run/3", 3, true);
    CHECK_THROWS_AS(slow->commit(), IoError);
    check_dataset(file + ":/run/1", 1);
    check_dataset(file + ":/run/3", 3);
    CHECK_THROWS_AS(io::open_image(file + ":/run/2"), BadData);

    // A dataset that another writer has added in the meantime is not replaced.
    const std::string fresh = folder / "b.h5";
    const auto late =
        io::create_image(fresh + ":/run/2", small_image(), {true, io::Compression::none, ""});
    late->write(0, 0, random_volume({2, 3, 4}, PixelType::uint8, 2).view());
    write_dataset(fresh + ":/run/1", 1, true);
    CHECK_THROWS_AS(late->commit(), IoError);
    check_dataset(fresh + ":/run/1", 1);
}

TEST_CASE("a dataset is not written through links to other files", "[io]") {
    const MemoryFolder folder;
    const std::string other = folder / "other.h5", file = folder / "a.h5";
    write_dataset(other + ":/entry/data", 1, false);
    write_dataset(file + ":/own", 2, false);
    const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    REQUIRE(id >= 0);
    CHECK(H5Lcreate_external("other.h5", "/entry", id, "/entry", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Lcreate_soft("/nowhere", id, "/dangling", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Fclose(id) >= 0);
    for (const char* name : {":/entry/data", ":/entry", ":/dangling", ":/own/inside"}) {
        INFO(name);
        CHECK_THROWS_AS(write_dataset(file + name, 3, true), CannotCreate);
    }
    check_dataset(other + ":/entry/data", 1);
    check_dataset(file + ":/own", 2);
    CHECK(folder.names().size() == 2);
}
#endif

}  // namespace convolume::testing
