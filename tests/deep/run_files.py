"""run_files.py FOLDER..: runs every NAME.onnx of the folders with ONNX Runtime on the points "x" of the last folder's
points.safetensors, and writes there NAME.out.safetensors with "y", its scores or numbers: n x K, float64."""
import sys
from pathlib import Path

import numpy
import onnxruntime
from safetensors.numpy import load_file, save_file

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3  # errors
last = Path(sys.argv[-1])
points = load_file(last / "points.safetensors")["x"]
for path in sorted(path for folder in sys.argv[1:] for path in Path(folder).glob("*.onnx")):
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    answers = session.run(None, {entry.name: points.astype("f8" if "double" in entry.type else "f4")})
    scores = [[list(row.values()) for row in answer] if isinstance(answer, list) else answer for answer in answers]
    scores = [numpy.asarray(answer, "f8") for answer in scores if numpy.asarray(answer).dtype.kind == "f"]
    save_file({"y": scores[0].reshape(len(points), -1)}, last / f"{path.stem}.out.safetensors")
