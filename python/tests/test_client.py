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
import unittest
import urllib.request
from datetime import datetime, timedelta, timezone

import corkboard_client
from corkboard_client import AnswerError, Client, CorkboardError, ProblemError, SqliteCopy
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

    def test_redirects_are_not_followed(self):
        Failing.answers = [(302, {"Location": "http://127.0.0.1:1/"}, b"", WHOLE)]
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


if __name__ == "__main__":
    unittest.main()
