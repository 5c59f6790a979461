#include "torch_programs.hpp"

#include "zeroloss/torch/descents.hpp"
#include "zeroloss/torch/engine.hpp"
#include "zeroloss/torch/graphs.hpp"
#include "zeroloss/torch/tangent_steps.hpp"

namespace zeroloss::app {

void add_certify(Command& command, Session& session);
void add_fit(Command& command, Session& session);
void add_prove(Command& command, Session& session);
void add_sweep(Command& command, Session& session);

namespace {

// Without a name it is the device that is there: who runs this program wants LibTorch.
std::unique_ptr<Engine> engine_of_device(Session&, const std::string& device, Index) {
  return torch_engine(device.empty() ? "auto" : device);
}

std::unique_ptr<DescentEngine> descents_of_device(Session&, const std::string& device) {
  return torch_descents(device.empty() ? "auto" : device);
}

std::unique_ptr<TangentEngine> tangents_of_device(Session&, const std::string& device) {
  return torch_tangents(device.empty() ? "auto" : device);
}

std::shared_ptr<const GraphEngine> graphs_of_device(Session&, const std::string& device) {
  return torch_graphs(device.empty() ? "auto" : device);
}

// Help and messages are those of the command that becomes this program.
const Program kProgram{
    "zeroloss",
    "zeroloss-torch: what zeroloss does with LibTorch; see zeroloss conv --help as well",
    {{"certify", add_certify}, {"fit", add_fit}, {"prove", add_prove}, {"sweep", add_sweep}},
    /*threads=*/true,
    engine_of_device,
    descents_of_device,
    tangents_of_device,
    graphs_of_device};

}  // namespace

int run_without_conv(const std::vector<std::string>& arguments) {
  return run(kProgram, arguments, default_cache());
}

}  // namespace zeroloss::app
