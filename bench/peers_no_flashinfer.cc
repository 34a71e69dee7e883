#include "peers_flashinfer.h"

namespace forge {

tl::expected<std::unique_ptr<PagedAttention>, std::string> make_flashinfer(
    FlashInferWay /*way*/, const PagedCache& /*cache*/, const PagedWorkspace& /*workspace*/) {
  return tl::unexpected(std::string("built without FlashInfer"));
}

}  // namespace forge
