// Sums and their bits; the settings on which a student's product depends; and small servers that
// sum in one of several wrong ways, on which an experiment is made.
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "answering.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"
#include "sums.h"

namespace forge::labs {
namespace {

using sums::Axis;
using sums::Grid;
using sums::Outputs;
using sums::Place;
using sums::Setting;

constexpr const char* kNames[] = {"batch", "chunk", "threads", "block_size"};
constexpr const char* kPromises[] = {"who else was there", "how the prompt was cut", "the machine",
                                     "how memory is cut"};

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

std::string shown(float x) {
  char text[48];
  std::snprintf(text, sizeof text, "%.8g (%08x)", static_cast<double>(x), numerics::bits_of(x));
  return text;
}

/// [n] numbers, those of a list one round after the other.
std::vector<float> repeated(const Json& list, int n) {
  const auto numbers = list.get<std::vector<float>>();
  require(!numbers.empty() && n >= 0 && n <= 4096, "nothing to repeat, or too often");
  std::vector<float> all;
  for (std::size_t i = 0; all.size() < static_cast<std::size_t>(n); ++i) {
    all.push_back(numbers[i % numbers.size()]);
  }
  return all;
}

std::string compared(float x, float reference, const char* name) {
  const bool equal = numerics::bits_of(x) == numerics::bits_of(reference);
  return std::string(equal ? "has" : "does not have") + " the bits of " + name;
}

/// {"a", "b", "n"} -> the product, and whether the engine defines it so.
Json product(const Json& input) {
  const int n = input.at("n").get<int>();
  const auto a = repeated(input.at("a"), n);
  const auto b = repeated(input.at("b"), n);
  const float x = sums::product(a.data(), b.data(), n);
  const float reference = numerics::product_reference(a.data(), b.data(), n);
  return {shown(x), compared(x, reference, "numerics::product_reference")};
}

/// {"x", "n"} -> the sum, likewise.
Json sum(const Json& input) {
  const int n = input.at("n").get<int>();
  const auto x = repeated(input.at("x"), n);
  const float total = sums::sum(x.data(), n);
  const float reference = numerics::sum_reference(x.data(), n);
  return {shown(total), compared(total, reference, "numerics::sum_reference")};
}

/// {"a", "b", "n", "parts"} -> the product in each number of parts.
Json split_product(const Json& input) {
  const int n = input.at("n").get<int>();
  const auto a = repeated(input.at("a"), n);
  const auto b = repeated(input.at("b"), n);
  Json answer = Json::array();
  for (const Json& each : input.at("parts")) {
    const int parts = each.get<int>();
    require(parts >= 1 && parts <= 1000, "parts");
    answer.push_back("in " + std::to_string(parts) +
                     " parts: " + shown(sums::split_product(a.data(), b.data(), n, parts)));
  }
  return answer;
}

/// {"a", "b"}, bits in base 16 -> the first difference.
Json first_difference(const Json& input) {
  const auto read = [](const Json& list) {
    Outputs outputs;
    for (const Json& bits : list) {
      const auto text = bits.get<std::string>();
      require(text.size() == 8, "not the bits of a float");
      outputs.push_back(
          numerics::float_of(static_cast<std::uint32_t>(std::stoul(text, nullptr, 16))));
    }
    return outputs;
  };
  const Outputs a = read(input.at("a"));
  const Outputs b = read(input.at("b"));
  require(a.size() == b.size(), "two lengths");
  const auto found = sums::first_difference(a, b);
  return Json::array({found ? "number " + std::to_string(*found) : "none"});
}

/// The steps in which `tokens` tokens run under a setting: makes(token, place) of each.
template <class Makes>
void run_steps(Setting setting, int tokens, Makes makes) {
  for (int start = 0; start < tokens; start += setting.chunk) {
    const int own = std::min(setting.chunk, tokens - start);
    for (int i = 0; i < own; ++i) {
      makes(start + i, Place{.rows = setting.batch - 1 + own,
                             .own_rows = own,
                             .row = setting.batch - 1 + i,
                             .threads = setting.threads,
                             .block_size = setting.block_size});
    }
  }
}

/// Number `index` of a row of random numbers: in (-1, 1), or a whole number from -4 to 4.
float random_number(std::uint64_t seed, std::uint32_t row, int index, bool whole) {
  const numerics::Words4 words =
      numerics::philox({{static_cast<std::uint32_t>(index), row, 0, 0}}, seed);
  if (whole) return static_cast<float>(words.x[0] % 9) - 4.0f;
  return 2 * numerics::uniform_open(words.x[0]) - 1;
}

std::vector<float> random_row(std::uint64_t seed, std::uint32_t row, int count,
                              bool whole = false) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(random_number(seed, row, i, whole));
  return numbers;
}

/// The inputs of a request of `tokens` rows and of a layer of `outputs` columns.
struct Layer {
  Layer(std::uint64_t seed, int tokens_in, int terms_in, int outputs_in, bool whole = false)
      : tokens(tokens_in), terms(terms_in), outputs(outputs_in) {
    for (int t = 0; t < tokens; ++t) {
      x.push_back(random_row(seed, static_cast<std::uint32_t>(t), terms, whole));
    }
    for (int m = 0; m < outputs; ++m) {
      w.push_back(random_row(seed, static_cast<std::uint32_t>(1000 + m), terms, whole));
    }
  }

