// The compiled grammar: a pushdown automaton over bytes.
//
// Values are nodes. A node says what a value may begin with: a scalar, which a finite automaton
// reads (Terminal), an array, or an object. Arrays and objects are what the stack is for: a frame
// (configuration.h) says how far one of them has come. Several arrays or objects of one node are
// alternatives, and are followed at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dfa.h"
#include "forge/grammar/grammar.h"

namespace forge::grammar {

using ValueId = std::uint32_t;
inline constexpr std::uint64_t kNever = std::uint64_t{1} << 60;  ///< cost of what cannot be

/// A finite automaton as it reads bytes.
struct Terminal {
  enum class Form : std::uint8_t {
    plain,   ///< bytes are the UTF-8 of its characters: numbers, null, a regular expression
    quoted,  ///< a string of JSON after its first quote: escapes stand for characters
  };

  DfaPtr dfa;
  Form form = Form::plain;
  std::uint64_t least = 0;     ///< characters; above 0 only where every state accepts and goes on
  std::uint64_t most = kMany;  ///< characters; kMany: any number
  std::vector<std::uint32_t> distance;  ///< of each state to an end, in characters
  std::uint32_t distance_max = 0;
  /// Whatever characters follow that a string has unescaped, the state is never dead.
  std::vector<bool> takes_text;
  std::vector<bool> is_free;  ///< whatever characters follow, of a string, the state stays as it is
  std::uint64_t id = 0;       ///< unique in the process; for caches

  // Of the keys of an object only.
  std::vector<std::uint64_t> words;           ///< keys that a state leads to
  std::vector<std::uint64_t> required_words;  ///< those that are required
  std::vector<bool> is_required;              ///< of each label
  /// However a key goes on from a state, there is no end of keys that it may become.
  std::vector<bool> endless;
};

/// States of an array: how many items there are, as far as it matters.
struct ArrayNode {
  struct State {
    bool accepts = false;
    std::vector<std::pair<ValueId, std::uint32_t>> items;  ///< a value, and the state after it
    std::uint64_t cost = kNever;                           ///< of the shortest way to "]"
  };
  std::vector<State> states;
};

struct ObjectNode {
  /// Of the keys with one label.
  struct Rule {
    /// The values, alternatives. A bit for each "some key has such a value" that one fulfils.
    std::vector<std::pair<ValueId, std::uint32_t>> values;
    bool required = false;
    std::u32string name;  ///< of those that are required
  };
  Terminal keys;  ///< labels are places in `rules`, from 1
  std::vector<Rule> rules;
  std::uint64_t required = 0;
  std::uint64_t least = 0;
  std::uint64_t most = kMany;
  std::uint32_t exists = 0;  ///< bits that are wanted
  std::uint64_t cost = kNever;
};

struct ValueNode {
  const Terminal* literal = nullptr;  ///< null, false, true
  const Terminal* number = nullptr;
  const Terminal* string = nullptr;
  std::vector<std::uint32_t> arrays;
  std::vector<std::uint32_t> objects;
  std::uint64_t cost = kNever;  ///< characters of the shortest value, about
};

/// A whole text: a value of JSON, with fixed text around it.
struct Document {
  std::string prefix;
  ValueId root = 0;
  std::string suffix;
  std::optional<std::size_t> joint = std::nullopt;  ///< bytes of it after which another may follow
};

struct Grammar::Automaton {
  std::deque<std::unique_ptr<const Terminal>> terminals;
  std::vector<ArrayNode> arrays;
  std::vector<ObjectNode> objects;
  std::vector<ValueNode> values;
  std::vector<Document> documents;  ///< alternatives
  std::size_t followers = 0;        ///< so many of them, the last ones, only follow another
  const Terminal* text = nullptr;   ///< of a grammar that is no JSON: the whole text
  std::vector<std::shared_ptr<const Automaton>> parts;  ///< own terminals of the nodes here
};

/// Of a set of texts. Requires: `dfa` accepts something.
Terminal make_terminal(DfaPtr dfa, Terminal::Form form, std::uint64_t least, std::uint64_t most);
/// Those that all grammars share; made once.
const Terminal* any_string_terminal();
const Terminal* shared_number_terminal(bool integers);
const Terminal* literal_terminal(unsigned bits);

}  // namespace forge::grammar
