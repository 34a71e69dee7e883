// Values as JSON, as Python's json.dumps() writes them.
#include <algorithm>
#include <cmath>

#include "filters.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  std::string take() { return std::move(out_); }

  void write(const Value& value) {
    budget_.step();
    const std::size_t before = out_.size();
    if (value.is_string()) {
      write_text(value.text());
    } else if (value.is(Kind::dict)) {
      write_dict(value.dict());
    } else if (value.is(Kind::list) || value.is(Kind::tuple)) {
      write_list(value.sequence());
    } else if (value.is(Kind::floating)) {
      out_ += number(value.floating());
    } else if (value.is(Kind::none) || value.is(Kind::boolean) || value.is(Kind::integer)) {
      out_ += word(value);
    } else {
      raise_type("Object of type " + type_name(value) + " is not JSON serializable");
    }
    budget_.make(out_.size() - before);
  }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return repr_of_double(value);
  }

  static std::string word(const Value& value) {
    if (value.is(Kind::none)) return "null";
    if (value.is(Kind::integer)) return std::to_string(value.integer());
    return value.boolean() ? "true" : "false";
  }

  void line() {
    if (!style_.indent) return;
    budget_.make(static_cast<std::uint64_t>(depth_), style_.indent->size());
    out_ += '\n';
    for (int i = 0; i < depth_; ++i) out_ += *style_.indent;
  }

  void write_list(const Sequence& list) {
    if (list.elements.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    ++depth_;
    for (std::size_t i = 0; i < list.elements.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      line();
      write(list.elements[i]);
    }
    --depth_;
    line();
    out_ += ']';
  }

  static std::string key_text(const Value& key) {
    if (key.is_string()) return std::string(key.text());
    if (key.is(Kind::floating)) return number(key.floating());
    if (key.is(Kind::none) || key.is_integer()) return word(key);
    raise_type("keys must be str, int, float, bool or None, not " + type_name(key));
  }

  void write_dict(const Dict& dict) {
    if (dict.members.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const std::pair<Value, Value>*> members;
    members.reserve(dict.members.size());
    for (const auto& member : dict.members) members.push_back(&member);
    if (style_.sort_keys) {
      std::stable_sort(members.begin(), members.end(), [&](const auto* a, const auto* b) {
        return less(budget_, a->first, b->first);
      });
    }
    out_ += '{';
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      line();
      write_text(key_text(members[i]->first));
      out_ += style_.key_separator;
      write(members[i]->second);
    }
    --depth_;
    line();
    out_ += '}';
  }

  void write_escape(std::uint32_t code) {
    constexpr char kDigits[] = "0123456789abcdef";
    if (code > 0xFFFF) {
      write_escape(0xD800 + ((code - 0x10000) >> 10U));
      write_escape(0xDC00 + ((code - 0x10000) & 0x3FFU));
      return;
    }
    out_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out_ += kDigits[code >> shift & 0xFU];
  }

  void write_text(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
      const Character character = first_character(text);
      const std::uint32_t code = character.code;
      switch (code) {
        case '"':
          out_ += "\\\"";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\r':
          out_ += "\\r";
          break;
        case '\t':
          out_ += "\\t";
          break;
        case '\f':
          out_ += "\\f";
          break;
        case '\b':
          out_ += "\\b";
          break;
        default:
          if (code < 0x20 || (style_.ensure_ascii && code > 0x7E)) {
            write_escape(code);
          } else {
            out_ += text.substr(0, character.bytes);
          }
      }
      text.remove_prefix(character.bytes);
    }
    out_ += '"';
  }

  Budget& budget_;
  const JsonStyle& style_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string json_text(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonWriter writer(budget, style);
  writer.write(value);
  return writer.take();
}

}  // namespace forge::chat::detail
