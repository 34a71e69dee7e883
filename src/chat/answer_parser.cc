#include "forge/chat/answer_parser.h"

#include <algorithm>
#include <utility>

#include "blanks.h"
#include "call_text.h"

namespace forge::chat {

AnswerParser::AnswerParser(AnswerRules rules)
    : rules_(std::move(rules)),
      in_reasoning_(rules_.in_reasoning),
      may_reason_(rules_.form.reasons && !rules_.in_reasoning),
      after_mark_(rules_.in_reasoning) {}

std::vector<AnswerEvent> AnswerParser::push(std::string_view piece) {
  for (const char byte : piece) read(byte);
  return std::exchange(events_, {});
}

std::vector<AnswerEvent> AnswerParser::finish() {
  if (state_ == State::after_arguments) {
    emit(Kind::mark, held_);
  } else {
    flush(held_);
  }
  held_.clear();
  return std::exchange(events_, {});
}

void AnswerParser::read(char byte) {
  switch (state_) {
    case State::text:
      return read_text(byte);
    case State::arguments:
      return read_argument(byte);
    case State::after_arguments:
      return read_after_arguments(byte);
  }
}

void AnswerParser::read_text(char byte) {
  held_ += byte;
  if (is_mark()) return;
  // What was held is text, and the byte may begin a mark itself.
  if (held_.size() > 1) {
    flush(std::string_view(held_).substr(0, held_.size() - 1));
    held_.assign(1, byte);
    if (is_mark()) return;
  }
  flush(held_);
  held_.clear();
}

bool AnswerParser::is_mark() {
  if (held_.size() > kSpellingBytesMax) return false;
  const Fit call = begin_call();
  if (call == Fit::yes) return true;
  const Fit begin = may_reason_ ? fit_mark(marks::kThink, held_) : Fit::no;
  const Fit end = in_reasoning_ ? fit_mark(marks::kThinkEnd, held_) : Fit::no;
  const Fit row = after_call_ ? fit_calls_end(rules_.form.calls, held_) : Fit::no;
  const Fit mark = std::max({begin, end, row});
  if (mark == Fit::yes) {
    if (row != Fit::yes) in_reasoning_ = begin == Fit::yes;
    may_reason_ = false;
    after_mark_ = true;
    emit(Kind::mark, std::exchange(held_, {}));
  }
  return std::max(call, mark) != Fit::no;
}

Fit AnswerParser::begin_call() {
  if (calls_ == rules_.calls_max || rules_.tools.empty()) return Fit::no;
  std::string_view tool;
  const CallPlace place{.at_start = at_start_ && !in_reasoning_, .after_call = after_call_};
  const Fit fit = fit_call(rules_.form.calls, place, held_, tool);
  if (fit != Fit::yes) return fit;
  if (std::ranges::find(rules_.tools, tool) == rules_.tools.end()) return Fit::no;
  const std::string text = std::exchange(held_, {});
  events_.push_back({Kind::call, text.substr(0, text.size() - 1), std::string(tool)});
  ++calls_;
  may_reason_ = in_reasoning_ = false;
  state_ = State::arguments;
  depth_ = 0;
  read_argument(text.back());  // their brace
  return fit;
}

void AnswerParser::read_argument(char byte) {
  emit(Kind::arguments, {&byte, 1});
  if (escaped_) {
    escaped_ = false;
  } else if (in_string_) {
    escaped_ = byte == '\\';
    in_string_ = byte != '"';
  } else if (byte == '"') {
    in_string_ = true;
  } else if (byte == '{' || byte == '[') {
    ++depth_;
  } else if (byte == '}' || byte == ']') {
    --depth_;
    if (depth_ == 0) state_ = State::after_arguments;
  }
}

void AnswerParser::read_after_arguments(char byte) {
  held_ += byte;
  Fit fit = fit_call_end(rules_.form.calls, held_);
  if (held_.size() > kSpellingBytesMax) fit = Fit::no;
  if (fit == Fit::open) return;
  // Without its proper end, too, the call is over: what stands there instead is text.
  state_ = State::text;
  after_call_ = true;
  after_mark_ = true;
  const std::string text = std::exchange(held_, {});
  if (fit == Fit::yes) return emit(Kind::mark, text);
  for (const char each : text) read(each);
}

void AnswerParser::flush(std::string_view text) {
  const std::size_t blanks = std::min(text.find_first_not_of(kBlanks), text.size());
  const bool is_blank = blanks == text.size();
  if (after_mark_) {
    emit(Kind::mark, text.substr(0, blanks));
    text.remove_prefix(blanks);
  }
  if (!is_blank) {
    after_mark_ = after_call_ = may_reason_ = false;
    at_start_ = at_start_ && in_reasoning_;
  }
  emit(in_reasoning_ ? Kind::reasoning : Kind::content, text);
}

void AnswerParser::emit(Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (!events_.empty() && events_.back().kind == kind) {
    events_.back().text += text;
    return;
  }
  events_.push_back({kind, std::string(text)});
}

}  // namespace forge::chat
