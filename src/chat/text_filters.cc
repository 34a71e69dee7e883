// Filters of texts.
#include <algorithm>

#include "filters.h"
#include "format.h"
#include "methods.h"
#include "text_ranges.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

/// The value as a text, which stays Markup if it is.
Value soft_text(Interpreter& interpreter, const Value& value) {
  return value.is_string() ? value : interpreter.text(interpreter.str(value));
}

using Change = std::string (*)(std::string_view);

template <Change kChange>
Value changed(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  const Value text = soft_text(interpreter, value);
  return interpreter.text(kChange(text.text()), text.string().markup);
}

/// The filter's words begin elsewhere than those of str.title().
std::string title_of_words(std::string_view text) {
  std::string out;
  const auto is_break = [](std::uint32_t code) {
    return is_space(code) || code == '-' || code == '(' || code == '{' || code == '[' ||
           code == '<';
  };
  while (!text.empty()) {
    std::size_t end = 0;
    const bool breaks = is_break(first_character(text).code);
    while (end < text.size()) {
      const Character character = first_character(text.substr(end));
      if (is_break(character.code) != breaks) break;
      end += character.bytes;
    }
    const std::size_t first = character_bytes(text[0]);
    out += upper(text.substr(0, first)) + lower(text.substr(first, end - first));
    text.remove_prefix(end);
  }
  return out;
}

Value string(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  return soft_text(interpreter, value);
}

Value trim(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"chars"});
  const Value text = soft_text(interpreter, value);
  return interpreter.text(
      std::string(stripped(interpreter.budget(), text.text(), given.some(0), true, true)),
      text.string().markup);
}

Value replace(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"old", "new", "count"}, 2);
  const std::string old = interpreter.str(given.required(0));
  const std::string now = interpreter.str(given.required(1));
  const std::int64_t most = given.some(2) == nullptr ? -1 : given.integer(2, -1);
  return interpreter.text(replaced(interpreter.budget(), interpreter.str(value), old, now, most));
}

Value escape(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  return escaped(interpreter, value);
}

Value force_escape(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  return escaped(interpreter, interpreter.text(interpreter.str(value)));
}

Value safe(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  return interpreter.text(interpreter.str(value), true);
}

Value center(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"width"});
  Arguments width;
  width.positional.emplace_back(given.integer(0, 80));
  const Value text = soft_text(interpreter, value);
  return interpreter.call(method(interpreter, text, "center"), width);
}

Value indent(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"width", "first", "blank"});
  Budget& budget = interpreter.budget();
  std::string indention;
  if (given.at(0) != nullptr && given.required(0).is_string()) {
    indention = std::string(given.required(0).text());
  } else {
    const auto width = static_cast<std::uint64_t>(std::max<std::int64_t>(given.integer(0, 4), 0));
    budget.make(width);
    indention.assign(width, ' ');
  }
  const bool indent_blank = given.boolean(2, false);
  if (!value.is_string()) {
    if (value.is(Kind::undefined)) raise(Exception::undefined, value.undefined().message);
    raise_type("unsupported operand type(s) for +=: '" + type_name(value) + "' and 'str'");
  }
  const std::string text = std::string(value.text()) + "\n";
  const auto lines = split_lines(text, false);
  budget.make(lines.size(), indention.size());
  std::string out = given.boolean(1, false) ? indention : "";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out += '\n';
      if (indent_blank || !lines[i].empty()) out += indention;
    }
    out += lines[i];
  }
  return interpreter.text(std::move(out), value.string().markup);
}

Value truncate(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"length", "killwords", "end", "leeway"});
  const std::int64_t most = given.integer(0, 255);
  const std::string_view end = given.text(2, "...");
  const std::int64_t leeway = given.some(3) == nullptr ? 5 : given.integer(3, 5);
  const auto end_length = static_cast<std::int64_t>(count_characters(end));
  if (most < end_length) {
    raise(Exception::other,
          "expected length >= " + std::to_string(end_length) + ", got " + std::to_string(most));
  }
  if (leeway < 0) {
    raise(Exception::other, "expected leeway >= 0, got " + std::to_string(leeway));
  }
  const auto length = length_of(value);
  if (!length) raise_type("object of type '" + type_name(value) + "' has no len()");
  if (*length - leeway <= most) return value;
  if (!value.is_string()) raise_type("'" + type_name(value) + "' object is no text");
  const String& text = value.string();
  std::string_view start = characters(interpreter.budget(), text, 0, most - end_length);
  if (!given.boolean(1, false)) start = start.substr(0, start.rfind(' '));
  return interpreter.text(std::string(start) + std::string(end), text.markup);
}

