"""Every field case has a test or a reason, and docs/field-cases.md says which."""

from __future__ import annotations

from . import field_cases


def test_every_case_has_a_test_or_a_reason() -> None:
    assert len(field_cases.CASES) == 96
    tested = {test.case for test in field_cases.tests()}
    assert tested <= field_cases.CASES.keys()
    reasons = field_cases.REASONS.keys()
    assert field_cases.CASES.keys() - tested == set(reasons)
    assert field_cases.NOTES.keys() <= tested


def test_the_page_is_up_to_date() -> None:
    assert field_cases.PAGE.read_text() == field_cases.page(), (
        "run python -m tests.traps.field_cases"
    )
