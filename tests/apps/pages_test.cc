// README.md and other pages show commands and what they print. They are run here, so that the pages
// are true.
//
// Each case runs the transcripts that it claims of a page, in the page's order, in a folder of its
// own. A command that starts a server goes on in the background, on a free port, and the commands
// after it ask that port in place of 8080.
#include <algorithm>
#include <memory>

#include "apps/programs.h"
#include "apps/server_process.h"
#include "apps/transcripts.h"

namespace forge::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAddress = "127.0.0.1:8080";  ///< as the page has it
constexpr int kSkipped = 77;                        ///< exit status of FORGE_CLIENT_VENV

const std::vector<Wildcard> kWildcards = {
    // An answer's id, and when it was made.
    {std::regex(R"x("id":"cmpl-[0-9a-f]{32}")x"), R"("id":"cmpl-<id>")"},
    {std::regex(R"("created":[0-9]+)"), R"("created":<s>)"},
    // What has come back of a minute's tokens since the command before.
    {std::regex("^(x-ratelimit-remaining-tokens: )[0-9]+$"), "$1<n>"},
    {std::regex("^((?:x-ratelimit-reset-tokens|Retry-After): )[0-9]+"), "$1<n>"},
    {std::regex("(for this client: )[0-9]+( are left, 81 are asked for; try again in )[0-9]+"),
     "$1<n>$2<n>"},
    // How many cores this machine has.
    {std::regex("(of weights, .*, )[0-9]+ threads$"), "$1<n> threads"},
    // forge-bench: tokens a second, latencies, seconds.
    {std::regex("^((?:sequential|continuous|speculative) +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+% +[0-9]+)"
                " +[0-9]+( +[0-9]+ +[0-9]+) +[0-9]+/[0-9]+ +(-|[0-9.]+%)$"),
     "$1 <tok/s>$2 <us>/<us> $3"},
    {std::regex("(digest [0-9a-f]{16}  )[0-9.]+ s,"), "$1<s> s,"},
    // forge-bench --target null: what the policy and the run took.
    {std::regex("^(policy +)[0-9.]+ ns (.*\\()[0-9.]+ s (.*less )[0-9]+ ns"),
     "$1<ns> ns $2<s> s $3<ns> ns"},
    {std::regex("^(whole run +)[0-9]+( requests/s \\()[0-9.]+( s of CPU time, )[0-9.]+ s,"),
     "$1<n>$2<s>$3<s> s,"},
};

/// The transcripts of a section whose command has a match of `commands` in it.
struct Claim {
  std::string section;
  std::string commands;

  bool takes(const Transcript& transcript) const {
    return transcript.section == section &&
           std::regex_search(transcript.command, std::regex(commands));
  }
};

struct Case {
  std::string name;
  std::string page;
  std::vector<Claim> claims;
  std::vector<std::string> tools = {};
  std::vector<std::string> data = {};  ///< of the folder with the test data
  bool openai_client = false;

