"""Parameter sources of every form in races, including ones that fail."""

import json

import pytest

from python_tasks.racing import race_track, serving

pytestmark = pytest.mark.process

SOURCES = """
    import itertools
    from esrally.track.params import ParamSource

    LEARNED = []

    class Counting:
        def __init__(self, track, params, **kwargs):
            self.track, self._params, self.client = track, params, None
            self.infinite = params.get("infinite", False)
            self.n = 0

        def partition(self, index, total):
            part = type(self)(self.track, self._params)
            part.client = f"{index}of{total}"
            return part

        @property
        def percent_completed(self):
            return self.n / 3

        def params(self):
            if self.n == 3 and not self.infinite:
                raise StopIteration()
            self.n += 1
            return {"index": f"{self.client}-{self.n}", "body": {}}

    class Old:
        def __init__(self, track, params):
            self.inner = Counting(track, params)

        def partition(self, index, total):
            return self

        def params(self):
            return self.inner.params()

        def size(self):
            return 3

    class Shared(Counting):
        def partition(self, index, total):
            return self

    class Late(Counting):
        def __init__(self, track, params, **kwargs):
            super().__init__(track, params)
            self.n = LEARNED[0]

        def partition(self, index, total):
            return self

    def function(track, params, **kwargs):
        return {**params, "index": f"{track.name}-{kwargs['operation_name']}", "body": {}}

    class Extending(ParamSource):
        def params(self):
            return {**self._params, "index": "base", "body": {"size": 0}}

    async def learn(es, params):
        LEARNED.append((await es.count(index="x"))["count"])

    def register(registry):
        for name in ("Counting", "Old", "Shared", "Late", "Extending", "function"):
            registry.register_param_source(name, globals()[name])
        registry.register_runner("learn", learn, async_runner=True)
    """


def search(source, **more):
    operation = {"operation-type": "search", "param-source": source, **more.pop("operation", {})}
    return {"name": f"t-{source}", "operation": operation, **more}


def test_sources_of_every_form_are_called_until_they_end(tmp_path):
    schedule = [
        search("Counting", clients=2),
        search("Old", name="old"),
        search("Shared", clients=2, name="shared"),
        search("Counting", operation={"infinite": True}, name="once"),
        search(
            "Counting", operation={"infinite": True}, name="five", iterations=4, **{"warmup-iterations": 1}
        ),
        search("function", iterations=2),
        search("Extending", iterations=1),
        {"operation": "learn"},
        search("Late"),
    ]
    with serving(lambda line, _: {"count": 2} if "_count" in line and ".ml" not in line else None) as server:
        raced = race_track(tmp_path, SOURCES, schedule, server.address)
    assert not any(task.errors for task in raced.record.tasks)
    lines = [line.split("/")[1] for line in server.lines("/_search")]
    assert sorted(lines[:6]) == [f"{client}of2-{n}" for client in (0, 1) for n in (1, 2, 3)]
    assert lines[6:9] == ["None-1", "None-2", "None-3"]
    assert sorted(lines[9:12]) == ["None-1", "None-2", "None-3"]
    assert lines[12:18] == ["0of1-1", "0of1-1", "0of1-2", "0of1-3", "0of1-4", "0of1-5"]
    assert lines[18:21] == ["tour-t-function", "tour-t-function", "base"]
    # The source is created when its step begins, after the previous task has stored its result.
    assert [line for line in lines[21:] if line != "x"] == ["None-3"]
    assert raced.task("five").accounting.normal == 4
    assert raced.task("shared").accounting.operations == 3


FAILING = """
    class Base:
        infinite = True
        def __init__(self, track, params):
            if params.get("fail"):
                raise BaseException("no construction")
        def partition(self, index, total):
            return self

    class Listing(Base):
        def params(self):
            return [1, 2]

    class Raising(Base):
        def params(self):
            return {}["size"]

    class WithoutBody(Base):
        def params(self):
            return {"index": "a"}

    class Bulk(Base):
        def params(self):
            return {"bulk-size": 1, "unit": "docs", "action-metadata-present": True, "body": 3}

    class Never(Base):
        def params(self):
            raise StopIteration()

    async def run(es, params):
        pass

    def register(registry):
        for kind in (Listing, Raising, WithoutBody, Bulk, Never):
            registry.register_param_source(kind.__name__, kind)
        registry.register_runner("run", run, async_runner=True)
    """


