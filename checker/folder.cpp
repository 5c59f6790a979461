#include "folder.hpp"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>

#include "sha256.hpp"
#include "verdict.hpp"

namespace check {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDeepest = 32;
constexpr std::uintmax_t kLongest = std::uintmax_t{1} << 30;

std::string bytes_of(const fs::path& file) {
  if (!fs::is_directory(file.parent_path())) {
    throw Unreadable(file.parent_path().string() + " is no run folder");
  }
  if (!fs::is_regular_file(file)) {
    throw Unreadable(file.string() +
                     " is not there: nothing in this folder is said to be proved so that it can be checked");
  }
  if (fs::file_size(file) > kLongest) {
    throw Unreadable(file.string() + " is of more than 1 GB");
  }
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Sees how deep brackets lie in each other, and that no object has a key twice, before anything is built.
class Shape : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second) {
      throw Unreadable("claims.json has the key \"" + key + "\" twice in one object");
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    throw Unreadable(std::string("claims.json is not JSON: ") + error.what());
  }

 private:
  bool enter() {
    keys_.emplace_back();
    if (keys_.size() > kDeepest) {
      throw Unreadable("claims.json has more than 32 brackets inside each other");
    }
    return true;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }
  std::vector<std::set<std::string>> keys_;
};

Json parsed(const std::string& text) {
  Shape shape;
  Json::sax_parse(text, &shape);
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw Unreadable(std::string("claims.json is not JSON: ") + error.what());
  }
}

Type type_of(const Object& o) {
  const std::string name = o.text("dtype");
  for (std::size_t k = 0; k < std::size(kTypes); ++k) {
    if (name == kTypes[k].name) {
      return static_cast<Type>(k);
    }
  }
  o.fail("dtype is none of float64, float32, int64 and uint8");
}

ArrayFile file_of(const std::string& name, const Json& json) {
  const Object o(json, "array " + name, {"file", "dtype", "shape", "sha256", "offset", "external"});
  ArrayFile file{name, o.text("file"), o.text("sha256"), type_of(o), {}, 0, o.truth("external")};
  const Json& shape = o.at("shape");
  if (!shape.is_array() || shape.empty() || shape.size() > 2) {
    o.fail("shape is not a list of one or two sizes");
  }
  for (const Json& size : shape) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() < 1 ||
        size.get<std::uint64_t>() > std::uint64_t{1} << 40) {
      o.fail("a size of shape is not a whole number of 1 or more");
    }
    file.shape.push_back(size.get<std::size_t>());
  }
  if (file.sha256.size() != 64 || file.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    o.fail("sha256 is not of 64 hexadecimal digits in small letters");
  }
  if (o.has("offset")) {
    if (file.file.ends_with(".npy")) {
      o.fail("offset is there, and numpy's header says where its array begins");
    }
    file.offset = o.count("offset");
  }
  return file;
}

}  // namespace

Object::Object(const Json& json, std::string where, std::initializer_list<const char*> keys)
    : json_(&json), where_(std::move(where)) {
  if (!json.is_object()) {
    fail("is not an object");
  }
  for (const auto& [key, value] : json.items()) {
    bool known = key == "note";
    for (const char* k : keys) {
      known = known || key == k;
    }
    if (!known) {
      fail("has a key that is not known: " + key);
    }
  }
}

void Object::fail(const std::string& what) const { throw Unreadable(where_ + ": " + what); }

const Json& Object::at(const char* key) const {
  if (!has(key)) {
    fail(std::string("has no ") + key);
  }
  return (*json_)[key];
}

std::string Object::text(const char* key) const {
  const Json& value = at(key);
  if (!value.is_string()) {
    fail(std::string(key) + " is not a text");
  }
  return value.get<std::string>();
}

double Object::number(const char* key) const { return check::number(at(key), where_ + ": " + key); }

std::size_t Object::count(const char* key, std::size_t most) const {
  const Json& value = at(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    fail(std::string(key) + " is not a whole number of at most " + std::to_string(most));
  }
  return value.get<std::size_t>();
}

bool Object::truth(const char* key) const {
  if (!has(key)) {
    return false;
  }
  if (!at(key).is_boolean()) {
    fail(std::string(key) + " is neither true nor false");
  }
  return at(key).get<bool>();
}