  bool takes(const Transcript& transcript) const {
    return std::any_of(claims.begin(), claims.end(),
                       [&](const Claim& claim) { return claim.takes(transcript); });
  }
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

const std::string kReadme = "README.md";
const std::string kPages[] = {kReadme,
                              "book/sampling.md",
                              "book/serving.md",
                              "book/speculation.md",
                              "book/structured_output.md",
                              "bench/README.md"};

std::string page_text(const std::string& page) { return read_file(FORGE_SOURCE_DIR "/" + page); }

const std::vector<Case> kCases = {
    {.name = "built_in_model",
     .page = kReadme,
     .claims = {{"Two commands", ""}, {"Run", "^curl"}},
     .tools = {"curl"}},
    {.name = "recorded_run", .page = kReadme, .claims = {{"Check", ""}}},
    {.name = "benchmark", .page = kReadme, .claims = {{"Measure", "^forge-bench$"}}},
    {.name = "openai_client",
     .page = "book/serving.md",
     .claims = {{"Clients", "^python client.py$"}},
     .tools = {"python3"},
     .openai_client = true},
    {.name = "sampling",
     .page = "book/sampling.md",
     .claims = {{"Ask", ""}, {"What is told of tokens", ""}},
     .tools = {"curl", "jq"}},
    {.name = "chat", .page = "book/serving.md", .claims = {{"Chat", ""}}, .tools = {"curl", "jq"}},
    {.name = "drafts",
     .page = "book/speculation.md",
     .claims = {{"What proposes", ""}},
     .tools = {"curl", "jq"}},
    {.name = "structured_output",
     .page = "book/structured_output.md",
     .claims = {{"Structured output", ""}, {"What can be written", ""}},
     .tools = {"curl", "jq"}},
    {.name = "answer_as_json",
     .page = "book/serving.md",
     .claims = {{"An answer as JSON", ""}},
     .tools = {"curl", "jq"}},
    {.name = "calls_of_tools",
     .page = "book/serving.md",
     .claims = {{"Tools", ""}},
     .tools = {"curl", "jq"}},
    {.name = "fields", .page = "book/serving.md", .claims = {{"Fields", ""}}, .tools = {"curl"}},
    {.name = "batches",
     .page = "book/serving.md",
     .claims = {{"Batches", ""}},
     .tools = {"curl", "jq"}},
    {.name = "receipts",
     .page = "book/serving.md",
     .claims = {{"Receipts", ""}},
     .tools = {"curl", "jq"}},
    {.name = "limits",
     .page = "book/serving.md",
     .claims = {{"Shares and limits", ""}},
     .tools = {"curl"}},
    {.name = "last_steps",
     .page = "book/serving.md",
     .claims = {{"The last steps", ""}},
     .tools = {"curl", "jq"}},
    {.name = "metrics", .page = "book/serving.md", .claims = {{"Metrics", ""}}, .tools = {"curl"}},
    {.name = "model_from_a_file",
     .page = "book/serving.md",
     .claims = {{"A model from a file", ""}},
     .tools = {"curl", "jq"},
     .data = {"stories260K"}},
    {.name = "production_traffic",
     .page = "bench/README.md",
     .claims = {{"Production traffic, whole", ""}},
     .data = {"traces/mooncake_conversation.jsonl"}},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// An answer of the server is one line, which the page wraps before a name.
std::vector<std::string> unwrapped(const std::vector<std::string>& lines) {
  std::vector<std::string> whole;
  for (const std::string& line : lines) {
    if (!whole.empty() && line.rfind(" \"", 0) == 0) {
      whole.back() += line.substr(1);
    } else {
      whole.push_back(line);
    }
  }
  return whole;
}

class Pages : public ProgramTest, public ::testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    link(FORGE_SOURCE_DIR "/tests");
    for (const std::string& tool : GetParam().tools) {
      if (run("command -v " + tool).status != 0) GTEST_SKIP() << "needs " << tool;
    }
    for (const std::string& data : GetParam().data) {
      if (!fs::exists(fs::path(FORGE_DATA) / data)) GTEST_SKIP() << "needs " FORGE_DATA "/" << data;
      link(fs::path(FORGE_DATA) / data);
    }
    if (GetParam().openai_client) make_client();
  }

  void expect_shows_what_is_printed(const Transcript& transcript) {
    const std::string text = printed_by(transcript.command);
    const bool wraps = transcript.command.rfind("curl ", 0) == 0;
    auto shown = wraps ? unwrapped(transcript.output) : transcript.output;
    // Of a run that is recorded the page shows the trace, by the commands that follow.
    const bool records = transcript.command.find(" --trace ") != std::string::npos;
    if (records && shown.empty()) shown = {"..."};
    auto printed = lines_of(text);
    for (auto* lines : {&shown, &printed}) {
      for (std::string& line : *lines) line = generalized(line, kWildcards);
    }
    EXPECT_TRUE(shows(shown, printed)) << transcript.command << '\n' << text;
  }

 private:
  void link(const fs::path& target) const {
    fs::create_symlink(target, path(target.filename().string()));
  }

  /// Writes the page's program to a file; puts first on the PATH a python that has OpenAI's client.
  void make_client() {
    const Outcome made = run("python3 " FORGE_CLIENT_VENV);
    if (made.status == kSkipped) GTEST_SKIP() << made.output;
    ASSERT_EQ(made.status, 0) << made.output;
    const fs::path python = lines_of(made.output).back();
    setup_ = "PATH='" + python.parent_path().string() + "':\"$PATH\"\n";
    const std::string program = fenced_block(page_text(GetParam().page), "python");
    EXPECT_NE(program.find(kAddress), program.npos) << program;
    std::ofstream(path("client.py")) << replaced(program, kAddress, server_address());
  }

  std::string printed_by(const std::string& command) {
    if (command == "scripts/run") return printed_by("forge-infer");  // which it ends in
    if (command.rfind("forge-infer", 0) == 0) return start_server(command);
    const bool asks = command.find(kAddress) != command.npos;
    const std::string here = asks ? replaced(command, kAddress, server_address()) : command;
    const Outcome outcome = run_in(path(""), setup_ + here);
    EXPECT_LE(outcome.status, 1) << command;
    return outcome.output;
  }

