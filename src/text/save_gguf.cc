// The writer of GGUF's tokenizer.ggml.*.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "forge/text/load_tokenizer.h"
#include "forge/text/save_tokenizer.h"
#include "gguf_pre_tokenizers.h"
#include "gguf_tokens.h"
#include "pre_tokenizer.h"

namespace forge::text {
namespace {

using nlohmann::json;
namespace gguf_token = detail::gguf_token;

std::string key(std::string_view name) { return std::string(detail::kGgufPrefix).append(name); }

/// What a file may leave out, or say as null.
bool flag_of(const json& object, const char* key, bool otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}
std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Stages of a "pre_tokenizer" or "normalizer": itself, or those of a Sequence, which are `list`.
std::vector<json> stages_of(const json& tokenizer, const char* key, const char* list) {
  const auto found = tokenizer.find(key);
  if (found == tokenizer.end() || found->is_null()) return {};
  if (text_of(*found, "type") != "Sequence") return {*found};
  return {found->at(list).begin(), found->at(list).end()};
}
std::vector<json> pre_tokenizers_of(const json& tokenizer) {
  return stages_of(tokenizer, "pre_tokenizer", "pretokenizers");
}
std::vector<json> normalizers_of(const json& tokenizer) {
  return stages_of(tokenizer, "normalizer", "normalizers");
}

bool is_nfc(const json& normalizer) { return text_of(normalizer, "type") == "NFC"; }

/// What GGUF's readers do for a tokenizer of characters: U+2581 before the text, and for spaces.
bool marks_spaces(const json& normalizer) {
  const std::string type = text_of(normalizer, "type");
  return type == "Prepend" ||
         (type == "Replace" && text_of(normalizer.at("pattern"), "String") == " ");
}

/// The regular expressions by which these stages cut text; none if they do anything else.
std::optional<std::vector<std::string>> patterns_of(const std::vector<json>& stages) {
  std::vector<std::string> patterns;
  for (const json& stage : stages) {
    const std::string type = text_of(stage, "type");
    if (type == "Split") {
      // "Removed" inverted keeps the matches alone: the same, as known patterns match all text.
      const bool inverted = flag_of(stage, "invert", false);
      if (text_of(stage, "behavior") != (inverted ? "Removed" : "Isolated")) return std::nullopt;
      patterns.push_back(text_of(stage.at("pattern"), "Regex"));
    } else if (type == "Digits" && flag_of(stage, "individual_digits", false)) {
      patterns.emplace_back(R"(\p{N})");
    } else if (type == "ByteLevel" && !flag_of(stage, "add_prefix_space", true)) {
      if (flag_of(stage, "use_regex", true)) patterns.emplace_back(detail::kGpt2Pattern);
    } else {
      return std::nullopt;
    }
  }
  return patterns;
}

/// Of a tokenizer of bytes: what tokenizer.ggml.pre calls the way it cuts text; none if there is no
/// name for it.
std::optional<std::string> pre_name(const std::vector<json>& stages, bool whole_pieces,
                                    bool composes) {
  const auto patterns = patterns_of(stages);
  for (const detail::NamedPreTokenizer& known : detail::gguf_pre_tokenizers()) {
    const auto is_same = [](const std::string& pattern, const detail::NamedCut& cut) {
      return cut.cut == detail::PreTokenizer::Cut::isolated && cut.pattern == pattern;
    };
    if (patterns && std::ranges::equal(*patterns, known.cuts, is_same) && !known.characters &&
        whole_pieces == known.whole_pieces && composes == known.composes) {
      return std::string(known.names.front());
    }
  }
  return std::nullopt;
}

bool is_byte_token(const std::string& spelling) {
  return spelling.size() == 6 && spelling.starts_with("<0x") && spelling.back() == '>';
}

/// "a b", in whichever of its two forms.
std::pair<std::string, std::string> merge_of(const json& merge) {
  if (merge.is_array()) return {merge.at(0), merge.at(1)};
  const std::string text = merge;
  const std::size_t space = text.find(' ');
  return {text.substr(0, space), text.substr(space + 1)};
}

/// What GGUF's readers do otherwise.
std::vector<std::string> differences(const json& file) {
  std::vector<std::string> notes;
  bool of_bytes = false;
  for (const json& stage : pre_tokenizers_of(file)) {
    of_bytes = of_bytes || text_of(stage, "type") == "ByteLevel";
    if (text_of(stage, "type") == "Metaspace" && text_of(stage, "prepend_scheme") != "never") {
      notes.emplace_back(
          "in GGUF a space is put before every text, not only before those that do not begin with "
          "one");
    }
  }
  const json added = file.value("added_tokens", json::array());
  for (const json& token : added) {
    const std::string name = "'" + text_of(token, "content") + "'";
    if (flag_of(token, "lstrip", false) || flag_of(token, "rstrip", false)) {
      notes.push_back("in GGUF the token " + name + " does not take the spaces around it");
    }
    const bool special = flag_of(token, "special", false);
    if (!of_bytes && flag_of(token, "normalized", !special)) {
      notes.push_back("in GGUF the token " + name +
                      " is looked for before spaces become U+2581, not after");
    }
  }
  return notes;
}

class Exporter {
 public:
  Exporter(const json& file, const Tokenizer& tokenizer, int vocabulary_size,
           formats::GgufKeys& keys)
      : file_(file),
        model_(file.at("model")),
        tokenizer_(tokenizer),
        spellings_(static_cast<std::size_t>(vocabulary_size)),
        types_(static_cast<std::size_t>(vocabulary_size), gguf_token::kUnused),
        keys_(keys) {}

