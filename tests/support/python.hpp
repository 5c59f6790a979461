#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/subprocess.hpp"

namespace zeroloss::test {

/// Whether the environment that scripts/setup.sh full makes is complete.
inline bool has_python() {
  return std::filesystem::exists(std::filesystem::path(ZEROLOSS_PYTHON_ENV) / "requirements.txt");
}

/// Runs a script of tests/ with that environment's Python.
inline Outcome run_python(const std::string& script, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string(ZEROLOSS_TEST_DIR) + "/" + script);
  return run_program(std::string(ZEROLOSS_PYTHON_ENV) + "/bin/python", arguments);
}

}  // namespace zeroloss::test

#define ZEROLOSS_NEEDS_PYTHON() \
  if (!zeroloss::test::has_python()) GTEST_SKIP() << "no " ZEROLOSS_PYTHON_ENV "; run scripts/setup.sh full"
