#pragma once
#include <string>
#include <vector>

/// What to do after an answer: the line that ends it.
namespace zeroloss {

struct Next {
  std::string why{};                      ///< what is to be done; empty if there is nothing
  std::vector<std::string> command = {};  ///< the words of a command line that does it; empty if none does
};

/// After a command whose figures are the answer: `words` are it, `out` is the run folder, "" for none.
Next after_figures(const std::vector<std::string>& words, const std::string& out);

/// After an ONNX file was written.
Next after_export(const std::string& file);

/// After a look at the machine, and at the data sets that have names.
Next after_info();
Next after_known_sets();

/// After the download of the set of this name.
Next after_fetch(const std::string& name);

/// "next: why" and the command line below it; "" if there is nothing to do.
std::string next_text(const Next& next);

}  // namespace zeroloss
