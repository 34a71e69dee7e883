#include "peers_attention.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

namespace forge {
namespace {

using Outputs = std::vector<float>;

constexpr std::uint32_t kNeighbours = 3;
/// Rows of the shortest chunk: as many as drafts to verify.
constexpr std::uint32_t kShortChunk = 5;

/// The device's memory beside keys and values: queries, results and a library's workspace, twice.
constexpr std::uint64_t kAttentionSpareBytes = std::uint64_t{1} << 30;

int launches_of(const AttentionCase& of, const AttentionSizes& sizes) {
  return of.phase == AttentionCase::Phase::decode ? sizes.decode_launches : sizes.prefill_launches;
}

CacheSize cache_size(const AttentionCase& of, const AttentionSizes& sizes) {
  const std::uint64_t read =
      CacheSize{.sequences = of.batch, .context = of.context}.bytes(sizes.shape);
  const std::uint64_t layers = (sizes.read_bytes - 1) / read + 1;
  return {.sequences = of.batch + kNeighbours,
          .context = of.context,
          .layers = static_cast<std::uint32_t>(
              std::min(layers, static_cast<std::uint64_t>(launches_of(of, sizes))))};
}

std::vector<Company> companies_of_decode(const AttentionCase& of) {
  const AttendingRequest probe{.length = of.context};
  const AttentionBatch between{{of.batch, of.context / 2 + 1},
                               {of.batch + 1, of.context - of.context / 7},
                               probe,
                               {of.batch + 2, of.context / 3 + 1}};
  std::vector<Company> companies{{.batch = between, .first = 2}};
  if (of.batch > 1) companies.push_back({.batch = {probe}});
  return companies;
}

std::vector<Company> companies_of_prefill(const AttentionCase& of) {
  std::vector<Company> companies;
  const std::uint32_t cached = of.context - of.rows;
  const std::uint32_t cuts[] = {0, of.rows / 4, of.rows / 4 + kShortChunk, of.rows};
  for (std::size_t i = 1; i < std::size(cuts); ++i) {
    const std::uint32_t rows = cuts[i] - cuts[i - 1];
    companies.push_back({.batch = {{.length = cached + cuts[i], .rows = rows}},
                         .of_case = cuts[i - 1],
                         .count = rows});
  }
  const std::uint32_t before = of.rows / 2;
  companies.push_back({.batch = {{.sequence = 1, .length = of.context / 2 + 1, .rows = before},
                                 {.length = of.context, .rows = of.rows}},
                       .first = before,
                       .count = of.rows});
  return companies;
}

/// What levels are compared with, by name.
using References = std::map<std::string, Outputs>;

class CaseRun {
 public:
  CaseRun(gpu::Device& device, const AttentionSizes& sizes, const AttentionCase& of)
      : device_(device),
        sizes_(sizes),
        of_(of),
        companies_(companies_of(of)),
        cache_(device, sizes.shape, cache_size(of, sizes)) {}

  /// Results of levels in `references` are kept there.
  AttentionResult measure(const LevelMaker& maker, References& references) {
    AttentionResult result{.of = of_, .level = maker.name};
    const auto outputs = run(maker, result);
    if (!outputs) {
      result.not_run = outputs.error();
      return result;
    }
    if (const auto own = references.find(maker.name); own != references.end()) {
      own->second = *outputs;
    }
    result.from_definition = difference(references, "definition", *outputs);
    result.from_ours = difference(references, "ours", *outputs);
    return result;
  }

 private:
  tl::expected<Outputs, std::string> run(const LevelMaker& maker, AttentionResult& result) {
    const auto level = maker.make(device_, cache_);
    if (!level) return tl::unexpected(level.error());
    auto outputs = attend(**level, of_.requests());
    if (!outputs) return outputs;
    const auto us = (*level)->time_us(launches_of(of_, sizes_));
    if (!us) return tl::unexpected(us.error());
    result.us = *us;
    const std::size_t of_row = sizes_.shape.row_numbers();
    for (const Company& company : companies_) {
      const auto there = attend(**level, company.batch);
      if (!there) return tl::unexpected(there.error());
      const std::size_t count = company.count * of_row;
      result.company += compare_bits(std::span(*there).subspan(company.first * of_row, count),
                                     std::span(*outputs).subspan(company.of_case * of_row, count));
    }
    return outputs;
  }

  static tl::expected<Outputs, std::string> attend(AttentionLevel& level,
                                                   const AttentionBatch& batch) {
    const auto planned = level.plan(batch);
    if (!planned) return tl::unexpected(planned.error());
    return level.attend();
  }

  static std::optional<double> difference(const References& references, const std::string& name,
                                          const Outputs& outputs) {
    const Outputs& reference = references.at(name);
    if (reference.empty()) return std::nullopt;
    return largest_difference(reference, outputs);
  }

