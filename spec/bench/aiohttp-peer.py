"""An aiohttp handler that checks the HMAC and parses the JSON, as a process of its own. Prints its port."""

import asyncio
import hashlib
import hmac
import json

from aiohttp import web

SECRET = b"bench-secret-bench-secret"


async def receive(request: web.Request) -> web.Response:
    body = await request.read()
    given = request.headers.get("x-hub-signature-256", "").removeprefix("sha256=")
    digest = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    genuine = hmac.compare_digest(digest, given) and isinstance(json.loads(body), dict)
    return web.json_response({"status": "accepted"}, status=202 if genuine else 401)


async def main() -> None:
    app = web.Application()
    app.router.add_post("/webhooks/{name}", receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
