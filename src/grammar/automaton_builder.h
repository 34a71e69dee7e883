// From terms to the nodes of an automaton.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "automaton.h"
#include "schema_sets.h"

namespace forge::grammar {

/// Does the term have a schema that is simply false?
bool is_nothing(const Term& term);

class AutomatonBuilder {
 public:
  explicit AutomatonBuilder(SchemaSets& sets);

  /// The automaton of documents whose value is of `term`. Errors: as the compilation's; that
  /// nothing is accepted is one.
  std::shared_ptr<Grammar::Automaton> build(const Term& term);

 private:
  ValueId id_of(Term term);
  void build_value(ValueId id);
  const Terminal* add_terminal(DfaPtr dfa, Terminal::Form form, std::uint64_t least,
                               std::uint64_t most);
  const Terminal* string_terminal(const StringSet& set);
  const Terminal* number_terminal(const NumberSet& set);

  ArrayNode build_array(const ArrayShape& shape);
  bool is_within_limits(const ObjectShape& shape, std::size_t patterns);
  /// False where no object is of the shape.
  bool build_object(const ObjectShape& shape, ObjectNode& node);

  SchemaSets& sets_;
  Compilation& compilation_;
  std::shared_ptr<Grammar::Automaton> automaton_;
  std::map<Term, ValueId> ids_;
  std::vector<Term> terms_;  ///< of each value
};

/// Fills the costs, and takes out what can never be completed.
void settle_costs(Grammar::Automaton& automaton, Compilation& compilation);

}  // namespace forge::grammar