  gpu::Device& device_;
  const AttentionSizes& sizes_;
  AttentionCase of_;
  std::vector<Company> companies_;
  PeerCache cache_;
};

}  // namespace

AttentionBatch AttentionCase::requests() const {
  AttentionBatch requests;
  for (std::uint32_t i = 0; i < batch; ++i) requests.push_back({i, context, rows});
  return requests;
}

std::vector<AttentionCase> attention_cases(const AttentionSizes& sizes) {
  std::vector<AttentionCase> cases;
  for (const std::uint32_t batch : sizes.batches) {
    for (const std::uint32_t context : sizes.contexts) {
      cases.push_back({.batch = batch, .context = context});
    }
  }
  for (const std::uint32_t rows : {sizes.prompt, sizes.chunk}) {
    cases.push_back(
        {.phase = AttentionCase::Phase::prefill, .context = sizes.prompt, .rows = rows});
  }
  return cases;
}

std::vector<Company> companies_of(const AttentionCase& of) {
  return of.phase == AttentionCase::Phase::decode ? companies_of_decode(of)
                                                  : companies_of_prefill(of);
}

void measure_attention(gpu::Device& device, const AttentionSizes& sizes, const LevelsOf& levels,
                       const std::function<void(const AttentionResult&)>& tell) {
  for (const AttentionCase& of : attention_cases(sizes)) {
    const std::vector<LevelMaker> makers = levels(of.phase);
    const std::uint64_t needed = cache_size(of, sizes).bytes(sizes.shape) + kAttentionSpareBytes;
    if (const std::string missing = missing_bytes(device, needed); !missing.empty()) {
      for (const LevelMaker& maker : makers) {
        tell({.of = of, .level = maker.name, .not_run = missing});
      }
      continue;
    }
    CaseRun run(device, sizes, of);
    References references{{"definition", {}}, {"ours", {}}};
    for (const LevelMaker& maker : makers) tell(run.measure(maker, references));
  }
}

double gb_per_s(const AttentionShape& shape, const AttentionResult& result) {
  const std::uint64_t numbers = std::uint64_t{result.of.batch} * result.of.context * 2 *
                                static_cast<std::uint64_t>(shape.kv_heads * shape.head_size);
  return static_cast<double>(numbers * sizeof(numerics::BF16)) / result.us / 1e3;
}

double tflops(const AttentionShape& shape, const AttentionResult& result) {
  const double rows = result.of.rows;
  const double keys = rows * (result.of.context - (rows - 1) / 2);  // that rows see, on average
  return 4 * keys * static_cast<double>(shape.row_numbers()) * result.of.batch / result.us / 1e6;
}

nlohmann::ordered_json to_json(const AttentionShape& shape, const AttentionResult& result) {
  const AttentionCase& of = result.of;
  nlohmann::ordered_json json{{"phase", name_of(of.phase)},
                              {"batch", of.batch},
                              {"context", of.context},
                              {"rows", of.rows},
                              {"level", result.level}};
  if (!result.not_run.empty()) {
    json["not_run"] = result.not_run;
    return json;
  }
  json["us"] = result.us;
  if (of.phase == AttentionCase::Phase::decode) {
    json["gb_per_s"] = gb_per_s(shape, result);
  } else {
    json["tflops"] = tflops(shape, result);
  }
  json["bits_survive"] = result.company.survived();
  json["compared"] = result.company.compared;
  json["different"] = result.company.different;
  if (result.from_definition) json["from_definition"] = *result.from_definition;
  if (result.from_ours) json["from_ours"] = *result.from_ours;
  return json;
}

std::string attention_heading() {
  return "attention  batch context  rows  level                              us      rate        "
         "definition       ours  bits survive\n";
}

std::string to_text(const AttentionShape& shape, const AttentionResult& result) {
  const AttentionCase& of = result.of;
  std::ostringstream out;
  out << std::left << std::setw(9) << name_of(of.phase) << std::right << std::setw(7) << of.batch
      << std::setw(8) << of.context << std::setw(6) << of.rows << "  " << std::left << std::setw(28)
      << result.level << std::right;
  if (!result.not_run.empty()) {
    out << "  not run: " << result.not_run << "\n";
    return out.str();
  }
  const bool decodes = of.phase == AttentionCase::Phase::decode;
  out << std::fixed << std::setprecision(1) << std::setw(9) << result.us << std::setw(8)
      << (decodes ? gb_per_s(shape, result) : tflops(shape, result))
      << (decodes ? " GB/s   " : " TFLOP/s") << std::scientific << std::setprecision(2);
  for (const std::optional<double>& difference : {result.from_definition, result.from_ours}) {
    out << std::setw(11);
    if (difference) {
      out << *difference;
    } else {
      out << "-";
    }
  }
  out << "  " << to_string(result.company) << "\n";
  return out.str();
}

}  // namespace forge
