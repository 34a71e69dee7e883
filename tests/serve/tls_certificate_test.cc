// What a certificate and its key are refused for.
#include "forge/serve/tls_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "formats/scratch_folder.h"
#include "serve/trial_certificate.h"

namespace forge::test {
namespace {

using serve::TlsCertificate;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CertificateFiles : public ::testing::Test {
 protected:
  void write(const TrialCertificate& made) const {
    folder_.write("cert.pem", made.certificate);
    write_secret(key(), made.key);
  }
  std::string certificate() const { return folder_.file("cert.pem"); }
  std::string key() const { return folder_.file("key.pem"); }
  auto read() const { return TlsCertificate::read(certificate(), key()); }
  std::string error() const { return read() ? "none" : read().error(); }

  formats::testing::ScratchFolder folder_;
};

TEST_F(CertificateFiles, are_read_when_they_belong_together) {
  write(make_certificate("forge.example"));
  const auto certificate = read();
  ASSERT_TRUE(certificate) << certificate.error();
  EXPECT_EQ(certificate->fault(), "");
}

TEST_F(CertificateFiles, hold_the_chain_behind_the_certificate) {
  const TrialCertificate own = make_certificate("own");
  write({.certificate = own.certificate + make_certificate("signer").certificate, .key = own.key});
  EXPECT_TRUE(read());
  write({.certificate = make_certificate("signer").certificate + own.certificate, .key = own.key});
  EXPECT_THAT(error(), HasSubstr("is not that of the certificate")) << "its own comes first";
}

TEST_F(CertificateFiles, that_are_not_there_are_named) {
  EXPECT_THAT(error(), StartsWith("the certificate '" + certificate() + "' cannot be read: No"));
  write(make_certificate("a"));
  std::filesystem::remove(key());
  EXPECT_THAT(error(), StartsWith("the key '" + key() + "' cannot be read: No such file"));
}

TEST_F(CertificateFiles, that_are_not_pem_are_named) {
  const TrialCertificate made = make_certificate("a");
  write({.certificate = "hello\n", .key = made.key});
  EXPECT_THAT(error(), HasSubstr("cert.pem' is not PEM: it has no BEGIN CERTIFICATE"));
  write({.certificate = made.certificate.substr(0, 200) + "\n", .key = made.key});
  EXPECT_THAT(error(), HasSubstr("cert.pem' cannot be used: "));
  write({.certificate = made.certificate, .key = "hello\n"});
  EXPECT_THAT(error(), HasSubstr("key.pem' is not PEM: it has no whole BEGIN PRIVATE KEY"));
  write({.certificate = made.certificate, .key = made.key.substr(0, 60) + "\n"});
  EXPECT_THAT(error(), HasSubstr("key.pem' is not PEM"));
  write({.certificate = made.key, .key = made.key});
  EXPECT_THAT(error(), HasSubstr("cert.pem' is not PEM"));
}

TEST_F(CertificateFiles, of_two_servers_do_not_match) {
  write({.certificate = make_certificate("a").certificate, .key = make_certificate("a").key});
  EXPECT_THAT(error(), HasSubstr("key.pem' is not that of the certificate '" + certificate()));
}

TEST_F(CertificateFiles, have_a_key_that_others_cannot_read) {
  write(make_certificate("a"));
  std::filesystem::permissions(key(), std::filesystem::perms(0644));
  EXPECT_THAT(error(), HasSubstr("key.pem' may be read or written by others: chmod 600 or 640"));
}

/// $ openssl genpkey -algorithm ed25519 -aes128 -pass pass:secret
constexpr const char* kLockedKey = R"(-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhaaBMiECa5yQICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEKaPrbqrHVJUHAfg2CmFn7UEQFzT
k8umVmcpsidUBKhTW+NV+rRVDWBFPRu1sxPK3siWN1lRMpLXBP3rhsItLg15WoZN
jFBDpSKn3eAo1H50kZg=
-----END ENCRYPTED PRIVATE KEY-----
)";

TEST_F(CertificateFiles, have_a_key_without_a_passphrase) {
  write({.certificate = make_certificate("a").certificate, .key = kLockedKey});
  EXPECT_THAT(error(), HasSubstr("key.pem' has a passphrase; accepted is one without"));
}

TEST_F(CertificateFiles, that_clients_will_refuse_are_read_with_their_fault) {
  write(make_certificate("a", -10, -3));
  EXPECT_THAT(read()->fault(), StartsWith("expired on 2"));
  write(make_certificate("a", 3, 10));
  EXPECT_THAT(read()->fault(), StartsWith("is valid only from 2"));
}

}  // namespace
}  // namespace forge::test
