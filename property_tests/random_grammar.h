// Grammars for random requests.
#pragma once

#include <rapidcheck.h>

#include "executor/byte_grammars.h"
#include "forge/core/output_grammar.h"

namespace forge::testing {

/// Texts that end soon, however tokens are picked, and others.
inline OutputGrammar random_grammar() {
  const OutputForm call{GrammarKind::json_schema,
                        R"({"properties": {"a": {"enum": [1, 22]}, "b": {"type": "boolean"}},
                            "type": "object", "additionalProperties": false})",
                        "[", "]"};
  return *rc::gen::element(
      output_of(GrammarKind::json_object), OutputGrammar{{call}, ""},
      output_of(GrammarKind::regex, "([ab]{2}|\\d{3,9}x?)"),
      output_of(GrammarKind::regex, "[a-f]*", "e"), OutputGrammar{{call, call}, "a"},
      OutputGrammar{{{GrammarKind::choice, "yes"}, {GrammarKind::choice, "yesterday"}}, ""});
}

}  // namespace forge::testing
