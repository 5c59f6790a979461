// Points to test a run on: made as those that it fits, with its classes.
#include <gtest/gtest.h>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/sources/readers.hpp"

namespace zeroloss {
namespace {

const ReadOptions kPrice{.target = "price"};

class SelectTest : public test::TempFolder {
 protected:
  Dataset read(const std::string& csv, const ReadOptions& options = kPrice) {
    return read_dataset(write("train.csv", csv), options);
  }
  /// Of another table, on the data that were read with these options.
  Dataset other(const Dataset& data, const std::string& csv, const ReadOptions& options = kPrice) {
    const std::string file = write("test.csv", csv);
    const ReadOptions asked = test_options(file, data, options);
    return select_test(data, open_source(file, asked), asked);
  }
};

TEST_F(SelectTest, ColumnsGoByNameAndMeanWhatTheyMeantBefore) {
  const Dataset data = read("a,colour,b,price\n1,red,4,0.5\n2,blue,5,1.5\n3,green,,2.5\n");
  const Dataset test = other(data, "price,colour,b,a,more\n7,blue,8,9,1\n6,red,,3,1\n");
  EXPECT_EQ(data.X.cols(), test.X.cols());
  EXPECT_EQ(test.y, (Vector(2) << 7, 6).finished());
  EXPECT_EQ(test.X(0, 0), 9) << "a";
  const double median = data.encoding.inputs[2].fill;  // of b, which the second test point has not
  EXPECT_LT(median, 6) << "of 4 and 5, and not of the 8 of the test points";
  EXPECT_EQ((test.X.row(1).array() == median).count(), 1);
  EXPECT_TRUE(test.standardization.empty()) << "the run's own is used";
  EXPECT_MESSAGE(DataError, other(data, "price,colour,b\n7,blue,8\n"), "not there: a");
  EXPECT_MESSAGE(DataError, other(data, "price,colour,b,a\n7,violet,8,1\n"), "violet");
}

TEST_F(SelectTest, MissingCellsAreTreatedAsOneSays) {
  const Dataset data = read("a,colour,price\n1,red,0.5\n2,blue,1.5\n4,red,2.5\n");
  const std::string holes = "price,colour,a\n7,blue,\n6,,3\n5,red,3\n";
  const Dataset filled = other(data, holes);
  EXPECT_EQ(filled.X, (RowMatrix{{2, 0}, {3, 0}, {3, 1}})) << "by the median of the data";
  EXPECT_EQ(filled.remarks, (std::vector<std::string>{
                                "missing: column 2 ('a'), 1 cell filled by 2, as the model's data had none",
                                "missing: column 1 ('colour'), 1 cell of no category, as the model's data "
                                "had none"}));
  ReadOptions options = kPrice;
  options.missing = "drop";
  const Dataset dropped = other(data, holes, options);
  EXPECT_EQ(dropped.X, (RowMatrix{{3, 1}}));
  EXPECT_EQ(dropped.records, std::vector<Index>{2});
  EXPECT_EQ(dropped.remarks, std::vector<std::string>{"left out: 2 records with missing cells"});
  EXPECT_MESSAGE(DataError, other(data, "price,colour,a\n7,blue,\n", options), "no record of 1 is left");
  options.missing = "error";
  EXPECT_MESSAGE(DataError, other(data, holes, options), "line 2: column 2 ('a'): missing value ''");
}

TEST_F(SelectTest, ClassesAreThoseOfTheDataInTheirOrder) {
  const Dataset data = read("a,b,class\n1,2,x\n2,5,y\n3,3,z\n", {});
  const Dataset test = other(data, "a,b,class\n1,2,z\n2,5,z\n", {});
  EXPECT_EQ(test.class_names, data.class_names);
  EXPECT_EQ(test.y, Vector::Constant(2, 2)) << "be they all of one class";
  EXPECT_MESSAGE(DataError, other(data, "a,b,class\n1,2,z\n2,5,w\n", {}), "class 'w'", "x, y, z");

  const ReadOptions two{.classes = {"x", "z"}};
  const Dataset chosen = read("a,b,class\n1,2,x\n2,5,y\n3,3,z\n", two);
  const Dataset kept = other(chosen, "a,b,class\n1,2,z\n2,5,y\n4,4,z\n", two);
  EXPECT_EQ(kept.n(), 2) << "the others were not asked for";
  EXPECT_EQ(kept.y, Vector::Ones(2));
  EXPECT_MESSAGE(DataError, other(chosen, "a,b,class\n1,2,y\n", two), "no point of the classes");
}

TEST_F(SelectTest, HasTheTaskOfTheData) {
  const Dataset data = read("a,b,price\n1,2,0.5\n2,5,1.5\n");
  EXPECT_EQ(other(data, "a,b,price\n1,2,3\n2,5,4\n").task, Task::regression) << "integers too";
  EXPECT_MESSAGE(DataError, other(data, "a,b,price\n1,2,cheap\n"), "regression target");
  EXPECT_MESSAGE(DataError, other(data, "a,b,price\n1,2,3\n", {.target = "none"}),
                 "no targets to compare with");
}

TEST(TestOptions, AskForAllPointsWithTheirOwnLabels) {
  Dataset data;
  data.name = "cifar";
  data.task = Task::classification;
  const ReadOptions given{
      .n = 5, .d = 7, .shuffle = true, .classes = {"a", "b"}, .labels = "random", .seed = 9};
  const ReadOptions test = test_options("elsewhere", data, given);
  EXPECT_EQ(test.n, 0);
  EXPECT_EQ(test.labels, "given");
  EXPECT_FALSE(test.shuffle);
  EXPECT_EQ(test.task, "classification");
  EXPECT_EQ(test.split, "train");
  EXPECT_EQ(test.d, 7) << "of the same subspace,";
  EXPECT_EQ(test.seed, 9u) << "which the seed decides";
  EXPECT_EQ(test.classes, given.classes);
  EXPECT_EQ(test_options("cifar", data, given).split, "test") << "of the same set the other split";
  EXPECT_EQ(test_options("cifar", data, {.split = "test"}).split, "train");
}

TEST(TestOptions, ProjectOntoTheSameSubspace) {
  const ReadOptions options{.d = 3, .seed = 4};
  const Dataset data = read_dataset("digits", {.n = 50, .d = 3, .seed = 4});
  const ReadOptions asked = test_options("elsewhere", data, options);
  const Dataset test = select_test(data, open_source("digits", asked), asked);
  EXPECT_EQ(test.X.topRows(50), data.X);
}

}  // namespace
}  // namespace zeroloss
