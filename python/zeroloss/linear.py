"""Deep linear residual networks: exact factorisations with small layers, and gradient descent."""

from ._core import LinearResnet, LinearResult
from .api.linear import factorize, train

__all__ = ["LinearResnet", "LinearResult", "factorize", "train"]
