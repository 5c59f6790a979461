#include "zeroloss/storage/tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/json.hpp"
#include "storage/tensor_bytes.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie in memory");

namespace zeroloss {
using namespace internal;
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";
constexpr std::uint64_t kLongestHeader = 100'000'000;  // of the format
constexpr std::array<std::pair<const char*, Index>, 4> kDtypes{
    {{"F64", 8}, {"F32", 4}, {"I64", 8}, {"U8", 1}}};

/// Bytes of an array; nothing if a size is negative or the product too large.
std::optional<Index> bytes_of(Dtype dtype, const std::vector<Index>& shape) {
  if (std::ranges::any_of(shape, [](Index size) { return size < 0; })) return {};
  Index bytes = dtype_bytes(dtype);
  for (const Index size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes)) return {};
  return bytes;
}

// ---- reading ----

struct Entry {
  std::string name;
  Dtype dtype;
  std::vector<Index> shape;
  std::uint64_t begin, end;  // in the data
};

struct Header {
  std::vector<Entry> entries;  // in the order of the data
  Metadata metadata;
};

class Reader {
 public:
  explicit Reader(const fs::path& path) : name_(path.string()) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) throw damaged("no such file");
    if (!fs::is_regular_file(status)) throw damaged("expected a file");
    in_.open(path, std::ios::binary | std::ios::ate);
    if (!in_) throw damaged(fmt::format("cannot be opened: {}", std::strerror(errno)));
    // Of the file that is open: one that is written again and again, as checkpoints are, may be another by
    // now.
    size_ = static_cast<std::uint64_t>(in_.tellg());
    in_.seekg(0);
  }

  Header header() {
    std::uint64_t length = 0;
    if (size_ < kLengthBytes)
      throw damaged(fmt::format("not a safetensors file: {} bytes, expected a header", size_));
    read(&length, kLengthBytes);
    if (length > kLongestHeader || length > size_ - kLengthBytes)
      throw damaged(fmt::format(
          "not a safetensors file, or a truncated one: a header of {} bytes in a file of {}", length, size_));
    std::string text(length, '\0');
    read(text.data(), length);
    data_size_ = size_ - kLengthBytes - length;
    Header header = interpret(parse(text));
    check_layout(header.entries);
    return header;
  }

  void read(void* to, std::uint64_t count) {
    if (!in_.read(static_cast<char*>(to), static_cast<std::streamsize>(count)))
      throw damaged("truncated: it became shorter while read");
  }

 private:
  DataError damaged(const std::string& what) const { return DataError(fmt::format("{}: {}", name_, what)); }
  DataError damaged(const std::string& tensor, const std::string& what) const {
    return damaged(fmt::format("tensor '{}': {}", excerpt(tensor), what));
  }

  /// JSON without names that occur twice, and no deeper than a header is: {"name": {"shape": [..]}}.
  Json parse(const std::string& text) const {
    try {
      Json json = Json::parse(text, 3);
      if (!json.is_object()) throw damaged("its header is not a JSON object");
      return json;
    } catch (const JsonError& error) {
      throw damaged(fmt::format("its header: {}", error.what()));
    }
  }

  std::vector<std::uint64_t> numbers(const std::string& tensor, const Json& info, const char* key) const {
    try {
      return info.at(key).list<std::uint64_t>();
    } catch (const JsonError&) {
      throw damaged(tensor, fmt::format("expected \"{}\", a list of numbers >= 0", key));
    }
  }

  Entry entry(const std::string& name, const Json& info) const {
    if (!info.is_object()) throw damaged(name, "expected an object with dtype, shape and data_offsets");
    const Json* type = info.find("dtype");
    const std::string dtype = type != nullptr && type->is_text() ? type->as<std::string>() : "missing";
    const auto known = std::ranges::find(kDtypes, dtype, [](const auto& d) { return std::string(d.first); });
    if (known == kDtypes.end())
      throw damaged(name, fmt::format("dtype {}; expected F64, F32, I64 or U8", excerpt(dtype)));
    Entry result{name, static_cast<Dtype>(known - kDtypes.begin()), {}, 0, 0};

    for (const std::uint64_t size : numbers(name, info, "shape"))
      result.shape.push_back(static_cast<Index>(size));  // beyond 2^63 it is negative, and refused below
    const auto bytes = bytes_of(result.dtype, result.shape);
    if (!bytes) throw damaged(name, fmt::format("impossible shape {}", info.at("shape").dump()));
    const auto offsets = numbers(name, info, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_size_)
      throw damaged(name, fmt::format("impossible data_offsets {} in {} bytes of data: truncated or damaged",
                                      info.at("data_offsets").dump(), data_size_));
    result.begin = offsets[0], result.end = offsets[1];
    if (result.end - result.begin != static_cast<std::uint64_t>(*bytes))
      throw damaged(name, fmt::format("{} bytes, but {} of shape {} take {}", result.end - result.begin,
                                      dtype, info.at("shape").dump(), *bytes));
    return result;
  }

  Header interpret(const Json& json) const {
    Header header;
    for (const auto& [key, value] : json.members()) {
      if (key != kMetadata) {
        header.entries.push_back(entry(key, value));
        continue;
      }
      if (!value.is_object()) throw damaged("its __metadata__ is not a JSON object");
      for (const auto& [name, text] : value.members()) {
        if (!text.is_text()) throw damaged(fmt::format("its metadata '{}' is not text", excerpt(name)));
        header.metadata[name] = text.as<std::string>();
      }
    }
    return header;
  }

  void check_layout(std::vector<Entry>& entries) const {
    std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
    std::uint64_t at = 0;
    for (const Entry& e : entries) {
      if (e.begin != at)
        throw damaged(e.name,
                      fmt::format("its data {} at {}, where {} is due",
                                  e.begin < at ? "overlaps others: it begins" : "begins", e.begin, at));
      at = e.end;
    }
    if (at != data_size_)
      throw damaged(fmt::format("{} bytes of data, but its tensors take {}", data_size_, at));
  }

  std::string name_;
  std::ifstream in_;
  std::uint64_t size_ = 0, data_size_ = 0;
};

}  // namespace

