"""When windows fire, and with which rows: a slow, obvious model, first as Flink does it, then by our own rules.

A case is one of `tests/conformance/flink_windows.json`, whose README defines its fields. Without rules the model is
Flink's own operator. Each rule of OURS is one difference that `docs/windows.md` lists; with all of them it is ours.

A pane is one window of one key: its rows, its timers, and one state for each trigger. A row goes into its panes, and
each trigger says whether to fire. The watermark or the clock rings the timers that are due, earliest first.
"""

from __future__ import annotations

from typing import Any

FOREVER = 2**63 - 1
EVENT_ORDER = "rows wait until the watermark has passed them, and are taken in the order of their times"
BEFORE_TIME = "EARLY EVERY at time t sees the rows before t, not those at t"
NEEDS_ROW = "a firing needs a row since the window's last one, ON_TIME apart"
FLOOR = "multiples of a duration are counted downwards before 1970, too"
ON_GRID = "a session that grows keeps to the multiples of the duration"
ROWS_STAY = "an evictor chooses rows for one firing and deletes none"
GROWN_IS_LATE = "a session that was ON_TIME and grows is LATE, and MERGED says which sessions are no more"
LATE_ONCE = "late rows make a complete window fire once in their micro-batch"
LATE_BY_ROW = "a row is late by its own time, whatever its windows are"
SESSION_END = "a session is complete at its end, where a row would still be a part of it"
WALL_CLOCK = "a trigger on the clock is not held against the end of the window"
EVERY_NTH = "EVERY n ROWS fires on the rows n, 2n, … of the window, whatever joined it"
AT_END = "a global window fires at the end of the input"
OURS = frozenset({
    EVENT_ORDER, BEFORE_TIME, NEEDS_ROW, FLOOR, ON_GRID, ROWS_STAY, GROWN_IS_LATE, LATE_ONCE, LATE_BY_ROW, SESSION_END,
    WALL_CLOCK, EVERY_NTH, AT_END,
})  # fmt: skip

Row = dict[str, Any]
Window = tuple[Any, Any]


def windows_of(assigner: list, ts: int) -> list[Window]:
    """The windows of a row, [start, end) each."""

    def floor(step: int, offset: int) -> int:
        return ts - (ts - offset) % step

    kind, *sizes = assigner
    if kind == "tumble":
        size, offset = sizes
        return [(floor(size, offset), floor(size, offset) + size)]
    if kind == "hop":
        slide, size, offset = sizes
        return [(start, start + size) for start in range(floor(slide, offset), ts - size, -slide)]
    if kind == "cumulate":
        step, size, offset = sizes
        start = floor(size, offset)
        return [(start, end) for end in range(floor(step, offset) + step, start + size + 1, step)]
    return [(ts, ts + sizes[0])] if kind == "session" else [(None, None)]


def evicted(evictor: list | None, rows: list[Row]) -> list[Row]:
    """The rows that an evictor leaves."""
    kind, x = evictor or (None, None)
    if kind == "count":
        return rows[max(0, len(rows) - x) :]
    if kind == "time":
        return [r for r in rows if r["ts"] > max(q["ts"] for q in rows) - x]
    if kind == "delta":
        return [r for r in rows if abs(rows[-1]["value"] - r["value"]) < x]
    return rows


