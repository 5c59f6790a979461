#pragma once
#include <string_view>

#include "sources/bytes.hpp"

/// Text in UTF-16, as Excel and Windows save it.
namespace zeroloss::internal {

/// Whether these first bytes have its mark of byte order.
bool is_utf16(std::string_view start);

/// The text in UTF-8 where it has the mark, else the bytes as they are. Throws DataError where it is cut
/// short or damaged.
Bytes from_utf16(const Bytes& bytes);

}  // namespace zeroloss::internal
