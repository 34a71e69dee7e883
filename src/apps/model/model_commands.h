// The commands of forge-model, each in a file of its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace forge::apps {

/// Exit statuses.
inline constexpr int kModelDone = 0;
inline constexpr int kModelDiffers = 1;
inline constexpr int kModelUnusable = 2;
inline constexpr int kModelInterrupted = 130;  ///< as shells have it: 128 + SIGINT

/// Prints `message` as an error of forge-model. Returns: the status that goes with it.
int unusable_model(const std::string& message);

struct InfoOptions {
  std::string path;
  bool tensors = false;
  bool as_json = false;
};
int run_info(const InfoOptions& options);

/// Options of quantize and convert.
struct RewriteOptions {
  std::string in;
  std::string out;
  std::string type;  ///< empty: the types that the tensors have
  bool overwrite = false;
  int threads = 0;        ///< 0: one for each core
  std::string calibrate;  ///< of quantize: a text that says which inputs are large; empty: none
};
int run_quantize(const RewriteOptions& options);
int run_convert(const RewriteOptions& options);

struct RandomOptions {
  std::string config;  ///< a file, or the name of a built-in shape
  std::string out;
  std::string type;
  std::uint64_t seed = 1;
  bool overwrite = false;
  int threads = 0;
};
int run_random(const RandomOptions& options);

struct DumpOptions {
  std::string path;
  std::string prompt;
  std::vector<std::uint32_t> tokens;
  int layer = -1;  ///< -1: all
  std::vector<std::string> points;
  std::string out;
  std::string against;
  double tolerance = 1e-4;
  bool overwrite = false;
  int threads = 0;
};
int run_dump(const DumpOptions& options);

/// Options of attention: of the built-in model.
struct AttentionOptions {
  std::string prompt;
  bool as_json = false;
};
int run_attention(const AttentionOptions& options);

/// Tokens of a window of a text, where the model has that many positions.
inline constexpr int kWindowDefault = 512;

struct PerplexityOptions {
  std::string path;
  std::string text;  ///< a file
  int window = 0;    ///< 0: kWindowDefault, or all positions of the model if they are fewer
  int threads = 0;
};
int run_perplexity(const PerplexityOptions& options);

struct RenderChatOptions {
  std::string chat_template;  ///< a file
  std::string messages;       ///< a file; "-" is the standard input
  std::string tools;          ///< a file; empty: none
  bool generation_prompt = false;
  std::optional<std::string> bos;
  std::optional<std::string> eos;
};
int run_render(const RenderChatOptions& options);

/// Options of tokenize: a text on the standard input.
struct TokenizeOptions {
  std::string path;  ///< as load_tokenizer() takes it
  bool ids = false;  ///< ids alone
  bool no_special = false;
};
int run_tokenize(const TokenizeOptions& options);

/// Options of detokenize: ids on the standard input.
struct DetokenizeOptions {
  std::string path;
  bool special = false;  ///< control tokens, too, as they are spelt
};
int run_detokenize(const DetokenizeOptions& options);

/// `threads`, or one for each core.
int thread_count(int threads);

}  // namespace forge::apps
