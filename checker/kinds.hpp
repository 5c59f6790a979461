#pragma once

// One function for each kind of claim: a text of what was found where the claim holds; throws False, Open or
// Unreadable.

#include <string>

#include "folder.hpp"

namespace check {

std::string check_lambda_min(const Folder& folder, const Json& claim, const std::string& where);
std::string check_separation(const Folder& folder, const Json& claim, const std::string& where);
std::string check_equal_points(const Folder& folder, const Json& claim, const std::string& where);
std::string check_antipodal(const Folder& folder, const Json& claim, const std::string& where);
std::string check_conflict(const Folder& folder, const Json& claim, const std::string& where);
std::string check_too_few(const Folder& folder, const Json& claim, const std::string& where);
std::string check_biased(const Folder& folder, const Json& claim, const std::string& where);
std::string check_labels(const Folder& folder, const Json& claim, const std::string& where);
std::string check_memorised(const Folder& folder, const Json& claim, const std::string& where);
std::string check_misfit(const Folder& folder, const Json& claim, const std::string& where);
std::string check_existence(const Folder& folder, const Json& claim, const std::string& where);
std::string check_kinks(const Folder& folder, const Json& claim, const std::string& where);  // of existence
std::string check_descent(const Folder& folder, const Json& claim, const std::string& where);
std::string check_last_layer(const Folder& folder, const Json& claim, const std::string& where);
std::string check_theorem(const Folder& folder, const Json& claim, const std::string& where);
std::string check_factorisation(const Folder& folder, const Json& claim, const std::string& where);

// A number to six digits, of which the last is rounded up or down.
std::string up(double x);
std::string down(double x);
bool fits_memory(std::size_t n, double bytes_an_entry);
// Throws Open where n x n doubles, this many times, would not fit into the machine's memory.
void expect_memory(std::size_t n, double bytes_an_entry);

}  // namespace check
