"""Uploads each case of $CASES with each client for Python."""

import asyncio
import io
from contextlib import redirect_stdout
from functools import partial
from os import environ
from pathlib import Path

import aiohttp
import httpie
import httpx
import requests
import urllib3
from httpie.core import main as http

content = b"%PDF-1.7"


def with_urllib3(url, fields, name):
    urllib3.PoolManager().request("POST", url, fields={**fields, "data[file]": (name, content)})


def with_requests(url, fields, name):
    requests.post(url, data=fields, files={"data[file]": (name, content)})


def with_httpx(url, fields, name):
    httpx.post(url, data=fields, files={"data[file]": (name, content)})


def with_aiohttp(url, fields, name, **settings):
    async def upload():
        form = aiohttp.FormData(fields, **settings)
        form.add_field("data[file]", content, filename=name)
        async with aiohttp.ClientSession() as session:
            await session.post(url, data=form)

    asyncio.run(upload())


def with_httpie(url, fields, name):
    Path(name).write_bytes(content)
    items = [*(f"{field}={text}" for field, text in fields.items()), f"data[file]@{name}"]
    with redirect_stdout(io.StringIO()):
        http(["http", "--ignore-stdin", "--multipart", "POST", url, *items])


clients = {
    "urllib3": (with_urllib3, urllib3),
    "requests": (with_requests, requests),
    "httpx": (with_httpx, httpx),
    "HTTPie": (with_httpie, httpie),
    "aiohttp": (with_aiohttp, aiohttp),
    "aiohttp quote_fields=False": (partial(with_aiohttp, quote_fields=False), aiohttp),
}
values = Path(environ["CASES"]).read_bytes().decode().split("\0")
for client, (upload, module) in clients.items():
    for index, (name, text) in enumerate(zip(values[0:-1:2], values[1::2])):
        fields = {"data[name]": "LOA", **({"data[notes]": text} if text else {})}
        try:
            upload(f"{environ['TO']}/{client}/{module.__version__}/{index}", fields, name)
        except Exception as error:
            print(client, error)
