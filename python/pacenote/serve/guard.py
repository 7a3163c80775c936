"""What every request passes: who may send it, and what the browser may do with the response."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web, web_response
from aiohttp.typedefs import Handler, Middleware
from multidict import MultiMapping

from pacenote.errors import PacenoteError, StoreError
from pacenote.model.messages import DEFECT
from pacenote.serve.access import TOKEN, Access, AccessDenied
from pacenote.serve.document import OwnPage, attribute, message_page, rendered
from pacenote.serve.page_maker import PageDefect

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

_BEGUN = web.RequestKey("begun", web.StreamResponse)
"""The response to a request of which a part has been sent."""

_MOST_WARNED = 100
"""Number of different defects from which on they are reported again."""

_READING = ("GET", "HEAD")
_FORM_TYPE = "application/x-www-form-urlencoded"
_NO_POLICY = "default-src 'none'; frame-ancestors 'none'"


class RequestGuard:
    """Checks requests before they are answered, and turns errors into pages."""

    def __init__(self, access: Access, warn: Callable[[str], None]) -> None:
        """`warn` receives a line about each defect."""
        self._access = access
        self._warn = warn
        self._warned: set[str] = set()

    def protect(self, application: web.Application) -> None:
        """Makes all requests to an application pass."""
        # The library answers malformed requests itself, with its name and version and those of Python.
        vars(web_response)["SERVER_SOFTWARE"] = "Pacenote"
        application.middlewares.append(self._middleware())
        application.on_response_prepare.append(_begin)

    def _middleware(self) -> Middleware:
        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await self._answer(request, handler)
            begun: web.StreamResponse | None = request.get(_BEGUN)
            if begun is None or begun is response:
                return response
            # An event stream that has begun cannot become a page with an error: it can only end.
            await begun.write_eof()
            return begun

        return check

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await self._checked(request, handler)
        except web.HTTPException as error:
            if error.status < web.HTTPBadRequest.status_code:
                raise
            title = "There is no such page" if error.status == 404 else error.reason
            return self._message(error.status, title)
        except AccessDenied as error:
            # A sender without access does not learn the root.
            return page_response(message_page(None, "No access", (error.message, error.hint)), 403)
        except StoreError as error:
            return self._message(404, "Not found", error.message, error.hint)
        except PacenoteError as error:
            return self._message(422, "Not available", error.message, error.hint)
        except ConnectionError:
            raise
        except Exception as error:
            what = str(error) if isinstance(error, PageDefect) else f"{type(error).__name__}: {error}"
            text = f"{DEFECT}: {what}"
            # A page whose event stream ends requests it again and again.
            if text not in self._warned:
                if len(self._warned) == _MOST_WARNED:
                    self._warned.clear()
                self._warned.add(text)
                self._warn(text)
            return self._message(500, "This page cannot be shown", text)

    async def _checked(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self._access.check_host(request.headers)
        if request.method in _READING and request.path == self._access.root and TOKEN in request.query:
            return self._enter(request.query[TOKEN])
        self._access.check_reading(request.headers)
        if request.method not in _READING:
            token = (await _form(request)).get(TOKEN)
            self._access.check_writing(request.headers, token if isinstance(token, str) else "")
        return await handler(request)

    def _enter(self, token: str) -> web.Response:
        """Gives a browser with the right token the cookie, and an address without the token.

        The page itself loads that address: the browser would not send the cookie after a redirection if
        another site has the link.
        """
        if not self._access.has_token(token):
            raise AccessDenied(
                "this is not the address of the running server",
                hint="open the one that it printed at its start",
            )
        root = attribute(self._access.root)
        response = web.Response(
            text=f"<!DOCTYPE html>\n<html lang=en><title>Pacenote</title><meta http-equiv=refresh "
            f'content="0; url={root}"><p><a href="{root}">Continue</a></p></html>\n',
            content_type="text/html",
        )
        response.headers["Set-Cookie"] = self._access.cookie()
        return response

    def _message(self, status: int, title: str, *texts: str) -> web.Response:
        return page_response(message_page(self._access.root, title, texts), status)


async def _form(request: web.Request) -> MultiMapping[object]:
    """Returns the fields of a form as browsers send those of the pages. Raises HTTPException."""
    try:
        is_ours = request.content_type == _FORM_TYPE and (request.charset or "utf-8").lower() == "utf-8"
        if request.can_read_body and not is_ours:
            # The library would decode many more: some codecs take quadratic time or return lone surrogates.
            raise web.HTTPBadRequest(reason="The form cannot be read")
        return await request.post()
    except (web.HTTPException, OSError):
        raise
    except Exception as error:
        # Every other error means that the library has given up on what was sent.
        raise web.HTTPBadRequest(reason="The form cannot be read") from error


def page_response(page: OwnPage, status: int = 200) -> web.Response:
    """Returns a page of the server as a response with its policy."""
    text, policy = rendered(page)
    return document_response(text, policy, status)


def document_response(text: str, policy: str, status: int = 200) -> web.Response:
    """Returns an HTML document as a response with a policy."""
    headers = {"Content-Security-Policy": policy}
    return web.Response(text=text, content_type="text/html", headers=headers, status=status)


async def _begin(request: web.Request, response: web.StreamResponse) -> None:
    request[_BEGUN] = response
    for name, value in _HEADERS.items():
        response.headers[name] = value
    response.headers.setdefault("Content-Security-Policy", _NO_POLICY)
    # The name of the library and its version are not disclosed.
    response.headers.pop("Server", None)
