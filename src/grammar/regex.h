// Regular expressions as JSON Schema's `pattern` has them (ECMA-262 with the flag u), as automata.
//
//   text     a . \n \x41 \u00e9 \u{1F600}   classes [a-z] [^"] \d \w \s \D \W \S
//   parts    (a) (?:a) (?<name>a)   a|b     repeated a* a+ a? a{2} a{2,} a{2,5}, also lazily
//   places   ^ $, anywhere: the beginning and the end of the text
//
// What no finite automaton does is refused by name: look-ahead, look-behind, back references; so
// are word boundaries and properties (\b, \p{..}).
#pragma once

#include <string>
#include <string_view>

#include "dfa.h"

namespace forge::grammar {

enum class RegexMatch {
  whole,     ///< the expression is of the whole text
  anywhere,  ///< of some part of it
};

/// The texts that match. Errors: of the expression, as the compilation's; `where` is the JSON
/// pointer that they name. Requires: `pattern` is UTF-8.
Dfa dfa_of_regex(std::string_view pattern, RegexMatch match, const std::string& where,
                 Compilation& compilation);

}  // namespace forge::grammar
