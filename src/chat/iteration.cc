#include "iteration.h"

#include "unicode.h"

namespace forge::chat::detail {

bool is_iterable(const Value& value) {
  if (value.is_sequence()) return true;
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::string:
    case Kind::dict:
    case Kind::range:
    case Kind::generator:
      return true;
    default:
      return false;
  }
}

Iteration::Iteration(Budget& budget, Value source) : budget_(&budget), source_(std::move(source)) {
  if (!is_iterable(source_)) raise_type("'" + type_name(source_) + "' object is not iterable");
}

std::optional<Value> Iteration::next() {
  budget_->step();
  if (source_.is_sequence()) {
    const auto& elements = source_.sequence().elements;
    return at_ < elements.size() ? std::optional(elements[at_++]) : std::nullopt;
  }
  switch (source_.kind()) {
    case Kind::string: {
      const std::string_view rest = source_.text().substr(at_);
      if (rest.empty()) return std::nullopt;
      const std::size_t bytes = std::min(character_bytes(rest[0]), rest.size());
      at_ += bytes;
      return make_string(*budget_, std::string(rest.substr(0, bytes)));
    }
    case Kind::dict: {
      const auto& members = source_.dict().members;
      return at_ < members.size() ? std::optional(members[at_++].first) : std::nullopt;
    }
    case Kind::range: {
      const auto index = static_cast<std::int64_t>(at_);
      if (index >= source_.range().count) return std::nullopt;
      ++at_;
      return source_.range().at(index);
    }
    case Kind::generator:
      return source_.generator().next();
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> Iteration::length() const { return length_of(source_); }

std::vector<Value> collect(Budget& budget, const Value& source) {
  std::vector<Value> elements;
  Iteration iteration(budget, source);
  if (const auto length = iteration.length()) elements.reserve(static_cast<std::size_t>(*length));
  while (auto element = iteration.next()) elements.push_back(*std::move(element));
  return elements;
}

std::optional<std::int64_t> length_of(const Value& value) {
  if (value.is_sequence()) return static_cast<std::int64_t>(value.sequence().elements.size());
  switch (value.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::string:
      return static_cast<std::int64_t>(value.string().characters);
    case Kind::dict:
      return static_cast<std::int64_t>(value.dict().members.size());
    case Kind::range:
      return value.range().count;
    default:
      return std::nullopt;
  }
}

}  // namespace forge::chat::detail
