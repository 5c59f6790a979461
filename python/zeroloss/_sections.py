"""What a page says of each kind of run, before and after its figures."""
from __future__ import annotations

import math

from ._charts import class_names
from ._page import Html, Number, details, facts, number, percent, picture, table, tag, text

MOST_ROWS = 24  # of lists of samples
MOST_CELLS = 400  # of a sweep's table


def conclusion(run) -> tuple[str, list[str]]:
    """The answer: its first line, and the others."""
    words = str(run.result.get("conclusion") or "").replace(">=", "≥").replace("<=", "≤")
    lines = [line for line in words.split("\n") if line.strip()]
    lines = lines or [f"A run of zeroloss {run.kind}"]
    return lines[0][0].upper() + lines[0][1:].removesuffix(":"), lines[1:]


def of(run) -> tuple[list, list]:
    """Markup to stand before and after the figures of a run; nothing but its values for a kind that is not known."""
    known = {"certify": certify, "fit": fit, "sweep": sweep, "linear": linear, "memorize": memorize, "conv": conv}
    return known[run.kind](run, run.result) if run.kind in known else ([], [])


def certify(run, r):
    pictures = run.json("pictures.json")
    classes = r.get("classes") or []
    verified = r.get("lambda_min_verified")
    before = facts([
        ("points", r.get("n")), ("features", r.get("d")),
        ("classes", ", ".join(map(str, classes)) if len(classes) <= 12 else len(classes)),
        ("distinct points", r.get("n_distinct") if r.get("n_distinct") != r.get("n") else None),
        ("lambda_min, verified", Html(f"≥ {number(verified, 6, 'down')}") if verified else None),
        ("lambda_min, computed", None if verified else r.get("lambda_min")), ("lambda_max", r.get("lambda_max")),
        ("smallest distance of two points", r.get("separation")),
        ("labels wrong by leave-one-out", percent(r["leave_one_out_error"])
         if r.get("task") == "classification" and r.get("leave_one_out_error") is not None else None),
        ("complexity of the labels", _mean(r.get("complexity"))),
        ("the same, labels shuffled", _mean(r.get("complexity_shuffled")))])
    return [before], [_guarantees(r.get("guarantees") or []), _forecast(r.get("forecast")), _conflicts(r, pictures),
                      _suspects(r, pictures), _bottleneck(r), _pairs(r, pictures)]


def fit(run, r):
    c, options = r.get("certificate") or {}, r.get("options") or {}
    holds = c.get("holds")
    before = [facts([
        ("points", r.get("n")), ("features", r.get("d")),
        ("network", f"{options.get('activation')}, {options.get('width'):,} hidden units, {options.get('scaling')}"
         if options.get("width") else None),
        ("optimizer", options.get("optimizer")), ("step", r.get("step")), ("steps", r.get("steps")),
        ("relative misfit", number(r.get("relative_misfit"), 3, "up")),
        ("an exact solution lies within", number(c["radius"], 3, "up") if holds and c.get("radius") is not None else None),
        ("margin of the proof (above 1 it holds)", number(c["margin"], 3, "down") if c.get("margin") else None),
        ("lambda_min of the Gram matrix", Html(f"≥ {number(c['lambda_min'], 4, 'down')}") if c.get("lambda_min") else None),
        ("certified from step", r.get("certified_at")), ("farthest neuron moved", r.get("max_distance")),
        ("signs flipped", percent(r.get("flipped_fraction")))])]
    if c.get("reason"):
        before.append(tag("p", "What is not proved: ", c["reason"], class_="note"))
    outputs = r.get("per_class") or []
    after = []
    if len(outputs) > 1:
        after = [tag("h2", "By class"), table(
            ["class", "status", "steps", "misfit", "proved", "within", "margin", "seconds"],
            [[text(o.get("label")), _words(o.get("status")), o.get("steps"), number(o.get("relative_misfit"), 3, "up"),
              text((o.get("certificate") or {}).get("kind")), number((o.get("certificate") or {}).get("radius"), 2, "up"),
              number((o.get("certificate") or {}).get("margin") or None, 2, "down"), number(o.get("seconds"), 3)] for o in outputs])]
    theorem = (outputs[0].get("theorem") or {}) if outputs else {}
    if theorem.get("theorem"):
        verdict = ("holds for this run, but for a probability of "
                   f"{_probability(theorem.get('failure_probability'))}.") if theorem.get("holds") \
            else text(f"does not hold for this run: {theorem.get('reason')}.")
        after += [tag("h2", "What theory promises"), tag("p", f"{theorem['theorem']} ", Html(verdict)), facts([
            ("sufficient width", number(theorem["width"], 3, "up") if theorem.get("width") else None),
            ("largest step", number(theorem["step"], 3, "down") if theorem.get("step") else None)])]
    return before, after


