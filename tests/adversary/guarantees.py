"""The formulas of theory.md section 4 at the exact numbers of the points: what each printed row must not undercut.

A width must be at least the formula's, a step and a rate at most, the number of steps at least. Balls stand for lambda
(its upper end is proved), ||X|| (its lower end is) and ||y||; a row is false where the balls prove that it undercuts.
n, ||X|| and ||y|| are those of all samples, lambda that of the distinct points."""

from dataclasses import dataclass

from flint import arb, fmpq


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


def du(x, lam, flow):
    """[DZPS] 3.1 and 4.1, relu, ntk."""
    share = x.share / 3
    factor = 512 if flow else 8192
    n = arb(x.n)
    width = factor * n**5 * (x.norm_y**2 + n / 2) / (arb.pi() * share**3 * lam**4)
    hoeffding = 8 * n**2 * (n * (n + 1) / share).log() / lam**2
    width = width.max(hoeffding)
    if flow:
        return {"width": width, "rate": lam / 2, "steps": -2 * x.accuracy.log() / lam, "fails": x.p}
    eta = lam / (4 * n**2)
    rate = 1 - (1 - eta * lam / 2).sqrt()
    return {"width": width, "step": eta, "rate": rate, "steps": steps_for(rate, x.accuracy), "fails": x.p}


def balanced_step(x, scale):
    return scale * x.n / (x.norm_y * x.norm_X) ** 2


def smooth_width(x, lam, nu):
    B, M = constants(x.phi)
    n = arb(x.n)
    D0 = x.norm_X * (-2 * x.share.log() / n).sqrt()
    a = 32 * nu * M * (1 + (1 + D0) * B) * n.sqrt() * x.norm_X / lam
    c = 20 * n.log() * B**2 * x.norm_X**2 / lam
    return (((a + (a * a + 4).sqrt()) / 2) ** 2).max(c + 1)


def smooth(x, lam):
    """[OS] 6.2 and 2.1."""
    B, _ = constants(x.phi)
    rate = lam / (32 * B**2 * x.norm_X**2)
    return {"width": smooth_width(x, lam, 1), "step": balanced_step(x, 1 / (2 * B**2)), "rate": rate,
            "steps": steps_for(rate, x.accuracy), "fails": x.networks * (1 / arb(x.n) + x.share)}  # fmt: skip


def rough(x, lam):
    """[OS] 6.3, 2.3 and 2.5."""
    n = arb(x.n)
    D0 = x.norm_X * (-x.share.log() / n).sqrt()
    rate = lam / (24 * x.norm_X**2)
    return {"width": 9216000000 * (1 + D0) ** 2 * n * x.norm_X**6 / lam**4, "step": balanced_step(x, arb(fmpq(1, 3))),
            "rate": rate, "steps": steps_for(rate, x.accuracy), "fails": x.networks * (2 / n + x.share)}  # fmt: skip


def stochastic(x, lam, width):
    """[OS] 2.6 at the width that is printed."""
    B, _ = constants(x.phi)
    n, m = arb(x.n), arb(width)
    b = 3 * B * x.norm_X / lam.sqrt()
    nu = (4 * (b.log() / (m * x.d)).exp() / x.share).max(arb(3))
    square = lam**2 * (m - 1) / m / (144 * n * nu * B**4 * x.norm_X**2)
    rate = 1 - (1 - square).sqrt()
    return {"width": smooth_width(x, lam, nu), "step": balanced_step(x, lam / (9 * nu * B**4)), "rate": rate,
            "steps": steps_for(rate, x.accuracy), "fails": x.networks * (1 / n + 2 * x.share)}  # fmt: skip


#: By a theorem's id: of the numbers, lambda and the width that is printed. os_3_2 has no numbers.
FORMULAS = {
    "dzps_3_1": lambda x, lam, _: du(x, lam, flow=True),
    "dzps_4_1": lambda x, lam, _: du(x, lam, flow=False),
    "os_6_2": lambda x, lam, _: smooth(x, lam),
    "os_2_1": lambda x, lam, _: smooth(x, lam),
    "os_6_3": lambda x, lam, _: rough(x, lam),
    "os_2_3": lambda x, lam, _: rough(x, lam),
    "os_2_5": lambda x, lam, _: rough(x, lam),
    "os_2_6": stochastic,
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
