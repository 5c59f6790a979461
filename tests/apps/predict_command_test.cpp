// zeroloss predict and zeroloss export as processes, on models made here.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "support/bounds.hpp"
#include "support/command.hpp"
#include "support/python.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/network/model.hpp"

namespace zeroloss::test {
namespace {

/// Output k is relu(x_k): the larger coordinate's name is predicted. Names of two classes: the sign of x_0 -
/// x_1.
Network chooser(const std::vector<std::string>& names) {
  Network network{.activation = "relu", .outputs = {}, .normalize = false};
  network.task = Task::classification;
  network.class_names = names;
  const Index c = std::ssize(names);
  if (c > 2) {
    for (Index k = 0; k < c; ++k)
      network.outputs.push_back({RowMatrix::Identity(c, c).row(k), Vector::Constant(1, 1)});
  } else {
    network.outputs = {{RowMatrix::Identity(2, 2), Vector{{1, -1}}}};
  }
  return network;
}

class Predict : public TempFolder {
 protected:
  std::string save(const Network& network, const std::string& name = "model.safetensors") {
    save_model(path(name), network);
    return path(name);
  }
  std::string model(const std::vector<std::string>& names) { return save(chooser(names)); }

  /// predict on the points of this table.
  Arguments predict(const std::string& file, const std::string& csv, const Arguments& more = {}) {
    return with({"predict", file, write("points.csv", csv)}, more);
  }

