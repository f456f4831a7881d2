// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that mutators of formats change. Mutators know the fields of a format, and change them
// more often than other bytes: after a few random changes of bytes, no reader would get far in the
// file.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

/// Mutates any bytes. libFuzzer has this function; programs without libFuzzer get it from
/// replay.cpp.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace convolume::testing {

enum class ByteOrder { little, big };

/// A file that is mutated in place, and may grow up to `most` bytes.
class Mutation {
  public:
    Mutation(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed)
        : data_(data), size_(size), most_(most), random_(seed) {}

    std::size_t size() const { return size_; }
    bool holds(std::size_t at, std::size_t count) const {
        return count <= size_ && at <= size_ - count;
    }
    bool holds(std::size_t at, std::string_view text) const {
        return holds(at, text.size()) && std::memcmp(data_ + at, text.data(), text.size()) == 0;
    }

    /// Returns a random number from 0 to limit - 1; 0 if the limit is 0.
    std::size_t below(std::size_t limit) {
        return limit == 0 ? 0 : static_cast<std::size_t>(random_()) % limit;
    }
    template <class Range>
    auto one_of(const Range& values) {
        return *(std::begin(values) + static_cast<std::ptrdiff_t>(below(std::size(values))));
    }

    std::uint64_t get(std::size_t at, std::size_t width, ByteOrder order) const {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < width; ++i) value |= byte(at, i, width, order) << 8 * i;
        return value;
    }
    void put(std::size_t at, std::size_t width, ByteOrder order, std::uint64_t value) {
        for (std::size_t i = 0; i < width; ++i)
            data_[order == ByteOrder::little ? at + i : at + width - 1 - i] =
                static_cast<std::uint8_t>(value >> 8 * i);
    }

    /// Returns a number that is likely to be handled badly: limits of types, sizes and positions in
    /// this file, or a number near the one before.
    std::uint64_t number(std::uint64_t before) {
        const std::uint64_t power = std::uint64_t{1} << below(64);
        const std::array<std::uint64_t, 10> numbers{0,          1,         power,        power - 1,
                                                    power + 1,  size_,     below(size_), before + 1,
                                                    before - 1, 2 * before};
        return one_of(numbers);
    }
    void change_number(std::size_t at, std::size_t width, ByteOrder order) {
        if (holds(at, width)) put(at, width, order, number(get(at, width, order)));
    }

    void copy_bytes(std::size_t from, std::size_t to, std::size_t count) {
        if (holds(from, count) && holds(to, count)) std::memmove(data_ + to, data_ + from, count);
    }
    /// Replaces `count` bytes by others. Returns false if the file would become too long.
    bool replace(std::size_t at, std::size_t count, std::string_view bytes) {
        if (!holds(at, count) || size_ - count + bytes.size() > most_) return false;
        std::memmove(data_ + at + bytes.size(), data_ + at + count, size_ - at - count);
        std::memcpy(data_ + at, bytes.data(), bytes.size());
        size_ = size_ - count + bytes.size();
        return true;
    }
    std::string_view text(std::size_t at, std::size_t count) const {
        return {reinterpret_cast<const char*>(data_) + at, count};
    }

    /// Mutates the file. One change in four is of any bytes, and so are those that `change_field`
    /// cannot make.
    template <class ChangeField>
    std::size_t run(const ChangeField& change_field) {
        for (std::size_t changes = 1 + below(3); changes > 0; --changes)
            if (below(4) == 0 || !change_field(*this))
                size_ = LLVMFuzzerMutate(data_, size_, most_);
        return size_;
    }

  private:
    std::uint64_t byte(std::size_t at, std::size_t i, std::size_t width, ByteOrder order) const {
        return data_[order == ByteOrder::little ? at + i : at + width - 1 - i];
    }

    std::uint8_t* data_;
    std::size_t size_;
    std::size_t most_;
    std::minstd_rand random_;
};

}  // namespace convolume::testing
