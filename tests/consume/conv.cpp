// What a user of the installed conv component writes.
#include <zeroloss/conv/train.hpp>

int main() { return zeroloss::libtorch().starts_with("LibTorch") ? 0 : 1; }