  const std::vector<std::string> three{"ant", "bee", "cow"};
  // Right, right, a cow called bee, a bee called ant, right.
  const std::string labelled = "a,b,c,label\n3,1,2,ant\n0,5,1,bee\n0,2,1,cow\n9,1,0,bee\n0,0,1,cow\n";
};

TEST_F(Predict, SaysHowManyAreRightAndWhichAreNot) {
  const Outcome outcome = zeroloss(predict(model(three), labelled));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, path("points.csv") + ": 60.0 % of 5 points right\n" + path("model.safetensors") +
                             ": two-layer relu network of width 1, float64\n"
                             "\n"
                             "class  points  wrong  error  mostly taken for\n"
                             "ant         1      0    0 %\n"
                             "bee         2      1   50 %  ant\n"
                             "cow         2      1   50 %  bee\n"
                             "\n"
                             "wrong\n"
                             "  sample  label  predicted\n"
                             "       2  cow    bee\n"
                             "       3  bee    ant\n"
                             "\n"
                             "next: write the predictions to a file\n"
                             "  " +
                             shell_command({"zeroloss", "predict", path("model.safetensors"),
                                            path("points.csv"), "--out", "predicted.csv"}) +
                             "\n");
}

TEST_F(Predict, JsonHasEveryKey) {
  Json found = answer(predict(model(three), labelled));
  EXPECT_TRUE(found["next"]["command"].is_string());
  found.erase("next");
  EXPECT_EQ(found, Json({{"model", path("model.safetensors")},
                         {"kind", "two_layer"},
                         {"data", path("points.csv")},
                         {"n", 5},
                         {"error", 0.4},
                         {"predictions", {"ant", "bee", "bee", "ant", "cow"}},
                         {"outputs", {{3, 1, 2}, {0, 5, 1}, {0, 2, 1}, {9, 1, 0}, {0, 0, 1}}},
                         {"remarks", Json::array()},
                         {"largest_output", 9}}));
}

TEST_F(Predict, WithoutLabelsThereIsNoError) {
  const Json found = answer(predict(model(three), "a,b,c\n3,1,2\n0,5,1\n"));
  EXPECT_EQ(found.at("error"), nullptr);
  EXPECT_EQ(found.at("predictions"), Json({"ant", "bee"}));
  const Outcome outcome = zeroloss(predict(path("model.safetensors"), "a,b,c\n3,1,2\n0,5,1\n"));
  EXPECT_NE(outcome.out.find("2 points, no labels to compare with\n"), std::string::npos) << outcome.out;
}

TEST_F(Predict, OutputsThatNobodyNamesAreTakenForTheClassesOfTheData) {
  Network nameless = chooser(three);
  nameless.task = Task::none;
  nameless.class_names = {};
  const Outcome exported = zeroloss({"export", save(nameless), path("nameless.onnx")});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const Json found = answer(predict(path("nameless.onnx"), labelled));
  EXPECT_EQ(found.at("error"), 0.4);
  EXPECT_EQ(found.at("predictions"), Json({"ant", "bee", "bee", "ant", "cow"}));
  EXPECT_NE(found.at("remarks").dump().find("outputs 0 to 2 are ant, bee, cow: the order of the classes of"),
            std::string::npos)
      << found;
  const auto said = [&](const std::string& csv) { return zeroloss(predict(path("nameless.onnx"), csv)).out; };
  const std::string two = said("a,b,c,label\n3,1,2,ant\n0,5,1,bee\n");
  EXPECT_NE(two.find("2 points, targets are not compared with\n"), std::string::npos) << two;
  EXPECT_NE(two.find("but the network has 3 outputs and does not name them: say which"), std::string::npos)
      << two;
  const std::string numbers = said("a,b,c,y\n3,1,2,0.5\n0,5,1,1.5\n");
  EXPECT_NE(numbers.find("each is one number, the network has 3 outputs"), std::string::npos) << numbers;
  const Arguments named{"--class-names", "bee,ant,cow"};
  EXPECT_EQ(answer(predict(path("nameless.onnx"), labelled, named))["error"], 0.6);
  for (const auto& [file, csv, why] :
       {std::tuple{model(three), labelled, "the network names its classes: ant, bee, cow"},
        {path("nameless.onnx"), std::string("a,b,c,y\n3,1,2,0.5\n0,5,1,1.5\n"), "targets are numbers"}}) {
    const Outcome refused = zeroloss(predict(file, csv, named));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
  }
  EXPECT_EQ(answer(predict(path("nameless.onnx"), "a,b,c\n3,1,2\n", named))["predictions"], Json({"bee"}));
  const std::string numbered = model({"0", "1", "2"});
  const Outcome unnamed = zeroloss(predict(numbered, labelled));
  EXPECT_NE(unnamed.err.find("say what these are called, in their order, --class-names A,B,.."),
            std::string::npos)
      << unnamed.err;
  EXPECT_EQ(answer(predict(numbered, labelled, {"--class-names", "ant,bee,cow"}))["error"], 0.4);
  nameless.outputs.resize(1);
  const Outcome one = zeroloss({"export", save(nameless), path("one.onnx")});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(answer(predict(path("one.onnx"), "a,b,c,y\n3,1,2,3\n0.5,5,1,0.5\n"))["error"], 0);
  const Outcome signs = zeroloss(predict(path("one.onnx"), "a,b,c,label\n3,1,2,ant\n4,5,1,bee\n"));
  EXPECT_NE(signs.out.find("an output below 0 is ant, above 0 bee"), std::string::npos) << signs.out;
}

TEST_F(Predict, TheColumnThatTheModelWasTrainedForIsComparedWith) {
  const std::string table = write("table.csv", "size,price,age\n1,10,3\n2,30,4\n5,20,1\n7,15,2\n9,12,8\n");
  const Outcome fitted = zeroloss({"fit", table, "--target", "price", "--task", "regression", "--optimizer",
                                   "output_layer", "--out", path("run")});
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  const double width = static_cast<double>(json_of(path("run/result.json"))["width"]);
  EXPECT_LT(answer({"predict", path("run"), table})["error"], 10 * backward_error(width));  // of condition 10
  EXPECT_TRUE(answer({"predict", path("run"), table, "--target", "none"})["error"].is_null());
  for (const char* option : {"--features", "--drop", "--one-hot"}) {
    const Outcome refused = zeroloss({"predict", path("run"), table, option, "size"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find(std::string(option) + " is for training"), std::string::npos) << refused.err;
  }
  const std::string holes = write("holes.csv", "size,age\n,3\n5,1\n");
  EXPECT_EQ(zeroloss({"predict", path("run"), holes, "--missing", "error"}).exit_code, 2);
  EXPECT_EQ(answer({"predict", path("run"), holes, "--missing", "drop"})["n"], 1);
  EXPECT_EQ(answer({"predict", path("run"), holes})["remarks"].size(), 1u);
  const std::string without = write("new.csv", "age,size\n3,1\n");
  EXPECT_TRUE(answer({"predict", path("run"), without})["error"].is_null());
}

TEST_F(Predict, ClassesAreMatchedByName) {
  // "ant" is missing in the data and "dog" is one that the model does not know; the order is another one.
  const std::string csv = "a,b,c,label\n0,5,1,cow\n0,1,5,cow\n0,5,1,bee\n0,7,1,dog\n";
  EXPECT_EQ(answer(predict(model(three), csv)).at("error"), 0.5);
  const Outcome outcome = zeroloss(predict(path("model.safetensors"), csv));
  EXPECT_NE(outcome.out.find("dog         1      1  100 %  bee (a class the model does not know)\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(answer(predict(model({"cow", "bee", "ant"}), labelled)).at("predictions"),
            Json({"cow", "bee", "bee", "cow", "ant"}));
  refused(predict(path("model.safetensors"), "a,b,c,label\n1,2,3,x\n3,2,1,y\n"),
          {"none of its classes (x, y) is one of the model's (cow, bee, ant)"});
}

TEST_F(Predict, NamesInOtherEncodingsAreTheSameNames) {
  const std::string csv = "a,b,label\n1,2,gr\xFCn\n2,1,rot\n";
  EXPECT_EQ(answer(predict(model({"gr\xFCn", "rot"}), csv)).at("error"), 0);
  EXPECT_EQ(answer(predict(path("model.safetensors"), csv)).at("predictions"), Json({"gr\xC3\xBCn", "rot"}));
}

TEST_F(Predict, TwoClassesByTheSign) {
  const std::string csv = "a,b,label\n2,1,yes\n1,2,no\n1,1,yes\n";
  const Json found = answer(predict(model({"no", "yes"}), csv));
  EXPECT_EQ(found.at("error"), 0);
  EXPECT_EQ(found.at("outputs"), Json({{1}, {-1}, {0}}));
  const Outcome outcome = zeroloss(predict(path("model.safetensors"), csv));
  EXPECT_NE(outcome.out.find(": all 3 points are right\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("wrong\n"), std::string::npos);
}

TEST_F(Predict, AlmostAllIsNotAll) {
  std::string csv = "a,b,label\n1,2,yes\n";
  for (int i = 0; i < 2999; ++i) csv += "2,1,yes\n1,2,no\n";
  const Outcome outcome = zeroloss(predict(model({"no", "yes"}), csv));
  EXPECT_NE(outcome.out.find(": 99.9 % of 5,999 points right\n"), std::string::npos) << outcome.out;
}

TEST_F(Predict, Regression) {
  Network network = chooser({"no", "yes"});
  network.task = Task::regression;
  network.class_names.clear();
  const std::string file = save(network);
  // f = relu(a) - relu(b): 1, -1, 3; integers that would pass as classes, were the model not for regression
  const std::string csv = "a,b,y\n2,1,1\n1,2,-1\n3,0,0\n";
  const Json found = answer(predict(file, csv));
  EXPECT_EQ(found.at("predictions"), Json({1, -1, 3}));
  EXPECT_DOUBLE_EQ(found.at("error").get<double>(), 3 / std::sqrt(2.0));
  const Outcome outcome = zeroloss(predict(file, csv, {"--out", path("out.csv")}));
  EXPECT_NE(outcome.out.find(": relative misfit 2.12 on 3 points\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("  sample  target  predicted  off by\n       2       0          3       3\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(content(path("out.csv")), "sample,target,predicted\n0,1,1\n1,-1,-1\n2,0,3\n");
  EXPECT_EQ(answer(predict(file, "a,b\n2,1\n")).at("predictions"), Json({1}));
  refused(predict(file, csv, {"--task", "classification"}), {"the model was trained for regression"});
}

TEST_F(Predict, WritesEveryPointAsCsv) {
  const Outcome outcome = zeroloss(predict(
      model({"a,b", "c\"d", "e"}), "a,b,c,label\n3,1,2,e\n0.1,5,1,\"a,b\"\n", {"--out", path("out.csv")}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(content(path("out.csv")),
            "sample,label,predicted,\"output_a,b\",\"output_c\"\"d\",output_e\n"
            "0,e,\"a,b\",3,1,2\n"
            "1,\"a,b\",\"c\"\"d\",0.1,5,1\n");
}

TEST_F(Predict, RecordsAreThoseOfTheSource) {
  const Outcome outcome =
      zeroloss(predict(model(three), labelled, {"--classes", "bee,cow", "--out", path("out.csv")}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(": 50.0 % of 4 points right\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(content(path("out.csv")).substr(0, 66),
            "sample,label,predicted,output_ant,output_bee,output_cow\n1,bee,bee,");
}

TEST_F(Predict, ARunFolderNamesItsModel) {
  std::filesystem::create_directory(path("run"));
  save(chooser(three), "run/model.safetensors");
  EXPECT_EQ(answer(predict(path("run"), labelled)).at("error"), 0.4);
  EXPECT_EQ(zeroloss({"export", path("run"), path("a.onnx")}).exit_code, 0);
  const Outcome early = run_program("sh", {"-c", "{ sleep 0.3; \"$0\" export \"$1\" -; echo $? >&2; } | true",
                                           ZEROLOSS_COMMAND, path("run")});
  EXPECT_EQ(early.err, "0\n");  // who has read enough
}

TEST_F(Predict, AModelAfterTheDataIsPutInItsPlace) {
  Arguments swapped = predict(model(three), labelled);
  const std::filesystem::path run = path("run");
  std::filesystem::create_directory(run);
  std::filesystem::rename(swapped[1], run / "model.safetensors");
  write("run/manifest.json", "{}");
  refused({"predict", swapped[2], run},
          {"MODEL comes before DATA: " + shell_command({"zeroloss", "predict", run.string()})});
}

TEST_F(Predict, WithoutLabelsTheFirstPredictionsAreShown) {
  const Outcome outcome = zeroloss(predict(model(three), "a,b,c\n3,1,2\n0,5,1\n"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::regex_search(outcome.out, std::regex("0 +ant\n"))) << outcome.out;
  EXPECT_TRUE(std::regex_search(outcome.out, std::regex("1 +bee\n"))) << outcome.out;
}

TEST_F(Predict, SaysWhereAllSamplesAreListed) {
  std::string csv = "a,b,c\n";
  for (int i = 0; i < 13; ++i) csv += "3,1," + std::to_string(i) + "\n";
  const Arguments words = predict(model(three), csv);
  EXPECT_NE(zeroloss(words).out.find("  and 3 more (--out writes all)\n"), std::string::npos);
  const std::string written = zeroloss(predict(path("model.safetensors"), csv, {"--out", path("p.csv")})).out;
  EXPECT_NE(written.find("  and 3 more (the csv lists all)\n"), std::string::npos) << written;
}

TEST_F(Predict, RefusesWhatDoesNotFit) {
  refused(predict(path("absent"), labelled), {"absent: no such file"});
  refused(predict(write("text", "not a model"), labelled), {"not a safetensors file"});
  write_tensors(path("tensors"), {}, {});
  refused(predict(path("tensors"), labelled), {"not a model of zeroloss"});
  write_tensors(path("conv"), {}, {{"kind", "conv"}});
  refused(predict(path("conv"), labelled), {"a model of kind 'conv'"});
  refused(predict(model(three), "a,b,label\n1,2,ant\n2,1,bee\n"),
          {"2 features; the network was trained on 3"});
  refused({"predict", path("model.safetensors")}, {"data"});
  refused({"export", path("conv"), path("a.onnx")}, {"kind 'conv'"});
  refused({"export", path("model.safetensors")}, {"file"});
}

TEST_F(Predict, AFileThatCannotBeWrittenIsReported) {
  write("file", "no folder");
  refused(predict(model(three), labelled, {"--out", path("file/out.csv")}), {"file/out.csv", "folder"}, 3);
  refused({"export", path("model.safetensors"), path("file/a.onnx")}, {"file/a.onnx", "folder"}, 3);
}

TEST_F(Predict, FoldersThatAreNotThereAreMade) {
  EXPECT_EQ(zeroloss(predict(model(three), labelled, {"--out", path("new/er/out.csv")})).exit_code, 0);
  EXPECT_EQ(zeroloss({"export", path("model.safetensors"), path("newer/a.onnx")}).exit_code, 0);
  EXPECT_FALSE(content(path("new/er/out.csv")).empty());
  EXPECT_FALSE(content(path("newer/a.onnx")).empty());
}

// What was there before a command that should not have been.
TEST_F(Predict, InputsAreNeverReplaced) {
  namespace fs = std::filesystem;
  const std::string net = model(three), csv = write("points.csv", labelled);
  const std::string before = content(net);
  fs::create_hard_link(csv, path("hard.csv"));
  fs::create_symlink("points.csv", path("soft.csv"));
  for (const std::string& same : {csv, path("./points.csv"), path("hard.csv"), path("soft.csv")})
    refused({"predict", net, csv, "--out", same}, {same + ": is ", "which is read"});
  refused({"predict", net, csv, "--out", net}, {net + ": is the input"});
  refused({"export", net, net}, {net + ": is the input"});
  write("run/manifest.json", "{}");
  write("run/result.json", "{}");
  fs::copy_file(net, path("run/model.safetensors"));
  refused({"export", path("run"), path("run/model.safetensors")}, {"run/model.safetensors", "which is read"});
  refused({"predict", path("run"), csv, "--out", path("run/model.safetensors")}, {"which is read"});
  for (const std::string part : {"run/manifest.json", "run/result.json"})
    refused({"export", net, path(part)}, {part, "is part of the run"});
  write("table/metrics.csv", "x");
  write("table/manifest.json", "{}");
  refused({"predict", net, csv, "--out", path("table/metrics.csv")}, {"is part of the run"});
  refused({"predict", net, csv, "--out", path("run")}, {path("run") + ": is a folder"});
  EXPECT_EQ(content(csv), labelled);
  EXPECT_EQ(content(net), before);
  EXPECT_EQ(content(path("table/metrics.csv")), "x");
}

TEST_F(Predict, WhatIsTheUsersInARunFolderIsReplaced) {
  write("run/manifest.json", "{}");
  std::filesystem::rename(model(three), path("run/model.safetensors"));
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(zeroloss({"export", path("run"), path("run/model.onnx")}).exit_code, 0);
    const Arguments call{"predict", path("run"), write("points.csv", labelled), "--out",
                         path("run/said.csv")};
    EXPECT_EQ(zeroloss(call).exit_code, 0);
  }
}

TEST_F(Predict, ADashIsStandardOutput) {
  const Arguments call = predict(model(three), labelled, {"--out", "-"});
  const Outcome outcome = zeroloss(call);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("60.0 % of 5 points right"), std::string::npos) << outcome.err;
  zeroloss(predict(path("model.safetensors"), labelled, {"--out", path("said.csv")}));
  EXPECT_EQ(outcome.out, content(path("said.csv")));
  EXPECT_FALSE(std::filesystem::exists("-"));
  refused(with(call, {"--json"}), {"--json", "--out -"});
}

TEST_F(Predict, ADeviceIsWrittenTo) {
  refused(predict(model(three), labelled, {"--out", "/dev/full"}),
          {"/dev/full: writing failed: No space left"}, 3);
  refused({"export", path("model.safetensors"), "/dev/full"}, {"/dev/full: writing failed: No space left"},
          3);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(Predict, ExportGivesOnnxRuntimeTheSameAnswers) {
  const Outcome outcome = zeroloss({"export", model(three), path("a.onnx")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string first = path("a.onnx") +
                            ": x [batch, 3] float64 -> y [batch, 3], label [batch] int64\nlabel: 0 = ant, 1 "
                            "= bee, 2 = cow\n\nnext: ";
  EXPECT_EQ(outcome.out.substr(0, first.size()), first);
  ZEROLOSS_NEEDS_PYTHON();
  const std::string command = outcome.out.substr(outcome.out.find("\n  python3 ") + 11);
  const Outcome opened = run_program("sh", {"-c", "\"$0\" " + command, ZEROLOSS_PYTHON_ENV "/bin/python"});
  EXPECT_EQ(opened.exit_code, 0) << command << opened.err;
  EXPECT_NE(opened.out.find("name='label'"), std::string::npos) << opened.out;
  const std::vector<double> x{3, 1, 2, 0, 5, 1};
  write_tensors(path("a.in.safetensors"), {view_of("x", {2, 3}, x.data())});
  const Outcome run = run_python("storage/run_onnx.py", {folder});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TensorFile out = read_tensors(path("a.out.safetensors"));
  EXPECT_EQ(out.find("label")->data<std::int64_t>()[0], 0);
  EXPECT_EQ(out.find("label")->data<std::int64_t>()[1], 1);
}

}  // namespace
}  // namespace zeroloss::test
