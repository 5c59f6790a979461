// zeroloss certify on data that is odd: what it concludes, and what it refuses.
#include <gtest/gtest.h>

#include "support/bounds.hpp"
#include "support/command.hpp"
#include "support/temp_folder.hpp"

namespace zeroloss::test {
namespace {

class OddData : public TempFolder {
 protected:
  Arguments certify(const std::string& csv, const Arguments& more = {}) {
    return with({"certify", write("points.csv", csv), "--standardize", "no", "--bias", "0"}, more);
  }
};

TEST_F(OddData, EqualPointsWithEqualLabelsAreMerged) {
  const std::string csv = "a,b,label\n1,0,yes\n0,1,no\n2,0,yes\n3,1,no\n";
  const Json found = answer(certify(csv, {"--require", "conflict-free", "--require", "certified"}));
  EXPECT_EQ(found.at("n"), 4);
  EXPECT_EQ(found.at("n_distinct"), 3);
  EXPECT_EQ(found.at("outcome"), "verified");
  EXPECT_EQ(found.at("conflicts"), Json::array());
  EXPECT_EQ(found.at("duplicates"),
            Json::parse(R"([[{"sample":0,"label":"yes","id":null},{"sample":2,"label":"yes","id":null}]])"));
  EXPECT_NE(zeroloss(certify(csv)).out.find("1 group; 3 distinct points"), std::string::npos);
}

TEST_F(OddData, EqualPointsWithDifferentLabelsCannotBeFitted) {
  const std::string csv = "a,b,label\n1,0,yes\n0,1,no\n2,0,no\n3,1,no\n";
  const Json found = answer(certify(csv));
  EXPECT_EQ(found.at("outcome"), "impossible");
  EXPECT_EQ(found.at("conflicts"),
            Json::parse(R"([[{"sample":0,"label":"yes","id":null},{"sample":2,"label":"no","id":null}]])"));
  for (const Json& guarantee : found.at("guarantees")) EXPECT_EQ(guarantee.at("holds"), false) << guarantee;

  const Outcome outcome = zeroloss(certify(csv, {"--require", "conflict-free"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("No network can fit these labels on points divided by their length:\n"
                             "samples 0 (label yes) and 2 (label no)"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(zeroloss(certify(csv, {"--require", "certified"})).exit_code, 1);
}

TEST_F(OddData, EqualPointsWithoutLabelsAreDuplicates) {
  const Json found = answer(certify("1,0\n0,1\n2,0\n"));
  EXPECT_EQ(found.at("task"), nullptr);
  EXPECT_EQ(found.at("duplicates").size(), 1u);
}

TEST_F(OddData, OnePointIsEnough) {
  const Json found = answer(certify("3,4\n"));
  EXPECT_EQ(found.at("n"), 1);
  EXPECT_EQ(found.at("outcome"), "verified");
  EXPECT_NEAR(found.at("lambda_min").get<double>(), 0.5, backward_error(1) * 0.5);  // E[relu'(g)^2] = 1/2
  EXPECT_EQ(found.at("separation"), nullptr);
  const Json labelled = answer(certify("a,b,y\n3,4,0.5\n", {"--task", "regression"}));
  EXPECT_EQ(labelled.at("outcome"), "verified");
  EXPECT_EQ(labelled.at("complexity").size(), 1u);
}

TEST_F(OddData, OneClassIsRefused) { refused(certify("a,b,label\n1,0,yes\n0,1,yes\n"), {"class"}); }

TEST_F(OddData, AZeroRowIsNamed) {
  refused(certify("1,0\n0,1\n0,0\n"), {"record 2"});
  EXPECT_EQ(zeroloss(certify("1,1\n3,3\n2,2\n", {"--center"})).exit_code, 2);  // the mean point becomes zero
}

TEST_F(OddData, AConstantColumnDoesNoHarm) {
  EXPECT_EQ(answer(certify("7,1,0\n7,0,1\n7,5,2\n")).at("outcome"), "verified");
  EXPECT_EQ(answer(certify("7,1,0\n7,0,1\n7,5,2\n", {"--center"})).at("outcome"), "verified");
}

TEST_F(OddData, OppositePointsMakeAnEvenDerivativeVanish) {
  const std::string csv = "1,0\n0,1\n-2,0\n";
  EXPECT_EQ(answer(certify(csv)).at("outcome"), "verified");
  const Json tanh = answer(certify(csv, {"--activation", "tanh"}));
  EXPECT_EQ(tanh.at("outcome"), "zero");
  EXPECT_EQ(tanh.at("lambda_min"), 0);
  EXPECT_EQ(tanh.at("lambda_min_verified"), nullptr);
  EXPECT_EQ(tanh.at("antipodal").size(), 1u);
  EXPECT_EQ(zeroloss(certify(csv, {"--activation", "tanh", "--require", "certified"})).exit_code, 1);
}

TEST_F(OddData, MorePointsThanTheQuadraticKernelHasRank) {
  const Json found = answer(certify("1,0\n0,1\n1,1\n2,1\n", {"--activation", "quadratic"}));
  EXPECT_EQ(found.at("outcome"), "zero");
  EXPECT_NE(found.at("reason").get<std::string>().find("3 < 4 points"), std::string::npos);
}

TEST_F(OddData, RowsMustHaveLengthOneUnlessTheyAreNormalised) {
  EXPECT_EQ(answer(certify("0.6,0.8\n1,0\n", {"--no-normalize"})).at("outcome"), "verified");
  refused(certify("0.6,0.8\n1,1e-5\n", {"--no-normalize"}), {"record 1 has length 1.0000000000"});
}

TEST_F(OddData, NamesThatAreNotUtf8StillMakeJson) {
  const Json found = answer(certify("a,b,label\n1,0,caf\xe9\n0,1,tea\n", {"--out", path("run")}));
  EXPECT_EQ(found.at("outcome"), "verified");
  EXPECT_EQ(json_of(folder / "run" / "result.json").at("classes"), found.at("classes"));
}

}  // namespace
}  // namespace zeroloss::test
