"""Deep linear residual networks: exact factorisations with small layers, and gradient descent."""

from .api.linear import LinearResnet, LinearResult, factorize, train

__all__ = ["LinearResnet", "LinearResult", "factorize", "train"]
