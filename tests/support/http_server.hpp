#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace zeroloss::test {

/// Runs http_server.py on a free loopback port as long as it lives; see there for the paths it knows.
class HttpServer {
 public:
  /// `certificate`: a .pem file of key and certificate, for https.
  explicit HttpServer(const std::filesystem::path& folder, const std::string& certificate = "");
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& path) const { return scheme_ + "://127.0.0.1:" + port_ + "/" + path; }
  std::vector<std::string> requests() const;  ///< "PATH RANGE" of each request so far

 private:
  std::filesystem::path folder_;
  std::string scheme_, port_;
  pid_t process_ = -1;
  int stop_ = -1;  ///< the server ends when this is closed
};

}  // namespace zeroloss::test
