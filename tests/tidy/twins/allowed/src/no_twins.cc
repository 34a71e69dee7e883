namespace forge {

class Declared;
template <>
struct Specialised<int> {};
struct Second {
  struct Part {};
};

namespace {
struct First {};
}  // namespace

void local() {
  struct Second {};
}

}  // namespace forge
