// SPDX-License-Identifier: Apache-2.0
#pragma once
// The errors that convolume throws. Every message is one sentence: what was requested, what was
// found, and the cure. Each type has a code (result.hpp), with which the command ends.

#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "convolume/export.hpp"

namespace convolume {

/// A text to which values are appended with operator<<. If memory is refused it throws
/// std::bad_alloc, while other streams drop the rest of the text. Numbers have up to 12 digits, so
/// that a sentence is true of the number that it shows.
/// @code{.cpp}
/// TextStream text;
/// text << "axis " << 2 << " is empty";
/// assert(text.str() == "axis 2 is empty");
/// @endcode
class TextStream : public std::ostringstream {
  public:
    TextStream() {
        constexpr int most_digits = 12;
        precision(most_digits);
        exceptions(std::ios_base::badbit);
    }
};

/// Joins its arguments, in order, with operator<<: `message("axis ", axis, " is empty")`. Throws
/// std::bad_alloc.
template <class... Parts>
std::string message(const Parts&... parts) {
    TextStream text;
    (text << ... << parts);
    return text.str();
}

/// Name of an option of the library in a sentence, such as OptionName{"max_host_bytes"}.
struct OptionName {
    std::string_view name;  ///< the option's name, a view of a string literal
};

/// The text of an error, and the places where it names options of the library. A program in which
/// these options have other names can replace them.
/// @code{.cpp}
/// const Sentence cure = sentence("raise it (", OptionName{"max_host_bytes"}, ")");
/// assert(cure.text() == "raise it (max_host_bytes)");
/// assert(cure.with_names([](auto) { return "--max-host-mem"; }) == "raise it (--max-host-mem)");
/// @endcode
class Sentence {
  public:
    Sentence(const char* text) : text_(text) {}
    Sentence(std::string text) : text_(std::move(text)) {}

    const std::string& text() const { return text_; }
    /// Returns whether the text names an option of the library.
    bool names_options() const { return !options_.empty(); }

    /// Appends the name of an option to the text, and remembers its place.
    void append(const OptionName& option) {
        options_.push_back({text_.size(), option.name});
        text_ += option.name;
    }
    void append(std::string_view text) { text_ += text; }
    /// Appends a sentence, with the options that it names.
    void join(const Sentence& other) {
        for (const auto& [at, option_name] : other.options_)
            options_.push_back({text_.size() + at, option_name});
        text_ += other.text_;
    }

    /// Returns the text with `name_of(option)` in place of every option that it names.
    std::string with_names(
        const std::function<std::string(std::string_view option)>& name_of) const {
        std::string renamed;
        std::size_t begin = 0;
        for (const auto& [at, option_name] : options_) {
            renamed.append(text_, begin, at - begin).append(name_of(option_name));
            begin = at + option_name.size();
        }
        return renamed.append(text_, begin);
    }

  private:
    struct NamedOption {
        std::size_t at;  ///< position in the text
        std::string_view option_name;
    };

    std::string text_;
    std::vector<NamedOption> options_;
};

/// Joins its arguments, of which some may be sentences, as message() does, and remembers which of
/// them are options. Throws std::bad_alloc.
template <class... Parts>
Sentence sentence(const Parts&... parts) {
    Sentence whole("");
    const auto append = [&](const auto& part) {
        if constexpr (std::is_same_v<decltype(part), const OptionName&>)
            whole.append(part);
        else if constexpr (std::is_same_v<decltype(part), const Sentence&>)
            whole.join(part);
        else
            whole.append(message(part));
    };
    (append(parts), ...);
    return whole;
}

/// Base class of all errors that the library throws.
/// @code{.cpp}
/// try {
///     const Volume nothing({-1, 4, 4}, PixelType::float32);
/// } catch (const InvalidArgument& error) {
///     std::cerr << "the shape is wrong: " << error.what() << '\n';
/// } catch (const Error& error) {
///     std::cerr << error.what() << '\n';
/// }
/// @endcode
class CONVOLUME_API Error : public std::runtime_error {
  public:
    explicit Error(const Sentence& sentence) : Error(std::make_shared<const Sentence>(sentence)) {}

    /// Returns the text of what(), with the options that it names.
    const Sentence& sentence() const noexcept { return *sentence_; }

  private:
    explicit Error(std::shared_ptr<const Sentence> sentence)
        : std::runtime_error(sentence->text()), sentence_(std::move(sentence)) {}

    std::shared_ptr<const Sentence> sentence_;  ///< shared, so that copying an error cannot throw
};

/// An option or argument that contradicts itself or the data it is applied to.
class CONVOLUME_API InvalidArgument : public Error {
    using Error::Error;
};
/// Content that cannot be used: corrupt files, kernels of zeros, NaN where it is refused.
class CONVOLUME_API BadData : public Error {
    using Error::Error;
};
/// An input that does not exist or cannot be opened.
class CONVOLUME_API InputNotFound : public Error {
    using Error::Error;
};
/// An output that cannot be created.
class CONVOLUME_API CannotCreate : public Error {
    using Error::Error;
};
/// An output that exists already and may not be replaced.
class CONVOLUME_API OutputExists : public Error {
    using Error::Error;
};
/// Reading or writing failed half-way: a full disk, a lost file system.
class CONVOLUME_API IoError : public Error {
    using Error::Error;
};
/// The reader of a pipe closed it while the library wrote to it.
class CONVOLUME_API PipeClosed : public IoError {
    using IoError::IoError;
};
/// The memory that is too small for the work.
enum class MemoryKind { host, gpu, host_and_gpu };

/// No plan fits the memory limits, or the system refused memory.
class CONVOLUME_API OutOfMemory : public Error {
  public:
    explicit OutOfMemory(const Sentence& sentence, MemoryKind memory = MemoryKind::host)
        : Error(sentence), memory_(memory) {}

    /// Returns which memory is too small.
    MemoryKind memory() const noexcept { return memory_; }

  private:
    MemoryKind memory_;
};
/// The requested device or format is not part of this machine or build.
class CONVOLUME_API Unavailable : public Error {
    using Error::Error;
};
/// The requested work cannot be done on a GPU of this machine. The CPU may be able to do it.
class CONVOLUME_API GpuUnavailable : public Unavailable {
    using Unavailable::Unavailable;
};
/// A device failed during the work: it was lost, reset, or broke. Other engines still work.
class CONVOLUME_API DeviceFailure : public Unavailable {
    using Unavailable::Unavailable;
};
/// The caller asked to stop.
class CONVOLUME_API Cancelled : public Error {
    using Error::Error;
};
/// A broken invariant: a bug in convolume.
class CONVOLUME_API InternalError : public Error {
    using Error::Error;
};

}  // namespace convolume
