"""Rally's wrapper of runners that are retried."""

import asyncio

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