class Trigger:
    """One trigger of one pane. `state` is a count, the value of a row, or the time that is set."""

    def __init__(self, rules: frozenset[str], kind: str, x: int | None = None):
        self.rules, self.kind, self.x, self.state = rules, kind, x, None

    def fires_on_row(self, pane: Pane, row: Row | None, now: dict[str, int]) -> bool:
        kind = self.kind
        if kind in ("watermark", "every_time") and pane.last <= now["event"]:
            return True
        if kind == "watermark":
            pane.timers.add(("event", pane.last))
        elif kind == "every_time" and ON_GRID in self.rules:
            pane.timers.add(("event", self._next(max(row["ts"], now["event"] + 1)) - (BEFORE_TIME in self.rules)))
        elif kind == "every_time" and self.state is None:
            self._set(pane, "event", self._next(row["ts"]))
        elif kind == "every_proc" and WALL_CLOCK in self.rules:
            pane.timers.add(("proc", self._next(now["proc"])))
        elif kind == "every_proc" and self.state is None:
            self._set(pane, "proc", self._next(now["proc"]))
        elif kind == "delay_proc" and self.state is None:
            self.state = now["proc"] + self.x
            pane.timers.add(("proc", self.state))
        elif kind == "count":
            self.state = (self.state or 0) + 1
            if EVERY_NTH in self.rules:
                return self.state % self.x == 0
            self.state = 0 if self.state >= self.x else self.state
            return self.state == 0
        elif kind == "delta":
            is_first = self.state is None
            if is_first or abs(row["value"] - self.state) > self.x:
                self.state = row["value"]
                return not is_first
        return False

    def _next(self, time: int) -> int:
        """The first multiple after a time; Flink passes one over before 1970."""
        return time // self.x * self.x + self.x if FLOOR in self.rules else int(time / self.x) * self.x + self.x

    def _set(self, pane: Pane, clock: str, time: int) -> None:
        self.state = min(time, pane.last)
        pane.timers.add((clock, self.state))

    def fires_on_timer(self, pane: Pane, clock: str, time: int) -> bool:
        kind = self.kind
        if kind == "watermark":
            return clock == "event" and time == pane.last
        if kind == "every_time" and clock == "event" and ON_GRID in self.rules:
            multiple = time + (BEFORE_TIME in self.rules)
            return multiple % self.x == 0 and multiple < pane.end
        if kind == "every_proc" and clock == "proc" and WALL_CLOCK in self.rules:
            return time % self.x == 0
        if (kind, clock) in (("every_time", "event"), ("every_proc", "proc")) and time in (self.state, pane.last):
            if time != pane.last:
                self._set(pane, clock, time + self.x)
            return True
        if (kind, clock) == ("delay_proc", "proc") and time == self.state:
            self.state = None
            return True
        return False

    def join(self, pane: Pane, old: list[Trigger], now: dict[str, int]) -> None:
        """Take over from the triggers of the sessions that became one."""
        states = [t.state for t in old if t.state is not None]
        if self.kind == "watermark":
            self.fires_on_row(pane, None, now)
        elif self.kind == "count":
            self.state = sum(states)
        elif states:
            self._set(pane, "event" if self.kind == "every_time" else "proc", min(states))


class Pane:
    """One window of one key. `fired`: how often it has fired; `news`: whether it has a row since then."""

    def __init__(self, key: str, window: Window, case: dict, rules: frozenset[str]):
        self.key, self.window, self.rows, self.timers = key, window, [], set()
        self.was_on_time, self.fired, self.news = False, 0, False
        is_session, is_global = case["assigner"][0] == "session", window[1] is None
        self.end = FOREVER if is_global else window[1]
        self.last = self.end if is_global or (is_session and SESSION_END in rules) else self.end - 1
        self.close = self.last if is_global else self.last + case["lateness"]
        own = [] if is_global and AT_END not in rules else [Trigger(rules, "watermark")]
        self.triggers = own + [Trigger(rules, *t) for t in case["triggers"] if t != ["watermark"]]


def hash_order(pane: Pane) -> int:
    """Where Java's HashSet keeps a TimeWindow: in this order the rows of two joined sessions follow each other."""
    h = sum(pane.window) % 2**64
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    h = (h ^ h >> 27) * 0x94D049BB133111EB % 2**64
    h = (h ^ h >> 31) % 2**32
    return (h ^ h >> 16) & 15


