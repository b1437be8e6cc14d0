"""Tests of the installed package against a real server and against servers that fail.

`CORKBOARD_URL` and `CORKBOARD_KEY` name the server, which must not change meanwhile.
"""
import http.server
import json
import os
import pathlib
import sqlite3
import tempfile
import threading
import time
import tracemalloc
import unittest
import unittest.mock
import urllib.parse
import urllib.request
from datetime import datetime, timedelta, timezone

import corkboard_client
from corkboard_client import AnswerError, Client, CorkboardError, ProblemError, SqliteCopy, pages, transport
from corkboard_client.transport import retry_after_of

URL = os.environ["CORKBOARD_URL"]
KEY = os.environ["CORKBOARD_KEY"]


def plain(path):
    request = urllib.request.Request(URL + path, headers={"apikey": KEY})
    with urllib.request.urlopen(request) as response:
        return response.read()


def lines(path):
    return [json.loads(line) for line in plain(path).decode("utf-8").splitlines()]


class Reading(unittest.TestCase):
    def setUp(self):
        self.client = Client(URL, KEY, page_size=997)

    def test_is_installed(self):
        self.assertIn("site-packages", corkboard_client.__file__)

    def test_lists_are_those_of_the_server(self):
        self.assertEqual(list(self.client.events()), lines("/v1/events?format=ndjson"))
        self.assertEqual(list(self.client.boards()), lines("/v1/boards?format=ndjson"))
        self.assertEqual(list(self.client.users()), lines("/v1/users?format=ndjson"))
        user = next(self.client.users())["id"]
        self.assertEqual(list(self.client.events(user=user)), lines(f"/v1/events/user/{user}?format=ndjson"))
        self.assertEqual(list(self.client.events(board=62)), lines("/v1/events/board/62?format=ndjson"))
        self.assertEqual(list(self.client.events(pins=True)), lines("/v1/events/pins?format=ndjson"))

    def test_ranges_take_times_texts_and_numbers(self):
        start, end = datetime(2018, 3, 1, tzinfo=timezone.utc), datetime(2018, 4, 1, tzinfo=timezone.utc)
        expected = list(self.client.events(start=start, end=end))
        self.assertGreater(len(expected), 0)
        self.assertEqual(list(self.client.events(start="2018-03-01T00:00:00Z", end=end)), expected)
        self.assertEqual(list(self.client.events(start=1519862400000, end=1522540800000)), expected)
        with self.assertRaises(ValueError):
            next(self.client.events(start=datetime(2018, 3, 1)))

    def test_variant_b_has_its_own_paths(self):
        other = Client(URL[:-1] + "b", KEY)
        self.assertEqual(list(other.events(board=62)), list(self.client.events(board=62)))
        self.assertIn("category", next(other.boards()))

    def test_points_are_records(self):
        records = self.client.points(board=62)
        self.assertEqual(records, list(json.loads(plain("/v1/board/62/points")).values()))
        self.assertEqual(self.client.points(lti_id="lti-0062"), records)
        user = records[0]["user_id"]
        self.assertIn(records[0], self.client.points(user=user))
        with self.assertRaises(TypeError):
            self.client.points()

    def test_insights_agree_with_the_events(self):
        events = list(self.client.events())
        overview = self.client.insights("overview")
        self.assertEqual(overview["events"], len(events))
        self.assertEqual(overview["people"], len({event["actor"]["id"] for event in events}))
        self.assertEqual(self.client.insights("boards/62/participation")["board"]["id"], 62)

    def test_downloads_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "events.parquet")
            self.client.download(file)
            self.assertEqual(pathlib.Path(file).read_bytes(), plain("/v1/events?format=parquet"))
            self.assertEqual(os.listdir(folder), ["events.parquet"])

    def test_refusals_say_what_is_wrong_without_the_key(self):
        with self.assertRaises(ProblemError) as caught:
            Client(URL, KEY + "x").points(board=62)
        self.assertEqual((caught.exception.status, caught.exception.code), (401, "key-unknown"))
        self.assertNotIn(KEY, str(caught.exception))
        with self.assertRaises(ProblemError) as caught:
            self.client.points(board=999999)
        self.assertEqual(caught.exception.code, "not-found")

    def test_misuse_is_an_error_before_any_request(self):
        for url in ("ftp://host/a", "http://user:secret@host/a", "http://host/a?x=1"):
            with self.assertRaises(ValueError):
                Client(url, KEY)
        with self.assertRaises(ValueError):
            Client(URL, "two words")
        with self.assertRaises(TypeError):
            next(self.client.events(board=1, pins=True))
        with self.assertRaises(ValueError):
            self.client.points(lti_id="..")


