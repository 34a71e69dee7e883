// The acceptance rules in fractions: over all draws, what is kept and what comes out.
//
// Draws lie on a grid that is fine enough: every threshold of the right rule is a point of it, so
// that a point stands for all numbers up to the next.
#include <boost/rational.hpp>
#include <map>
#include <numeric>
#include <vector>

#include "answering.h"
#include "forge/core/acceptance.h"
#include "forge/core/check.h"

namespace forge::labs {
namespace {

using Fraction = boost::rational<std::int64_t>;
using Row = std::vector<Fraction>;

constexpr std::int64_t kPointsMax = 400;  ///< of a grid; cases with more are none

// ---- Cases ----------------------------------------------------------------------------------

std::string member(const Json& input, const char* name) {
  return input.at(name).get<std::string>();
}

/// Whole numbers that weigh the tokens a, b, ...
std::vector<std::int64_t> parts_of(const Json& row) {
  std::vector<std::int64_t> parts;
  for (const Json& part : row) parts.push_back(part.get<std::int64_t>());
  FORGE_CHECK(!parts.empty() && parts.size() <= 6, "tokens ", parts.size());
  return parts;
}

/// The distribution in which token t has parts[t] of all parts.
Row distribution_of(const Json& row) {
  const std::vector<std::int64_t> parts = parts_of(row);
  const std::int64_t all = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  FORGE_CHECK(all > 0, "a row of zeros");
  Row values;
  for (const std::int64_t part : parts) values.emplace_back(part, all);
  return values;
}

std::string text_of(const Fraction& x) {
  const std::string numerator = std::to_string(x.numerator());
  return x.denominator() == 1 ? numerator : numerator + "/" + std::to_string(x.denominator());
}

char letter(TokenId token) { return static_cast<char>('a' + static_cast<int>(token.value)); }
TokenId token_of(char letter) { return TokenId(static_cast<std::uint32_t>(letter - 'a')); }

std::vector<TokenId> tokens_of(const std::string& letters) {
  std::vector<TokenId> tokens;
  for (const char c : letters) {
    FORGE_CHECK(c >= 'a' && c <= 'z', "no token");
    tokens.push_back(token_of(c));
  }
  return tokens;
}

std::string text_of(const Verification& verdict) {
  const std::string kept = "kept " + std::to_string(verdict.accepted);
  return verdict.own ? kept + ", own " + letter(*verdict.own) : kept + ", none of its own";
}

// ---- One number -----------------------------------------------------------------------------

/// {"p": [...], "q": [...]} -> for each token, how likely it is kept.
std::vector<std::string> play_acceptance(const Json& input) {
  const Row p = distribution_of(input.at("p"));
  const Row q = distribution_of(input.at("q"));
  FORGE_CHECK(p.size() == q.size(), "rows of other lengths");
  std::vector<std::string> lines;
  for (std::uint32_t t = 0; t < p.size(); ++t) {
    lines.push_back(std::string(1, letter(TokenId(t))) + " with p " + text_of(p[t]) + ", q " +
                    text_of(q[t]) + ": kept with probability " +
                    text_of(acceptance_probability(p[t], q[t])));
  }
  return lines;
}

/// {"weights": [...]} -> which token each number draws.
std::vector<std::string> play_draw(const Json& input) {
  const std::vector<std::int64_t> parts = parts_of(input.at("weights"));
  const std::int64_t all = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  const std::int64_t points = all == 0 ? 1 : 2 * all;
  FORGE_CHECK(points <= kPointsMax, "points ", points);
  std::vector<std::string> lines;
  for (std::int64_t i = 0; i < points; ++i) {
    const Fraction u(i, points);
    const auto token = draw_by_weight(
        parts.size(), [&](std::size_t t) { return Fraction(parts.at(t)); }, u);
    lines.push_back("u = " + text_of(u) + ": " +
                    (token ? std::string(1, letter(*token)) : std::string("no token")));
  }
  return lines;
}

/// How fine a grid must be for a token that is drawn in proportion to `weights`.
std::int64_t points_for(const Row& weights) {
  const Fraction all = std::accumulate(weights.begin(), weights.end(), Fraction(0));
  std::int64_t points = 1;
  for (const Fraction& weight : weights) {
    if (weight > 0) points = std::lcm(points, Fraction(weight / all).denominator());
  }
  return points;
}

/// ... where it replaces a draft, or is a token of the model's own otherwise.
std::int64_t points_for(const Row& p, const Row& q) {
  Row lacking;
  for (std::size_t t = 0; t < p.size(); ++t) {
    lacking.push_back(p[t] > q[t] ? Fraction(p[t] - q[t]) : Fraction(0));
  }
  return std::lcm(points_for(p), points_for(lacking));
}

/// {"p": [...], "q": [...]} -> how often each token is drawn.
std::vector<std::string> play_replacement(const Json& input) {
  const Row p = distribution_of(input.at("p"));
  const Row q = distribution_of(input.at("q"));
  FORGE_CHECK(p.size() == q.size(), "rows of other lengths");
  const std::int64_t points = points_for(p, q);
  FORGE_CHECK(points <= kPointsMax, "points ", points);
  Row drawn(26, Fraction(0));
  for (std::int64_t i = 0; i < points; ++i) {
    const TokenId token = draw_replacement<Fraction>(p, q, Fraction(i, points));
    drawn.at(token.value) += Fraction(1, points);
  }
  std::vector<std::string> lines;
  for (std::uint32_t t = 0; t < p.size(); ++t) {
    lines.push_back(std::string(1, letter(TokenId(t))) + ": " + text_of(drawn[t]));
  }
  return lines;
}

// ---- All draws of a round -------------------------------------------------------------------

/// An odometer whose wheels are the draws in the order in which they are first asked for.
class AllDraws {
 public:
  using Points = std::map<std::pair<std::uint32_t, DrawStream>, std::int64_t>;
  explicit AllDraws(Points points) : points_(std::move(points)) {}

