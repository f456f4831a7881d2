// SPDX-License-Identifier: Apache-2.0
// Mutates NPY files: words and numbers in the text of the header, and its length.

#include <cctype>
#include <string>

#include "tests/campaign/fuzz/mutation.hpp"

namespace {

using convolume::testing::ByteOrder;
using convolume::testing::Mutation;

constexpr std::string_view pieces[] = {"'|u1'",
                                       "'<u2'",
                                       "'>u2'",
                                       "'<f4'",
                                       "'>f8'",
                                       "'<c8'",
                                       "'<c16'",
                                       "'|b1'",
                                       "'<i8'",
                                       "'|O'",
                                       "'<U3'",
                                       "True",
                                       "False",
                                       "None",
                                       "()",
                                       "(3,)",
                                       "(2, 6, 5)",
                                       "-1",
                                       "0",
                                       "1",
                                       "1L",
                                       "2e3",
                                       "[",
                                       "'shape': (1,), ",
                                       "'descr'",
                                       "'fortran_order'",
                                       "'shape'",
                                       ",",
                                       "'",
                                       "\\",
                                       "65536",
                                       "4294967296",
                                       "18446744073709551615",
                                       "99999999999999999999"};

bool is_of_a_word(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
           letter == '<' || letter == '>' || letter == '|' || letter == '\'';
}

bool change_field(Mutation& file) {
    if (!file.holds(0, 12)) return false;
    const std::size_t width = file.get(6, 1, ByteOrder::little) == 1 ? 2 : 4;
    const std::size_t begin = 8 + width;
    const std::size_t length = file.get(8, width, ByteOrder::little);
    if (file.below(16) == 0) {
        file.change_number(8, width, ByteOrder::little);
        return true;
    }
    if (!file.holds(begin, length) || length == 0) return false;
    const std::string_view header = file.text(begin, length);
    // Replaces a word, or the characters between words.
    const std::size_t somewhere = file.below(header.find_last_not_of(" \n") + 1);
    const bool word = is_of_a_word(header[somewhere]);
    std::size_t from = somewhere, to = somewhere + 1;
    while (word && from > 0 && is_of_a_word(header[from - 1])) --from;
    while (word && to < header.size() && is_of_a_word(header[to])) ++to;
    const std::string_view piece = file.one_of(pieces);
    const std::size_t before = file.size();
    if (!file.replace(begin + from, to - from, piece)) return false;
    file.put(8, width, ByteOrder::little, length + file.size() - before);
    return true;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    return Mutation(data, size, most, seed).run(change_field);
}
