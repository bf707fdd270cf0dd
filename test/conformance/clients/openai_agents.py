import os
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from pydantic import BaseModel
from cases import run_cases

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=os.environ["AGENT_URL"] + "/v1", api_key=os.environ["TOKEN"])
chat = OpenAIChatCompletionsModel(model="offline", openai_client=client)
responses = OpenAIResponsesModel(model="offline", openai_client=client)
said = "Twelve goats are 12 and three cows are 3."


class Herd(BaseModel):
    goats: int
    cows: int


@function_tool
def count_goats(colour: str) -> str:
    """How many goats of a colour there are."""
    return f"3 {colour} goats"


def output(model):
    async def case():
        result = await Runner.run(Agent("farm", model=model, output_type=Herd), said)
        assert result.final_output == Herd(goats=12, cows=3), result

    return case


def tools(model):
    async def case():
        agent = Agent("farm", instructions="You count goats.", model=model, tools=[count_goats])
        result = await Runner.run(agent, '/tool count_goats {"colour": "white"}')
        assert "3 white goats" in result.final_output, result
        assert (await Runner.run(agent, result.to_input_list() + [{"role": "user", "content": "hello"}])).final_output

    return case


def streamed(model):
    async def case():
        agent = Agent("farm", model=model, tools=[count_goats])
        result = Runner.run_streamed(agent, '/tool count_goats {"colour": "white"}')
        kinds = [event.type async for event in result.stream_events()]
        assert "run_item_stream_event" in kinds and "3 white goats" in result.final_output, result

    return case


async def hands_off():
    goats = Agent("goats", model=chat, instructions="You know goats.")
    triage = Agent("triage", model=chat, handoffs=[goats])
    result = await Runner.run(triage, "/tool transfer_to_goats {}")
    assert result.last_agent.name == "goats", result


async def continues():
    agent = Agent("farm", model=responses, tools=[count_goats])
    first = await Runner.run(agent, "call me Ana")
    second = await Runner.run(agent, "and now?", previous_response_id=first.last_response_id)
    assert "Ana" in second.final_output, second


run_cases(
    output_type=output(chat),
    output_type_of_responses=output(responses),
    calls_tools=tools(chat),
    calls_tools_by_responses=tools(responses),
    streams=streamed(chat),
    streams_responses=streamed(responses),
    hands_off=hands_off,
    continues_a_response=continues,
)
