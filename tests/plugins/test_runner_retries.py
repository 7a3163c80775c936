"""Rally's wrapper of runners that are retried."""

import asyncio

import pytest

from pacenote.plugins.rally_api.errors import DataError
from pacenote.plugins.rally_api.esrally.driver.runner import Retry


def test_retries_until_success_end_at_their_limit():
    calls = []

    async def never(es, params):
        calls.append(params)
        return {"success": False}

    params = {"retry-until-success": True, "retry-wait-period": 0.001, "retry-time-period": 0.01}
    assert asyncio.run(Retry(never)(None, params)) == {"success": False}
    assert len(calls) > 1
    calls.clear()
    asyncio.run(Retry(never, retry_until_success=True)(None, {**params, "retry-time-period": 0}))
    assert len(calls) == 1


def test_numbers_may_be_given_as_text():
    calls = []

    async def never(es, params):
        calls.append(params)
        return {"success": False}

    until = {"retry-until-success": True, "retry-wait-period": "0.001", "retry-time-period": "0.01"}
    assert asyncio.run(Retry(never)(None, until)) == {"success": False}
    assert len(calls) > 1
    calls.clear()
    asyncio.run(Retry(never)(None, {"retries": "2", "retry-on-error": True, "retry-wait-period": "0"}))
    assert len(calls) == 3
    with pytest.raises(DataError, match="retry-wait-period is 'soon', but must be a number"):
        asyncio.run(Retry(never)(None, {"retry-wait-period": "soon"}))
    with pytest.raises(DataError, match="retries is 'nan', but must be a number"):
        asyncio.run(Retry(never)(None, {"retries": "nan"}))
