#include "forge/chat/chat_template.h"

#include <algorithm>

namespace forge::chat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDefault =
    R"({%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages and messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" }}
    {{- "You are provided with function signatures within <tools></tools> XML tags:\n<tools>" }}
    {%- for tool in tools %}
        {{- '\n' + (tool | tojson) }}
    {%- endfor %}
    {{- '\n</tools>\n\nFor each function call, return a json object with function name and ' }}
    {{- 'arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n' }}
    {{- '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' ~ (message.content or '') ~ '\n</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- elif not (tools and loop.first and message.role == 'system') %}
        {{- '<|im_start|>' ~ message.role ~ '\n' ~ (message.content or '') }}
        {%- for call in message.tool_calls or [] %}
            {%- set function = call.function or call %}
            {%- if message.content or not loop.first %}
                {{- '\n' }}
            {%- endif %}
            {{- '<tool_call>\n{"name": ' ~ (function.name | tojson) ~ ', "arguments": ' }}
            {%- if function.arguments is string %}
                {{- function.arguments }}
            {%- else %}
                {{- function.arguments | tojson }}
            {%- endif %}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %})";

/// Why the conversation is none; empty where it is one.
std::string fault_of(const Conversation& conversation) {
  const Json& messages = conversation.messages;
  const bool is_list =
      messages.is_array() && std::all_of(messages.begin(), messages.end(),
                                         [](const Json& message) { return message.is_object(); });
  if (!is_list) return "messages are no list of objects";
  for (const auto& [name, value] :
       {std::pair{"tools", &conversation.tools}, {"documents", &conversation.documents}}) {
    if (!value->is_null() && !value->is_array()) return std::string(name) + " are no list";
  }
  if (!conversation.more.is_object()) return "the other variables are no object";
  return "";
}

}  // namespace

std::string_view default_template() { return kDefault; }

tl::expected<ChatTemplate, TemplateError> ChatTemplate::parse(std::string_view text) {
  const std::string_view source = text.empty() ? kDefault : text;
  auto parsed = Template::parse(source);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  return ChatTemplate(*std::move(parsed), std::string(source));
}

tl::expected<std::string, TemplateError> ChatTemplate::render(const Conversation& conversation,
                                                              const RenderOptions& options) const {
  if (std::string fault = fault_of(conversation); !fault.empty()) {
    return tl::unexpected(TemplateError{TemplateFault::runtime, 1, "", std::move(fault)});
  }
  Json context = conversation.more;
  context["messages"] = conversation.messages;
  context["tools"] = conversation.tools;
  context["documents"] = conversation.documents;
  context["add_generation_prompt"] = conversation.add_generation_prompt;
  if (conversation.bos_token) context["bos_token"] = *conversation.bos_token;
  if (conversation.eos_token) context["eos_token"] = *conversation.eos_token;
  return template_.render(context, options);
}

}  // namespace forge::chat
