#include "forge/chat/answer_form.h"

#include "blanks.h"
#include "call_text.h"

namespace forge::chat {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_of_name(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Is `name` there, and not as a part of a longer name?
bool has_name(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_of_name(text[at - 1]);
    if (begins && (end == text.size() || !is_of_name(text[end]))) return true;
  }
  return false;
}

CallForm calls_of(std::string_view text) {
  if (has(text, marks::kCallBegin)) {
    return has(text, "```json") ? CallForm::deepseek_v3 : CallForm::deepseek_v31;
  }
  if (has(text, marks::kCalls)) return CallForm::mistral;
  if (has(text, marks::kToolCall)) return CallForm::hermes;
  if (has(text, marks::kPythonTag) || has(text, R"("parameters")")) return CallForm::llama3;
  return CallForm::hermes;
}

}  // namespace

AnswerForm answer_form_of(std::string_view template_text) {
  return {.calls = calls_of(template_text),
          .reasons = has(template_text, marks::kThink) && has(template_text, marks::kThinkEnd),
          .prints_tools = has_name(template_text, "tools")};
}

bool begins_in_reasoning(const AnswerForm& form, std::string_view prompt) {
  const std::size_t end = prompt.find_last_not_of(kBlanks);
  return form.reasons && end != std::string_view::npos &&
         prompt.substr(0, end + 1).ends_with(marks::kThink);
}

std::vector<std::string_view> marks_of(const AnswerForm& form) {
  std::vector<std::string_view> all;
  if (form.reasons) all = {marks::kThink, marks::kThinkEnd};
  switch (form.calls) {
    case CallForm::hermes:
      all.insert(all.end(), {marks::kToolCall, marks::kToolCallEnd});
      break;
    case CallForm::llama3:
      all.push_back(marks::kPythonTag);
      break;
    case CallForm::deepseek_v3:
    case CallForm::deepseek_v31:
      all.insert(all.end(), {marks::kCallsBegin, marks::kCallBegin, marks::kSeparator,
                             marks::kCallEnd, marks::kCallsEnd});
      break;
    case CallForm::mistral:
      all.push_back(marks::kCalls);
      break;
  }
  return all;
}

std::vector<std::string_view> all_marks() {
  std::vector<std::string_view> all = {marks::kThink, marks::kThinkEnd};
  for (const CallForm form :
       {CallForm::hermes, CallForm::llama3, CallForm::deepseek_v3, CallForm::mistral}) {
    for (const std::string_view mark : marks_of({.calls = form})) all.push_back(mark);
  }
  return all;
}

CallSpelling spelling_of(CallForm form, const std::string& tool) {
  CallSpelling call;
  const auto object = [&](const char* arguments) {
    return R"({"name": ")" + tool + R"(", ")" + arguments + R"(": )";
  };
  switch (form) {
    case CallForm::hermes:
      call.mark = marks::kToolCall;
      call.marked_before = "\n" + object("arguments");
      call.before = call.mark + call.marked_before;
      call.after = call.marked_after = "}\n" + std::string(marks::kToolCallEnd);
      break;
    case CallForm::llama3:
      call.mark = marks::kPythonTag;
      call.before = call.marked_before = object("parameters");
      call.after = call.marked_after = "}";
      break;
    case CallForm::deepseek_v3:
      call.mark = marks::kCallBegin;
      call.marked_before = "function" + std::string(marks::kSeparator) + tool + "\n```json\n";
      call.before = call.mark + call.marked_before;
      call.after = call.marked_after = "\n```" + std::string(marks::kCallEnd);
      break;
    case CallForm::deepseek_v31:
      call.mark = marks::kCallBegin;
      call.marked_before = tool + std::string(marks::kSeparator);
      call.before = call.mark + call.marked_before;
      call.after = call.marked_after = marks::kCallEnd;
      break;
    case CallForm::mistral:
      call.mark = marks::kCalls;
      call.before = object("arguments");
      call.marked_before = "[" + call.before;
      call.after = "}";
      call.marked_after = "}]";
      break;
  }
  return call;
}

CallsSpelling row_of(CallForm form) {
  switch (form) {
    case CallForm::hermes:
      return {.between = "\n"};
    case CallForm::llama3:
      // Their templates refuse more than one.
      return {.between = "; ", .several = false};
    case CallForm::deepseek_v3:
      return {.open = std::string(marks::kCallsBegin),
              .between = "\n",
              .close = std::string(marks::kCallsEnd)};
    case CallForm::deepseek_v31:
      return {.open = std::string(marks::kCallsBegin), .close = std::string(marks::kCallsEnd)};
    case CallForm::mistral:
      return {.open = std::string(marks::kCalls) + "[", .between = ", ", .close = "]"};
  }
  return {};
}

}  // namespace forge::chat
