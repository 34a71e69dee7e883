// forge-model dump
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "dump_file.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/model/transformer.h"
#include "model_commands.h"
#include "token_pass.h"

namespace forge::apps {
namespace {

namespace fs = std::filesystem;

constexpr model::ForwardPoint kPoints[] = {
    model::ForwardPoint::embedding, model::ForwardPoint::attention,  model::ForwardPoint::mlp,
    model::ForwardPoint::layer,     model::ForwardPoint::final_norm, model::ForwardPoint::logits};

tl::expected<std::vector<std::uint32_t>, std::string> tokens_of(
    const DumpOptions& options, const checkpoint::Checkpoint& checkpoint) {
  if (options.tokens.empty() && options.prompt.empty()) {
    return tl::unexpected(std::string("--prompt or --tokens is needed"));
  }
  std::vector<std::uint32_t> tokens = options.tokens;
  if (tokens.empty()) {
    auto encoded = tokens_of_text(checkpoint, options.path, options.prompt);
    if (!encoded) return tl::unexpected("--prompt: " + encoded.error());
    tokens = *std::move(encoded);
  }
  const model::ModelConfig& config = checkpoint.config();
  if (tokens.size() > static_cast<std::size_t>(config.positions)) {
    return tl::unexpected("the prompt has " + std::to_string(tokens.size()) +
                          " tokens; accepted are up to " + std::to_string(config.positions));
  }
  const auto vocabulary = static_cast<std::uint32_t>(config.vocabulary_size);
  for (const std::uint32_t token : tokens) {
    if (token >= vocabulary) {
      return tl::unexpected("token " + std::to_string(token) + "; accepted are 0 to " +
                            std::to_string(vocabulary - 1));
    }
  }
  return tokens;
}

/// An empty text, or what is wrong.
std::string wrong_choice(const DumpOptions& options, const model::ModelConfig& config) {
  if (options.layer < -1 || options.layer >= config.layers) {
    return "--layer " + std::to_string(options.layer) + ": accepted are 0 to " +
           std::to_string(config.layers - 1);
  }
  std::string names;
  for (const model::ForwardPoint point : kPoints) {
    names += (names.empty() ? "" : ", ") + std::string(name_of(point));
  }
  for (const std::string& name : options.points) {
    const bool known =
        std::any_of(std::begin(kPoints), std::end(kPoints),
                    [&](model::ForwardPoint point) { return name_of(point) == name; });
    if (!known) return std::string("--points: '").append(name).append("' is none of ") + names;
  }
  return {};
}

bool is_wanted(const DumpOptions& options, const model::Observation& seen) {
  const auto& names = options.points;
  const std::string name(name_of(seen.point));
  if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) return false;
  return options.layer == -1 || !seen.layer || *seen.layer == options.layer;
}

DumpedPoint dumped(const model::Observation& seen) {
  const std::string name(name_of(seen.point));
  const auto width = static_cast<std::uint64_t>(seen.width);
  return {seen.layer ? "layer " + std::to_string(*seen.layer) + " " + name : name,
          seen.values.size() / width,
          width,
          {seen.values.begin(), seen.values.end()}};
}

tl::expected<Dump, std::string> run_prompt(const DumpOptions& options,
                                           const checkpoint::Checkpoint& checkpoint,
                                           std::vector<std::uint32_t> tokens) {
  auto pass = TokenPass::open(checkpoint, thread_count(options.threads));
  if (!pass) return tl::unexpected(pass.error());
  Dump dump{.tokens = std::move(tokens), .points = {}};
  pass->run(dump.tokens, [&](const model::Observation& seen) {
    if (is_wanted(options, seen)) dump.points.push_back(dumped(seen));
  });
  return dump;
}

void print(const Dump& dump) {
  constexpr std::size_t kFirstValues = 4;
  std::cout << "tokens";
  for (const std::uint32_t token : dump.tokens) std::cout << ' ' << token;
  std::cout << '\n'
            << std::left << std::setw(20) << "point" << std::setw(14) << "shape" << std::right
            << std::setw(11) << "rms" << std::setw(11) << "min" << std::setw(11) << "max"
            << "  first values of the last row\n"
            << std::setprecision(5);
  for (const DumpedPoint& point : dump.points) {
    const Spread spread = spread_of(point.values);
    std::cout << std::left << std::setw(20) << point.name << std::setw(14)
              << "[" + std::to_string(point.rows) + ", " + std::to_string(point.width) + "]"
              << std::right << std::setw(11) << spread.rms << std::setw(11) << spread.least
              << std::setw(11) << spread.largest << ' ';
    const std::size_t last = (point.rows - 1) * point.width;
    for (std::size_t i = 0; i < std::min<std::size_t>(kFirstValues, point.width); ++i) {
      std::cout << ' ' << point.values[last + i];
    }
    std::cout << '\n';
  }
}

/// Prints every point's difference, and which is the first too large.
int compare(const Dump& dump, const Dump& reference, const DumpOptions& options) {
  if (dump.tokens != reference.tokens) {
    return unusable_model("--against: '" + options.against + "' is of other tokens");
  }
  std::string first;
  std::size_t compared = 0;
  std::cout << std::setprecision(3);
  for (const DumpedPoint& point : dump.points) {
    const auto other = std::find_if(reference.points.begin(), reference.points.end(),
                                    [&](const DumpedPoint& p) { return p.name == point.name; });
    if (other == reference.points.end()) continue;
    if (other->rows != point.rows || other->width != point.width) {
      return unusable_model("--against: '" + options.against + "' has " + point.name +
                            " of another shape");
    }
    const PointDifference found = difference(point, *other);
    std::cout << std::left << std::setw(20) << point.name << " relative difference "
              << found.relative;
    if (found.largest > 0) {
      std::cout << ", largest " << found.largest << " at [" << found.row << ", " << found.column
                << "]";
    }
    std::cout << '\n';
    if (first.empty() && found.relative > options.tolerance) first = point.name;
    ++compared;
  }
  if (compared == 0) {
    return unusable_model("--against: '" + options.against + "' has none of these points");
  }
  if (first.empty()) {
    std::cout << "equal within " << options.tolerance << " at " << compared << " points\n";
    return kModelDone;
  }
  std::cout << "first different: " << first << '\n';
  return kModelDiffers;
}

}  // namespace

int run_dump(const DumpOptions& options) {
  if (!options.out.empty() && fs::exists(options.out) && !options.overwrite) {
    return unusable_model("--out: '" + options.out + "' is there already; --force overwrites it");
  }
  const auto checkpoint = checkpoint::Checkpoint::open(options.path);
  if (!checkpoint) return unusable_model("PATH: " + to_string(checkpoint.error()));
  if (const std::string wrong = wrong_choice(options, checkpoint->config()); !wrong.empty()) {
    return unusable_model(wrong);
  }
  auto tokens = tokens_of(options, *checkpoint);
  if (!tokens) return unusable_model(tokens.error());
  tl::expected<Dump, std::string> reference;
  if (!options.against.empty()) {
    reference = read_dump(options.against);
    if (!reference) return unusable_model("--against: " + reference.error());
  }
  const auto dump = run_prompt(options, *checkpoint, *std::move(tokens));
  if (!dump) return unusable_model("PATH: " + dump.error());
  if (!options.out.empty()) {
    if (auto done = write_dump(options.out, *dump); !done) return unusable_model(done.error());
  }
  if (!options.against.empty()) return compare(*dump, *reference, options);
  print(*dump);
  return kModelDone;
}

}  // namespace forge::apps
