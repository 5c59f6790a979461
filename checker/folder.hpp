#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "arrays.hpp"

namespace check {

using Json = nlohmann::json;

// An object of claims.json whose keys are known. Every message names where it is.
class Object {
 public:
  // Throws Unreadable for a key that is none of these (`note` always is).
  Object(const Json& json, std::string where, std::initializer_list<const char*> keys);

  bool has(const char* key) const { return json_->contains(key); }
  const Json& at(const char* key) const;
  std::string text(const char* key) const;
  double number(const char* key) const;  // of a hexadecimal float
  std::size_t count(const char* key, std::size_t most = std::size_t{1} << 40) const;
  bool truth(const char* key) const;  // false where it is not there
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const Json* json_;
  std::string where_;
};

// "0x1.8p-3" as the double that it exactly is. Throws Unreadable.
double number(const Json& json, const std::string& where);

// A run folder: claims.json, and the arrays that it names, read when they are asked for.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& path);

  const Json& claims() const { return json_["claims"]; }
  const std::string& digest() const { return digest_; }  // SHA-256 of claims.json
  const Json& points(const std::string& name) const { return named("points", name); }
  const Json& network(const std::string& name) const { return named("networks", name); }
  std::vector<std::string> names(const char* what) const;  // of "points" or "networks"
  const Array& array(const std::string& name) const;
  // An array of one of the types, with as many sizes (0: one or two), of finite numbers. `infinite`: or
  // infinity, as masks have it.
  const Array& reals(const std::string& name, std::size_t sizes = 0, bool infinite = false) const;
  const Array& integers(const std::string& name, std::size_t sizes) const;
  // Row numbers below `rows`, from an array of whole numbers.
  std::vector<std::size_t> indices(const std::string& name, std::size_t rows) const;

 private:
  const Json& named(const char* what, const std::string& name) const;

  std::filesystem::path path_;
  std::string digest_;
  Json json_;
  std::map<std::string, ArrayFile> files_;
  mutable std::map<std::string, std::unique_ptr<Array>> read_;
};

}  // namespace check
