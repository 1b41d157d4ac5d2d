"""Tools differ between arms: a server of the Model Context Protocol is there for one arm, and for no other."""

from cell_project import CellProject

# A server as small as the protocol allows: JSON-RPC, one object per line.
SERVER = """\
import json, sys
TOOL = {"name": "total", "description": "Adds numbers.", "inputSchema": {"type": "object"}}
def answer(method, parameters):
    if method == "initialize":
        info = {"name": "adder", "version": "1"}
        return {"protocolVersion": parameters["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        total = sum(parameters["arguments"]["numbers"]) + int(sys.argv[1])
        return {"content": [{"type": "text", "text": str(total)}]}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request["method"], request.get("params"))}
        print(json.dumps(reply), flush=True)
"""

# An agent that starts every server that it is told of, as a client of the protocol does.
CLIENT = """\
def ask(server, number, method, **parameters):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    server.stdin.write(json.dumps(message) + "\\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())["result"]

for tool in session["tools"]:
    if tool["kind"] == "mcp":
        with subprocess.Popen(tool["command"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            ask(server, 1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "agent", "version": "1"})
            server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\\n')
            names = [each["name"] for each in ask(server, 2, "tools/list")["tools"]]
            total = ask(server, 3, "tools/call", name="total", arguments={"numbers": [1, 2]})["content"][0]["text"]
            say(type="message", text=f"{tool['name']}: {names} {total};")
            server.stdin.close()
say(type="message", text=" there" if os.path.exists("/opt/tools/adder.py") else " not there")
"""


def with_server(project: CellProject) -> None:
    project.tree({"a.txt": "a\n"})
    project.task("t", "true")
    project.write("tools/adder.py", SERVER)
    adder = {
        "kind": "mcp",
        "program": "tools/adder.py",
        "target": "/opt/tools/adder.py",
        "arguments": ["10"],
        "python": True,
    }
    project.arm("with_tool", tools={"adder": adder})
    project.arm("without_tool", role="comparator")
    project.agent(CLIENT)


def test_the_server_of_an_arms_tool_answers_inside_the_cell_and_no_other_arm_sees_it(
    project: CellProject,
) -> None:
    with_server(project)
    found = project.measure()
    assert found.said("t", "with_tool") == "adder: ['total'] 13; there"
    assert found.said("t", "without_tool") == " not there"


def test_the_server_cannot_be_changed_by_the_session_that_uses_it(project: CellProject) -> None:
    with_server(project)
    project.agent("sh('echo broken 2>/dev/null > /opt/tools/adder.py || echo refused')")
    assert project.measure().said("t", "with_tool") == "refused\n"
    assert (project.root / "tools/adder.py").read_text() == SERVER


def test_the_server_and_the_tasks_own_python_do_not_disturb_each_other(project: CellProject) -> None:
    with_server(project)
    project.tasks[0]["environment"] = {"python": True}
    project.agent(CLIENT + "sh('command -v python3')")
    assert project.measure().said("t", "with_tool") == "adder: ['total'] 13; there/opt/venv/bin/python3\n"