  int tokens;
  int terms;
  int outputs;
  std::vector<std::vector<float>> x;
  std::vector<std::vector<float>> w;
};

Outputs with_broken_product(const Layer& layer, Axis axis, const Setting& setting) {
  Outputs y;
  run_steps(setting, layer.tokens, [&](int token, const Place& place) {
    for (const std::vector<float>& w : layer.w) {
      const std::vector<float>& x = layer.x[static_cast<std::size_t>(token)];
      y.push_back(sums::broken_product(axis, place, x.data(), w.data(), layer.terms));
    }
  });
  return y;
}

bool same_bits(const Outputs& a, const Outputs& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](float left, float right) {
           return numerics::bits_of(left) == numerics::bits_of(right);
         });
}

/// Whether anywhere in the grid the outputs change with this axis alone.
template <class Outputs_of>
bool changes_bits(Axis axis, const std::vector<Setting>& grid, Outputs_of outputs_of) {
  for (Setting setting : grid) {
    const Outputs outputs = outputs_of(setting);
    for (int value = 1; value <= 6; ++value) {
      setting[axis] = value;
      if (!same_bits(outputs, outputs_of(setting))) return true;
    }
  }
  return false;
}

/// Whether a product of whole numbers is exact under all settings.
bool is_exact(Axis axis, const std::vector<Setting>& grid, std::uint64_t seed) {
  const Layer layer(seed, 6, 100, 2, true);
  Outputs exact;
  for (const std::vector<float>& x : layer.x) {
    for (const std::vector<float>& w : layer.w) {
      exact.push_back(numerics::product_reference(x.data(), w.data(), layer.terms));
    }
  }
  for (const Setting& setting : grid) {
    if (with_broken_product(layer, axis, setting) != exact) return false;
  }
  return true;
}

/// {"axis", "seed"} -> the axes on which the product for this one depends.
Json broken_product(const Json& input) {
  const auto index = input.at("axis").get<std::size_t>();
  require(index < sums::kAxes.size(), "no such axis");
  const Axis axis = sums::kAxes[index];
  const auto seed = input.at("seed").get<std::uint64_t>();
  std::vector<Setting> grid;
  for (const int batch : {1, 2, 4}) {
    for (const int chunk : {1, 2, 4, 6}) {
      for (const int threads : {1, 3}) {
        for (const int block_size : {1, 4}) grid.push_back({batch, chunk, threads, block_size});
      }
    }
  }
  const Layer layer(seed, 6, 120, 2);
  Json answer = Json::array();
  for (std::size_t i = 0; i < sums::kAxes.size(); ++i) {
    const bool changes = changes_bits(sums::kAxes[i], grid, [&](const Setting& setting) {
      return with_broken_product(layer, axis, setting);
    });
    answer.push_back(std::string(kNames[i]) + (changes ? ": changes bits" : ": changes no bit"));
  }
  answer.push_back(is_exact(axis, grid, seed) ? "with whole numbers: exact"
                                              : "with whole numbers: not exact");
  return answer;
}

/// One product as a server makes it that has gone a way of its own, by the name of the way.
float product_of(const std::string& way, const Place& at, const float* a, const float* b, int n) {
  const auto split = [&](int parts) {
    float total = 0;
    for (int part = 0; part < parts; ++part) {
      float chain = 0;
      for (int k = n * part / parts; k < n * (part + 1) / parts; ++k) {
        chain = numerics::fma(a[k], b[k], chain);
      }
      total = total + chain;
    }
    return total;
  };
  if (way == "canonical") return numerics::product_reference(a, b, n);
  if (way == "few_rows") return split(at.rows < 4 ? 4 : 1);
  if (way == "threads") return split(at.threads);
  if (way == "spare_threads") return split(std::max(1, at.threads / at.rows));
  if (way == "decode") return split(at.own_rows == 1 ? 2 : 1);
  require(way == "tiles", "no such way");
  if (at.row < at.rows - at.rows % 4) return split(1);
  float rounded = 0;
  for (int k = 0; k < n; ++k) rounded = rounded + a[k] * b[k];
  return rounded;
}

