"""Runners of every form in races: their results, their exceptions and the client that they receive."""

import json
import os
import signal
import threading

import pyarrow.parquet
import pytest

from pacenote.report.summary import build_report
from python_tasks.racing import race_track, serving

pytestmark = pytest.mark.process

FORMS = """
    import asyncio
    import threading
    from esrally.driver import runner

    CALLS = []

    async def nothing(es, params):
        CALLS.append(params["operation-type"])

    async def false(es, params):
        return False

    async def pair(es, params):
        return 3, "docs"

    async def mapping(es, params):
        params.clear()
        return {"weight": 2, "recall": 0.25 * len(CALLS), "k": 10, "deep": {"size": 5}, "took": 9, "ok": True}

    class Managed:
        def __init__(self):
            self.open = 0
        async def __aenter__(self):
            self.open += 1
            return self
        async def __aexit__(self, kind, error, trace):
            self.open -= 1
            return False
        async def __call__(self, es, params):
            assert self.open == 1
            return {"open": self.open}
        def __repr__(self):
            return "managed"

    class Everywhere(runner.Runner):
        multi_cluster = True
        async def __call__(self, multi_es, params):
            assert list(multi_es) == ["default"]
            await multi_es["default"].info()

    class Ending(runner.Runner):
        calls = 0
        @property
        def completed(self):
            return self.calls == 4
        @property
        def percent_completed(self):
            return self.calls / 4
        async def __call__(self, es, params):
            self.calls += 1

    async def threaded(es, params):
        thread = await asyncio.to_thread(threading.current_thread)
        # A daemon thread does not keep the process alive if it hangs.
        return {"daemon": int(thread.daemon)}

    def register(registry):
        for one in (nothing, false, pair, mapping, threaded):
            registry.register_runner(one.__name__, one, async_runner=True)
        registry.register_runner("managed", Managed(), async_runner=True)
        registry.register_runner("everywhere", Everywhere(), async_runner=True)
        registry.register_runner("ending", runner.Retry(Ending()), async_runner=True)
    """


def test_runners_of_every_form_are_run(tmp_path):
    names = ["nothing", "false", "pair", "managed", "everywhere", "ending", "threaded"]
    schedule = [{"operation": name} for name in names]
    schedule.insert(3, {"operation": "mapping", "iterations": 2, "warmup-iterations": 1})
    with serving() as server:
        raced = race_track(tmp_path, FORMS, schedule, server.address)
    assert [task.error_rate for task in raced.record.tasks] == [0.0] * 8
    done = {task.task: (task.accounting.operations, task.work.done, task.unit) for task in raced.record.tasks}
    assert done == {
        "nothing": (1, 1, "ops"),
        "false": (1, 1, "ops"),
        "pair": (1, 3, "docs"),
        "mapping": (3, 6, "ops"),
        "managed": (1, 1, "ops"),
        "everywhere": (1, 1, "ops"),
        "ending": (4, 4, "ops"),
        "threaded": (1, 1, "ops"),
    }
    assert raced.task("threaded").values["daemon"].min == 1
    values = raced.task("mapping").values
    assert set(values) == {"recall", "k", "deep.size"}
    assert (values["recall"].count, values["recall"].mean) == (2, 0.25)
    rows = [(row.metric, row.task, row.value) for row in build_report(raced.record).rows]
    assert ("mean recall", "mapping", 0.25) in rows
    assert ("open", "managed", 1.0) in rows
    stored = json.loads((tmp_path / "home" / "races" / "r" / "race.json").read_text())
    assert "recall" in json.dumps(stored)
    rows = pyarrow.parquet.read_table(tmp_path / "home" / "races" / "r" / "samples.parquet").to_pylist()
    details = {row["task"]: row["details"] and json.loads(row["details"]) for row in rows}
    assert details["mapping"] == {"recall": 0.25, "k": 10, "deep": {"size": 5}, "took": 9, "ok": True}
    assert (details["managed"], details["pair"], details["nothing"]) == ({"open": 1}, None, None)
    assert "running the Python code of track" in raced.warnings[0]
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("pacenote-")]


