#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "net/address.h"
#include "net/http_client.h"
#include "net/testing/loops.h"
#include "net/testing/raw_socket.h"

namespace stowage::net {
namespace {

using Answer = tl::expected<HttpResponse, CallError>;
using testing::run_until;

class UnixSocketTest : public ::testing::Test {
 protected:
  UnixSocketTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stowage-unix-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/s.sock";
  }
  ~UnixSocketTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] int listen() const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    // The socket API takes addresses this way.
    const auto* any = reinterpret_cast<const sockaddr*>(&address);  // NOLINT
    EXPECT_EQ(::bind(fd, any, sizeof(address)), 0);
    EXPECT_EQ(::listen(fd, 4), 0);
    return fd;
  }

  Answer call() {
    std::optional<Answer> answer;
    const auto url = parse_url_or_socket("unix:" + path_);
    HttpClient client(loop_, {.server = *url});
    client.send({.method = "POST", .target = "/pick", .headers = {}, .body = "hello"},
                std::chrono::seconds{30}, [&](Answer got) { answer = std::move(got); });
    EXPECT_TRUE(run_until(loop_, [&] { return answer.has_value(); }));
    return *answer;
  }

  EventLoop loop_;
  std::string folder_;
  std::string path_;
};

TEST_F(UnixSocketTest, ACallGoesThroughASocketOfTheFileSystem) {
  const int listener = listen();
  std::string seen;
  std::thread server([&] {
    testing::RawSocket peer(::accept(listener, nullptr, nullptr));
    seen = peer.read_until("hello");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  });
  const Answer answer = call();
  server.join();
  ::close(listener);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hi");
  EXPECT_TRUE(seen.starts_with("POST /pick HTTP/1.1\r\nHost: localhost\r\n")) << seen;
}

TEST_F(UnixSocketTest, ASocketThatIsNotThereIsAnErrorThatNamesIt) {
  const Answer answer = call();
  ASSERT_FALSE(answer);
  EXPECT_FALSE(answer.error().sent);
  EXPECT_NE(answer.error().message.find("unix:" + path_), std::string::npos)
      << answer.error().message;
}

TEST(UrlOrSocket, PathsAreWholeShortAndVisible) {
  EXPECT_EQ(parse_url_or_socket("unix:/run/x.sock")->host, "/run/x.sock");
  EXPECT_EQ(parse_url_or_socket("http://127.0.0.1:1/p")->port, 1);
  for (const std::string& bad :
       {std::string("unix:"), std::string("unix:x"), std::string("unix:/a b"),
        "unix:/" + std::string(200, 'x'), std::string("ftp://x"), std::string()}) {
    EXPECT_FALSE(parse_url_or_socket(bad)) << bad;
  }
}

}  // namespace
}  // namespace stowage::net
