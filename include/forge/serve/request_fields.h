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

#include "forge/core/names.h"

namespace forge::serve {

/// Which route the body is of.
enum class RequestKind : std::uint8_t {
  completions,     ///< POST /v1/completions
  generate,        ///< POST /generate
  chat,            ///< POST /v1/chat/completions
  forge_generate,  ///< POST /forge/v1/generate
  tokenize,        ///< POST /tokenize
  detokenize,      ///< POST /detokenize
};
constexpr Names<RequestKind> names_of(RequestKind) {
  return {"completions", "generate", "chat", "forge/v1/generate", "tokenize", "detokenize"};
}

/// Whether such a request is for the tokenizer alone, and not for the model.
constexpr bool is_of_tokenizer(RequestKind kind) {
  return kind == RequestKind::tokenize || kind == RequestKind::detokenize;
}

/// A set of routes.
struct RequestKinds {
  bool completions = false;
  bool generate = false;
  bool chat = false;
  bool forge_generate = false;
  bool tokenize = false;
  bool detokenize = false;

  constexpr bool has(RequestKind kind) const {
    switch (kind) {
      case RequestKind::completions:
        return completions;
      case RequestKind::generate:
        return generate;
      case RequestKind::chat:
        return chat;
      case RequestKind::forge_generate:
        return forge_generate;
      case RequestKind::tokenize:
        return tokenize;
      case RequestKind::detokenize:
        return detokenize;
    }
    return false;
  }
};

struct RequestField {
  std::string_view name;
  std::string_view accepted;  ///< "a number, 0 .. 2", or the only value that is accepted, as JSON
  std::string_view what;      ///< what it does, and its default; empty: it is not honoured
  RequestKinds kinds = {};    ///< the routes that have it

  bool honoured() const { return !what.empty(); }
  bool is_of(RequestKind kind) const { return kinds.has(kind); }
};

/// In the order in which they are read. A name is there once for each route.
std::span<const RequestField> request_fields();

/// The table as a page in Markdown.
std::string request_fields_page();

}  // namespace forge::serve
