// Every field that the body of a request may have, in one table. The parsers of openai_api.h walk
// it, `forge-infer --list-fields` prints it (book/fields.md), and a test goes through it.
//
// A field is honoured, or accepted only at the value that asks for nothing: clients of other
// engines send such fields always. Anything else is refused by name, and so is a field that is not
// in the table, so that nothing is ignored.
//
// null stands for a field that is left out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace forge::serve {

/// Which route the body is of.
enum class RequestKind : std::uint8_t {
  completions,  ///< POST /v1/completions
  generate,     ///< POST /generate
};

struct RequestField {
  std::string_view name;
  std::string_view accepted;  ///< "a number, 0 .. 2", or the only value that is accepted, as JSON
  std::string_view what;      ///< what it does, and its default; empty: it is not honoured
  bool generate = false;      ///< POST /generate has it, too

  bool honoured() const { return !what.empty(); }
  bool is_of(RequestKind kind) const { return kind == RequestKind::completions || generate; }
};

/// In the order in which they are read.
std::span<const RequestField> request_fields();

/// The table as a page in Markdown.
std::string request_fields_page();

}  // namespace forge::serve
