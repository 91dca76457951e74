from __future__ import annotations

import pytest
from jinja2.exceptions import SecurityError

from llamactypes.chat.templates.budget import RenderBudget
from llamactypes.chat.templates.environment import make_environment


def test_budget_ends_after_its_steps():
    budget = RenderBudget(max_steps=3)
    for _ in range(3):
        budget.step()
    with pytest.raises(SecurityError, match="more than 3 steps"):
        budget.step()


def test_budget_ends_after_its_time():
    with pytest.raises(SecurityError, match="longer than -1 seconds"):
        run_loops(RenderBudget(max_seconds=-1.0))


def test_budget_ends_loops_that_write_nothing():
    with pytest.raises(SecurityError, match="more than 1000 steps"):
        run_loops(RenderBudget(max_steps=1000))


def run_loops(budget: RenderBudget) -> None:
    loops = "{% for a in range(99) %}" * 3 + "{% endfor %}" * 3
    with budget.active():
        make_environment().from_string(loops).render()


def test_budget_counts_what_is_written():
    budget = RenderBudget(max_chars=5)
    budget.write("abcde")
    with pytest.raises(SecurityError, match="6 characters; the limit is 5"):
        budget.write("f")


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        ("+", "aaa", "bbb"),
        ("*", "ab", 3),
        ("*", 2**20, [1, 2]),
        pytest.param("+", [1] * 2**19, [1] * 2**20, id="lists"),
        pytest.param("*", 2**40000, 2**40000, id="numbers"),
        ("**", 10, 10**6),
        ("%", "%s%s", "abc"),
        ("%", "%1000000d", 1),
    ],
)
def test_budget_refuses_an_operator_with_a_large_result(operator, left, right):
    with pytest.raises(SecurityError):
        RenderBudget(max_chars=5).check_operator(operator, left, right)


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        ("+", 1, 2),
        ("*", "ab", 2),
        ("*", 2.5, 4),
        ("*", 2.5, 1.5),
        ("**", 2, -1),
        ("%", 7, 3),
    ],
)
def test_budget_allows_an_operator_with_a_small_result(operator, left, right):
    RenderBudget(max_chars=5).check_operator(operator, left, right)


def test_budget_is_current_only_inside_its_block():
    budget = RenderBudget()
    with budget.active():
        assert RenderBudget.current() is budget
    assert RenderBudget.current() is None


def test_the_environment_renders_without_a_budget():
    source = "{{ 'a' * 2 ~ 'b'.upper() }}{% for i in 'cd' %}{{ i }}{% endfor %}"
    assert make_environment().from_string(source).render() == "aaBcd"
