"""The formulas of theory.md section 4 at the exact numbers of the points: what each printed row must not undercut.

A width must be at least the formula's, a step and a rate at most, the number of steps at least. Balls stand for lambda
(its upper end is proved), ||X|| (its lower end is) and ||y||; a row is false where the balls prove that it undercuts.
n, ||X|| and ||y|| are those of all samples, lambda that of the distinct points."""

from dataclasses import dataclass

from flint import arb, fmpq

from dual import of_values
from exact import precision


def constants(phi):
    """B = sup |phi'| (from below, where it is no closed form) and M = sup |phi''|."""
    pi = arb.pi()
    root2 = arb(2).sqrt()
    if phi == "gelu":
        B = (1 + arb(1).erf()) / 2 + root2 * (-arb(1)).exp() / (2 * pi).sqrt()
        return B, (2 / pi).sqrt()
    if phi == "silu":
        z = arb(fmpq(239935728, 10**8))
        s = 1 / (1 + (-z).exp())
        return s * (1 + z * (1 - s)), arb(fmpq(1, 2))
    return {
        "softplus": (arb(1), arb(fmpq(1, 4))),
        "tanh": (arb(1), 4 / (3 * arb(3).sqrt())),
        "sigmoid": (arb(fmpq(1, 4)), 1 / (6 * arb(3).sqrt())),
        "erf": (2 / pi.sqrt(), 2 * (2 / (pi * arb(1).exp())).sqrt()),
        "relu": (arb(1), None),
        "quadratic": (None, arb(1)),
        "leaky_relu": (arb(1), None),
        "sin": (arb(1), arb(1)),
    }[phi]


@dataclass
class Numbers:
    phi: str
    n: int
    d: int
    norm_X: arb  # ||X||, its lower end proved
    norm_y: arb
    networks: int
    p: arb
    accuracy: arb

    @property
    def share(self):
        return self.p / self.networks


def steps_for(rate, accuracy):
    return accuracy.log() / (1 - rate).log()


def chernoff(x, lam, p):
    """Units of Lemma 1, of which each adds B^2 ||X||^2 at most."""
    B, _ = constants(x.phi)
    return arb("6.52") * (x.n / p).log() * (B * x.norm_X) ** 2 / lam


def du(x, lam, flow):
    """[DZPS] 3.1 and 4.1, relu, ntk."""
    n = arb(x.n)
    mean = x.norm_y + (n * (12 / x.share).log() / arb.pi()).sqrt()
    rho = (mean**2 + arb("0.341") * n).sqrt() + x.norm_X * (2 * (6 / x.share).log()).sqrt()
    width = (488 if flow else 2510) * x.norm_X**6 * rho**2 / lam**4
    if flow:
        return {"width": width, "rate": lam / 2, "steps": -2 * x.accuracy.log() / lam, "fails": x.p}
    rate = lam / (14 * x.norm_X**2)
    return {"width": width, "step": 1 / (3 * x.norm_X**2), "rate": rate, "steps": steps_for(rate, x.accuracy),
            "fails": x.p}  # fmt: skip


def balanced_step(x, scale):
    return scale * x.n / (x.norm_y * x.norm_X) ** 2


def deviation(x, p):
    return x.norm_X * (-2 * p.log() / x.n).sqrt()


def smooth_width(x, lam, factor, p):
    B, M = constants(x.phi)
    n = arb(x.n)
    a = factor * M * ((1 + B**2).sqrt() + deviation(x, p) * B) * n.sqrt() * x.norm_X / lam
    return (((a + (a * a + 4).sqrt()) / 2) ** 2).max(chernoff(x, lam, p) + 1)


def smooth(x, lam):
    """[OS] 6.2 and 2.1."""
    B, _ = constants(x.phi)
    rate = lam / (28 * B**2 * x.norm_X**2)
    return {"width": smooth_width(x, lam, arb("7.45"), x.share / 2), "step": balanced_step(x, 1 / (2 * B**2)),
            "rate": rate, "steps": steps_for(rate, x.accuracy), "fails": x.p}  # fmt: skip


