// forge-model tokenize and detokenize
#include <algorithm>
#include <charconv>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "forge/core/quoted.h"
#include "forge/text/load_tokenizer.h"
#include "forge/text/utf8_stream.h"
#include "model_commands.h"

namespace forge::apps {
namespace {

/// What encode() takes.
constexpr std::size_t kTextBytesMax = (std::size_t{1} << 30U) - 1;

std::string standard_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

/// A control token as it is spelt; the text of any other in quotes, its bytes where it is a part of
/// a character.
std::string shown(const text::Tokenizer& tokenizer, TokenId token) {
  if (tokenizer.is_control(token)) return std::string(tokenizer.spelling_of(token));
  const std::string_view bytes = tokenizer.bytes_of(token);
  if (text::to_valid_utf8(bytes) == bytes) return nlohmann::json(bytes).dump();
  return in_quotes(bytes);
}

void print_tokens(const text::Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  const auto width = static_cast<int>(std::to_string(tokenizer.vocabulary_size()).size());
  for (const TokenId token : tokens) {
    std::cout << std::setw(width) << token.value << "  " << shown(tokenizer, token) << '\n';
  }
}

void print_ids(const std::vector<TokenId>& tokens) {
  const char* separator = "";
  for (const TokenId token : tokens) {
    std::cout << separator << token.value;
    separator = " ";
  }
  std::cout << '\n';
}

/// Ids with white space, commas or brackets between them, as other programs print them.
tl::expected<std::vector<TokenId>, std::string> ids_of(std::string_view text,
                                                       const text::Tokenizer& tokenizer) {
  constexpr std::string_view kSeparators = " \t\r\n,[]";
  std::vector<TokenId> tokens;
  for (std::size_t at = text.find_first_not_of(kSeparators); at != std::string_view::npos;
       at = text.find_first_not_of(kSeparators, at)) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    std::uint32_t id = 0;
    const auto [read, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || read != word.data() + word.size() ||
        id >= tokenizer.vocabulary_size()) {
      return tl::unexpected("standard input: token " + std::to_string(tokens.size()) + " is " +
                            in_quotes(word.substr(0, 64)) + "; accepted are ids, 0 .. " +
                            std::to_string(tokenizer.vocabulary_size() - 1));
    }
    tokens.emplace_back(id);
    at = end;
  }
  return tokens;
}

}  // namespace

int run_tokenize(const TokenizeOptions& options) {
  const auto tokenizer = text::load_tokenizer(options.path);
  if (!tokenizer) return unusable_model("FILE: " + to_string(tokenizer.error()));
  const std::string text = standard_input();
  if (text.size() > kTextBytesMax) {
    return unusable_model("standard input: has " + std::to_string(text.size()) +
                          " bytes; accepted are up to " + std::to_string(kTextBytesMax));
  }
  const auto tokens = (*tokenizer)->encode(text, {.add_special = !options.no_special});
  if (!tokens) return unusable_model("standard input: " + to_string(tokens.error()));
  if (options.ids) {
    print_ids(*tokens);
  } else {
    print_tokens(**tokenizer, *tokens);
  }
  std::cout.flush();
  return kModelDone;
}

int run_detokenize(const DetokenizeOptions& options) {
  const auto tokenizer = text::load_tokenizer(options.path);
  if (!tokenizer) return unusable_model("FILE: " + to_string(tokenizer.error()));
  const auto tokens = ids_of(standard_input(), **tokenizer);
  if (!tokens) return unusable_model(tokens.error());
  std::cout << text::to_valid_utf8(options.special ? (*tokenizer)->spelt_out(*tokens)
                                                   : (*tokenizer)->decode_bytes(*tokens))
            << std::flush;
  return kModelDone;
}

}  // namespace forge::apps
