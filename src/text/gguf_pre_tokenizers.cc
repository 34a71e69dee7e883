#include "gguf_pre_tokenizers.h"

#include <algorithm>

namespace forge::text::detail {
namespace {

using Cut = PreTokenizer::Cut;

// Each pattern is that of the models' own tokenizer.json, or means the same and needs fewer steps;
// the names, and which models they are for, are those of https://github.com/ggml-org/llama.cpp,
// src/llama-vocab.cpp and convert_hf_to_gguf_update.py. Where llama.cpp changes a pattern because
// its regular expressions lack something, the models' own counts.

constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kDigits = R"(\p{N}+)";
constexpr std::string_view kLines = R"([^\n]+|\n+)";

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// As Llama 3, after digits were cut off.
constexpr std::string_view kMiniCpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// As Llama 3, but spaces in a row are pieces of powers of two.
constexpr std::string_view kJais2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|)"
    R"(\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)";

/// As Llama 3, but digits stand alone.
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// As Qwen 2, and marks belong to their letters.
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// As Qwen 2, without English contractions.
constexpr std::string_view kUfakzeka =
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// As Qwen 2, but ends of lines are pieces of their own.
constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kBailing = R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}|)"
                                      R"( ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";

/// Words with spaces between them are one piece.
constexpr std::string_view kExaoneMoe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}(?:[\p{L}\p{M}]++| \p{L})*+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";

constexpr std::string_view kDeepSeekV3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepSeekV3Ideographs =
    R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";

constexpr std::string_view kSpark =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";

/// Scripts that write words without spaces between them.
constexpr std::string_view kAfmoeScripts =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF})"
    R"(\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{0E40}-\x{0E7F}\x{0E80}-\x{0EFF}\x{1780}-\x{17FF})"
    R"(\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";

/// Mistral's, by upper and lower case.
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// GPT-4o's, which has English contractions behind words, too.
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kYoutuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|)"
    R"([\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C})"
    R"(\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|)"
    R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kYoutu =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// As GPT-4o, but ideographs are words of their own. A class of letters without ideographs is said
/// by all that it is not: categories are disjoint.
constexpr std::string_view kKimi =
    R"(\p{sc:Han}+|)"
    R"([^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]*)"
    R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]+)"
    R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// A number that no letter follows; its digits are cut into threes from its end.
constexpr std::string_view kWholeNumber =
    R"((?<!\p{Nd})\p{Nd}++(?![\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]))";

constexpr std::string_view kBloom =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)";

/// Words of letters that have case, but for those of some alphabets.
constexpr std::string_view kDeepSeekLetters =
    R"(\s?[)"
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
    R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"
    R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"
    R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
    R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"
    R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr std::string_view kDeepSeekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr std::string_view kDeepSeekIdeographs =
    R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";

/// Falcon's, and llama.cpp's where a file names none.
constexpr std::string_view kFalconSigns = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr std::string_view kDefaultSigns = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";

const std::vector<NamedPreTokenizer>& all() {
  static const std::vector<NamedPreTokenizer> kAll = {
      {{"default"}, {{kDefaultSigns}, {kGpt2Pattern}, {kDigits}, {kThreeDigits}}},
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es",
        "jina-v2-de", "jina-v2-code", "roberta-bpe", "gigachat", "a.x-4.0", "mellum", "modern-bert",
        "exaone4", "trillion", "granite-docling"},
       {{kGpt2Pattern}}},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b",
        "mellum2"},
       {{kDigit}, {kGpt2Pattern}}},
      {{"falcon"}, {{kFalconSigns}, {kGpt2Pattern}, {kThreeDigits}}},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
                 "lfm2", "jina-v5-nano"},
       .cuts = {{kLlama3}},
       .whole_pieces = true,
       .begin_of_sequence = true},
      {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {{kLlama3}}},
      {.names = {"minicpm5"}, .cuts = {{kUpToThreeDigits}, {kMiniCpm5}}, .whole_pieces = true},
      {{"jais-2"}, {{kJais2}}},
      {.names = {"qwen2"}, .cuts = {{kQwen2}}, .composes = true},
      {{"stablelm2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "hunyuan", "solar-open",
        "grok-2"},
       {{kQwen2}}},
      {.names = {"qwen35"}, .cuts = {{kQwen35}}, .composes = true},
      {{"laguna"}, {{kLines}, {kQwen2}}},
      {{"ufakzeka"}, {{kUfakzeka}}},
      {{"seed-coder"}, {{kSeedCoder}}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, {{kBailing}}},
      {{"exaone-moe"}, {{kExaoneMoe}}},
      {.names = {"tekken"}, .cuts = {{kTekken}}, .whole_pieces = true, .begin_of_sequence = true},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {{kGpt4o}}},
      {.names = {"granite-embed-multi-97m"}, .cuts = {{kGpt4o}}, .whole_pieces = true},
      {{"tiny_aya", "cohere2moe"}, {{kWholeNumber, Cut::threes}, {kGpt4o}}},
      {.names = {"youtu"}, .cuts = {{kYoutuScripts}, {kYoutu}}, .whole_pieces = true},
      {{"kimi-k2"}, {{kKimi}}},
      {{"superbpe"}, {{kDigits, Cut::threes}}},
      {{"poro-chat", "bloom", "gpt3-finnish"}, {{kBloom}}},
      {{"viking"}, {{kBloom}, {kDigit}}},
      {.names = {"chameleon"},
       .cuts = {{"<sentinel:[0-9]+>"},
                {"IMGIMG[A-I]{1,4}Z"},
                {R"([\t\n]|    |  )"},
                {kDigit},
                {R"([\p{P}!-/:-@\[-`{-~])"},
                {kGpt2Pattern}},
       .begin_of_sequence = true},
      {{"deepseek-llm"},
       {{R"([\r\n])"},
        {kDeepSeekLetters},
        {kDeepSeekPunctuation},
        {R"(\s+$)"},
        {kDeepSeekIdeographs},
        {kDigits}}},
      {{"deepseek-coder"},
       {{R"([\r\n])"}, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, {kDeepSeekIdeographs}, {kDigit}}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
       {{kUpToThreeDigits}, {kDeepSeekV3Ideographs}, {kDeepSeekV3}}},
      {{"spark2_5"}, {{kUpToThreeDigits}, {kDeepSeekV3Ideographs}, {kSpark}, {kDigit}}},
      {{"afmoe"}, {{kDigits, Cut::threes}, {kAfmoeScripts}, {kDeepSeekV3}}},
      {.names = {"gemma4", "granite-embed-multi-311m"},
       .cuts = {{kLines}},
       .begin_of_sequence = true,
       .characters = true,
       .marks_spaces = true,
       .whole_lines = true},
      {.names = {"sarvam-moe"}, .cuts = {{kLines}}, .characters = true, .marks_spaces = true},
      {.names = {"whitespace"}, .cuts = {{R"(\S+)", Cut::matches_alone}}, .characters = true},
  };
  return kAll;
}

}  // namespace

std::span<const NamedPreTokenizer> gguf_pre_tokenizers() { return all(); }

const NamedPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) {
  for (const NamedPreTokenizer& entry : all()) {
    if (std::ranges::find(entry.names, name) != entry.names.end()) return &entry;
  }
  return nullptr;
}

std::string gguf_pre_tokenizer_names() {
  std::string names;
  for (const NamedPreTokenizer& entry : all()) {
    for (const std::string_view name : entry.names) {
      if (!names.empty()) names += ", ";
      names += name;
    }
  }
  return names;
}

}  // namespace forge::text::detail
