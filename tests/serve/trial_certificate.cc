#include "serve/trial_certificate.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "forge/core/check.h"
#include "formats/scratch_folder.h"

namespace forge::test {
namespace {

constexpr long kSecondsOfDay = 24L * 60 * 60;

using Bytes = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::string text_of(const Bytes& bytes) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bytes.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

TrialCertificate make_certificate(const std::string& name, int from_day, int to_day) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), from_day * kSecondsOfDay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), to_day * kSecondsOfDay);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), subject);
  FORGE_CHECK(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);

  const Bytes certificate(BIO_new(BIO_s_mem()), BIO_free);
  const Bytes secret(BIO_new(BIO_s_mem()), BIO_free);
  FORGE_CHECK(PEM_write_bio_X509(certificate.get(), made.get()) == 1);
  FORGE_CHECK(PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                       nullptr) == 1);
  return {.certificate = text_of(certificate), .key = text_of(secret)};
}

serve::TlsCertificate trial_certificate(const std::string& name) {
  const formats::testing::ScratchFolder folder;
  const TrialCertificate made = make_certificate(name);
  write_secret(folder.file("key"), made.key);
  return serve::TlsCertificate::read(folder.write("certificate", made.certificate),
                                     folder.file("key"))
      .value();
}

void write_secret(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms(0600));
}

}  // namespace forge::test
