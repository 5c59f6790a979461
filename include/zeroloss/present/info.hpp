#pragma once
#include <string>

/// Version, processor features and BLAS in use.
namespace zeroloss {

std::string info_text();
std::string info_json();

}  // namespace zeroloss
