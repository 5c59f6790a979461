// Widths that are enough where hidden units have biases: docs/theory.md, section 13.

#if __has_include(<flint/nmod_mat.h>)
#include <flint/nmod_mat.h>
#include <flint/ulong_extras.h>
#else
#include <nmod_mat.h>
#include <ulong_extras.h>
#endif

#include <map>

#include "activation.hpp"
#include "kinds.hpp"
#include "points.hpp"
#include "progress.hpp"
#include "verdict.hpp"
#include "whole.hpp"

namespace check {
namespace {

using Members = std::vector<std::size_t>;  // distinct points

// The directions of distinct points in whole numbers, and modulo a prime. Rows that are independent modulo it
// are so; and a row that some u, orthogonal to such rows modulo it, is not orthogonal to, is not in their
// span.
class Directions {
 public:
  Directions(const Points& points, const Distinct& distinct) : prime_(n_nextprime(UWORD(1) << 60, 1)) {
    const auto n = static_cast<slong>(distinct.size()), d = static_cast<slong>(points.dimension());
    fmpz_mat_init(whole_, n, d);
    nmod_mat_init(residues_, n, d, prime_);
    Progress progress("reading points", distinct.size());
    for (slong i = 0; i < n; ++i) {
      progress.at(static_cast<std::size_t>(i));
      Whole row(points.exact_row(distinct.first[static_cast<std::size_t>(i)]));
      row.primitive();
      for (slong j = 0; j < d; ++j) {
        fmpz_set(fmpz_mat_entry(whole_, i, j), row.data() + j);
        nmod_mat_entry(residues_, i, j) = fmpz_fdiv_ui(row.data() + j, prime_);
      }
    }
  }
  ~Directions() {
    fmpz_mat_clear(whole_);
    nmod_mat_clear(residues_);
  }
  Directions(const Directions&) = delete;
  Directions& operator=(const Directions&) = delete;

  // A vector modulo the prime that is orthogonal to these rows and most likely to no row out of their span;
  // empty where they are not independent modulo it.
  std::vector<mp_limb_t> orthogonal(const Members& rows) const {
    const slong d = residues_->c, count = static_cast<slong>(rows.size());
    nmod_mat_t part, null;
    nmod_mat_init(part, count, d, prime_);
    nmod_mat_init(null, d, d, prime_);
    for (slong i = 0; i < count; ++i) {
      for (slong j = 0; j < d; ++j) {
        nmod_mat_entry(part, i, j) = nmod_mat_entry(residues_, static_cast<slong>(rows[i]), j);
      }
    }
    const slong nullity = nmod_mat_nullspace(null, part);
    std::vector<mp_limb_t> u;
    if (d - nullity == count) {
      std::uint64_t state = 1;
      u.assign(static_cast<std::size_t>(d), 0);
      for (slong k = 0; k < nullity; ++k) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        for (slong j = 0; j < d; ++j) {
          NMOD_ADDMUL(u[j], nmod_mat_entry(null, j, k), state % prime_, residues_->mod);
        }
      }
    }
    nmod_mat_clear(part);
    nmod_mat_clear(null);
    return u;
  }

  bool at_right_angles(std::size_t row, const std::vector<mp_limb_t>& u) const {
    mp_limb_t sum = 0;
    for (std::size_t j = 0; j < u.size(); ++j) {
      NMOD_ADDMUL(sum, nmod_mat_entry(residues_, static_cast<slong>(row), static_cast<slong>(j)), u[j],
                  residues_->mod);
    }
    return sum == 0;
  }

  // Decides it in whole numbers.
  bool independent(const Members& rows) const {
    fmpz_mat_t part;
    fmpz_mat_init(part, static_cast<slong>(rows.size()), whole_->c);
    for (slong i = 0; i < part->r; ++i) {
      for (slong j = 0; j < part->c; ++j) {
        fmpz_set(fmpz_mat_entry(part, i, j), fmpz_mat_entry(whole_, static_cast<slong>(rows[i]), j));
      }
    }
    const bool full = fmpz_mat_rank(part) == part->r;
    fmpz_mat_clear(part);
    return full;
  }

 private:
  mp_limb_t prime_;
  fmpz_mat_t whole_;
  nmod_mat_t residues_;
};

}  // namespace

std::string check_biased(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "points", "activation", "groups", "width"});
  const Activation activation(o.at("activation"), where);
  const Points points(folder, o.text("points"));
  const Array& group_of = folder.integers(o.text("groups"), 1);
  const std::size_t width = o.count("width");
  if (group_of.size() != points.rows()) {
    o.fail("groups has not a number for each point");
  }
  if (!activation.kinked() || activation.slope() == 1) {
    throw False("the theorem is about relu and leaks other than 1");
  }
  const Distinct distinct(points);
  std::map<std::int64_t, Members> groups;
  for (std::size_t i = 0; i < points.rows(); ++i) {
    if (group_of.integer(i) != group_of.integer(distinct.first[distinct.group[i]])) {
      o.fail("equal points are in different groups");
    }
  }
  for (std::size_t k = 0; k < distinct.size(); ++k) {
    groups[group_of.integer(distinct.first[k])].push_back(k);
  }
  const std::string found =
      std::to_string(groups.size()) + " groups of " + std::to_string(distinct.size()) + " different points";
  if (width / 4 < groups.size()) {
    throw False(found + " ask for 4 units each");
  }
  const Directions directions(points, distinct);
  Progress progress("comparing points with groups", groups.size());
  std::size_t done = 0;
  for (const auto& [number, members] : groups) {
    progress.at(done++);
    const std::string group = "group " + std::to_string(number);
    const std::vector<mp_limb_t> u = directions.orthogonal(members);
    if (u.empty()) {
      if (!directions.independent(members)) {
        throw False(group + " is not linearly independent");
      }
      throw Open(group + " is independent, but not modulo the prime");
    }
    for (std::size_t k = 0; k < distinct.size(); ++k) {
      const bool own = group_of.integer(distinct.first[k]) == number;
      if (own || !directions.at_right_angles(k, u)) {
        continue;
      }
      Members with = members;
      with.push_back(k);
      if (!directions.independent(with)) {
        throw False("point " + std::to_string(distinct.first[k]) + " is in the span of " + group);
      }
      throw Open("modulo the prime a point is in the span of " + group);
    }
  }
  return found + ", independent and without another point in their span";
}

}  // namespace check
