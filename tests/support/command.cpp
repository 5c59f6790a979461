#include "support/command.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace zeroloss::test {

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Outcome zeroloss(const Arguments& arguments, const RunOptions& options) {
  return run_program(ZEROLOSS_COMMAND, arguments, options);
}

Json answer(const Arguments& arguments, int exit_code, const RunOptions& options) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  const Outcome outcome = zeroloss(with(arguments, {"--json"}), options);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  if (exit_code == 0) {
    EXPECT_EQ(outcome.err, "");
  }
  Json json = Json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << outcome.out;
  return json;
}

void refused(const Arguments& arguments, const std::vector<std::string>& texts, int exit_code,
             const RunOptions& options) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  const Outcome outcome = zeroloss(arguments, options);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  for (const std::string& text : texts)
    EXPECT_NE(outcome.err.find(text), std::string::npos) << "missing: " << text << "\nin: " << outcome.err;
}

Json json_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  Json json = Json::parse(in, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << file;
  return json;
}

std::set<std::string> keys(const Json& object) {
  std::set<std::string> names;
  for (const auto& item : object.items()) names.insert(item.key());
  return names;
}

}  // namespace zeroloss::test
