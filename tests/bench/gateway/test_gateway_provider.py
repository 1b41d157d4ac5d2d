"""Requests through a real gateway process to a real HTTP server: bytes, headers, causes, charges."""

import json
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from gateway_rig import (
    KEY,
    PATHS,
    PROTOCOLS,
    Client,
    ask,
    opened,
    provider,
    provider_config,
    request,
    streamed,
    whole,
)
from msgspec.structs import replace

from bench.gateway import Allowance, CellTraffic, Limit, ModelProtocol, TokenTariff, UnlimitedPurse
from bench.gateway.script import Reply
from bench.gateway.telling import tell

REPLY = Reply(text="ok", usage={"input": 10, "cache_read": 4, "cache_write": 3, "output": 9})
ODD = b'{ "usage" : {"prompt_tokens":1,  "completion_tokens":2}, "\\u00e9": "\xc3\xa9" }\n'


def events(protocol: ModelProtocol) -> tuple[bytes, ...]:
    return tell(protocol, REPLY, "served-1", "x", stream=True).parts


def drive(folder: Path, behaviour: Any, protocol: ModelProtocol, **upstream: Any) -> tuple[Any, CellTraffic]:
    """One streamed request, what its client got, and the traffic."""
    with provider(behaviour) as server, opened(provider_config(server.base, folder, **upstream)) as gateway:
        cell = gateway.open_cell("c", "t", folder)
        cell.begin("work", UnlimitedPurse())
        got = ask(cell.socket, PATHS[protocol], request(protocol, stream=True))
        return got, cell.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_bytes_pass_unchanged_in_both_directions(protocol: ModelProtocol, tmp_path: Path) -> None:
    body = b' {"model" : "model-1",\n "max_tokens":5, "max_output_tokens" :5, "messages":[], "x":1.50e2, "\xc3\xa9":"\\ud83d"}\t'
    with provider(whole(ODD)) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        got = ask(cell.socket, PATHS[protocol] + "?beta=true&x=%20", body)
        cell.close()
    assert got.body == ODD
    assert server.seen[0].body == body
    assert server.seen[0].path == PATHS[protocol] + "?beta=true&x=%20"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_passes_unchanged_and_is_counted(protocol: ModelProtocol, tmp_path: Path) -> None:
    got, traffic = drive(tmp_path, streamed(*events(protocol)), protocol)
    assert got.body == b"".join(events(protocol))
    assert got.headers["content-type"] == "text/event-stream"
    usage = traffic.usage("work")
    assert (usage.input, usage.cache_read, usage.cache_write, usage.total_input, usage.output) == (
        10,
        4,
        3,
        17,
        9,
    )
    record = traffic.records[0]
    assert (record.model, record.served, record.status, record.settled) == (
        "model-1",
        "served-1",
        200,
        "actual",
    )


