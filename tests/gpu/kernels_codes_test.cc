// Weights of codes: code_rows, project and embed have the bits of linear/product.h and of
// stored_row, for every stored form of codes.
#include <algorithm>

#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"
#include "gpu/coded_rows.h"
#include "gpu/kernel_rig.h"
#include "linear/code_layers.h"

namespace forge::gpu {
namespace {

using linear::Form;
using linear::kForms;

std::size_t size(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

class Codes : public KernelTest {
 protected:
  void expect_coded(std::vector<float> x, int rows, int inputs,
                    const std::vector<std::int32_t>& order = {}) const {
    SCOPED_TRACE(testing::Message() << "rows " << rows << " K " << inputs);
    const std::vector<RowGroup> after = coded(x, inputs, order);
    const auto rig = this->rig(static_cast<std::uint64_t>(rows + inputs));
    const CodeRowsArgs args{
        .row_count = rig->input("row_count", std::vector{static_cast<std::uint32_t>(rows)}),
        .x = rig->input("x", x),
        .coded = rig->output("coded", after),
        .inputs = inputs,
        .order = order.empty() ? nullptr : rig->input("order", order)};
    rig->expect(launch_of(args, args.shape(rows + 2)));
  }

  /// The rows are coded and multiplied as a pass does it: each section's output beside the others'.
  void expect_product(const std::vector<linear::StoredLinear>& stored, int rows,
                      int warps = 0) const {
    const int inputs = stored.front().inputs;
    SCOPED_TRACE(testing::Message() << "rows " << rows << " K " << inputs);
    Random random(static_cast<std::uint64_t>(100 * inputs + rows));
    linear::ThreadPool pool(1);
    const linear::LinearWeights weights(stored, pool, linear::Numerics::canonical);
    const std::vector<float> x = random.reals(size(rows, inputs));
    const std::vector<float> before = random.reals(size(rows + 2, weights.outputs()));
    std::vector<float> after = before;
    linear::multiply_reference(x.data(), rows, stored, after.data());

    const auto rig = this->rig(random.word());
    const std::uint32_t* count =
        rig->input("row_count", std::vector{static_cast<std::uint32_t>(rows)});
    float* y = rig->output("y", before, after);
    std::vector<KernelLaunch> launches;
    for (const linear::Section& section : weights.sections()) {
      const auto* const panels = section.panels;
      const std::size_t bytes =
          section.panel_bytes * static_cast<std::size_t>(section.panel_count());
      const ProjectArgs args{
          .row_count = count,
          .x = nullptr,
          .panels = rig->input("panels", std::vector<std::byte>(panels, panels + bytes)),
          .y = y + section.first_output,
          .inputs = inputs,
          .outputs = section.outputs,
          .accumulate = false,
          .y_stride = weights.outputs(),
          .kind = section.kind,
          .coded = rig->input("coded", coded(x, inputs, section.order))};
      simt::LaunchShape shape = args.shape(rows + 2);
      if (warps > 0) shape.threads = warps * simt::kWarpSize;
      launches.push_back(launch_of(args, shape));
    }
    rig->expect(launches);
  }

  void expect_embedding(const linear::StoredLinear& stored) const {
    const auto width = static_cast<std::size_t>(stored.inputs);
    const std::vector<RowInput> rows{{.token = 39}, {.token = 0}, {.token = 31}, {.token = 32}};
    std::vector<float> after(rows.size() * width);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      linear::stored_row(stored, static_cast<int>(rows[row].token), &after[row * width]);
      for (std::size_t i = 0; i < width; ++i) after[row * width + i] *= 1.7F;
    }
    linear::ThreadPool pool(1);
    const linear::LinearWeights weights(std::span(&stored, 1), pool);
    const linear::Section& section = weights.sections().front();
    const auto rig = this->rig();
    const EmbedArgs args{
        .counts = rig->input("counts", std::vector<PassCounts>{{.rows = 4}}),
        .rows = rig->input("rows", rows),
        .drafts = rig->input("drafts", std::vector<std::uint32_t>{0}),
        .embedding = rig->input(
            "embedding", std::vector<std::byte>(section.panels, section.panels + weights.bytes())),
        .hidden = rig->output("hidden", after),
        .hidden_size = stored.inputs,
        .multiplier = 1.7F,
        .kind = section.kind};
    rig->expect(launch_of(args, args.shape(4)));
  }
};
FORGE_KERNEL_TEST_TARGETS(Codes);

TEST_P(Codes, RowsInGroupsOf32AreThoseOfTheCpu) {
  Random random(5);
  for (const int inputs : {1, 31, 32, 33, 64, 100, 512, 530, 1025}) {
    for (const int rows : {1, 3}) expect_coded(random.reals(size(rows, inputs)), rows, inputs);
  }
}

TEST_P(Codes, RowsOfExtremes) {
  std::vector<float> x(6 * 32);
  std::fill_n(x.begin() + 32, 32, -0.0F);
  std::fill_n(x.begin() + 64, 32, 190 * 0x1p-149F);  // a subnormal scale
  std::fill_n(x.begin() + 96, 32, 0x1.fffffep+127F);
  for (std::size_t i = 0; i < 32; ++i) {
    x[128 + i] = static_cast<float>(static_cast<int>(i) - 16) * 7.5F;  // ties
    x[160 + i] = i == 31 ? -3.0F : 0.0F;
  }
  expect_coded(x, 1, 6 * 32);
  expect_coded(x, 6, 32);
}

TEST_P(Codes, RowsWithInputsInAnOrder) {
  Random random(6);
  std::vector<std::int32_t> order(96);
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int32_t>(k * 37 % 96);
  expect_coded(random.reals(2 * 96), 2, 96, order);
}

TEST_P(Codes, ProductsOfEveryForm) {
  for (const Form form : kForms) {
    SCOPED_TRACE(name_of(form));
    const auto layer =
        linear::code_layer({.form = form, .outputs = 40, .inputs = 512, .group_size = 64});
    for (const int rows : {1, 3, 8, 9}) expect_product({layer->linear}, rows);
  }
}

TEST_P(Codes, InputsOfEveryTail) {
  for (const Form form : {Form::q8_0, Form::q5_1, Form::int8, Form::gptq, Form::mxfp4}) {
    SCOPED_TRACE(name_of(form));
    for (const int inputs : {32, 64, 256, 288, 320}) {
      const auto layer =
          linear::code_layer({.form = form, .outputs = 72, .inputs = inputs, .group_size = 32});
      expect_product({layer->linear}, 2);
    }
  }
}

TEST_P(Codes, SeveralRoundsHaveTheSameBitsForEveryNumberOfWarps) {
  for (const Form form : {Form::q4_k, Form::q2_k, Form::q6_k}) {
    const auto layer = linear::code_layer({.form = form, .outputs = 32, .inputs = 1024});
    for (const int warps : {1, 3, 8}) expect_product({layer->linear}, 5, warps);
  }
}

TEST_P(Codes, SectionsOfSeveralKindsAndOrdersSideBySide) {
  const auto with = [](Form form, int outputs) {
    return linear::code_layer({.form = form, .outputs = outputs, .inputs = 256});
  };
  const auto a = with(Form::q4_k, 40);
  const auto b = with(Form::gptq_act_order, 32);
  const auto c = with(Form::q6_k, 8);
  expect_product({a->linear, b->linear, c->linear}, 5);
}

TEST_P(Codes, EmbeddingsOfEveryForm) {
  for (const Form form : kForms) {
    if (form == Form::gptq_act_order) continue;  // refused (gpu_model.h)
    SCOPED_TRACE(name_of(form));
    const auto layer =
        linear::code_layer({.form = form, .outputs = 40, .inputs = 256, .group_size = 64});
    expect_embedding(layer->linear);
  }
  const auto narrow = linear::code_layer({.form = Form::int8, .outputs = 40, .inputs = 50});
  expect_embedding(narrow->linear);
}

}  // namespace
}  // namespace forge::gpu