class Copying(unittest.TestCase):
    def test_a_copy_has_all_events_and_then_nothing_changes(self):
        # With the pages of the command, so that the entity tags of lists are the same.
        client = Client(URL, KEY)
        # It stays for the test that compares it with the copy of the command.
        with SqliteCopy(os.environ["CORKBOARD_COPY"]) as copy:
            counts = copy.update(client)
            self.assertTrue(counts.started_anew)
            held = copy.database.execute("SELECT count(*), count(DISTINCT sync_id) FROM events").fetchone()
            self.assertEqual(held, (counts.events, counts.events))
            self.assertEqual(counts.events, client.insights("overview")["events"])
            again = copy.update(client)
            self.assertEqual((again.started_anew, again.events, again.users), (False, 0, None))
            with self.assertRaises(CorkboardError):
                copy.update(Client(URL[:-1] + "b", KEY))

    def test_a_file_with_tables_of_others_is_refused_unchanged(self):
        for kind in ("TABLE Events (x)", "VIEW users AS SELECT 7 AS x"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "own.sqlite")
                own = sqlite3.connect(path)
                own.execute(f"CREATE {kind}")
                own.close()
                with open(path, "rb") as file:
                    content = file.read()
                with self.assertRaisesRegex(CorkboardError, "does not belong to a copy"):
                    SqliteCopy(path)
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), content)
                self.assertEqual(os.listdir(folder), ["own.sqlite"])


class Failing(http.server.BaseHTTPRequestHandler):
    """Sends the next of `answers`: status, headers, and the body with the number of bytes to send."""

    answers = []
    asked = []

    def do_GET(self):
        type(self).asked.append((self.path, dict(self.headers)))
        status, headers, body, most = type(self).answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:most])

    def log_message(self, *words):
        pass


NDJSON = {"Content-Type": "application/x-ndjson"}
WHOLE = 1 << 30


