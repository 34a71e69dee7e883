// Configuration: one way to have read the text so far.
//
// The stack has a frame for each array and object that is open, the document's at the bottom;
// above them there may be a lexeme, a scalar or key that is being read. Frames are immutable and
// shared, so a configuration is copied at the cost of its top.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "automaton.h"
#include "lexeme.h"

namespace forge::grammar {

/// White space in a row, between two parts of JSON.
struct WhiteSpace {
  std::uint32_t line_ends = 0;
  std::uint32_t blanks = 0;  ///< before the first line's end, or after it

  /// With one character more; false if it is one too many, `depth` objects and arrays being open.
  bool add(unsigned char byte, std::uint32_t depth);

  friend bool operator==(const WhiteSpace&, const WhiteSpace&) = default;
};

struct Frame {
  enum class Kind : std::uint8_t { document, array, object, text };
  /// Where it is: what may come next, beside white space.
  enum class Phase : std::uint8_t {
    begin,        ///< a document's value; the first item, the first key or the end
    after_key,    ///< ":"
    after_colon,  ///< a value
    after_value,  ///< "," or the end
    after_comma,  ///< an item, a key
  };

  Kind kind = Kind::document;
  Phase phase = Phase::begin;
  WhiteSpace white;  ///< that was read last
  std::uint32_t depth = 0;
  std::uint32_t node = 0;   ///< of an array or object; of a document its place among them
  std::uint32_t count = 0;  ///< state of an array; keys of an object; bytes of a document's prefix
  std::uint32_t suffix_count = 0;        ///< bytes of a document's suffix
  std::uint32_t exists = 0;              ///< conditions on some value that are fulfilled
  Label label = 0;                       ///< of the last key
  std::shared_ptr<const SeenKeys> seen;  ///< null: none yet
  std::shared_ptr<const Frame> below;    ///< null at the bottom

  Frame() = default;
  Frame(const Frame&) = default;
  Frame(Frame&&) noexcept = default;
  Frame& operator=(const Frame&) = default;
  Frame& operator=(Frame&&) noexcept = default;
  /// A loop: a text may be nested as deep as it is long.
  ~Frame();

  bool operator==(const Frame& other) const;
};

struct Configuration {
  std::optional<Lexeme> lexeme;
  bool is_key = false;  ///< what the lexeme reads
  std::u32string key;   ///< the characters of the key so far
  KeyRule rule;         ///< borrows top.seen
  Frame top;

  bool operator==(const Configuration& other) const {
    return lexeme == other.lexeme && is_key == other.is_key && key == other.key && top == other.top;
  }
};

class Stepper {
 public:
  explicit Stepper(const Grammar::Automaton& automaton) : automaton_(automaton) {}

  /// Adds the ways to have read nothing yet.
  void start(std::vector<Configuration>& to) const;
  /// Adds what `from` becomes with `byte`; nothing where it does not fit.
  void step(Configuration from, unsigned char byte, std::vector<Configuration>& to) const;
  /// Does a lexeme read the byte and go on? Then step() adds something.
  bool goes_on(const Configuration& from, unsigned char byte) const;
  bool can_end(const Configuration& at) const;

  // The parts of step(), for walks over a vocabulary.
  /// What `from`, of which the lexeme has ended, becomes. Of a key it is `text`.
  Configuration after_lexeme(const Configuration& from, Label label, std::u32string text) const;
  /// step() where no lexeme is being read.
  void step_structure(const Configuration& from, unsigned char byte,
                      std::vector<Configuration>& to) const;

  /// The rule for the next key of an object.
  KeyRule rule_of(const Frame& object) const;
  bool another_key_fits(const Frame& object) const;
  bool may_close(const Frame& frame) const;
  const ObjectNode& object_of(const Frame& frame) const { return automaton_.objects[frame.node]; }
  const Document& document_of(const Frame& frame) const { return automaton_.documents[frame.node]; }
  /// Is the text around a document being read, or may it begin? Then white space may be part of it.
  bool may_be_around(const Frame& frame) const;
  const ArrayNode& array_of(const Frame& frame) const { return automaton_.arrays[frame.node]; }
  const Grammar::Automaton& automaton() const { return automaton_; }

 private:
  void start_value(const Frame& frame, ValueId value, unsigned char byte,
                   std::vector<Configuration>& to) const;
  void start_values(const Frame& frame, unsigned char byte, std::vector<Configuration>& to) const;
  bool step_around(const Configuration& from, unsigned char byte,
                   std::vector<Configuration>& to) const;
  void start_followers(unsigned char byte, std::vector<Configuration>& to) const;
  void start_key(const Frame& frame, std::vector<Configuration>& to) const;
  void close(const Frame& frame, std::vector<Configuration>& to) const;

  const Grammar::Automaton& automaton_;
};

inline bool is_space(unsigned char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace forge::grammar
