"""Time zones whose clocks change in different ways, and instants at which they do, for tests that draw both."""

from __future__ import annotations

import random
from datetime import datetime, timezone

HOUR_S, SECOND_US = 3_600, 1_000_000


def _at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp())


CHANGES = {
    "UTC": (_at("2026-03-29 01:00"),),  # none, like all others a time in seconds
    "Europe/Berlin": (_at("2026-03-29 01:00"), _at("2026-10-25 01:00")),
    "America/New_York": (_at("2026-03-08 07:00"), _at("2026-11-01 06:00")),
    "Australia/Lord_Howe": (_at("2026-04-04 15:00"), _at("2026-10-03 15:30")),  # half an hour
    "Pacific/Apia": (_at("2011-12-30 10:00"), _at("2011-09-24 14:00")),  # a day that the calendar does not have
    "Asia/Kathmandu": (_at("1985-12-31 18:30"),),  # a quarter of an hour, once
}


def zone_and_change(chance: random.Random) -> tuple[str, int]:
    """A time zone and a time at which its clocks change, in seconds since 1970."""
    zone = chance.choice(list(CHANGES))
    return zone, chance.choice(CHANGES[zone])