def sweep(run, r):
    o = r.get("options") or {}
    cells = r.get("cells") or []
    of_all = {key: ", ".join(dict.fromkeys(str(cell.get(key)) for cell in cells)) for key in ("activation", "tolerance")}
    before = facts([("trials", r.get("trials")), ("cells", len(cells)), ("activation", of_all["activation"]), ("optimizer", o.get("optimizer")),
                    ("most steps of a trial", o.get("max_steps")),
                    ("success: misfit at most", of_all["tolerance"]),
                    ("precision", o.get("precision"))])
    after = []
    for panel in r.get("panels") or []:
        rows = [[t.get("x"), t.get("y"), _interval(t.get("low"), t.get("high"))]
                for t in panel.get("transition") or [] if t.get("y") is not None]
        if rows:
            title = f": {panel['title']}" if panel.get("title") else ""
            after += [tag("h2", f"Where half of the trials succeed{title}"),
                      table([panel.get("x"), f"{panel.get('y')} at 50 %", "95 % interval"],
                            [[_axis(x), y, interval] for x, y, interval in rows])]
    varying = [key for key in ("n", "d", "width", "activation", "scaling", "step", "noise", "tolerance")
               if len({str(cell.get(key)) for cell in cells}) > 1]
    shown = table([*varying, "trials", "succeed", "95 % interval", "diverged", "mean steps", "median misfit"],
                  [[*(_axis(c.get(key)) for key in varying), c.get("trials"), c.get("successes"),
                    _interval(c.get("low"), c.get("high"), 2), c.get("diverged"), c.get("mean_steps"),
                    number(c.get("median_misfit"), 2)] for c in cells[:MOST_CELLS]])
    return [before], [after, details(f"All {len(cells):,} cells" if len(cells) <= MOST_CELLS else
                                     f"The first {MOST_CELLS} of {len(cells):,} cells; metrics.csv has all", shown)]


def linear(run, r):
    before = facts([
        ("dimension", r.get("d")), ("points", r.get("n")), ("largest singular value of R", r.get("s_max")),
        ("smallest singular value of R", r.get("s_min")),
        ("R as given", {"none": None, "flipped": "det R < 0: labels flipped", "augmented": "det R < 0: a coordinate added"}
         .get(r.get("treatment"), r.get("treatment"))),
        ("layers needed for small norms", r.get("layers_needed")), ("relative misfit of descent", r.get("relative_misfit")),
        ("steps of descent", r.get("steps")), ("gradient norm over its bound, at least", r.get("least_ratio"))])
    made = r.get("factorizations") or []
    factorizations = table(["layers", "construction", "max ||A_i||", "bound", "reconstruction error"],
                           [[f.get("layers"), text(f.get("name")), f.get("max_norm"), f.get("bound"),
                             number(f.get("reconstruction_error"), 2, "up")] for f in made])
    trained = r.get("training") or []
    training = table(["layers", "status", "steps", "relative misfit", "max ||A_i||", "gradient norm over its bound"],
                     [[t.get("layers"), _words(t.get("status")), t.get("steps"), number(t.get("relative_misfit"), 3, "up"),
                       t.get("max_norm"), t.get("least_ratio")] for t in trained])
    few = len({f.get("layers") for f in made}) <= 1
    return [before], [
        [tag("h2", "Exact constructions"), factorizations if few else details(f"At {len(trained) or len(made)} depths", factorizations)]
        if made else None,
        [tag("h2", "Gradient descent from A = 0"), training if few else details(f"At {len(trained)} depths", training)]
        if trained else None]


