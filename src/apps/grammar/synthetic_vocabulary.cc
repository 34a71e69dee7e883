#include "synthetic_vocabulary.h"

#include <random>
#include <string_view>
#include <unordered_set>

namespace forge::apps {
namespace {

class Maker {
 public:
  explicit Maker(std::size_t size) : size_(size) { tokens_.reserve(size); }

  std::vector<std::string> run() {
    for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
    for (int number = 0; number < 1000; ++number) {
      std::string digits = std::to_string(number);
      add(digits);
      while (digits.size() < 3) add(digits.insert(0, "0"));
    }
    add_spaces();
    add_punctuation();
    add_other_scripts();
    while (tokens_.size() + 1 < size_) add_word();
    tokens_.emplace_back();
    return std::move(tokens_);
  }

 private:
  void add(const std::string& token) {
    if (tokens_.size() + 1 < size_ && known_.insert(token).second) tokens_.push_back(token);
  }
  std::size_t below(std::size_t limit) { return random_() % limit; }
  char one_of(std::string_view characters) { return characters[below(characters.size())]; }

  void add_spaces() {
    for (std::size_t length = 2; length <= 96; ++length) add(std::string(length, ' '));
    for (std::size_t lines = 1; lines <= 6; ++lines) {
      for (std::size_t spaces = 0; spaces <= 32; ++spaces) {
        add(std::string(lines, '\n') + std::string(spaces, ' '));
        add(std::string(lines, '\n') + std::string(spaces / 4, '\t'));
        add("\r\n" + std::string(spaces, ' '));
      }
    }
    for (std::size_t tabs = 2; tabs <= 16; ++tabs) add(std::string(tabs, '\t'));
  }

  /// Runs of marks, some with a space or a line end around them, some next to a word.
  void add_punctuation() {
    constexpr std::string_view kMarks = "\"\"\"\"''(){}[]<>,,;::..!?-_=+*/\\&|^%$#@~`";
    for (int i = 0; i < 5000; ++i) {
      std::string token(below(3) == 0 ? " " : "");
      for (std::size_t length = 1 + below(4); length > 0; --length) token += one_of(kMarks);
      if (below(6) == 0) token += one_of("\n ");
      if (below(8) == 0) token += word(1 + below(5));
      add(token);
    }
  }

  void add_other_scripts() {
    for (std::size_t i = 0; i < size_ / 6; ++i) {
      std::string token;
      for (std::size_t length = 1 + below(4); length > 0; --length) {
        switch (below(4)) {
          case 0:
            add_character(token, 0xC3 + below(16), 1);
            break;
          case 1:
            add_character(token, 0xE3 + below(7), 2);
            break;
          case 2:
            add_character(token, 0xE4 + below(5), 2);
            break;
          default:
            add_character(token, 0xD0 + below(2), 1);
            break;
        }
      }
      if (below(12) == 0) token.pop_back();  // a part of a character
      add(token);
    }
  }
  void add_character(std::string& token, std::size_t lead, int more) {
    token += static_cast<char>(lead);
    for (; more > 0; --more) token += static_cast<char>(0x80 + below(64));
  }

  std::string word(std::size_t length) {
    constexpr std::string_view kVowels = "aaaeeeeiioouy";
    constexpr std::string_view kOthers = "bccddfghjkllmmnnnpqrrrsssstttvwxz";
    std::string token;
    bool vowel = below(3) == 0;
    for (; length > 0; --length, vowel = !vowel) token += one_of(vowel ? kVowels : kOthers);
    return token;
  }

  void add_word() {
    std::size_t length = 1;
    while (length < 16 && below(7) != 0) ++length;
    std::string token = word(length);
    if (below(4) == 0) token[0] = static_cast<char>(token[0] - 'a' + 'A');
    if (below(12) == 0) token += one_of("_.-");
    add((below(2) == 0 ? " " : "") + token);
  }

  std::size_t size_;
  std::mt19937_64 random_{1};
  std::vector<std::string> tokens_;
  std::unordered_set<std::string> known_;
};

}  // namespace

std::vector<std::string> synthetic_vocabulary(std::size_t size) { return Maker(size).run(); }

}  // namespace forge::apps
