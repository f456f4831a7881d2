// SPDX-License-Identifier: Apache-2.0
// Formats of image files whose functions are Python's. The library calls them with the interpreter
// lock, from any thread.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "convolume/image_format.hpp"
#include "io/image_file.hpp"
#include "io/pieces.hpp"

namespace convolume::python {

namespace {

template <class Thrown>
[[noreturn]] void throw_as(const std::string& text) {
    throw Thrown(text);
}

/// Throws the library's error of the same meaning as an exception of Python, with its sentence.
/// Others are rethrown, such as KeyboardInterrupt and faults of the program.
[[noreturn]] void throw_translated(nb::python_error& raised) {
    struct Meaning {
        const char* module;
        const char* type;
        void (*throw_error)(const std::string&);
    };
    static constexpr const char* ours = "convolume._errors";
    // Derived classes stand before their bases.
    static constexpr Meaning meanings[] = {
        {ours, "InputNotFound", throw_as<InputNotFound>},
        {ours, "OutputExists", throw_as<OutputExists>},
        {ours, "CannotCreate", throw_as<CannotCreate>},
        {ours, "InvalidArgument", throw_as<InvalidArgument>},
        {ours, "Unavailable", throw_as<Unavailable>},
        {ours, "Cancelled", throw_as<Cancelled>},
        {"builtins", "FileNotFoundError", throw_as<InputNotFound>},
        {"builtins", "FileExistsError", throw_as<OutputExists>},
        {"builtins", "OSError", throw_as<IoError>},
        {"builtins", "MemoryError", throw_as<OutOfMemory>},
        {"builtins", "ValueError", throw_as<BadData>},
        {ours, "Error", throw_as<Error>},
    };
    for (const Meaning& meaning : meanings)
        if (raised.matches(nb::module_::import_(meaning.module).attr(meaning.type)))
            meaning.throw_error(nb::str(raised.value()).c_str());
    throw;
}

/// Calls a function of Python with the interpreter lock, and translates its exceptions.
template <class Call>
auto call_python(const Call& call) {
    const nb::gil_scoped_acquire lock;
    try {
        return call();
    } catch (nb::python_error& raised) {
        throw_translated(raised);
    } catch (const nb::cast_error&) {
        throw InvalidArgument("a function of an image format returned a value of another type");
    }
}

/// Objects of Python that any thread may release.
template <class Objects>
std::shared_ptr<Objects> shared_objects(Objects objects) {
    return {new Objects(std::move(objects)), [](Objects* owned) {
                const nb::gil_scoped_acquire lock;
                delete owned;
            }};
}

/// Returns an array on the memory of a view, which is valid during a call.
template <class Array, class View>
nb::object array_on(const View& view) {
    const std::size_t shape[3] = {static_cast<std::size_t>(view.shape.z),
                                  static_cast<std::size_t>(view.shape.y),
                                  static_cast<std::size_t>(view.shape.x)};
    const std::int64_t strides[3] = {view.strides.z, view.strides.y, view.strides.x};
    return visit_pixel_type(view.type, [&](auto tag) -> nb::object {
        using Sample = typename decltype(tag)::type;
        return nb::cast(Array(const_cast<void*>(view.data), 3, shape, nb::handle(), strides,
                              nb::dtype<Sample>()),
                        nb::rv_policy::reference);
    });
}

nb::tuple ends_of(const Box3& box) {
    return nb::make_tuple(box.begin.z, box.end.z, box.begin.y, box.end.y, box.begin.x, box.end.x);
}

/// Returns the format of the samples of a reader or writer, whose `piece` may be missing.
StackFormat format_of(const io::ImageMetadata& metadata, const nb::object& file) {
    StackFormat format{metadata.shape, metadata.type, metadata.frames, metadata.channels};
    if (!nb::hasattr(file, "piece")) return format;
    const Index3 piece = index3(nb::cast<Triple>(file.attr("piece")));
    for (int axis = 0; axis < 3; ++axis)
        format.piece[axis] =
            std::clamp<index_t>(piece[axis], 1, std::max<index_t>(1, format.shape[axis]));
    return format;
}

/// Returns the folder for pieces that are not complete: that of the output, or the one for
/// temporary files if the output is not in a local folder.
std::string folder_for_pieces(const std::string& path) {
    std::error_code unknown;
    const std::filesystem::path folder = std::filesystem::absolute(path, unknown).parent_path();
    if (std::filesystem::is_directory(folder, unknown)) return folder.string();
    return std::filesystem::temp_directory_path().string();
}

class PythonReader : public io::ImageReader {
  public:
    /// Takes the object with the interpreter lock.
    explicit PythonReader(const nb::object& reader)
        : reader_(shared_objects(nb::object(reader))),
          metadata_(nb::cast<io::ImageMetadata>(reader.attr("metadata"))),
          format_(format_of(metadata_, reader)) {}

    const io::ImageMetadata& metadata() const override { return metadata_; }
    StackFormat format() const override { return format_; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format_, t, c, box, target);
        call_python([&] {
            reader_->attr("read_box")(t, c, ends_of(box), array_on<nb::ndarray<nb::numpy>>(target));
        });
    }
    void check_unchanged() const override {
        call_python([&] {
            if (nb::hasattr(*reader_, "check_unchanged")) reader_->attr("check_unchanged")();
        });
    }

