#include "dialogue.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "forge/core/check.h"
#include "forge/text/utf8_stream.h"

namespace forge::apps {

void Dialogue::set_system(std::string_view text) { system_ = text::to_valid_utf8(text); }

void Dialogue::ask(std::string_view question) {
  FORGE_CHECK(!waits(), "a question waits for its answer");
  turns_.push_back(text::to_valid_utf8(question));
}

void Dialogue::answer(std::string_view text) {
  FORGE_CHECK(waits(), "no question waits");
  turns_.push_back(text::to_valid_utf8(text));
}

void Dialogue::take_back() {
  FORGE_CHECK(waits(), "no question waits");
  turns_.pop_back();
}

nlohmann::ordered_json Dialogue::messages() const {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", turns_[i]}});
  }
  return messages;
}

tl::expected<void, std::string> save(const Dialogue& dialogue, const std::string& path) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  if (out << dialogue.messages().dump(2) << '\n' << std::flush) return {};
  return tl::unexpected("'" + path + "' cannot be written: " + std::strerror(errno));
}

}  // namespace forge::apps
