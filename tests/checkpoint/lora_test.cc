// LoRA adapters merged into every kind of base, against PEFT and transformers in double precision:
// tests/golden/lora, whose README says how it was made.
#include "forge/checkpoint/lora.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <set>

#include "checkpoint/adapter_edit.h"
#include "checkpoint/checkpoint_edit.h"
#include "checkpoint/golden_logits.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/model/weight_roles.h"
#include "forge/model/weights_digest.h"
#include "forge/numerics/half.h"
#include "lora_merge.h"
#include "model/transformer_runner.h"

namespace forge::checkpoint {
namespace {

using formats::testing::ScratchFolder;
using linear::StoredLinear;
using testing::EditableAdapter;
using testing::EditableCheckpoint;
using testing::golden;
using testing::golden_lora;
using testing::json_file;

Checkpoint merged(const std::string& base, const std::vector<LoraSource>& adapters) {
  Checkpoint checkpoint = testing::opened(base);
  linear::ThreadPool threads(2);
  const auto done = checkpoint.merge(adapters, threads);
  if (!done) ADD_FAILURE() << to_string(done.error());
  return checkpoint;
}

/// Row `row` of a tensor as SafeTensors have it.
std::vector<float> row_of(const Checkpoint& checkpoint, const std::string& name, int row) {
  const auto tensors =
      file_tensors(checkpoint.config(), checkpoint.model(), ModelFormat::safetensors);
  const auto found = std::ranges::find_if(
      tensors, [&](const FileTensor& tensor) { return tensor.spec.name == name; });
  const SourceRow source = source_of(*found, static_cast<std::uint64_t>(row));
  std::vector<float> out(found->row_elements());
  linear::stored_row(*source.part->matrix, source.part->first + source.row, out.data());
  return out;
}

std::vector<LoraSource> adapters_of(const nlohmann::json& golden_case) {
  std::vector<LoraSource> out;
  for (const auto& adapter : golden_case["adapters"]) {
    out.push_back({golden_lora(adapter["path"].get<std::string>()), adapter["scale"]});
  }
  return out;
}

/// A case of golden.json, on a base.
struct Variant {
  const char* name;
  std::string base;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class GoldenLora : public ::testing::TestWithParam<Variant> {
 protected:
  nlohmann::json json_ = json_file(golden_lora("golden.json"))[GetParam().name];
  Checkpoint checkpoint_ = merged(GetParam().base, adapters_of(json_));
};

TEST_P(GoldenLora, rows_are_those_of_the_other_implementation_bit_for_bit) {
  ASSERT_GE(json_["rows"].size(), 4U);
  for (const auto& [name, row] : json_["rows"].items()) {
    EXPECT_EQ(row_of(checkpoint_, name, row["row"]), row["numbers"].get<std::vector<float>>())
        << name;
  }
}

TEST_P(GoldenLora, logits_are_those_of_the_other_implementation) {
  ASSERT_GT(json_["effect"].get<double>(), 1000 * testing::golden_tolerance(json_));
  testing::expect_golden_logits(checkpoint_, json_);
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenLora,
                         ::testing::Values(Variant{"one", golden("llama")},
                                           Variant{"one", golden("llama") + "/model.gguf"},
                                           Variant{"several", golden("llama")},
                                           Variant{"several", golden("llama") + "/model.gguf"},
                                           Variant{"fused", golden("phi3")},
                                           Variant{"codes", golden_lora("llama_q8_0.gguf")}));

std::vector<StoredLinear> matrices_of(const Checkpoint& checkpoint) {
  std::vector<StoredLinear> out;
  model::for_each_weight(
      checkpoint.model(),
      [&](const std::string&, const StoredLinear& matrix) { out.push_back(matrix); },
      [](const std::string&, const std::vector<float>&) {});
  return out;
}

const linear::StoredRows& rows_in(const StoredLinear& matrix) {
  return std::get<linear::StoredRows>(matrix.form);
}

/// An adapter of rank 2 for every linear layer of `base` that has its own tensor: A has a one where
/// j = k, B the numbers of `up`.
EditableAdapter adapter_for_all(const Checkpoint& base, const std::vector<float>& up) {
  EditableAdapter adapter("llama_root");
  adapter.tensors.clear();
  std::set<std::string> targets;
  for (const FileTensor& layer :
       file_tensors(base.config(), base.model(), ModelFormat::safetensors)) {
    const std::string& name = layer.spec.name;
    const bool is_split = std::ranges::any_of(layer.parts, &WeightRows::transposed);
    if (!layer.is_matrix() || layer.role() == "embedding" || !name.ends_with(".weight")) continue;
    if (is_split) continue;  // as GGUF has latents
    const std::string module = name.substr(0, name.size() - 7);
    const std::uint64_t inputs = layer.row_elements();
    std::vector<float> ones(2 * inputs);
    ones[0] = ones[inputs + 1] = 1;
    adapter.tensors["base_model.model." + module + ".lora_A.weight"] =
        testing::floats({2, inputs}, ones);
    std::vector<float> rows(2 * layer.rows());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = up[i % up.size()];
    adapter.tensors["base_model.model." + module + ".lora_B.weight"] =
        testing::floats({layer.rows(), 2}, rows);
    targets.insert(module.substr(module.rfind('.') + 1));
  }
  adapter.config["r"] = 2;
  adapter.config["lora_alpha"] = 2;
  adapter.config["use_rslora"] = false;
  adapter.config["rank_pattern"] = adapter.config["alpha_pattern"] = nlohmann::json::object();
  adapter.config["target_modules"] = targets;
  return adapter;
}

/// Of the goldens, one folder and where there is one the GGUF file beside it.
std::vector<std::string> all_goldens() {
  std::vector<std::string> paths;
  for (const auto& folder : std::filesystem::directory_iterator(golden(""))) {
    if (std::filesystem::exists(folder.path() / "config.json")) paths.push_back(folder.path());
    const auto gguf = folder.path() / "model.gguf";
    if (std::filesystem::exists(gguf)) paths.push_back(gguf);
  }
  std::ranges::sort(paths);
  return paths;
}

TEST(Lora, goes_on_every_linear_layer_of_every_family) {
  const std::vector<float> up{0.5F, -0.25F, 1, 2, -4, 0.125F, 8};
  for (const std::string& path : all_goldens()) {
    SCOPED_TRACE(path);
    const Checkpoint plain = testing::opened(path);
    const EditableAdapter adapter = adapter_for_all(plain, up);
    ASSERT_GE(adapter.tensors.size(), 4U);
    const ScratchFolder folder;
    adapter.write(folder);
    const Checkpoint changed = merged(path, {{folder.path()}});
    for (const auto& [tensor, up_rows] : adapter.tensors) {
      if (!tensor.ends_with(".lora_B.weight")) continue;
      const std::string name = tensor.substr(17, tensor.size() - 17 - 14) + ".weight";
      const std::size_t row = up_rows.shape[0] - 1;
      std::vector<float> expected = row_of(plain, name, static_cast<int>(row));
      expected[0] += up[2 * row % up.size()];
      expected[1] += up[(2 * row + 1) % up.size()];
      const std::vector<float> after = row_of(changed, name, static_cast<int>(row));
      for (std::size_t k = 0; k < expected.size(); ++k) {  // within half an ulp of BF16
        EXPECT_NEAR(after[k], expected[k], std::abs(expected[k]) * 0x1p-8F) << name << ' ' << k;
      }
    }
  }
}

TEST(Lora, only_matrices_with_an_adapter_are_copied) {
  for (const std::string& path : {golden("llama_bf16"), golden("llama") + "/model.gguf"}) {
    const Checkpoint checkpoint = merged(path, {{golden_lora("llama_root")}});
    for (const StoredLinear& matrix : matrices_of(checkpoint)) {
      const auto& attention =
          std::get<model::StoredGroupedQuery>(checkpoint.model().layers[0].attention);
      EXPECT_EQ(rows_in(matrix).type, rows_in(attention.query).type);
    }
    const Checkpoint before = testing::opened(path);
    int changed = 0;
    const auto left = matrices_of(before);
    const auto right = matrices_of(checkpoint);
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::vector<float> a(static_cast<std::size_t>(left[i].inputs)), b = a;
      linear::stored_row(left[i], 1, a.data());
      linear::stored_row(right[i], 1, b.data());
      changed += int{a != b};
    }
    EXPECT_EQ(changed, 6) << "q_proj and down_proj of three layers";
  }
}

TEST(Lora, notes_say_what_was_merged_and_what_became_bf16) {
  const std::string path = golden_lora("llama_root");
  const Checkpoint plain = merged(golden("llama"), {{path, 0.5}});
  ASSERT_EQ(plain.notes().size(), 1U);
  EXPECT_TRUE(plain.notes()[0].starts_with("LoRA adapter '")) << plain.notes()[0];
  EXPECT_TRUE(plain.notes()[0].ends_with(" is merged into 6 layers, with the scale 0.5"))
      << plain.notes()[0];
  const Checkpoint coded = merged(golden_lora("llama_q8_0.gguf"), {{path}, {path, 0}});
  ASSERT_EQ(coded.notes().size(), 3U);
  EXPECT_TRUE(coded.notes()[1].ends_with(" has the scale 0 and changes nothing"));
  EXPECT_EQ(coded.notes()[2], "6 matrices with LoRA, stored in the file as Q8_0, became BF16");
}

TEST(Lora, a_scale_of_zero_leaves_every_bit_and_every_form) {
  linear::ThreadPool threads(1);
  for (const std::string& path :
       {golden("llama"), golden("llama_bf16"), golden_lora("llama_q8_0.gguf")}) {
    const Checkpoint checkpoint = merged(path, {{golden_lora("llama_all"), 0}});
    EXPECT_EQ(model::digest_list(checkpoint.model(), threads),
              model::digest_list(testing::opened(path).model(), threads));
  }
}

TEST(Lora, adapters_that_cancel_give_the_bits_of_a_plain_base_back) {
  const std::string path = golden_lora("llama_all");
  linear::ThreadPool threads(1);
  for (const char* const base : {"llama", "llama_bf16"}) {
    const Checkpoint checkpoint = merged(golden(base), {{path, 1}, {path, -1}});
    EXPECT_EQ(digest_of(checkpoint.model(), threads),
              digest_of(testing::opened(golden(base)).model(), threads));
  }
}

TEST(Lora, the_digest_of_the_weights_tells_adapters_and_scales_apart) {
  const std::string path = golden_lora("llama_root");
  linear::ThreadPool threads(1);
  const auto digest = [&](const std::vector<LoraSource>& adapters) {
    return to_string(digest_of(merged(golden("llama"), adapters).model(), threads));
  };
  const std::set<std::string> digests = {digest({}), digest({{path}}), digest({{path, 0.5}}),
                                         digest({{golden_lora("llama_all")}})};
  EXPECT_EQ(digests.size(), 4U);
}

TEST(Lora, merged_weights_stay_when_the_checkpoint_is_moved_and_can_be_given_back) {
  Checkpoint first = merged(golden("llama"), {{golden_lora("llama_all")}});
  const Checkpoint expected = merged(golden("llama"), {{golden_lora("llama_all")}});
  Checkpoint second = std::move(first);
  const std::string name = "model.layers.1.mlp.down_proj.weight";
  EXPECT_EQ(row_of(second, name, 3), row_of(expected, name, 3));
  for (const StoredLinear& matrix : matrices_of(second)) {
    second.will_read(matrix);
    second.done_with(matrix);
  }
  EXPECT_EQ(row_of(second, name, 3), row_of(expected, name, 3));
  for (const StoredLinear& matrix : matrices_of(second)) second.forget(matrix);
}

TEST(Lora, a_float_that_is_rounded_to_odd_rounds_on_as_the_double_does) {
  // Just above the middle of two neighbours in BF16, by less than a float can say.
  const double above = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(numerics::to_bf16(static_cast<float>(above)).bits, 0x3f80) << "rounded twice";
  EXPECT_EQ(numerics::to_bf16(detail::rounded_to_odd(above)).bits, 0x3f81);
  EXPECT_EQ(numerics::to_bf16(detail::rounded_to_odd(-above)).bits, 0xbf81);
  EXPECT_EQ(detail::rounded_to_odd(0.25), 0.25F);
  EXPECT_EQ(detail::rounded_to_odd(1e300), std::numeric_limits<float>::max());
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::ldexp(static_cast<double>(random() >> 11), -53);
    const float near = to_float(numerics::to_bf16(detail::rounded_to_odd(value)));
    const double step = std::ldexp(1.0, std::ilogb(value) - 7);
    EXPECT_LE(std::abs(near - value), step / 2) << value;
  }
}

TEST(Lora, a_folder_and_its_scale_are_one_text) {
  using Parsed = tl::expected<LoraSource, std::string>;
  EXPECT_EQ(parse_lora("a/b"), Parsed(LoraSource{"a/b", 1}));
  EXPECT_EQ(parse_lora("a/b:0.5"), Parsed(LoraSource{"a/b", 0.5}));
  EXPECT_EQ(parse_lora("a:b/c"), Parsed(LoraSource{"a:b/c", 1}));
  EXPECT_EQ(parse_lora("a:b:-2e-1"), Parsed(LoraSource{"a:b", -0.2}));
  for (const char* const scale : {"", "x", "nan", "inf", "-inf", "1e999", "1 ", "0x1", "1,5"}) {
    EXPECT_EQ(parse_lora("a:" + std::string(scale)).error(),
              "the scale '" + std::string(scale) +
                  "' of an adapter, accepted: a finite number, as in DIR:0.5");
  }
  EXPECT_EQ(parse_lora(":2").error(), "':2', accepted: the folder of an adapter, DIR or DIR:0.5");
  EXPECT_EQ(parse_lora("").error(), "'', accepted: the folder of an adapter, DIR or DIR:0.5");
}

}  // namespace
}  // namespace forge::checkpoint
