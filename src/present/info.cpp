#include "zeroloss/present/info.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "present/common.hpp"
#include "present/table.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss {
using namespace internal;

std::string info_json() {
  Json all{{"version", ZEROLOSS_VERSION}};
  for (const auto& [key, value] : Json::parse(machine_json()).members()) all[key] = value;
  const std::string warning = blas_info().warning;
  all["next"] = told(after_info());
  all["warning"] = warning.empty() ? Json() : Json(warning);
  return all.dump(1);
}

std::string info_text() {
  const BlasInfo blas = blas_info();
  const Json machine = Json::parse(machine_json());
  Table table({"processor", machine.at("processor").as<std::string>()});
  table.add({"vector kernels", machine.at("simd").as<std::string>()});
  table.add({"threads", fmt::format("{} (OpenMP)", thread_count())});
  table.add({"BLAS", blas.library});
  table.add({"BLAS kernel", blas.kernel});
  table.add({"BLAS threading", blas.threading});
  table.add(
      {"memory free", fmt::format("{:.1f} GB", machine.at("memory_available_bytes").as<double>() / 1e9)});
  table.add({"optional parts", "conv, a program of its own, which a build of the C++ project has: `conv()`"});
  table.add({"compiler", machine.at("compiler").as<std::string>()});
  const std::string warning = blas.warning.empty() ? "" : fmt::format("\nwarning: {}\n", blas.warning);
  return fmt::format("zeroloss {}\n\n{}{}\n{}", ZEROLOSS_VERSION, table.text(), warning,
                     next_text(after_info()));
}

}  // namespace zeroloss
