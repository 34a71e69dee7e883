// What tests/golden/chat has: contexts, conversations, and a clock that stands still.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "forge/chat/template.h"

namespace forge::chat::testing {

using Json = nlohmann::ordered_json;

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file of the folder.
inline std::string golden_text(const std::string& name) {
  return text_of(FORGE_GOLDEN_CHAT "/" + name);
}

/// With the time of reference.py: Friday, 26 July 2024, 14:03:09.
inline RenderOptions options() {
  RenderOptions options;
  options.now.tm_year = 124;
  options.now.tm_mon = 6;
  options.now.tm_mday = 26;
  options.now.tm_wday = 5;
  options.now.tm_yday = 207;
  options.now.tm_hour = 14;
  options.now.tm_min = 3;
  options.now.tm_sec = 9;
  return options;
}

/// What a template renders, or its error as "runtime: line 1: ...".
inline std::string rendered(const std::string& text, const Json& context,
                            const RenderOptions& given = options()) {
  const auto parsed = Template::parse(text);
  const auto failure = [](const TemplateError& error) {
    return std::string(name_of(error.fault)) + ": " + to_string(error);
  };
  if (!parsed) return failure(parsed.error());
  const auto out = parsed->render(context, given);
  return out ? *out : failure(out.error());
}

}  // namespace forge::chat::testing
