"""cifar_onnx.py FOLDER MODEL.onnx: the 50,000 training images of CIFAR-10's binary files through ONNX Runtime; prints
how many get their label."""
import sys
from pathlib import Path

import numpy as np
import onnxruntime

folder = Path(sys.argv[1])
options = onnxruntime.SessionOptions()
options.log_severity_level = 3  # errors
session = onnxruntime.InferenceSession(sys.argv[2], options, providers=["CPUExecutionProvider"])
right = 0
for batch in range(1, 6):
    records = np.fromfile(folder / f"data_batch_{batch}.bin", np.uint8).reshape(-1, 3073)
    for part in np.array_split(records, 4):
        (label,) = session.run(["label"], {"x": part[:, 1:].astype(np.float32)})
        right += int((label == part[:, 0]).sum())
print(right)
