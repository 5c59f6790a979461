#pragma once
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// The records of tests/kernel/data/<file> below its header, split at commas.
inline std::vector<std::vector<std::string>> oracle_rows(const std::string& file) {
  std::ifstream in(std::string(ZEROLOSS_TEST_DIR) + "/kernel/data/" + file);
  if (!in) throw std::runtime_error("missing " + file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::stringstream fields(line + ",");
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}
