#include "code_kernels.h"

#include <algorithm>
#include <cstring>

#include "code_rows.h"
#include "forge/core/check.h"
#include "forge/numerics/canonical.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "code_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "code_few-inl.h"
#include "code_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace forge::linear::codes::HWY_NAMESPACE {

/// Calls use(Kind()) with the kind of panels `kind`.
template <class Use>
auto with_kind(PanelKind kind, const Use& use) {
  switch (kind) {
    case PanelKind::q8_0:
      return use(Q80());
    case PanelKind::int8:
      return use(Int8());
    case PanelKind::q4_0:
      return use(Q40());
    case PanelKind::int4:
      return use(Int4());
    case PanelKind::q5_0:
      return use(Q50());
    case PanelKind::q5_1:
      return use(Q51());
    case PanelKind::q4_k:
      return use(Q4K());
    case PanelKind::q5_k:
      return use(Q5K());
    case PanelKind::q6_k:
      return use(Q6K());
    case PanelKind::table4:
      return use(Table4());
    case PanelKind::q2_k:
      return use(Q2K());
    case PanelKind::q3_k:
      return use(Q3K());
    default:
      FORGE_CHECK(false, "kind=", static_cast<int>(kind), " has no codes");
  }
}

template <class Dot, class Kind>
void multiply_panels(const PanelProduct& p) {
  if constexpr (kFewRows > 0) {
    if (p.rows <= kFewRows) return multiply_few_rows<Dot, Kind>(p);
  }
  Block block;
  const int groups = group_count(p.inputs);
  for (int first = 0; first < p.rows; first += kRowBlock) {
    const int rows = block_rows(first, p.rows);
    const CodedGroup* const x = p.converted->groups + block_begin(first, groups);
    for (int panel = p.first_panel; panel < p.end_panel; ++panel) {
      const std::byte* const weights =
          p.section->panels + static_cast<std::size_t>(panel) * p.section->panel_bytes;
      multiply_many<Dot, Kind>(weights, groups, x, rows, block);
      store(p, first, rows, panel, block.sums);
    }
  }
}

template <class Dot>
void multiply_kind(const PanelProduct& p) {
  with_kind(p.section->kind, [&]<class Kind>(Kind) { multiply_panels<Dot, Kind>(p); });
}

int panel_step_impl(PanelKind kind, int rows) {
  return with_kind(kind, [&]<class Kind>(Kind) { return few_panels<Kind>(rows); });
}

bool has_vnni() {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

void multiply_impl(const PanelProduct& product, [[maybe_unused]] ByteProducts products) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (products == ByteProducts::fastest && has_vnni()) return multiply_kind<VnniDot>(product);
#endif
#if HWY_TARGET == HWY_AVX2
  with_kind(product.section->kind,
            [&]<class Kind>(Kind) { multiply_panels<DotOf<Kind::kBits>, Kind>(product); });
#else
  multiply_kind<WideningDot>(product);
#endif
}

std::string_view instructions_impl() {
  return has_vnni() ? "AVX-512 VNNI" : hwy::TargetName(HWY_TARGET);
}

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::linear::codes {

HWY_EXPORT(multiply_impl);
HWY_EXPORT(panel_step_impl);
HWY_EXPORT(instructions_impl);

void multiply(const PanelProduct& product, ByteProducts products) {
  HWY_DYNAMIC_DISPATCH(multiply_impl)(product, products);
}

void multiply(const PanelProduct& product) { multiply(product, ByteProducts::fastest); }

int panel_step(PanelKind kind, int rows) {
  return HWY_DYNAMIC_DISPATCH(panel_step_impl)(kind, rows);
}

std::string_view instructions_used(PanelKind) { return HWY_DYNAMIC_DISPATCH(instructions_impl)(); }

}  // namespace forge::linear::codes
#endif  // HWY_ONCE