def memorize(run, r):
    o = r.get("options") or {}
    before = facts([
        ("points", r.get("n")), ("features", r.get("d")), ("right", Number(f"{number(r.get('correct'))} of {number(r.get('n'))}")),
        ("parameters", r.get("parameters")),
        ("times the theorem's order n ln n + r²", r["parameters"] / r["theorem_parameters"]
         if r.get("parameters") and r.get("theorem_parameters") else None),
        ("residual blocks", r.get("blocks")), ("width of a block", r.get("hidden")), ("precision", o.get("precision")),
        ("smallest margin", number(r.get("min_margin"), 3, "down")), ("largest error of an output", number(r.get("max_error"), 3, "up")),
        ("built in seconds", number(r.get("build_s"), 2)), ("verified in seconds", number(r.get("verify_s"), 2))])
    lists = []
    for heading, key in (("The two points that are hardest to tell apart", "closest"), ("Points that are wrong", "wrong")):
        if r.get(key):
            lists += [tag("h2", heading), table(["sample", "label"], [[_record(s.get("record")), text(s.get("label"))]
                                                                      for s in r[key][:MOST_ROWS]])]
    tried = table(["width", "first layer", "smallest margin", "right"],
                  [[a.get("hidden"), text(a.get("first_layer")), a.get("min_margin"), a.get("correct")] for a in r.get("tried") or []])
    return [before], [lists, [tag("h2", "Widths tried"), tried] if len(r.get("tried") or []) > 1 else None]


def conv(run, r):
    evaluation, metrics = run.json("evaluation.json"), run.table("metrics.csv")
    last = metrics[-1] if metrics else {}
    of_what = "test" if r.get("n_test") else "training"
    before = facts([
        (f"error on {of_what} images", percent(evaluation["top1_error"]) if "top1_error" in evaluation else None),
        ("not among the first five", percent(evaluation["top5_error"])
         if "top5_error" in evaluation and len(evaluation.get("class_names") or []) > 5 else None),
        ("error while training (augmented)", percent(last["train_error"]) if last.get("train_error") is not None else None),
        ("loss while training", last.get("train_loss")), ("training images", r.get("n")), ("test images", r.get("n_test") or None),
        ("weights", r.get("weights")), ("epochs", last.get("epoch")), ("steps", r.get("steps") or last.get("step")),
        ("images a second", last.get("images_per_s")), ("device", r.get("device")), ("precision", r.get("precision"))])
    errors, counts = evaluation.get("per_class_error") or [], evaluation.get("confusion") or []
    names = class_names(evaluation, len(errors or counts))
    after = []
    if errors:
        taken = [max(((n, other) for k, (n, other) in enumerate(zip(row, names)) if k != i), default=(0, ""))
                 for i, row in enumerate(counts)] if len(counts) == len(errors) else [(0, "")] * len(errors)
        after = [tag("h2", "By class"), table(
            ["class", "error", "most often taken for", "images"],
            [[text(name), percent(error), text(other if n else ""), n or None] for name, error, (n, other) in zip(names, errors, taken)])]
    return [before], after


# ---- lists of certify ----

def _guarantees(guarantees):
    rows, excluded = [], {}
    for g in guarantees:
        if g.get("width") is None and not g.get("holds"):
            excluded.setdefault(str(g.get("reason")), []).append(str(g.get("theorem")))
            continue
        rate = g.get("rate")
        shrinks = None if rate is None else Number(f"exp(−{number(rate, 3, 'down')} t)") if g.get("flow") \
            else Number(f"1 − {number(rate, 3, 'down')}")
        why = ("" if g.get("holds") else "no: ") + (g.get("reason") or "")
        source = f"{g.get('lambda_from')}{'' if g.get('verified') else ', computed, not verified'}"
        rows.append([tag("div", g.get("theorem"), tag("small", source), class_="name"), number(g.get("width"), 3, "up"),
                     number(g.get("step"), 3, "down"), shrinks, number(g.get("steps"), 3, "up"),
                     _probability(g.get("failure_probability")), text(why)])
    if not rows and not excluded:
        return None
    known = table(["theorem", "width", "step", "misfit shrinks by", "steps", "fails with", "note"], rows) if rows else None
    others = [tag("li", "; ".join(theorems), ": ", reason) for reason, theorems in excluded.items()]
    return [tag("h2", "Guarantees"), known, details("Theorems that do not apply", tag("ul", others)) if others else None]


