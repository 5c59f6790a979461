"""conv_onnx.py MODEL.onnx FILE.bin: the images of a CIFAR-10 batch file through ONNX Runtime; prints their mean
cross-entropy and the counts [label][predicted]."""
import json
import sys

import numpy
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
records = numpy.fromfile(sys.argv[2], numpy.uint8).reshape(-1, 3073)
labels = records[:, 0]
images = numpy.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
logits, predicted = session.run(["logits", "label"], {"images": images})
logits = logits.astype(numpy.float64)
assert (logits.argmax(1) == predicted).all()
largest = logits.max(1)
losses = largest + numpy.log(numpy.exp(logits - largest[:, None]).sum(1)) - logits[numpy.arange(len(labels)), labels]
confusion = numpy.zeros((10, 10), int)
numpy.add.at(confusion, (labels, predicted), 1)
print(json.dumps({"loss": losses.mean(), "confusion": confusion.tolist()}))
