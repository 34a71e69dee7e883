#include "trace_verify.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <tl/expected.hpp>

#include "forge/core/quoted.h"
#include "forge/receipt/receipt.h"
#include "forge/runtime/open.h"
#include "forge/runtime/system_fingerprint.h"
#include "receipt_run.h"
#include "target_flags.h"
#include "trace_file.h"

namespace forge::apps {
namespace {

using receipt::Receipt;

tl::expected<Receipt, std::string> read_receipt(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return tl::unexpected(std::string("cannot be read: it is a directory"));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return tl::unexpected(std::string("cannot be read"));
  return receipt::parse_receipt(text);
}

template <Named E>
std::string accepted_names() {
  std::string names;
  for (const std::string_view name : kNames<E>)
    names += (names.empty() ? "" : ", ") + in_quotes(name);
  return names;
}

/// `part` of the fingerprint, by its name.
template <Named E>
tl::expected<E, std::string> choice_of(const char* part, const std::string& name) {
  const auto value = from_name<E>(name);
  if (value) return *value;
  return tl::unexpected("fingerprint." + std::string(part) + " is " + in_quotes(name) +
                        "; accepted are " + accepted_names<E>());
}

/// Blocks for the tokens of the receipt and as many drafts as a step may have.
std::uint32_t blocks_for(const Receipt& receipt, const runtime::TargetOptions& target) {
  const SchedulerConfig& config = target.scheduler;
  const std::uint64_t tokens =
      receipt.request.prompt.size() + receipt.output.size() + target.executor.drafts + 1;
  const std::uint64_t blocks = tokens / config.cache.block_size + 1 + config.watermark_blocks;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(blocks, CacheShape::kNumBlocks.highest));
}

/// What flags leave open is as the receipt says: its numerics and its KV; and there are blocks
/// enough for its tokens.
tl::expected<void, std::string> complete(runtime::TargetOptions& target, const Receipt& receipt) {
  const auto numerics = choice_of<runtime::RunNumerics>("numerics", receipt.fingerprint.numerics);
  if (!numerics) return tl::unexpected(numerics.error());
  const auto kv = choice_of<numerics::KvType>("kv", receipt.fingerprint.kv);
  if (!kv) return tl::unexpected(kv.error());
  if (target.source.numerics == runtime::RunNumerics::automatic) target.source.numerics = *numerics;
  if (!target.kv) target.kv = target.executor.kv_type = *kv;
  if (const auto has = validate_numerics(target.kind, target.source.numerics); !has) {
    return tl::unexpected("its bits need " + has.error());
  }
  const bool says_memory = target.source.kv_memory.given() || target.device.gpu_memory;
  if (target.fit_blocks && !says_memory) {
    target.fit_blocks = false;
    target.scheduler.cache.num_blocks = blocks_for(receipt, target);
  }
  return validate(target);
}

/// The first part of the fingerprint that is another here.
std::optional<std::string> other_part(const receipt::Fingerprint& recorded,
                                      const receipt::Fingerprint& here) {
  for (const auto& [name, text] : receipt::kFingerprintParts) {
    if (recorded.*text == here.*text) continue;
    return "fingerprint." + std::string(name) +
           " differs, receipt against here: " + in_quotes(recorded.*text) + " against " +
           in_quotes(here.*text);
  }
  return std::nullopt;
}

int print(const ReceiptDifference& difference) {
  std::cout << "output[" << difference.index
            << "] differs, receipt against run: " << difference.recorded << " against "
            << difference.here << '\n'
            << difference.index << " tokens before it are equal in every bit\n";
  return kDifferent;
}

int print_equal(const Receipt& receipt) {
  std::cout << receipt.output.size() << " tokens run again, all equal in every bit, "
            << to_string(receipt.fingerprint);
  if (receipt.finish == FinishReason::deadline) std::cout << "; the request was out of time then";
  std::cout << '\n';
  return kEqual;
}

}  // namespace

void add_verify_options(CLI::App& verify, VerifyOptions& options) {
  verify.add_option("RECEIPT", options.path, "Receipt to check, or the answer that has it")
      ->required();
  constexpr std::array kKinds = {runtime::TargetKind::cpu, runtime::TargetKind::sim,
                                 runtime::TargetKind::cuda};
  add_target_choice(verify, options.target.kind,
                    "Run the model on the cpu, on a simulated GPU (sim) or on a GPU (cuda)",
                    kKinds);
  add_target_options(verify, options.target);
  add_device_options(verify, options.target.device);
}

int run_verify(const CLI::App& flags, VerifyOptions options) {
  const auto receipt = read_receipt(options.path);
  if (!receipt) return unusable(options.path + ": " + receipt.error());
  const std::string misplaced = misplaced_flag(flags, options.target.kind);
  if (!misplaced.empty()) return unusable(misplaced);
  if (const auto can = complete(options.target, *receipt); !can) {
    return unusable(options.path + ": " + can.error());
  }
  auto runtime = runtime::Runtime::open(options.target);
  if (!runtime) return unusable(runtime.error());
  if (const auto other = other_part(receipt->fingerprint, fingerprint_of(*runtime))) {
    std::cout << *other << '\n';
    return kDifferent;
  }
  const auto difference = run_again(*receipt, *runtime);
  if (!difference) return unusable(options.path + ": " + difference.error());
  return *difference ? print(**difference) : print_equal(*receipt);
}

}  // namespace forge::apps
