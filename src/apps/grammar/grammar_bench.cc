#include "grammar_bench.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "forge/grammar/matcher.h"
#include "forge/text/load_tokenizer.h"
#include "grammar_accepts.h"
#include "synthetic_vocabulary.h"

namespace forge::apps {
namespace {

using Json = nlohmann::json;

/// Time that this thread has computed: others on the machine do not count.
double thread_us() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}
double us_since(double begin) { return thread_us() - begin; }

/// The tokens of a text and their bytes.
struct Words {
  std::unique_ptr<const text::Tokenizer> tokenizer;  ///< null: made up
  std::vector<std::string> synthetic;
  std::unordered_map<std::string, std::uint32_t> ids;
  std::size_t longest = 0;

  grammar::VocabularyTokens tokens() const {
    grammar::VocabularyTokens result;
    if (tokenizer == nullptr) {
      result.tokens.assign(synthetic.begin(), synthetic.end());
      result.eos = {static_cast<std::uint32_t>(synthetic.size() - 1)};
      return result;
    }
    for (std::uint32_t id = 0; id < tokenizer->vocabulary_size(); ++id) {
      result.tokens.push_back(tokenizer->bytes_of(TokenId{id}));
    }
    for (const TokenId id : tokenizer->eos_tokens()) result.eos.push_back(id.value);
    return result;
  }

  /// Of the made-up vocabulary always the longest token that fits.
  std::vector<std::uint32_t> encode(const std::string& text) const {
    std::vector<std::uint32_t> result;
    if (tokenizer != nullptr) {
      const auto tokens = tokenizer->encode(text, {.add_special = false, .control_tokens = false});
      // A text that the vocabulary cannot say has no tokens to walk along.
      if (!tokens) return result;
      for (const TokenId id : *tokens) result.push_back(id.value);
      return result;
    }
    for (std::size_t at = 0; at < text.size();) {
      std::size_t length = std::min(longest, text.size() - at);
      while (!ids.contains(text.substr(at, length))) --length;
      result.push_back(ids.at(text.substr(at, length)));
      at += length;
    }
    return result;
  }
};

tl::expected<Words, std::string> words_of(const std::string& path) {
  constexpr std::size_t kSynthetic = 131072;
  Words words;
  if (path.empty()) {
    words.synthetic = synthetic_vocabulary(kSynthetic);
    for (std::uint32_t i = 0; i + 1 < words.synthetic.size(); ++i) {
      words.ids.emplace(words.synthetic[i], i);
      words.longest = std::max(words.longest, words.synthetic[i].size());
    }
    return words;
  }
  text::LoadedTokenizer loaded = text::load_tokenizer(path);
  if (!loaded) return tl::unexpected(to_string(loaded.error()));
  words.tokenizer = *std::move(loaded);
  return words;
}

struct Sample {
  double us = 0;
  std::string what;
};

void print_times(const char* name, std::vector<Sample>& samples, bool slowest) {
  if (samples.empty()) return;
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.us < b.us; });
  const auto at = [&](double part) {
    const auto rank = static_cast<std::size_t>(part * static_cast<double>(samples.size()));
    return samples[std::min(rank, samples.size() - 1)].us;
  };
  std::cout << std::fixed << std::setprecision(1) << std::left << std::setw(9) << name << std::right
            << std::setw(8) << samples.size() << "  p50 " << std::setw(8) << at(0.5) << "  p99 "
            << std::setw(8) << at(0.99) << "  max " << std::setw(8) << samples.back().us << " us\n";
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; slowest && i < std::min(kShown, samples.size()); ++i) {
    const Sample& sample = samples[samples.size() - 1 - i];
    std::cout << std::setw(12) << sample.us << " us  " << sample.what << "\n";
  }
}

class Bench {
 public:
  Bench(const GrammarBenchOptions& options, Words words)
      : options_(options), words_(std::move(words)) {}

  int run() {
    const double begin = thread_us();
    vocabulary_ = std::make_unique<const grammar::Vocabulary>(words_.tokens());
    const double made_us = us_since(begin);
    mask_.resize(vocabulary_->mask_words());
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.folder)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      std::ifstream in(file);
      const Json groups = Json::parse(in, nullptr, false);
      if (!groups.is_array()) continue;
      for (const Json& group : groups) add_group(file.filename().string(), group);
    }
    std::cout << "tokens    " << vocabulary_->size() << ", read in " << std::fixed
              << std::setprecision(0) << made_us / 1000 << " ms\n"
              << "schemas   " << compiles_.size() << ", " << refused_ << " refused\n";
    print_times("compile", compiles_, options_.slowest);
    print_times("mask", masks_, options_.slowest);
    print_times("accept", accepts_, options_.slowest);
    std::cout << "cache     " << vocabulary_->cached_bytes() / 1024 << " KiB\n";
    return 0;
  }

 private:
  void add_group(const std::string& file, const Json& group) {
    if (!group.is_object() || !group.contains("schema") || !group.contains("tests")) return;
    const std::string schema = group["schema"].dump();
    const std::string name = file + ": " + group.value("description", "");
    const double begin = thread_us();
    const auto grammar = grammar::Grammar::from_json_schema(schema);
    compiles_.push_back({us_since(begin), name});
    if (!grammar) {
      ++refused_;
      return;
    }
    for (const Json& test : group["tests"]) {
      if (test.value("valid", false)) add_instance(*grammar, name, test["data"].dump());
    }
  }

  void add_instance(const grammar::Grammar& grammar, const std::string& name,
                    const std::string& text) {
    grammar::Matcher matcher(grammar);
    std::string place = name + ", after ";
    const auto time_mask = [&] {
      const double begin = thread_us();
      const auto filled = matcher.fill_mask(*vocabulary_, mask_);
      masks_.push_back({us_since(begin), place});
      return filled.has_value();
    };
    for (const std::uint32_t token : words_.encode(text)) {
      if (!time_mask()) return;
      const double begin = thread_us();
      const auto accepted = matcher.accept_token(*vocabulary_, token);
      accepts_.push_back({us_since(begin), place});
      if (!accepted) return;
      place += vocabulary_->bytes_of(token);
    }
    time_mask();
  }

  const GrammarBenchOptions& options_;
  Words words_;
  std::unique_ptr<const grammar::Vocabulary> vocabulary_;
  std::vector<std::uint32_t> mask_;
  std::vector<Sample> compiles_;
  std::vector<Sample> masks_;
  std::vector<Sample> accepts_;  // of the token after it
  std::size_t refused_ = 0;
};

}  // namespace

int run_grammar_bench(const GrammarBenchOptions& options) {
  auto words = words_of(options.tokenizer);
  if (!words) {
    std::cerr << "forge-grammar: " << words.error() << "\n";
    return kGrammarUnusable;
  }
  if (!std::filesystem::is_directory(options.folder)) {
    std::cerr << "forge-grammar: " << options.folder << " is no folder\n";
    return kGrammarUnusable;
  }
  return Bench(options, *std::move(words)).run();
}

}  // namespace forge::apps
