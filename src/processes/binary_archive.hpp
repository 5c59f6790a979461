#pragma once
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// Values on their way to another process of the same program: read in the order in which they were written.
namespace zeroloss::internal {

class BinaryArchive {
 public:
  BinaryArchive() = default;
  explicit BinaryArchive(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& bytes() const { return bytes_; }

  template <class T>
  requires std::is_trivially_copyable_v<T> BinaryArchive& put(const T& value) {
    return raw(&value, sizeof value);
  }
  BinaryArchive& put(std::string_view text) { return put(text.size()).raw(text.data(), text.size()); }
  BinaryArchive& put(const std::string& text) { return put(std::string_view(text)); }
  BinaryArchive& put(const std::vector<std::string>& texts) {
    put(texts.size());
    for (const std::string& text : texts) put(text);
    return *this;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> BinaryArchive& put(const std::vector<T>& values) {
    return put(values.size()).raw(values.data(), values.size() * sizeof(T));
  }
  template <class T, int R, int C, int O>
  BinaryArchive& put(const Eigen::Matrix<T, R, C, O>& matrix) {
    return put(matrix.rows())
        .put(matrix.cols())
        .raw(matrix.data(), static_cast<std::size_t>(matrix.size()) * sizeof(T));
  }

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    std::memcpy(&value, next(sizeof value), sizeof value);
    return value;
  }
  void get(std::string& text) {
    const auto size = get<std::size_t>();
    text.assign(next(size), size);
  }
  std::string text() {
    std::string text;
    get(text);
    return text;
  }
  void get(std::vector<std::string>& texts) {
    texts.resize(get<std::size_t>());
    for (std::string& text : texts) get(text);
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void get(std::vector<T>& values) {
    values.resize(get<std::size_t>());
    if (!values.empty())
      std::memcpy(values.data(), next(values.size() * sizeof(T)), values.size() * sizeof(T));
  }
  template <class T, int R, int C, int O>
  void get(Eigen::Matrix<T, R, C, O>& matrix) {
    const auto rows = get<Index>(), columns = get<Index>();
    matrix.resize(rows, columns);
    const std::size_t size = static_cast<std::size_t>(matrix.size()) * sizeof(T);
    if (size > 0) std::memcpy(matrix.data(), next(size), size);
  }

 private:
  BinaryArchive& raw(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }
  const char* next(std::size_t size) {
    if (size > bytes_.size() - at_)
      throw std::logic_error("BinaryArchive: it ends before what is read of it");
    at_ += size;
    return bytes_.data() + at_ - size;
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace zeroloss::internal
