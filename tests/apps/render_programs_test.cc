// forge-model render as a user runs it.
#include <fstream>

#include "apps/model_programs.h"

namespace forge::testing {
namespace {

const std::string kConversations = FORGE_SOURCE_DIR "/examples/conversations";

class RenderPrograms : public ModelProgramTest {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  static Outcome render(const std::string& chat_template, const std::string& messages,
                        const std::string& more = "") {
    return forge_model("render " + chat_template + " --messages " + messages + ' ' + more);
  }
};

TEST_F(RenderPrograms, messages_tools_and_spellings_reach_the_template) {
  const std::string all = file("all.jinja",
                               "{{ bos_token }}{{ messages | length }} {{ tools[0].function.name }}"
                               "{{ ' go' if add_generation_prompt }}{{ eos_token }}");
  const Outcome outcome = render(
      all, kConversations + "/weather.json",
      "--tools " + kConversations + "/tools.json --generation-prompt --bos '<s>' --eos '</s>'");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "<s>6 temperature go</s>");
  EXPECT_EQ(render(file("none.jinja", "{{ tools }}{{ bos_token is defined }}"),
                   "- < " + kConversations + "/hello.json")
                .output,
            "NoneFalse");
}

TEST_F(RenderPrograms, what_cannot_be_used_is_refused_by_name) {
  const std::string plain = kConversations + "/plain.jinja";
  const std::string hello = kConversations + "/hello.json";
  const std::string twice = file("twice.json", R"([{"role": "user", "role": "user"}])");
  const std::string object = file("object.json", "{}");
  const std::string numbers = file("numbers.json", "[1]");
  const std::string unknown = file("unknown.jinja", "a\n{{ b | nope }}");
  for (const auto& [outcome, expected] : {
           std::pair{render("/nowhere", hello), "TEMPLATE: '/nowhere' cannot be read"},
           {render(unknown, hello), "unknown.jinja' line 2: No filter named 'nope'."},
           {render(plain, "/nowhere"), "--messages: '/nowhere' cannot be read"},
           {render(plain, twice), "twice.json' has the key 'role' twice"},
           {render(plain, object), "object.json' is no JSON list"},
           {render(plain, numbers), "messages are no list of objects"},
           {render(plain, hello, "--tools " + object), "object.json' is no JSON list"},
       }) {
    EXPECT_EQ(outcome.status, 2) << expected;
    EXPECT_TRUE(has(outcome, expected)) << outcome.output;
  }
}

}  // namespace
}  // namespace forge::testing
