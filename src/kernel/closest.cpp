#include "kernel/closest.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "linalg/rounding.hpp"

namespace zeroloss::internal {
namespace {

constexpr std::size_t kClosest = 16;  // pairs kept

double row_error_of(double d) { return unit_row_error(static_cast<Index>(d)); }

}  // namespace

double product_error(double d) { return d * u / (1 - d * u) + 2.01 * row_error_of(d) + d * 0x1p-1020; }

double distance_bound(double measured, double d) {
  return std::max(0.0, measured * (1 - 8 * u) - 2.1 * row_error_of(d));
}

// A total order: the 16 closest do not depend on threads.
bool Closest::Candidate::operator<(const Candidate& other) const {
  if (distance != other.distance) return distance < other.distance;
  return i != other.i ? i < other.i : j < other.j;
}

double Closest::bar() const {
  if (heap_.size() < kClosest) return -1;
  const double reach = heap_.front().distance;
  return 1 - reach * reach / 2;
}

void Closest::offer(double distance, Index i, Index j) {
  const Candidate candidate{distance, i, j};
  if (heap_.size() == kClosest) {
    if (!(candidate < heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end());
}

void Closest::offer_near(double distance, Index i, Index j) {
  offer(distance, i, j);
  ++near_pairs_;
}

void Closest::add(const Closest& other) {
  for (const Candidate& c : other.heap_) offer(c.distance, c.i, c.j);
  near_pairs_ += other.near_pairs_;
}

std::string Closest::bytes() const {
  std::string bytes(sizeof near_pairs_ + heap_.size() * sizeof(Candidate), '\0');
  std::memcpy(bytes.data(), &near_pairs_, sizeof near_pairs_);
  if (!heap_.empty())
    std::memcpy(bytes.data() + sizeof near_pairs_, heap_.data(), heap_.size() * sizeof(Candidate));
  return bytes;
}

Closest Closest::of_bytes(const std::string& bytes) {
  Closest closest;
  std::memcpy(&closest.near_pairs_, bytes.data(), sizeof closest.near_pairs_);
  const std::size_t count = (bytes.size() - sizeof closest.near_pairs_) / sizeof(Candidate);
  closest.heap_.resize(count);
  if (count > 0)
    std::memcpy(closest.heap_.data(), bytes.data() + sizeof closest.near_pairs_, count * sizeof(Candidate));
  return closest;
}

template <class Row>
std::vector<Pair> Closest::measured(Index d, const Row& row) const {
  std::vector<Candidate> sorted = heap_;
  std::sort(sorted.begin(), sorted.end());
  std::vector<Pair> result;
  for (const Candidate& c : sorted) {
    const auto [apart, across] = distances(row(c.i), row(c.j), d);
    result.push_back({c.i, c.j, std::min(apart, across), across < apart});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Pair& a, const Pair& b) { return a.distance < b.distance; });
  return result;
}

template <class T>
std::vector<Pair> Closest::pairs(const Rows<T>& X) const {
  return measured(X.cols(), [&](Index i) { return X.row(i).data(); });
}

std::vector<Index> Closest::ends() const {
  std::set<Index> ends;
  for (const Candidate& c : heap_) ends.insert({c.i, c.j});
  return {ends.begin(), ends.end()};
}

std::vector<Pair> Closest::pairs(const RowMatrix& X, const std::vector<Index>& ends) const {
  return measured(X.cols(),
                  [&](Index i) { return X.row(std::ranges::lower_bound(ends, i) - ends.begin()).data(); });
}

template std::vector<Pair> Closest::pairs(const Rows<double>&) const;
template std::vector<Pair> Closest::pairs(const Rows<float>&) const;

// A pair is known through rho, but near ones were measured on the vectors. Of both kinds the least counts:
// where there are near pairs, others may be as close as the cut between the kinds.
double separation_bound(const std::vector<Pair>& closest, Index near_pairs, double d) {
  if (closest.empty()) return std::numeric_limits<double>::infinity();
  const auto through_rho = [&](double distance) {
    return std::sqrt(std::max(0.0, distance * distance - 4 * product_error(d))) * (1 - 8 * u);
  };
  const double least = closest.front().distance;
  if (near_pairs == 0) return through_rho(least);
  return std::min(distance_bound(least, d), through_rho(std::sqrt(2 * kNear) * (1 - 4 * u)));
}

}  // namespace zeroloss::internal
