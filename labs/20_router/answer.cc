// A Router that is told a story: what replicas publish, which requests come, which of them end.
#include <string>

#include "answering.h"
#include "forge/core/check.h"
#include "forge/core/prefix_hash.h"
#include "router.h"

namespace forge::labs {
namespace {

using apps::Route;
using apps::Router;
using apps::RoutingRule;

constexpr std::uint64_t kKey = 20;

RoutingRule rule_of(const std::string& name) {
  const std::optional<RoutingRule> rule = from_name<RoutingRule>(name);
  FORGE_CHECK(rule, "no rule ", name);
  return *rule;
}

/// What happens: one of the members `stores`, `forgets`, `send`, `end`, `asks` says what.
class Story {
 public:
  Story(const Json& input, bool with_tokens)
      : with_tokens_(with_tokens),
        block_size_(whole(input, "block_size")),
        replicas_(whole(input, "replicas")),
        router_(rule_of(input.at("rule").get<std::string>()), config(), replicas_) {
    FORGE_CHECK(block_size_ > 0 && replicas_ > 0, "a cluster of nothing");
  }

  Json play(const Json& steps) {
    for (const Json& step : steps) {
      if (step.contains("stores")) {
        publish(step, kv_events::BlockStored{.hashes = names(step, "stores")});
      } else if (step.contains("forgets")) {
        // The last block of these tokens alone: what comes behind it may be there still.
        const std::vector<std::uint64_t> hashes = names(step, "forgets");
        FORGE_CHECK(!hashes.empty(), "not a block");
        publish(step, kv_events::BlockRemoved{.hashes = {hashes.back()}});
      } else if (step.contains("send")) {
        send(step);
      } else if (step.contains("end")) {
        const std::size_t index = whole(step, "end");
        FORGE_CHECK(index < running_.size() && !running_[index].ended, "does not run");
        running_[index].ended = true;
        router_.end(running_[index].route);
      } else {
        ask(step);
      }
    }
    return lines_;
  }

 private:
  struct Running {
    Route route;
    bool ended = false;
  };

  static std::size_t whole(const Json& input, const char* name) {
    const int value = input.at(name).get<int>();
    FORGE_CHECK(value >= 0, name);
    return static_cast<std::size_t>(value);
  }
  SchedulerConfig config() const {
    SchedulerConfig config;
    config.cache.block_size = static_cast<std::uint32_t>(block_size_);
    config.prefix_hash_key = kKey;
    return config;
  }

  /// Whose tokens are letters.
  Request request_of(const Json& step, const char* name) const {
    Request request;
    for (const char c : step.at(name).get<std::string>()) {
      request.prompt.emplace_back(static_cast<std::uint32_t>(c));
    }
    FORGE_CHECK(!request.prompt.empty(), "a prompt of nothing");
    request.cache_salt = CacheSalt(whole(step, "salt"));
    return request;
  }

  /// The names of the blocks that these tokens fill.
  std::vector<std::uint64_t> names(const Json& step, const char* name) const {
    const Request request = request_of(step, name);
    std::vector<std::uint64_t> hashes;
    std::uint64_t hash = request.cache_salt.value;
    for (std::size_t end = block_size_; end <= request.prompt.size(); end += block_size_) {
      hash = prefix_hash({.k0 = kKey}, hash,
                         std::span(request.prompt).subspan(end - block_size_, block_size_));
      hashes.push_back(hash);
    }
    return hashes;
  }

  void publish(const Json& step, kv_events::KvEvent event) {
    const std::size_t replica = whole(step, "replica");
    FORGE_CHECK(replica < replicas_, "replica ", replica);
    router_.follow(replica, {.timestamp = 0, .events = {std::move(event)}});
  }

  void send(const Json& step) {
    Request request = request_of(step, "send");
    request.max_new_tokens = static_cast<std::uint32_t>(whole(step, "new"));
    FORGE_CHECK(request.max_new_tokens > 0, "new tokens");
    const Route route = router_.send(request);
    FORGE_CHECK(route.replica < replicas_, "sent to replica ", route.replica);
    std::string line = "request " + std::to_string(running_.size()) + ", \"" +
                       step.at("send").get<std::string>() + "\": to replica " +
                       std::to_string(route.replica);
    if (with_tokens_) line += ", with " + std::to_string(route.tokens) + " tokens to run";
    lines_.push_back(line);
    running_.push_back({route});
  }

  void ask(const Json& step) {
    const Request request = request_of(step, "asks");
    for (std::size_t i = 0; i < replicas_; ++i) {
      lines_.push_back("of \"" + step.at("asks").get<std::string>() + "\" replica " +
                       std::to_string(i) + " has " +
                       std::to_string(router_.cached_tokens(i, request)) + " tokens");
    }
  }

  bool with_tokens_;
  std::size_t block_size_;
  std::size_t replicas_;
  Router router_;
  std::vector<Running> running_;
  Json lines_ = Json::array();
};

/// {"rule": "both", "block_size": 2, "replicas": 2, "steps": [...]} -> where requests go, and what
/// is found.
Json play(const Json& input) { return Story(input, false).play(input.at("steps")); }
/// With the tokens that a request adds there.
Json play_send(const Json& input) { return Story(input, true).play(input.at("steps")); }

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"hashes_of", play}, {"cached_tokens", play}, {"is_better", play}, {"send", play_send}};
}

}  // namespace forge::labs
