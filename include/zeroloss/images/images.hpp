#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// Images with their classes, for networks that see them as images. Pixels stay bytes: 50,000 images of CIFAR
/// are 150 MB here and 1.2 GB as a Dataset.
namespace zeroloss {

/// RGB, row by row, the three numbers of a pixel side by side.
struct Image {
  Index height = 0, width = 0;
  std::vector<std::uint8_t> pixels{};  ///< height x width x 3
};

/// An image that lies elsewhere.
struct ImageView {
  const std::uint8_t* pixels = nullptr;  ///< height x width x 3, as in Image
  Index height = 0, width = 0;

  ImageView(const std::uint8_t* at, Index rows, Index columns) : pixels(at), height(rows), width(columns) {}
  ImageView(const Image& image) : ImageView(image.pixels.data(), image.height, image.width) {}
};

/// n images of c classes, in memory or as files.
struct ImageSet {
  std::string name;                        ///< what the user called it
  std::string digest;                      ///< SHA-256 (hex) of the source, see read_images
  std::vector<std::string> class_names{};  ///< c names; sorted (image folders) or as in the file (CIFAR)
  std::vector<std::int64_t> labels{};      ///< n class numbers 0..c-1
  std::vector<Index> records{};            ///< 0-based record of each image in the source
  Index height = 0, width = 0;             ///< of every image in `pixels`; 0 where images are files
  std::vector<std::uint8_t> pixels{};      ///< n x height x width x 3; empty where images are files
  std::vector<std::string> files{};        ///< n paths; empty where images are in memory
  std::vector<std::string> corrupt{};      ///< "path: what is wrong" of the files left out
  std::vector<std::string> remarks{};      ///< what was left out of a folder, a line each
  std::string label_treatment = "given";   ///< given | random | noise:p

  Index n() const { return static_cast<Index>(labels.size()); }
  Index classes() const { return static_cast<Index>(class_names.size()); }
  bool in_memory() const { return files.empty(); }
  ImageView view(Index i) const;  ///< an image in memory, in place; 0 <= i < n
  Image image(Index i) const;     ///< a copy of image i, decoded if it is a file: throws as decode_image then
};

/// What to read, and what of it to keep. Fields that ReadOptions has too mean the same.
struct ImageOptions {
  std::string split = "train";  ///< train | test
  Index n = 0;           ///< keep the first n images, of an image folder in turn from its classes; 0 = all
  bool shuffle = false;  ///< keep a random subset of n images, in random order, instead of the first n
  std::vector<std::string> classes{};  ///< keep only these classes (by name); empty = all. Applied before n
  std::string labels = "given";        ///< given | random | noise:p
  std::string corrupt = "refuse";      ///< refuse | skip: what to do about files that cannot be decoded
  std::uint64_t seed = 0;              ///< of shuffle and of labels; [0, 2^53)
  int threads = 0;                     ///< that decode files; 0 = as many as OpenMP takes
  std::string cache{};  ///< folder where downloaded sets live, and what was found out about image folders;
                        ///< may be empty
};

/// Reads `source`:
/// - a folder of CIFAR-10 or CIFAR-100 binary files, or the folder that their archive unpacks to in it;
///   the names cifar10 and cifar100 too. Images are in memory; digest: of the bytes of the split's files;
/// - a folder ROOT/CLASS/*.jpg|jpeg|png, or ROOT/train/CLASS/.. with ROOT/val/ or else ROOT/test/ as test
///   split. Images stay files, and a record is a place in their order by class, then by name. Every file kept
///   is decoded once, in parallel, so that damage is found now and not after hours of training; with a cache,
///   never again while its size and time of change stay. digest: of the lines that sha256sum prints in ROOT
///   for all files of the split, sorted by path.
/// Classes are those of the whole source (of train/, for an image folder), or those asked for, whether or not
/// an image kept has them: so the splits number them alike.
/// Throws DataError for anything wrong with the data (damaged files: the first ten and how many), fewer than
/// two classes included; std::invalid_argument for a wrong option; ResourceError if memory does not suffice;
/// Interrupted. With corrupt = skip, damaged files are listed in the result instead, which then has fewer
/// than n images.
ImageSet read_images(const std::string& source, const ImageOptions& options, Progress& progress);
ImageSet read_images(const std::string& source, const ImageOptions& options = {});

/// A JPEG or PNG file, told apart by their first bytes, as 8-bit RGB, as networks of images take it (points
/// keep all 16 bits of a PNG). JPEG: any colour space (CMYK as Adobe
/// writes it, inverted), turned as its EXIF orientation says. PNG: grey and palettes become RGB, 16 bits are
/// rounded to 8, alpha is dropped (as training programs do). At most 10^8 pixels.
/// Throws DataError that names the file and what is wrong with it: truncated, damaged, too large, of another
/// format; BackendError in a build without decoders.
Image decode_image(const std::string& path);

/// Bilinear, over an area as large as the pixels are apart where it shrinks (no aliasing); along rows, then
/// along columns, each rounded to bytes. The same numbers as Pillow's Image.resize(.., BILINEAR), up to 1
/// where Pillow begins with the columns. height, width >= 1; throws std::invalid_argument otherwise or for an
/// image without pixels.
Image resize(const Image& image, Index height, Index width);

}  // namespace zeroloss
