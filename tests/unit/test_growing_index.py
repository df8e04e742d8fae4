"""The index over a list that grows."""

from typing import Any

from pytest_chatfake.base.growing_index import GrowingIndex


class Counted(list[Any]):
    """A list that counts how often one of its items is looked at."""

    looks = 0

    def __getitem__(self, index):
        self.looks += 1
        return super().__getitem__(index)


def test_the_records_of_a_key_are_found_without_looking_at_all_again():
    records = Counted(["Ada", "Bert", "Anna"])
    index = GrowingIndex[str](records, lambda name: name[0])
    assert index.places("A") == [0, 2]
    assert records.looks == 3

    records.append("Carl")
    assert index.all("C") == ["Carl"]
    assert index.first("A") == "Ada"
    assert records.looks == 3 + 1 + 2


def test_a_record_that_another_thread_adds_meanwhile_is_found_later():
    class Added(list[str]):
        """A list to which another thread adds a record when the end was read."""

        def __getitem__(self, index):
            if len(self) < 2:
                self.append("Bert")
            return super().__getitem__(index)

    index = GrowingIndex[str](Added(["Ada"]), str)
    assert index.first("Ada") == "Ada"
    assert index.first("Bert") == "Bert"


def test_a_key_that_no_record_has_gives_nothing():
    index = GrowingIndex[str](["Ada"], str)

    assert (index.all("Zoe"), index.first("Zoe")) == ([], None)