  std::string run() {
    const std::vector<json> stages = pre_tokenizers_of(file_);
    const std::vector<json> normalizers = normalizers_of(file_);
    const bool bytes = !stages.empty() && text_of(stages.back(), "type") == "ByteLevel";
    if (!std::ranges::all_of(normalizers, bytes ? is_nfc : marks_spaces)) {
      return "GGUF has no name for its normalizer";
    }
    std::optional<std::string> pre;
    if (bytes)
      pre = pre_name(stages, flag_of(model_, "ignore_merges", false), !normalizers.empty());
    if (bytes && !pre) return "GGUF has no name for its pre_tokenizer";
    if (!bytes && !flag_of(model_, "byte_fallback", false)) {
      return "GGUF has no tokenizer of characters without byte_fallback";
    }
    if (std::string why = add_tokens(); !why.empty()) return why;
    if (bytes) {
      add_merges(*pre);
    } else {
      add_scores();
    }
    add_begin_and_end();
    return {};
  }

 private:
  std::string add_tokens() {
    for (const auto& [spelling, id] : model_.at("vocab").items()) {
      if (std::string why = set_token(id, spelling, gguf_token::kNormal); !why.empty()) return why;
    }
    const json added = file_.value("added_tokens", json::array());
    for (const json& token : added) {
      const std::int32_t type =
          flag_of(token, "special", false) ? gguf_token::kControl : gguf_token::kUserDefined;
      std::string why = set_token(token.at("id"), token.at("content"), type);
      if (!why.empty()) return why;
    }
    for (std::size_t id = 0; id < spellings_.size(); ++id) {
      if (spellings_[id].empty()) spellings_[id] = "[PAD" + std::to_string(id) + "]";
    }
    return {};
  }

  std::string set_token(std::size_t id, const std::string& spelling, std::int32_t type) {
    if (id >= spellings_.size()) {
      return "its token " + std::to_string(id) + " is beyond the model's vocabulary of " +
             std::to_string(spellings_.size());
    }
    spellings_[id] = spelling;
    types_[id] = type;
    return {};
  }