@pytest.mark.parametrize("kind", ["search", "run"])
def test_a_source_that_fails_ends_only_its_task_with_a_reason(tmp_path, kind):
    def task(source, **more):
        operation = {"operation-type": kind, "param-source": source, **more}
        return {"name": source + ("!" if more else ""), "operation": operation, "clients": 2}

    schedule = [task("Listing"), task("Raising"), task("Listing", fail=True), task("Never")]
    bulk = {"operation-type": "bulk", "param-source": "Bulk"}
    schedule += [
        {"name": "Bulk", "operation": bulk},
        {"operation": {"operation-type": "sleep", "duration": 0}},
    ]
    if kind == "search":
        schedule.insert(0, task("WithoutBody"))
    with serving() as server:
        raced = race_track(tmp_path, FAILING, schedule, server.address)
    assert raced.reason("Listing") == (
        'plugin: parameter source "Listing" returned a value of type list ([1, 2]), '
        "but must return a dictionary of parameters"
    )
    assert raced.reason("Raising") == (
        "plugin: parameter source \"Raising\" failed: track.py:16: KeyError: 'size'"
    )
    assert raced.reason("Listing!") == (
        'plugin: parameter source "Listing" failed: track.py:6: BaseException: no construction'
    )
    assert raced.task("Listing").accounting.failed == 2
    assert raced.task("Never").accounting.operations == 0
    assert (
        'parameter source "Bulk" returned a value of type int (3) as "body", which must be bytes'
        in raced.reason("Bulk")
    )
    assert raced.task("sleep").accounting.succeeded == 1
    if kind == "search":
        assert "invalid parameters: body is missing" in raced.reason("WithoutBody")
    assert server.lines("/_search|/_bulk") == []


BULKS = """
    from esrally.track.params import BulkIndexParamSource

    class Bodies:
        infinite = False
        def __init__(self, track, params, **kwargs):
            action, document = '{"index":{"_index":"a"}}', {"n": 1}
            self.bodies = iter([
                [action, document],
                [b'{"index":{"_index":"a"}}\\n', b'{"n":1}\\n'],
                action + '\\n{"n":1}',
                (action + '\\n{"n":1}\\n').encode(),
            ])
        def partition(self, index, total):
            return self
        def params(self):
            return {
                "body": next(self.bodies), "bulk-size": 1, "unit": "docs", "action-metadata-present": True,
                "index": "", "type": "", "pipeline": "p", "param-source-stats": {"live": object()},
            }

    class Marking:
        def __init__(self, track, params, **kwargs):
            self.inner = BulkIndexParamSource(track, params, **kwargs)
            self.infinite = self.inner.infinite
        def partition(self, index, total):
            return Marked(self.inner.partition(index, total))

    class Marked:
        def __init__(self, inner):
            self.inner, self.infinite = inner, inner.infinite
        def params(self):
            params = self.inner.params()
            params["body"] = params["body"].replace(b'"x"', b'"y"')
            return params

    def register(registry):
        registry.register_param_source("bodies", Bodies)
        registry.register_param_source("marking", Marking)
    """


def test_bulks_of_every_form_produce_the_same_request(tmp_path):
    schedule = [{"name": "bulks", "operation": {"operation-type": "bulk", "param-source": "bodies"}}]
    with serving() as server:
        raced = race_track(tmp_path, BULKS, schedule, server.address)
    assert server.lines("/_bulk") == ["POST /_bulk?pipeline=p"] * 4
    bodies = server.bodies("POST /_bulk?pipeline=p")
    assert set(bodies) == {'{"index":{"_index":"a"}}\n{"n":1}\n'}
    assert raced.task("bulks").work.done == 4
    assert raced.task("bulks").unit == "docs"


