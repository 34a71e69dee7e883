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
#include "code_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace forge::linear::codes::HWY_NAMESPACE {

template <class Dot>
void multiply_kind(const PanelProduct& p) {
  switch (p.section->kind) {
    case PanelKind::q8_0:
      return multiply_panels<Dot, Q80>(p);
    case PanelKind::int8:
      return multiply_panels<Dot, Int8>(p);
    case PanelKind::q4_0:
      return multiply_panels<Dot, Q40>(p);
    case PanelKind::int4:
      return multiply_panels<Dot, Int4>(p);
    case PanelKind::q5_0:
      return multiply_panels<Dot, Q50>(p);
    case PanelKind::q5_1:
      return multiply_panels<Dot, Q51>(p);
    case PanelKind::q4_k:
      return multiply_panels<Dot, Q4K>(p);
    case PanelKind::q5_k:
      return multiply_panels<Dot, Q5K>(p);
    case PanelKind::q6_k:
      return multiply_panels<Dot, Q6K>(p);
    default:
      FORGE_CHECK(false, "kind=", static_cast<int>(p.section->kind), " has no codes");
  }
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
  multiply_kind<WideningDot>(product);
}

std::string_view instructions_impl() {
  return has_vnni() ? "AVX-512 VNNI" : hwy::TargetName(HWY_TARGET);
}

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::linear::codes {

HWY_EXPORT(multiply_impl);
HWY_EXPORT(instructions_impl);

void multiply(const PanelProduct& product, ByteProducts products) {
  HWY_DYNAMIC_DISPATCH(multiply_impl)(product, products);
}

void multiply(const PanelProduct& product) { multiply(product, ByteProducts::fastest); }

int panel_step(int rows) { return rows <= kFewRows ? kFewPanels : 1; }

std::string_view instructions_used(PanelKind) { return HWY_DYNAMIC_DISPATCH(instructions_impl)(); }

}  // namespace forge::linear::codes
#endif  // HWY_ONCE
