"""The lessons: the statement to begin with does not solve the task, the solution does, and both are answered whole."""

import pytest

from sqlext.playground.lessons import lessons
from sqlext.playground.questions import Playground

PLAYGROUND = Playground()


def answer(number: int, text: str):
    return PLAYGROUND.ask("answer", {"table": str(number), "text": text})


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.title)
def test_a_lesson_is_passed_by_its_solution_and_not_by_its_first_statement(lesson):
    first, solved = answer(lesson.number, lesson.statement), answer(lesson.number, lesson.solution)
    assert "errors" not in first and "errors" not in solved
    assert (first["passed"], solved["passed"]) == (False, True)
    assert solved["matches"]


@pytest.mark.random
@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.title)
def test_each_row_of_a_lesson_has_a_reason_and_the_search_has_steps(lesson):
    asked = {"table": str(lesson.number), "text": lesson.solution}
    for row in range(lesson.table.rows):
        assert PLAYGROUND.ask("why", {**asked, "row": row})["lines"]
    steps = PLAYGROUND.ask("steps", asked)
    matches = [step for step in steps["steps"] if step[0] == "match"]
    assert steps["is_complete"]
    assert sorted(match[5] for match in matches) == sorted(
        m["rows"] for m in answer(lesson.number, lesson.solution)["matches"]
    )


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.title)
def test_a_stream_has_emitted_at_each_watermark_what_its_rows_decide(lesson):
    asked = {"table": str(lesson.number), "text": lesson.solution}
    last = PLAYGROUND.ask("stream", {**asked, "watermark": 4e12})
    if "refusal" in last:
        assert lesson.title == "The match so far"
        return
    matches = answer(lesson.number, lesson.solution)["matches"]
    assert set(last["times"]) <= {f"{match['start']} {match['number']}" for match in matches}
    assert last["waiting"] == []
    first = PLAYGROUND.ask("stream", {**asked, "watermark": None})
    assert first["waiting"] == first["kept"] == list(range(lesson.table.rows))


def test_there_are_ten_lessons():
    assert len(lessons()) == 10
    assert len({lesson.title for lesson in lessons()}) == 10
