"""copy_tensors.py IN OUT: reads a safetensors file with the safetensors package, writes it again, and prints what it
holds: {"metadata": {..}, "tensors": {name: [dtype, shape, flat values]}}."""
import json
import sys

from safetensors import safe_open
from safetensors.numpy import save_file

with safe_open(sys.argv[1], framework="numpy") as file:
    metadata = file.metadata()
    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
save_file(tensors, sys.argv[2], metadata=metadata)
print(json.dumps({"metadata": metadata,
                  "tensors": {k: [str(v.dtype), list(v.shape), v.ravel().tolist()] for k, v in tensors.items()}}))
