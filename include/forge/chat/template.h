// Template: a Jinja template, parsed once and rendered often, as Python's jinja2 would render it in
// the environment that Hugging Face's `transformers` makes for chat templates.
//
// That is the environment in which the authors of a model have written and tried its template, so
// what differs from it is a different prompt from the one that the model was trained with. It is
// jinja2's ImmutableSandboxedEnvironment with trim_blocks and lstrip_blocks, {% break %},
// {% continue %} and {% generation %}, a `tojson` that escapes no HTML, `raise_exception` and
// `strftime_now`. Values are Python's: they print, compare, slice and format as there, and text is
// counted in code points. book/chat.md lists what is supported and what is refused by name.
//
// Rendering is a pure function of template, context and options: the clock is one of the options.
//
// Neither template nor context is trusted. What a rendering computes, allocates and writes is
// counted against limits, and nesting is limited in template, values and calls.
//
// Example, given `#include <nlohmann/json.hpp>`:
//
//   const auto hello = chat::Template::parse("Hello {{ name | upper }}!");
//   if (!hello) return to_string(hello.error());
//   const auto text = hello->render({{"name", "you"}}, {});
//   return text ? *text : to_string(text.error());  // "Hello YOU!"
//
// Thread contract: a Template is immutable; any number of threads may render it at once.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/core/names.h"

namespace forge::chat {

/// Who has to do something about an error.
enum class TemplateFault : std::uint8_t {
  syntax,   ///< the text is no template, or has what is not supported: its author
  runtime,  ///< it fails with this context, as it would in Python
  raised,   ///< it has called raise_exception(): the message is the template's, for the user
  limit,    ///< it needs more than the limits allow
};
constexpr Names<TemplateFault> names_of(TemplateFault) {
  return {"syntax", "runtime", "raised", "limit"};
}

struct TemplateError {
  TemplateFault fault = TemplateFault::syntax;
  std::uint32_t line = 0;  ///< of the template, from 1
  std::string construct;   ///< what was at work: "filter 'join'"; may be empty
  std::string message;     ///< Python's words where it has any; of `raised`, the template's alone

  friend bool operator==(const TemplateError&, const TemplateError&) = default;
};

/// "line 3: filter 'join': 'int' object is not iterable"; of `raised`, the message alone.
std::string to_string(const TemplateError& error);

/// What one rendering may use, at most.
struct RenderLimits {
  std::uint64_t output_bytes = 64ULL << 20U;  ///< size of the result
  std::uint64_t made_bytes = 1ULL << 30U;     ///< all texts and lists made on the way, together
  std::uint64_t steps = 20'000'000;           ///< turns of loops, calls, elements looked at
};

/// The time here and now.
std::tm local_time();

struct RenderOptions {
  RenderLimits limits;
  std::tm now{};  ///< what strftime_now() formats, as local_time() has it; all fields count
};

class Template {
 public:
  /// The largest text of a template.
  static constexpr std::size_t kBytesMax = 4U << 20U;

  /// Errors: the text is too long, is not UTF-8, or is not a template; it uses a filter, a test or
  /// a statement that is not there.
  static tl::expected<Template, TemplateError> parse(std::string_view text);

  /// The text of the template with the members of `context`, an object, as its variables. The order
  /// of the members of objects is kept, and their names are unique.
  /// Errors: `context` nests too deeply; and as TemplateFault says.
  tl::expected<std::string, TemplateError> render(const nlohmann::ordered_json& context,
                                                  const RenderOptions& options) const;

 private:
  struct Program;
  explicit Template(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  std::shared_ptr<const Program> program_;
};

}  // namespace forge::chat
