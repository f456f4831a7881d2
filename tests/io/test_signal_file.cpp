// SPDX-License-Identifier: Apache-2.0
// Signal files: every format returns the written samples, in ranges of any order; impossible files
// are refused with one sentence and leave nothing.

#include <array>
#include <complex>
#include <numeric>

#include "convolume/signal_file.hpp"
#include "tests/io/io_support.hpp"
#ifdef CONVOLUME_HAVE_HDF5
#include <hdf5.h>
#endif

namespace convolume::testing {
namespace {

using Dims = std::vector<index_t>;

std::vector<std::string> writable_formats() {
    std::vector<std::string> names{".npy", ".raw"};
#ifdef CONVOLUME_HAVE_HDF5
    names.insert(names.end(), {".h5", ".h5:/run/1"});
#endif
    return names;
}

template <class T>
std::string bytes_as_text(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> counted(std::size_t count, int first = 0) {
    using Number = std::conditional_t<std::is_integral_v<T>, T, float>;
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<Number>(first++);
    return values;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                bool fortran = false) {
    const std::string header = "{'descr': '" + descr +
                               "', 'fortran_order': " + (fortran ? "True" : "False") +
                               ", 'shape': (" + shape + "), }\n";
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(header.size() & 0xFF);
    file += static_cast<char>(header.size() >> 8);
    return file + header + data;
}

template <class T>
std::vector<T> read_row(io::SignalReader& reader, index_t row) {
    REQUIRE(size_of(reader.info().type) == sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(reader.info().samples()));
    // Reads two ranges, the later one first.
    const index_t middle = reader.info().samples() / 3;
    reader.read(row, middle, reader.info().samples() - middle, values.data() + middle);
    reader.read(row, 0, middle, values.data());
    return values;
}

template <class Expected>
std::string refusal_of(const std::string& path, const io::OpenSignalOptions& options = {}) {
    try {
        io::open_signal(path, options);
    } catch (const Expected& error) {
        return error.what();
    }
    return "";
}

template <class T>
void check_round_trip(const std::string& path, io::SampleType type, const Dims& dims,
                      const io::OpenSignalOptions& options) {
    INFO(path << " " << to_string(type));
    const index_t samples = dims.back();
    const index_t rows = std::accumulate(dims.begin(), dims.end() - 1, index_t{1},
                                         [](index_t a, index_t b) { return a * b; });
    const auto values = counted<T>(static_cast<std::size_t>(rows * samples), -17);
    const auto writer = io::create_signal(path, dims, type, {true, "convolume test"});
    const index_t middle = samples / 2;
    for (index_t row = rows; row-- > 0;) {
        const T* from = values.data() + row * samples;
        writer->write(row, middle, samples - middle, from + middle);
        writer->write(row, 0, middle, from);
        writer->write(row, 0, 0, from);
    }
    CHECK_THROWS_AS(writer->write(rows, 0, 1, values.data()), InvalidArgument);
    CHECK_THROWS_AS(writer->write(0, 1, samples, values.data()), InvalidArgument);
    writer->commit();

    const auto reader = io::open_signal(path, options);
    if (!options.raw_type) CHECK(reader->info().dims == dims);
    CHECK(reader->info().samples() == samples);
    REQUIRE(reader->info().signals() == rows);
    for (index_t row = 0; row < rows; ++row) {
        const auto* first = values.data() + row * samples;
        CHECK(read_row<T>(*reader, row) == std::vector<T>(first, first + samples));
    }
    CHECK_THROWS_AS(reader->read(rows, 0, 1, nullptr), InvalidArgument);
    CHECK_THROWS_AS(reader->read(0, samples, 1, nullptr), InvalidArgument);
    CHECK_THROWS_AS(reader->read(0, -1, 1, nullptr), InvalidArgument);
}

}  // namespace

TEST_CASE("signals come back as they were written, in ranges of any order", "[io][signal]") {
    const MemoryFolder folder;
    for (const std::string& format : writable_formats())
        for (const Dims& dims : {Dims{1}, Dims{1000}, Dims{3, 77}, Dims{2, 3, 50}}) {
            const std::string path = (folder / "a") + format;
            io::OpenSignalOptions options;
            const auto raw = [&](io::StoredType type) {
                if (format != ".raw") return;
                options.raw_type = type;
                options.raw_samples = dims.back();
                options.raw_layout = io::SignalLayout::planar;
            };
            raw(io::StoredType::float32);
            check_round_trip<float>(path, io::SampleType::float32, dims, options);
            raw(io::StoredType::float64);
            check_round_trip<double>(path, io::SampleType::float64, dims, options);
            raw(io::StoredType::complex64);
            check_round_trip<std::complex<float>>(path, io::SampleType::complex64, dims, options);
            raw(io::StoredType::complex128);
            check_round_trip<std::complex<double>>(path, io::SampleType::complex128, dims, options);
            if (format == ".raw") continue;
            // 64-bit integers are read as float64.
            const std::vector<std::int64_t> positions{3, -4};
            const auto writer = io::create_signal(path, {2}, io::SampleType::int64, {true, ""});
            writer->write(0, 0, 2, positions.data());
            writer->commit();
            const auto reader = io::open_signal(path);
            CHECK(reader->info().type == PixelType::float64);
            CHECK(read_row<double>(*reader, 0) == std::vector<double>{3, -4});
        }
}

TEST_CASE("NumPy arrays are read in any order of bytes and axes", "[io][signal]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.npy";
    const auto first_row = [&](const std::string& bytes) {
        write_bytes(path, bytes);
        const auto reader = io::open_signal(path);
        std::vector<double> values;
        visit_pixel_type(reader->info().type, [&](auto tag) {
            using T = typename decltype(tag)::type;
            for (const T value : read_row<T>(*reader, reader->info().signals() - 1))
                values.push_back(static_cast<double>(std::real(value)));
        });
        return values;
    };
    using V = std::vector<double>;
    const std::string big("\0\1\1\0", 4);
    CHECK(first_row(npy(">i2", "2,", big)) == V{1, 256});
    CHECK(first_row(npy("<i2", "2,", big)) == V{256, 1});
    CHECK(first_row(npy("|b1", "4,", big)) == V{0, 1, 1, 0});
    CHECK(first_row(npy("<i8", "2,", bytes_as_text<std::int64_t>({-5, 7}))) == V{-5, 7});
    CHECK(first_row(npy("<u8", "1,", bytes_as_text<std::uint64_t>({1ull << 63}))) == V{0x1p63});
    const std::string six = bytes_as_text(counted<float>(6));
    CHECK(first_row(npy("<f4", "2, 3", six)) == V{3, 4, 5});
    CHECK(first_row(npy("<f4", "2, 3", six, true)) == V{1, 3, 5});
    CHECK(first_row(npy("<f4", "1, 6", six, true)) == V{0, 1, 2, 3, 4, 5});
    CHECK(first_row(npy("<f4", "6,", six, true)) == V{0, 1, 2, 3, 4, 5});
    const std::string many = bytes_as_text(counted<std::int32_t>(24));
    CHECK(first_row(npy("<i4", "2, 3, 4", many)) == V{20, 21, 22, 23});
    CHECK(first_row(npy("<i4", "2, 3, 4", many, true)) == V{5, 11, 17, 23});
}

TEST_CASE("raw files have their type from the name or an option, and are split by an option",
          "[io][signal]") {
    const MemoryFolder folder;
    const auto values = counted<float>(12);
    for (const char* name : {"a.f32", "a.dat", "a.C64"})
        write_bytes(folder / name, bytes_as_text(values));
    CHECK(io::open_signal(folder / "a.f32")->info().dims == Dims{12});
    CHECK(io::open_signal(folder / "a.f32")->info().to_string() == "12 float32");
    // The type in the name overrides the option.
    CHECK(io::open_signal(folder / "a.f32", {.raw_type = io::StoredType::float64})->info().dims ==
          Dims{12});
    CHECK(io::open_signal(folder / "a.C64")->info().dims == Dims{6});
    CHECK(
        io::open_signal(folder / "a.dat", {.raw_type = io::StoredType::complex128})->info().dims ==
        Dims{3});
    const auto planar = io::SignalLayout::planar, interleaved = io::SignalLayout::interleaved;
    const auto split = io::open_signal(folder / "a.f32", {.raw_signals = 3, .raw_layout = planar});
    CHECK(split->info().dims == Dims{3, 4});
    CHECK(read_row<float>(*split, 1) == std::vector<float>{4, 5, 6, 7});
    const auto frames =
        io::open_signal(folder / "a.f32", {.raw_signals = 3, .raw_layout = interleaved});
    CHECK(frames->info().dims == Dims{3, 4});
    CHECK(read_row<float>(*frames, 1) == std::vector<float>{1, 4, 7, 10});
    CHECK(io::open_signal(folder / "a.f32", {.raw_samples = 3, .raw_layout = interleaved})
              ->info()
              .dims == Dims{4, 3});
    // Nothing tells the layout of several signals, so it is never guessed.
    CHECK(
        contains(refusal_of<InvalidArgument>(folder / "a.f32", {.raw_signals = 3}), "raw_layout"));
    CHECK(
        contains(refusal_of<InvalidArgument>(folder / "a.f32", {.raw_samples = 3}), "raw_layout"));
    CHECK(io::open_signal(folder / "a.f32", {.raw_signals = 1})->info().dims == Dims{1, 12});

    CHECK(
        contains(refusal_of<InvalidArgument>(folder / "a.f32", {.raw_signals = 5}), "12 samples"));
    CHECK(contains(refusal_of<InvalidArgument>(folder / "a.f32", {.raw_samples = 13}), "13"));
    CHECK(contains(refusal_of<InvalidArgument>(folder / "a.f32", {.raw_signals = 0}), "0"));
    CHECK(contains(refusal_of<BadData>(folder / "a.dat"), "raw_type"));
    write_bytes(folder / "cut.f32", std::string(13, 'x'));
    CHECK(contains(refusal_of<BadData>(folder / "cut.f32"), "13 bytes"));
}

TEST_CASE("files that hold no signals are refused", "[io][signal]") {
    const MemoryFolder folder;
    CHECK(contains(refusal_of<InputNotFound>(folder / "no.npy"), "no.npy"));
    write_bytes(folder / "empty.npy", "");
    CHECK(contains(refusal_of<BadData>(folder / "empty.npy"), "empty"));
    const std::string six = bytes_as_text(counted<float>(6));
    const std::pair<std::string, const char*> cases[] = {
        {npy("<f4", "2, 3", six.substr(1)), "truncated"},
        {npy("<f4", "2, 4000000000, 4000000000", six), "says"},
        {npy("<f4", "0, 3", six), "no elements"},
        {npy("<f4", "", six), "single value"},
        {npy("<f16", "1,", six), "not supported"},
        {npy("<f4", "2, 3", six).substr(0, 20), "damaged header"},
        {std::string("II*\0........", 12), "TIFF"},
        {"only text", "raw_type"},
    };
    for (const auto& [bytes, part] : cases) {
        write_bytes(folder / "a.npy", bytes);
        const std::string text = refusal_of<BadData>(folder / "a.npy");
        INFO(part << " in: " << text);
        CHECK(contains(text, part));
    }
    write_bytes(folder / "a.npy", npy("<f4", "6,", six));
    CHECK(contains(refusal_of<InvalidArgument>(folder / "a.npy", {.raw_signals = 2}), "split"));
    CHECK(contains(refusal_of<InvalidArgument>((folder / "a.npy") + ":/data"), "no dataset"));
}

TEST_CASE("signal files that cannot be created are refused and leave nothing", "[io][signal]") {
    const MemoryFolder folder;
    const auto create = [&](const char* name, const Dims& dims, io::SampleType type) {
        return io::create_signal(folder / name, dims, type);
    };
    const auto float32 = io::SampleType::float32;
    CHECK_THROWS_AS(create("a.tif", {3}, float32), InvalidArgument);
    CHECK_THROWS_AS(create("a.f64", {3}, float32), InvalidArgument);
    CHECK_THROWS_AS(create("a.npy:/data", {3}, float32), InvalidArgument);
    CHECK_THROWS_AS(create("a.npy", {0}, float32), InvalidArgument);
    CHECK_THROWS_AS(create("no/a.npy", {3}, float32), CannotCreate);
    for (const std::string& format : writable_formats()) {
        const std::string name = "a" + format;
        CHECK_THROWS_AS(create(name.c_str(), {1 << 20, index_t{1} << 30}, float32), IoError);
        CHECK_THROWS_AS(create(name.c_str(), {index_t{1} << 40, index_t{1} << 40}, float32),
                        InvalidArgument);
        // A file that is not committed is removed.
        create(name.c_str(), {3}, float32)->write(0, 0, 3, "123456789012");
        CHECK(folder.names().size() == 0);
    }
    CHECK_THROWS_AS(io::sample_type_of(PixelType::uint8), InvalidArgument);
    const float sample = 1;
    const auto commit = [&](bool overwrite) {
        const auto writer =
            io::create_signal(folder / "a.f32", {1}, float32, {overwrite, "convolume test"});
        writer->write(0, 0, 1, &sample);
        writer->commit();
    };
    commit(false);
    CHECK_THROWS_AS(commit(false), OutputExists);
    commit(true);
    CHECK(read_bytes(folder / "a.f32") == bytes_as_text<float>({1}));
    CHECK(folder.names().size() == 1);
}

#ifdef CONVOLUME_HAVE_HDF5
TEST_CASE("signals are read from chunked, compressed datasets of other programs", "[io][signal]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.h5";
    const auto values = counted<std::int64_t>(3 * 100, -7);
    const std::array<hsize_t, 2> dims{3, 100};
    const std::array<hsize_t, 2> chunk{2, 33};
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 2, chunk.data());
    H5Pset_deflate(properties, 1);
    const std::pair<const char*, hid_t> datasets[] = {{"wide", H5T_STD_I64BE},
                                                      {"short", H5T_STD_I16BE}};
    for (const auto& [name, type] : datasets) {
        const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
        H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
        H5Dclose(set);
    }
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);

    {
        const auto wide = io::open_signal(path + ":/wide");
        CHECK(wide->info().dims == Dims{3, 100});
        CHECK(read_row<double>(*wide, 2) == counted<double>(100, 193));
        const auto narrow = io::open_signal(path + ":/short");
        CHECK(read_row<std::int16_t>(*narrow, 1) == counted<std::int16_t>(100, 93));
    }
    CHECK(contains(refusal_of<BadData>(path), "/short"));
    CHECK(contains(refusal_of<BadData>(path + ":/none"), "/wide"));
    const std::string whole = read_bytes(path);
    write_bytes(path, whole.substr(0, whole.size() / 2));
    CHECK(contains(refusal_of<BadData>(path + ":/wide"), "a.h5"));
}
#endif

TEST_CASE("Raw signals may begin with the characters of XML", "[io][signal]") {
    const MemoryFolder folder;
    write_bytes(folder / "a.bin", "<?xml?>!");
    io::OpenSignalOptions options;
    options.raw_type = io::parse_stored_type("u8");
    const auto reader = io::open_signal(folder / "a.bin", options);
    CHECK(reader->info().samples() == 8);
}

}  // namespace convolume::testing
