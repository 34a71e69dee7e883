// ServedRun: what forge-infer serves, with what a run of it leaves: a trace, a profile.
//
//   --target cpu, sim, cuda   a model
//   --target null             letters, at once: what is in front of a model can be measured alone
#pragma once

#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "forge/engine/engine.h"
#include "forge/serve/openai_api.h"
#include "forge/text/tokenizer.h"
#include "forge/trace/trace_files.h"
#include "forge/trace/trace_window.h"
#include "forge/trace/trace_writer.h"
#include "infer_options.h"
#include "program_output.h"

namespace forge::apps {

class ServedRun {
 public:
  using Opened = tl::expected<std::unique_ptr<ServedRun>, std::string>;

  /// Opens the model, which takes a while, says on stderr what it is, and creates the trace.
  /// It is recorded into the window, too, which may be null and is borrowed. Errors: a sentence
  /// that names the flag at fault.
  static Opened open(const InferOptions& options, trace::TraceWindow* window);

  virtual ~ServedRun() = default;
  ServedRun(const ServedRun&) = delete;
  ServedRun& operator=(const ServedRun&) = delete;

  virtual engine::Engine& engine() = 0;
  virtual const text::Tokenizer& tokenizer() const = 0;
  virtual serve::ModelCard card() = 0;

  /// Writes what there is to write at the end. Returns: an empty text, or what is wrong.
  virtual std::string finish();

 protected:
  using Outputs = std::span<trace::TraceOutput* const>;

  explicit ServedRun(const InferOptions& options) : options_(options) {}

  /// Into the file of the options and into the window, where there are such and a server with so
  /// many blocks keeps its last steps. Errors: those of create_trace(); the trace does not take its
  /// header.
  tl::expected<void, std::string> begin_trace(trace::TraceWindow* window, std::uint32_t num_blocks);
  /// Makes the writer of the run.
  virtual trace::TraceWriter* record(Outputs outputs, trace::TraceTokens tokens) = 0;

  const InferOptions options_;

 private:
  std::unique_ptr<trace::TraceFiles> trace_file_;  // outlives its writer
  trace::TraceWriter* trace_ = nullptr;            // if the run is recorded
};

}  // namespace forge::apps