FAILURES = """
    import asyncio
    import elasticsearch
    from esrally import exceptions
    from esrally.driver.runner import Retry

    TRIES = []

    async def refused(es, params):
        await es.indices.delete(index="gone")

    async def raw(es, params):
        es.return_raw_response()
        await es.search(index="gone")

    async def slow(es, params):
        await es.options(request_timeout=0.05).search(index="slow")

    async def key(es, params):
        return params["no-such-key"]

    async def base(es, params):
        raise BaseException("stop it", 3)

    async def weight(es, params):
        return {"weight": "many"}

    async def asserting(es, params):
        raise exceptions.RallyTaskAssertionError("not as it should be")

    async def unhappy(es, params):
        return {"weight": 5, "success": False, "error-type": "kibana", "error-description": "no dashboards"}

    async def caught(es, params):
        try:
            await es.indices.delete(index="gone")
        except elasticsearch.NotFoundError as error:
            return {"status": error.status_code, "reason": len(error.body["error"]["reason"])}

    async def again(es, params):
        TRIES.append(1)
        return {"success": len(TRIES) == 3}

    async def hanging(es, params):
        await es.perform_request("GET", "/now")
        await asyncio.sleep(600)

    async def cancelled(es, params):
        inner = asyncio.create_task(asyncio.sleep(600))
        inner.cancel()
        await inner

    def register(registry):
        for one in (refused, raw, slow, key, base, weight, asserting, unhappy, caught, hanging,
                    cancelled):
            registry.register_runner(one.__name__, one, async_runner=True)
        registry.register_runner("again", Retry(again), async_runner=True)
    """

SLEEP = threading.Event()


def not_there(line, _body):
    if "/slow" in line:
        SLEEP.wait(0.3)
    if "/gone" in line:
        return 404, {"error": {"type": "index_not_found_exception", "reason": "no such index [gone]"}}
    return None


COUNTING = """
    RESULTS = {
        "alone": {"error-count": 3}, "extra": {"success-count": 10, "error-count": 3},
        "less": {"success-count": 7}, "all": {"success-count": 10}, "none": {"error-count": 0},
        "text": {"success-count": "all"},
        "failed": {"error-count": 3, "success": False}, "partial": {"success-count": 7, "error-count": 3},
    }

    def register(registry):
        for name, counts in RESULTS.items():
            async def run(es, params, counts=counts):
                return {"weight": 10, "unit": "docs", "success": True, **counts}
            registry.register_runner(name, run, async_runner=True)
    """


def test_counts_that_do_not_add_up_are_recorded_and_warned_about(tmp_path):
    names = ("alone", "extra", "less", "all", "none", "text", "failed", "partial")
    with serving() as server:
        schedule = [{"operation": name, "clients": 2, "iterations": 2} for name in names]
        raced = race_track(tmp_path, COUNTING, schedule, server.address)
    tasks = [raced.task(name) for name in names]
    assert [task.inconsistent_results for task in tasks] == [4, 4, 4, 0, 0, 0, 0, 0]
    assert [task.work.done for task in tasks] == [40, 40, 40, 40, 40, 40, 0, 28]
    warned = [text for text in raced.warnings if "do not add up to its weight" in text]
    assert [text.partition(", the")[0] for text in warned] == [
        f'in 4 operations of task "{name}"' for name in names[:3]
    ]


def test_failures_of_runners_are_reported_with_their_reasons(tmp_path):
    names = ["refused", "raw", "slow", "key", "base", "weight", "unhappy", "caught"]
    schedule = [{"operation": name, "iterations": 2} for name in names]
    retried = {"operation-type": "again", "retry-until-success": True, "retry-wait-period": 0}
    with serving(not_there) as server:
        raced = race_track(
            tmp_path,
            FAILURES,
            [*schedule, {"operation": retried}, {"operation": "asserting"}],
            server.address,
        )
    missing = "http-status: index_not_found_exception: no such index [gone]"
    assert raced.reason("refused") == missing
    assert raced.reason("raw") == missing
    assert raced.task("refused").errors[0].status == 404
    assert raced.task("refused").accounting.failed == 2
    assert raced.reason("slow").startswith("timeout: ConnectionTimeout: ")
    assert raced.reason("key") == "plugin: track.py:20: KeyError: 'no-such-key'"
    assert raced.reason("base") == "plugin: track.py:23: BaseException: ('stop it', 3)"
    assert 'returned the weight "many", which must be a whole number from 0 to 2^53' in raced.reason("weight")
    assert raced.task("key").accounting.failed == 2
    assert raced.reason("asserting") == "assertion: not as it should be"
    assert raced.record.aborted == "task asserting: not as it should be"
    assert raced.reason("unhappy") == "condition: kibana: no dashboards"
    assert raced.task("unhappy").work.failed == 10
    assert raced.task("caught").values["status"].max == 404
    assert (raced.task("again").accounting.succeeded, raced.task("again").error_rate) == (1, 0.0)


