// Stages of tokenizer.json that may be a "Sequence" of several.
#pragma once

#include <string_view>
#include <vector>

#include "forge/json/fields.h"

namespace forge::text::detail {

/// The stages under `key`: one, or those of a "Sequence", whose list is `list`.
inline std::vector<json::Fields> stages_of(const json::Fields& file, std::string_view key,
                                           std::string_view list) {
  if (!file.has(key)) return {};
  const json::Fields stage = file.required_object(key);
  return stage.text("type", "") == "Sequence" ? stage.list(list) : std::vector{stage};
}

}  // namespace forge::text::detail