  void add_merges(const std::string& pre) {
    keys_.set_text(key("model"), "gpt2");
    keys_.set_text(key("pre"), pre);
    std::vector<std::string> merges;
    for (const json& merge : model_.at("merges")) {
      const auto [left, right] = merge_of(merge);
      merges.push_back(std::string(left).append(" ").append(right));
    }
    keys_.set_texts(key("merges"), std::move(merges));
  }

  void add_scores() {
    keys_.set_text(key("model"), "llama");
    keys_.set_text(key("pre"), "default");
    std::unordered_map<std::string, float> place;
    for (const json& merge : model_.at("merges")) {
      const auto [left, right] = merge_of(merge);
      place.emplace(left + right, static_cast<float>(place.size()));
    }
    std::vector<float> scores(spellings_.size());
    for (std::size_t id = 0; id < spellings_.size(); ++id) {
      const auto found = place.find(spellings_[id]);
      if (found != place.end()) scores[id] = -found->second;
      if (types_[id] == gguf_token::kNormal && is_byte_token(spellings_[id]))
        types_[id] = gguf_token::kByte;
      if (spellings_[id] == text_of(model_, "unk_token")) {
        types_[id] = gguf_token::kUnknown;
        keys_.set_u32(key("unknown_token_id"), id);
      }
    }
    keys_.set_f32s(key("scores"), scores);
    // One is put before the text by this kind of tokenizer, unless it is told otherwise.
    const auto without = tokenizer_.encode("a", {.add_special = false});
    const bool prefix = without && tokenizer_.decode_bytes(*without) == " a";
    keys_.set(key("add_space_prefix"), prefix);
  }

  void add_begin_and_end() {
    const std::vector<TokenId> begin = tokenizer_.encode("").value();
    if (const auto bos = tokenizer_.bos_token()) keys_.set_u32(key("bos_token_id"), bos->value);
    if (const auto pad = tokenizer_.pad_token()) keys_.set_u32(key("padding_token_id"), pad->value);
    keys_.set(key("add_bos_token"), !begin.empty());
    if (!keys_.has(key("eos_token_id")) && !tokenizer_.eos_tokens().empty()) {
      keys_.set_u32(key("eos_token_id"), tokenizer_.eos_tokens().front().value);
    }
    keys_.set_i32s(key("token_type"), types_);
    keys_.set_texts(key("tokens"), std::move(spellings_));
  }

  const json& file_;
  const json& model_;
  const Tokenizer& tokenizer_;
  std::vector<std::string> spellings_;
  std::vector<std::int32_t> types_;
  formats::GgufKeys& keys_;
};

json parsed(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(in, nullptr, false);
}

std::string add_known(const std::string& directory, int vocabulary_size, formats::GgufKeys& keys,
                      std::vector<std::string>& notes) {
  const std::filesystem::path folder(directory);
  if (!std::filesystem::exists(folder / "tokenizer.json")) return "there is no tokenizer.json";
  // Whatever Forge reads has the fields that Exporter looks at.
  const auto tokenizer = load_tokenizer(directory);
  if (!tokenizer) return to_string(tokenizer.error());
  const json config = parsed(folder / "tokenizer_config.json");
  if (config.is_object() && config.contains("chat_template") &&
      config["chat_template"].is_string()) {
    keys.set_text("tokenizer.chat_template", config["chat_template"]);
  }
  const json file = parsed(folder / "tokenizer.json");
  notes = differences(file);
  return Exporter(file, **tokenizer, vocabulary_size, keys).run();
}

}  // namespace

std::vector<std::string> save_tokenizer(const std::string& directory, int vocabulary_size,
                                        formats::GgufKeys& keys) {
  std::vector<std::string> notes;
  const std::string why = add_known(directory, vocabulary_size, keys, notes);
  if (why.empty()) return notes;
  keys.set_text(key("model"), "none");
  return {"no tokenizer is written: " + why};
}

}  // namespace forge::text
