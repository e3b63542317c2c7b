#include "net/tls.h"

#include <string>

#include <gtest/gtest.h>

namespace stowage::net {
namespace {

KeyPair make_pair() {
  return make_self_signed({.common_name = "test", .hosts = {"localhost", "127.0.0.1", "::1"}})
      .value();
}

std::string damaged(std::string pem) {
  pem[pem.size() / 2] = pem[pem.size() / 2] == 'A' ? 'B' : 'A';
  pem.insert(pem.size() / 3, "!");
  return pem;
}

TEST(Tls, ErrorsSayWhichPartIsBad) {
  const KeyPair pair = make_pair();
  const KeyPair other = make_pair();
  // A key of RFC 1423, encrypted with a passphrase that is not given.
  const std::string locked =
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
      "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAAAAAAAAAAAAAAAAAAAA==\n"
      "-----END RSA PRIVATE KEY-----\n";
  struct Row {
    const char* name;
    ServerTls tls;
    const char* message;
  };
  const Row rows[] = {
      {"nothing",
       {},
       "certificate of the server: no certificate found; expected -----BEGIN CERTIFICATE-----"},
      {"text that is no PEM",
       {.certificate_pem = "hello", .key_pem = pair.key_pem},
       "certificate of the server: no certificate found; expected -----BEGIN CERTIFICATE-----"},
      {"a key in place of the certificate",
       {.certificate_pem = pair.key_pem},
       "certificate of the server: no certificate found; expected -----BEGIN CERTIFICATE-----"},
      {"a damaged certificate",
       {.certificate_pem = damaged(pair.certificate_pem), .key_pem = pair.key_pem},
       "certificate of the server: certificate 1 is damaged"},
      {"a damaged chain",
       {.certificate_pem = pair.certificate_pem + damaged(pair.certificate_pem),
        .key_pem = pair.key_pem},
       "certificate of the server: certificate 2 is damaged"},
      {"no key",
       {.certificate_pem = pair.certificate_pem},
       "key of the server: no private key found; expected -----BEGIN PRIVATE KEY-----"},
      {"a certificate in place of the key",
       {.certificate_pem = pair.certificate_pem, .key_pem = pair.certificate_pem},
       "key of the server: no private key found; expected -----BEGIN PRIVATE KEY-----"},
      {"a damaged key",
       {.certificate_pem = pair.certificate_pem, .key_pem = damaged(pair.key_pem)},
       "key of the server: the private key is damaged"},
      {"a key with a passphrase",
       {.certificate_pem = pair.certificate_pem, .key_pem = locked},
       "key of the server: the key is protected by a passphrase; give a key without one"},
      {"another key",
       {.certificate_pem = pair.certificate_pem, .key_pem = other.key_pem},
       "certificate of the server: the key does not match the certificate"},
      {"a bad authority",
       {.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem, .client_ca_pem = "x"},
       "CA of the clients: no certificate found; expected -----BEGIN CERTIFICATE-----"},
      {"clients required but no authority",
       {.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem, .client_required = true},
       "client certificates are required, but no CA is set to verify them"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto made = make_server_tls(row.tls);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, row.message);
  }
}

TEST(Tls, AClientNeedsCertificateAndKeyOrNone) {
  const KeyPair pair = make_pair();
  EXPECT_TRUE(make_client_tls({}));
  EXPECT_TRUE(make_client_tls({.ca_pem = pair.certificate_pem,
                               .certificate_pem = pair.certificate_pem,
                               .key_pem = pair.key_pem}));
  EXPECT_EQ(make_client_tls({.certificate_pem = pair.certificate_pem}).error().message,
            "the client has a certificate but no key: give both or none");
  EXPECT_EQ(make_client_tls({.key_pem = pair.key_pem}).error().message,
            "the client has a key but no certificate: give both or none");
  EXPECT_EQ(make_client_tls({.ca_pem = "junk"}).error().message,
            "certificates to trust: no certificate found; expected -----BEGIN CERTIFICATE-----");
}

TEST(Tls, TextAroundTheBlocksIsIgnoredAndTheSameAuthorityMayComeTwice) {
  const KeyPair pair = make_pair();
  EXPECT_TRUE(make_client_tls(
      {.ca_pem = "# a comment\n" + pair.certificate_pem + "\n\n" + pair.certificate_pem}));
}

TEST(Tls, ACertificateThatHasExpiredCanBeLoaded) {
  const auto pair = make_self_signed({.common_name = "old", .hosts = {"localhost"}, .days = -1});
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_TRUE(
      make_server_tls({.certificate_pem = pair->certificate_pem, .key_pem = pair->key_pem}));
}

TEST(Tls, WhatACertificateCannotBeForIsRefused) {
  EXPECT_FALSE(make_self_signed({.common_name = ""}));
  EXPECT_FALSE(make_self_signed({.common_name = std::string(65, 'a')}));
  EXPECT_FALSE(make_self_signed({.common_name = "a", .hosts = {""}}));
  EXPECT_FALSE(make_self_signed({.common_name = "a", .hosts = {"b,DNS:c"}}));
  EXPECT_FALSE(make_self_signed({.common_name = "a", .hosts = {"b c"}}));
  EXPECT_FALSE(make_self_signed({.common_name = "a", .hosts = {"b"}, .days = 1'000'000}));
  EXPECT_TRUE(make_self_signed({.common_name = "a", .hosts = {}}));
}

TEST(Tls, AnAuthoritySignsOthers) {
  constexpr std::int64_t kNow = 1'800'000'000;
  const KeyPair authority =
      make_authority({.common_name = "ours", .days = 10, .now_unix = kNow}).value();
  const auto leaf = make_signed(
      {.common_name = "server", .hosts = {"a.b.svc", "10.0.0.1"}, .days = 5, .now_unix = kNow},
      authority);
  ASSERT_TRUE(leaf) << leaf.error().message;
  EXPECT_TRUE(check_pair(*leaf));
  EXPECT_TRUE(check_pair(authority));
  EXPECT_FALSE(check_pair({leaf->certificate_pem, authority.key_pem}));
  EXPECT_FALSE(check_pair({leaf->certificate_pem, ""}));
  EXPECT_TRUE(check_signature(leaf->certificate_pem, authority.certificate_pem));
  const KeyPair other =
      make_authority({.common_name = "ours", .days = 10, .now_unix = kNow}).value();
  EXPECT_FALSE(check_signature(leaf->certificate_pem, other.certificate_pem)) << "the same name";
  EXPECT_FALSE(check_signature(leaf->certificate_pem, leaf->certificate_pem));

  const auto facts = read_certificate(leaf->certificate_pem);
  ASSERT_TRUE(facts);
  EXPECT_EQ(*facts, (CertificateFacts{.begins_unix = kNow - 300,
                                      .ends_unix = kNow + 5 * 86'400,
                                      .hosts = {"a.b.svc", "10.0.0.1"}}));
  EXPECT_FALSE(read_certificate("hello"));
  EXPECT_FALSE(make_signed({.common_name = "x"}, {authority.certificate_pem, other.key_pem}));
}

TEST(Tls, ABadNamedAuthorityIsNamed) {
  const KeyPair pair = make_pair();
  const auto made = make_server_tls({.certificate_pem = pair.certificate_pem,
                                     .key_pem = pair.key_pem,
                                     .client_ca_pem = {},
                                     .client_authorities = {{"proxy", "junk"}}});
  ASSERT_FALSE(made);
  EXPECT_EQ(
      made.error().message,
      "CA of the clients \"proxy\": no certificate found; expected -----BEGIN CERTIFICATE-----");
}

TEST(Tls, TheFirstHostOfACertificateIsRead) {
  const auto of = [](std::vector<std::string> hosts) {
    const auto pair = make_self_signed({.common_name = "test", .hosts = std::move(hosts)});
    return first_host(pair.value().certificate_pem).value_or("none");
  };
  EXPECT_EQ(of({"stowage.kube-system.svc", "10.0.0.1"}), "stowage.kube-system.svc");
  EXPECT_EQ(of({"10.0.0.1", "a.b"}), "10.0.0.1");
  EXPECT_EQ(of({"::1"}), "::1");
  EXPECT_FALSE(first_host("hello"));
}

}  // namespace
}  // namespace stowage::net
