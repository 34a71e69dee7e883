// Against Python's jinja2: goldens that tests/golden/chat/make_goldens.py has made.
#include <filesystem>
#include <iomanip>
#include <map>
#include <sstream>

#include "golden_chat.h"

namespace forge::chat::testing {
namespace {

std::string hex_digest(const std::string& text) {
  std::uint64_t state = 14695981039346656037U;
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 1099511628211U;
  std::ostringstream out;
  out << std::hex << std::setw(16) << std::setfill('0') << state;
  return out.str();
}

TEST(Conformance, snippets_and_random_templates_render_as_in_python) {
  const Json context = Json::parse(golden_text("context.json"));
  std::istringstream cases(golden_text("cases.jsonl"));
  int count = 0;
  for (std::string line; std::getline(cases, line); ++count) {
    const Json golden = Json::parse(line);
    const auto text = golden["template"].get<std::string>();
    const std::string out = rendered(text, context);
    if (golden.contains("error")) {
      const bool failed = out.starts_with("syntax: line") || out.starts_with("runtime: line");
      EXPECT_TRUE(failed) << text << "\nrenders\n" << out;
    } else if (golden.contains("raised")) {
      EXPECT_EQ(out, "raised: " + golden["raised"].get<std::string>()) << text;
    } else {
      EXPECT_EQ(out, golden["text"].get<std::string>()) << text;
    }
  }
  EXPECT_GT(count, 700);
}

/// What a template makes of a conversation, as digests.txt has it. Where Python's stack is at its
/// end, a limit is at its own.
std::string word(const Template& parsed, const Json& messages, Json variables) {
  variables["messages"] = messages;
  const auto out = parsed.render(variables, options());
  if (out) return hex_digest(*out);
  if (out.error().fault == TemplateFault::raised) return "!" + hex_digest(out.error().message);
  return "error";
}

/// Compares all lines of digests.txt whose template is in `folder`.
void compare(const std::string& prefix, const std::string& folder) {
  const Json data = Json::parse(golden_text("conversations.json"));
  std::map<std::string, Json> messages;
  for (const Json& one : data["conversations"]) messages[one["name"]] = one["messages"];
  std::istringstream digests(golden_text("digests.txt"));
  std::map<std::string, Template> templates;
  int count = 0;
  for (std::string line; std::getline(digests, line);) {
    if (!line.starts_with(prefix + "/")) continue;
    std::istringstream fields(line.substr(prefix.size() + 1));
    std::string file;
    std::string conversation;
    std::getline(fields, file, '|');
    std::getline(fields, conversation, '|');
    if (!templates.contains(file)) {
      auto parsed = Template::parse(text_of(folder + "/" + file));
      ASSERT_TRUE(parsed.has_value()) << file << ": " << to_string(parsed.error());
      templates.emplace(file, *std::move(parsed));
    }
    for (const Json& setting : data["settings"]) {
      std::string expected;
      fields >> expected;
      EXPECT_EQ(word(templates.at(file), messages.at(conversation), setting["variables"]), expected)
          << file << ", " << conversation << ", " << setting["name"];
      ++count;
    }
  }
  EXPECT_GT(count, 3000);
}

TEST(Conformance, templates_like_those_of_many_families_render_as_in_python) {
  compare("families", FORGE_GOLDEN_CHAT "/families");
}

TEST(Conformance, templates_of_models_render_as_in_python) {
  if (!std::filesystem::exists(FORGE_CHAT_TEMPLATES)) {
    GTEST_SKIP() << "no folder " << FORGE_CHAT_TEMPLATES;
  }
  compare("models", FORGE_CHAT_TEMPLATES);
}

}  // namespace
}  // namespace forge::chat::testing
