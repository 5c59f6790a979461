#include "base/cgroup.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/temp_folder.hpp"

namespace zeroloss::internal {
namespace {

constexpr auto kUnlimited = std::numeric_limits<std::int64_t>::max();

class Cgroup : public test::TempFolder {
 protected:
  std::int64_t free_of(const std::string& self) {
    return cgroup_free_bytes(write("self", self), path("mounted"));
  }
};

TEST_F(Cgroup, NothingIsLimitedWhereNothingIsKnown) {
  EXPECT_EQ(cgroup_free_bytes(path("missing"), path("missing")), kUnlimited);
  EXPECT_EQ(free_of("0::/a/b\n"), kUnlimited);
  EXPECT_EQ(free_of("no such line\n0:\n"), kUnlimited);
  write("mounted/a/memory.max", "max\n");
  EXPECT_EQ(free_of("0::/a/b\n"), kUnlimited);
}

TEST_F(Cgroup, TheTightestOfTheGroupsAround) {
  write("mounted/memory.max", "5000");
  write("mounted/memory.current", "100");
  write("mounted/slurm/memory.max", "2000");
  write("mounted/slurm/memory.current", "1200");
  write("mounted/slurm/step/memory.max", "1900");
  write("mounted/slurm/step/memory.current", "1000");
  write("mounted/beside/memory.max", "1");
  EXPECT_EQ(free_of("0::/slurm/step\n"), 800);
  EXPECT_EQ(free_of("0::/slurm/other\n"), 800);
  EXPECT_EQ(free_of("0::/\n"), 4900);
}

TEST_F(Cgroup, FileCacheIsFree) {
  write("mounted/a/memory.max", "2000");
  write("mounted/a/memory.current", "1900");
  write("mounted/a/memory.stat", "anon 300\ninactive_file 1500\nactive_file 100\n");
  EXPECT_EQ(free_of("0::/a\n"), 1600);
  write("mounted/a/memory.current", "9000");  // above its limit for a moment
  EXPECT_EQ(free_of("0::/a\n"), 0);
}

TEST_F(Cgroup, TheFirstVersionHasNamesOfItsOwn) {
  write("mounted/memory/job/memory.limit_in_bytes", "3000");
  write("mounted/memory/job/memory.usage_in_bytes", "1000");
  write("mounted/memory/job/memory.stat",
        "inactive_file 1\nhierarchical_memsw_limit 18446744073709551615\ntotal_inactive_file 400\n");
  write("mounted/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(free_of("3:cpuset:/job\n4:cpu,memory:/job/task\n0::/\n"), 2400);
}

}  // namespace
}  // namespace zeroloss::internal
