"""Measures one thing of dspy's RLM in a process of its own, and prints it as JSON.

Arguments: what to measure, and the URL of a scripted model. process.js does the same for sandboxes of npm.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import dspy
from dspy.primitives.python_interpreter import PythonInterpreter

CALLS = 200
WARM_CALLS = 20
SESSIONS = 3
ROWS = 1000
READ_LINES = "https://deno.land/std@0.186.0/io/mod.ts"

what, url = sys.argv[1], sys.argv[2]


def opened(**tools):
    """Returns an interpreter as RLM makes one for each run."""
    interpreter = PythonInterpreter(tools=tools)
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump({"imports": {READ_LINES: (Path(__file__).parent / "read-lines.js").as_uri()}}, file)
    interpreter.deno_command.insert(2, f"--import-map={file.name}")
    return interpreter


def ask(n: str) -> str:
    return n


def run(interpreter, code, expected):
    found = interpreter.execute(code)
    if str(found).strip() != expected:
        raise RuntimeError(f"dspy answered {found}")


def first():
    start = time.perf_counter()
    run(opened(), "print(1 + 1)", "2")
    return 1000 * (time.perf_counter() - start)


def calls():
    interpreter = opened(ask=ask)

    def some(count):
        run(interpreter, f"for i in range({count}):\n    ask('0')\nprint(1)", "1")

    some(WARM_CALLS)
    start = time.perf_counter()
    some(CALLS)
    return 1000 * (time.perf_counter() - start) / CALLS


def sessions():
    """Each is a process of Deno, whose memory counts."""
    interpreters = [opened() for _ in range(SESSIONS)]
    resident = 0
    for interpreter in interpreters:
        run(interpreter, "mine = 1\nprint(mine)", "1")
        status = Path(f"/proc/{interpreter.deno_process.pid}/status").read_text()
        resident += int(status.split("VmRSS:")[1].split()[0])
    return resident / SESSIONS / 1024


def rows():
    """One call of RLM's own tool with so many prompts."""
    dspy.configure(lm=dspy.LM("openai/bench", api_base=f"{url}", api_key="none", cache=False))
    tools = dspy.RLM("question -> answer", max_llm_calls=10 * ROWS)._make_llm_tools()
    interpreter = opened(llm_query_batched=tools["llm_query_batched"])
    run(interpreter, "print(1)", "1")
    start = time.perf_counter()
    code = f"found = llm_query_batched([f'row {{n}}' for n in range({ROWS})])\nprint(sum(each == 'ok' for each in found))"
    run(interpreter, code, str(ROWS))
    return 1000 * (time.perf_counter() - start)


print(json.dumps({"first": first, "calls": calls, "sessions": sessions, "rows": rows}[what]()))
