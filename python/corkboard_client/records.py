"""The records of the API, as types. Members of later versions are kept, too."""
from __future__ import annotations

from typing import List, TypedDict


class Person(TypedDict):
    id: int
    email: str
    name: str
    role: str
    class_role: str


class Organization(TypedDict):
    id: int
    name: str
    domain: str
    category_id: int


class Pin(TypedDict):
    id: int
    activity: str
    title: str
    body: str
    web_url: str
    image_url: str
    tags: List[str]


class BoardRef(TypedDict):
    id: int
    title: str
    category: str


class _Event(TypedDict):
    type: str
    action: str
    owner: Person
    actor: Person
    organization: Organization
    board: BoardRef
    timestamp: str


class Event(_Event, total=False):
    """Has `pin` if and only if its type is `pin`, and `sync_id` only in batches of `sync`."""

    pin: Pin
    sync_id: str


class Board(TypedDict, total=False):
    """Boards of Variant A have no `category`."""

    id: int
    title: str
    category: str


class User(TypedDict, total=False):
    """Users of Variant A have first and last names, those of Variant B `name` and `role`."""

    id: int
    email: str
    first_name: str
    last_name: str
    name: str
    role: str


class PointsRecord(TypedDict):
    user_id: int
    board_id: int
    email: str
    total_points: int
    participation_score: int
