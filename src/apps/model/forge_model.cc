// forge-model: what is in a model's file, making one from another, or from nothing, and what its
// prompts and their tokens look like.
//
// Exit status: 0 done (or equal), 1 different, 2 unusable input, 130 interrupted.
#include <CLI/CLI.hpp>
#include <iostream>

#include "flag_range.h"
#include "forge/linear/thread_pool.h"
#include "model_commands.h"
#include "subcommands.h"

namespace forge::apps {
namespace {

constexpr const char* kModelPath =
    "A directory with config.json and SafeTensors, a .safetensors file or a .gguf file";
constexpr const char* kTokenizerPath =
    "A model's directory, .gguf or .safetensors file, or its tokenizer.json or tokenizer.model";
constexpr const char* kBlockTypes =
    "Type of the matrices: Q8_0, Q6_K, Q5_K_M, Q5_K, Q5_1, Q5_0, Q4_K_M, Q4_K, Q4_1, Q4_0, Q3_K_M, "
    "Q3_K, Q2_K, IQ4_NL, IQ4_XS or MXFP4";
constexpr const char* kNewModel = "NAME.gguf, or a directory for SafeTensors";

/// The command line, and the command that it asks for.
class Commands : public Subcommands {
 public:
  Commands()
      : Subcommands(
            "Shows, converts, quantizes, measures and makes up models, renders prompts and makes "
            "tokens of text.",
            "forge-model") {
    add_info();
    add_quantize();
    add_convert();
    add_random();
    add_dump();
    add_attention();
    add_perplexity();
    add_render();
    add_tokenize();
    add_detokenize();
  }

 private:
  static void add_threads(CLI::App& app, int& threads) {
    app.add_option("--threads", threads, "Threads that compute [one for each core]")
        ->check(CLI::Range(1, linear::ThreadPool::kThreadsMax));
  }

  void add_info() {
    CLI::App* const info = add("info", "Print what a model is: sizes, parameters, types, tokenizer",
                               [this] { return run_info(info_); });
    info->add_option("PATH", info_.path, kModelPath)->required();
    info->add_flag("--tensors", info_.tensors, "Also print a line for each tensor");
    info->add_flag("--json", info_.as_json, "Print JSON, with all tensors");
  }

  void add_rewrite(CLI::App& app, const char* types, bool type_required) {
    app.add_option("IN", rewrite_.in, kModelPath)->required();
    app.add_option("OUT", rewrite_.out, kNewModel)->required();
    app.add_option("--type", rewrite_.type, types)->required(type_required);
    app.add_flag("--force", rewrite_.overwrite, "Overwrite OUT");
    add_threads(app, rewrite_.threads);
  }

  void add_quantize() {
    CLI::App* const quantize =
        add("quantize", "Store the matrices of a model in fewer bits, and print what that loses",
            [this] { return run_quantize(rewrite_); });
    add_rewrite(*quantize, kBlockTypes, true);
    quantize->add_option("--calibrate", rewrite_.calibrate,
                         "A file with a text: errors count by how large the inputs of a matrix are "
                         "when the model reads it");
  }

  void add_convert() {
    CLI::App* const convert = add("convert", "Write SafeTensors as GGUF, or GGUF as SafeTensors",
                                  [this] { return run_convert(rewrite_); });
    add_rewrite(*convert, "Type of the tensors: F32, F16 or BF16 [the type that each has]", false);
  }

  void add_random() {
    CLI::App* const random = add("random", "Make a model of random weights, of any shape",
                                 [this] { return run_random(random_); });
    random
        ->add_option("--config", random_.config,
                     "Shape of the model: a config.json, or tinyllama-1.1b, llama-3.2-1b, "
                     "llama-3-8b, qwen2.5-0.5b, qwen3-30b-a3b, deepseek-v2-lite")
        ->required();
    random->add_option("OUT", random_.out, kNewModel)->required();
    random->add_option(
        "--type", random_.type,
        "Type of the matrices: F32, F16 or BF16; in a GGUF file also those of quantize [F32]");
    random->add_option("--seed", random_.seed, "Seed of the weights")->capture_default_str();
    random->add_flag("--force", random_.overwrite, "Overwrite OUT");
    add_threads(*random, random_.threads);
  }

