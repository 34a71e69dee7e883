// The spellings of answer_form.h as functions of a text: does it begin with one?
//
// They are asked again for each byte that a model adds, so each answer is of the whole text so far.
// The texts are short (AnswerParser::kSpellingBytesMax).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "forge/chat/answer_form.h"

namespace forge::chat {

namespace marks {
inline constexpr std::string_view kThink = "<think>";
inline constexpr std::string_view kThinkEnd = kReasoningEnd;
inline constexpr std::string_view kToolCall = "<tool_call>";
inline constexpr std::string_view kToolCallEnd = "</tool_call>";
inline constexpr std::string_view kPythonTag = "<|python_tag|>";
inline constexpr std::string_view kCallsBegin = "<｜tool▁calls▁begin｜>";
inline constexpr std::string_view kCallBegin = "<｜tool▁call▁begin｜>";
inline constexpr std::string_view kSeparator = "<｜tool▁sep｜>";
inline constexpr std::string_view kCallEnd = "<｜tool▁call▁end｜>";
inline constexpr std::string_view kCallsEnd = "<｜tool▁calls▁end｜>";
inline constexpr std::string_view kCalls = "[TOOL_CALLS]";
}  // namespace marks

enum class Fit : std::uint8_t {
  no,    ///< however it goes on
  open,  ///< so far
  yes,   ///< the whole text is the spelling
};

/// Where a call may stand.
struct CallPlace {
  bool at_start = false;    ///< of the content
  bool after_call = false;  ///< right after another one
};

/// All before the arguments of a call, white space first. `tool` is its name, of `yes`.
/// Requires: the text has the first byte of the arguments, a "{", as its last if it is whole.
Fit fit_call(CallForm form, CallPlace place, std::string_view text, std::string_view& tool);

/// What stands after the arguments of a call and belongs to it.
Fit fit_call_end(CallForm form, std::string_view text);

/// What ends a row of calls.
Fit fit_calls_end(CallForm form, std::string_view text);

/// White space and `mark`.
Fit fit_mark(std::string_view mark, std::string_view text);

}  // namespace forge::chat