def rough(x, lam):
    """[OS] 6.3, 2.3 and 2.5."""
    start = arb("1.16") + deviation(x, x.share / 3)
    rate = lam / (14 * x.norm_X**2)
    return {"width": 2510 * start**2 * x.n * x.norm_X**6 / lam**4 + 2, "step": balanced_step(x, arb(fmpq(1, 3))),
            "rate": rate, "steps": steps_for(rate, x.accuracy), "fails": x.p}  # fmt: skip


def stochastic(x, lam, width):
    """[OS] 2.6 at the width that is printed."""
    B, _ = constants(x.phi)
    n, m = arb(x.n), arb(width)
    b = 3 * B * x.norm_X / lam.sqrt()
    nu = (4 * (b.log() / (m * x.d)).exp() / (arb("0.9") * x.share)).max(arb(3))
    square = lam**2 * (m - 1) / m / (144 * n * nu * B**4 * x.norm_X**2)
    rate = 1 - (1 - square).sqrt()
    return {"width": smooth_width(x, lam, 32 * nu, x.share / 20), "step": balanced_step(x, lam / (9 * nu * B**4)),
            "rate": rate, "steps": steps_for(rate, x.accuracy), "fails": x.p}  # fmt: skip


def output_layer(x, lam):
    """[OS] 3.2: less than the best of all t. In a piece of t, T is least at its start and tau at its end."""
    B, _ = constants(x.phi)
    with precision(64):
        start, beta = (x.n * of_values(x.phi, arb(1), arb(0))).sqrt(), B * x.norm_X
        least = None
        for k in range(40 * 64):
            T, t = start + beta * k / 64, arb(k + 1) / 64
            tau = ((start + beta * t) ** 2 + 2 * beta**2 + 2 * beta * start / t) * (-t * t / 2).exp()
            if not tau > lam:
                ratio = T**2 / (lam - tau) if tau < lam else arb(0)
                least = ratio if least is None else least.min(ratio)
    return {"width": arb("6.52") * (x.n / x.share).log() * least, "fails": x.p}


def relu_rank(x, theta):
    """Theorem A."""
    least = -x.share.log()
    return {"width": 4 * arb.pi() / theta * (x.n + (2 * x.n * least).sqrt() + least), "fails": x.p}


#: By a theorem's id: of the numbers, lambda (or lambda~, theta) and the width that is printed.
FORMULAS = {
    "dzps_3_1": lambda x, lam, _: du(x, lam, flow=True),
    "dzps_4_1": lambda x, lam, _: du(x, lam, flow=False),
    "os_6_2": lambda x, lam, _: smooth(x, lam),
    "os_2_1": lambda x, lam, _: smooth(x, lam),
    "os_6_3": lambda x, lam, _: rough(x, lam),
    "os_2_3": lambda x, lam, _: rough(x, lam),
    "os_2_5": lambda x, lam, _: rough(x, lam),
    "os_2_6": stochastic,
    "os_3_2": lambda x, lam, _: output_layer(x, lam),
    "zl_a": lambda x, theta, _: relu_rank(x, theta),
    "zl_b": lambda x, lam, _: {"width": chernoff(x, lam, x.share), "fails": x.p},
    "zl_c": lambda x, lam, _: {"width": 2 * chernoff(x, lam, x.share), "fails": x.p},
}


def undercut(row, wanted, labelled):
    """Names of the row's entries that are proved to be on the wrong side of the formula."""
    wrong = []
    sides = {"width": 1, "step": -1, "rate": -1, "steps": 1, "fails": 1}
    for name, side in sides.items():
        printed = getattr(row, "failure_probability" if name == "fails" else name)
        if printed is None or printed == float("inf") or (name == "step" and not labelled) or name not in wanted:
            continue
        if (wanted[name] > printed) if side > 0 else (wanted[name] < printed):
            wrong.append(f"{name} {printed!r}, exact {wanted[name].str(8)}")
    return wrong
