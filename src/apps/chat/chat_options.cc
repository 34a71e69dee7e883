#include "chat_options.h"

#include <CLI/CLI.hpp>
#include <array>

#include "target_flags.h"

namespace forge::apps {
namespace {

constexpr const char* kAnswers = "Answers";

/// Below it, logits divided by the temperature could overflow; 0 itself is greedy.
constexpr float kTemperatureLowest = 1e-6F;

/// A number of a range; NaN is in none.
CLI::Option* add_number(CLI::App& app, const char* flag, float& value, const NumberRange& range,
                        const char* help) {
  const auto lowest = static_cast<float>(range.lowest);
  const auto highest = static_cast<float>(range.highest);
  return app.add_option(flag, value, help)
      ->capture_default_str()
      ->check(CLI::Range(lowest, highest))
      ->group(kAnswers);
}

void add_sampling(CLI::App& app, SamplingParams& sampling) {
  add_number(app, "--temperature", sampling.temperature, {0, 2},
             "How freely tokens are drawn; 0 takes the most likely one")
      ->check([](const std::string& text) {
        float value = 0;
        const bool is_right =
            !CLI::detail::lexical_cast(text, value) || value == 0 || value >= kTemperatureLowest;
        return is_right ? std::string() : "accepted is 0, or a number from 1e-06";
      });
  add_number(app, "--top-p", sampling.top_p, SamplingParams::kProbability,
             "Keeps the most likely tokens of this part of the mass");
  app.add_option("--top-k", sampling.top_k, "Keeps so many of the most likely tokens; 0: all")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, SamplingParams::kTopK.highest))
      ->group(kAnswers);
  add_number(app, "--min-p", sampling.min_p, SamplingParams::kProbability,
             "Keeps tokens at least this times as likely as the best");
  app.add_option("--seed", sampling.seed, "The noise with which tokens are drawn")
      ->capture_default_str()
      ->group(kAnswers);
}

}  // namespace

ChatOptions::ChatOptions() { target.scheduler.batch.max_batch_size = 1; }

void add_options(CLI::App& app, ChatOptions& options) {
  const auto set_model = [&options](const std::string& model) {
    const auto known = runtime::set_model(options.target.source, model);
    if (!known) throw CLI::ValidationError("MODEL", known.error());
  };
  CLI::Option* const model =
      app.add_option_function<std::string>("MODEL", set_model, "The same as --model");
  app.add_option("--prompt", options.prompt,
                 "Print the answer to this and end, without a conversation; so it is with the "
                 "standard input where that is no terminal");
  app.add_option("--system", options.system, "What the model is told before everything else");
  add_chat_template(app, options.target.source);
  app.add_option("--max-tokens", options.answers.max_tokens,
                 "Most tokens of an answer [what the context leaves]")
      ->check(CLI::Range(std::uint32_t{1}, (std::uint32_t{1} << 31U) - 1))
      ->group(kAnswers);
  add_sampling(app, options.answers.sampling);
  constexpr std::array kKinds{runtime::TargetKind::cpu, runtime::TargetKind::sim,
                              runtime::TargetKind::cuda};
  add_target_choice(app, options.target.kind,
                    "Where the model runs: on the cpu, on a simulated GPU (sim) or on a GPU (cuda)",
                    kKinds);
  add_target_options(app, options.target);
  add_device_options(app, options.target.device);
  model->excludes("--model");
}

}  // namespace forge::apps