  void add_dump() {
    CLI::App* const dump =
        add("dump", "Run a prompt and print the values at every point of the forward pass",
            [this] { return run_dump(dump_); });
    dump->add_option("PATH", dump_.path, kModelPath)->required();
    auto* const prompt = dump->add_option("--prompt", dump_.prompt, "Text of the prompt");
    dump->add_option("--tokens", dump_.tokens, "Prompt as tokens, 1,2,3, in place of a text")
        ->delimiter(',')
        ->excludes(prompt);
    dump->add_option("--layer", dump_.layer, "Layer to print, from 0 [all]");
    dump->add_option(
            "--points", dump_.points,
            "Points to print, some of embedding,attention,mlp,layer,final_norm,logits [all]")
        ->delimiter(',');
    dump->add_option("--out", dump_.out, "Write all values to a .safetensors file");
    dump->add_option("--against", dump_.against, "Compare with a file that --out has written");
    dump->add_option("--tolerance", dump_.tolerance,
                     "Largest difference that is accepted, over the rms of the values there")
        ->check(finite_range(0, 1e9))
        ->capture_default_str();
    dump->add_flag("--force", dump_.overwrite, "Overwrite the file that --out names");
    add_threads(*dump, dump_.threads);
  }

  void add_attention() {
    CLI::App* const attention =
        add("attention",
            "Print what the built-in model looks at: of each head, the shares of the tokens it "
            "sees most "
            "from the last one, and of the likeliest next tokens how likely they are",
            [this] { return run_attention(attention_); });
    attention->add_option("--prompt", attention_.prompt, "Text of the prompt")->required();
    attention->add_flag("--json", attention_.as_json, "Print JSON, with the shares of all tokens");
  }

  void add_perplexity() {
    CLI::App* const perplexity =
        add("perplexity", "Print how well a model predicts a text: exp of the mean -log p(token)",
            [this] { return run_perplexity(perplexity_); });
    perplexity->add_option("PATH", perplexity_.path, kModelPath)->required();
    perplexity->add_option("TEXT", perplexity_.text, "A file with the text")->required();
    perplexity
        ->add_option("--window", perplexity_.window,
                     "Tokens that are run together; windows overlap by half [512, or the positions "
                     "of the model]")
        ->check(CLI::Range(2, 1 << 20));
    add_threads(*perplexity, perplexity_.threads);
  }

  void add_render() {
    CLI::App* const render = add("render", "Print a conversation as a chat template spells it",
                                 [this] { return run_render(render_); });
    render->add_option("TEMPLATE", render_.chat_template, "A file with a Jinja template")
        ->required();
    render
        ->add_option("--messages", render_.messages,
                     "File with the messages, a JSON list; - is the standard input")
        ->required();
    render->add_option("--tools", render_.tools, "File with the tools, a JSON list");
    render->add_flag("--generation-prompt", render_.generation_prompt,
                     "End with what begins the model's answer");
    render->add_option("--bos", render_.bos, "Spelling of the token that begins a text");
    render->add_option("--eos", render_.eos, "Spelling of the token that ends a text");
  }

  void add_tokenize() {
    CLI::App* const tokenize =
        add("tokenize", "Print the tokens of the text on the standard input, a line each",
            [this] { return run_tokenize(tokenize_); });
    tokenize->add_option("FILE", tokenize_.path, kTokenizerPath)->required();
    tokenize->add_flag("--ids", tokenize_.ids, "Print ids alone, all on one line");
    tokenize->add_flag("--no-special", tokenize_.no_special,
                       "Put no tokens before and after the text, whatever the model does");
  }

  void add_detokenize() {
    CLI::App* const detokenize =
        add("detokenize", "Print the text of the token ids on the standard input",
            [this] { return run_detokenize(detokenize_); });
    detokenize->add_option("FILE", detokenize_.path, kTokenizerPath)->required();
    detokenize->add_flag("--special", detokenize_.special,
                         "Print control tokens, too, as they are spelt");
  }

  InfoOptions info_;
  RewriteOptions rewrite_;
  RandomOptions random_;
  DumpOptions dump_;
  AttentionOptions attention_;
  PerplexityOptions perplexity_;
  RenderChatOptions render_;
  TokenizeOptions tokenize_;
  DetokenizeOptions detokenize_;
};

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  return forge::apps::Commands().run(argc, argv, forge::apps::kModelUnusable);
}