  Fraction operator()(std::uint32_t position, DrawStream stream) {
    for (std::size_t i = 0; i < asked_; ++i) {  // a position has one number a stream
      if (wheels_[i].name == Name{position, stream}) return wheels_[i].number();
    }
    if (asked_ == wheels_.size())
      wheels_.push_back({{position, stream}, 0, points(position, stream)});
    return wheels_[asked_++].number();
  }

  /// The share of all draws that the last run stands for.
  Fraction weight() const {
    Fraction share(1);
    for (const Wheel& wheel : wheels_) share /= wheel.points;
    return share;
  }
  /// Turns to the next run. Returns false after the last.
  bool advance() {
    asked_ = 0;
    while (!wheels_.empty() && ++wheels_.back().value == wheels_.back().points) wheels_.pop_back();
    return !wheels_.empty();
  }

 private:
  using Name = std::pair<std::uint32_t, DrawStream>;
  struct Wheel {
    Name name;
    std::int64_t value;
    std::int64_t points;
    Fraction number() const { return {value, points}; }
  };
  std::int64_t points(std::uint32_t position, DrawStream stream) const {
    const auto found = points_.find({position, stream});
    return found == points_.end() ? 1 : found->second;
  }

  Points points_;
  std::vector<Wheel> wheels_;
  std::size_t asked_ = 0;
};

/// A round: the rows of both models, which depend on the position alone, and the end of a text.
struct Round {
  std::vector<Row> model;  ///< [k + 1]
  std::vector<Row> draft;  ///< [k]
  std::optional<TokenId> eos;

