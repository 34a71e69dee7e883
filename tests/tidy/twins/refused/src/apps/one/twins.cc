struct SharedTwin {};

namespace forge::detail {

struct ProgramTwin {};

}  // namespace forge::detail
