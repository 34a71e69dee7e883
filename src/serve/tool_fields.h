// The fields `tools`, `tool_choice` and `parallel_tool_calls` of chat.
//
//   tool_choice       the template prints    the answer may have
//   none              no tools               no calls
//   auto              all tools              text, and calls of any tool
//   allowed_tools     all tools              the same of some tools, or as required
//   required          all tools              calls of any tool, nothing else
//   a tool            all tools              calls of it, nothing else
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "field_readers.h"

namespace forge::serve {

/// What a request offers its model.
struct ToolOffer {
  struct Tool {
    std::string name;
    std::string parameters;  ///< their JSON Schema, of an object
    std::string field;       ///< where the request has it: "tools[0].function.parameters"
  };
  nlohmann::ordered_json shown;  ///< what the template prints, null for nothing
  std::vector<Tool> callable;    ///< none: no calls
  bool is_forced = false;        ///< the answer is calls
  bool is_named = false;         ///< of the one tool that the request names, once
  bool parallel = true;          ///< it may have several
};

/// What the three fields ask for. Faults: those of the fields.
ToolOffer read_tool_offer(const Reading& reading);

/// Makes the grammar of the request: the whole answer where a call is forced, otherwise what
/// follows the mark that opens one.
void bind_to_calls(const ToolOffer& offer, chat::CallForm form, UntokenizedRequest& request);

}  // namespace forge::serve
