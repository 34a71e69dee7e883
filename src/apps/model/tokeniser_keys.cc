#include "tokeniser_keys.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "forge/text/load_tokeniser.h"

namespace forge::apps {
namespace {

using nlohmann::json;

const std::string kPrefix = "tokenizer.ggml.";

/// tokenizer.ggml.token_type
enum TokenType : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kAdded = 4,
  kUnused = 5,
  kByte = 6
};

/// Regular expressions by which text is cut into words, and what llama.cpp calls them.
struct NamedPattern {
  const char* pattern;
  const char* name;
  bool whole_pieces;  ///< a word that is a token is not merged: "ignore_merges"
  bool composes;      ///< after normalizer NFC
};
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                               R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr NamedPattern kPatterns[] = {{kLlama3, "llama-bpe", true, false},
                                      {kLlama3, "dbrx", false, false},
                                      {kQwen2, "qwen2", false, true},
                                      {kQwen2, "stablelm2", false, false}};

/// What a file may leave out, or say as null.
bool flag(const json& object, const char* key, bool otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}
std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Stages of a "pre_tokenizer" or "normalizer": itself, or those of a Sequence, which are `list`.
std::vector<json> stages_of(const json& tokeniser, const char* key, const char* list) {
  const auto found = tokeniser.find(key);
  if (found == tokeniser.end() || found->is_null()) return {};
  if (text(*found, "type") != "Sequence") return {*found};
  return {found->at(list).begin(), found->at(list).end()};
}
std::vector<json> pre_tokenizers_of(const json& tokeniser) {
  return stages_of(tokeniser, "pre_tokenizer", "pretokenizers");
}
std::vector<json> normalizers_of(const json& tokeniser) {
  return stages_of(tokeniser, "normalizer", "normalizers");
}

bool is_nfc(const json& normalizer) { return text(normalizer, "type") == "NFC"; }

/// What GGUF's readers do for a tokeniser of characters: U+2581 before the text, and for spaces.
bool marks_spaces(const json& normalizer) {
  const std::string type = text(normalizer, "type");
  return type == "Prepend" ||
         (type == "Replace" && text(normalizer.at("pattern"), "String") == " ");
}

/// Of a tokeniser of bytes: what tokenizer.ggml.pre calls the way it cuts text; none if there is no
/// name for it.
std::optional<std::string> pre_name(const std::vector<json>& stages, bool whole_pieces,
                                    bool composes) {
  const bool bytes_cut = flag(stages.back(), "use_regex", true);
  if (flag(stages.back(), "add_prefix_space", true) || stages.size() > 2) return std::nullopt;
  const json& first = stages.front();
  const std::string type = text(first, "type");
  if (bytes_cut && !whole_pieces && !composes) {
    if (stages.size() == 1) return "gpt-2";
    if (type == "Digits" && flag(first, "individual_digits", false)) return "smollm";
  }
  if (type != "Split" || bytes_cut) return std::nullopt;
  const std::string pattern = text(first.at("pattern"), "Regex");
  for (const NamedPattern& known : kPatterns) {
    if (pattern == known.pattern && whole_pieces == known.whole_pieces &&
        composes == known.composes) {
      return known.name;
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
    of_bytes = of_bytes || text(stage, "type") == "ByteLevel";
    if (text(stage, "type") == "Metaspace" && text(stage, "prepend_scheme") != "never") {
      notes.emplace_back(
          "in GGUF a space is put before every text, not only before those that do not begin with "
          "one");
    }
  }
  const json added = file.value("added_tokens", json::array());
  for (const json& token : added) {
    const std::string name = "'" + text(token, "content") + "'";
    if (flag(token, "lstrip", false) || flag(token, "rstrip", false)) {
      notes.push_back("in GGUF the token " + name + " does not take the spaces around it");
    }
    const bool special = flag(token, "special", false);
    if (!of_bytes && flag(token, "normalized", !special)) {
      notes.push_back("in GGUF the token " + name +
                      " is looked for before spaces become U+2581, not after");
    }
  }
  return notes;
}

class Exporter {
 public:
  Exporter(const json& file, const text::Tokeniser& tokeniser, int vocabulary_size, GgufKeys& keys)
      : file_(file),
        model_(file.at("model")),
        tokeniser_(tokeniser),
        spellings_(static_cast<std::size_t>(vocabulary_size)),
        types_(static_cast<std::size_t>(vocabulary_size), kUnused),
        keys_(keys) {}

  std::string run() {
    const std::vector<json> stages = pre_tokenizers_of(file_);
    const std::vector<json> normalizers = normalizers_of(file_);
    const bool bytes = !stages.empty() && text(stages.back(), "type") == "ByteLevel";
    if (!std::ranges::all_of(normalizers, bytes ? is_nfc : marks_spaces)) {
      return "GGUF has no name for its normalizer";
    }
    std::optional<std::string> pre;
    if (bytes) pre = pre_name(stages, flag(model_, "ignore_merges", false), !normalizers.empty());
    if (bytes && !pre) return "GGUF has no name for its pre_tokenizer";
    if (!bytes && !flag(model_, "byte_fallback", false)) {
      return "GGUF has no tokeniser of characters without byte_fallback";
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
      if (std::string why = set_token(id, spelling, kNormal); !why.empty()) return why;
    }
    const json added = file_.value("added_tokens", json::array());
    for (const json& token : added) {
      const TokenType type = flag(token, "special", false) ? kControl : kAdded;
      std::string why = set_token(token.at("id"), token.at("content"), type);
      if (!why.empty()) return why;
    }
    for (std::size_t id = 0; id < spellings_.size(); ++id) {
      if (spellings_[id].empty()) spellings_[id] = "[PAD" + std::to_string(id) + "]";
    }
    return {};
  }

  std::string set_token(std::size_t id, const std::string& spelling, TokenType type) {
    if (id >= spellings_.size()) {
      return "its token " + std::to_string(id) + " is beyond the model's vocabulary of " +
             std::to_string(spellings_.size());
    }
    spellings_[id] = spelling;
    types_[id] = type;
    return {};
  }

  void add_merges(const std::string& pre) {
    keys_.set_text(kPrefix + "model", "gpt2");
    keys_.set_text(kPrefix + "pre", pre);
    std::vector<std::string> merges;
    for (const json& merge : model_.at("merges")) {
      const auto [left, right] = merge_of(merge);
      merges.push_back(std::string(left).append(" ").append(right));
    }
    keys_.set_texts(kPrefix + "merges", std::move(merges));
  }

  void add_scores() {
    keys_.set_text(kPrefix + "model", "llama");
    keys_.set_text(kPrefix + "pre", "default");
    std::unordered_map<std::string, float> place;
    for (const json& merge : model_.at("merges")) {
      const auto [left, right] = merge_of(merge);
      place.emplace(left + right, static_cast<float>(place.size()));
    }
    std::vector<float> scores(spellings_.size());
    for (std::size_t id = 0; id < spellings_.size(); ++id) {
      const auto found = place.find(spellings_[id]);
      if (found != place.end()) scores[id] = -found->second;
      if (types_[id] == kNormal && is_byte_token(spellings_[id])) types_[id] = kByte;
      if (spellings_[id] == text(model_, "unk_token")) {
        types_[id] = kUnknown;
        keys_.set_u32(kPrefix + "unknown_token_id", id);
      }
    }
    keys_.set_f32s(kPrefix + "scores", scores);
    // One is put before the text by this kind of tokeniser, unless it is told otherwise.
    const auto without = tokeniser_.encode("a", {.begin_of_sequence = false});
    const bool prefix = tokeniser_.decode_bytes(without) == " a";
    keys_.set(kPrefix + "add_space_prefix", prefix);
  }

  void add_begin_and_end() {
    const std::vector<TokenId> begin = tokeniser_.encode("");
    if (!begin.empty() && tokeniser_.is_control(begin.front())) {
      keys_.set_u32(kPrefix + "bos_token_id", begin.front().value);
    }
    keys_.set(kPrefix + "add_bos_token", !begin.empty());
    if (!keys_.has(kPrefix + "eos_token_id") && !tokeniser_.eos_tokens().empty()) {
      keys_.set_u32(kPrefix + "eos_token_id", tokeniser_.eos_tokens().front().value);
    }
    keys_.set_i32s(kPrefix + "token_type", types_);
    keys_.set_texts(kPrefix + "tokens", std::move(spellings_));
  }

  const json& file_;
  const json& model_;
  const text::Tokeniser& tokeniser_;
  std::vector<std::string> spellings_;
  std::vector<std::int32_t> types_;
  GgufKeys& keys_;
};

json parsed(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(in, nullptr, false);
}

std::string add_known(const std::string& directory, int vocabulary_size, GgufKeys& keys,
                      std::vector<std::string>& notes) {
  const std::filesystem::path folder(directory);
  if (!std::filesystem::exists(folder / "tokenizer.json")) return "there is no tokenizer.json";
  // Whatever Forge reads has the fields that Exporter looks at.
  const auto tokeniser = text::load_tokeniser(directory);
  if (!tokeniser) return to_string(tokeniser.error());
  const json config = parsed(folder / "tokenizer_config.json");
  if (config.is_object() && config.contains("chat_template") &&
      config["chat_template"].is_string()) {
    keys.set_text("tokenizer.chat_template", config["chat_template"]);
  }
  const json file = parsed(folder / "tokenizer.json");
  notes = differences(file);
  return Exporter(file, **tokeniser, vocabulary_size, keys).run();
}

}  // namespace

std::vector<std::string> add_tokeniser(const std::string& directory, int vocabulary_size,
                                       GgufKeys& keys) {
  std::vector<std::string> notes;
  const std::string why = add_known(directory, vocabulary_size, keys, notes);
  if (why.empty()) return notes;
  keys.set_text(kPrefix + "model", "none");
  return {"no tokeniser is written: " + why};
}

}  // namespace forge::apps
