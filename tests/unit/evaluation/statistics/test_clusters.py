"""Questions about one document are drawn together."""

from spanwise.evaluation.statistics import document_clusters


def groups(ids: tuple[str, ...]) -> list[int]:
    order = list(dict.fromkeys(ids))
    return [order.index(name) for name in ids]


def test_questions_about_one_document_are_one_cluster() -> None:
    documents = [f"d{at // 2}" for at in range(24)]
    found = document_clusters(documents)
    assert groups(found.ids) == [at // 2 for at in range(24)]
    assert found.note == ""


def test_a_question_without_a_document_stands_alone() -> None:
    documents = [f"d{at}" for at in range(10)] + ["d0", "", ""]
    assert groups(document_clusters(documents).ids) == [*range(10), 0, 10, 11]


def test_too_few_documents_are_not_drawn_and_it_is_said() -> None:
    found = document_clusters(["a", "b", "c"] * 10)
    assert len(set(found.ids)) == 30
    assert found.note == "so far this holds for the 3 documents alone"


def test_each_dataset_decides_for_itself() -> None:
    documents = [f"d{at // 2}" for at in range(24)] + ["d0"] * 5
    found = document_clusters(documents, strata=["many"] * 24 + ["one"] * 5)
    assert len(set(found.ids)) == 12 + 5
    assert found.note == "so far this holds for the 1 document of one alone"


def test_the_same_name_in_two_datasets_is_two_documents() -> None:
    documents = [f"d{at // 2}" for at in range(24)] * 2
    assert len(set(document_clusters(documents, strata=["a"] * 24 + ["b"] * 24).ids)) == 24


def test_few_questions_about_a_document_each_need_no_note() -> None:
    found = document_clusters(["a", "b", "c"])
    assert groups(found.ids) == [0, 1, 2]
    assert found.note == ""


def test_questions_without_any_document_need_no_note() -> None:
    found = document_clusters(["", "", ""])
    assert len(set(found.ids)) == 3
    assert found.note == ""
