#!/usr/bin/env python3
"""Makes tests/files/images with Pillow, the reference for decoding and resizing: make_images.py FOLDER

FOLDER gets small JPEG and PNG files of every kind; FOLDER/expected.txt what Pillow makes of them, in lines
"NAME HEIGHT WIDTH HEX", with NAME a file or resized_HEIGHTxWIDTH and sharp_HEIGHTxWIDTH, the files source.png and
sharp.png in that size. They are resized along rows, then along columns, by two calls: one alone chooses an order."""
import pathlib
import sys

import numpy as np
from PIL import Image, ImageOps

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
lines = []


def expect(name, image):
    pixels = np.asarray(image.convert("RGB"))
    lines.append(f"{name} {pixels.shape[0]} {pixels.shape[1]} {pixels.tobytes().hex()}")


def add(name, image, **options):
    image.save(out / name, **options)
    expect(name, ImageOps.exif_transpose(Image.open(out / name)))


def smooth(height, width):
    """Three waves and an edge: what a JPEG of this size can hold."""
    y, x = np.mgrid[:height, :width]
    waves = [128 + 120 * np.sin(a * x + b * y) for a, b in ((0.5, 0.1), (-0.2, 0.4), (0.3, 0.3))]
    waves[0][height // 2:] *= 0.25
    return Image.fromarray(np.stack(waves, axis=-1).astype(np.uint8))


def resized(image, height, width):
    rows = image.resize((width, image.height), Image.Resampling.BILINEAR)
    return rows.resize((width, height), Image.Resampling.BILINEAR)


rgb = smooth(9, 13)
noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (9, 13, 3), dtype=np.uint8))
add("rgb_420.jpg", rgb)
add("rgb_444.jpg", rgb, subsampling=0, quality=95)
add("rgb_progressive.jpg", rgb, progressive=True, subsampling=1)
add("noise.jpg", noise, quality=60)
add("grey.jpg", rgb.convert("L"))
add("cmyk.jpg", rgb.convert("CMYK"))
for orientation in range(1, 9):
    exif = Image.Exif()
    exif[0x010F] = "a maker whose name fills some bytes"
    exif[0x0112] = orientation
    add(f"orientation_{orientation}.jpg", smooth(5, 8), exif=exif, quality=90)

add("rgb.png", noise)
add("grey.png", noise.convert("L"))
add("black_and_white.png", noise.convert("1"))
add("palette.png", noise.quantize(16))
add("palette_transparent.png", noise.quantize(16), transparency=bytes(range(0, 256, 16)))
add("rgb_transparent.png", noise, transparency=noise.getpixel((3, 4)))
alpha = noise.copy()
alpha.putalpha(Image.fromarray(np.arange(117, dtype=np.uint8).reshape(9, 13)))
add("rgba.png", alpha)
add("grey_alpha.png", alpha.convert("LA"))
# Pillow cuts 16 bits off instead of rounding them: values whose two bytes are equal are the same either way.
Image.fromarray(257 * np.asarray(noise.convert("L")).astype(np.uint16)).save(out / "grey_16.png")
expect("grey_16.png", noise.convert("L"))

source = smooth(20, 30)
source.save(out / "source.png")
for height, width in ((20, 30), (7, 5), (20, 9), (6, 30), (41, 17), (13, 31), (1, 1), (25, 37)):
    expect(f"resized_{height}x{width}", resized(source, height, width))
sharp = Image.fromarray(255 * np.random.default_rng(1).integers(0, 2, (16, 16, 3), dtype=np.uint8))
sharp.save(out / "sharp.png")
for height, width in ((5, 11), (3, 40)):
    expect(f"sharp_{height}x{width}", resized(sharp, height, width))
(out / "expected.txt").write_text("\n".join(lines) + "\n")