  private:
    std::shared_ptr<nb::object> reader_;
    io::ImageMetadata metadata_;
    StackFormat format_;
};

class PythonWriter : public io::FileWriter {
  public:
    /// Takes the object with the interpreter lock.
    PythonWriter(const std::string& path, const io::ImageMetadata& metadata,
                 const nb::object& writer)
        : FileWriter(metadata),
          writer_(shared_objects(nb::object(writer))),
          format_(format_of(metadata, writer)) {
        if (nb::hasattr(writer, "piece")) pieces_.emplace(format_, folder_for_pieces(path));
    }
    ~PythonWriter() override {
        if (is_complete_) return;
        const nb::gil_scoped_acquire lock;
        try {
            writer_->attr("discard")();
        } catch (nb::python_error& raised) {
            raised.discard_as_unraisable("discard() of an image format");
        }
    }

    StackFormat format() const override { return format_; }

  private:
    void write_checked_box(index_t t, index_t c, const Box3& box,
                           const ConstImageView& source) override {
        if (!pieces_) return write_in_python(t, c, box, source);
        pieces_->add(t * format_.channels + c, box, source,
                     [&](const io::Piece& piece, const ConstImageView& samples) {
                         write_in_python(t, c, piece.box, samples);
                     });
    }
    void write_in_python(index_t t, index_t c, const Box3& box, const ConstImageView& source) {
        call_python([&] {
            writer_->attr("write_box")(t, c, ends_of(box),
                                       array_on<nb::ndarray<nb::numpy, nb::ro>>(source));
        });
    }
    void complete() override {
        call_python([&] { writer_->attr("commit")(); });
        is_complete_ = true;
    }

    std::shared_ptr<nb::object> writer_;
    StackFormat format_;
    std::optional<io::PieceAssembler> pieces_;  ///< none if the writer takes boxes of any shape
    bool is_complete_ = false;
};

/// The functions of a format.
struct Functions {
    nb::object recognizes, open, create;
};

void register_format(const std::string& name, const std::vector<std::string>& endings,
                     const nb::object& recognizes, const nb::object& open, const nb::object& create,
                     const std::vector<std::string>& read_endings) {
    const auto functions = shared_objects(Functions{recognizes, open, create});
    io::ImageFormat format{.name = name, .endings = endings, .read_endings = read_endings};
    if (!recognizes.is_none())
        format.recognizes = [functions](const std::string& path, std::string_view head) {
            return call_python([&] {
                return nb::cast<bool>(
                    functions->recognizes(path, nb::bytes(head.data(), head.size())));
            });
        };
    if (!open.is_none())
        format.open = [functions](const io::PathSpec& image, const io::OpenOptions& options) {
            return call_python([&]() -> std::unique_ptr<io::ImageReader> {
                nb::dict given;
                given["axes"] = options.axes;
                given["image"] = options.image;
                return std::make_unique<PythonReader>(functions->open(image.file, given));
            });
        };
    if (!create.is_none())
        format.create = [functions](const io::PathSpec& image, const io::ImageMetadata& metadata,
                                    const io::CreateOptions& options) {
            return call_python([&]() -> std::unique_ptr<io::ImageWriter> {
                nb::dict given;
                given["overwrite"] = options.overwrite;
                given["compression"] = io::to_string(options.compression);
                given["software"] = options.software;
                return std::make_unique<PythonWriter>(
                    image.file, metadata, functions->create(image.file, metadata, given));
            });
        };
    const nb::gil_scoped_release released;
    io::register_format(std::move(format));
}

std::vector<io::ImageFormat> formats_released() {
    const nb::gil_scoped_release released;
    return io::image_formats();
}

}  // namespace

void bind_formats(nb::module_& module) {
    module.def("refuse_scaling", &io::refuse_scaling,
               "Raises InvalidArgument if values are scaled, for a format that cannot say so.",
               "metadata"_a, "format"_a);
    module.def("register_format", &register_format,
               R"(Adds a format of image files, or replaces the one of that name.

Parameters
----------
name : str
    Name of the format in messages.
endings : sequence of str
    Endings of the files that `create` writes, such as [".zarr"]; the first one is the usual one.
recognizes : callable or None
    recognizes(path, head) returns True for files of the format. `head` has the first 64 KiB; it is
    empty if there is no regular file, such as for folders and URLs.
open : callable or None
    open(path, options) returns an object with `metadata` (an ImageMetadata) and
    read_box(t, c, (z0, z1, y0, y1, x0, x1), target), which fills the array `target`. It may have
    `piece`, the extents (z, y, x) of the samples that are stored together, and check_unchanged().
    `options` is a dict with "axes" and "image".
create : callable or None
    create(path, metadata, options) returns an object with
    write_box(t, c, (z0, z1, y0, y1, x0, x1), source), commit(), and discard(), which removes the
    output if it is not committed. If it has `piece`, boxes are whole pieces. `options` is a dict
    with "overwrite", "compression" and "software".
read_endings : sequence of str
    Further endings of files that are read.

The arrays are valid during the call alone. Several threads may call the functions at once. Errors
of convolume, and OSError, MemoryError and ValueError, become errors of the library with the same
sentence.)",
               "name"_a, "endings"_a, "recognizes"_a.none(), "open"_a.none(),
               "create"_a.none() = nb::none(), "read_endings"_a = std::vector<std::string>());
    module.def(
        "image_endings",
        [] {
            std::vector<std::string> all;
            for (const io::ImageFormat& format : formats_released())
                for (const auto* endings : {&format.endings, &format.read_endings})
                    all.insert(all.end(), endings->begin(), endings->end());
            return all;
        },
        "Returns the endings of the files of all image formats.");
}

}  // namespace convolume::python
