#pragma once
#include "zeroloss/conv/resnet.hpp"
#include "zeroloss/images/images.hpp"

/// A first layer that sees what there is to see: patches of real images vary a thousand times more in one
/// direction than in another.
namespace zeroloss {

/// Replaces kernels of the stem, k x k x 3 numbers each: the i-th becomes v_i / sqrt(lambda_i + 0.01), with
/// the i-th largest eigenvalue and its eigenvector of the mean of p p' over patches p, for as many as there
/// are channels and numbers in a patch; further channels stay as they are. So channels are uncorrelated, of
/// mean square lambda_i / (lambda_i + 0.01). Patches are all those inside of up to 2,000,000 of the images'
/// (standardised, see prepare()), whole images evenly spaced. Takes a second. Throws as Batches::next() does,
/// and std::invalid_argument for an empty set.
void whiten_stem(ConvNetwork& network, const ImageSet& images);

}  // namespace zeroloss
