#include "tool_fields.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "forge/json/parse.h"

namespace forge::serve {
namespace {

using json::Fields;
using Json = nlohmann::ordered_json;

constexpr std::size_t kToolsMax = 128;
constexpr std::size_t kNameCharsMax = 64;

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  return name.size() <= kNameCharsMax && std::ranges::all_of(name, fits);
}

/// The tools in the words of the client: templates print them, and the order of members is part of
/// the prompt.
Json as_written(const Reading& reading) {
  auto body = json::parse_ordered(reading.body);
  if (!body) return nullptr;  // reported already
  if (!body->contains("tools") && body->contains("extra")) *body = Json((*body)["extra"]);
  return (*body)["tools"];
}

/// A function has no other parameters than those that are named, unless its schema says more of
/// them than that.
bool names_all(const Json& schema) {
  constexpr std::string_view kSayMore[] = {"additionalProperties",
                                           "patternProperties",
                                           "unevaluatedProperties",
                                           "propertyNames",
                                           "dependentSchemas",
                                           "dependentRequired",
                                           "dependencies",
                                           "minProperties",
                                           "allOf",
                                           "anyOf",
                                           "oneOf",
                                           "if",
                                           "$ref"};
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return false;
  const auto says = [&](std::string_view key) { return schema.contains(key); };
  const auto is_named = [&](const Json& name) {
    return name.is_string() && properties->contains(name.get<std::string>());
  };
  const auto required = schema.find("required");
  return std::ranges::none_of(kSayMore, says) &&
         (required == schema.end() || std::all_of(required->begin(), required->end(), is_named));
}

/// The schema of the arguments: of no arguments where there is none.
std::string schema_of(const Json& tool) {
  const Json& function = tool["function"];
  if (!function.contains("parameters") || function["parameters"].is_null()) {
    return R"({"type":"object","additionalProperties":false})";
  }
  Json schema = function["parameters"];
  schema["type"] = "object";
  if (names_all(schema)) schema["additionalProperties"] = false;
  return schema.dump();
}

void read_tool(const Fields& tool, std::vector<ToolOffer::Tool>& tools) {
  tool.one_of("type", {"function"});
  if (tool.failed()) return;
  const Fields function = tool.required_object("function");
  const std::string name = function.text("name");
  const auto is_same = [&](const ToolOffer::Tool& other) { return other.name == name; };
  if (!is_name(name)) {
    function.fail("name", "a text of 1 .. 64 letters, digits, '_' and '-'");
  } else if (std::ranges::any_of(tools, is_same)) {
    function.refuse("name",
                    "is '" + name + "', as that of a tool before it; accepted is each once");
  }
  function.text("description", "");
  function.boolean("strict", false);
  if (const auto parameters = function.object("parameters")) {
    const nlohmann::json* const type = parameters->find("type");
    if (type != nullptr && *type != "object") parameters->fail("type", "\"object\"");
  }
  function.finish();
  tool.finish();
  tools.push_back({name, "", function.name_of("parameters")});
}

/// The tool that {"type": "function", "function": {"name": ...}} names.
void name_tool(const Fields& named, const std::vector<ToolOffer::Tool>& tools,
               std::vector<std::string>& names) {
  named.one_of("type", {"function"});
  const Fields function = named.required_object("function");
  names.push_back(function.text("name"));
  function.finish();
  named.finish();
  const auto is_it = [&](const ToolOffer::Tool& tool) { return tool.name == names.back(); };
  if (named.failed() || std::ranges::any_of(tools, is_it)) return;
  function.refuse("name", "is '" + names.back() + "', which is the name of no tool of the request");
}

/// The names of the tools that may be called where tool_choice is an object.
std::vector<std::string> named_tools(const Fields& choice, ToolOffer& offer) {
  std::vector<std::string> names;
  if (choice.one_of("type", {"function", "allowed_tools"}) == "function") {
    offer.is_forced = offer.is_named = true;
    name_tool(choice, offer.callable, names);
    return names;
  }
  const Fields allowed = choice.required_object("allowed_tools");
  offer.is_forced = allowed.one_of("mode", {"auto", "required"}) == "required";
  for (const Fields& named : allowed.list("tools")) name_tool(named, offer.callable, names);
  if (names.empty()) allowed.fail("tools", "a list of at least one tool");
  allowed.finish();
  choice.finish();
  return names;
}

/// Leaves those that may be called in `offer`.
void read_tool_choice(const Fields& fields, ToolOffer& offer) {
  const nlohmann::json* const choice = fields.find("tool_choice");
  if (choice != nullptr && choice->is_object()) {
    const std::vector<std::string> names = named_tools(*fields.object("tool_choice"), offer);
    std::erase_if(offer.callable, [&](const ToolOffer::Tool& tool) {
      return std::ranges::find(names, tool.name) == names.end();
    });
    return;
  }
  if (choice == nullptr || *choice == "auto") return;
  if (*choice == "none") {
    offer.callable.clear();
    offer.shown = nullptr;
  } else if (*choice != "required") {
    fields.fail("tool_choice", "\"none\", \"auto\", \"required\", or an object that names a tool");
  } else if (offer.callable.empty()) {
    fields.refuse("tool_choice", "is \"required\"; accepted is it only together with tools");
  }
  offer.is_forced = *choice == "required";
}

}  // namespace

ToolOffer read_tool_offer(const Reading& reading) {
  const Fields& fields = reading.fields;
  ToolOffer offer;
  offer.parallel = fields.boolean("parallel_tool_calls", true);
  const nlohmann::json* const tools = fields.find("tools");
  if (tools != nullptr && tools->is_array() && tools->size() > kToolsMax) {
    fields.refuse("tools", "has " + std::to_string(tools->size()) + " tools; accepted are up to " +
                               std::to_string(kToolsMax));
  } else if (tools != nullptr) {
    for (const Fields& tool : fields.list("tools")) read_tool(tool, offer.callable);
  }
  if (!fields.failed() && !offer.callable.empty()) {
    offer.shown = as_written(reading);
    for (std::size_t i = 0; i < offer.callable.size(); ++i) {
      offer.callable[i].parameters = schema_of(offer.shown[i]);
    }
  }
  read_tool_choice(fields, offer);
  return offer;
}

void bind_to_calls(const ToolOffer& offer, chat::CallForm form, UntokenizedRequest& request) {
  OutputGrammar grammar;
  const chat::CallsSpelling row = chat::row_of(form);
  const bool one = offer.is_named || !offer.parallel || !row.several;
  if (offer.is_forced && !one) grammar.row = {row.open, row.between, row.close};
  for (const ToolOffer::Tool& tool : offer.callable) {
    const chat::CallSpelling call = chat::spelling_of(form, tool.name);
    OutputForm bound{.kind = GrammarKind::json_schema, .text = tool.parameters};
    if (offer.is_forced) {
      bound.prefix = (one ? row.open : "") + call.before;
      bound.suffix = call.after + (one ? row.close : "");
    } else {
      grammar.after = call.mark;
      bound.prefix = call.marked_before;
      bound.suffix = call.marked_after;
    }
    grammar.forms.push_back(std::move(bound));
    request.form_fields.push_back(tool.field);
  }
  request.sampling.grammar = std::move(grammar);
  request.grammar_field = "tools";
}

}  // namespace forge::serve
