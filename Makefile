# A thin front door: each target is a line or two over the same CMake presets that an editor uses.
.PHONY: demo test build bench format lint clean

# The tests build the Python wheel from the same sources with the same flags: ccache compiles each only once.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

build:
	scripts/setup.sh core
	cmake --preset release -DZEROLOSS_BUILD_TESTS=OFF
	cmake --build --preset release

demo: build
	build/release/bin/zeroloss certify digits

test:
	scripts/setup.sh full
	cmake --preset release -DZEROLOSS_BUILD_TESTS=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
	cmake --build --preset release
	ctest --preset release

bench:
	scripts/setup.sh bench
	bench/run.sh

format:
	scripts/setup.sh lint
	git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

# Without what includes LibTorch, whose headers clang 14 cannot read as C++20.
lint:
	scripts/setup.sh lint
	cmake --preset dev
	git grep -L -E '<torch/|<ATen/|"conv/(cuda|forward|group|trainer)' -- 'src/*.cpp' 'apps/*.cpp' | xargs clang-tidy -p build/dev --quiet

clean:
	rm -rf build