class Model:
    """The state of all windows. `answer` runs a whole script."""

    def __init__(self, case: dict, rules: frozenset[str]):
        self.case, self.rules = case, rules
        self.now = {"event": -FOREVER - 1, "proc": 0}
        self.panes: dict[tuple[str, Window], Pane] = {}
        self.firings: list[dict] = []
        self.late: list[int] = []
        self.waiting: list[tuple[str, Row]] = []  # EVENT_ORDER: rows that the watermark has not passed
        self.allowed: list[tuple[str, Row]] = []  # EVENT_ORDER: late rows of this micro-batch that are allowed
        self.corrected: dict[tuple[str, Window], Pane] = {}  # LATE_ONCE: the complete windows that got some of them
        self.moment: int | None = None  # EVENT_ORDER: the time of a firing that a late row causes
        self.at = 0

    def step(self, at: int, what: str, x: list) -> None:
        self.at = at
        if what == "row":
            self.arrive(x[0], {"ts": x[1], "value": x[2], "id": x[3]})
        elif what == "proc":
            self.ring("proc", x[0])
        else:
            self.pass_rows(x[0])
            self.ring("event", x[0])

    # rows

    def arrive(self, key: str, row: Row) -> None:
        if EVENT_ORDER not in self.rules:
            self.take(key, row)
        elif row["ts"] > self.now["event"]:
            self.waiting.append((key, row))
        elif row["ts"] + self.case["lateness"] <= self.now["event"]:
            self.late.append(row["id"])
        else:
            self.allowed.append((key, row))

    def pass_rows(self, watermark: int) -> None:
        """EVENT_ORDER: take the rows that the watermark passes, each when the time has come to it."""
        self.moment = max(watermark, self.now["event"] + 1)
        allowed = sorted(self.allowed, key=_in_order)
        if self.case["assigner"][0] == "session":  # late rows find the sessions that all of them make
            for key, row in allowed:
                (own,) = windows_of(self.case["assigner"], row["ts"])
                window = self.session(key, own)
                self.panes.setdefault((key, window), Pane(key, window, self.case, self.rules))
        for key, row in allowed:
            self.take(key, row)
        for pane in self.corrected.values():
            self.fire(pane, self.moment)
        self.allowed, self.corrected, self.moment = [], {}, None
        passed = [entry for entry in self.waiting if entry[1]["ts"] <= watermark]
        self.waiting = [entry for entry in self.waiting if entry[1]["ts"] > watermark]
        for key, row in sorted(passed, key=_in_order):
            self.ring("event", row["ts"] - 1)
            self.take(key, row)

    def take(self, key: str, row: Row) -> None:
        is_session = self.case["assigner"][0] == "session"
        is_taken = False
        for own in windows_of(self.case["assigner"], row["ts"]):
            window = self.session(key, own) if is_session else own
            pane = self.panes.get((key, window)) or Pane(key, window, self.case, self.rules)
            if pane.close > self.now["event"]:
                is_taken, self.panes[key, window] = True, pane
                pane.rows, pane.news = [*pane.rows, row], True
                if EVENT_ORDER in self.rules:
                    pane.rows.sort(key=lambda r: (r["ts"], r["value"], r["id"]))
                pane.timers.add(("event", pane.close))
                is_complete = pane.last <= self.now["event"]
                fires = any([t.fires_on_row(pane, row, self.now) for t in pane.triggers])
                is_open_again = self.moment is not None and pane.was_on_time
                if (is_complete or is_open_again) and LATE_ONCE in self.rules:
                    self.corrected[key, window] = pane
                elif fires:
                    self.fire(pane, row["ts"] if self.moment is None else self.moment)
        is_late = row["ts"] + self.case["lateness"] <= self.now["event"]
        if not is_taken and is_late:
            self.late.append(row["id"])

    def session(self, key: str, window: Window) -> Window:
        """The session that `window` ends up in: those that it touches become one, with the states of their triggers."""
        touching = [
            p for p in self.panes.values() if p.key == key and p.window[0] <= window[1] and p.window[1] >= window[0]
        ]
        old = sorted(touching, key=lambda p: p.window)
        whole = min([window[0], *(p.window[0] for p in old)]), max([window[1], *(p.window[1] for p in old)])
        if not old or whole in [p.window for p in old]:
            return whole
        pane = self.panes[key, whole] = Pane(key, whole, self.case, self.rules)
        pane.rows = [row for p in sorted(old, key=hash_order) for row in p.rows]
        for k, trigger in enumerate(pane.triggers):
            trigger.join(pane, [p.triggers[k] for p in old], self.now)
        for p in old:
            del self.panes[key, p.window]
            self.corrected.pop((key, p.window), None)
            pane.news |= p.news
            if ON_GRID in self.rules:
                pane.timers |= {(clock, time) for clock, time in p.timers if time not in (p.last, p.close)}
            if GROWN_IS_LATE in self.rules:
                pane.was_on_time |= p.was_on_time
                if p.window[0] == whole[0]:
                    pane.fired = p.fired
                elif p.fired:
                    self.record(p, [], "MERGED", self.moment)
        return whole

    # firings

    def ring(self, clock: str, time: int) -> None:
        """Ring all timers up to a time: with EVENT_ORDER each when the time has come to it, else all at the end."""
        until, rung = max(self.now[clock], time), 0
        if EVENT_ORDER not in self.rules:
            self.now[clock] = until
        while due := sorted(
            (t, n) for n, p in enumerate(self.panes.values()) for c, t in p.timers if c == clock and t <= until
        ):
            rung += 1
            assert rung < 20000, "a global window's every_time rings for ever"
            at, pane = due[0][0], list(self.panes.values())[due[0][1]]
            pane.timers.discard((clock, at))
            self.now[clock] = max(self.now[clock], at)
            if any([t.fires_on_timer(pane, clock, at) for t in pane.triggers]):
                self.fire(pane, at if clock == "event" else self.now["event"] + 1)
            if (clock, at) == ("event", pane.close):
                del self.panes[pane.key, pane.window]
        self.now[clock] = until

    def fire(self, pane: Pane, time: int) -> None:
        is_complete = self.now["event"] >= pane.last or pane in self.corrected.values()
        timing = "EARLY" if not is_complete else "LATE" if pane.was_on_time else "ON_TIME"
        if not pane.rows or (NEEDS_ROW in self.rules and not pane.news and timing != "ON_TIME"):
            return
        rows = evicted(self.case["evict"], pane.rows)
        pane.was_on_time |= timing != "EARLY"
        pane.news = False
        self.record(pane, rows, timing, time)
        if ROWS_STAY not in self.rules:
            pane.rows = rows
        if self.case["discarding"]:
            pane.rows = []

    def record(self, pane: Pane, rows: list[Row], timing: str, time: int) -> None:
        pane.fired += 1
        start, end = pane.window
        firing = {"at": self.at, "key": pane.key, "start": start, "end": end, "ids": [r["id"] for r in rows]}
        self.firings.append({**firing, "timing": timing, "firing": pane.fired, "time": time})