Index internal::checked_bytes(const TensorView& tensor, const char* who) {
  const auto refuse = [&](const std::string& what) {
    return std::invalid_argument(fmt::format("{}: tensor '{}': {}", who, tensor.name, what));
  };
  const auto bytes = bytes_of(tensor.dtype, tensor.shape);
  if (!bytes) throw refuse(fmt::format("impossible shape [{}]", fmt::join(tensor.shape, ", ")));
  const Index pieces = std::ssize(tensor.pieces);
  if (pieces == 0 || *bytes / dtype_bytes(tensor.dtype) % pieces != 0)
    throw refuse(fmt::format("{} pieces do not divide shape [{}]", pieces, fmt::join(tensor.shape, ", ")));
  return *bytes;
}

std::string dtype_name(Dtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)].first; }
Index dtype_bytes(Dtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)].second; }

const Tensor* TensorFile::find(const std::string& name) const {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

void write_tensors(const fs::path& path, const std::vector<TensorView>& tensors, const Metadata& metadata) {
  std::vector<const TensorView*> order;
  order.reserve(tensors.size());
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [](const TensorView* t) { return dtype_bytes(t->dtype); });
  std::map<std::string, Json> header;  // by name
  const auto checked = [](const std::string& text) {
    if (!is_utf8(text))
      throw std::invalid_argument("write_tensors: a name or metadata is not UTF-8: " + utf8(text));
    return text;
  };
  for (const auto& [key, value] : metadata) header[kMetadata][checked(key)] = checked(value);
  std::vector<std::string_view> pieces(1);  // the header's place
  Index offset = 0;
  for (const TensorView* tensor : order) {
    const Index bytes = checked_bytes(*tensor, "write_tensors");
    if (tensor->name == kMetadata || header.contains(tensor->name))
      throw std::invalid_argument(fmt::format("write_tensors: the name '{}' is taken", tensor->name));
    header[checked(tensor->name)] = {{"data_offsets", {offset, offset + bytes}},
                                     {"dtype", dtype_name(tensor->dtype)},
                                     {"shape", tensor->shape}};
    const auto length = static_cast<std::size_t>(bytes) / tensor->pieces.size();
    for (const void* data : tensor->pieces) pieces.emplace_back(static_cast<const char*>(data), length);
    offset += bytes;
  }
  const std::string text = Json(Json::Object(header.begin(), header.end())).dump();
  std::string first(kLengthBytes, '\0');
  first += text;
  first.resize((first.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = first.size() - kLengthBytes;
  std::memcpy(first.data(), &length, kLengthBytes);
  pieces.front() = first;
  write_file(path, pieces);
}

TensorFile read_tensors(const fs::path& path) {
  Reader reader(path);
  Header header = reader.header();
  TensorFile file;
  file.metadata = std::move(header.metadata);
  for (Entry& entry : header.entries) {
    Tensor& tensor = file.tensors.emplace_back();
    tensor.name = std::move(entry.name);
    tensor.dtype = entry.dtype;
    tensor.shape = std::move(entry.shape);
    tensor.bytes.resize(static_cast<Index>(entry.end - entry.begin));
    reader.read(tensor.bytes.data(), entry.end - entry.begin);
  }
  return file;
}

Metadata read_metadata(const fs::path& path) { return Reader(path).header().metadata; }

}  // namespace zeroloss
