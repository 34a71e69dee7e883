#include "pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "utf8_text.h"

namespace forge::text::detail {
namespace {

template <auto kFree>
struct FreeBy {
  template <class T>
  void operator()(T* thing) const {
    kFree(thing);
  }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, FreeBy<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreeBy<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, FreeBy<pcre2_match_data_free>>;

constexpr std::size_t kPatternBytesMax = 65536;
constexpr std::uint64_t kStepsMin = 1'000'000;
constexpr std::uint64_t kStepsPerByte = 16;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  const int length = pcre2_get_error_message(error, text, sizeof text);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(std::max(length, 0))};
}

/// The first escape that Oniguruma reads as something else, or has not.
std::optional<char> foreign_escape(std::string_view pattern) {
  constexpr std::string_view kForeign = "BCEGHKNQRVXZbghkvwW";
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    ++i;
    if (kForeign.find(pattern[i]) != std::string_view::npos) return pattern[i];
  }
  return std::nullopt;
}

tl::unexpected<std::string> wrong(std::string_view pattern, const std::string& what) {
  return tl::unexpected("the pattern '" + std::string(pattern.substr(0, 200)) + "' " + what);
}

}  // namespace

void Pattern::Free::operator()(void* code) const {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

tl::expected<Pattern, std::string> Pattern::compile(std::string_view pattern, Syntax syntax) {
  if (pattern.size() > kPatternBytesMax) {
    return wrong(pattern, "has " + std::to_string(pattern.size()) + " bytes, accepted are " +
                              std::to_string(kPatternBytesMax));
  }
  std::uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_LITERAL;
  if (!is_valid_utf8(pattern)) return wrong("?", "is not valid UTF-8");
  if (syntax == Syntax::expression) {
    options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_UCP | PCRE2_MULTILINE |
              PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;
    if (pattern.find("&&") != std::string_view::npos) {
      return wrong(pattern, "has an intersection of classes (&&), which is not read");
    }
    if (const auto escape = foreign_escape(pattern)) {
      return wrong(pattern, std::string("has the escape \\") + *escape + ", which is not read");
    }
  }
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(units(pattern), pattern.size(), options, &error, &at, context.get());
  if (code == nullptr) {
    return wrong(pattern, "is wrong at byte " + std::to_string(at) + ": " + message_of(error));
  }
  // Where PCRE2 has no compiler for this processor, it interprets: slower, the same matches.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Pattern(code);
}

bool Pattern::may_be_empty() const {
  std::uint32_t empty = 0;
  pcre2_pattern_info(static_cast<const pcre2_code*>(code_.get()), PCRE2_INFO_MATCHEMPTY, &empty);
  return empty != 0;
}

struct Pattern::Finder::State {
  const pcre2_code* code;
  MatchData data;
  MatchContext context;
};

Pattern::Finder::Finder(const Pattern& pattern) : state_(std::make_unique<State>()) {
  state_->code = static_cast<const pcre2_code*>(pattern.code_.get());
  state_->data.reset(pcre2_match_data_create_from_pattern(state_->code, nullptr));
  state_->context.reset(pcre2_match_context_create(nullptr));
}

Pattern::Finder::~Finder() = default;

void Pattern::Finder::find_all(std::string_view text, std::vector<Match>& matches) {
  const auto& [code, data, context] = *state_;
  const std::uint64_t steps = kStepsMin + kStepsPerByte * text.size();
  pcre2_set_match_limit(context.get(), static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                           steps, std::numeric_limits<std::uint32_t>::max())));
  std::size_t from = 0;
  while (from < text.size()) {
    const int found = pcre2_match(code, units(text), text.size(), from, PCRE2_NO_UTF_CHECK,
                                  data.get(), context.get());
    if (found < 0) return;
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data.get());
    if (bounds[1] > bounds[0]) {
      matches.push_back({bounds[0], bounds[1]});
      from = bounds[1];
    } else {
      from = bounds[0] >= text.size() ? text.size() : bounds[0] + character_bytes(text[bounds[0]]);
    }
  }
}

}  // namespace forge::text::detail
