#include "grammar/json_forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace forge::grammar::testing {
namespace {

std::string escaped(const std::string& text) {
  // The characters by nlohmann's own printer, which escapes all that are not ASCII.
  const std::string ascii = Json(text).dump(-1, ' ', true);
  std::string result;
  for (std::size_t i = 1; i + 1 < ascii.size(); ++i) {
    if (ascii[i] == '\\') {
      const std::size_t length = ascii[i + 1] == 'u' ? 6 : 2;
      result += ascii.substr(i, length);
      i += length - 1;
      continue;
    }
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "\\u%04X", static_cast<unsigned>(ascii[i]));
    result += hex.data();
  }
  return result;
}

std::string number(const Json& value) {
  const std::string text = value.dump();
  if (text.find('e') == std::string::npos) return text;
  std::array<char, 2000> plain{};
  const double d = value.get<double>();
  const bool whole = std::floor(d) == d;
  std::snprintf(plain.data(), plain.size(), whole ? "%.0f" : "%.20f", d);
  return plain.data();
}

class Printer {
 public:
  explicit Printer(JsonForm form) : form_(form) {}

  std::string run(const Json& value) {
    add(value, 0);
    if (form_ == JsonForm::spaced) return " " + text_ + "\n";
    return text_;
  }

 private:
  void add_string(const std::string& text) {
    text_ += form_ == JsonForm::escaped ? "\"" + escaped(text) + "\"" : Json(text).dump();
  }
  void add_break(int depth) {
    if (form_ == JsonForm::spaced) text_ += " \t";
    if (form_ != JsonForm::indented) return;
    text_ += "\n" + std::string(static_cast<std::size_t>(depth) * 2, ' ');
  }
  void add_member(const std::string& key, const Json& value, bool first, int depth) {
    if (!first) text_ += ',';
    add_break(depth + 1);
    add_string(key);
    if (form_ == JsonForm::spaced) text_ += " ";
    text_ += ':';
    if (form_ == JsonForm::spaced || form_ == JsonForm::indented) text_ += " ";
    add(value, depth + 1);
  }
  void add(const Json& value, int depth) {
    if (value.is_string()) {
      add_string(value.get<std::string>());
    } else if (value.is_array()) {
      text_ += '[';
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (i > 0) text_ += ',';
        add_break(depth + 1);
        add(value[i], depth + 1);
      }
      if (!value.empty()) add_break(depth);
      text_ += ']';
    } else if (value.is_object()) {
      text_ += '{';
      std::vector<std::string> keys;
      for (const auto& item : value.items()) keys.push_back(item.key());
      if (form_ == JsonForm::reversed) std::reverse(keys.begin(), keys.end());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        add_member(keys[i], value.at(keys[i]), i == 0, depth);
      }
      if (!value.empty()) add_break(depth);
      text_ += '}';
    } else {
      text_ += value.is_number() ? number(value) : value.dump();
    }
  }

  JsonForm form_;
  std::string text_;
};

}  // namespace

std::string json_text(const Json& value, JsonForm form) { return Printer(form).run(value); }

}  // namespace forge::grammar::testing