Value word_count(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  const std::string text = interpreter.str(value);
  std::int64_t words = 0;
  bool in_word = false;
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = first_character(rest);
    rest.remove_prefix(character.bytes);
    const std::uint32_t code = character.code;
    const bool is_word = is_alpha(code) || is_numeric(code) || code == '_';
    if (is_word && !in_word) ++words;
    in_word = is_word;
  }
  return Value(words);
}

Value format(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    raise(Exception::other, "can't handle positional and keyword arguments at the same time");
  }
  const Value text = soft_text(interpreter, value);
  Budget& budget = interpreter.budget();
  if (arguments.named.empty()) {
    const Value values = make_tuple(budget, std::move(arguments.positional));
    return percent_format(interpreter, text, values);
  }
  auto named = std::make_shared<Dict>();
  for (const auto& [name, one] : arguments.named) named->set(budget, interpreter.text(name), one);
  return percent_format(interpreter, text, make_dict(budget, std::move(named)));
}

std::string quoted_for_url(std::string_view text, bool in_query) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_alnum =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_alnum || c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !in_query)) {
      out += c;
    } else if (c == ' ' && in_query) {
      out += '+';
    } else {
      out += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return out;
}

Value urlencode(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {});
  Budget& budget = interpreter.budget();
  const auto quoted = [&](const Value& part, bool in_query) {
    const std::string text = interpreter.str(part);
    budget.make(text.size(), 3);
    return quoted_for_url(text, in_query);
  };
  if (value.is_string() || !is_iterable(value)) return interpreter.text(quoted(value, false));
  std::string out;
  const auto add = [&](const Value& key, const Value& part) {
    if (!out.empty()) out += '&';
    out += quoted(key, true) + "=" + quoted(part, true);
  };
  if (value.is(Kind::dict)) {
    for (const auto& [key, part] : value.dict().members) add(key, part);
    return interpreter.text(std::move(out));
  }
  for (const Value& one : collect(budget, value)) {
    const auto pair = collect(budget, one);
    if (pair.size() != 2) raise(Exception::value, "not enough values to unpack (expected 2)");
    add(pair[0], pair[1]);
  }
  return interpreter.text(std::move(out));
}

Value tojson(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const Given given(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = given.boolean(0, false);
  if (const Value* const indent = given.some(1)) {
    if (indent->is_string()) {
      style.indent = std::string(indent->text());
    } else {
      const auto width = static_cast<std::uint64_t>(std::max<std::int64_t>(integer_of(*indent), 0));
      interpreter.budget().make(width);
      style.indent = std::string(width, ' ');
    }
    style.item_separator = ",";
  }
  if (const Value* const separators = given.some(2)) {
    const auto pair = collect(interpreter.budget(), *separators);
    if (pair.size() != 2) raise(Exception::value, "not enough values to unpack (expected 2)");
    style.item_separator = std::string(text_argument(pair[0]));
    style.key_separator = std::string(text_argument(pair[1]));
  }
  style.sort_keys = given.boolean(3, false);
  return interpreter.text(json_text(interpreter.budget(), value, style));
}

constexpr NamedFilter kTextFilterTable[] = {
    {"capitalize", changed<capitalized>},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"forceescape", force_escape},
    {"format", format},
    {"indent", indent},
    {"lower", changed<lower>},
    {"replace", replace},
    {"safe", safe},
    {"string", string},
    {"title", changed<title_of_words>},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", changed<upper>},
    {"urlencode", urlencode},
    {"wordcount", word_count},
};

}  // namespace

const std::span<const NamedFilter> kTextFilters = kTextFilterTable;

Value escaped(Interpreter& interpreter, const Value& value) {
  if (value.is_string() && value.string().markup) return value;
  const std::string text = interpreter.str(value);
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return interpreter.text(std::move(out), true);
}

}  // namespace forge::chat::detail
