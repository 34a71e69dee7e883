// DynamicLibrary: a shared library that is looked up when the program runs, so that the program
// starts without it. It stays loaded.
//
// Example:
//
//   auto library = DynamicLibrary::open("libm.so.6");
//   double (*cosine)(double) = nullptr;
//   if (library) library->find(cosine, "cos");
//   return library && library->complete();
#pragma once

#include <dlfcn.h>

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace forge::cuda {

class DynamicLibrary {
 public:
  /// Errors: what the loader says.
  static tl::expected<DynamicLibrary, std::string> open(const std::string& name) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW);
    if (handle == nullptr) return tl::unexpected(std::string(dlerror()));
    return DynamicLibrary(handle, name);
  }

  template <class Function>
  void find(Function& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<Function>>(dlsym(handle_, symbol));
    if (function == nullptr && missing_.empty()) missing_ = symbol;
  }

  /// Were all found? Errors: the first that was not.
  tl::expected<void, std::string> complete() const {
    if (missing_.empty()) return {};
    return tl::unexpected(name_ + " lacks " + missing_);
  }

 private:
  DynamicLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

  void* handle_;
  std::string name_;
  std::string missing_;
};

}  // namespace forge::cuda
