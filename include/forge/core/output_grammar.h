// OutputGrammar: which texts an output may be, as its request says it.
//
//   kind         text                          the output is
//   json_object  empty                         any JSON object
//   json_schema  a JSON Schema                 an instance of it
//   regex        a regular expression          what matches it as a whole
//   choice       any text but the empty one    this text
//
// Several forms are alternatives, all of them JSON or all of them choices. A form of JSON may have
// fixed text around it, as a call of a tool has: prefix `<tool_call>\n`, a schema, suffix
// `\n</tool_call>`.
//
// Without `after`, the whole output is bound, from its first token on. With it, the output is free
// until it has the text `after`, which opens a part that is bound: the text behind it is of one of
// the forms. Then the output is free again, and the mark may open the next part.
//
//   after "<tool_call>", a form with suffix "</tool_call>"
//
//     Let me look that up. <tool_call>{"name": ...}</tool_call> One moment.
//     |<------- free ------>|         |<-------- bound ------->|<- free ->|
//
// The policy core carries the value and never reads it; grammar/output_compiler.h makes of it what
// executors ask for the tokens that may come next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forge/core/names.h"

namespace forge {

enum class GrammarKind : std::uint8_t { json_object, json_schema, regex, choice };
constexpr Names<GrammarKind> names_of(GrammarKind) {
  return {"json_object", "json_schema", "regex", "choice"};
}

struct OutputForm {
  GrammarKind kind = GrammarKind::json_object;
  std::string text;
  std::string prefix;  ///< of forms of JSON
  std::string suffix;

  friend bool operator==(const OutputForm&, const OutputForm&) = default;
};

/// One text of a form after another: `open`, a text, `between`, a text, ..., `close`.
struct OutputRow {
  std::string open;
  std::string between;
  std::string close;

  friend bool operator==(const OutputRow&, const OutputRow&) = default;
};

struct OutputGrammar {
  std::vector<OutputForm> forms;  ///< at least one
  std::string after;              ///< the mark that opens a part; empty: all is bound
  std::optional<OutputRow> row;   ///< a part is one or more texts, of forms of JSON; none: one

  friend bool operator==(const OutputGrammar&, const OutputGrammar&) = default;
};

}  // namespace forge