def test_a_cancellation_inside_a_runner_is_reported_as_its_failure(tmp_path):
    with serving() as server:
        raced = race_track(tmp_path, FAILURES, [{"operation": "cancelled"}], server.address)
    assert raced.reason("cancelled") == "plugin: track.py:51: CancelledError"


def test_ctrl_c_does_not_wait_for_runners(tmp_path, monkeypatch):
    monkeypatch.setattr("pacenote.race.stop_signals.SHUTDOWN_TIMEOUT_S", 0.05)
    monkeypatch.setattr("pacenote.race.drive.EVENT_TIMEOUT_S", 0.05)

    def stop(line, _body):
        if line == "GET /now":
            os.kill(os.getpid(), signal.SIGINT)

    with serving(stop) as server:
        raced = race_track(tmp_path, FAILURES, [{"operation": "hanging"}], server.address)
    assert raced.record.interrupted
    assert raced.task("hanging").accounting.unanswered == 1
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("pacenote-")]


CLIENT = """
    from elasticsearch.client import SlmClient

    async def calls(es, params):
        assert (await es.info())["version"]["number"] == "3.3.0"
        assert (es.is_serverless, es.distribution_version) == (False, "3.3.0")
        await es.search(index="s", body={"query": {}}, size=1, request_cache=True, params={"preference": "1"})
        await es.msearch(body=[{"index": "s"}, {"query": {}}], params={})
        await es.bulk(body='{"index":{}}\\n{}\\n', params={"refresh": "true"}, request_timeout=3)
        await es.ilm.put_lifecycle("name", body={"policy": {"phases": {}}})
        await es.indices.put_settings(body={"number_of_replicas": 0}, index="s")
        await es.indices.delete("a,b")
        await es.indices.rollover(alias="s", body={"conditions": {}})
        await es.cluster.put_settings(body={"persistent": {}})
        await es.cluster.health(index="s", wait_for_status="green", timeout="1s", request_timeout=2)
        await es.snapshot.get("repository", "snapshot")
        await es.security.put_role(name="r", indices=[], cluster=["all"])
        await es.options(basic_auth=("u", "p")).security.has_privileges(body={"cluster": []})
        await SlmClient(es).put_lifecycle(policy_id="p", body={"schedule": "x"})
        await es.perform_request(method="PUT", path="/own", body={"a": 1}, params={"force": "true"})
        await es.transport.perform_request(method="POST", url="/seven", body={"b": 1}, params={"c": "d"})
        assert await es.indices.exists(index="s")
        assert (await es.cat.indices(h="index")).split("\\n") == ["one", "two"]
        await es.cat.count(index="s", format="json")
        await es.indices.resolve_index(name="s*")
        with es.new_request_context() as context:
            es.on_request_start()
            es.on_request_end()
            assert context.request_end >= context.request_start
            es.return_raw_response()
            raw = await es.search(index="s", body={})
        assert b'"took"' in raw.getvalue()
        assert (await es.search(index="s", body={}))["took"] == 1
        packed = await es.perform_request("GET", "/packed", headers={"accept-encoding": "gzip, br"})
        assert packed["took"] == 1 and "content-encoding" not in packed.meta.headers

    def register(registry):
        registry.register_runner("calls", calls, async_runner=True)
    """


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_client_accepts_every_form_of_call(tmp_path):
    with serving(lambda line, _: "one\ntwo" if "/_cat/indices" in line else None) as server:
        raced = race_track(tmp_path, CLIENT, [{"operation": "calls"}], server.address)
    assert raced.task("calls").errors == ()
    assert raced.task("calls").accounting.requests == 23
    by_line = {one.line: one for one in server.received}
    assert by_line["PUT /own?force=true"].headers["content-type"] == "application/json"
    assert by_line["POST /seven?c=d"].body == '{"b":1}'
    assert by_line["PUT /_ilm/policy/name"].body == '{"policy":{"phases":{}}}'
    assert by_line["PUT /_bulk?refresh=true"].headers["content-type"] == "application/x-ndjson"
    assert by_line["GET /_snapshot/repository/snapshot"].body == ""
    assert {"DELETE /a,b", "GET /_cat/count/s?format=json", "GET /_resolve/index/s*"} <= by_line.keys()
    assert by_line["GET /packed"].headers["accept-encoding"] == "gzip"
    assert by_line["POST /_security/user/_has_privileges"].headers["authorization"].startswith("Basic ")
    assert not [one for one in server.received if "vnd" in str(one.headers)]


