#include "load_flags.h"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "flag_range.h"
#include "forge/core/quoted.h"

namespace forge::apps {
namespace {

constexpr const char* kGroup = "A server";
constexpr std::array kBesideUrl = {"--help",     "--url",     "--served-model", "--concurrency",
                                   "--rate",     "--goodput", "--workload",     "--requests",
                                   "--insecure", "--json"};
constexpr std::array kOfUrl = {"--served-model", "--concurrency", "--rate", "--goodput",
                               "--insecure"};

/// "2.5" requests a second, or "recorded".
void set_rate(const std::string& text, LoadOptions& options) {
  if (text == "recorded") {
    options.kind = LoadKind::recorded;
    return;
  }
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, options.rate);
  if (error != std::errc() || stopped != end || !(options.rate >= 1e-6) || options.rate > 1e6) {
    throw CLI::ValidationError("--rate", in_quotes(text) +
                                             " is no rate: accepted are 0.000001 .. 1000000 "
                                             "requests a second and 'recorded'");
  }
  options.kind = LoadKind::poisson;
}

}  // namespace

tl::expected<LoadLimit, std::string> parse_limit(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto time = from_name<LoadTime>(text.substr(0, colon));
  LoadLimit limit{.time = time.value_or(LoadTime::itl)};
  const char* const end = text.data() + text.size();
  const char* const begin = colon == text.npos ? end : text.data() + colon + 1;
  const auto [stopped, error] = std::from_chars(begin, end, limit.ms);
  const bool is_number = error == std::errc() && stopped == end && std::isfinite(limit.ms);
  if (limit.time == LoadTime::itl || !is_number || limit.ms <= 0) {
    return tl::unexpected(in_quotes(text) +
                          " is no limit: accepted are ttft:MS, tpot:MS and e2el:MS, in "
                          "milliseconds above 0");
  }
  return limit;
}

void add_load_flags(CLI::App& app, LoadFlags& flags) {
  LoadOptions& options = flags.options;
  const auto set_url = [&flags](const std::string& text) {
    auto url = parse_url(text);
    if (!url) throw CLI::ValidationError("--url", url.error());
    flags.options.url = *std::move(url);
    flags.is_on = true;
    const char* const key = std::getenv("OPENAI_API_KEY");
    if (key != nullptr) flags.options.api_key = key;
  };
  app.add_option_function<std::string>(
         "--url", set_url,
         "Send the workload to the OpenAI server at http://HOST:PORT, https://HOST:PORT or "
         "unix:SOCKET, instead of running a target, with the key in OPENAI_API_KEY, if there is "
         "one")
      ->type_name("URL")
      ->group(kGroup);
  app.add_flag("--insecure", options.any_certificate,
               "Send the key and the prompts to a server whatever its certificate is, one that "
               "signs itself, say; otherwise it must be of this host and trusted")
      ->group(kGroup);
  app.add_option("--served-model", options.model, "The model to ask for [the first that it lists]")
      ->group(kGroup);
  app.add_option("--concurrency", options.concurrency,
                 "Clients, each with one request at a time, which is how requests come unless "
                 "there is a --rate")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 16))
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--rate", [&options](const std::string& text) { set_rate(text, options); },
         "Requests a second, which come at random whatever the server does; or recorded: when "
         "those of the workload came")
      ->group(kGroup);
  const auto set_limits = [&flags](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const auto limit = parse_limit(text);
      if (!limit) throw CLI::ValidationError("--goodput", limit.error());
      flags.limits.push_back(*limit);
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--goodput", set_limits,
         "Count the requests that keep a limit, in milliseconds: ttft:MS (time to first token), "
         "tpot:MS (time per token after it) or e2el:MS (all of it); may be given several times")
      ->group(kGroup);
}

std::string load_fault(const CLI::App& app, const LoadFlags& flags) {
  const auto is_in = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0) continue;
    if (flags.is_on && !is_in(kBesideUrl, name)) return name + " does not apply to --url";
    if (!flags.is_on && is_in(kOfUrl, name)) return name + " needs --url";
  }
  if (app.count("--rate") > 0 && app.count("--concurrency") > 0) {
    return "--rate and --concurrency exclude each other";
  }
  return {};
}

}  // namespace forge::apps
