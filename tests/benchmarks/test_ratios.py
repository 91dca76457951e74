from __future__ import annotations

import json

import pytest

from benchmarks.ratios import Result, Round, compare, summarize


def rounds(*pairs: tuple[float, float], foreign: float | None = 0.02) -> list[Round]:
    return [
        Round(
            {"llamactypes": {"x": ours}, "peer": {"x": theirs}},
            {"llamactypes": foreign, "peer": 0.01},
        )
        for ours, theirs in pairs
    ]


def make_result(*pairs: tuple[float, float], **options) -> Result:
    defaults = {
        "row": "a row",
        "unit": "s",
        "peer": "peer",
        "target": 1.0,
        "limit": None,
        "less_is_better": False,
    }
    return summarize(rounds(*pairs), "x", **{**defaults, **options})


@pytest.mark.parametrize(
    ("ours", "theirs", "less_is_better", "expected"),
    [
        (200.0, 100.0, False, 2.0),
        (0.5, 2.0, True, 4.0),
        (0.0, 2.0, True, None),
        (3.0, -1.0, False, None),
    ],
)
def test_a_ratio_above_one_means_that_ours_is_better(
    ours, theirs, less_is_better, expected
):
    assert compare(ours, theirs, less_is_better=less_is_better) == expected


def test_the_ratio_is_the_median_of_the_rounds_own_ratios():
    result = make_result((10, 10), (30, 10), (4, 8))
    assert result.ratios == (0.5, 1.0, 3.0)
    assert result.ratio == 1.0


def test_medians_are_of_each_server_alone():
    result = make_result((10, 10), (30, 11), (4, 12))
    assert (result.ours, result.theirs) == (10, 11)
    assert result.extras == {"llamactypes": {"x": 10}, "peer": {"x": 11}}


@pytest.mark.parametrize(
    ("target", "limit", "is_met"),
    [
        (2.0, None, True),
        (2.1, None, False),
        (None, 20.0, True),
        (None, 19.0, False),
        (2.0, 19.0, False),
        (None, None, None),
    ],
)
def test_a_row_is_met_when_target_and_limit_are_kept(target, limit, is_met):
    assert make_result((20, 10), target=target, limit=limit).is_met is is_met


def test_a_row_without_a_ratio_is_not_judged_by_its_target():
    result = make_result((0.0, 3.0), less_is_better=True)
    assert (result.ratio, result.is_met) == (None, None)


def test_a_row_without_a_peer_has_our_figure_and_no_ratio():
    alone = [Round({"llamactypes": {"x": 5.0}}, {"llamactypes": None})]
    result = summarize(
        alone,
        "x",
        row="r",
        unit="s",
        peer=None,
        target=None,
        limit=6.0,
        less_is_better=True,
    )
    assert (result.ours, result.theirs, result.ratio) == (5.0, None, None)
    assert result.is_met is True
    assert result.foreign is None


def test_others_load_is_the_greatest_of_any_measurement():
    both = rounds((1, 1), foreign=0.03) + rounds((1, 1), foreign=0.4)
    result = summarize(
        both,
        "x",
        row="r",
        unit="s",
        peer="peer",
        target=1.0,
        limit=None,
        less_is_better=False,
    )
    assert result.foreign == 0.4


def test_a_result_survives_the_json_report():
    result = make_result((10, 10), (30, 10), limit=50.0)
    assert Result.from_dict(json.loads(json.dumps(result.as_dict()))) == result