  bool is_over(const std::string& text) const {
    return text.size() == model.size() || (eos && !text.empty() && text.back() == letter(*eos));
  }
};

Round round_of(const Json& input) {
  Round round;
  for (const Json& row : input.at("model")) round.model.push_back(distribution_of(row));
  for (const Json& row : input.at("draft")) round.draft.push_back(distribution_of(row));
  FORGE_CHECK(round.model.size() == round.draft.size() + 1 && round.draft.size() <= 3, "rows");
  for (const Row& row : round.model) FORGE_CHECK(row.size() == round.model[0].size(), "tokens");
  for (const Row& row : round.draft) FORGE_CHECK(row.size() == round.model[0].size(), "tokens");
  const std::string eos = member(input, "eos");
  FORGE_CHECK(eos.size() <= 1, "more than one eos");
  if (!eos.empty()) round.eos = tokens_of(eos)[0];
  return round;
}

AllDraws::Points points_of(const Round& round) {
  AllDraws::Points points;
  for (std::uint32_t i = 0; i < round.draft.size(); ++i) {
    const Row& p = round.model[i];
    const Row& q = round.draft[i];
    std::int64_t& accept = points[{i, DrawStream::accept}] = 1;
    for (std::size_t t = 0; t < p.size(); ++t) {
      if (q[t] > p[t]) accept = std::lcm(accept, Fraction(p[t] / q[t]).denominator());
    }
    points[{i, DrawStream::own}] = points_for(p, q);
    FORGE_CHECK(accept <= 30 && points_for(p, q) <= 30, "points");
  }
  const auto k = static_cast<std::uint32_t>(round.draft.size());
  points[{k, DrawStream::own}] = points_for(round.model[k]);
  FORGE_CHECK(points_for(round.model[k]) <= 30, "points");
  return points;
}

/// Shares by what they are shares of.
using Shares = std::map<std::string, Fraction>;

/// Spreads the share of a text over all that the model alone writes after it.
void complete(const Round& round, const std::string& text, const Fraction& share, Shares& texts) {
  if (round.is_over(text)) {
    texts[text] += share;
    return;
  }
  const Row& p = round.model[text.size()];
  for (std::uint32_t t = 0; t < p.size(); ++t) {
    if (p[t] > 0) complete(round, text + letter(TokenId(t)), share * p[t], texts);
  }
}

/// Adds what comes of these drafts, which the draft model makes with the probability `share`.
void add_verdicts(const Round& round, const std::string& letters, const Fraction& share,
                  Shares& verdicts, Shares& texts) {
  Row model;
  for (const Row& row : round.model) model.insert(model.end(), row.begin(), row.end());
  Row draft;
  for (const Row& row : round.draft) draft.insert(draft.end(), row.begin(), row.end());
  const std::size_t vocabulary = round.model[0].size();
  const std::vector<TokenId> drafts = tokens_of(letters);
  AllDraws draws(points_of(round));
  do {
    const Verification verdict = verify_by_rejection<Fraction>(
        drafts, {model, vocabulary}, {draft, vocabulary},
        [&](std::uint32_t i, DrawStream stream) { return draws(i, stream); },
        [&](TokenId token) { return token == round.eos; });
    FORGE_CHECK(verdict.accepted <= drafts.size(), "kept ", verdict.accepted, " of ",
                drafts.size());
    const Fraction weight = share * draws.weight();
    std::string text = letters.substr(0, verdict.accepted);
    if (verdict.own) text += letter(*verdict.own);
    verdicts["kept " + std::to_string(verdict.accepted) +
             (verdict.own ? " and one of its own" : " and none of its own")] += weight;
    complete(round, text, weight, texts);
  } while (draws.advance());
}

/// Calls add_verdicts for all drafts.
void add_drafts(const Round& round, const std::string& letters, const Fraction& share,
                Shares& verdicts, Shares& texts) {
  if (letters.size() == round.draft.size()) {
    add_verdicts(round, letters, share, verdicts, texts);
    return;
  }
  const Row& q = round.draft[letters.size()];
  for (std::uint32_t t = 0; t < q.size(); ++t) {
    if (q[t] > 0) {
      add_drafts(round, letters + letter(TokenId(t)), share * q[t], verdicts, texts);
    }
  }
}

/// {"model": [[...], ...], "draft": [[...], ...], "eos": "c"} -> how often so many drafts are kept,
/// and each text is what comes out, over all drafts and draws.
std::vector<std::string> play_rejection(const Json& input) {
  const Round round = round_of(input);
  Shares verdicts;
  Shares texts;
  add_drafts(round, "", Fraction(1), verdicts, texts);
  Shares alone;
  complete(round, "", Fraction(1), alone);
  for (const auto& text : alone) texts.try_emplace(text.first, Fraction(0));
  std::vector<std::string> lines;
  for (const auto& [text, share] : texts) {
    const Fraction right = alone[text];
    std::string line = "text " + text + ": " + text_of(share);
    if (share == right) line += ", as the model alone";
    if (share > right) line += ", which is " + text_of(share - right) + " too often";
    if (share < right) line += ", which is " + text_of(right - share) + " too seldom";
    lines.push_back(line);
  }
  for (const auto& [verdict, share] : verdicts) lines.push_back(verdict + ": " + text_of(share));
  return lines;
}

// ---- The same noise -------------------------------------------------------------------------

/// {"drafts": "abc", "picks": "abd.", "eos": ""} -> the verdict, and which picks were asked for. A
/// dot is no pick.
std::vector<std::string> play_picks(const Json& input) {
  const std::vector<TokenId> drafts = tokens_of(member(input, "drafts"));
  const std::string picks = member(input, "picks");
  const std::string eos = member(input, "eos");
  std::string asked = "asked for the picks";
  const Verification verdict = verify_by_picks(
      drafts,
      [&](std::size_t i) -> std::optional<TokenId> {
        FORGE_CHECK(i < picks.size(), "there is no pick ", i);
        asked += " " + std::to_string(i);
        if (picks[i] == '.') return std::nullopt;
        return token_of(picks[i]);
      },
      [&](TokenId token) { return eos.find(letter(token)) != eos.npos; });
  return {text_of(verdict), asked};
}

Answer in_lines(std::vector<std::string> (*play)(const Json&)) {
  return [play](const Json& input) {
    Json answer = Json::array();
    for (std::string& line : play(input)) answer.push_back(std::move(line));
    return answer;
  };
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"verify_by_picks", in_lines(play_picks)},
          {"acceptance_probability", in_lines(play_acceptance)},
          {"draw_by_weight", in_lines(play_draw)},
          {"draw_replacement", in_lines(play_replacement)},
          {"verify_by_rejection", in_lines(play_rejection)}};
}

}  // namespace forge::labs
