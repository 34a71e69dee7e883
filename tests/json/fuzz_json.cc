// Any bytes as a JSON text: refused with a message, or the tree of nlohmann's own parser, whose
// members are read or refused with a message that is one line.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "forge/core/check.h"
#include "forge/json/fields.h"

namespace {

using forge::json::Fault;
using forge::json::Fields;

void read(const Fields& fields) {
  fields.integer("a", {-1, 1}, 0);
  fields.number("b", {0, 1});
  fields.text("deep", "");
  fields.integers("", {0, 5});
  fields.texts("e");
  for (const Fields& member : fields.objects()) read(member);
  for (const Fields& member : fields.list("x")) read(member);
  fields.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tree = forge::json::parse(text);
  if (!tree) {
    FORGE_CHECK(!tree.error().message.empty());
    return 0;
  }
  FORGE_CHECK(*tree == nlohmann::json::parse(text), "another tree");
  Fault fault;
  read(Fields(*tree, "", fault));
  for (const char c : fault.message) FORGE_CHECK(c >= ' ' && c <= '~', "not printable");
  FORGE_CHECK(tree->is_object() || fault.is_set());
  return 0;
}