/// What a token reads of itself and the tokens before it: the mean of their numbers y with the
/// shares of row `token` of a table.
float read_of(const std::string& way, int block_size, const std::vector<float>& shares,
              const std::vector<float>& y) {
  const int n = static_cast<int>(y.size());
  if (way == "canonical") return numerics::product_reference(shares.data(), y.data(), n);
  require(way == "blocks", "no such way");
  float total = 0;
  for (int first = 0; first < n; first += block_size) {
    float chain = 0;
    for (int j = first; j < std::min(n, first + block_size); ++j) {
      const auto at = static_cast<std::size_t>(j);
      chain = numerics::fma(shares[at], y[at], chain);
    }
    total = total + chain;
  }
  return total;
}

/// What a server says of a request: for each token each output, which is read over all tokens so
/// far; and last a zero, whose sign some servers leave to a thread.
Outputs served(const Json& input, const Layer& layer, Setting setting) {
  for (const Axis axis : sums::kAxes) {
    require(setting[axis] >= 1 && setting[axis] <= 64, "a setting beyond the grid");
  }
  const auto product_way = input.at("product").get<std::string>();
  const auto context_way = input.at("context").get<std::string>();
  std::vector<std::vector<float>> y(static_cast<std::size_t>(layer.outputs));
  run_steps(setting, layer.tokens, [&](int token, const Place& place) {
    const std::vector<float>& x = layer.x[static_cast<std::size_t>(token)];
    for (std::size_t m = 0; m < y.size(); ++m) {
      y[m].push_back(product_of(product_way, place, x.data(), layer.w[m].data(), layer.terms));
    }
  });
  Outputs outputs;
  for (int token = 0; token < layer.tokens; ++token) {
    const auto shares = random_row(7, static_cast<std::uint32_t>(token), token + 1);
    for (const std::vector<float>& column : y) {
      const std::vector<float> seen(column.begin(), column.begin() + token + 1);
      outputs.push_back(read_of(context_way, setting.block_size, shares, seen));
    }
  }
  const bool negative = input.value("signed_zero", false) && setting.threads > 1;
  outputs.push_back(negative ? -0.0f : 0.0f);
  return outputs;
}

Grid grid_of(const Json& input) {
  Grid grid;
  for (std::size_t i = 0; i < sums::kAxes.size(); ++i) {
    grid.values[i] = input.at("grid").at(kNames[i]).get<std::vector<int>>();
    require(!grid.values[i].empty() && grid.values[i].size() <= 4, "values of an axis");
    for (const int value : grid.values[i]) {
      require(value >= 1 && std::count(grid.values[i].begin(), grid.values[i].end(), value) == 1,
              "values of an axis");
    }
  }
  return grid;
}

std::string shown(Setting setting) {
  std::string text;
  for (std::size_t i = 0; i < sums::kAxes.size(); ++i) {
    const std::string value = std::to_string(setting[sums::kAxes[i]]);
    text += (i == 0 ? "" : ", ") + std::string(kNames[i]) + " " + value;
  }
  return text;
}

/// A server and a grid -> the witnesses.
Json witnesses(const Json& input) {
  const int tokens = input.value("tokens", 6);
  require(tokens >= 1 && tokens <= 16, "tokens");
  const Layer layer(input.at("seed").get<std::uint64_t>(), tokens, 24, 2);
  const auto server = [&](const Setting& setting) { return served(input, layer, setting); };
  Json answer = Json::array();
  for (const sums::Witness& witness : sums::witnesses(server, grid_of(input))) {
    const auto axis = static_cast<std::size_t>(witness.axis);
    answer.push_back("output " + std::to_string(witness.output) + " depends on " + kPromises[axis] +
                     ":");
    answer.push_back("  " + shown(witness.one));
    answer.push_back("  " + shown(witness.other));
  }
  answer.push_back("no other axis changes a bit");
  return answer;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"product", product},
          {"sum", sum},
          {"split_product", split_product},
          {"first_difference", first_difference},
          {"broken_product", broken_product},
          {"witnesses", witnesses}};
}

}  // namespace forge::labs
