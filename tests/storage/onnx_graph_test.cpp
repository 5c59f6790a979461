#include "storage/onnx_graph.hpp"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sys/stat.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {
namespace {

using Proto = onnx::TensorProto;
using Shape = std::vector<Index>;
using Doubles = std::vector<double>;
using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class OnnxGraphFile : public test::TempFolder {
 protected:
  // y = x + w, with whatever else a test puts there.
  OnnxGraphFile() {
    auto& graph = *model.mutable_graph();
    model.set_ir_version(8);
    graph.set_name("g");
    graph.add_input()->set_name("x");
    graph.add_output()->set_name("y");
    auto& node = *graph.add_node();
    node.set_op_type("Add");
    node.add_input("x");
    node.add_input("w");
    node.add_output("y");
  }

  Proto& tensor(const std::string& name, int type, const Shape& shape) {
    Proto& made = *model.mutable_graph()->add_initializer();
    made.set_name(name);
    made.set_data_type(type);
    for (const Index size : shape) made.add_dims(size);
    return made;
  }
  Proto& raw(const std::string& name, int type, const Shape& shape, const std::string& bytes) {
    Proto& made = tensor(name, type, shape);
    made.set_raw_data(bytes);
    return made;
  }
  using Entries = std::vector<std::pair<std::string, std::string>>;
  static void externalize(Proto& tensor, const Entries& entries) {
    tensor.set_data_location(Proto::EXTERNAL);
    tensor.clear_external_data();
    for (const auto& [key, value] : entries) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
  onnx::AttributeProto& constant(const std::string& output, const std::string& attribute,
                                 onnx::AttributeProto::AttributeType type) {
    auto& node = *model.mutable_graph()->add_node();
    node.set_op_type("Constant");
    node.add_output(output);
    auto& made = *node.add_attribute();
    made.set_name(attribute);
    made.set_type(type);
    return made;
  }

  std::string save(const std::string& name = "m.onnx") const {
    return write(name, model.SerializeAsString());
  }
  OnnxGraph read() const { return read_onnx_graph(save()); }
  onnx::ModelProto written(const std::string& name) const {
    onnx::ModelProto found;
    EXPECT_TRUE(found.ParseFromString(content(path(name))));
    return found;
  }

  onnx::ModelProto model;
};

TEST_F(OnnxGraphFile, EveryFloat16IsRead) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<std::uint16_t>(k);
  raw("w", Proto::FLOAT16, {65536}, bytes_of(all));
  Proto& field = tensor("v", Proto::FLOAT16, {65536});
  for (const std::uint16_t bits : all) field.add_int32_data(static_cast<std::int16_t>(bits));
  const OnnxGraph graph = read();
  const OnnxNumbers &w = graph.numbers.at("w"), &v = graph.numbers.at("v");
  EXPECT_EQ(w.type, OnnxType::float16);
  EXPECT_TRUE(w.integers.empty());
  ASSERT_EQ(w.values.size(), all.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    _Float16 half;
    std::memcpy(&half, &all[k], sizeof(half));
    const auto expected = static_cast<double>(half);
    for (const double found : {w.values[k], v.values[k]}) {
      ASSERT_EQ(std::isnan(found), std::isnan(expected)) << k;
      if (std::isnan(expected)) continue;
      ASSERT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(expected)) << k;
    }
  }
}

