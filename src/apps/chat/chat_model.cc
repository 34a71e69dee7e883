#include "chat_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "forge/core/must.h"

namespace forge::apps {
namespace {

using Clock = std::chrono::steady_clock;

/// The one conversation of this program, to the engine.
constexpr SessionId kSession{1};

/// An answer under way.
class AnswerRun {
 public:
  AnswerRun(Runtime& runtime, const std::vector<std::string>& stops, const AnswerHooks& hooks)
      : engine_(runtime.engine()), text_(runtime.tokenizer(), stops), hooks_(hooks) {}

  /// Runs the request to its end. Errors: the request is refused, or fails.
  tl::expected<Answer, std::string> go(const Request& request) {
    const auto seq = engine_.submit(request);
    if (!seq) return tl::unexpected(to_string(seq.error()));
    const Clock::time_point start = Clock::now();
    while (engine_.has_work()) {  // also when the answer has ended: the next step retires it
      if (!ended() && hooks_.is_stopped()) {
        must(engine_.cancel(*seq));
        end(FinishReason::cancelled);
      }
      take(engine_.step());
    }
    if (!error_.empty()) return tl::unexpected(std::move(error_));
    ChatStatistics& statistics = answer_.statistics;
    statistics.answers = 1;
    statistics.prompt_tokens = request.prompt.size();
    const Clock::time_point first = first_token_.value_or(last_token_.value_or(Clock::now()));
    statistics.prompt_time = first - start;
    statistics.answer_time = last_token_.value_or(first) - first;
    return std::move(answer_);
  }

 private:
  bool ended() const { return answer_.finish != FinishReason::none; }

  void say(const std::string& piece) {
    if (piece.empty()) return;
    answer_.text += piece;
    hooks_.on_text(piece);
  }

  void end(FinishReason reason) {
    say(text_.finish());
    answer_.finish = reason;
  }

  void take(const engine::Engine::Step& step) {
    for (const Admission& admission : step.plan.admitted) {
      answer_.statistics.cached_tokens = admission.cached_tokens;
    }
    for (std::size_t i = 0; i < step.result.slices.size() && !ended(); ++i) {
      const SliceResult& slice = step.result.slices[i];
      if (has_failed(slice.signal)) {
        error_ = slice.signal == FinishSignal::error
                     ? "the target failed: " + engine_.last_error()
                     : "the model's arithmetic overflows on this text: logits are not finite";
        end(FinishReason::error);
      } else {
        take_tokens(slice, step.result.tokens_of(slice));
      }
    }
  }

  void take_tokens(const SliceResult& slice, std::span<const TokenId> tokens) {
    if (tokens.empty()) return;
    answer_.statistics.answer_tokens += tokens.size();
    last_token_ = Clock::now();
    if (!first_token_) {
      first_token_ = last_token_;
      answer_.statistics.first_tokens = tokens.size();
    }
    for (const TokenId token : tokens) {
      say(text_.push(token));
      if (!text_.stopped()) continue;
      answer_.finish = FinishReason::stop;
      if (must(engine_.scheduler().view(slice.seq)).finish == FinishReason::none) {
        must(engine_.cancel(slice.seq, FinishReason::stop));
      }
      return;
    }
    const FinishReason reason = must(engine_.scheduler().view(slice.seq)).finish;
    if (reason != FinishReason::none) end(reason);
  }

  engine::Engine& engine_;
  text::TextStream text_;
  const AnswerHooks& hooks_;
  Answer answer_;
  std::string error_;
  std::optional<Clock::time_point> first_token_;
  std::optional<Clock::time_point> last_token_;
};

SpeculationStatistics difference(const SpeculationStatistics& now,
                                 const SpeculationStatistics& before) {
  return {.rounds = now.rounds - before.rounds,
          .proposed = now.proposed - before.proposed,
          .accepted = now.accepted - before.accepted,
          .emitted = now.emitted - before.emitted};
}

}  // namespace

tl::expected<ChatModel, std::string> ChatModel::open(runtime::TargetOptions target,
                                                     AnswerOptions options) {
  auto runtime = Runtime::open(std::move(target));
  if (!runtime) return tl::unexpected(std::move(runtime.error()));
  const chat::LoadedChatFormat& format = runtime->model().chat();
  if (!format) return tl::unexpected("the chat template: " + to_string(format.error()));
  return ChatModel(*std::move(runtime), std::move(options));
}

ChatModel::ChatModel(Runtime runtime, AnswerOptions options)
    : runtime_(std::move(runtime)), options_(std::move(options)), now_(chat::local_time()) {
  if (const std::string stop = runtime_.model().answer_stop(); !stop.empty()) {
    stops_.push_back(stop);
  }
}

bool ChatModel::lacks_template() const {
  return runtime_.options().source.is_file() && !runtime_.model().chat()->of_model;
}

std::uint64_t ChatModel::context_tokens() const {
  const CacheShape& cache = runtime_.options().scheduler.cache;
  return std::min(std::uint64_t{cache.num_blocks} * cache.block_size,
                  static_cast<std::uint64_t>(runtime_.config().positions));
}

tl::expected<std::vector<TokenId>, std::string> ChatModel::prompt_of(
    const Dialogue& dialogue) const {
  const chat::ChatFormat& format = *runtime_.model().chat();
  chat::Conversation conversation;
  conversation.messages = dialogue.messages();
  conversation.bos_token = format.bos_token;
  conversation.eos_token = format.eos_token;
  chat::RenderOptions render;
  render.now = now_;
  const auto text = format.chat_template.render(conversation, render);
  if (!text) {
    const bool own_words = text.error().fault == chat::TemplateFault::raised;
    return tl::unexpected("the chat template" +
                          std::string(own_words ? " refuses the conversation: " : ": ") +
                          to_string(text.error()));
  }
  // A template of the model prints what begins a text itself.
  auto encoded = runtime_.tokenizer().encode(*text, {.add_special = !format.of_model});
  if (!encoded) return tl::unexpected("the conversation: " + to_string(encoded.error()));
  std::vector<TokenId>& tokens = *encoded;
  if (tokens.empty()) return tl::unexpected(std::string("the conversation has no token"));
  if (tokens.size() < context_tokens()) return std::move(tokens);
  return tl::unexpected("the conversation has " + std::to_string(tokens.size()) +
                        " tokens, accepted: up to " + std::to_string(context_tokens() - 1) +
                        ", which leave one for the answer in the context of '" + name() + "'");
}

tl::expected<Answer, std::string> ChatModel::answer(const Dialogue& dialogue,
                                                    const AnswerHooks& hooks) {
  auto prompt = prompt_of(dialogue);
  if (!prompt) return tl::unexpected(std::move(prompt.error()));
  const std::uint64_t room = std::min<std::uint64_t>(
      context_tokens() - prompt->size(),
      options_.max_tokens.value_or(std::numeric_limits<std::uint32_t>::max()));
  Request request{.prompt = *std::move(prompt),
                  .max_new_tokens = static_cast<std::uint32_t>(room),
                  .sampling = options_.sampling};
  if (runtime_.options().scheduler.prefix_cache != PrefixCacheKind::none) {
    request.session = kSession;
  }
  const SpeculationStatistics before = runtime_.target().executor().speculation();
  auto answer = AnswerRun(runtime_, stops_, hooks).go(request);
  if (!answer) return answer;
  answer->statistics.speculation = difference(runtime_.target().executor().speculation(), before);
  return answer;
}

}  // namespace forge::apps
