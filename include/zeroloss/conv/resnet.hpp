#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/storage/tensors.hpp"

/// All-convolutional residual networks without bias and without normalisation [HM, section 4].
///
///     h_0 = C_0 x,   h_j = S h_{j-1} + B_j relu(A_j h_{j-1}),   logits = P' mean(h_l)
///
/// A_j, B_j and C_0 are convolutions; S is the identity, after average pooling where a block has a stride and
/// with zero channels appended where it has more channels than its input; mean is over the pixels; P is
/// random and never trained.
namespace zeroloss {

/// Residual blocks of one shape; the first one's A_j and S have the stride.
struct ConvStage {
  Index blocks = 9, channels = 64, stride = 1;
};
template <Is<ConvStage> T, class Visitor>
void fields(T& s, const Visitor& visit) {
  visit(Field{"blocks"}, s.blocks);
  visit(Field{"channels"}, s.channels);
  visit(Field{"stride"}, s.stride);
}

/// Where which convolutions stand. The default is Table 1 of [HM]: 55 convolutions, 13,538,736 weights.
struct ConvArchitecture {
  Index image_size = 32;  ///< side of the square images in pixels; a multiple of the product of all strides
  Index stem_channels = 16, stem_kernel = 3, stem_stride = 1;              ///< of C_0; the kernel is odd
  std::vector<ConvStage> stages = {{9, 64, 1}, {9, 128, 2}, {9, 256, 2}};  ///< channels never decrease
  Index classes = 10;
};
template <Is<ConvArchitecture> T, class Visitor>
void fields(T& a, const Visitor& visit) {
  visit(Field{"image_size"}, a.image_size);
  visit(Field{"stem_channels"}, a.stem_channels);
  visit(Field{"stem_kernel"}, a.stem_kernel);
  visit(Field{"stem_stride"}, a.stem_stride);
  visit(Field{"stages"}, a.stages);
  visit(Field{"classes"}, a.classes);
}

/// The network for 32 x 32 images: `depth` blocks a stage, `width` channels in the first stage and twice,
/// four times as many in the next; the stem has width/4. Throws std::invalid_argument: depth or classes < 1,
/// width no positive multiple of 4.
ConvArchitecture cifar_architecture(Index classes = 10, Index depth = 9, Index width = 64);

/// The network for 32 x 32 images on a processor: as cifar_architecture(), but every stage halves the image,
/// the first one too, and the stem has width/2 channels, so that few channels on many pixels, the slowest
/// product there is, occur in the stem alone. Depth 2 and width 64: 2,710,368 weights, 100 million
/// multiply-adds.
ConvArchitecture small_architecture(Index classes = 10, Index depth = 2, Index width = 64);

/// The 34-layer network for 224 x 224 images: a 7 x 7 stem of stride 2, then 3, 4, 6, 3 blocks of 80, 168,
/// 336, 664 channels, each stage with stride 2 at its start in place of max pooling; 35,789,424 weights (the
/// paper says 35.7 million and no widths: these are 1.3 times those of the residual network that it derives
/// from, in multiples of 8).
ConvArchitecture imagenet34_architecture(Index classes = 1000);

/// One convolution: kernel x kernel, zero padding of kernel/2, no bias.
struct ConvLayer {
  std::string name;  ///< "stem", "stage1.block1.conv1", ..
  Index in = 0, out = 0, kernel = 3, stride = 1;
  Index size = 0;    ///< side of its output in pixels
  double sigma = 0;  ///< of its N(0, sigma^2) start

  Index weights() const { return in * out * kernel * kernel; }
};

/// All convolutions in the order in which an image meets them: the stem, then conv1 and conv2 of each block.
/// `start` says what sigma is, with k the kernel, c the channels of the output and c' those of the input:
/// - paper: 1/(k sqrt(c)) for the stem, 1/(k^2 c) in blocks [HM, section 4]: all blocks are next to 0;
/// - scaled: 1/(k sqrt(c')) for the stem, sqrt(2)/(k sqrt(c')) for conv1 [He et al. 2015], and for conv2
///   1/(k sqrt(c' l)), l the number of blocks, so that all branches together add about as much energy as
///   their input has [Zhang et al. 2019; De & Smith 2020].
/// Throws std::invalid_argument if the architecture contradicts itself, and for another start.
std::vector<ConvLayer> layers(const ConvArchitecture& architecture, const std::string& start = "paper");

Index weights(const ConvArchitecture& architecture);  ///< trainable numbers
double multiply_adds(
    const ConvArchitecture& architecture);  ///< of one image, forward; training takes 3 times

/// A network with its numbers.
struct ConvNetwork {
  ConvArchitecture architecture;
  std::vector<float> weights;     ///< of all layers, one after another, each out x kernel x kernel x in
  std::vector<float> projection;  ///< P, features x classes
  std::vector<std::string> class_names;  ///< one for each class, or empty

  Index features() const { return architecture.stages.back().channels; }
};

/// A network to start training from: layers N(0, sigma^2), see layers(); projection N(0, 1/features), each
/// with numbers of its own stream of the seed, [0, 2^53).
ConvNetwork draw_network(const ConvArchitecture& architecture, std::uint64_t seed = 0,
                         const std::string& start = "paper");

/// Euclidean norm of each residual block's weights, both convolutions together, in order: how far it is from
/// the identity. `weights` as in ConvNetwork.
std::vector<double> block_norms(const ConvArchitecture& architecture, const std::vector<float>& weights);

/// Writes a safetensors file: a tensor NAME.weight for every layer (out x in x kernel x kernel, as PyTorch
/// has them), "projection" (features x classes); metadata kind = conv_resnet, format_version = 1, the
/// architecture and class_names as JSON, preprocessing = per_image_standardization. Throws
/// std::invalid_argument for a network whose sizes do not fit; as write_tensors does.
void save_model(const std::filesystem::path& path, const ConvNetwork& network, const Metadata& extra = {});

/// What save_model wrote, to the last bit. Throws DataError naming the file and what is wrong with it.
ConvNetwork load_conv_network(const std::filesystem::path& path);

/// Writes the network with its preprocessing as ONNX: input "images" [batch, size, size, 3], uint8, RGB;
/// outputs "logits" [batch, classes], float32, and "label" [batch], int64. Throws as save_model and
/// OnnxModel::write do.
void export_onnx(const std::filesystem::path& path, const ConvNetwork& network, const Metadata& extra = {});

/// The bytes of that file.
std::string onnx_bytes(const ConvNetwork& network, const Metadata& extra = {});

}  // namespace zeroloss
