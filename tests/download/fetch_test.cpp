#include "zeroloss/download/fetch.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "support/http_server.hpp"
#include "support/shared_data.hpp"
#include "support/subprocess.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/data/dataset.hpp"

namespace zeroloss {
namespace {

struct Entry {
  std::string name, content;
  unsigned type = AE_IFREG;
};

/// A variable of the environment that has another value as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { setenv(name_, before_.c_str(), 1); }  // an empty one counts as none
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

class Fetch : public test::TempFolder {
 protected:
  Fetch() {
    for (int i = 0; i < 100'000; ++i) body += static_cast<char>(i * 7919 >> 3);
    write("served/data.bin", body);
  }

  KnownSet set(const std::vector<std::string>& modes) const {
    KnownFile file{.name = "data.bin", .urls = {}, .sha256 = sha256(body), .bytes = body.size()};
    for (const std::string& mode : modes) file.urls.push_back(server.url(mode + "/data.bin"));
    return {.name = "some", .files = {file}};
  }

  KnownSet archive_set(const std::vector<Entry>& entries) const {
    const std::string where = path("served/a.tar.gz");
    archive* writer = archive_write_new();
    archive_write_set_format_pax_restricted(writer);
    archive_write_add_filter_gzip(writer);
    archive_write_open_filename(writer, where.c_str());
    for (const Entry& item : entries) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, item.name.c_str());
      archive_entry_set_filetype(entry, item.type);
      archive_entry_set_perm(entry, item.type == AE_IFDIR ? 0755 : 0644);
      if (item.type == AE_IFLNK)
        archive_entry_set_symlink(entry, item.content.c_str());
      else
        archive_entry_set_size(entry, static_cast<la_int64_t>(item.content.size()));
      archive_write_header(writer, entry);
      if (item.type == AE_IFREG) archive_write_data(writer, item.content.data(), item.content.size());
      archive_entry_free(entry);
    }
    archive_write_free(writer);
    const std::string bytes = content(where);
    return {.name = "some",
            .files = {{.name = "a.tar.gz",
                       .urls = {server.url("plain/a.tar.gz")},
                       .sha256 = sha256(bytes),
                       .bytes = bytes.size(),
                       .unpacks_to = "inside"}}};
  }

  void get(const KnownSet& wanted, const FetchOptions& options = {}) {
    fetch(wanted, path("cache"), progress, options);
  }
  std::string got() const { return content(folder / "cache/some/data.bin"); }
  bool there(const std::string& name) const { return std::filesystem::exists(folder / "cache/some" / name); }

  std::string body;
  test::HttpServer server{(std::filesystem::create_directories(folder / "served"), folder / "served")};
  Progress progress;
};

TEST_F(Fetch, DownloadsOnceAndVerifies) {
  EXPECT_FALSE(is_cached(set({"plain"}), path("cache")));
  get(set({"plain"}));
  EXPECT_EQ(got(), body);
  EXPECT_FALSE(there("data.bin.part"));
  EXPECT_TRUE(is_cached(set({"plain"}), path("cache")));
  get(set({"plain"}));
  EXPECT_EQ(server.requests().size(), 1u) << "what is there is not downloaded again";
}

TEST_F(Fetch, TrustsWhomTheEnvironmentNames) {
  const std::string pem = path("own.pem");
  const auto made = test::run_program(
      "sh",
      {"-c",
       "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=own"
       " -addext subjectAltName=IP:127.0.0.1 -keyout own.pem -out own.crt && cat own.crt >> own.pem"},
      {.folder = folder.string()});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const test::HttpServer secure(folder / "served", pem);
  KnownSet wanted = set({"plain"});
  wanted.files[0].urls = {secure.url("plain/data.bin")};
  EXPECT_MESSAGE(BackendError, get(wanted), "data.bin", "certificate");
  const Variable first("CURL_CA_BUNDLE", ""), second("SSL_CERT_FILE", path("own.crt"));
  EXPECT_NO_THROW(get(wanted));
  EXPECT_EQ(got(), body);
}

TEST_F(Fetch, ReportsProgress) {
  std::vector<ProgressReport> reports;
  progress = Progress([&](const ProgressReport& report) { reports.push_back(report); }, nullptr, 0);
  get(set({"plain"}));
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().stage, "downloading data.bin");
  EXPECT_EQ(reports.back().done, static_cast<double>(body.size()));
  EXPECT_EQ(reports.back().total, static_cast<double>(body.size()));
  EXPECT_TRUE(reports.back().finished);
}

