namespace forge {
namespace detail {

class [[nodiscard]] Twin {};

class Outer {
  enum Nested : int { kOne };
};

}  // namespace detail
}  // namespace forge
