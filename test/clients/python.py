"""Sends requests with the library that the first argument names, `requests` or `httpx`.

Each line of standard input is a request: method, URL, value of Accept and body, separated by
tabs; "-" is none. Each line of the output is a response: status, content type and the SHA-256 of
its body.
"""

import hashlib
import importlib
import json
import os
import sys

library = importlib.import_module(sys.argv[1])
client = library.Session() if sys.argv[1] == "requests" else library.Client()
for line in sys.stdin:
    method, url, accept, body = line.rstrip("\n").split("\t")
    headers = {"apikey": os.environ["CORKBOARD_KEY"]}
    if accept != "-":
        headers["Accept"] = accept
    data = None if body == "-" else json.loads(body)
    response = client.request(method, url, headers=headers, json=data)
    digest = hashlib.sha256(response.content).hexdigest()
    print(response.status_code, response.headers["content-type"], digest, sep="\t")
