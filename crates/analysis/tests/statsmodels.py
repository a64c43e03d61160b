"""Results of numpy, scipy and statsmodels for the numbers in a file."""

import json
import sys

import numpy as np
import statsmodels.api as sm
from scipy import stats
from statsmodels.distributions.empirical_distribution import ECDF
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep


def floats(values):
    return [float(value) for value in values]


def column(rows, name):
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=float)


def original(x, y, log=False):
    """The original's rules, with numpy's fit."""
    if len(x) == 0:
        return {"count": 0, "slope": None, "intercept": None, "r2": None, "avg_y": None}
    mean = float(np.mean(y))
    found = {"count": len(x), "slope": None, "intercept": None, "r2": None, "avg_y": mean}
    if len(x) < 2:
        return found
    if log:
        x, y = np.log(x[x > 0]), y[x > 0]
    found["count"] = len(x)
    if len(np.unique(x)) < 2:
        return found
    slope, intercept = np.polyfit(x, y, 1)
    left = np.sum((y - (slope * x + intercept)) ** 2)
    total = np.sum((y - y.mean()) ** 2)
    found.update(slope=float(slope), intercept=float(intercept), r2=float(1 - left / total) if total else 1.0)
    return found


def five(rows):
    inputs, outputs = column(rows, "input"), column(rows, "output")
    total = np.where(
        np.isnan(inputs) & np.isnan(outputs), np.nan, np.nan_to_num(inputs) + np.nan_to_num(outputs)
    )
    watts = column(rows, "watts")
    watts[np.abs(watts) < 1e-12] = np.nan

    def fit(x, y, log=False):
        both = ~np.isnan(x) & ~np.isnan(y)
        return original(x[both], y[both], log)

    return {
        "input_tokens_vs_ttft": fit(inputs, column(rows, "ttft")),
        "total_tokens_vs_energy": fit(total, column(rows, "joules")),
        "total_tokens_vs_latency": fit(total, column(rows, "total")),
        "total_tokens_vs_power": fit(total, watts),
        "total_tokens_vs_power_log": fit(total, watts, log=True),
    }


def line(points, places):
    x, y = np.array(points).T
    found = sm.OLS(y, sm.add_constant(x)).fit()
    bands = found.get_prediction(sm.add_constant(np.array(places), has_constant="add")).summary_frame(0.05)
    robust = stats.theilslopes(y, x, 0.95)
    return {
        "values": floats(found.params),
        "errors": floats(found.bse),
        "intervals": [floats(ends) for ends in found.conf_int(0.05)],
        "sigma": float(np.sqrt(found.scale)),
        "r2": float(found.rsquared),
        "bands": [floats(row) for row in bands[["mean", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]].values],
        "robust": floats([robust.slope, robust.low_slope, robust.high_slope, robust.intercept]),
    }


class Given(np.random.Generator):
    """Returns predefined draws."""

    def __init__(self, places):
        super().__init__(np.random.PCG64(0))
        self.places = np.array(places)

    def integers(self, low, high=None, size=None, **_):
        assert tuple(size) == self.places.shape, (size, self.places.shape)
        return self.places


RATIOS = {
    "accuracy": lambda j, s, t, c, axis: c.mean(axis),
    "ipw": lambda j, s, t, c, axis: c.mean(axis) * s.sum(axis) / j.sum(axis),
    "ipj": lambda j, s, t, c, axis: c.mean(axis) / j.mean(axis),
    "joules_per_correct": lambda j, s, t, c, axis: j.sum(axis) / c.sum(axis),
    "joules_per_token": lambda j, s, t, c, axis: j.sum(axis) / t.sum(axis),
}


def bootstrap(given):
    data = [np.array(given[name], dtype=float) for name in ["joules", "seconds", "tokens", "correct"]]
    found = {}
    for name, ratio in RATIOS.items():
        result = stats.bootstrap(
            data,
            lambda j, s, t, c, axis=-1, ratio=ratio: ratio(j, s, t, c, axis),
            paired=True,
            vectorized=True,
            method="BCa",
            n_resamples=len(given["places"]),
            rng=Given(given["places"]),
        )
        interval = result.confidence_interval
        found[name] = floats([ratio(*data, -1), interval.low, interval.high])
    return found


