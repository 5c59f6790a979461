"""Wrong labels among the issues of cleanlab's Datalab: ``pip install "cleanlab[datalab]"``, written for 2.9.

    import zeroloss.datalab
    lab = Datalab(data, label_name="label")
    lab.find_issues(features=X, issue_types={"zeroloss": {}})

adds the columns `is_zeroloss_issue` and `zeroloss_score`, the probability that the label is right, for
classification and regression. `lab.get_info("zeroloss")` has what is predicted, how many labels are wrong, and
which classes are mistaken for others. Import it too before a Datalab that was loaded reports.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import AuditResult
from .api.audit import audit

try:
    import pandas
    from cleanlab.datalab.internal import data as _data  # fails without what Datalab needs
    from cleanlab.datalab.internal import issue_finder
    from cleanlab.datalab.internal.issue_manager import IssueManager
    from cleanlab.datalab.internal.issue_manager_factory import register
except ImportError as error:
    raise ImportError('zeroloss.datalab needs cleanlab\'s Datalab: pip install "cleanlab[datalab]"') from error

del _data

NAME = "zeroloss"


class LabelAudit(IssueManager):
    """Labels by :func:`zeroloss.audit` of the features that find_issues gets.

    What stands in ``issue_types={"zeroloss": {..}}`` are keywords of :func:`zeroloss.audit`, and `features`,
    n x d numbers or a data frame, where they are others than those of find_issues.
    """

    description = (
        "Labels that a kernel predictor of all other examples contradicts, where the estimated noise of the labels "
        "says that they are more likely wrong than right. The score is the probability that the label is right."
    )
    issue_name = NAME
    verbosity_levels = {0: [], 1: ["noise_rate"], 2: ["confusions"], 3: ["predictor"]}

    def __init__(self, datalab: Any, features: Any = None, **options: Any):
        super().__init__(datalab)

    def find_issues(self, features: Any = None, **options: Any) -> None:
        """Fills issues, summary and info. ValueError without features or labels, and what audit raises."""
        if features is None:
            raise ValueError("features are needed: find_issues(features=X, ..)")
        labels = self._labels()
        options["task"] = str(self.datalab.task)
        result = audit(features, labels, **options)
        found = np.zeros(result.n, dtype=bool)
        found[[issue.position for issue in result.issues]] = True
        self.issues = pandas.DataFrame({f"is_{NAME}_issue": found, self.issue_score_key: result.scores})
        self.summary = self.make_summary(score=1 - result.noise_rate.value)
        self.info = self.collect_info(result, labels)

    def collect_info(self, result: AuditResult, labels: Any) -> dict[str, Any]:
        """Of every example `given_label`, `predicted_label` and `confidence`, n each; of all the conclusion in words,
        `noise_rate` (value, low and high of its 95 % interval), `confusions` (a frame) and the predictor."""
        rate, given = result.noise_rate, labels.tolist()
        named = dict(zip(result.given, given))
        return {
            "conclusion": result.conclusion,
            "num_label_issues": len(result.issues),
            "noise_rate": {"value": rate.value, "low": rate.low, "high": rate.high},
            "confusions": result.to_frame("confusions"),
            "given_label": given,
            "predicted_label": [named[name] if result.classes else float(name) for name in result.predicted],
            "confidence": list(result.confidence),
            "predictor": {"activation": result.activation, "scale": result.scale, "ridge": result.ridge},
        }

    @classmethod
    def report(cls, issues: Any, summary: Any, info: dict[str, Any], *rest: Any, **more: Any) -> str:
        """As of every issue, with the labels beside the scores."""
        labels = {key: info[key] for key in ("given_label", "predicted_label")}
        said: str = super().report(issues.assign(**labels), summary, info, *rest, **more)
        return said

    def _labels(self) -> Any:
        """As they were given, n of them."""
        labels, names = np.asarray(self.datalab.labels), self.datalab.class_names
        if len(labels) == 0:
            raise ValueError("labels are needed: Datalab(data, label_name=..)")
        return np.asarray(names)[labels] if names else labels


for _task, _arguments in (("classification", "_CLASSIFICATION_ARGS_DICT"), ("regression", "_REGRESSION_ARGS_DICT")):
    register(LabelAudit, task=_task)
    # Which arguments of find_issues an issue gets; of others it has those in issue_types alone.
    getattr(issue_finder, _arguments, {}).setdefault(NAME, ["features"])
