// The parts of tokenizer.json. Each reader takes one and writes what it says into the description;
// what it does not understand is a fault that names it.
// Source: https://huggingface.co/docs/tokenizers/api.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bpe_builder.h"
#include "json_fields.h"

namespace forge::text::detail {

/// "model": vocabulary and merges. `id_limit`: ids are below it.
void read_model(const TokenizerFields& file, std::uint64_t id_limit, BpeDescription& out);

/// "added_tokens". Requires: read_model before.
void read_added_tokens(const TokenizerFields& file, std::uint64_t id_limit, BpeDescription& out);

/// "normalizer".
void read_normalizer(const TokenizerFields& file, BpeDescription& out);

/// "pre_tokenizer", which also decides whether bytes or characters are merged.
void read_pre_tokenizer(const TokenizerFields& file, BpeDescription& out);

/// "post_processor": the token with which sequences begin. Requires: read_added_tokens before.
std::optional<TokenId> read_post_processor(const TokenizerFields& file, const BpeDescription& out);

}  // namespace forge::text::detail
