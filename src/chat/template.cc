#include "forge/chat/template.h"

#include <nlohmann/json.hpp>

#include "context.h"
#include "interpreter.h"
#include "parser.h"
#include "scopes.h"
#include "unicode.h"

namespace forge::chat {

struct Template::Program {
  detail::FunctionDef root;
};

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

std::string to_string(const TemplateError& error) {
  if (error.fault == TemplateFault::raised) return error.message;
  std::string text = "line " + std::to_string(error.line) + ": ";
  if (!error.construct.empty()) text += error.construct + ": ";
  return text + error.message;
}

tl::expected<Template, TemplateError> Template::parse(std::string_view text) {
  const auto refused = [](std::uint32_t line, std::string message) {
    return tl::unexpected(TemplateError{TemplateFault::syntax, line, "", std::move(message)});
  };
  if (text.size() > kBytesMax) {
    return refused(1, "the template has " + std::to_string(text.size()) +
                          " bytes; accepted are up to " + std::to_string(kBytesMax));
  }
  if (const std::size_t at = detail::first_ill_formed(text); at != std::string_view::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    return refused(static_cast<std::uint32_t>(line),
                   "the template is not UTF-8 at byte " + std::to_string(at));
  }
  try {
    auto program = std::make_shared<Program>();
    program->root.body = detail::parse_template(text);
    detail::resolve_scopes(program->root);
    return Template(std::move(program));
  } catch (detail::SyntaxError& error) {
    return refused(error.line, std::move(error.message));
  }
}

tl::expected<std::string, TemplateError> Template::render(const nlohmann::ordered_json& context,
                                                          const RenderOptions& options) const {
  const auto failed = [](detail::Raise& raised, std::uint32_t line) {
    TemplateError error;
    error.fault = raised.exception == detail::Exception::raised  ? TemplateFault::raised
                  : raised.exception == detail::Exception::limit ? TemplateFault::limit
                                                                 : TemplateFault::runtime;
    error.line = line;
    error.construct = std::move(raised.construct);
    error.message = std::move(raised.message);
    return tl::unexpected(std::move(error));
  };
  detail::Value variables;
  try {
    detail::Budget budget(options.limits);
    variables = detail::value_of(budget, context);
    if (!variables.is(detail::Kind::dict)) {
      detail::raise_type("the context is no object");
    }
  } catch (detail::Raise& raised) {
    return failed(raised, 1);
  }
  detail::Interpreter interpreter(program_->root, variables, options);
  try {
    return interpreter.run();
  } catch (detail::Raise& raised) {
    return failed(raised, interpreter.line());
  }
}

}  // namespace forge::chat