TEST_F(OnnxGraphFile, HalvesAreTheirNumbers) {
  raw("w", Proto::FLOAT16, {2, 3},
      bytes_of(std::vector<std::uint16_t>{0x3C00, 0xC000, 1, 0x7BFF, 0x3555, 0}));
  raw("v", Proto::BFLOAT16, {4}, bytes_of(std::vector<std::uint16_t>{0x3F80, 0xC040, 1, 0x7F80}));
  Proto& field = tensor("u", Proto::BFLOAT16, {3});
  for (const int bits : {0x3FC0, 0xBF80, -32768}) field.add_int32_data(bits);
  const OnnxGraph graph = read();
  EXPECT_EQ(graph.numbers.at("w").values, (Doubles{1, -2, 0x1p-24, 65504, 1365 * 0x1p-12, 0}));
  EXPECT_EQ(graph.numbers.at("w").shape, (Shape{2, 3}));
  EXPECT_EQ(graph.numbers.at("v").values,
            (Doubles{1, -3, 0x1p-133, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(graph.numbers.at("v").type, OnnxType::bfloat16);
  EXPECT_EQ(graph.numbers.at("u").values, (Doubles{1.5, -1, 0}));
  EXPECT_TRUE(std::signbit(graph.numbers.at("u").values[2]));
  for (const OnnxType type : {OnnxType::float16, OnnxType::bfloat16}) {
    EXPECT_TRUE(is_half(type));
    EXPECT_FALSE(is_float(type));
    EXPECT_FALSE(is_integer(type));
  }
  EXPECT_FALSE(is_half(OnnxType::float32));
  EXPECT_EQ(name_of(OnnxType::bfloat16), "bfloat16");
  EXPECT_EQ(name_of(static_cast<OnnxType>(17)), "type 17");
}

TEST_F(OnnxGraphFile, IntegersOfEverySize) {
  const auto both = [&](const std::string& name, int type, const auto& values) {
    const Shape shape{std::ssize(values)};
    raw(name + " raw", type, shape, bytes_of(values));
    Proto& field = tensor(name, type, shape);
    for (const auto value : values) {
      if (type == Proto::UINT32 || type == Proto::UINT64)
        field.add_uint64_data(static_cast<std::uint64_t>(value));
      else if (type == Proto::INT64)
        field.add_int64_data(static_cast<std::int64_t>(value));
      else
        field.add_int32_data(static_cast<std::int32_t>(value));
    }
  };
  both("int8", Proto::INT8, std::vector<std::int8_t>{-128, 0, 127});
  both("uint8", Proto::UINT8, std::vector<std::uint8_t>{0, 255});
  both("int16", Proto::INT16, std::vector<std::int16_t>{-32768, 32767});
  both("uint16", Proto::UINT16, std::vector<std::uint16_t>{0, 65535});
  both("int32", Proto::INT32, std::vector<std::int32_t>{-2147483647 - 1, 2147483647});
  both("uint32", Proto::UINT32, std::vector<std::uint32_t>{0, 4294967295U});
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  both("int64", Proto::INT64, Integers{-kMost - 1, kMost});
  both("uint64", Proto::UINT64, std::vector<std::uint64_t>{0, kMost});
  both("bool", Proto::BOOL, std::vector<std::uint8_t>{0, 1, 2});
  tensor("wide truths", Proto::BOOL, {2}).mutable_int32_data()->Add(256);
  model.mutable_graph()->mutable_initializer()->rbegin()->add_int32_data(-1);
  const OnnxGraph graph = read();
  const std::map<std::string, Integers> expected{{"int8", {-128, 0, 127}},
                                                 {"uint8", {0, 255}},
                                                 {"int16", {-32768, 32767}},
                                                 {"uint16", {0, 65535}},
                                                 {"int32", {-2147483648LL, 2147483647}},
                                                 {"uint32", {0, 4294967295}},
                                                 {"int64", {-kMost - 1, kMost}},
                                                 {"uint64", {0, kMost}},
                                                 {"bool", {0, 1, 1}}};
  for (const auto& [name, integers] : expected)
    for (const std::string& key : {name, name + " raw"}) {
      SCOPED_TRACE(key);
      const OnnxNumbers& numbers = graph.numbers.at(key);
      EXPECT_EQ(numbers.integers, integers);
      EXPECT_EQ(numbers.values, Doubles(integers.begin(), integers.end()));
      EXPECT_EQ(name_of(numbers.type), name);
    }
  EXPECT_EQ(graph.numbers.at("wide truths").integers, (Integers{1, 1}));
}

TEST_F(OnnxGraphFile, NumbersThatTheirTypeDoesNotHoldAreRefused) {
  Proto& w = tensor("w", Proto::INT8, {1});
  w.add_int32_data(128);
  EXPECT_MESSAGE(DataError, read(), "m.onnx: 'w'", "128, which is no int8");
  w.set_data_type(Proto::UINT16);
  w.set_int32_data(0, -1);
  EXPECT_MESSAGE(DataError, read(), "-1, which is no uint16");
  w.set_data_type(Proto::UINT32);
  w.add_uint64_data(1ULL << 32);
  EXPECT_MESSAGE(DataError, read(), "4294967296, which is no uint32");
  w.set_data_type(Proto::UINT64);
  w.set_uint64_data(0, 1ULL << 63);
  EXPECT_MESSAGE(DataError, read(), "m.onnx: 'w'", "9223372036854775808", "int64");
  w.set_data_type(Proto::FLOAT);
  w.set_raw_data("12345");
  EXPECT_MESSAGE(DataError, read(), "m.onnx: 'w'", "5 bytes", "has 4");
  w.set_raw_data("12345678");
  EXPECT_MESSAGE(DataError, read(), "holds 2 numbers, its shape says 1");
  w.set_dims(0, -2);
  EXPECT_MESSAGE(DataError, read(), "holds 2 numbers, its shape says nan");
}

TEST_F(OnnxGraphFile, TypesThatAreNotReadAreKeptOut) {
  raw("w", 17, {2}, "ab");
  externalize(tensor("v", 17, {2}), {{"location", "absent"}});
  EXPECT_TRUE(read().numbers.empty());
}

TEST_F(OnnxGraphFile, TextsAreAsManyAsTheirShapeSays) {
  Proto& names = tensor("names", Proto::STRING, {2, 1});
  names.add_string_data("a");
  names.add_string_data("b");
  tensor("one", Proto::STRING, {}).add_string_data("c");
  tensor("none", Proto::STRING, {0});
  const OnnxGraph graph = read();
  EXPECT_EQ(graph.texts, (std::map<std::string, Texts>{{"names", {"a", "b"}}, {"none", {}}, {"one", {"c"}}}));
  EXPECT_EQ(graph.text_shapes, (std::map<std::string, Shape>{{"names", {2, 1}}, {"none", {0}}, {"one", {}}}));
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  EXPECT_MESSAGE(DataError, read(), "m.onnx: 'names' holds 2 texts, its shape says 3");
  externalize(*model.mutable_graph()->mutable_initializer(0), {{"location", "m.onnx"}});
  EXPECT_MESSAGE(DataError, read(), "m.onnx: 'names' is of text and in another file");
}

TEST_F(OnnxGraphFile, OperatorSetsByTheirDomain) {
  EXPECT_EQ(read().version, 1);
  EXPECT_TRUE(read().versions.empty());
  for (const auto& [domain, version] :
       std::map<std::string, std::int64_t>{{"ai.onnx", 17}, {"ai.onnx.ml", 3}, {"com.microsoft", 1}}) {
    auto& set = *model.add_opset_import();
    set.set_domain(domain);
    set.set_version(version);
  }
  const OnnxGraph graph = read();
  EXPECT_EQ(graph.version, 17);
  EXPECT_EQ(graph.versions,
            (std::map<std::string, std::int64_t>{{"", 17}, {"ai.onnx.ml", 3}, {"com.microsoft", 1}}));
}

TEST_F(OnnxGraphFile, ConstantNodesHoldNumbersAndTextsInManyWays) {
  using Attribute = onnx::AttributeProto;
  constant("float", "value_float", Attribute::FLOAT).set_f(0.1F);
  auto& floats = constant("floats", "value_floats", Attribute::FLOATS);
  floats.add_floats(1);
  floats.add_floats(-2.5F);
  constant("int", "value_int", Attribute::INT).set_i((1LL << 53) + 1);
  auto& ints = constant("ints", "value_ints", Attribute::INTS);
  for (const std::int64_t value : {-1, 3, 4}) ints.add_ints(value);
  constant("string", "value_string", Attribute::STRING).set_s("a");
  auto& strings = constant("strings", "value_strings", Attribute::STRINGS);
  strings.add_strings("b");
  strings.add_strings("c");
  constant("empty", "value_ints", Attribute::INTS);
  // None of these are known.
  constant("sparse", "sparse_value", Attribute::SPARSE_TENSOR).mutable_sparse_tensor();
  constant("wrong", "value_float", Attribute::INT).set_i(1);
  constant("other", "value_graph", Attribute::INT).set_i(1);
  constant("two", "value_float", Attribute::FLOAT).set_f(1);
  auto& second = *model.mutable_graph()->mutable_node()->rbegin()->add_attribute();
  second.set_name("value_int");
  second.set_type(Attribute::INT);
  const OnnxGraph graph = read();
  EXPECT_EQ(graph.nodes.size(), 1u);
  const auto is = [&](const std::string& name, OnnxType type, const Shape& shape, const Doubles& values) {
    SCOPED_TRACE(name);
    const OnnxNumbers& numbers = graph.numbers.at(name);
    EXPECT_EQ(numbers.type, type);
    EXPECT_EQ(numbers.shape, shape);
    EXPECT_EQ(numbers.values, values);
  };
  is("float", OnnxType::float32, {}, {static_cast<double>(0.1F)});
  is("floats", OnnxType::float32, {2}, {1, -2.5});
  is("int", OnnxType::int64, {}, {0x1p53});
  is("ints", OnnxType::int64, {3}, {-1, 3, 4});
  is("empty", OnnxType::int64, {0}, {});
  EXPECT_EQ(graph.numbers.at("int").integers, (Integers{(1LL << 53) + 1}));
  EXPECT_EQ(graph.numbers.size(), 5u);
  EXPECT_EQ(graph.texts, (std::map<std::string, Texts>{{"string", {"a"}}, {"strings", {"b", "c"}}}));
  EXPECT_EQ(graph.text_shapes, (std::map<std::string, Shape>{{"string", {}}, {"strings", {2}}}));

  write_onnx_like(save(), {{.constant = "floats", .values = {7, 8}}, {.constant = "float", .values = {9}}},
                  path("n.onnx"));
  const OnnxGraph again = read_onnx_graph(path("n.onnx"));
  EXPECT_EQ(again.numbers.at("floats").values, (Doubles{7, 8}));
  EXPECT_EQ(again.numbers.at("floats").shape, (Shape{2}));
  EXPECT_EQ(again.numbers.at("float").values, Doubles{9});
  EXPECT_EQ(again.texts, graph.texts);
  EXPECT_EQ(written("n.onnx").graph().node(3).attribute(0).name(), "value_int");  // is as it was
  const auto change = [&](const std::string& name) {
    write_onnx_like(save(), {{.constant = name, .values = {1}}}, path("n.onnx"));
  };
  EXPECT_MESSAGE(DataError, change("sparse"), "m.onnx", "no longer the file");
  EXPECT_MESSAGE(DataError, change("absent"), "m.onnx", "no longer the file");
  EXPECT_MESSAGE(std::invalid_argument, change("int"), "int64", "float32 and float64");
}

TEST_F(OnnxGraphFile, NumbersInAnotherFile) {
  const std::vector<float> floats{1, 2, 3};
  write("sub/m.data", "head" + bytes_of(floats) + bytes_of(Integers{5, -6}));
  externalize(tensor("w", Proto::FLOAT, {3}),
              {{"location", "sub/m.data"}, {"offset", "4"}, {"length", "12"}, {"checksum", "not looked at"}});
  externalize(tensor("v", Proto::INT64, {2}), {{"location", "./sub/m.data"}, {"offset", "16"}});
  externalize(tensor("none", Proto::INT64, {0, 3}), {{"location", "sub/m.data"}, {"offset", "32"}});
  Proto& half = *constant("half", "value", onnx::AttributeProto::TENSOR).mutable_t();
  half.set_data_type(Proto::FLOAT16);
  half.add_dims(1);
  write("half", bytes_of(std::vector<std::uint16_t>{0x3C00}));
  externalize(half, {{"location", "half"}, {"length", "2"}});
  half.set_raw_data("what is here does not count");
  const OnnxGraph graph = read();
  EXPECT_EQ(graph.numbers.at("w").values, (Doubles{1, 2, 3}));
  EXPECT_EQ(graph.numbers.at("v").integers, (Integers{5, -6}));
  EXPECT_EQ(graph.numbers.at("none").shape, (Shape{0, 3}));
  EXPECT_EQ(graph.numbers.at("half").values, Doubles{1});

  // Neither the folder that one stands in nor links that stay below the model's matter.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  EXPECT_EQ(read_onnx_graph("m.onnx").numbers.at("w").values, (Doubles{1, 2, 3}));
  std::filesystem::current_path(before);
  std::filesystem::create_symlink("sub/m.data", path("link"));
  std::filesystem::create_directory_symlink(folder, path("around"));
  externalize(*model.mutable_graph()->mutable_initializer(0), {{"location", "link"}, {"offset", "4"}});
  EXPECT_EQ(read().numbers.at("w").values, (Doubles{1, 2, 3}));
  EXPECT_EQ(read_onnx_graph(path("around/m.onnx")).numbers.at("w").values, (Doubles{1, 2, 3}));
}

TEST_F(OnnxGraphFile, OtherFilesAreBelowTheModel) {
  std::filesystem::create_directory(path("in"));
  write("secret", "1234");
  write("in/ok", "1234");
  write("inside/ok", "1234");
  Proto& w = tensor("w", Proto::FLOAT, {1});
  const auto refused = [&](const std::string& location, const std::string& why) {
    SCOPED_TRACE(location);
    externalize(w, {{"location", location}});
    EXPECT_MESSAGE(DataError, read_onnx_graph(save("in/m.onnx")), path("in/m.onnx"), "'w'", why);
  };
  externalize(w, {{"location", "ok"}});
  EXPECT_EQ(read_onnx_graph(save("in/m.onnx")).numbers.size(), 1u);
  refused("", "path below the model's folder");
  refused(path("in/ok"), "path below the model's folder");
  refused("../secret", "path below the model's folder");
  refused("../in/ok", "path below the model's folder");
  refused("a/../ok", "path below the model's folder");
  refused(std::string("ok\0", 3), "path below the model's folder");
  refused("absent", "no such file");
  refused("ok/absent", "'ok/absent': ");
  refused(".", "no regular file");
  std::filesystem::create_directory(path("in/folder"));
  refused("folder", "no regular file");
  refused(std::string(5000, 'a'), "'w'");
  ASSERT_EQ(mkfifo(path("in/pipe").c_str(), 0600), 0);
  refused("pipe", "no regular file");
  std::filesystem::create_symlink("../secret", path("in/link"));
  refused("link", "leads out of the model's folder");
  std::filesystem::create_directory_symlink("../inside", path("in/folder link"));
  refused("folder link/ok", "leads out of the model's folder");
  std::filesystem::create_symlink("loop", path("in/loop"));
  refused("loop", "'loop': ");
  std::filesystem::create_symlink("/dev/zero", path("in/zero"));
  refused("zero", "leads out of the model's folder");
  w.clear_external_data();
  EXPECT_MESSAGE(DataError, read(), "m.onnx", "'w'");
}

TEST_F(OnnxGraphFile, PlacesInOtherFilesAreThere) {
  write("data", "1234567890");
  Proto& w = tensor("w", Proto::FLOAT, {2});
  const auto refused = [&](Entries entries, const std::string& why) {
    SCOPED_TRACE(why);
    entries.emplace_back("location", "data");
    externalize(w, entries);
    EXPECT_MESSAGE(DataError, read(), "m.onnx", "'w'", "'data'", why);
  };
  refused({{"offset", "-1"}}, "offset='-1'");
  refused({{"offset", "1x"}}, "offset='1x'");
  refused({{"offset", ""}}, "offset=''");
  refused({{"offset", "99999999999999999999"}}, "offset='99999999999999999999'");
  refused({{"offset", "9223372036854775807"}}, "offset=9223372036854775807, and the file has 10 bytes");
  refused({{"offset", "11"}}, "offset=11, and the file has 10");
  refused({{"offset", "3"}}, "8 bytes from 3 on, and the file has 10");
  refused({{"offset", "3"}, {"length", "8"}}, "8 bytes from 3 on");
  refused({{"length", "-8"}}, "length='-8'");
  refused({{"length", "4"}}, "length=4, and shape and type say 8 bytes");
  refused({{"length", "10"}}, "length=10, and shape and type say 8 bytes");
  refused({{"offset", "0"}, {"offset", "1"}}, "'offset' is given twice");
  w.set_dims(0, 1LL << 40);
  refused({}, "shape and type say 4398046511104 bytes, and the file has 10");
  w.set_dims(0, -1);
  refused({}, "shape and type say nan bytes");
}

// The file is a terabyte of nothing.
TEST_F(OnnxGraphFile, OtherFilesHaveToFitIntoMemory) {
  write("data", "");
  std::filesystem::resize_file(path("data"), 1LL << 40);
  externalize(tensor("w", Proto::FLOAT, {1LL << 38}), {{"location", "data"}});
  EXPECT_MESSAGE(ResourceError, read(), "m.onnx needs", "GB free");
}

TEST_F(OnnxGraphFile, WhatIsWrittenIsOneFile) {
  const std::vector<float> floats{1, 2, 3, 4};
  write("in/data", bytes_of(floats));
  const auto elsewhere = [&](Proto& tensor, const std::string& offset) {
    tensor.set_data_type(Proto::FLOAT);
    tensor.clear_dims();
    tensor.add_dims(1);
    externalize(tensor, {{"location", "data"}, {"offset", offset}});
  };
  elsewhere(tensor("w", Proto::FLOAT, {1}), "0");
  elsewhere(tensor("v", Proto::FLOAT, {1}), "4");
  elsewhere(*constant("c", "value", onnx::AttributeProto::TENSOR).mutable_t(), "8");
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type("If");
  node.add_output("unread");
  auto& branch = *node.add_attribute();
  branch.set_name("then_branch");
  branch.set_type(onnx::AttributeProto::GRAPH);
  elsewhere(*branch.mutable_g()->add_initializer(), "12");
  Proto& fp8 = tensor("unknown", 99, {});
  externalize(fp8, {{"location", "data"}, {"offset", "14"}});
  elsewhere(*model.add_functions()->add_node()->add_attribute()->mutable_t(), "0");
  model.mutable_functions(0)->set_domain("local");
  const std::string source = save("in/m.onnx");
  std::filesystem::create_directory(path("out"));
  write_onnx_like(source,
                  {{.constant = "w", .values = {7}},
                   {.node = "y", .input = 0, .shape = {1}, .type = OnnxType::float32, .values = {6}}},
                  path("out/m.onnx"));
  std::filesystem::remove_all(path("in"));
  const OnnxGraph graph = read_onnx_graph(path("out/m.onnx"));
  EXPECT_EQ(graph.numbers.at("w").values, Doubles{7});
  EXPECT_EQ(graph.numbers.at("v").values, Doubles{2});
  EXPECT_EQ(graph.numbers.at("c").values, Doubles{3});
  EXPECT_EQ(graph.numbers.at("x_polished").values, Doubles{6});
  const onnx::ModelProto made = written("out/m.onnx");
  EXPECT_EQ(made.SerializeAsString().find("location"), std::string::npos);
  EXPECT_EQ(made.graph().initializer(2).raw_data(), bytes_of(floats).substr(14));
  EXPECT_EQ(made.functions(0).node(0).attribute(0).t().raw_data(), bytes_of(floats).substr(0, 4));
  const auto& inner = made.graph().node(made.graph().node_size() - 1).attribute(0).g().initializer(0);
  EXPECT_EQ(inner.raw_data(), bytes_of(floats).substr(12));
  EXPECT_EQ(inner.data_location(), Proto::DEFAULT);
}

TEST_F(OnnxGraphFile, WhatIsWrittenHasToFitIntoOneFile) {
  write("data", "");
  std::filesystem::resize_file(path("data"), 1200LL << 20);
  tensor("w", Proto::FLOAT, {1}).add_float_data(1);
  for (const char* name : {"a", "b"})
    externalize(tensor(name, Proto::FLOAT, {300 << 20}), {{"location", "data"}});
  const std::string source = save();
  const auto make = [&] { write_onnx_like(source, {{.constant = "w", .values = {2}}}, path("n.onnx")); };
  EXPECT_MESSAGE(ResourceError, make(), "n.onnx", "2 GB that one ONNX file holds");
  EXPECT_FALSE(std::filesystem::exists(path("n.onnx")));
}

}  // namespace
}  // namespace zeroloss::internal
