// What forge-infer reads from files to know its clients and to be known by them: keys, a
// certificate. Both are read at the start, before a model is, and again on SIGHUP.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/serve/api_keys.h"
#include "forge/serve/http_server.h"
#include "forge/serve/tls_certificate.h"
#include "infer_options.h"

namespace forge::apps {

/// Nothing where there is no flag for it.
struct Credentials {
  std::optional<serve::ApiKeys> keys;
  std::optional<serve::TlsCertificate> certificate;
};

bool has_credentials(const InferOptions& options);

/// A certificate that clients will refuse is named on stderr. Errors: a sentence that names the
/// file and what is wrong with it.
tl::expected<Credentials, std::string> read_credentials(const InferOptions& options);

void give(Credentials credentials, serve::HttpServer& server);

/// Reads them again on each of these signals, and says on stderr what came of it. What cannot be
/// read stays as it was. Borrows all three while `hangups` waits.
void read_credentials_on(boost::asio::signal_set& hangups, const InferOptions& options,
                         serve::HttpServer& server);

}  // namespace forge::apps
