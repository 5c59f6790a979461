# A thin front door: each target is a line or two over the same CMake presets that an editor uses.
.PHONY: demo install test test-all build bench check-all docs lint sanitize races faults fuzz release format clean

# The tests build the Python wheel from the same sources with the same flags: ccache compiles each only once.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CCACHE_SLOPPINESS := pch_defines,time_macros

build:
	scripts/setup.sh core
	cmake --preset release -DZEROLOSS_BUILD_TESTS=OFF
	cmake --build --preset release

demo: build
	build/release/bin/zeroloss certify digits

# The command, its manual pages and completion, headers and libraries; as root where PREFIX needs it.
PREFIX ?= /usr/local
install: build
	cmake --install build/release --prefix $(PREFIX)

# Without what is labelled slow: what takes minutes and has a smaller twin, real data sets, failing machines, a second
# build for GPU nodes; and without a twin each file compiled alone (alone), processes that share nothing but a network
# (Cluster.Namespaces.Slow) and the polished network of the pages (Quoted.Slow). `test-all` has all of it.
test:
	$(call build_tests,OFF)
	ctest --preset release --label-exclude slow

# A process for each test, too; before them a release of the last commit, used in a bare Debian, which takes root: the
# last line says where it was left out.
test-all:
	$(call build_tests,ON)
	scripts/setup.sh release
	scripts/release.py --committed
	test $$(id -u) -ne 0 || tests/bare.py build/dist
	ctest --preset release
	@test $$(id -u) -eq 0 || echo 'test-all: left out without root: the release in a bare Debian (tests/bare.py build/dist)'

define build_tests
	scripts/setup.sh full
	cmake --preset release -DZEROLOSS_BUILD_TESTS=ON -DZEROLOSS_TEST_ALL=ON -DZEROLOSS_TEST_EACH=$(1) \
	  -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
	cmake --build --preset release
endef

bench:
	scripts/setup.sh bench
	bench/run.sh

# The documentation as a site: build/docs/site/index.html; then every page of it in a browser.
docs: build
	scripts/setup.sh docs
	build/docs/python/bin/python scripts/make_site.py
	python3 tests/read_site.py build/docs/site

# Hours: clang-tidy, which goes on where it was stopped, the whole suite with sanitizers, faults of the machine, and the
# documentation.
check-all: lint sanitize races faults docs

lint:
	scripts/setup.sh lint
	scripts/tidy.py

# The presets say which tests are left out, and why.
sanitize:
	scripts/setup.sh full
	cmake --preset sanitize -DZEROLOSS_TEST_ALL=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
	cmake --build --preset sanitize
	ctest --preset sanitize

# Data races. LibTorch and MPI, which are not compiled for it, are left out.
races:
	scripts/setup.sh fuzz
	cmake --preset tsan
	cmake --build --preset tsan
	ctest --preset tsan

# Disks, memory, signals, power; the first two write their tables into the page.
faults: build
	scripts/setup.sh lint
	tests/faults/faults.py build/release/bin/zeroloss --write docs/reliability.md
	build/python/bin/python tests/faults/limits.py build/release/bin/zeroloss --write docs/reliability.md
	tests/faults/memcheck.py build/release/bin/zeroloss

# A million files with random bytes for every reader, or ten minutes of them, and a table of it into the page: hours.
# Then ten minutes of damaged answers for the checker, compiled with sanitizers.
fuzz: build
	scripts/setup.sh fuzz
	cmake -S checker -B build/fuzz/checker -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_FLAGS="-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
	cmake --build build/fuzz/checker
	cmake --preset fuzz
	cmake --build --preset fuzz
	tests/fuzz/run.py --write docs/reliability.md
	tests/checker/fuzz.py build/release/bin/zeroloss build/fuzz/checker/bin/zeroloss-check --seconds 600

# Wheels, Debian packages, archives and sums in build/dist, made twice and compared; then all of it in a bare Debian.
release:
	scripts/setup.sh release
	scripts/release.py --twice
	tests/bare.py build/dist

format:
	scripts/setup.sh full
	git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 -i

clean:
	rm -rf build
