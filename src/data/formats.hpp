#pragma once
#include <string>

#include "data/bytes.hpp"
#include "zeroloss/data/readers.hpp"

/// One function for each format. All throw DataError for anything wrong with the data.
namespace zeroloss::internal {

Source read_csv(const Bytes& bytes, const std::string& target);  ///< target as in ReadOptions
Source read_npy(const Bytes& bytes);
Source read_npz(const std::string& path);
Source read_idx(const std::string& path);  ///< with the labels file beside it, if there is one

/// A folder of CIFAR-10, CIFAR-100, MNIST or image files; `split` is train or test.
Source read_folder(const std::string& path, const std::string& split);

/// An image folder (see read_images) as points of height x width x 3 numbers 0..255: all red ones, then
/// green, then blue. Images that are kept must have one size.
Source image_source(const std::string& path, const std::string& split);

/// SHA-256 of the bytes of these files, one after the other.
std::string digest_of(const std::vector<std::string>& paths);

}  // namespace zeroloss::internal
