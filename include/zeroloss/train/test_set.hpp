#pragma once
#include <memory>
#include <string>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/data/dataset.hpp"

namespace zeroloss {

/// Points that training does not see: its network is asked about them at every record. Made by select_test,
/// or by hand: classes are those of the data that are fitted, in their order.
struct TestSet {
  std::string source{};                   ///< the data's name; empty: none
  std::string digest{};                   ///< SHA-256 of the bytes of the source
  std::shared_ptr<const Dataset> data{};  ///< null: none

  TestSet() = default;
  explicit TestSet(std::shared_ptr<const Dataset> points)
      : source(points->name), digest(points->digest), data(std::move(points)) {}
  bool operator==(const TestSet& other) const { return data == other.data; }
};
template <Is<TestSet> T, class Visitor>
void fields(T& t, const Visitor& visit) {
  visit(Field{"source", "Where the points are from; empty: none."}, t.source);
  visit(Field{"digest", "SHA-256 of the bytes of the source."}, t.digest);
}
std::string text_of(const TestSet& test);  ///< "none", or SHA-256 of points and targets

}  // namespace zeroloss
