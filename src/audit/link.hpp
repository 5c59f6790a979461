#pragma once
#include "zeroloss/core/matrix.hpp"

/// Softmax regression of classes on a predictor's outputs: which outputs speak for which class, and how much.
namespace zeroloss::internal {

/// softmax(scale F), row by row.
Matrix softmax(const Matrix& F, double scale);

/// B, (c + 1) x c, such that softmax(sharpness F + (F, 1) B) are the likeliest probabilities of the classes
/// Q, n x c, where each entry of B is normal with mean 0 and this precision: with few samples of a class
/// little is changed. Where two classes overlap, differences of their outputs say less than elsewhere; no
/// single sharpness can tell both.
Matrix fit_link(const Matrix& F, const Matrix& Q, double sharpness, double precision);

/// F + (F, 1) B/sharpness.
Matrix linked(const Matrix& F, const Matrix& B, double sharpness);

}  // namespace zeroloss::internal
