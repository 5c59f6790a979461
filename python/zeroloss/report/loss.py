"""The loss in words: without them neither "zero loss" nor a step on a page means anything."""

LOSS = ("loss", "‖f − y‖²/2, y = −1 or 1 for classes; summed over samples, steps multiply its gradient")
