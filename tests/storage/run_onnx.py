"""run_onnx.py FOLDER: runs every NAME.onnx there with ONNX Runtime on the tensors of NAME.in.safetensors, writes the
outputs to NAME.out.safetensors, and prints {NAME: {"inputs": .., "outputs": {name: [type, shape]}, "metadata": ..}}."""
import json
import sys
from pathlib import Path

import onnxruntime
from safetensors.numpy import load_file, save_file

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3  # errors
found = {}
for path in sorted(Path(sys.argv[1]).glob("*.onnx")):
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    outputs = session.run(names, load_file(path.with_suffix(".in.safetensors")))
    save_file(dict(zip(names, outputs)), path.with_suffix(".out.safetensors"))
    describe = lambda values: {value.name: [value.type, value.shape] for value in values}
    found[path.stem] = {"inputs": describe(session.get_inputs()), "outputs": describe(session.get_outputs()),
                        "metadata": session.get_modelmeta().custom_metadata_map}
print(json.dumps(found))
