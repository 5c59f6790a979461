#include "support/http_server.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace zeroloss::test {

HttpServer::HttpServer(const std::filesystem::path& folder, const std::string& certificate)
    : folder_(folder), scheme_(certificate.empty() ? "http" : "https") {
  const std::string script = ZEROLOSS_SOURCE_DIR "/tests/support/http_server.py";
  int to_server[2], from_server[2];
  if (pipe2(to_server, O_CLOEXEC) != 0 || pipe2(from_server, O_CLOEXEC) != 0)
    throw std::runtime_error("pipe2 failed");
  process_ = fork();
  if (process_ == 0) {
    dup2(to_server[0], STDIN_FILENO);
    dup2(from_server[1], STDOUT_FILENO);
    execlp("python3", "python3", script.c_str(), folder_.c_str(),
           certificate.empty() ? nullptr : certificate.c_str(), nullptr);
    _exit(127);
  }
  close(to_server[0]);
  close(from_server[1]);
  stop_ = to_server[1];
  for (char c = 0; read(from_server[0], &c, 1) == 1 && c != '\n';) port_ += c;
  close(from_server[0]);
  if (port_.empty()) throw std::runtime_error("http_server.py did not start: is python3 installed?");
}

HttpServer::~HttpServer() {
  close(stop_);
  waitpid(process_, nullptr, 0);
}

std::vector<std::string> HttpServer::requests() const {
  std::ifstream in(folder_ / "requests.log");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace zeroloss::test
