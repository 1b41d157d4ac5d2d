"""The budget at the wire: overshoot 0, whatever a provider states and however it breaks."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from gateway_rig import (
    PATHS,
    PROTOCOLS,
    ask,
    opened,
    provider,
    provider_config,
    request,
    script_config,
    streamed,
    whole,
)
from msgspec import structs

from bench.gateway import (
    Allowance,
    Ceiling,
    Hold,
    Limit,
    ModelProtocol,
    Rates,
    Refused,
    TokenUsage,
    UnlimitedPurse,
)
from bench.gateway.script import Reply
from bench.gateway.telling import tell

RATES = Rates(input=3, output=15, cache_read=1, cache_write=4, cache_write_hour=6)
ADVERSARIES: dict[str, Mapping[str, Any]] = {
    "cache writes": {"usage": {"input": 0, "cache_read": 0, "cache_write": 10**9, "output": 1}},
    "more output than asked": {"usage": {"input": 1, "cache_read": 0, "cache_write": 0, "output": 10**9}},
    "no usage": {"text": "x"},
    "usage of nonsense": {"usage": {"input": -5, "output": True, "cache_read": None}},
    "cut": {"fault": "cut", "usage": {"input": 1, "cache_read": 0, "cache_write": 0, "output": 1}},
    "malformed": {"fault": "malformed", "usage": {"input": 1, "cache_read": 0, "output": 1}},
    "two terminals": {"fault": "two_terminals", "usage": {"input": 1, "cache_read": 0, "output": 1}},
    "dropped": {"fault": "drop_connection"},
    "html": {"fault": "html"},
}


class Watched:
    """A purse that notes the most that was ever settled and held together."""

    def __init__(self, most: int) -> None:
        self.inner = Allowance([Limit("money", most, RATES)])
        self.peak = 0

    def reserve(self, ceiling: Ceiling) -> Hold | Refused:
        hold = self.inner.reserve(ceiling)
        self.look()
        return hold if isinstance(hold, Refused) else _Seen(self, hold)

    def look(self) -> None:
        self.peak = max(self.peak, self.inner.held["money"] + self.inner.settled["money"])


class _Seen:
    def __init__(self, purse: Watched, hold: Hold) -> None:
        self.purse, self.hold = purse, hold

    def settle(self, usage: TokenUsage | None) -> None:
        self.hold.settle(usage)
        self.purse.look()


def spend(
    folder: Path, reply: Mapping[str, Any], protocol: ModelProtocol, most: int
) -> tuple[Watched, int, int]:
    """Ask until the purse refuses, from 4 threads at once: the purse, the requests paid, those refused."""
    purse = Watched(most)
    with opened(script_config(folder, {"reply": reply})) as gateway:
        cell = gateway.open_cell("c", "t", folder)
        cell.begin("work", purse)

        def until_refused() -> None:
            while not purse_refused():
                try:
                    ask(cell.socket, PATHS[protocol], request(protocol, stream=True))
                except OSError:
                    continue  # a dropped connection

        def purse_refused() -> bool:
            return bool(cell.traffic().refused())

        threads = [threading.Thread(target=until_refused) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        traffic = cell.close()
    return purse, traffic.requests(), len(traffic.refused())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ADVERSARIES)
def test_no_provider_can_make_a_cell_spend_more_than_its_purse_holds(
    name: str, protocol: ModelProtocol, tmp_path: Path
) -> None:
    purse, paid, refused = spend(tmp_path, ADVERSARIES[name], protocol, 60_000)
    assert paid >= 1
    assert refused >= 1
    assert purse.peak <= 60_000
    assert purse.inner.held["money"] == 0


def test_a_request_without_a_limit_is_held_at_the_models_maximum(tmp_path: Path) -> None:
    asked = request("openai_chat")
    del asked["max_completion_tokens"]
    ceilings = []

    class Notes:
        def reserve(self, ceiling: Ceiling) -> Refused:
            ceilings.append(ceiling)
            return Refused("noted")

    with opened(script_config(tmp_path, {"reply": {}})) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", Notes())
        ask(cell.socket, PATHS["openai_chat"], asked)
    assert ceilings[0].output_tokens == 8_000


def test_what_a_provider_states_beyond_the_ceiling_is_a_cause(tmp_path: Path) -> None:
    reply = {"usage": {"input": 1, "cache_read": 0, "cache_write": 0, "output": 5000}}
    purse = Allowance([Limit("money", 10**6, RATES)])
    with opened(script_config(tmp_path, {"reply": reply})) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", purse)
        ask(cell.socket, PATHS["anthropic_messages"], request("anthropic_messages"))
        traffic = cell.close()
    record = traffic.records[0]
    assert record.cause == "above-ceiling"
    assert traffic.usage().output == 5000
    assert record.ceiling is not None
    assert purse.settled["money"] == RATES.ceiling(record.ceiling)


def test_the_rest_of_a_budget_is_there_for_the_next_request(tmp_path: Path) -> None:
    parts = tell(
        "anthropic_messages",
        Reply(usage={"input": 1, "cache_read": 0, "cache_write": 0, "output": 1}), "model-1", "x", stream=True,
    ).parts  # fmt: skip
    with provider(streamed(*parts)) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        asked = request("anthropic_messages", stream=True)
        one = RATES.ceiling(Ceiling(model="model-1", input_tokens=2300, output_tokens=100))
        cell.begin("work", Allowance([Limit("money", one + 20 * 18, RATES)]))
        answers = [ask(cell.socket, PATHS["anthropic_messages"], asked).status for _ in range(20)]
        cell.close()
    assert answers == [200] * 20


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_session_gets_no_more_answers_than_its_turns_and_the_next_one_counts_anew(
    protocol: ModelProtocol, tmp_path: Path
) -> None:
    with (
        provider(whole(b"{}", kind="application/json")) as server,
        opened(provider_config(server.base, tmp_path)) as gateway,
    ):
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("plan", UnlimitedPurse(), turns=2)
        told = [ask(cell.socket, PATHS[protocol], request(protocol)).status for _ in range(4)]
        cell.begin("work", UnlimitedPurse())
        told += [ask(cell.socket, PATHS[protocol], request(protocol)).status for _ in range(3)]
        causes = [each.cause for each in cell.close().refused()]
    final = 429 if protocol == "openai_responses" else 403
    assert told == [200, 200, final, final, 200, 200, 200]
    assert causes == ["too-many-requests"] * 2
    assert len(server.seen) == 5


def test_what_is_held_for_a_client_that_left_meanwhile_is_given_back(tmp_path: Path) -> None:
    purse, asked, left = Watched(10**6), threading.Event(), threading.Event()

    class Slow:
        def reserve(self, ceiling: Ceiling) -> Hold | Refused:
            asked.set()
            left.wait(30)
            return purse.reserve(ceiling)

    with opened(script_config(tmp_path, {"reply": {"text": "x"}})) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", Slow())
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
            client.connect(str(cell.socket))
            body = json.dumps(request("openai_chat")).encode()
            head = f"POST {PATHS['openai_chat']} HTTP/1.1\r\nHost: c\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            assert asked.wait(30)
        left.set()
        cell.close()
        assert purse.inner.held["money"] == 0
        assert purse.peak > 0


def test_a_gateway_that_dies_charges_what_was_under_way_at_its_ceiling(tmp_path: Path) -> None:
    purse = Watched(10**6)
    held = threading.Event()

    class Tells:
        def reserve(self, ceiling: Ceiling) -> Hold | Refused:
            hold = purse.reserve(ceiling)
            held.set()
            return hold

    import os
    import signal

    with opened(script_config(tmp_path, {"reply": {"fault": "hang_before_headers"}})) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", Tells())
        thread = threading.Thread(target=lambda: _quietly(cell.socket))
        thread.start()
        assert held.wait(30)
        os.kill(gateway.pid, signal.SIGKILL)
        thread.join()
        cell.close()
        assert purse.inner.held["money"] == 0
        assert purse.inner.settled["money"] == purse.peak > 0


def _quietly(path: Path) -> None:
    try:
        ask(path, PATHS["openai_chat"], request("openai_chat"))
    except OSError:
        return


@pytest.mark.parametrize("fault", ["html", "cut", "malformed", "two_terminals"])
def test_an_agent_that_asks_without_end_what_cannot_be_answered_is_refused_and_pays_no_more(
    tmp_path: Path, fault: str
) -> None:
    with opened(script_config(tmp_path, {"reply": {"fault": fault}}, distrusted=3)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        purse = Allowance([Limit("money", 10**9, RATES)])
        cell.begin("work", purse)
        for _ in range(6):
            with suppress(OSError, http.client.HTTPException, ValueError):
                ask(cell.socket, PATHS["anthropic_messages"], request("anthropic_messages", stream=True))
        traffic = cell.close()
    causes = [record.cause for record in traffic.records]
    assert causes[3:] == ["distrusted"] * 3
    assert "distrusted" not in causes[:3]
    first = traffic.records[0]
    assert first.ceiling is not None
    assert purse.settled["money"] == 3 * RATES.ceiling(first.ceiling)


def test_answers_that_only_state_no_usage_and_a_good_one_in_between_are_no_reason_for_distrust(
    tmp_path: Path,
) -> None:
    good = {"text": "x", "usage": {"input": 1, "cache_read": 0, "cache_write": 0, "output": 1}}
    replies = [
        *({"when": {"turn": turn}, "reply": {"fault": "html"}} for turn in (0, 1, 3, 4)),
        {"when": {"turn": 2}, "reply": good},
        {"reply": {"text": "no usage"}},
    ]
    with opened(script_config(tmp_path, *replies, distrusted=3)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", Allowance([Limit("money", 10**9, RATES)]))
        for _ in range(12):
            ask(cell.socket, PATHS["anthropic_messages"], request("anthropic_messages"))
        traffic = cell.close()
    assert [record.cause for record in traffic.records].count("distrusted") == 0


PAGE = whole(b"<html>log in</html>", kind="text/html")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_refused_for_distrust_is_told_in_the_protocol_and_not_asked_upstream(
    protocol: ModelProtocol, tmp_path: Path
) -> None:
    with provider(PAGE) as server:
        config = provider_config(server.base, tmp_path)
        limits = structs.replace(config.limits, distrusted=3)
        with opened(structs.replace(config, limits=limits)) as gateway:
            cell = gateway.open_cell("c", "t", tmp_path)
            cell.begin("plan", UnlimitedPurse())
            told = [ask(cell.socket, PATHS[protocol], request(protocol)) for _ in range(5)]
            asked = len(server.seen)
            cell.begin("work", UnlimitedPurse())
            ask(cell.socket, PATHS[protocol], request(protocol))
            records = cell.close().records
    assert (asked, len(server.seen)) == (3, 4)  # another session is trusted anew
    assert [each.status for each in told] == [200] * 3 + [429 if protocol == "openai_responses" else 403] * 2
    assert told[4].headers["x-should-retry"] == "false"
    kind = "permission_error" if protocol == "anthropic_messages" else "insufficient_quota"
    assert told[4].json["error"]["type"] == kind
    assert [(each.settled, each.usage) for each in records[3:5]] == [(None, None)] * 2


@pytest.mark.parametrize("status", [404, 502, 503])
def test_an_error_between_answers_that_cannot_be_trusted_makes_them_no_better(
    status: int, tmp_path: Path
) -> None:
    replies = [
        *({"when": {"turn": turn}, "reply": {"error": {"status": status}}} for turn in (1, 3)),
        {"reply": {"fault": "html"}},
    ]
    with opened(script_config(tmp_path, *replies, distrusted=3)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        for _ in range(6):
            ask(cell.socket, PATHS["anthropic_messages"], request("anthropic_messages"))
        causes = [record.cause for record in cell.close().records]
    page, error = "not-the-protocol", "provider-error"
    assert causes == [page, error, page, error, page, "distrusted"]