  /// Returns what the server says when it listens.
  std::string start_server(const std::string& command) {
    server_ = ServerProcess::by_shell(path(""), FORGE_PROGRAMS "/" + command);
    return replaced(server_->said(), server_address(), kAddress);
  }

  /// Of the server that was started last: of the reference model, if there is none.
  std::string server_address() {
    if (!server_) start_server("forge-infer");
    return "127.0.0.1:" + std::to_string(server_->port());
  }

  std::unique_ptr<ServerProcess> server_;
  std::string setup_;  ///< before each command
};

TEST_P(Pages, show_what_the_commands_print) {
  for (const Transcript& transcript : transcripts_of(page_text(GetParam().page))) {
    if (GetParam().takes(transcript)) expect_shows_what_is_printed(transcript);
  }
}

INSTANTIATE_TEST_SUITE_P(, Pages, ::testing::ValuesIn(kCases),
                         [](const auto& instance) { return instance.param.name; });

/// How many cases run it.
std::ptrdiff_t cases_of(const std::string& page, const Transcript& transcript) {
  return std::count_if(kCases.begin(), kCases.end(), [&](const Case& value) {
    return value.page == page && value.takes(transcript);
  });
}

TEST(PagesAsAWhole, have_no_transcript_that_is_not_run_or_run_twice) {
  for (const std::string& page : kPages) {
    for (const Transcript& transcript : transcripts_of(page_text(page))) {
      EXPECT_EQ(cases_of(page, transcript), 1)
          << page << ", " << transcript.section << ": " << transcript.command;
    }
  }
  for (const Case& value : kCases) {
    const auto transcripts = transcripts_of(page_text(value.page));
    for (const Claim& claim : value.claims) {
      EXPECT_TRUE(std::any_of(transcripts.begin(), transcripts.end(),
                              [&](const auto& transcript) { return claim.takes(transcript); }))
          << value.name << " finds nothing in section '" << claim.section << "'";
    }
  }
}

TEST(PagesAsAWhole, would_not_hide_a_new_transcript) {
  const std::string more = "\n## News\n\n    $ forge-bench --requests 1\n\n```sh\n$ ls\n```\n";
  const auto transcripts = transcripts_of(page_text(kReadme) + more);
  ASSERT_GT(transcripts.size(), 2U);
  EXPECT_EQ(cases_of(kReadme, transcripts[transcripts.size() - 2]), 0);
  EXPECT_EQ(cases_of(kReadme, transcripts.back()), 0);
  EXPECT_EQ(cases_of(kReadme, {"Measure", "forge-bench --requests 1", {}}), 0);
}

TEST(PagesAsAWhole, have_a_line_for_each_wildcard) {
  for (const Wildcard& wildcard : kWildcards) {
    bool found = false;
    for (const std::string& page : kPages) {
      for (const Transcript& transcript : transcripts_of(page_text(page))) {
        for (const std::string& line : unwrapped(transcript.output)) {
          found = found || std::regex_search(line, wildcard.pattern);
        }
      }
    }
    EXPECT_TRUE(found) << wildcard.replacement;
  }
}

TEST(PagesAsAWhole, a_digest_or_a_count_of_steps_is_no_wildcard) {
  const std::string row =
      "continuous         64        0      2470    0.0%       4096     186352       257          0"
      "            61/72         -";
  const std::string faster = replaced(replaced(row, "186352", " 90001"), "61/72", "8/125");
  EXPECT_EQ(generalized(row, kWildcards), generalized(faster, kWildcards));
  EXPECT_NE(generalized(row, kWildcards), generalized(replaced(row, "257", "258"), kWildcards));
  EXPECT_NE(generalized(row, kWildcards), generalized(replaced(row, "4096", "4097"), kWildcards));
  const std::string end =
      "continuous   digest 1ff31548bc952f69  0.02 s, 2.90 s on the virtual clock";
  EXPECT_EQ(generalized(end, kWildcards), generalized(replaced(end, "0.02", "1.5"), kWildcards));
  EXPECT_NE(generalized(end, kWildcards), generalized(replaced(end, "2.90", "2.91"), kWildcards));
  EXPECT_NE(generalized(end, kWildcards), generalized(replaced(end, "f69", "f68"), kWildcards));
}

TEST(PagesAsAWhole, scripts_run_ends_in_the_server_that_is_run_for_it) {
  const std::string script = read_file(FORGE_SOURCE_DIR "/scripts/run");
  EXPECT_NE(script.find("\nexec build/release/bin/forge-infer \"$@\"\n"), script.npos);
}

}  // namespace
}  // namespace forge::testing
