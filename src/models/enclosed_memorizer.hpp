#pragma once
#include <filesystem>
#include <memory>

#include "zeroloss/graph/network.hpp"
#include "zeroloss/memorize/memorizer.hpp"

namespace zeroloss::internal {

/// A memoriser as prove() takes it.
class EnclosedMemorizer final : public GraphEnclosure {
 public:
  explicit EnclosedMemorizer(const std::filesystem::path& file)
      : network_(std::make_shared<const Memorizer>(load_memorizer(file))) {}

  const std::shared_ptr<const Memorizer>& network() const { return network_; }
  Index features() const override { return network_->d(); }
  GraphOutputs outputs(const Eigen::Ref<const RowMatrix>& X, const std::string& execution,
                       Progress& progress) const override;

 private:
  std::shared_ptr<const Memorizer> network_;
};

/// The memoriser that a network is, or null.
std::shared_ptr<const Memorizer> memorizer_of(const GraphNetwork& network);

/// Throws as load_memorizer().
GraphNetwork network_of_memorizer(const std::filesystem::path& file);

}  // namespace zeroloss::internal
