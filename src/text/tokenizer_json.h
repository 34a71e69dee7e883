// The parts of tokenizer.json. Each reader takes one and writes what it says into the description;
// what it does not understand is a fault that names it.
// Source: https://huggingface.co/docs/tokenizers/api.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "description.h"
#include "forge/json/fields.h"

namespace forge::text::detail {

/// "model": vocabulary, and merges or scores. `id_limit`: ids are below it.
void read_model(const json::Fields& file, std::uint64_t id_limit, TokenizerDescription& out);

/// "added_tokens". Requires: read_model before.
void read_added_tokens(const json::Fields& file, std::uint64_t id_limit, TokenizerDescription& out);

/// One of them. Requires: read_normalizer before.
void read_added_token(const json::Fields& token, std::uint64_t id, std::uint64_t id_limit,
                      TokenizerDescription& out);

/// "normalizer".
void read_normalizer(const json::Fields& file, TokenizerDescription& out);

/// "pre_tokenizer", which also decides whether tokens are spelt with bytes or characters. Requires:
/// read_model and read_normalizer before.
void read_pre_tokenizer(const json::Fields& file, TokenizerDescription& out);

/// "post_processor": the tokens before and after a text. Requires: read_added_tokens before.
void read_post_processor(const json::Fields& file, TokenizerDescription& out);

}  // namespace forge::text::detail
