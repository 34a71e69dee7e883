// A certificate that has signed itself, and its key, made anew in each run: none that a repository
// holds would last.
#pragma once

#include <string>

#include "forge/serve/tls_certificate.h"

namespace forge::test {

struct TrialCertificate {
  std::string certificate;  ///< PEM
  std::string key;          ///< PEM
};

/// For a server called `name`; valid from so many days after today, and to so many.
TrialCertificate make_certificate(const std::string& name, int from_day = -1, int to_day = 1);

/// The same as a server has it, by way of two files.
serve::TlsCertificate trial_certificate(const std::string& name = "trial");

/// Writes a file for its owner alone.
void write_secret(const std::string& path, const std::string& text);

}  // namespace forge::test
