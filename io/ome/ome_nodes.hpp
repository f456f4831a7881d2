// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nodes of OME-XML, whose elements may carry a namespace prefix: <OME:Image>.

#include <charconv>
#include <pugixml.hpp>
#include <string_view>

#include "convolume/shape.hpp"

namespace convolume::io {

inline std::string_view local_name(const pugi::xml_node& node) {
    const std::string_view name = node.name();
    const auto colon = name.find(':');
    return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

inline pugi::xml_node child(const pugi::xml_node& parent, std::string_view name) {
    for (const pugi::xml_node& node : parent.children())
        if (local_name(node) == name) return node;
    return {};
}

/// Returns an attribute that is a whole number, else `otherwise`.
inline index_t whole_number(const pugi::xml_node& node, const char* name, index_t otherwise) {
    const std::string_view text = node.attribute(name).value();
    index_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? value : otherwise;
}

}  // namespace convolume::io
