#include "key_names.h"

#include <algorithm>

namespace forge::checkpoint::detail {
namespace {

bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

std::string with_keys(std::string_view fault, const std::vector<KeyName>& names) {
  std::string out;
  while (!fault.empty()) {
    const auto end = std::find_if_not(fault.begin(), fault.end(), is_of_word);
    const std::string_view word = fault.substr(0, static_cast<std::size_t>(end - fault.begin()));
    if (word.empty()) {
      out += fault.front();
      fault.remove_prefix(1);
      continue;
    }
    const auto named = std::ranges::find(names, word, &KeyName::field);
    out += named == names.end() ? std::string(word) : named->key;
    fault.remove_prefix(word.size());
  }
  return out;
}

}  // namespace forge::checkpoint::detail