TEST_F(Fetch, ContinuesAnInterruptedDownload) {
  EXPECT_MESSAGE(BackendError, get(set({"drop:30000"})), "data.bin", "drop:30000", "run again");
  EXPECT_TRUE(there("data.bin.part"));
  EXPECT_FALSE(there("data.bin"));
  get(set({"plain"}));
  EXPECT_EQ(got(), body);
  EXPECT_EQ(server.requests().back(), "/plain/data.bin bytes=30000-");
}

TEST_F(Fetch, StartsAgainWhereTheServerIgnoresRanges) {
  write("cache/some/data.bin.part", std::string(30000, 'x'));
  get(set({"norange"}));
  EXPECT_EQ(got(), body);
}

TEST_F(Fetch, StartsAgainWhenThePartIsTooLong) {
  write("cache/some/data.bin.part", std::string(body.size() + 1, 'x'));
  get(set({"plain"}));
  EXPECT_EQ(got(), body);
}

TEST_F(Fetch, TriesMirrorsInOrderAndContinuesFromOneToTheNext) {
  get(set({"missing", "busy", "drop:1000", "plain"}));
  EXPECT_EQ(got(), body);
  EXPECT_EQ(server.requests(),
            (std::vector<std::string>{"/missing/data.bin ", "/busy/data.bin ", "/drop:1000/data.bin ",
                                      "/plain/data.bin bytes=1000-"}));
}

