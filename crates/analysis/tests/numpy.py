"""Results of numpy and scipy for the numbers in a file."""

import json
import sys

import numpy as np
from scipy import stats


def number(value):
    return float(value) if np.isfinite(value) else None


def summary(values):
    x = np.array(values)
    found = {"mean": float(x.mean()), "min": float(x.min()), "max": float(x.max())}
    if len(x) > 1:
        error = stats.sem(x)
        found["deviation"] = float(x.std(ddof=1))
        found["interval"] = [float(end) for end in stats.t.interval(0.95, len(x) - 1, x.mean(), error)]
    found["percentiles"] = []
    for fraction in [0.5, 0.9, 0.95, 0.99]:
        interval = stats.quantile_test(x, q=0, p=fraction).confidence_interval(0.95)
        value = np.percentile(x, fraction * 100)
        found["percentiles"].append([number(value), number(interval.low), number(interval.high)])
    return found


def ranks(count, fraction):
    hits = stats.binom(count, fraction)
    return [int(hits.ppf(0.025)) - 1, int(hits.isf(0.025))]


def share(hits, count):
    interval = stats.binomtest(hits, count).proportion_ci(0.95, method="wilson")
    return [hits / count, float(interval.low), float(interval.high)]


def fit(rows):
    rows = np.array(rows)
    root = np.sqrt(rows[:, 4])
    x, y = rows[:, :3] * root[:, None], rows[:, 3] * root
    costs, squares, _, _ = np.linalg.lstsq(x, y, rcond=None)
    freedom = len(y) - 3
    variance = squares[0] / freedom
    errors = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * variance)
    half = stats.t.ppf(0.975, freedom) * errors
    scaled = x / np.linalg.norm(x, axis=0)
    return {
        "costs": [[float(c), float(c - h), float(c + h)] for c, h in zip(costs, half)],
        "residual": float(np.sqrt(variance)),
        "condition": float(np.linalg.cond(scaled)),
    }


def slope(points):
    x, y = np.array(points).T
    found = stats.theilslopes(y, x, 0.95)
    return [float(found[0]), float(found[2]), float(found[3])]


with open(sys.argv[1], encoding="utf-8") as file:
    given = json.load(file)
print(
    json.dumps(
        {
            "samples": [summary(values) for values in given["samples"]],
            "ranks": [ranks(n, p) for n in given["counts"] for p in given["fractions"]],
            "student": [float(stats.t.ppf(0.975, n)) for n in given["freedoms"]],
            "shares": [share(*pair) for pair in given["shares"]],
            "fits": [fit(rows) for rows in given["fits"]],
            "slopes": [slope(points) for points in given["points"]],
        }
    )
)
