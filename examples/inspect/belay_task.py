"""A task of Inspect in which an ask of Belay answers: `belay ask` over the file or folder of each sample.

    npm i -g belay-rlm && pip install inspect_ai
    inspect eval belay_task.py -T data=belay-eval/RUN/items.jsonl -T model=openai/gpt-5-mini --model none

`data` has lines as `belay eval --data` takes them. An answer is right if it includes each expected text.
"""

import asyncio
import json

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver


def sample(line: dict) -> Sample:
    answer = line["answer"]
    target = [str(one) for one in answer] if isinstance(answer, list) else str(answer)
    return Sample(id=line.get("id"), input=line["question"], target=target, metadata={"file": line["file"]})


@solver
def belay(model: str, *flags: str):
    """Asks by the command. If it was interrupted, the same line goes on with what is recorded."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        line = ["belay", "ask", state.input_text, "-c", state.metadata["file"], "--model", model, "--json", *flags]
        process = await asyncio.create_subprocess_exec(*line, stdout=asyncio.subprocess.PIPE)
        printed, _ = await process.communicate()
        said = json.loads(printed)
        if not said["success"]:
            raise RuntimeError(f"{said['error_code']}: {said['error_message']}")
        answer = said["answer"]
        text = answer if isinstance(answer, str) else json.dumps(answer)
        state.output = ModelOutput.from_content(model, text)
        usage = said["usage"]
        read = usage["input"] + usage["cache_read"] + usage["cache_write"]
        state.output.usage = ModelUsage(
            input_tokens=read,
            input_tokens_cache_read=usage["cache_read"],
            output_tokens=usage["output"],
            total_tokens=read + usage["output"],
        )
        state.metadata.update(cost_usd=usage["cost_usd"], turns=said["turns"], session=said["session_id"])
        return state

    return solve


@scorer(metrics=[mean(), stderr()])
def recall():
    """The share of the expected texts that the answer includes."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        found = [one for one in target if one.lower() in answer.lower()]
        return Score(value=len(found) / len(target), answer=answer)

    return score


@task
def belay_eval(data: str, model: str, flags: str = "") -> Task:
    return Task(dataset=json_dataset(data, sample), solver=belay(model, *flags.split()), scorer=recall())
