// AnswerParser: takes apart what a model answers, piece by piece as it is written: text for people,
// reasoning, and calls of tools.
//
//   <think>            mark         I need the   reasoning
//   I need it.         reasoning    I need it.   reasoning
//   </think>           mark         Let me see.  content
//   Let me see.        content
//   <tool_call>        call "weather"
//   {"name": "weather", "arguments":
//   {"city": "Oslo"}   arguments    {"city": "Oslo"}
//   }\n</tool_call>    mark
//
// The texts of all events, one after the other, are the answer, so nothing is lost; a client sees
// those that are no marks. White space beside a mark belongs to the mark. What comes out depends on
// the answer alone, never on how it was cut into pieces.
//
// A call begins when its spelling up to the arguments is complete and names a tool that was
// offered; until then the text is held back, and what turns out to be no call is content. Its
// arguments are text up to where the brackets of the object are closed, or the answer ends; they
// are given out as they come. A mark that opens a call ends the reasoning, too, which some models
// forget to close.
//
// Work and memory for each byte are bounded, whatever a model writes.
//
// Example, given `std::string_view answer`:
//
//   chat::AnswerParser parser({.form = {.calls = chat::CallForm::hermes}, .tools = {"weather"}});
//   std::vector<chat::AnswerEvent> events = parser.push(answer);
//   for (chat::AnswerEvent& event : parser.finish()) events.push_back(std::move(event));
//   return events;
//
// Owns the text that it holds back. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "forge/chat/answer_form.h"

namespace forge::chat {

enum class Fit : std::uint8_t;

struct AnswerEvent {
  enum class Kind : std::uint8_t {
    content,
    reasoning,
    call,       ///< a call begins: its text is what names it
    arguments,  ///< of the last call
    mark,
  };
  Kind kind = Kind::content;
  std::string text;
  std::string tool = {};  ///< of a call

  friend bool operator==(const AnswerEvent&, const AnswerEvent&) = default;
};

/// What there is to find in an answer.
struct AnswerRules {
  static constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();

  AnswerForm form;
  std::vector<std::string> tools;        ///< those that may be called; none: calls are content
  std::uint32_t calls_max = kAnyNumber;  ///< what looks like another one is content
  bool in_reasoning = false;             ///< the prompt has opened it

  friend bool operator==(const AnswerRules&, const AnswerRules&) = default;
};

class AnswerParser {
 public:
  /// The longest spelling of a call before or after its arguments, white space included.
  static constexpr std::size_t kSpellingBytesMax = 1024;

  explicit AnswerParser(AnswerRules rules);

  /// What is certain now. No two events in a row are of one kind, but for calls. No event ends
  /// within a character if no piece does.
  std::vector<AnswerEvent> push(std::string_view piece);

  /// Ends the answer: what was held back.
  std::vector<AnswerEvent> finish();

  /// Are the arguments of the last call not all there yet?
  bool in_arguments() const { return state_ == State::arguments; }

 private:
  enum class State : std::uint8_t { text, arguments, after_arguments };
  using Kind = AnswerEvent::Kind;

  void read(char byte);
  void read_text(char byte);
  void read_argument(char byte);
  void read_after_arguments(char byte);
  /// Is the held text a mark, which is then taken, or may it become one?
  bool is_mark();
  Fit begin_call();
  void flush(std::string_view text);
  void emit(Kind kind, std::string_view text);

  AnswerRules rules_;
  State state_ = State::text;
  std::string held_;
  std::vector<AnswerEvent> events_;
  std::uint32_t calls_ = 0;
  bool in_reasoning_;
  bool may_reason_;          // nothing but white space was there
  bool at_start_ = true;     // no content yet
  bool after_mark_ = false;  // nothing but white space since
  bool after_call_ = false;  // nothing but white space and marks since

  // Within the arguments.
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace forge::chat
