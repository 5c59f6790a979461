"""Heading and caption of each figure, by kind of run; {title} is the figure's own."""

CAPTIONS = {
    "certify": {
        "widths": ("How wide", "From too few to what theorems about random weights ask for. The axis is logarithmic."),
        "spectrum": ("Spectrum of the kernel", "All eigenvalues, largest first; the last one is lambda_min."),
        "forecast": ("Forecast of training", "{title}")},
    "width": {
        "widths": ("How wide", "From too few to what theorems about random weights ask for. The axis is logarithmic."),
        "scales": ("What a narrow network costs", "{title}: output scale and steps of the proof, by width.")},
    "fit": {
        "curve": ("Training", "Relative misfit ||r||/||y|| after each step as measured, beside what theory says."),
        "test": ("Points that were not fitted", "How far off the network is there, at each step."),
        "distance": ("How far the weights moved", "From the start; the theorem's bound where it has one.")},
    "sweep": {
        "heat": ("Where training succeeds", "{title}. Pointing at it shows the trials and their 95 % interval."),
        "success": ("Where training succeeds so far", "Pointing at it shows the trials; cells without any are empty.")},
    "linear": {
        "norm": ("Norm against depth", "{title}: the largest spectral norm of a layer."),
        "layers": ("Norm of each layer", "{title}. Spectral norms, first layer to last."),
        "descent": ("Gradient descent", "{title}: the gradient beside its lower bound, and the misfit."),
        "convergence": ("Steps against depth", "{title}. Depths that did not converge are left out.")},
    "memorize": {
        "margins": ("Margins of the blocks", "{title}: how many keep a margin of at most this.")},
    "audit": {
        "scores": ("How sure the labels are", "The probability that each is right, worst first.")},
    "conv": {
        "error": ("Error", "Share of images that are classified wrongly."),
        "loss": ("Loss", "Cross-entropy on the training images."),
        "learning_rate": ("Learning rate", "{title}"),
        "norms": ("Norms of the residual blocks", "{title}."),
        "classes": ("Error by class", "Share of the images of a class that are taken for another."),
        "confusion": ("What is taken for what", "Images by true and predicted class.")}}
