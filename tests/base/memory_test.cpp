#include "zeroloss/base/memory.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

TEST(Memory, FormatsBytesInPowersOfTen) {
  EXPECT_EQ(format_bytes(0), "0.0 kB");
  EXPECT_EQ(format_bytes(1500), "1.5 kB");
  EXPECT_EQ(format_bytes(2.25e6), "2.2 MB");
  EXPECT_EQ(format_bytes(14.4e9), "14.4 GB");
  EXPECT_EQ(format_bytes(1.6e13), "16000.0 GB");
}

TEST(Memory, SomeIsAvailable) { EXPECT_GT(available_memory_bytes(), 0); }

TEST(Memory, PeakHoldsWhatWasTouched) {
  const std::int64_t bytes = 64 << 20;
  const std::vector<char> touched(static_cast<std::size_t>(bytes), 'x');
  EXPECT_EQ(touched.back(), 'x');
  EXPECT_GT(peak_memory_bytes(), bytes);
}

TEST(Memory, SaysWhatIsNeededWhatIsFreeAndWhatToTry) {
  EXPECT_NO_THROW(require_memory(0, "nothing", ""));
  const auto message =
      test::message_of<ResourceError>([] { require_memory(1.5e20, "the kernel of 9 points", "try --n 5"); });
  EXPECT_EQ(message.rfind("the kernel of 9 points needs 150000000000.0 GB, ", 0), 0u) << message;
  EXPECT_NE(message.find(" free; try --n 5"), std::string::npos) << message;
}

}  // namespace
}  // namespace zeroloss
