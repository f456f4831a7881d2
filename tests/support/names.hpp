// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the names of an enumeration's values: to_string(), a parser, and what the parser refuses.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

namespace convolume::testing {

template <class Value>
using Names = std::vector<std::pair<Value, std::string>>;

/// Checks that to_string() gives these names in the order of the values, and that no value follows.
template <class Value>
void check_names(const Names<Value>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        INFO(names[i].second);
        CHECK(static_cast<std::size_t>(names[i].first) == i);
        CHECK(to_string(names[i].first) == names[i].second);
    }
    CHECK_THROWS_AS(to_string(static_cast<Value>(names.size())), InternalError);
}

/// Checks that the error of parsing `wrong` contains it and every choice.
template <class Parse>
void check_refusal(Parse parse, const char* wrong, std::initializer_list<const char*> choices) {
    const std::string text = message_of<InvalidArgument>([&] { parse(wrong); });
    INFO(text);
    CHECK(contains(text, wrong));
    for (const char* choice : choices) CHECK(contains(text, choice));
}

/// Checks that `parse` refuses words close to `choices`, and names the word and all choices.
template <class Parse>
void check_refusals(Parse parse, const std::vector<std::string>& choices) {
    std::vector<std::string> wrong{"nonsense", ""};
    for (const std::string& choice : choices) {
        wrong.push_back(choice + "s");
        wrong.push_back(" " + choice);
        wrong.push_back(choice.substr(0, choice.size() - 1) + "?");
    }
    for (const std::string& word : wrong) {
        const std::string text = message_of<InvalidArgument>([&] { parse(word); });
        INFO("\"" << word << "\": " << text);
        CHECK((contains(text, "\"" + word + "\"") || contains(text, "'" + word + "'")));
        for (const std::string& choice : choices) CHECK(contains(text, choice));
    }
}

/// Returns a name in capitals, with '_' in place of '-'.
inline std::string in_capitals(std::string name) {
    for (char& letter : name) {
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
        if (letter == '-') letter = '_';
    }
    return name;
}

/// Spelling that a parser takes: lenient ones count capitals and '_' as small letters and '-'.
enum class Spelling { lenient, exact };

/// Checks to_string(), the refusals, and that `parse` returns the value of each name.
template <class Value, class Parse>
void check_names(const Names<Value>& names, Parse parse, Spelling spelling = Spelling::lenient) {
    check_names(names);
    std::vector<std::string> choices;
    for (const auto& [value, name] : names) {
        INFO(name);
        CHECK(parse(name) == value);
        if (spelling == Spelling::lenient)
            CHECK(parse(in_capitals(name)) == value);
        else
            CHECK_THROWS_AS(parse(in_capitals(name)), InvalidArgument);
        choices.push_back(name);
    }
    check_refusals(parse, choices);
}

}  // namespace convolume::testing
