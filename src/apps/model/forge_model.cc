// forge-model: what is in a model's file, and making one from another, or from nothing.
//
// Exit status: 0 done (or equal), 1 different, 2 unusable input, 130 interrupted.
#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>

#include "flag_range.h"
#include "forge/linear/thread_pool.h"
#include "model_commands.h"

namespace forge::apps {
namespace {

/// The command line, and the command that it asks for.
class Commands {
 public:
  Commands() {
    app_.require_subcommand(1);
    add_info();
    add_quantize();
    add_convert();
    add_random();
    add_dump();
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? kModelDone : kModelUnusable;
    }
    return chosen_();
  }

 private:
  CLI::App* add(const char* name, const char* what, std::function<int()> command) {
    CLI::App* const added = app_.add_subcommand(name, what);
    added->final_callback([this, command = std::move(command)] { chosen_ = command; });
    return added;
  }

  static void add_threads(CLI::App& app, int& threads) {
    app.add_option("--threads", threads, "That compute [one for each core]")
        ->check(CLI::Range(1, linear::ThreadPool::kThreadsMax));
  }

  void add_info() {
    CLI::App* const info = add("info", "Print what a model is: sizes, parameters, types, tokenizer",
                               [this] { return run_info(info_); });
    info->add_option("PATH", info_.path, "A directory, .safetensors or .gguf")->required();
    info->add_flag("--tensors", info_.tensors, "And all of its tensors");
    info->add_flag("--json", info_.as_json, "As JSON, with tensors");
  }

  void add_rewrite(CLI::App& app, const char* types, bool type_required) {
    app.add_option("IN", rewrite_.in, "A directory, .safetensors or .gguf")->required();
    app.add_option("OUT", rewrite_.out, "NAME.gguf, or a directory for SafeTensors")->required();
    app.add_option("--type", rewrite_.type, types)->required(type_required);
    app.add_flag("--force", rewrite_.overwrite, "Overwrite OUT");
    add_threads(app, rewrite_.threads);
  }

  void add_quantize() {
    CLI::App* const quantize =
        add("quantize", "Store the matrices of a model in fewer bits, and print what that loses",
            [this] { return run_quantize(rewrite_); });
    add_rewrite(*quantize, "Q8_0, Q4_0, Q4_K, Q4_K_M, Q5_K or Q6_K", true);
  }

  void add_convert() {
    CLI::App* const convert = add("convert", "Write SafeTensors as GGUF, or GGUF as SafeTensors",
                                  [this] { return run_convert(rewrite_); });
    add_rewrite(*convert, "F32, F16 or BF16 [those that the tensors have]", false);
  }

  void add_random() {
    CLI::App* const random = add("random", "Make a model of random weights, of any shape",
                                 [this] { return run_random(random_); });
    random
        ->add_option("--config", random_.config,
                     "A config.json, or tinyllama-1.1b, llama-3.2-1b, qwen2.5-0.5b")
        ->required();
    random->add_option("OUT", random_.out, "NAME.gguf, or a directory for SafeTensors")->required();
    random->add_option("--type", random_.type,
                       "F32, F16, BF16; of GGUF also those of quantize [F32]");
    random->add_option("--seed", random_.seed, "Of the weights")->capture_default_str();
    random->add_flag("--force", random_.overwrite, "Overwrite OUT");
    add_threads(*random, random_.threads);
  }

  void add_dump() {
    CLI::App* const dump =
        add("dump", "Run a prompt and print the values at every point of the forward pass",
            [this] { return run_dump(dump_); });
    dump->add_option("PATH", dump_.path, "A directory, .safetensors or .gguf")->required();
    auto* const prompt = dump->add_option("--prompt", dump_.prompt, "A text");
    dump->add_option("--tokens", dump_.tokens, "Or tokens, as in 1,2,3")
        ->delimiter(',')
        ->excludes(prompt);
    dump->add_option("--layer", dump_.layer, "Only this one, from 0 [all]");
    dump->add_option("--points", dump_.points,
                     "Of embedding,attention,network,layer,final_norm,logits [all]")
        ->delimiter(',');
    dump->add_option("--out", dump_.out, "Write all values to a .safetensors file");
    dump->add_option("--against", dump_.against, "Compare with a file that --out has written");
    dump->add_option("--tolerance", dump_.tolerance,
                     "Largest difference over the rms of the values there")
        ->check(finite_range(0, 1e9))
        ->capture_default_str();
    dump->add_flag("--force", dump_.overwrite, "Overwrite what --out names");
    add_threads(*dump, dump_.threads);
  }

  CLI::App app_{"Shows, converts, quantizes and makes up models.", "forge-model"};
  std::function<int()> chosen_;
  InfoOptions info_;
  RewriteOptions rewrite_;
  RandomOptions random_;
  DumpOptions dump_;
};

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) { return forge::apps::Commands().run(argc, argv); }