def _forecast(forecast):
    if not forecast:
        return None
    steps, accuracy = forecast.get("steps_to_accuracy"), number(forecast.get("accuracy"))
    reached = f"after {number(math.ceil(steps))} steps" if isinstance(steps, (int, float)) and math.isfinite(steps) \
        else "never or not within 10<sup>15</sup> steps"
    return [tag("h2", "Forecast of training"), tag("p", Html(
        f"Gradient descent on an infinitely wide network reaches a misfit of {accuracy} {reached} of "
        f"{number(forecast.get('step'))}; steps below {number(forecast.get('stable_step'), 4, 'down')} are stable."))]


def _suspects(r, pictures):
    suspects = r.get("suspects") or []
    if not suspects:
        return None
    rows = [[_image(pictures, s), _record(s.get("sample")), text(s.get("label")), text(s.get("predicted")), number(s.get("score"), 3)]
            for s in suspects[:MOST_ROWS]]
    more = len(suspects) - len(rows)
    return [tag("h2", "Labels that look wrong"),
            tag("p", "Closed-form leave-one-out: what the kernel would say of each point if it had not seen its label.", class_="note"),
            table(["image", "sample", "label", "predicted", "score"], rows, "Suspected labels, worst first"),
            tag("p", f"and {more:,} more in result.json", class_="note") if more > 0 else None]


def _conflicts(r, pictures):
    groups = r.get("conflicts") or []
    if not groups:
        return None
    items = [tag("li", tag("div", [_image(pictures, s) for s in group[:4]]), ", ".join(map(_sample, group[:8])),
                 f" and {len(group) - 8} more" if len(group) > 8 else "") for group in groups[:MOST_ROWS]]
    return [tag("h2", "Equal points with different labels"), tag("ul", items, class_="pairs"),
            tag("p", f"and {len(groups) - MOST_ROWS:,} more groups in result.json", class_="note") if len(groups) > MOST_ROWS else None]


def _bottleneck(r):
    samples = r.get("bottleneck") or []
    return [tag("h2", "What holds lambda_min down"), table(
        ["sample", "label", "weight"],
        [[_record(s.get("sample")), text(s.get("label")), percent(s.get("weight"))] for s in samples],
        "Squared entries of the eigenvector of lambda_min")] if samples else None


def _pairs(r, pictures):
    pairs = (r.get("closest") or [])[:12]
    if not pairs:
        return None
    ends = [[{"sample": sample, "label": label} for sample, label in zip(p.get("samples") or [], p.get("labels") or [])]
            for p in pairs]
    if not pictures:
        shown = table(["sample", "label", "sample", "label", "distance"], [
            [_record(a["sample"]), text(a["label"]), _record(b["sample"]), text(b["label"]), p.get("distance")]
            for (a, b), p in zip(ends, pairs)], "Distances of the normalised points")
    else:
        shown = tag("ul", [tag("li", tag("div", [_image(pictures, s) for s in two]), " and ".join(map(_sample, two)), tag("br"),
                               "distance ", number(p.get("distance")), ", antipodal" if p.get("antipodal") else "")
                           for two, p in zip(ends, pairs)], class_="pairs")
    return [tag("h2", "Closest pairs"), shown]


def _image(pictures, sample):
    return picture(pictures, sample.get("sample"), f"sample {_sample(sample)}")


def _sample(sample):
    label = sample.get("label")
    return f"{sample.get('sample')}" + (f" ({label})" if label is not None else "")


# ---- small things ----

def _mean(values):
    return sum(values) / len(values) if values else None


def _words(status):
    return text(str(status or "").replace("_", " "))


def _probability(p):
    """Rounded up, but for the rounding errors of its sum: 0.01, not 0.011, for 0.01 + 1e-16."""
    return number(None if p is None else round(p, 12), 2, "up")


def _interval(low, high, digits=4):
    if low is None or high is None:
        return Number("–" if low is high else f"from {number(low, digits)}" if high is None else f"up to {number(high, digits)}")
    return Number(f"{number(low, digits)} to {number(high, digits)}")


def _record(sample):
    """The number of a sample: a name, so without commas."""
    return Number(text(sample))


def _axis(value):
    """A value of an axis: a number where it is one."""
    try:
        return Number(number(float(value)))
    except (TypeError, ValueError):
        return text(value)


