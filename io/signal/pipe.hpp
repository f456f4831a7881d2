// SPDX-License-Identifier: Apache-2.0
#pragma once
// Open file descriptors such as standard input and standard output, whose waits another thread can
// end.

#include "convolume/shape.hpp"

namespace convolume::io {

/// Name of the descriptor that is read, in messages.
inline constexpr const char* standard_input = "standard input";

/// A file descriptor that can be waited for until another thread cancels.
class CancellableDescriptor {
  public:
    explicit CancellableDescriptor(int descriptor);
    ~CancellableDescriptor();
    CancellableDescriptor(const CancellableDescriptor&) = delete;
    CancellableDescriptor& operator=(const CancellableDescriptor&) = delete;

    void cancel() const;

  protected:
    int descriptor() const { return descriptor_; }
    /// Returns when the descriptor is ready for `events` (of poll()). Throws Cancelled, or IoError.
    /// `what` names the descriptor in messages.
    void await(short events, const char* what) const;

  private:
    int descriptor_;
    int cancel_event_;
};

class InputPipe : public CancellableDescriptor {
  public:
    using CancellableDescriptor::CancellableDescriptor;
    /// Reads `bytes` bytes. Returns fewer only at the end of the input.
    index_t read(void* to, index_t bytes) const;
    /// Reads `bytes` bytes that are not used. Returns fewer only at the end of the input.
    index_t skip(index_t bytes) const;
    /// Skips a header. Throws BadData if the input ends within it.
    void skip_header(index_t bytes) const;
};

class OutputPipe : public CancellableDescriptor {
  public:
    explicit OutputPipe(int descriptor);
    /// Throws IoError, and PipeClosed if the reader closed the pipe.
    void write(const void* from, index_t bytes) const;
    /// Returns whether the descriptor is a file, in which the program may write at any place.
    bool is_file() const { return is_file_; }
    /// Replaces bytes that were written to a file. `at` counts from the first byte written.
    void write_again(index_t at, const void* from, index_t bytes) const;

  private:
    bool is_file_;
    index_t begin_ = 0;  ///< place in the file of the first byte written
};

}  // namespace convolume::io
