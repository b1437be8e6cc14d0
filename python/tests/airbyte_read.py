"""Reads a stream by the Airbyte manifest: `python airbyte_read.py STREAM [STATE]`.

Follows Airbyte's rules for the components that the manifest uses, and refuses others. Prints the
records, one a line, and the new state in the last line. Requires PyYAML and Jinja2.
"""
import datetime
import json
import os
import re
import sys
import urllib.parse
import urllib.request

import jinja2.sandbox
from airbyte_manifest import read_manifest

CONFIG = {"base_url": os.environ["CORKBOARD_URL"], "api_key": os.environ["CORKBOARD_KEY"]}
# The members of each component, without `type`, as in Airbyte's schema of manifests.
COMPONENTS = {
    "DeclarativeStream": {"name", "primary_key", "incremental_sync", "retriever", "schema_loader"},
    "SimpleRetriever": {"requester", "paginator", "record_selector"},
    "HttpRequester": {"url", "http_method", "request_headers", "request_parameters", "authenticator", "error_handler"},
    "BearerAuthenticator": {"api_token"},
    "RequestOption": {"inject_into", "field_name"},
    "DefaultErrorHandler": {"max_retries", "backoff_strategies", "response_filters"},
    "WaitTimeFromHeader": {"header"},
    "ExponentialBackoffStrategy": {"factor"},
    "HttpResponseFilter": {"http_codes", "action", "failure_type", "error_message"},
    "DefaultPaginator": {"page_size_option", "page_token_option", "pagination_strategy"},
    "CursorPagination": {"page_size", "cursor_value", "stop_condition"},
    "RecordSelector": {"extractor"},
    "DpathExtractor": {"field_path"},
    "DatetimeBasedCursor": {
        "cursor_field",
        "cursor_datetime_formats",
        "datetime_format",
        "start_datetime",
        "start_time_option",
        "end_time_option",
        "lookback_window",
    },
    "MinMaxDatetime": {"datetime", "datetime_format"},
    "InlineSchemaLoader": {"schema"},
}
SANDBOX = jinja2.sandbox.SandboxedEnvironment()


def check(part):
    """Refuses components and members that the rules below do not know."""
    for one in part if isinstance(part, list) else [part]:
        if not isinstance(one, dict):
            continue
        kind = one["type"]
        names = set(one) - {"type"}
        assert names <= COMPONENTS[kind], (kind, names - COMPONENTS[kind])
        for name in names - {"schema", "request_headers", "request_parameters"}:
            check(one[name])


def evaluated(text, **context):
    return SANDBOX.from_string(text).render(config=CONFIG, **context)


def links_of(header):
    """As `Response.links` of the package requests, by relation."""
    found = re.findall(r'<([^>]*)>; rel="(\w+)"', header or "")
    return {relation: {"url": url, "rel": relation} for url, relation in found}


def time_range(cursor, state):
    """The parameters of the requests of a sync; None if it sends none."""
    start = first_moment(cursor, state)
    end = datetime.datetime.now(datetime.timezone.utc).strftime(cursor["datetime_format"])
    if start > end:
        return None
    moments = {"start_time_option": start, "end_time_option": end}
    return {cursor[option]["field_name"]: moment for option, moment in moments.items() if option in cursor}


def first_moment(cursor, state):
    """The start of the time range of a sync, in the format of requests."""
    form = cursor["datetime_format"]
    start = cursor["start_datetime"]
    earliest = datetime.datetime.strptime(evaluated(start["datetime"]), start["datetime_format"])
    if state is None:
        return earliest.strftime(form)
    days = re.fullmatch(r"P(\d+)D", evaluated(cursor["lookback_window"]))
    last = datetime.datetime.strptime(state, form) - datetime.timedelta(days=int(days[1]))
    return max(earliest, last).strftime(form)


def state_after(cursor, records, state):
    forms = cursor["cursor_datetime_formats"]
    moments = [datetime.datetime.strptime(one[cursor["cursor_field"]], forms[0]) for one in records]
    known = [] if state is None else [state]
    return max(known + [moment.strftime(cursor["datetime_format"]) for moment in moments], default=None)


def pages(stream, parameters):
    requester, paginator = (stream["retriever"][name] for name in ("requester", "paginator"))
    strategy = paginator["pagination_strategy"]
    key = evaluated(requester["authenticator"]["api_token"])
    headers = {**requester["request_headers"], "Authorization": f"Bearer {key}"}
    url = evaluated(requester["url"])
    query = {**requester.get("request_parameters", {}), **parameters}
    query[paginator["page_size_option"]["field_name"]] = strategy["page_size"]
    while True:
        request = urllib.request.Request(f"{url}?{urllib.parse.urlencode(query)}", headers=headers)
        with urllib.request.urlopen(request) as response:
            yield json.load(response)
            context = {"headers": {**dict(response.headers), "link": links_of(response.headers["Link"])}}
        if evaluated(strategy["stop_condition"], **context) == "True":
            return
        query[paginator["page_token_option"]["field_name"]] = evaluated(strategy["cursor_value"], **context)


def main(name, state=None):
    (stream,) = [one for one in read_manifest()["streams"] if one["name"] == name]
    check(stream)
    cursor = stream.get("incremental_sync")
    parameters = {} if cursor is None else time_range(cursor, state)
    records = [] if parameters is None else [record for page in pages(stream, parameters) for record in page]
    for record in records:
        print(json.dumps(record))
    print(json.dumps(None if cursor is None else state_after(cursor, records, state)))


if __name__ == "__main__":
    main(*sys.argv[1:])