class Transient(unittest.TestCase):
    def setUp(self):
        Failing.asked = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Failing)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.client = Client(f"http://127.0.0.1:{self.server.server_port}/a", "secret", retries=2)

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_a_page_that_is_cut_or_refused_for_now_is_read_once(self):
        Failing.answers = [
            (200, NDJSON, b'{"id":1}\n{"id":2}\n', 9),
            (503, {"Retry-After": "0"}, b"busy", WHOLE),
            (200, NDJSON, b'{"id":1}\n{"id":2}\n', WHOLE),
        ]
        self.assertEqual([board["id"] for board in self.client.boards()], [1, 2])

    def test_an_error_that_stays_is_raised(self):
        Failing.answers = [(503, {"Retry-After": "0"}, b"secret", WHOLE)] * 3
        with self.assertRaises(ProblemError) as caught:
            list(self.client.boards())
        self.assertEqual((caught.exception.status, caught.exception.code), (503, "unknown"))
        self.assertNotIn("secret", str(caught.exception))
        self.assertEqual(len(Failing.asked), 3)

    def test_a_pause_that_is_too_long_is_an_error(self):
        Failing.answers = [(429, {"Retry-After": "3600"}, b"", WHOLE)]
        with self.assertRaises(ProblemError) as caught:
            list(self.client.boards())
        self.assertEqual(caught.exception.retry_after, 3600)

    def test_redirects_are_not_followed_even_to_the_same_address(self):
        for status in (301, 302, 303, 307, 308):
            for location in ("http://127.0.0.1:1/", "/a/v1/boards?limit=10000"):
                Failing.asked = []
                Failing.answers = [(status, {"Location": location}, b"", WHOLE)]
                with self.assertRaises(AnswerError) as caught:
                    list(self.client.boards())
                self.assertEqual((caught.exception.code, len(Failing.asked)), ("redirected", 1))

    def test_other_services_are_recognized(self):
        for headers, body in (({"Content-Type": "text/html"}, b"<p>"), (NDJSON, b"<p>\n")):
            Failing.answers = [(200, headers, body, WHOLE)]
            with self.assertRaises(AnswerError) as caught:
                list(self.client.boards())
            self.assertEqual(caught.exception.code, "unreadable")

    def test_a_download_continues_or_starts_again(self):
        tag, other = {"ETag": '"1"'}, {"ETag": '"2"'}
        Failing.answers = [
            (200, tag, b"abcdef", 4),
            (206, {**tag, "Content-Range": "bytes 4-5/6"}, b"ef", 1),
            (200, other, b"ABCDEF", WHOLE),
        ]
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "file")
            self.client.download(file)
            self.assertEqual(pathlib.Path(file).read_bytes(), b"ABCDEF")
        asked = [(headers.get("Range"), headers.get("If-Range")) for _, headers in Failing.asked]
        self.assertEqual(asked, [(None, None), ("bytes=4-", '"1"'), ("bytes=5-", '"1"')])

    def test_a_download_refuses_a_range_that_was_not_requested(self):
        tag = {"ETag": '"1"'}
        for content_range, body in (
            ("bytes 3-5/6", b"def"),
            ("bytes 4-5/7", b"ef"),
            ("bytes */6", b"ef"),
            ("", b"ef"),
            ("bytes 4-5/6", b"efg"),
            ("bytes 4-5/6", b"XY"),
        ):
            headers = {"Content-Range": content_range, "ETag": '"2"' if body == b"XY" else '"1"'}
            Failing.asked, Failing.answers = [], [(200, tag, b"abcdef", 4), (206, headers, body, WHOLE)]
            with tempfile.TemporaryDirectory() as folder:
                with self.assertRaises(AnswerError) as caught:
                    self.client.download(os.path.join(folder, "file"))
                self.assertEqual(os.listdir(folder), ["file.part"])
            self.assertEqual((caught.exception.code, len(Failing.asked)), ("unreadable", 2), content_range)

    def test_a_download_continues_without_repetitions_and_without_a_length(self):
        tag = {"ETag": '"1"'}
        client = Client(self.client.base_url, "secret", retries=0)
        for content_range in ("bytes 4-5/6", "bytes 4-5/*"):
            rest = {**tag, "Content-Range": content_range}
            Failing.answers = [(200, tag, b"abcdef", 4), (206, rest, b"ef", WHOLE)]
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "file")
                client.download(file)
                self.assertEqual(pathlib.Path(file).read_bytes(), b"abcdef")

    def test_a_304_without_a_condition_is_refused(self):
        first = (200, {**NDJSON, "Sync-Token": "t", "Link": '</x?cursor=c>; rel="next"'}, b'{"sync_id":"1"}\n', WHOLE)
        stale = (304, {"ETag": '"1"'}, b"", WHOLE)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "file")
            file.write_bytes(b"kept")
            for read, before in (
                (lambda: list(self.client.boards()), []),
                (lambda: list(self.client.boards()), [first]),
                (lambda: list(self.client.sync()), []),
                (lambda: list(self.client.sync()), [first]),
                (lambda: self.client.points(board=7), []),
                (lambda: self.client.insights("overview"), []),
                (lambda: self.client.download(str(file)), []),
                (lambda: self.client.download(str(file)), [(200, {"ETag": '"1"'}, b"abcdef", 4)]),
            ):
                Failing.answers = [*before, stale]
                with self.assertRaises(AnswerError) as caught:
                    read()
                self.assertEqual(caught.exception.code, "redirected")
            self.assertEqual(file.read_bytes(), b"kept")

    def test_a_download_has_an_end(self):
        tag = {"ETag": '"1"'}
        empty = (206, {**tag, "Content-Range": "bytes 4-5/6"}, b"", WHOLE)
        for name, first, then in (
            ("always begins again", (200, {}, b"abcdef", 4), (200, {}, b"abcdef", 4)),
            ("has no more bytes", (200, tag, b"abcdef", 4), empty),
        ):
            Failing.asked, Failing.answers = [], [first] + [then] * 20
            with tempfile.TemporaryDirectory() as folder:
                with self.assertRaises(AnswerError) as caught:
                    self.client.download(os.path.join(folder, "file"))
                self.assertEqual(os.listdir(folder), ["file.part"])
            self.assertEqual(caught.exception.code, "cut-short", name)
            self.assertLess(len(Failing.asked), 8, name)

    def test_sync_starts_again_after_a_refused_token(self):
        problem = json.dumps({"code": "since-invalid", "title": "t", "detail": "d"}).encode()
        Failing.answers = [
            (400, {"Content-Type": "application/problem+json"}, problem, WHOLE),
            (200, {**NDJSON, "Sync-Token": "new", "Link": '</x?cursor=c>; rel="next"'}, b'{"sync_id":"1"}\n', WHOLE),
            (200, {**NDJSON, "Sync-Token": "new"}, b'{"forgotten":{"user":7}}\n{"sync_id":"2","deleted":true}\n', WHOLE),
        ]
        first, second = self.client.sync("old")
        self.assertEqual((first.starts_anew, first.token, len(first.events)), (True, None, 1))
        self.assertEqual((second.forgotten, second.deleted, second.token), ([7], ["2"], "new"))

    def test_retry_after_is_seconds_or_a_date(self):
        moment = (datetime.now(timezone.utc) + timedelta(seconds=30)).strftime("%a, %d %b %Y %H:%M:%S GMT")
        self.assertAlmostEqual(retry_after_of(moment), 30, delta=2)
        self.assertEqual((retry_after_of("5"), retry_after_of("soon"), retry_after_of(None)), (5, None, None))

    def test_no_server_is_an_error(self):
        self.server.shutdown()
        self.server.server_close()
        begun = time.monotonic()
        client = Client(self.client.base_url, "secret", retries=1)
        with self.assertRaises(AnswerError) as caught:
            list(client.boards())
        self.assertEqual(caught.exception.code, "unreachable")
        self.assertGreater(time.monotonic() - begun, 0.2)
        self.setUp()


