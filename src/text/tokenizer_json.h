// The parts of tokenizer.json. Each reader takes one and writes what it says into the description;
// what it does not understand is a fault that names it.
// Source: https://huggingface.co/docs/tokenizers/api.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bpe_builder.h"
#include "forge/json/fields.h"

namespace forge::text::detail {

/// "model": vocabulary and merges. `id_limit`: ids are below it.
void read_model(const json::Fields& file, std::uint64_t id_limit, BpeDescription& out);

/// "added_tokens". Requires: read_model before.
void read_added_tokens(const json::Fields& file, std::uint64_t id_limit, BpeDescription& out);

/// "normalizer".
void read_normalizer(const json::Fields& file, BpeDescription& out);

/// "pre_tokenizer", which also decides whether bytes or characters are merged.
void read_pre_tokenizer(const json::Fields& file, BpeDescription& out);

/// "post_processor": the token with which sequences begin. Requires: read_added_tokens before.
std::optional<TokenId> read_post_processor(const json::Fields& file, const BpeDescription& out);

}  // namespace forge::text::detail
