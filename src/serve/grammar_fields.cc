// The fields that say which texts an answer may be (core/output_grammar.h): OpenAI's
// response_format, vLLM's structured_outputs and its older names, and plain ones.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "field_readers.h"
#include "forge/json/parse.h"

namespace forge::serve {
namespace {

using json::Fields;

constexpr std::size_t kChoiceTextsMax = 1024;

/// The grammar of `reading.request` is of `forms`, as the member of this name says.
void set_grammar(const Reading& reading, const std::string& name, std::vector<OutputForm> forms) {
  UntokenizedRequest& request = reading.request;
  const std::string field = name.substr(0, name.find('.'));
  if (request.sampling.grammar) {
    return reading.fields.refuse(
        field, "is there, and so is " + request.grammar_field + "; accepted is one of them");
  }
  if (request.ignore_eos) {
    return reading.fields.refuse(
        field, "is accepted without ignore_eos, which would go on behind the end of the text");
  }
  request.sampling.grammar = OutputGrammar{std::move(forms), ""};
  request.grammar_field = name;
}

/// A schema as JSON, or as the text of it.
void read_schema(const Reading& reading, const Fields& fields, std::string_view key) {
  const nlohmann::json* const value = fields.find(key);
  if (value == nullptr) return;
  if (!value->is_object() && !value->is_boolean() && !value->is_string()) {
    return fields.fail(key, "a JSON Schema, or one as a text");
  }
  std::string text = value->is_string() ? value->get<std::string>() : value->dump();
  set_grammar(reading, fields.name_of(key), {{GrammarKind::json_schema, std::move(text)}});
}

void read_regex(const Reading& reading, const Fields& fields, std::string_view key) {
  if (!fields.has(key)) return;
  std::string regex = fields.text(key);
  if (fields.failed()) return;
  set_grammar(reading, fields.name_of(key), {{GrammarKind::regex, std::move(regex)}});
}

void read_choice(const Reading& reading, const Fields& fields, std::string_view key) {
  const nlohmann::json* const value = fields.find(key);
  if (value == nullptr) return;
  constexpr const char* kAccepted = "a list of 1 to 1024 texts, none of them empty";
  if (!value->is_array() || value->empty() || value->size() > kChoiceTextsMax) {
    return fields.fail(key, kAccepted);
  }
  std::vector<OutputForm> forms;
  for (const nlohmann::json& text : *value) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty()) {
      return fields.refuse(key, "has " + json::shown(text) + "; accepted is " + kAccepted);
    }
    forms.push_back({GrammarKind::choice, text.get<std::string>()});
  }
  set_grammar(reading, fields.name_of(key), std::move(forms));
}

}  // namespace

void read_response_format(const Reading& reading) {
  const auto format = reading.fields.object("response_format");
  if (!format) return;
  const std::string_view type = format->one_of("type", {"text", "json_object", "json_schema"});
  if (type == "json_schema") {
    const Fields named = format->required_object("json_schema");
    // They are for the model, or for people; a schema is always followed strictly.
    named.text("name", "");
    named.text("description", "");
    named.boolean("strict", true);
    if (!named.has("schema")) named.fail("schema", "a JSON Schema");
    read_schema(reading, named, "schema");
    named.finish();
  } else if (type == "json_object") {
    set_grammar(reading, "response_format", {{GrammarKind::json_object}});
  }
  format->finish();
}

void read_structured_outputs(const Reading& reading) {
  const auto outputs = reading.fields.object("structured_outputs");
  if (!outputs) return;
  read_schema(reading, *outputs, "json");
  read_regex(reading, *outputs, "regex");
  read_choice(reading, *outputs, "choice");
  if (outputs->boolean("json_object", false)) {
    set_grammar(reading, "structured_outputs.json_object", {{GrammarKind::json_object}});
  }
  outputs->finish();
}

void read_json_schema(const Reading& reading) {
  read_schema(reading, reading.fields, "json_schema");
}
void read_guided_json(const Reading& reading) {
  read_schema(reading, reading.fields, "guided_json");
}
void read_plain_regex(const Reading& reading) { read_regex(reading, reading.fields, "regex"); }
void read_guided_regex(const Reading& reading) {
  read_regex(reading, reading.fields, "guided_regex");
}
void read_plain_choice(const Reading& reading) { read_choice(reading, reading.fields, "choice"); }
void read_guided_choice(const Reading& reading) {
  read_choice(reading, reading.fields, "guided_choice");
}

}  // namespace forge::serve
