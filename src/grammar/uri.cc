#include "uri.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace forge::grammar {
namespace {

/// The length of "http:" and the like; 0 if there is no scheme.
std::size_t scheme_length(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  const std::size_t other = uri.find_first_of("/?#");
  return colon == std::string_view::npos || colon > other ? 0 : colon + 1;
}

/// Without "." and ".." steps.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> steps;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view step = path.substr(at, end - at);
    if (step == "..") {
      if (steps.size() > 1) steps.pop_back();
    } else if (step != ".") {
      steps.push_back(step);
    }
    if (end == path.size() && (step == "." || step == "..")) steps.emplace_back();
    at = end + 1;
  }
  std::string result;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) result += '/';
    result += steps[i];
  }
  return result;
}

}  // namespace

std::string resolved_uri(std::string_view base, std::string_view reference) {
  base = base.substr(0, base.find('#'));
  if (scheme_length(reference) > 0) return std::string(reference);
  if (reference.empty() || reference.starts_with('#')) {
    return std::string(base) + std::string(reference);
  }
  const std::size_t scheme = scheme_length(base);
  if (reference.starts_with("//"))
    return std::string(base.substr(0, scheme)) + std::string(reference);
  std::size_t authority = scheme;
  if (base.substr(scheme).starts_with("//")) {
    authority = std::min(base.find('/', scheme + 2), base.size());
  }
  const std::size_t mark = std::min(reference.find_first_of("?#"), reference.size());
  const std::string_view path = reference.substr(0, mark);
  std::string whole(path);
  if (!path.starts_with('/')) {
    const std::string_view base_path = base.substr(authority, base.find('?') - authority);
    const std::size_t slash = base_path.rfind('/');
    const bool has_slash = slash != std::string_view::npos;
    const std::string_view folder = has_slash            ? base_path.substr(0, slash + 1)
                                    : authority > scheme ? std::string_view("/")
                                                         : std::string_view();
    whole = std::string(folder) + whole;
  }
  return std::string(base.substr(0, authority)) + without_dots(whole) +
         std::string(reference.substr(mark));
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) {
      return std::nullopt;
    }
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

}  // namespace forge::grammar