@pytest.mark.parametrize(
    ("kind", "protocol", "name", "value"),
    [
        ("anthropic", "anthropic_messages", "x-api-key", KEY),
        ("openai", "openai_responses", "authorization", f"Bearer {KEY}"),
        ("openai", "openai_chat", "authorization", f"Bearer {KEY}"),
        ("openai_compatible", "openai_chat", "authorization", f"Bearer {KEY}"),
    ],
)
def test_the_real_key_is_put_in_and_nothing_that_the_client_claims_goes_on(
    kind: str, protocol: ModelProtocol, name: str, value: str, tmp_path: Path
) -> None:
    with provider(whole({})) as server, opened(provider_config(server.base, tmp_path, kind=kind)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        claims = {
            "authorization": "Bearer cell-token", "x-api-key": "cell-token", "cookie": "a=b", "x-cell": "other",
            "anthropic-beta": "b1", "user-agent": "cli/1", "x-forwarded-for": "1.2.3.4", "forwarded": "x",
        }  # fmt: skip
        with closing(Client(cell.socket)) as client:
            client.ask(PATHS[protocol], request(protocol), claims)
        cell.close()
    headers = server.seen[0].headers
    assert headers[name] == value
    assert headers["anthropic-beta"] == "b1"
    assert headers["user-agent"] == "cli/1"
    assert "cell-token" not in str(headers)
    assert not {"cookie", "x-cell", "x-forwarded-for", "forwarded"} & headers.keys()
    assert headers["accept-encoding"] == "identity"


def test_attribution_is_by_socket_whatever_a_client_claims(tmp_path: Path) -> None:
    with provider(whole({})) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        cells = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            cell = gateway.open_cell(name, "t", tmp_path / name)
            cell.begin(name, UnlimitedPurse())
            cells.append(cell)
        ask(
            cells[0].socket,
            PATHS["openai_chat"],
            request("openai_chat"),
            authorization=f"Bearer {cells[1].token}",
        )
        assert [cell.close().requests() for cell in cells] == [1, 0]


@pytest.mark.parametrize(
    ("status", "cause", "settled"),
    [
        (400, "provider-error", "nothing"),
        (401, "key-refused", "nothing"),
        (403, "key-refused", "nothing"),
        (404, "provider-error", "nothing"),
        (429, "provider-error", "nothing"),
        (500, "provider-error", "nothing"),
        (502, "provider-error", "ceiling"),
        (504, "provider-error", "ceiling"),
        (529, "provider-error", "nothing"),
    ],
)
def test_a_providers_error_passes_unchanged_and_has_its_cause(
    status: int, cause: str, settled: str, tmp_path: Path
) -> None:
    body = {"type": "error", "error": {"message": "no such model"}}
    got, traffic = drive(tmp_path, whole(body, status, retry_after="1"), "anthropic_messages")
    assert (got.status, got.json, got.headers["retry-after"]) == (status, body, "1")
    record = traffic.records[0]
    assert (record.cause, record.settled, record.status) == (cause, settled, status)
    assert "no such model" in record.detail


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_of_a_cut_stream_the_stated_part_is_kept_and_the_client_sees_the_cut(
    protocol: ModelProtocol, tmp_path: Path
) -> None:
    got, traffic = drive(tmp_path, streamed(*events(protocol)[:2], cut=True), protocol)
    assert got.broken
    assert got.body == b"".join(events(protocol)[:2])
    record = traffic.records[0]
    assert (record.cause, record.settled) == ("stream-cut", "ceiling")
    assert traffic.usage().output is None
    assert traffic.usage().total_input == (17 if protocol == "anthropic_messages" else None)


def test_html_passes_and_is_charged_at_the_ceiling(tmp_path: Path) -> None:
    got, traffic = drive(tmp_path, whole(b"<html>", kind="text/html"), "openai_chat")
    assert got.body == b"<html>"
    assert (traffic.records[0].cause, traffic.records[0].settled) == ("not-the-protocol", "ceiling")


def test_two_terminal_events_are_a_cause_and_charged_at_the_ceiling(tmp_path: Path) -> None:
    parts = events("anthropic_messages")
    _, traffic = drive(tmp_path, streamed(*parts, parts[-1]), "anthropic_messages")
    assert (traffic.records[0].cause, traffic.records[0].settled) == ("two-terminals", "ceiling")
    assert traffic.usage().output is None


def test_usage_that_contradicts_itself_is_a_cause(tmp_path: Path) -> None:
    native = {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}, "completion_tokens": 1}
    _, traffic = drive(tmp_path, whole({"usage": native}), "openai_chat")
    record = traffic.records[0]
    assert (record.cause, record.settled, record.native) == ("usage-semantics", "ceiling", native)


def test_a_provider_that_drops_connections_is_told_as_a_dropped_connection(tmp_path: Path) -> None:
    with (
        provider(lambda connection, _seen: connection.shutdown(socket.SHUT_RDWR)) as server,
        opened(provider_config(server.base, tmp_path)) as gateway,
    ):
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        with pytest.raises((ConnectionError, OSError)):
            ask(cell.socket, PATHS["openai_chat"], request("openai_chat"))
        record = cell.close().records[0]
    assert (record.cause, record.settled) == ("connection-dropped", "ceiling")


