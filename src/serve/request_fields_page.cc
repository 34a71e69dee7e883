// book/fields.md, written from the table of request_fields.h.
#include <string>

#include "forge/serve/request_fields.h"

namespace forge::serve {
namespace {

std::string kinds_text(RequestKinds kinds) {
  std::string text;
  if (kinds.completions && kinds.generate && kinds.chat && kinds.forge_generate) {
    text = "all";
    kinds.completions = kinds.generate = kinds.chat = kinds.forge_generate = false;
  }
  for (const RequestKind kind :
       {RequestKind::completions, RequestKind::chat, RequestKind::generate,
        RequestKind::forge_generate, RequestKind::tokenize, RequestKind::detokenize}) {
    if (kinds.has(kind)) text += (text.empty() ? "" : ", ") + std::string(name_of(kind));
  }
  return text;
}

}  // namespace

std::string request_fields_page() {
  std::string honoured;
  std::string neutral;
  for (const RequestField& field : request_fields()) {
    const std::string name = "| `" + std::string(field.name) + "` | ";
    if (field.honoured()) {
      honoured += name + std::string(field.accepted) + " | " + std::string(field.what) + " | " +
                  kinds_text(field.kinds) + " |\n";
    } else {
      neutral +=
          name + "`" + std::string(field.accepted) + "` | " + kinds_text(field.kinds) + " |\n";
    }
  }
  return "# Fields of requests\n\n"
         "What `POST /v1/completions`, `POST /v1/chat/completions`, `POST /generate` and `POST\n"
         "/forge/v1/generate` take, which are all that generate, and `POST /tokenize` and `POST\n"
         "/detokenize`, as `forge-infer --list-fields` prints it. Any other field is refused by "
         "name, and so is a "
         "value that is not accepted.\n`null` stands for a field that is left out. The members of "
         "an object `extra` are read as if they were fields themselves.\n\n"
         "## Honoured\n\n"
         "| field | accepted | what it does; its default | route |\n|---|---|---|---|\n" +
         honoured +
         "\n## Accepted at one value only\n\n"
         "Clients of other engines send these always; at this value they ask for nothing.\n\n"
         "| field | value | route |\n|---|---|---|\n" +
         neutral;
}

}  // namespace forge::serve
