#include "normalizer.h"

#include <algorithm>

#include "normal_form.h"

namespace forge::text::detail {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  std::size_t done = 0;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, done)) {
    out += text.substr(done, at - done);
    out += to;
    done = at + from.size();
  }
  out += text.substr(done);
  return out;
}

}  // namespace

bool Normalizer::writes_space_mark() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return step.to.find(kSpaceMark) != std::string::npos;
  });
}

std::optional<std::size_t> Normalizer::bytes_for_one() const {
  std::size_t bytes = 1;
  for (const Step& step : steps_) {
    if (step.kind == Kind::replace && step.from.size() > step.to.size()) return std::nullopt;
    if (step.kind == Kind::rewrite) return std::nullopt;
    if (step.kind != Kind::compose) continue;
    if (bytes > 1) return std::nullopt;
    bytes = kComposedBytesMax;
  }
  return bytes;
}

std::string Normalizer::apply(std::string_view part, bool first) const {
  std::string text(part);
  for (const Step& step : steps_) {
    if (step.kind == Kind::replace) {
      text = replaced(text, step.from, step.to);
      continue;
    }
    if (step.kind == Kind::rewrite) {
      text = step.rewrite(std::move(text));
      continue;
    }
    if (step.kind == Kind::compose) {
      text = composed(std::move(text));
      continue;
    }
    const bool missing = step.kind == Kind::prepend || !text.starts_with(step.to);
    const bool wanted = step.kind != Kind::prepend_to_first_if_missing || first;
    if (!text.empty() && missing && wanted) text.insert(0, step.to);
  }
  return text;
}

}  // namespace forge::text::detail
