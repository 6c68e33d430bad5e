"""A task of Inspect in which an ask of Belay answers: `belay ask` over the file or folder of each sample.

    npm i -g belay-rlm && pip install inspect_ai
    inspect eval belay_task.py -T data=belay-eval/RUN/items.jsonl -T model=openai/gpt-6-luna --model none

`data` has lines as `belay eval --data` takes them, with a `file`. An answer is right if it includes each expected text. What an ask
took stands in the output of its sample; the totals of Inspect count only models that it calls itself.

The same line again takes the answers that are recorded, and goes on with asks that were interrupted, as `inspect eval-retry` does;
`-T run=2` asks anew. The sessions stay until `belay gc --older-than 30d`, in the store that BELAY_STORE names (not `--store` in
`flags`). `--max-subprocesses N` of Inspect says how many asks run at once.
"""

import hashlib
import json
import re
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver
from inspect_ai.util import subprocess

# A text that is not a part of a longer word or number. Words of other scripts have no blanks between them.
WORDS = "(?<![0-9A-Za-z\u00c0-\u04ff]){}(?![0-9A-Za-z\u00c0-\u04ff])"


def sample(line: dict) -> Sample:
    answer = line["answer"]
    target = [str(one) for one in answer] if isinstance(answer, list) else str(answer)
    return Sample(id=line.get("id"), input=line["question"], target=target, metadata={"file": line["file"]})


async def run_belay(*line: str) -> dict:
    done = await subprocess(["belay", *line, "--json", "--quiet"])
    if not done.success and not done.stdout:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout or "{}")


async def asked_once(session: str, line: list[str]) -> dict:
    """Takes the recorded answer, goes on with an ask that was interrupted, or asks anew if it failed or never began."""
    said = await run_belay("resume", session)
    if "answer" in said or said.get("resumable") or said.get("error_code") == "session_busy":
        return said
    return await run_belay("ask", *line, "--session", session, "--reload")


@solver
def belay(model: str, run: str, *flags: str):
    """Asks by the command, in a session that is named after all that is asked."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        file = state.metadata["file"]
        line = [state.input_text, "-c", str(Path(file).absolute()), "--model", model, *flags]
        asked = json.dumps([line, run, state.sample_id, state.epoch])
        session = "inspect-" + hashlib.sha256(asked.encode()).hexdigest()[:16]
        # Busy: a killed Inspect has left the ask running. Cancelled: Ctrl-C reached the ask before Inspect's own end.
        while (said := await asked_once(session, line)).get("error_code") in ("session_busy", "cancelled"):
            await anyio.sleep(2)
        if "answer" not in said:
            raise RuntimeError(f"{said['error_code']}: {said['error_message']}")
        answer = said["answer"]
        text = answer if isinstance(answer, str) else json.dumps(answer)
        state.output = ModelOutput.from_content(model, text)
        state.messages.append(state.output.message)
        usage = said["usage"]
        state.output.usage = ModelUsage(
            input_tokens=usage["input"],
            input_tokens_cache_read=usage["cache_read"],
            input_tokens_cache_write=usage["cache_write"],
            output_tokens=usage["output"],
            total_tokens=usage["input"] + usage["cache_read"] + usage["cache_write"] + usage["output"],
            total_cost=usage["cost_usd"],
        )
        state.metadata.update(turns=said["turns"], session=session)
        return state

    return solve


@scorer(metrics=[mean(), stderr()])
def recall():
    """The share of the expected texts that the answer includes, as whole words."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        found = [one for one in target if re.search(WORDS.format(re.escape(one)), answer, re.IGNORECASE)]
        return Score(value=len(found) / len(target), answer=answer)

    return score


@task
def belay_eval(data: str, model: str, flags: str = "", run: str = "1") -> Task:
    return Task(dataset=json_dataset(data, sample), solver=belay(model, run, *flags.split()), scorer=recall())
