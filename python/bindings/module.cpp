#include "bindings.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // what a traceback still holds at exit is no leak
  m.doc() = "zeroloss: the C++ library as it is. Use the functions of the package zeroloss.";
  using namespace zeroloss::python;
  bind_core(m);
  bind_data(m);
  bind_kernel(m);
  bind_two_layer(m);
  bind_sweep(m);
  bind_linear(m);
  bind_width(m);
  bind_audit(m);
  bind_images(m);
  bind_deep(m);
  bind_memorize(m);
  bind_models(m);
}
