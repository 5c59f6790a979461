#include "zeroloss/models/models.hpp"

#include <gtest/gtest.h>

#include "support/points.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/conv/resnet.hpp"
#include "zeroloss/deep/model.hpp"
#include "zeroloss/memorize/memorizer.hpp"
#include "zeroloss/models/read.hpp"
#include "zeroloss/network/model.hpp"

namespace zeroloss {
namespace {

class Models : public test::TempFolder {
 protected:
  /// The outputs of a point x >= 0 are x; the classes are named after the axes.
  Network chooser() {
    Network network{.activation = "relu", .outputs = {}, .normalize = false};
    network.task = Task::classification;
    network.class_names = {"ant", "bee", "cow"};
    for (Index k = 0; k < 3; ++k)
      network.outputs.push_back({RowMatrix::Identity(3, 3).row(k), Vector::Constant(1, 1)});
    return network;
  }
  Model chooser_model() { return model_of(std::make_shared<const Network>(chooser())); }
  Network sum() {
    Network network{.activation = "relu", .outputs = {}, .normalize = false};
    network.task = Task::regression;
    network.outputs = {{RowMatrix{{1, 1, 1}}, Vector::Constant(1, 1)}};
    return network;
  }
  Dataset points(std::vector<Index> best) {
    Dataset data;
    data.name = "points";
    data.X = RowMatrix::Zero(std::ssize(best), 3);
    for (Index i = 0; i < data.n(); ++i) data.X(i, best[static_cast<std::size_t>(i)]) = 1;
    return data;
  }
};

TEST_F(Models, OpensATwoLayerNetwork) {
  save_model(path("model.safetensors"), chooser(), {{"origin", "a test"}});
  for (const std::string& place :
       {path("model.safetensors"), path("")}) {  // the file, and the folder that holds it
    const Model model = open_model(place);
    EXPECT_EQ(model.kind, "two_layer");
    EXPECT_EQ(model.description, "two-layer relu network of width 1, float64");
    EXPECT_EQ(model.task, Task::classification);
    EXPECT_EQ(model.class_names, chooser().class_names);
    EXPECT_EQ(model.signature, "x [batch, 3] float64 -> y [batch, 3], label [batch] int64");
    const RowMatrix X = points({2, 0, 1}).X;
    const Matrix outputs = model.outputs(X, {});
    EXPECT_EQ(outputs, predict(chooser(), X));
    EXPECT_EQ(model.classes(outputs), (std::vector<Index>{2, 0, 1}));
    EXPECT_EQ(std::any_cast<const std::shared_ptr<const Network>&>(model.network)->width(), 1);
    model.export_onnx(path("a.onnx"));
    EXPECT_NE(content(path("a.onnx")).find("a test"), std::string::npos) << "metadata of the file";
  }
}

TEST_F(Models, OpensAMemorizer) {
  Dataset data = points({0, 1, 2, 1});
  data.X(3, 1) = 2;
  data.task = Task::classification;
  data.y = Vector{{0, 1, 2, 0}};
  data.class_names = {"ant", "bee", "cow"};
  const Memorizer network = *memorize(data).network;
  save_model(path("m.safetensors"), network);
  const Model model = open_model(path("m.safetensors"));
  EXPECT_EQ(model.kind, "memorizer");
  EXPECT_EQ(model.description, "memoriser of 2 residual blocks of width 2, float64");
  EXPECT_EQ(model.signature, "x [batch, 3] float64 -> y [batch, 3], label [batch] int64");
  EXPECT_EQ(model.outputs(data.X, {}), predict(network, data.X));
  EXPECT_EQ(predict(model, data).error, 0);
  EXPECT_EQ(std::any_cast<const std::shared_ptr<const Memorizer>&>(model.network)->blocks(), 2);
}

TEST_F(Models, OpensANetworkOfLayers) {
  DeepNetwork network;
  network.layers = {{.W = RowMatrix::Identity(3, 3)}};
  network.V = RowMatrix::Identity(3, 3);
  network.task = Task::classification;
  network.class_names = {"ant", "bee", "cow"};
  save_model(path("d.safetensors"), network, {{"origin", "a test"}});
  const Model model = open_model(path("d.safetensors"));
  EXPECT_EQ(model.kind, "deep");
  EXPECT_EQ(model.signature, "x [batch, 3] float64 -> y [batch, 3], label [batch] int64");
  EXPECT_EQ(predict(model, points({2, 0, 1})).predicted, (std::vector<std::string>{"cow", "ant", "bee"}));
  model.export_onnx(path("d.onnx"));
  EXPECT_NE(content(path("d.onnx")).find("a test"), std::string::npos) << "metadata of the file";
}

TEST_F(Models, AConvolutionalNetworkIsExportedButNotAskedAboutPoints) {
  const ConvNetwork network = draw_network(cifar_architecture(3, 1, 4));
  save_model(path("c.safetensors"), network);
  const Model model = open_model(path("c.safetensors"));
  EXPECT_EQ(model.kind, "conv_resnet");
  EXPECT_EQ(model.signature,
            "images [batch, 32, 32, 3] uint8 RGB -> logits [batch, 3] float32, label [batch] int64");
  EXPECT_MESSAGE(DataError, predict(model, points({0})), "c.safetensors", "`predict()` (files)");
  model.export_onnx(path("c.onnx"));
  EXPECT_TRUE(std::filesystem::exists(path("c.onnx")));
}

TEST_F(Models, OpensFilesOfOtherPrograms) {
  const std::filesystem::path files = std::filesystem::path(ZEROLOSS_TEST_DIR) / "deep/exported";
  const Model layers = open_model(files / "relu_script_double.onnx");
  EXPECT_EQ(layers.kind, "deep");
  const RowMatrix X = RowMatrix::Random(3, 5);
  EXPECT_EQ(layers.outputs(X, {}), predict(read_network(files / "relu_script_double.onnx").network, X));
  // What is behind the outputs is left out, and said.
  const Model probability = open_model(files / "logit_script_double.onnx");
  ASSERT_FALSE(probability.notes.empty());
  EXPECT_NE(probability.notes[0].find("left out behind the outputs"), std::string::npos);
}

TEST_F(Models, OpensAStateDictAsItIsSaid) {
  const RowMatrix W{{1, 2}, {3, 4}, {-5, 6}}, V{{1, -1, 2}};
  write_tensors(path("s.safetensors"),
                {view_of("fc1.weight", {3, 2}, W.data()), view_of("fc2.weight", {1, 3}, V.data())}, {});
  EXPECT_MESSAGE(DataError, open_model(path("s.safetensors")), "of a state_dict say", "`activation`",
                 "`layout`");
  const Model model = open_model(path("s.safetensors"), {.activation = "relu"});
  EXPECT_EQ(model.kind, "deep");
  const RowMatrix X{{1, 1}, {1, -1}};
  EXPECT_EQ(model.outputs(X, {}), (X * W.transpose()).cwiseMax(0) * V.transpose());
}

TEST_F(Models, PicklesAreNotOpened) {
  EXPECT_MESSAGE(DataError, open_model(path("m.pt")), "m.pt: no such file");
  for (const auto& [name, advice] :
       {std::pair{"m.pt", "torch.load('"}, std::pair{"m.PTH", "torch.onnx.export"},
        std::pair{"m.joblib", "zeroloss.prove(joblib.load('"}, std::pair{"m.pkl", "if you trust it"},
        std::pair{"m.pickle", "joblib"}}) {
    write(name, "no tensors");
    EXPECT_MESSAGE(DataError, open_model(path(name)), name, "is named as a pickle, which is not opened",
                   advice);
    EXPECT_MESSAGE(DataError, read_any_network(path(name)), name, "is named as a pickle", advice);
  }
}

TEST_F(Models, RefusesWhatIsNoModel) {
  EXPECT_MESSAGE(DataError, open_model(path("absent")), "absent: no such file");
  write_tensors(path("tensors"), {}, {});
  EXPECT_MESSAGE(DataError, open_model(path("tensors")), "not a model of zeroloss");
  write_tensors(path("other"), {}, {{"kind", "tree"}});
  EXPECT_MESSAGE(DataError, open_model(path("other")), "a model of kind 'tree'",
                 "two_layer, kernel, memorizer, deep, conv_resnet");
}

TEST_F(Models, ComparesClassesByName) {
  Dataset data = points({0, 1, 2, 1});
  EXPECT_EQ(predict(chooser_model(), data).predicted, (std::vector<std::string>{"ant", "bee", "cow", "bee"}));
  EXPECT_EQ(predict(chooser_model(), data).error, std::nullopt);
  data.task = Task::classification;
  data.class_names = {"bee", "dog"};  // another order, one unknown
  data.y = Vector{{1, 0, 0, 0}};
  const Prediction said = predict(chooser_model(), data);
  EXPECT_EQ(said.labels, (std::vector<std::string>{"dog", "bee", "bee", "bee"}));
  EXPECT_EQ(said.wrong, (std::vector<Index>{0, 2}));
  EXPECT_EQ(said.error, 0.5);
  data.class_names = {"dog", "emu"};
  EXPECT_MESSAGE(DataError, predict(chooser_model(), data), "points", "(dog, emu)", "(ant, bee, cow)");
}

TEST_F(Models, LabelsMayBeAllTheSame) {
  const auto labelled = [&](const std::vector<std::string>& labels, const ReadOptions& options = {}) {
    const Dataset data = points({0, 1});
    Source source = source_of(data);
    source.texts = labels;
    return predict(chooser_model(), select_for(chooser_model(), source, options));
  };
  EXPECT_EQ(labelled({"bee", "bee"}).error, 0.5);
  EXPECT_EQ(labelled({"bee", "bee"}).wrong, std::vector<Index>{0});
  EXPECT_EQ(labelled({"ant", "bee"}, {.n = 1}).error, 0);
  EXPECT_EQ(labelled({"ant", "bee"}, {.classes = {"bee"}}).error, 0);
  EXPECT_MESSAGE(DataError, labelled({"emu", "emu"}), "(emu)", "(ant, bee, cow)");
}

TEST_F(Models, ClassesThatNobodyKnowsAreNotDropped) {
  Model model = chooser_model();
  model.its_classes = true;
  const Dataset data = points({0, 1});
  Source source = source_of(data);
  source.texts = {"ant", "bee"};
  EXPECT_EQ(select_for(model, source, {.classes = {"bee", "cow"}}).n(), 1) << "cow is the model's";
  EXPECT_MESSAGE(DataError, select_for(model, source, {.classes = {"bee", "be"}}), "no class 'be'");
}

TEST_F(Models, TargetsAreOfTheModelsTask) {
  const Model model = model_of(std::make_shared<const Network>(sum()));
  Source source;
  source.name = "points";
  source.n = source.d = 3;
  source.points = rows_of(RowMatrix::Identity(3, 3));
  EXPECT_EQ(select_for(model, source, {}).task, Task::none);
  source.numbers = {1, 1, 2};  // could be classes
  EXPECT_EQ(select(source, {}).task, Task::classification);
  const Dataset data = select_for(model, source, {});
  EXPECT_EQ(data.task, Task::regression);
  EXPECT_DOUBLE_EQ(*predict(model, data).error, 1 / data.y.norm());
  EXPECT_MESSAGE(std::invalid_argument, select_for(model, source, {.task = "classification"}),
                 "`task=classification`: the model was trained for regression");
  EXPECT_MESSAGE(std::invalid_argument, predict(model, select(source, {})), "targets of classification",
                 "trained for regression");
  EXPECT_EQ(select_for(chooser_model(), source, {}).task, Task::classification);
}

TEST_F(Models, KnowTheirColumnsAndTheirScale) {
  Source source;
  source.name = "points";
  source.n = source.d = 3;
  source.points = rows_of(RowMatrix::Identity(3, 3));
  const Model model = chooser_model();
  EXPECT_MESSAGE(std::invalid_argument, select_for(model, source, {.standardize = "yes"}),
                 "`standardize` is for training");
  EXPECT_MESSAGE(std::invalid_argument, select_for(model, source, {.bias = 0}), "`bias` is for training");
}

// A run of convolutions is the graph that is exported of it, for images a channel behind the other: the file
// takes them a pixel behind the other.
TEST_F(Models, ConvolutionsAreReadAsTheirExport) {
  ConvNetwork network = draw_network(cifar_architecture(3, 1, 4), 1);
  network.class_names = {"ant", "bee", "cow"};
  save_model(path("model.safetensors"), network);
  export_onnx(path("m.onnx"), network);
  const ReadNetwork run = read_any_network(path("model.safetensors"));
  ASSERT_FALSE(run.layers());
  EXPECT_EQ(class_names_of(*run.graph, 3), network.class_names);
  Random random(1, Stream::labels);
  RowMatrix planes(2, 3072), pixels(2, 3072);
  for (Index i = 0; i < 2; ++i)
    for (Index c = 0; c < 3; ++c)
      for (Index k = 0; k < 1024; ++k)
        pixels(i, 3 * k + c) = planes(i, 1024 * c + k) = std::floor(256 * random.uniform());
  Progress progress;
  const GraphOutputs found = enclosed_outputs(*run.graph, planes, "exact", progress);
  const GraphOutputs file = enclosed_outputs(read_graph(path("m.onnx")), pixels, "exact", progress);
  EXPECT_EQ(found.f, file.f);
  EXPECT_EQ(found.error, file.error);
  EXPECT_LT(found.error.maxCoeff(), 1e-9 * found.f.cwiseAbs().maxCoeff());  // a goal
  EXPECT_GT((found.f.row(0) - found.f.row(1)).norm(), found.error.norm());
}

}  // namespace
}  // namespace zeroloss
