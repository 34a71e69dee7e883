#include "call_text.h"

#include <algorithm>

#include "blanks.h"

namespace forge::chat {
namespace {

/// Reads one part after the other; the first that does not fit, or is not there yet, decides.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  Cursor& literal(std::string_view literal) {
    if (fit_ != Fit::yes) return *this;
    if (rest_.starts_with(literal)) {
      rest_.remove_prefix(literal.size());
    } else {
      fit_ = literal.starts_with(rest_) ? Fit::open : Fit::no;
    }
    return *this;
  }

  Cursor& blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
    return *this;
  }

  /// Up to `end`, which is read, too. Nothing that spans lines, and no escapes.
  Cursor& until(std::string_view end, std::string_view& found) {
    if (fit_ != Fit::yes) return *this;
    found = rest_.substr(0, rest_.find(end));
    rest_.remove_prefix(found.size());
    if (found.find_first_of("\"\\\n") != std::string_view::npos) {
      fit_ = Fit::no;
      return *this;
    }
    return literal(end);
  }

  Cursor& quoted(std::string_view& found) { return literal("\"").until("\"", found); }

  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool fits() const { return fit_ == Fit::yes; }
  /// Nothing may be left.
  Fit whole() const { return fits() && !rest_.empty() ? Fit::no : fit_; }
  Fit fit() const { return fit_; }

 private:
  std::string_view rest_;
  Fit fit_ = Fit::yes;
};

/// The "{" of the arguments, which is not part of the spelling.
Fit at_arguments(Cursor cursor) {
  if (!cursor.fits()) return cursor.fit();
  return cursor.literal("{").whole();
}

/// {"name": "f", "arguments":   Members that are other texts may stand before and between.
Fit fit_object(Cursor cursor, std::string_view& tool) {
  tool = {};
  cursor.blanks().literal("{");
  while (cursor.fits()) {
    std::string_view key;
    cursor.blanks().quoted(key).blanks().literal(":").blanks();
    if (!cursor.fits()) break;
    if (key == "arguments" || key == "parameters") {
      return tool.empty() ? Fit::no : at_arguments(cursor);
    }
    std::string_view value;
    cursor.quoted(value).blanks().literal(",");
    if (key == "name") tool = value;
  }
  return cursor.fit();
}

/// The members after the arguments, and "}".
Cursor object_end(std::string_view text) {
  Cursor cursor(text);
  cursor.blanks();
  while (cursor.fits() && !cursor.next_is('}')) {
    std::string_view ignored;
    cursor.literal(",").blanks().quoted(ignored).blanks().literal(":");
    cursor.blanks().quoted(ignored).blanks();
  }
  return cursor.literal("}");
}

/// function<｜tool▁sep｜>f\n```json\n   or   f<｜tool▁sep｜>
Fit fit_deepseek(Cursor cursor, std::string_view& tool) {
  std::string_view kind;
  cursor.blanks().literal(marks::kCallBegin).until(marks::kSeparator, kind);
  if (!cursor.fits()) return cursor.fit();
  Cursor short_form = cursor;
  short_form.blanks();
  if (const Fit fit = at_arguments(short_form); fit != Fit::no) {
    tool = kind;
    return fit;
  }
  if (kind != "function") return Fit::no;
  std::string_view name;
  cursor.until("\n", name);
  cursor.literal("```json").blanks();
  tool = name;
  return at_arguments(cursor);
}

}  // namespace

Fit fit_call(CallForm form, CallPlace place, std::string_view text, std::string_view& tool) {
  Cursor cursor(text);
  cursor.blanks();
  switch (form) {
    case CallForm::hermes:
      return fit_object(cursor.literal(marks::kToolCall), tool);
    case CallForm::llama3:
      if (cursor.next_is('<') || (!place.at_start && !place.after_call)) {
        cursor.literal(marks::kPythonTag);
      } else if (place.after_call && cursor.next_is(';')) {
        cursor.literal(";");
      }
      return fit_object(cursor, tool);
    case CallForm::deepseek_v3:
    case CallForm::deepseek_v31: {
      std::string_view after_begin;
      Cursor begun = cursor;
      const Fit with = fit_deepseek(begun.literal(marks::kCallsBegin), after_begin);
      const Fit without = fit_deepseek(cursor, tool);
      if (with == Fit::yes) tool = after_begin;
      return std::max(with, without);
    }
    case CallForm::mistral:
      if (place.after_call && cursor.next_is(',')) return fit_object(cursor.literal(","), tool);
      return fit_object(cursor.literal(marks::kCalls).blanks().literal("["), tool);
  }
  return Fit::no;
}

Fit fit_call_end(CallForm form, std::string_view text) {
  switch (form) {
    case CallForm::hermes:
      return object_end(text).blanks().literal(marks::kToolCallEnd).whole();
    case CallForm::llama3:
    case CallForm::mistral:
      return object_end(text).whole();
    case CallForm::deepseek_v3:
    case CallForm::deepseek_v31:
      break;
  }
  Cursor cursor(text);
  cursor.blanks();
  if (cursor.next_is('`')) cursor.literal("```").blanks();
  return cursor.literal(marks::kCallEnd).whole();
}

Fit fit_calls_end(CallForm form, std::string_view text) {
  switch (form) {
    case CallForm::hermes:
    case CallForm::llama3:
      break;
    case CallForm::deepseek_v3:
    case CallForm::deepseek_v31:
      return fit_mark(marks::kCallsEnd, text);
    case CallForm::mistral:
      return fit_mark("]", text);
  }
  return Fit::no;
}

Fit fit_mark(std::string_view mark, std::string_view text) {
  return Cursor(text).blanks().literal(mark).whole();
}

}  // namespace forge::chat
