// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses parts of texts.

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace convolume {

/// Returns the number that all of `text` is; nothing for other texts, and beyond the type's range.
/// Whole numbers may have another base than 10.
template <class Number, class... Base>
std::optional<Number> number_in(std::string_view text, Base... base) {
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value, base...);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    return value;
}

/// Returns the texts between separators, without an empty one at the end.
inline std::vector<std::string> pieces_of(std::string_view text, char separator) {
    std::vector<std::string> pieces;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        pieces.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return pieces;
}

/// Returns a list such as "full, same or valid", for which `last` is " or ".
inline std::string joined(const std::vector<std::string>& names, std::string_view separator,
                          std::string_view last) {
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i)
        list.append(i == 0 ? "" : i + 1 < names.size() ? separator : last).append(names[i]);
    return list;
}

/// Returns a text with small letters in place of the capitals A to Z.
inline std::string lower_case(std::string_view text) {
    std::string result(text);
    for (char& letter : result)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return result;
}

}  // namespace convolume