TEST_F(Fetch, TriesTheMirrorOfTheOptionsFirst) {
  get(set({"missing"}), {.mirror = server.url("plain")});
  EXPECT_EQ(got(), body);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(Fetch, NamesEveryUrlAndItsStatus) {
  EXPECT_MESSAGE(BackendError, get(set({"missing", "busy"})), server.url("missing"), "HTTP status 404",
                 server.url("busy"), "HTTP status 503");
  KnownSet nowhere = set({});
  nowhere.files[0].urls = {"http://127.0.0.1:1/data.bin"};
  EXPECT_MESSAGE(BackendError, get(nowhere), "127.0.0.1:1", "libcurl status 7");
  nowhere.files[0].urls = {"file:///etc/hostname"};
  EXPECT_MESSAGE(BackendError, get(nowhere), "libcurl status 1");
}

TEST_F(Fetch, RemovesWhatHasTheWrongChecksum) {
  KnownSet wrong = set({"plain"});
  wrong.files[0].sha256 = std::string(64, '0');
  EXPECT_MESSAGE(DataError, get(wrong), "data.bin", "SHA-256", sha256(body), std::string(64, '0'), "removed");
  EXPECT_FALSE(there("data.bin"));
  EXPECT_FALSE(there("data.bin.part"));
}

TEST_F(Fetch, TriesTheNextMirrorAfterAWrongChecksum) {
  write("cache/some/data.bin.part", std::string(30000, 'x'));
  get(set({"plain", "plain"}));
  EXPECT_EQ(got(), body);
}

TEST_F(Fetch, AFileOfTheCacheThatIsAnotherStays) {
  get(set({"plain"}));
  std::string damaged = body;
  damaged[5] ^= 1;
  write("cache/some/data.bin", damaged);
  EXPECT_MESSAGE(DataError, get(set({"plain"})), "data.bin", "SHA-256", "move it or choose another");
  EXPECT_EQ(content(folder / "cache/some/data.bin"), damaged);
  write("cache/some/data.bin", "of somebody, and shorter");
  EXPECT_MESSAGE(DataError, get(set({"plain"})), "data.bin", "move it or choose another");
  EXPECT_EQ(content(folder / "cache/some/data.bin"), "of somebody, and shorter");
}

TEST_F(Fetch, RefusesMoreBytesThanExpected) {
  KnownSet shorter = set({"plain"});
  shorter.files[0].bytes = 1000;
  EXPECT_MESSAGE(BackendError, get(shorter), "more than the expected 1000 bytes");
  EXPECT_FALSE(there("data.bin"));
  KnownSet longer = set({"plain"});
  longer.files[0].bytes = body.size() + 10;
  EXPECT_MESSAGE(BackendError, get(longer), "found 100000 bytes, expected 100010");
}

TEST_F(Fetch, StopsWhenCancelledAndKeepsThePart) {
  std::atomic<bool> cancel = false;
  progress = Progress([&](const ProgressReport& report) { cancel = report.done > 20'000; }, &cancel, 0);
  EXPECT_THROW(get(set({"slow"})), Interrupted);
  EXPECT_TRUE(there("data.bin.part"));
  EXPECT_FALSE(there("data.bin"));
  progress = {};
  get(set({"plain"}));
  EXPECT_EQ(got(), body);
}

TEST_F(Fetch, ChecksTheDiskFirst) {
  KnownSet huge = set({"plain"});
  huge.files[0].bytes = std::uint64_t{1} << 60;
  EXPECT_MESSAGE(ResourceError, get(huge), "data.bin", "MB free", "`cache`");
  EXPECT_TRUE(server.requests().empty());
  EXPECT_MESSAGE(ResourceError, fetch(set({"plain"}), write("file", "x"), progress), "cannot be created");
  EXPECT_MESSAGE(std::invalid_argument, fetch(set({"plain"}), "", progress), "cache");
}

TEST_F(Fetch, UnpacksArchives) {
  const KnownSet wanted = archive_set(
      {{"inside/", "", AE_IFDIR}, {"inside/one.txt", "1"}, {"inside/deep/two.txt", "22"}, {"readme", "x"}});
  get(wanted);
  EXPECT_EQ(content(folder / "cache/some/inside/one.txt"), "1");
  EXPECT_EQ(content(folder / "cache/some/inside/deep/two.txt"), "22");
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "cache/some"))
    left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"inside"})) << "neither the archive nor a temporary folder stays";
  get(wanted);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(Fetch, AnArchiveOfSomebodyStays) {
  const KnownSet wanted = archive_set({{"inside/one.txt", "1"}});
  const std::string file = "cache/some/" + wanted.files[0].name;
  write(file, content(path("served/a.tar.gz")));
  get(wanted);
  EXPECT_EQ(content(folder / "cache/some/inside/one.txt"), "1");
  EXPECT_TRUE(std::filesystem::exists(path(file)));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(Fetch, RefusesUnsafeArchives) {
  const auto refused = [&](const Entry& entry, const char* reason) {
    EXPECT_MESSAGE(DataError, get(archive_set({{"inside/one.txt", "1"}, entry})), entry.name, reason);
    EXPECT_TRUE(std::filesystem::is_empty(folder / "cache/some"));
  };
  refused({"../outside.txt", "x"}, "leads out");
  refused({"inside/../../outside.txt", "x"}, "leads out");
  refused({"/tmp/outside.txt", "x"}, "absolute");
  refused({"inside/link", "/etc", AE_IFLNK}, "is a link");
  refused({"inside/pipe", "", AE_IFIFO}, "neither file nor folder");
  EXPECT_FALSE(std::filesystem::exists(folder / "cache/outside.txt"));
}

TEST_F(Fetch, RefusesArchivesThatAreNone) {
  KnownSet wanted = set({"plain"});
  wanted.files[0].unpacks_to = "inside";
  EXPECT_MESSAGE(DataError, get(wanted), "archive");
  EXPECT_MESSAGE(DataError, get(archive_set({{"other/one.txt", "1"}})), "no folder 'inside'");
}

TEST_F(Fetch, NamedSetsAreReadFromTheCache) {
  ZEROLOSS_NEEDS_SHARED("mnist");
  const auto source = test::shared_data() / "mnist";
  std::filesystem::create_directories(folder / "served");
  std::filesystem::copy(source, folder / "served", std::filesystem::copy_options::recursive);
  fetch(known_sets().front(), path("cache"), progress, {.mirror = server.url("plain")});
  const Dataset data = read_dataset("mnist", {.n = 5, .cache = path("cache")});
  EXPECT_EQ(data.name, "mnist");
  EXPECT_EQ(data.d(), 784);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    std::filesystem::permissions(entry, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
}

TEST(KnownSets, AreComplete) {
  for (const KnownSet& set : known_sets()) {
    EXPECT_FALSE(set.description.empty() || set.licence.empty() || set.citation.empty()) << set.name;
    for (const KnownFile& file : set.files) {
      EXPECT_FALSE(file.urls.empty());
      for (const std::string& url : file.urls)
        EXPECT_TRUE(url.starts_with("https://") && url.ends_with("/" + file.name)) << url;
      EXPECT_EQ(file.sha256.size(), 64u);
      EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos);
      EXPECT_GT(file.bytes, 0u);
    }
  }
  EXPECT_MESSAGE(DataError, known_sets("{"), "table of known data sets");
  EXPECT_MESSAGE(DataError, known_sets(R"({"sets": [{"name": "x"}]})"), "description");
}

}  // namespace
}  // namespace zeroloss