class Endless(http.server.BaseHTTPRequestHandler):
    """Sends `part` again and again, or the page that `page` makes of the number of the request: its
    lines or the text of a refusal, and the next cursor."""

    page = None
    part = None
    asked = []

    def do_GET(self):
        type(self).asked.append(self.path)
        at = len(type(self).asked)
        lines, cursor = ([], None) if self.page is None else type(self).page(at)
        self.send_response(400 if isinstance(lines, str) else 200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Sync-Token", "t")
        if cursor is not None:
            self.send_header("Link", f'</x?cursor={cursor}>; rel="next"')
        self.end_headers()
        try:
            text = lines if isinstance(lines, str) else "".join(f"{line}\n" for line in lines)
            self.wfile.write(text.encode())
            while self.part is not None:
                self.wfile.write(self.part)
        except OSError:
            pass

    def log_message(self, *words):
        pass


def line(number):
    return json.dumps({"id": number, "sync_id": str(number), "timestamp": "2018-03-12T09:00:00.000+00:00"})


def changed(number):
    return json.dumps({**json.loads(line(1)), "title": str(number)})


class Hostile(unittest.TestCase):
    def setUp(self):
        Endless.asked, Endless.page, Endless.part = [], None, None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_port}/a"
        self.client = Client(url, "secret", retries=0, page_size=10)

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def refusal_of(self, read):
        Endless.asked = []
        with self.assertRaises(CorkboardError) as caught:
            read()
        return caught.exception

    def in_every_way(self):
        """Each way to read pages, with a copy that must stay empty."""
        yield lambda: list(self.client.boards())
        yield lambda: list(self.client.sync())
        yield lambda: list(self.client.sync("old"))
        with tempfile.TemporaryDirectory() as folder, SqliteCopy(os.path.join(folder, "copy")) as copy:
            yield lambda: copy.update(self.client)
            for table in ("events", "users", "boards", "corkboard_sync"):
                self.assertEqual(copy.database.execute(f"SELECT * FROM {table}").fetchall(), [])

    def limits(self):
        queries = (urllib.parse.parse_qs(urllib.parse.urlsplit(path).query) for path in Endless.asked)
        return [query["limit"][0] for query in queries]

    def test_a_line_without_an_end_is_refused(self):
        Endless.part = b"[1," * 20_000
        for read in self.in_every_way():
            tracemalloc.start()
            error = self.refusal_of(read)
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.assertEqual((error.code, len(Endless.asked)), ("unreadable", 1))
            self.assertRegex(str(error), "A line of the response has more than 16,777,216 characters")
            self.assertLess(most, 64e6)

    def test_a_page_without_an_end_is_refused_however_few_elements_are_requested(self):
        for element in (line("x" * 10_000), "{}"):
            Endless.part = f"{element}\n".encode() * 100
            for read in self.in_every_way():
                error = self.refusal_of(read)
                self.assertEqual(error.code, "too-large")
                self.assertEqual(self.limits(), ["10", "3", "1"])

    def test_insights_and_points_without_an_end_are_refused(self):
        Endless.part = b" " * 1_000_000
        with unittest.mock.patch.object(transport, "MOST_BODY_BYTES", 10_000_000):
            for read in (lambda: self.client.points(board=7), lambda: self.client.insights("overview")):
                error = self.refusal_of(read)
                self.assertEqual((error.code, len(Endless.asked)), ("too-large", 1))

    def test_pages_without_an_end_are_refused(self):
        circle = "lead in a circle"
        for name, page, reason in (
            ("its own next page", lambda at: ([line(at)], "c"), circle),
            ("a circle of seven", lambda at: ([line(at)], f"c{at % 7}"), circle),
            ("a circle later", lambda at: ([line(at)], f"new{at}" if at < 6 else f"c{at % 2}"), circle),
            ("the same page", lambda at: ([line(1)], f"c{at}"), circle),
            ("the same erasure", lambda at: (['{"forgotten":{"user":5}}'], f"c{at}"), circle),
            ("the same page with a changed text", lambda at: ([changed(at)], f"c{at}"), circle),
            ("two pages in turn", lambda at: ([line(at % 2)], f"c{at}"), circle),
            ("empty pages", lambda at: ([], f"c{at}"), "is empty and not the last one"),
        ):
            Endless.page = page
            for read in self.in_every_way():
                error = self.refusal_of(read)
                self.assertEqual(error.code, "unreadable", name)
                self.assertRegex(str(error), reason, name)
                self.assertLess(len(Endless.asked), 40, name)

    def test_lists_without_an_end_are_refused_by_a_copy_in_bounded_memory(self):
        def users(at):
            if "/v1/events" in Endless.asked[-1]:
                return [], None
            return [json.dumps({"id": 10 * at + one, "name": "x" * 10_000}) for one in range(10)], f"c{at}"

        Endless.page = users
        with tempfile.TemporaryDirectory() as folder, SqliteCopy(os.path.join(folder, "copy")) as copy:
            with unittest.mock.patch.object(pages, "MOST_PAGES", 200):
                tracemalloc.start()
                error = self.refusal_of(lambda: copy.update(self.client))
                most = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            self.assertRegex(str(error), "more than 200 pages")
            self.assertLess(most, 5e6)
            self.assertEqual(copy.database.execute("SELECT * FROM users").fetchall(), [])

    def test_pages_are_refused_beyond_a_number(self):
        Endless.page = lambda at: ([line(at)], f"c{at}")
        with unittest.mock.patch.object(pages, "MOST_PAGES", 50):
            for read in self.in_every_way():
                error = self.refusal_of(read)
                self.assertRegex(str(error), "more than 50 pages")
                self.assertEqual(len(Endless.asked), 50)

    def test_a_server_that_refuses_its_own_cursors_is_not_asked_without_an_end(self):
        problem = json.dumps({"code": "cursor-scope-changed", "title": "t", "detail": "d"})
        Endless.page = lambda at: ([line(at)], "c") if at % 2 else (problem, None)
        error = self.refusal_of(lambda: list(self.client.sync("old")))
        self.assertEqual(error.code, "cursor-scope-changed")
        self.assertLessEqual(len(Endless.asked), 8)

    def test_a_page_of_long_texts_is_read_as_smaller_ones(self):
        texts = [json.dumps({"id": at, "sync_id": str(at), "body": "x" * 1_000_000}) for at in range(60)]
        client = Client(self.client.base_url, "secret", retries=0, page_size=50)

        def page(at):
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(Endless.asked[-1]).query)
            first = int(query.get("cursor", ["0"])[0])
            following = first + int(query["limit"][0])
            return texts[first:following], following if following < len(texts) else None

        Endless.page = page
        self.assertEqual([board["id"] for board in client.boards()], list(range(60)))
        self.assertEqual(self.limits(), ["50"] + ["13"] * 5)
        Endless.asked = []
        events = [event["id"] for batch in client.sync() for event in batch.events]
        self.assertEqual((events, self.limits()), (list(range(60)), ["50"] + ["13"] * 5))

    def test_lines_that_are_no_objects_are_refused(self):
        for text in ("5", "null", "[" * 100_000, "x", '{"forgotten":null}', '{"deleted":true}', "{}"):
            Endless.page = lambda at: ([text], None)
            error = self.refusal_of(lambda: list(self.client.sync()))
            self.assertEqual(error.code, "unreadable", text[:30])

    def test_events_of_others_are_refused_by_a_copy(self):
        for text in (
            '{"sync_id":"1"}',
            '{"timestamp":"x"}',
            '{"sync_id":"1","timestamp":"x","actor":5}',
            '{"sync_id":"1","timestamp":"x","actor":{"id":99999999999999999999}}',
            '{"sync_id":"1","timestamp":{"a":1}}',
            '{"sync_id":null,"timestamp":"x"}',
            '{"sync_id":"\\ud800","timestamp":"x"}',
            '{"sync_id":{},"deleted":true}',
            '{"forgotten":{"user":{}}}',
        ):
            Endless.page = lambda at: ([text], None)
            with tempfile.TemporaryDirectory() as folder, SqliteCopy(os.path.join(folder, "copy")) as copy:
                self.assertEqual(self.refusal_of(lambda: copy.update(self.client)).code, "unreadable", text)


if __name__ == "__main__":
    unittest.main()
