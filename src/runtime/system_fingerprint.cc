#include "forge/runtime/system_fingerprint.h"

#include <algorithm>
#include <string>
#include <vector>

#include "forge/linear/product.h"
#include "forge/trace/trace_json.h"

namespace forge::runtime {
namespace {

/// The bytes and the spelling of each token, with their number before them. (Control tokens have no
/// bytes, and are known to grammars by their spelling.)
std::string vocabulary_digest(const text::Tokenizer& tokenizer, std::uint32_t size) {
  std::string all;
  for (std::uint32_t token = 0; token < size; ++token) {
    for (const std::string_view text :
         {tokenizer.bytes_of(TokenId(token)), tokenizer.spelling_of(TokenId(token))}) {
      all += std::to_string(text.size()) + ':';
      all += text;
    }
  }
  return trace::digest_text(receipt::text_digest(all));
}

std::string eos_text(std::vector<TokenId> eos) {
  std::ranges::sort(eos);
  eos.erase(std::unique(eos.begin(), eos.end()), eos.end());
  std::string text;
  for (const TokenId token : eos) text += (text.empty() ? "" : " ") + std::to_string(token.value);
  return text;
}

/// Those of the model itself: a draft model may have others, which change no token.
void set_numerics(receipt::Fingerprint& out, Runtime& runtime) {
  const RunRecord& record = runtime.target().record();
  RunNumerics numerics = record.numerics;
  if (is_gpu(runtime.options().kind)) {
    if (record.fast) out.machine = std::to_string(record.fast->version) + ' ' + record.fast->step;
  } else {
    const linear::Numerics own = numerics_of_results(runtime.model().weights());
    const bool is_native = own == linear::Numerics::native;
    numerics = is_native ? RunNumerics::native : RunNumerics::canonical;
    if (is_native) out.machine = linear::instructions_used(own);
  }
  out.numerics = name_of(numerics);
}

}  // namespace

receipt::Fingerprint fingerprint_of(Runtime& runtime) {
  const auto& executor = runtime.options().executor;
  const auto vocabulary_size = static_cast<std::uint32_t>(runtime.config().vocabulary_size);
  receipt::Fingerprint fingerprint{
      .vocabulary = vocabulary_digest(runtime.tokenizer(), vocabulary_size),
      .kv = std::string(name_of(executor.kv_type)),
      .eos = eos_text(executor.eos)};
  if (const auto& model = runtime.target().record().model) {
    fingerprint.config = model->config;
    fingerprint.weights = model->weights;
  }
  set_numerics(fingerprint, runtime);
  return fingerprint;
}

}  // namespace forge::runtime
