#include "sources/unsupported_formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "sources/source_kind.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

/// Files that are known by their names and not read here; what to do instead is said.
namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

/// A format, and the line of Python that makes a file of it which is read: {0} is its path, {1} that of the
/// new file, in quotes.
struct Format {
  const char *endings, *called, *ending, *python;
};
constexpr Format kOfPackage[] = {
    {".parquet .pq", "a Parquet file", ".csv",
     "import pandas; pandas.read_parquet({}).to_csv({}, index=False)"},
    {".feather .arrow", "an Arrow file", ".csv",
     "import pandas; pandas.read_feather({}).to_csv({}, index=False)"},
    {".xlsx .xls", "a spreadsheet", ".csv", "import pandas; pandas.read_excel({}).to_csv({}, index=False)"}};
constexpr Format kOthers[] = {
    {".mat", "a file of MATLAB", ".npz",
     "import numpy, scipy.io; m = scipy.io.loadmat({}); print([k for k in m if k[0] != '_']); "
     "numpy.savez({}, X=m['X'], y=m['y'].ravel())"},
    {".h5 .hdf5", "an HDF5 file", ".npz",
     "import h5py, numpy; f = h5py.File({}); print(list(f)); numpy.savez({}, X=f['X'][:], y=f['y'][:])"},
    {".joblib", "a pickle of joblib", ".npz",
     "import joblib, numpy; X, y = joblib.load({}); numpy.savez({}, X=X, y=y)"},
    {".pkl .pickle", "a pickle of Python", ".npz",
     "import numpy, pickle; X, y = pickle.load(open({}, 'rb')); numpy.savez({}, X=X, y=y)"},
    {".pt .pth", "a pickle of PyTorch", ".npz",
     "import numpy, torch; X, y = torch.load({}); numpy.savez({}, X=X.numpy(), y=y.numpy())"},
    {".json .jsonl .ndjson", "JSON", ".csv", "import pandas; pandas.read_json({}).to_csv({}, index=False)"},
    {".sas7bdat", "a file of SAS", ".csv", "import pandas; pandas.read_sas({}).to_csv({}, index=False)"},
    {".dta", "a file of Stata", ".csv", "import pandas; pandas.read_stata({}).to_csv({}, index=False)"},
    {".sav", "a file of SPSS", ".csv", "import pandas; pandas.read_spss({}).to_csv({}, index=False)"}};
struct Packed {
  const char *ending, *command;
};
constexpr Packed kPacked[] = {{".bz2", "bunzip2 -k"}, {".xz", "unxz -k"}, {".zst", "unzstd"},
                              {".tar", "tar -xf"},    {".7z", "7z x"},    {".tgz", "tar -xzf"},
                              {".tar.gz", "tar -xzf"}};

std::string replaced(const std::string& path, const char* ending) {
  return fs::path(path).replace_extension(ending).string();
}

std::string python(const std::string& text) { return Json(text).dump(); }

const std::string kNobody = "train";

template <std::size_t n>
const Format* found(const Format (&formats)[n], const std::string& path) {
  for (const Format& format : formats)
    if (Asked{path, kNobody}.ends_in(format.endings)) return &format;
  return nullptr;
}

std::string command_for(const Format& format, const std::string& path) {
  return "python3 -c " + shell_word(fmt::format(fmt::runtime(format.python), python(path),
                                                python(replaced(path, format.ending))));
}

[[noreturn]] void refuse(const std::string& path) {
  for (const Packed& packed : kPacked)
    if (Asked{path, kNobody}.ends_in(packed.ending))
      throw DataError(fmt::format("{}: is packed; unpack it: {}", path,
                                  fmt::format("{} {}", packed.command, shell_word(path))));
  if (const Format* format = found(kOfPackage, path))
    throw DataError(
        fmt::format("{}: is {}; the Python package reads it (zeroloss.read_dataset), or convert it: {}", path,
                    format->called, command_for(*format, path)));
  if (const Format* format = found(kOthers, path))
    throw DataError(fmt::format("{}: is {}, which is not read; convert it, for instance by: {}", path,
                                format->called, command_for(*format, path)));
  const std::string data = replaced(path, ".data");
  throw DataError(fmt::format("{}: is the description of a data set, not its data; give {}{}", path, data,
                              fs::exists(data) ? "" : ", which is not here"));
}

std::string all_endings() {
  std::string all = ".names";
  for (const Format& format : kOfPackage) all += std::string(" ") + format.endings;
  for (const Format& format : kOthers) all += std::string(" ") + format.endings;
  for (const Packed& packed : kPacked) all += std::string(" ") + packed.ending;
  return all;
}

/// The kinds of pictures in class folders that are not read.
std::set<std::string> other_pictures(const std::string& path) {
  std::set<std::string> found;
  std::error_code ignored;
  for (const auto& folder : fs::directory_iterator(path, ignored)) {
    if (!folder.is_directory(ignored)) continue;
    for (const auto& file : fs::directory_iterator(folder.path(), ignored)) {
      const std::string ending = lowered(file.path().extension().string());
      for (const char* known : {".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm", ".heic", ".avif"})
        if (ending == known) found.insert(ending);
    }
  }
  return found;
}

}  // namespace

void refuse_folder(const std::string& path) {
  const fs::path folder(path);
  const bool ten = fs::exists(folder / "data_batch_1"), hundred = fs::exists(folder / "train") &&
                                                                  fs::is_regular_file(folder / "train") &&
                                                                  fs::exists(folder / "meta");
  if (ten || hundred) {
    const std::string code = fmt::format(
        "import numpy, pickle; b = [pickle.load(open({} + '/' + name, 'rb'), encoding='latin1') for name in "
        "{}]; "
        "numpy.savez('cifar.npz', X=numpy.concatenate([d['data'] for d in b]), y=numpy.concatenate([d['{}'] "
        "for "
        "d in b]))",
        python(path), ten ? "['data_batch_%d' % k for k in range(1, 6)]" : "['train']",
        ten ? "labels" : "fine_labels");
    throw DataError(fmt::format(
        "{}: is the version of CIFAR for Python; expected the binary one (`fetch({})` gets it), or "
        "convert it: python3 -c {}",
        path, ten ? "cifar10" : "cifar100", shell_word(code)));
  }
  if (const auto others = other_pictures(path); !others.empty())
    throw DataError(
        fmt::format("{}: its pictures are {}; expected jpg, jpeg or png: mogrify -format png {}/*/*{}", path,
                    fmt::join(others, ", "), shell_word(path), *others.begin()));
}

SourceKind unread() {
  return {SourceKind::Is::file,
          "",
          "",
          [](const Asked& asked) { return asked.start == nullptr && asked.ends_in(all_endings()); },
          [](const std::string& path, const ReadOptions&) -> Source { refuse(path); },
          true};
}

}  // namespace zeroloss::internal
