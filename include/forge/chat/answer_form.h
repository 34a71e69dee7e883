// AnswerForm: how a model marks what in its answer is no plain text: calls of tools, and reasoning.
//
// An answer is text, and its marks are a habit of the model's training, as the spelling of
// conversations is. The template shows them, because it spells the calls of earlier turns:
//
//   hermes       <tool_call>\n{"name": "f", "arguments": {...}}\n</tool_call>      Qwen, Hermes
//   llama3       {"name": "f", "parameters": {...}}                                 Llama 3.1, 3.2
//                the whole answer, or what follows <|python_tag|>
//   deepseek_v3  <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n
//                ```json\n{...}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>           V3, R1
//   deepseek_v31 the same with <｜tool▁call▁begin｜>f<｜tool▁sep｜>{...}<｜tool▁call▁end｜>
//   mistral      [TOOL_CALLS][{"name": "f", "arguments": {...}}]                    Mistral Nemo
//
// Reasoning stands between <think> and </think> at the beginning of the answer. Some templates end
// the prompt with the first of these.
//
// answer_parser.h takes an answer apart by it.
//
// Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forge/core/names.h"

namespace forge::chat {

enum class CallForm : std::uint8_t { hermes, llama3, deepseek_v3, deepseek_v31, mistral };
constexpr Names<CallForm> names_of(CallForm) {
  return {"hermes", "llama3", "deepseek_v3", "deepseek_v31", "mistral"};
}

struct AnswerForm {
  CallForm calls = CallForm::hermes;
  bool reasons = false;      ///< the template knows <think> and </think>
  bool prints_tools = true;  ///< it uses the variable `tools`

  friend bool operator==(const AnswerForm&, const AnswerForm&) = default;
};

/// The mark that ends reasoning.
inline constexpr std::string_view kReasoningEnd = "</think>";

/// What the text of a template shows. Where it shows no form of calls, that is hermes.
AnswerForm answer_form_of(std::string_view template_text);

/// Does the model go on within its reasoning, because the prompt ends with <think>?
bool begins_in_reasoning(const AnswerForm& form, std::string_view prompt);

/// The marks that an answer may have. Some are control tokens of their tokenizers.
std::vector<std::string_view> marks_of(const AnswerForm& form);
/// Those of all forms.
std::vector<std::string_view> all_marks();

/// How a model spells a call: texts before and after the arguments, a JSON object.
struct CallSpelling {
  std::string before;  ///< has the name of the tool
  std::string after;

  std::string mark;           ///< where an answer has it, a call has begun
  std::string marked_before;  ///< from there to the arguments
  std::string marked_after;   ///< from the arguments to where the text is free again
};
CallSpelling spelling_of(CallForm form, const std::string& tool);

/// How it spells calls one after the other: a text before the first, between two, after the last.
struct CallsSpelling {
  std::string open;
  std::string between;
  std::string close;
  bool several = true;  ///< there may be more than one
};
CallsSpelling row_of(CallForm form);

}  // namespace forge::chat
