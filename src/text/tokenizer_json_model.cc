// "model" and "added_tokens" of tokenizer.json.
#include <string>
#include <utility>

#include "forge/core/quoted.h"
#include "tokenizer_json.h"

namespace forge::text::detail {
namespace {

using Json = nlohmann::json;
using Role = TokenEntry::Role;

/// The entry of `id`, made if it is not there yet; null, and a fault, beyond the limit.
TokenEntry* entry_of(std::uint64_t id, std::uint64_t id_limit, json::Fault& fault,
                     TokenizerDescription& out) {
  if (id >= id_limit) {
    fault.set("the id " + std::to_string(id) + " of a token is too large for a file of " +
              std::to_string(id_limit) + " bytes");
    return nullptr;
  }
  if (id >= out.tokens.size()) out.tokens.resize(static_cast<std::size_t>(id) + 1);
  return &out.tokens[static_cast<std::size_t>(id)];
}

void read_vocabulary(const json::Fields& model, std::uint64_t id_limit, TokenizerDescription& out) {
  const Json* const vocabulary = model.find("vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) return model.fail("vocab", "an object");
  for (auto at = vocabulary->begin(); at != vocabulary->end(); ++at) {
    const std::string& spelling = at.key();
    if (!at->is_number_unsigned()) {
      return model.fault().set("the id of the token " + in_quotes(spelling) + " is " +
                               json::shown(*at) + "; accepted are integers from 0");
    }
    TokenEntry* entry = entry_of(at->get<std::uint64_t>(), id_limit, model.fault(), out);
    if (entry == nullptr) return;
    if (entry->role != Role::absent) {
      return model.fault().set("the tokens " + in_quotes(entry->spelling) + " and " +
                               in_quotes(spelling) + " both have the id " + at->dump());
    }
    *entry = {spelling, Role::normal};
  }
}

/// Of Unigram: a list of spellings and scores, whose places are the ids.
void read_scored_vocabulary(const json::Fields& model, TokenizerDescription& out) {
  for (const Json& entry : model.items("vocab")) {
    const bool valid =
        entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
    if (!valid) {
      return model.fault().set("the token " + std::to_string(out.tokens.size()) + " is " +
                               json::shown(entry) + "; accepted is a list of spelling and score");
    }
    out.tokens.push_back({entry[0].get_ref<const std::string&>(), Role::normal});
    out.scores.push_back(entry[1].get<double>());
  }
}

void read_unigram(const json::Fields& model, TokenizerDescription& out) {
  out.model = TokenizerDescription::Model::unigram;
  out.fuse_unknown = true;
  read_scored_vocabulary(model, out);
  if (!model.has("unk_id") || model.failed()) return;
  const std::uint64_t unknown = model.natural("unk_id");
  if (unknown >= out.tokens.size()) {
    return model.fail("unk_id", "a token of the vocabulary");
  }
  out.unknown = static_cast<std::uint32_t>(unknown);
  // It is made of what no other token stands for, and not found as it is spelt.
  out.tokens[unknown].role = Role::control;
}

void read_merges(const json::Fields& model, TokenizerDescription& out) {
  for (const Json& merge : model.items("merges")) {
    MergeEntry entry;
    if (merge.is_string()) {
      const std::string_view text = merge.get_ref<const std::string&>();
      const std::size_t space = text.find(' ');
      if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
        entry = {text.substr(0, space), text.substr(space + 1)};
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      entry = {merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>()};
    }
    if (entry.left.empty() || entry.right.empty()) {
      return model.fault().set("the merge " + std::to_string(out.merges.size()) + " is " +
                               json::shown(merge) +
                               "; accepted are two tokens, in a list or with a space between");
    }
    out.merges.push_back(entry);
  }
}

void read_unknown(const json::Fields& model, TokenizerDescription& out) {
  const std::string spelling = model.text("unk_token", "");
  if (spelling.empty() || model.failed()) return;
  const Json& vocabulary = *model.find("vocab");
  const auto found = vocabulary.find(spelling);
  if (found == vocabulary.end()) return model.fail("unk_token", "a token of the vocabulary");
  out.unknown = found->get<std::uint32_t>();
}

}  // namespace

void read_added_token(const json::Fields& token, std::uint64_t id, std::uint64_t id_limit,
                      TokenizerDescription& out) {
  token.text("content");  // is there, and not empty
  token.only("single_word", false);
  const bool control = token.boolean("special", false);
  const bool normalized = token.boolean("normalized", !control);
  TokenEntry* entry = entry_of(id, id_limit, token.fault(), out);
  if (token.failed()) return;
  const std::string_view spelling = token.find("content")->get_ref<const std::string&>();
  if (entry->role != Role::absent && entry->spelling != spelling) {
    return token.fault().set("the tokens " + in_quotes(entry->spelling) + " and " +
                             in_quotes(spelling) + " both have the id " + std::to_string(id));
  }
  const bool unigram = out.model == TokenizerDescription::Model::unigram;
  if (unigram) out.scores.resize(out.tokens.size());
  // A piece of a unigram model is one beside: a normalizer may make it of another text.
  const bool is_piece = unigram && entry->role == Role::normal;
  *entry = {spelling, control ? Role::control : is_piece ? Role::normal : Role::added};
  AddedTokens& added = normalized ? out.stages.added_normalized : out.stages.added;
  const std::string found =
      normalized ? out.stages.normalizer.apply(spelling, true) : std::string(spelling);
  if (found.empty()) return token.refuse("content", "is nothing after the normalizer");
  const auto token_id = static_cast<std::uint32_t>(id);
  if (normalized) out.normalized[token_id] = found;
  const bool is_new = added.add(found, {.token = TokenId(token_id),
                                        .control = control,
                                        .takes_space_before = token.boolean("lstrip", false),
                                        .takes_space_after = token.boolean("rstrip", false)});
  if (!is_new) token.fault().set("the token " + in_quotes(spelling) + " is added twice");
}

void read_model(const json::Fields& file, std::uint64_t id_limit, TokenizerDescription& out) {
  const json::Fields model = file.required_object("model");
  const bool has_type = model.has("type");
  const auto type = has_type ? model.one_of("type", {"BPE", "Unigram"}) : std::string_view("BPE");
  if (model.failed()) return;
  out.byte_fallback = model.boolean("byte_fallback", false);
  if (type == "Unigram") return read_unigram(model, out);
  model.only("dropout", 0.0);
  model.only("continuing_subword_prefix", "");
  model.only("end_of_word_suffix", "");
  out.fuse_unknown = model.boolean("fuse_unk", false);
  out.whole_pieces = model.boolean("ignore_merges", false);
  read_vocabulary(model, id_limit, out);
  read_unknown(model, out);
  read_merges(model, out);
}

void read_added_tokens(const json::Fields& file, std::uint64_t id_limit,
                       TokenizerDescription& out) {
  if (!file.has("added_tokens")) return;
  for (const json::Fields& token : file.list("added_tokens")) {
    read_added_token(token, token.natural("id"), id_limit, out);
    if (file.failed()) return;
  }
}

}  // namespace forge::text::detail