def _in_order(entry: tuple[str, Row]) -> tuple:
    _, row = entry
    return row["ts"], row["value"], row["id"]


def answer(case: dict, rules: frozenset[str] = frozenset()) -> dict:
    """The firings of a case in order, each with its number in its window (`firing`) and its `time`, and the late rows.

    >>> case = {"assigner": ["tumble", 10, 0], "triggers": [["count", 2]], "discarding": False, "lateness": 0,
    ...         "evict": None, "script": [["row", "a", 3, 5, 0], ["row", "a", 1, 5, 1], ["watermark", 9]]}
    >>> [(f["ids"], f["timing"]) for f in answer(case)["firings"]]
    [([0, 1], 'EARLY'), ([0, 1], 'ON_TIME')]
    >>> [(f["ids"], f["timing"], f["time"]) for f in answer(case, OURS)["firings"]]
    [([1, 0], 'EARLY', 3), ([1, 0], 'ON_TIME', 9)]
    """
    if case["assigner"][0] == "session" and {t[0] for t in case["triggers"]} & {"delta", "delay_proc"}:
        return {"firings": [], "late": [], "error": True}
    model = Model(case, rules)
    for at, (what, *x) in enumerate(case["script"]):
        model.step(at, what, x)
    return {"firings": model.firings, "late": model.late, "error": None}
