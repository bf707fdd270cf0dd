import os
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from cases import run_cases


class Herd(BaseModel):
    goats: int
    cows: int


said = "Twelve goats are 12 and three cows are 3."
provider = OpenAIProvider(base_url=os.environ["AGENT_URL"] + "/v1", api_key=os.environ["TOKEN"])
chat = OpenAIChatModel("offline", provider=provider)
responses = OpenAIResponsesModel("offline", provider=provider)


def output(model, output_type):
    async def case():
        result = await Agent(model, output_type=output_type).run(said)
        assert result.output == Herd(goats=12, cows=3), result

    return case


def streamed(model):
    async def case():
        async with Agent(model, output_type=NativeOutput(Herd)).run_stream(said) as result:
            parts = [part async for part in result.stream_output()]
        assert parts[-1] == Herd(goats=12, cows=3), parts

    return case


def with_tool(model, **more):
    async def case():
        agent = Agent(model, instructions="You count animals.", **more)

        @agent.tool_plain
        def count_goats(colour: str) -> str:
            """How many goats of a colour there are."""
            return f"3 {colour} goats"

        result = await agent.run('/tool count_goats {"colour": "white"}')
        assert "white goats" in str(result.all_messages()), result
        if not more:
            assert "3 white goats" in result.output, result
            again = await agent.run("/echo again", message_history=result.all_messages())
            assert again.output, again

    return case


run_cases(
    by_a_tool=output(chat, ToolOutput(Herd)),
    native=output(chat, NativeOutput(Herd)),
    one_of_two_tools=output(chat, [ToolOutput(Herd, name="herd"), ToolOutput(int, name="number")]),
    by_a_tool_of_responses=output(responses, ToolOutput(Herd)),
    native_of_responses=output(responses, NativeOutput(Herd)),
    streams_objects=streamed(chat),
    streams_objects_of_responses=streamed(responses),
    calls_tools=with_tool(chat),
    calls_tools_by_responses=with_tool(responses),
    calls_tools_then_answers_by_a_tool=with_tool(chat, output_type=Herd),
)
