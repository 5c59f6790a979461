#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// NumPy's files as plain matrices, for what is not a Dataset: maps, covariances, targets with many columns.
namespace zeroloss {

/// The array of an npy file or, if `array` is given, the array of that name in an npz archive. A 1-d array is
/// one column. Throws DataError: no such file or array (the message lists those that are there), more than
/// two dimensions, text, an entry that is not finite (with its row and column); ResourceError if it does not
/// fit into memory.
RowMatrix read_matrix(const std::string& path, const std::string& array = {});

/// An array as its header describes it.
struct ArrayShape {
  std::string name;          ///< empty in an npy file
  std::vector<Index> shape;  ///< empty: a single number
};

/// Whether a file begins as npy files or npz archives do. Throws DataError if it cannot be read.
bool is_numpy(const std::string& path);

/// The array of an npy file, or all of an npz archive. Throws DataError for what is neither.
std::vector<ArrayShape> arrays_in(const std::string& path);

/// The same as read_matrix for one or more dimensions: a row for each first index, the rest in C order. More
/// than two in Fortran order are a DataError.
RowMatrix read_array(const std::string& path, const std::string& array = {});

/// A matrix as an npy file: float64, in C order.
std::string npy_bytes(const RowMatrix& X);

}  // namespace zeroloss
