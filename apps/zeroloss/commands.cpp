#include "command.hpp"

namespace zeroloss::app {

int run(const std::vector<std::string>& arguments, const std::string& cache) {
  const auto add_commands = [](CLI::App& app, Session& session) {
    add_certify(app, session);
    add_fit(app, session);
    add_sweep(app, session);
    add_linear(app, session);
    add_memorize(app, session);
    add_conv(app, session);
    add_predict(app, session);
    add_export(app, session);
    add_report(app, session);
    add_data(app, session);
    add_info(app, session);
  };
  return run(
      {"zeroloss", "zeroloss: neural networks that reach zero training loss, and the proof that they do",
       add_commands},
      arguments, cache);
}

}  // namespace zeroloss::app