def test_a_provider_that_cannot_be_reached_costs_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with opened(provider_config(f"http://127.0.0.1:{port}/v1", tmp_path)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        got = ask(cell.socket, PATHS["anthropic_messages"], request("anthropic_messages"))
        record = cell.close().records[0]
    assert (got.status, got.json["error"]["type"]) == (502, "api_error")
    assert (record.cause, record.settled, record.usage) == ("unreachable", "nothing", None)


def test_a_key_that_the_provider_repeats_does_not_enter_the_cell(tmp_path: Path) -> None:
    told = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    behaviour = whole(told, 401, x_request_id=KEY)
    got, traffic = drive(tmp_path, behaviour, "openai_chat")
    assert KEY not in got.body.decode() + str(got.headers)
    assert len(got.body) == len(told)
    assert KEY.encode() not in traffic.log()


def test_a_key_split_between_pieces_of_a_stream_does_not_enter_the_cell(tmp_path: Path) -> None:
    got, _ = drive(
        tmp_path, streamed(b"data: " + KEY[:9].encode(), KEY[9:].encode() + b"\n\n"), "openai_chat"
    )
    assert KEY.encode() not in got.body


def test_a_pause_that_a_provider_asks_for_holds_for_every_cell(tmp_path: Path) -> None:
    config = provider_config("http://127.0.0.1:1/v1", tmp_path)
    with provider(whole({}, 429, retry_after="50")) as server:
        config = replace(
            config,
            upstream=replace(config.upstream, base_url=server.base),
            limits=replace(config.limits, longest_wait=5.0),
        )
        with opened(config) as gateway:
            sockets = []
            for name in ("one", "two"):
                (tmp_path / name).mkdir()
                cell = gateway.open_cell(name, "t", tmp_path / name)
                cell.begin("work", UnlimitedPurse())
                sockets.append(cell.socket)
            first = ask(sockets[0], PATHS["openai_chat"], request("openai_chat"))
            second = ask(sockets[1], PATHS["openai_chat"], request("openai_chat"))
    assert (first.status, first.headers["retry-after"]) == (429, "50")
    assert len(server.seen) == 1
    assert second.status == 429
    assert 40 <= int(second.headers["retry-after"]) <= 50


@pytest.mark.parametrize(
    ("protocol", "status"), [("anthropic_messages", 403), ("openai_chat", 403), ("openai_responses", 429)]
)
def test_a_refused_budget_is_told_in_the_protocols_shape_and_nothing_goes_out(
    protocol: ModelProtocol, status: int, tmp_path: Path
) -> None:
    with provider(whole({})) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", Allowance([Limit("budget.tokens", 10, TokenTariff())]))
        got = ask(cell.socket, PATHS[protocol], request(protocol))
        traffic = cell.close()
    assert (got.status, got.headers["x-should-retry"]) == (status, "false")
    assert "budget.tokens" in got.json["error"]["message"]
    assert server.seen == []
    assert [each.cause for each in traffic.refused("work")] == ["budget"]
    assert traffic.requests() == 0


def test_a_request_outside_of_any_session_is_not_paid(tmp_path: Path) -> None:
    with provider(whole({})) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        assert ask(cell.socket, PATHS["openai_chat"], request("openai_chat")).status == 403
    assert server.seen == []


def test_counting_tokens_goes_on_and_is_free(tmp_path: Path) -> None:
    with (
        provider(whole({"input_tokens": 5})) as server,
        opened(provider_config(server.base, tmp_path)) as gateway,
    ):
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", Allowance([Limit("tokens", 0, TokenTariff())]))
        asked = {"model": "model-1", "messages": []}
        got = ask(cell.socket, "/v1/messages/count_tokens", asked)
        assert cell.close().usage() == cell.traffic().usage("none")
    assert got.json == {"input_tokens": 5}
    assert server.seen[0].path == "/v1/messages/count_tokens"


def test_models_are_listed_without_asking_anybody(tmp_path: Path) -> None:
    with provider(whole({})) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        with closing(Client(cell.socket)) as client:
            assert client.look("/v1/models").json["data"][0]["id"] == "model-1"
            assert client.look("/v1/models", {"anthropic-version": "x"}).json["first_id"] == "model-1"
            assert client.look("/v1/models/model-1").json["id"] == "model-1"
            assert client.look("/v1/models/other").status == 403
            assert client.look("/api/hello").status == 404
    assert server.seen == []


def test_a_compressed_request_is_refused_because_its_size_proves_nothing(tmp_path: Path) -> None:
    with provider(whole({})) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        got = ask(cell.socket, "/v1/responses", b"\x28\xb5\x2f\xfd", content_encoding="zstd")
    assert got.status == 400
    assert server.seen == []
