"""Documents are counted after a race."""

from pacenote.errors import EngineError
from pacenote.race.document_counts import count_documents


def test_indices_are_counted_after_a_refresh():
    paths = []

    def get(path):
        paths.append(path)
        if path.startswith("/gone"):
            raise EngineError("HTTP 404 for /gone/_refresh")
        return {"count": 7, "_shards": {"failed": 1 if path.startswith("/half") else 0}}

    counted = count_documents(get, ["logs", "gone", "half", "a/b"])
    assert counted.counts == {"logs": 7, "a/b": 7}
    assert counted.problems == (
        "documents of index 'gone' could not be counted: HTTP 404 for /gone/_refresh",
        "documents of index 'half' could not be counted: 1 shard failed",
    )
    assert paths[:2] == ["/logs/_refresh", "/logs/_count"]
    assert paths[-1] == "/a%2Fb/_count"