def test_the_bulk_source_can_be_wrapped(tmp_path):
    documents = "".join(f'{{"x":{n}}}\n' for n in range(7))
    (tmp_path / "tour").mkdir()
    (tmp_path / "tour" / "d.json").write_text(documents)
    operation = {"operation-type": "bulk", "param-source": "marking", "bulk-size": 2, "pipeline": "p"}
    corpus = {"name": "c", "documents": [{"source-file": "d.json", "document-count": 7}]}
    document = {
        "indices": [{"name": "i"}],
        "corpora": [corpus],
        "schedule": [{"name": "bulks", "operation": operation, "clients": 2}],
    }
    with serving() as server:
        raced = race_track(tmp_path, BULKS, document, server.address)
    sent = [line for body in server.bodies("POST /_bulk?pipeline=p") for line in body.splitlines()]
    assert sent[::2] == ['{"index": {"_index": "i"}}'] * 7
    assert sorted(json.loads(line)["y"] for line in sent[1::2]) == list(range(7))
    assert raced.task("bulks").accounting.operations == 4
    assert [corpus.name for corpus in raced.record.corpora] == ["c"]


CHANGING = """
    import asyncio

    SEEN = []

    class Changing:
        infinite = True
        def __init__(self, track, params, **kwargs):
            self.params_of_all, self.inner, self.last = {}, {"n": 0}, params.get("last")
        def partition(self, index, total):
            return self
        def params(self):
            # Changes the dictionary that it returned before, and reads the runner's results.
            self.inner["n"] += 1
            if self.inner["n"] == self.last:
                raise ValueError("nothing left")
            self.params_of_all.update(body=self.inner, seen=len(SEEN))
            return self.params_of_all

    async def run(es, params):
        before = params["body"]["n"]
        await es.search(index="x", body={})
        await asyncio.sleep(0.002)
        SEEN.append(1)
        return {"unchanged": int(before == params["body"]["n"]), "seen": params["seen"]}

    def register(registry):
        registry.register_param_source("changing", Changing)
        registry.register_runner("run", run, async_runner=True)
    """


def test_a_source_may_modify_the_dictionary_that_it_returned_before(tmp_path):
    operation = {"operation-type": "run", "param-source": "changing"}
    schedule = [
        {"name": "five", "operation": operation, "iterations": 5},
        {"name": "failing", "operation": {**operation, "last": 3}, "iterations": 9},
    ]
    with serving() as server:
        raced = race_track(tmp_path, CHANGING, schedule, server.address)
    values = raced.task("five").values
    assert (values["unchanged"].min, values["seen"].max) == (1, 4)
    # The third operation failed; the first two are counted.
    failing = raced.task("failing")
    counts = failing.accounting
    assert (counts.succeeded, counts.failed, counts.unsent) == (2, 1, 6)
    assert (failing.failed_sources, raced.task("five").failed_sources) == (1, 0)
    assert raced.record.verdict.state == "void"


def test_with_only_warm_up_iterations_the_source_ends_the_task(tmp_path):
    warm = {"warmup-iterations": 1}
    schedule = [
        search("Counting", **warm),
        search("Counting", operation={"infinite": True}, name="one", **warm),
    ]
    with serving() as server:
        raced = race_track(tmp_path, SOURCES, schedule, server.address)
    assert raced.task("t-Counting").accounting.normal == 2
    assert (raced.task("one").accounting.normal, raced.task("one").accounting.operations) == (1, 2)


PAGING = """
    CALLS = []

    def source(track, params, **kwargs):
        CALLS.append(1)
        pages = {"pages": 1, "results-per-page": 1} if len(CALLS) > 2 else {}
        return {"index": "x", "body": {}, **pages}

    def register(registry):
        registry.register_param_source("source", source)
    """


def test_a_source_cannot_mix_units(tmp_path):
    with serving() as server:
        raced = race_track(tmp_path, PAGING, [search("source", iterations=9)], server.address)
    assert raced.reason("t-source") == (
        'plugin: parameter source "source" returned an operation that counts pages after one that counts '
        "ops: all operations of a task must have the same unit"
    )
    accounting = raced.task("t-source").accounting
    assert (accounting.succeeded, accounting.failed, accounting.unsent) == (2, 1, 6)
