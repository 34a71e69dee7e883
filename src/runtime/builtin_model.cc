#include "forge/runtime/builtin_model.h"

#include <array>
#include <charconv>
#include <concepts>

#include "forge/builtin/trained_model.h"

namespace forge::runtime {
namespace {

tl::unexpected<std::string> refused(std::string_view model, const std::string& what) {
  return tl::unexpected("'" + std::string(model) + "': " + what);
}

/// All of `text` as a number.
bool parse(std::string_view text, std::integral auto& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

/// Errors: why not.
std::string set(reference::TinyConfig& config, std::string_view key, std::string_view value) {
  struct Size {
    std::string_view key;
    int reference::TinyConfig::*field;
  };
  constexpr std::array kSizes{Size{"layers", &reference::TinyConfig::layers},
                              Size{"hidden_size", &reference::TinyConfig::hidden_size},
                              Size{"heads", &reference::TinyConfig::heads},
                              Size{"kv_heads", &reference::TinyConfig::kv_heads},
                              Size{"ffn_size", &reference::TinyConfig::ffn_size}};
  const std::string said = std::string(key) + " is '" + std::string(value) + "', accepted: ";
  if (key == "seed") return parse(value, config.seed) ? "" : said + "0 .. 18446744073709551615";
  for (const Size& size : kSizes) {
    if (size.key == key) return parse(value, config.*size.field) ? "" : said + "an integer";
  }
  return "'" + std::string(key) +
         "' is no part of it, accepted: seed, layers, hidden_size, heads, kv_heads and ffn_size";
}

}  // namespace

bool is_builtin(std::string_view model) {
  return model == kBuiltinModel || (model.substr(0, kBuiltinModel.size()) == kBuiltinModel &&
                                    model[kBuiltinModel.size()] == ':');
}

reference::TinyConfig BuiltinModel::config() const {
  return random ? *random : builtin::trained_config();
}

tl::expected<BuiltinModel, std::string> parse_builtin(std::string_view model) {
  if (model == kBuiltinModel) return BuiltinModel();
  reference::TinyConfig config;
  std::string_view rest = model.substr(kBuiltinModel.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the colon or a comma
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(part.size());
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return refused(model, "'" + std::string(part) + "' is not of the form KEY=VALUE");
    }
    const std::string fault = set(config, part.substr(0, equals), part.substr(equals + 1));
    if (!fault.empty()) return refused(model, fault);
  }
  if (config.heads >= 1 && config.hidden_size % (2 * config.heads) != 0) {
    return refused(model, "hidden_size is " + std::to_string(config.hidden_size) +
                              ", accepted: a multiple of 2 * heads, " +
                              std::to_string(2 * config.heads));
  }
  if (config.heads >= 1) config.head_size = config.hidden_size / config.heads;
  if (const auto valid = validate(config); !valid) return refused(model, to_string(valid.error()));
  return BuiltinModel{config};
}

}  // namespace forge::runtime