def delta(given):
    """Each metric as a function of its sums, its gradient taken numerically by complex steps."""
    data = np.array([given[name] for name in ["joules", "seconds", "tokens", "correct"]], dtype=float)
    n = data.shape[1]
    means = data.mean(axis=1)
    functions = {
        "ipw": lambda m: m[3] * m[1] / m[0],
        "ipj": lambda m: m[3] / m[0],
        "joules_per_token": lambda m: m[0] / m[2],
    }
    found = {}
    for name, function in functions.items():
        gradient = np.empty(4)
        for place in range(4):
            step = means.astype(complex)
            step[place] += 1e-30j
            gradient[place] = np.log(function(step)).imag / 1e-30
        error = np.sqrt(gradient @ np.cov(data) @ gradient / n)
        value = function(means)
        z = stats.norm.ppf(0.975)
        found[name] = floats([value, value * np.exp(-z * error), value * np.exp(z * error)])
    return found


def density(values):
    x = np.array(values)
    width = 0.9 * x.std(ddof=1) * len(x) ** -0.2
    places = np.linspace(x.min(), x.max(), 512)
    found = stats.gaussian_kde(x, bw_method=width / x.std(ddof=1))(places)
    return {"x": floats(places), "y": floats(found), "width": float(width), "mean": float(x.mean()), "median": float(np.median(x))}


def mean_difference(a, b, paired):
    a, b = np.array(a), np.array(b)
    found = stats.ttest_rel(b, a) if paired else stats.ttest_ind(b, a, equal_var=False)
    interval = found.confidence_interval(0.95)
    # By the logarithm: the same tests on the jackknife's pseudo-values.
    left, right = (pseudo_logarithms(x) for x in (a, b))
    found = stats.ttest_rel(right, left) if paired else stats.ttest_ind(right, left, equal_var=False)
    half = found.confidence_interval(0.95).high - (right.mean() - left.mean())
    ratio = np.log(b.mean() / a.mean())
    return {
        "absolute": floats([b.mean() - a.mean(), interval.low, interval.high]),
        "relative": floats(np.expm1([ratio, ratio - half, ratio + half])),
    }


def pseudo_logarithms(x):
    n = len(x)
    without = np.array([np.delete(x, place).mean() for place in range(n)])
    return n * np.log(x.mean()) - (n - 1) * np.log(without)


def share_difference(table):
    both, only_a, only_b, neither = table
    n = sum(table)
    p_value = mcnemar([[both, only_a], [only_b, neither]], exact=True).pvalue
    a, b = both + only_a, both + only_b
    wilson = [stats.binomtest(hits, n).proportion_ci(0.95, method="wilson") for hits in (a, b)]
    # Newcombe 1998, method 10, as written in the paper.
    product = both * neither - only_a * only_b
    margins = a * (n - a) * b * (n - b)
    if margins == 0:
        phi = 0.0
    elif product > n / 2:
        phi = (product - n / 2) / np.sqrt(margins)
    elif product >= 0:
        phi = 0.0
    else:
        phi = product / np.sqrt(margins)
    pa, pb = a / n, b / n
    da, db = pa - wilson[0].low, wilson[1].high - pb
    ea, eb = wilson[0].high - pa, pb - wilson[1].low
    low = pb - pa - np.sqrt(eb**2 - 2 * phi * eb * ea + ea**2)
    high = pb - pa + np.sqrt(db**2 - 2 * phi * db * da + da**2)
    return floats([p_value, pb - pa, low, high])


def unpaired_shares(hits_a, n_a, hits_b, n_b):
    low, high = confint_proportions_2indep(hits_b, n_b, hits_a, n_a, method="newcomb", compare="diff")
    return floats([hits_b / n_b - hits_a / n_a, low, high])


with open(sys.argv[1], encoding="utf-8") as file:
    given = json.load(file)
print(
    json.dumps(
        {
            "five": [five(rows) for rows in given["five"]],
            "lines": [line(points, given["places"]) for points in given["lines"]],
            "normal": [[float(stats.norm.cdf(x)), float(stats.norm.ppf(stats.norm.cdf(x)))] for x in given["normal"]],
            "student": [float(stats.t.ppf(0.975, n)) for n in given["student"]],
            "bootstrap": [bootstrap(one) for one in given["bootstrap"]],
            "delta": delta(given["delta"]),
            "density": [density(values) for values in given["density"]],
            "ecdf": [floats(ECDF(values)(np.array(at))) for values, at in given["ecdf"]],
            "means": [mean_difference(a, b, paired) for a, b, paired in given["means"]],
            "tables": [share_difference(table) for table in given["tables"]],
            "shares": [unpaired_shares(*one) for one in given["shares"]],
        }
    )
)