double number(const Json& json, const std::string& where) {
  const auto fail = [&] {
    throw Unreadable(where + " is not a hexadecimal float such as \"0x1.8p-3\" that a double holds");
  };
  if (!json.is_string()) {
    fail();
  }
  const std::string text = json.get<std::string>();
  std::size_t at = 0;
  const bool negative = text.starts_with('-');
  at += negative ? 1 : 0;
  if (text.compare(at, 2, "0x") != 0) {
    fail();
  }
  at += 2;
  std::uint64_t digits = 0;
  int exponent = 0;
  int count = 0;
  bool point = false;
  for (; at < text.size() && text[at] != 'p'; ++at) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0 || ++count > 16) {
      fail();
    }
    digits = digits << 4 | static_cast<std::uint64_t>(digit);
    exponent -= point ? 4 : 0;
  }
  if (count == 0 || at + 2 > text.size()) {
    fail();
  }
  ++at;  // the p
  const bool down = text[at] == '-';
  at += text[at] == '-' || text[at] == '+' ? 1 : 0;
  if (at >= text.size() || text.size() - at > 4) {
    fail();
  }
  int power = 0;
  for (; at < text.size(); ++at) {
    if (text[at] < '0' || text[at] > '9') {
      fail();
    }
    power = 10 * power + (text[at] - '0');
  }
  exponent += down ? -power : power;
  const double mantissa = static_cast<double>(digits);
  const double value = std::ldexp(mantissa, exponent);
  const bool exact = mantissa < 0x1p64 && static_cast<std::uint64_t>(mantissa) == digits &&
                     std::isfinite(value) && (digits == 0 || std::ldexp(value, -exponent) == mantissa);
  if (!exact) {
    fail();
  }
  return negative ? -value : value;
}

Folder::Folder(const fs::path& path) : path_(path) {
  const std::string text = bytes_of(path / "claims.json");
  digest_ = sha256(text.data(), text.size());
  json_ = parsed(text);
  const Object all(json_, "claims.json", {"format", "zeroloss", "arrays", "points", "networks", "claims"});
  if (all.count("format") != 1) {
    throw Unreadable("claims.json has another format than 1, which alone is known here");
  }
  for (const char* key : {"arrays", "points", "networks"}) {
    if (!json_.contains(key)) {
      json_[key] = Json::object();
    }
    if (!json_[key].is_object()) {
      throw Unreadable(std::string("claims.json: ") + key + " is not an object");
    }
  }
  if (!json_.contains("claims") || !json_["claims"].is_array() || json_["claims"].empty()) {
    const std::string why = json_.contains("note") && json_["note"].is_string() ? json_["note"] : "";
    throw Unreadable("claims.json has no claims: no claim is no proof" +
                     (why.empty() ? "" : " (" + why + ")"));
  }
  for (const auto& [name, json] : json_["arrays"].items()) {
    files_.emplace(name, file_of(name, json));
  }
}

const Json& Folder::named(const char* what, const std::string& name) const {
  if (!json_[what].contains(name)) {
    throw Unreadable(std::string("claims.json: ") + what + " has no " + name);
  }
  return json_[what][name];
}

std::vector<std::string> Folder::names(const char* what) const {
  std::vector<std::string> names;
  for (const auto& [name, json] : json_[what].items()) {
    names.push_back(name);
  }
  return names;
}

const Array& Folder::array(const std::string& name) const {
  std::unique_ptr<Array>& array = read_[name];
  if (!array) {
    const auto file = files_.find(name);
    if (file == files_.end()) {
      throw Unreadable("claims.json: arrays has no " + name);
    }
    array = std::make_unique<Array>(read_array(path_, file->second));
  }
  return *array;
}

const Array& Folder::reals(const std::string& name, std::size_t sizes, bool infinite) const {
  const Array& a = array(name);
  if (a.infinite && !infinite) {
    throw False("array " + name + " has a number that is not finite");
  }
  if (a.type == Type::int64 || (sizes != 0 && a.shape.size() != sizes)) {
    throw Unreadable("array " + name + " is not of real numbers, or not of as many sizes as is asked for");
  }
  return a;
}

const Array& Folder::integers(const std::string& name, std::size_t sizes) const {
  const Array& a = array(name);
  if (!a.integers() || a.shape.size() != sizes) {
    throw Unreadable("array " + name + " is not of whole numbers, or not of as many sizes as is asked for");
  }
  return a;
}

std::vector<std::size_t> Folder::indices(const std::string& name, std::size_t rows) const {
  const Array& a = array(name);
  if (!a.integers()) {
    throw Unreadable("array " + name + " is not of whole numbers");
  }
  std::vector<std::size_t> found(a.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (a.integer(i) < 0 || static_cast<std::uint64_t>(a.integer(i)) >= rows) {
      throw Unreadable("array " + name + " has a row number that is not below " + std::to_string(rows));
    }
    found[i] = static_cast<std::size_t>(a.integer(i));
  }
  return found;
}

}  // namespace check
