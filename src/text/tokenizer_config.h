// tokenizer_config.json, which says what the other file of a tokenizer leaves open.
#pragma once

#include <cstdint>

#include "description.h"
#include "forge/json/fields.h"

namespace forge::text::detail {

/// "bos_token", "eos_token", "pad_token" and whether a text begins and ends with them, where it
/// says so. A padding token outside the vocabulary is none.
void read_config(const json::Fields& config, TokenizerDescription& out);

/// "added_tokens_decoder": tokens beside those of a file that has no place for them
/// (tokenizer.model). `id_limit`: ids are below it.
void read_added_tokens_decoder(const json::Fields& config, std::uint64_t id_limit,
                               TokenizerDescription& out);

/// The same of added_tokens.json, {"<end>": 32000}, as files had it before: a token is special if
/// `config` gives it a task.
nlohmann::json added_tokens_decoder(const json::Fields& file, const json::Fields& config);

}  // namespace forge::text::detail
