// How texts are cut and put together.
#include <algorithm>

#include "filters.h"
#include "methods.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

std::size_t leading_word(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    if (is_space(character.code)) break;
    at += character.bytes;
  }
  return at;
}

std::size_t trailing_word(std::string_view text) {
  const std::size_t size = text.size();
  while (!text.empty()) {
    const Character character = last_character(text);
    if (is_space(character.code)) break;
    text.remove_suffix(character.bytes);
  }
  return size - text.size();
}

/// Whether one more cut may be made.
bool may_cut(std::int64_t most, std::size_t parts) {
  return most < 0 || static_cast<std::int64_t>(parts) < most;
}

std::string_view separator_text(const Value& separator) {
  if (!separator.is_string()) {
    raise_type("must be str or None, not " + type_name(separator));
  }
  if (separator.text().empty()) raise(Exception::value, "empty separator");
  return separator.text();
}

Value list_of(Interpreter& interpreter, const Value& text,
              const std::vector<std::string_view>& parts) {
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const std::string_view part : parts) {
    values.push_back(interpreter.text(std::string(part), text.string().markup));
  }
  return interpreter.list(std::move(values));
}

}  // namespace

Value split_text(Interpreter& interpreter, const Value& text, const Value* separator,
                 std::int64_t most) {
  std::vector<std::string_view> parts;
  std::string_view rest = text.text();
  if (separator == nullptr) {
    rest = strip_left(rest);
    while (!rest.empty() && may_cut(most, parts.size())) {
      const std::size_t size = leading_word(rest);
      parts.push_back(rest.substr(0, size));
      rest = strip_left(rest.substr(size));
    }
    if (!rest.empty()) parts.push_back(rest);
    return list_of(interpreter, text, parts);
  }
  const std::string_view mark = separator_text(*separator);
  while (may_cut(most, parts.size())) {
    const std::size_t at = rest.find(mark);
    if (at == std::string_view::npos) break;
    parts.push_back(rest.substr(0, at));
    rest.remove_prefix(at + mark.size());
  }
  parts.push_back(rest);
  return list_of(interpreter, text, parts);
}

Value split_text_from_right(Interpreter& interpreter, const Value& text, const Value* separator,
                            std::int64_t most) {
  std::vector<std::string_view> parts;
  std::string_view rest = text.text();
  if (separator == nullptr) {
    rest = strip_right(rest);
    while (!rest.empty() && may_cut(most, parts.size())) {
      const std::size_t size = trailing_word(rest);
      parts.push_back(rest.substr(rest.size() - size));
      rest = strip_right(rest.substr(0, rest.size() - size));
    }
    if (!rest.empty()) parts.push_back(rest);
  } else {
    const std::string_view mark = separator_text(*separator);
    while (may_cut(most, parts.size())) {
      const std::size_t at = rest.rfind(mark);
      if (at == std::string_view::npos) break;
      parts.push_back(rest.substr(at + mark.size()));
      rest = rest.substr(0, at);
    }
    parts.push_back(rest);
  }
  std::reverse(parts.begin(), parts.end());
  return list_of(interpreter, text, parts);
}

std::string replaced(Budget& budget, std::string_view text, std::string_view old,
                     std::string_view now, std::int64_t most) {
  const auto limit = most < 0 ? UINT64_MAX : static_cast<std::uint64_t>(most);
  std::string out;
  std::uint64_t times = 0;
  const auto add = [&](std::string_view part) {
    budget.make(part.size());
    out += part;
  };
  if (old.empty()) {
    while (times < limit) {
      add(now);
      ++times;
      if (text.empty()) return out;
      const std::size_t bytes = character_bytes(text[0]);
      add(text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
    add(text);
    return out;
  }
  for (; times < limit; ++times) {
    const std::size_t at = text.find(old);
    if (at == std::string_view::npos) break;
    add(text.substr(0, at));
    add(now);
    text.remove_prefix(at + old.size());
  }
  add(text);
  return out;
}

std::string_view stripped(Budget& budget, std::string_view text, const Value* characters, bool left,
                          bool right) {
  if (characters == nullptr) {
    if (left) text = strip_left(text);
    return right ? strip_right(text) : text;
  }
  std::vector<std::uint32_t> set;
  for (std::string_view rest = text_argument(*characters); !rest.empty();) {
    const Character character = first_character(rest);
    rest.remove_prefix(character.bytes);
    set.push_back(character.code);
  }
  std::sort(set.begin(), set.end());
  budget.step(set.size() / 8);
  const auto is_in_set = [&](Character character) {
    return std::binary_search(set.begin(), set.end(), character.code);
  };
  while (left && !text.empty() && is_in_set(first_character(text))) {
    text.remove_prefix(first_character(text).bytes);
  }
  while (right && !text.empty() && is_in_set(last_character(text))) {
    text.remove_suffix(last_character(text).bytes);
  }
  return text;
}

Value join_texts(Interpreter& interpreter, std::string_view separator,
                 const std::vector<std::string>& parts, bool markup) {
  if (!parts.empty()) interpreter.budget().make(parts.size() - 1, separator.size());
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return interpreter.text(std::move(out), markup);
}

}  // namespace forge::chat::detail