BUILT_IN = """
    import asyncio
    from esrally.driver.runner import BulkIndex, PutSettings, runner_for, unwrap

    class RawBulk(BulkIndex):
        async def __call__(self, es, params):
            result = await super().__call__(es, params)
            assert (result["unit"], result["success-count"]) == ("docs", 2 - result["error-count"])
            return {**result, **params["param-source-stats"]}

    class Wrapper:
        multi_cluster = True
        async def __call__(self, multi_es, params):
            runner = unwrap(runner_for(params["base-operation-type"]))
            await asyncio.gather(*(runner(es, params) for es in multi_es.values()))

    async def settings(es, params):
        return await PutSettings()(es, {"body": {"persistent": {"a": 1}}})

    def bulk(track, params, **kwargs):
        return {
            "body": ['{"index":{"_index":"a"}}', "{}"] * 2, "bulk-size": 2, "unit": "docs",
            "action-metadata-present": True, "param-source-stats": {"lag": 7},
        }

    def register(registry):
        registry.register_param_source("bulk", bulk)
        registry.register_runner("raw-bulk", RawBulk(), async_runner=True)
        registry.register_runner("wrapper", Wrapper(), async_runner=True)
        registry.register_runner("settings", settings, async_runner=True)
    """


def one_rejected(line, _body):
    if "/_bulk" not in line:
        return (404, {"error": {"type": "t", "reason": "r"}}) if "/gone" in line else None
    error = {"type": "rejected", "reason": "queue full"}
    items = [{"index": {"status": 201}}, {"index": {"status": 429, "error": error}}]
    return {"took": 3, "errors": True, "items": items}


@pytest.mark.parametrize("answer", [None, one_rejected])
def test_plug_ins_call_built_in_operations(tmp_path, answer):
    schedule = [
        {"operation": {"operation-type": "raw-bulk", "param-source": "bulk"}, "iterations": 2},
        {"operation": {"operation-type": "wrapper", "base-operation-type": "refresh", "index": "i"}},
        {
            "name": "gone",
            "operation": {
                "operation-type": "wrapper",
                "base-operation-type": "raw-request",
                "path": "/gone",
                "method": "PUT",
            },
        },
        {"operation": "settings"},
    ]
    with serving(*[answer] if answer else []) as server:
        raced = race_track(tmp_path, BUILT_IN, schedule, server.address)
    assert server.lines("/_bulk|/i/|/gone|PUT /_cluster") == [
        "POST /_bulk",
        "POST /_bulk",
        "POST /i/_refresh",
        "PUT /gone",
        "PUT /_cluster/settings",
    ]
    bulk = raced.task("raw-bulk")
    if answer is None:
        assert bulk.unit == "docs"
        assert (bulk.work.done, bulk.values["lag"].mean) == (4, 7)
        assert bulk.service_time is not None
    else:
        assert raced.reason("raw-bulk") == "bulk-item: bulk: queue full"
        assert raced.reason("gone") == "http-status: t: r"
    assert raced.task("settings").errors == ()


def test_built_in_operations_in_python_need_no_plug_in(tmp_path):
    replies = iter([{"snapshots": [{"snapshot": "s"}]}, {"snapshots": []}])

    def answer(line, _body):
        return next(replies) if "/_snapshot/" in line else None

    operation = {
        "operation-type": "wait-for-current-snapshots-create",
        "repository": "r",
        "completion-recheck-wait-period": 0.01,
    }
    document = {"schedule": [{"name": "wait", "operation": operation}]}
    with serving(answer) as server:
        (tmp_path / "tour").mkdir()
        raced = race_track(tmp_path, {}, document, server.address)
    assert raced.task("wait").errors == ()
    assert raced.task("wait").accounting.requests == 2
    assert raced.warnings == []


ASSERTING = """
    async def run(es, params):
        return {"recall": {"mean": 0.5}}

    def register(registry):
        registry.register_runner("run", run, async_runner=True)
    """


@pytest.mark.parametrize(("enabled", "value", "failed"), [(True, 0.4, 0), (True, 0.6, 1), (False, 0.6, 0)])
def test_assertions_are_checked_for_runners(tmp_path, enabled, value, failed):
    assertion = {"property": "recall.mean", "condition": ">", "value": value}
    operation = {"operation-type": "run", "assertions": [assertion]}
    with serving() as server:
        raced = race_track(
            tmp_path, ASSERTING, [{"operation": operation}], server.address, enable_assertions=enabled
        )
    assert raced.task("run").accounting.failed == failed
    if failed:
        assert raced.reason("run") == "assertion: Expected [recall.mean] to be > [0.6] but was [0.5]."
