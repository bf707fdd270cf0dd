import os
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from cases import run_cases


class Herd(BaseModel):
    """The animals of a farm."""

    goats: int
    cows: int


@tool
def count_goats(colour: str) -> str:
    """How many goats of a colour there are."""
    return f"3 {colour} goats"


said = "Twelve goats are 12 and three cows are 3."


def model(**more):
    return ChatOpenAI(base_url=os.environ["AGENT_URL"] + "/v1", api_key=os.environ["TOKEN"], model="offline", **more)


def structured(method, **more):
    def case():
        herd = model(**more).with_structured_output(Herd, method=method).invoke(said)
        assert herd == Herd(goats=12, cows=3), herd

    return case


def streamed():
    pieces = list(model(stream_usage=True).stream("/long 5"))
    assert "word1 word2 word3 word4 word5" in "".join(piece.text for piece in pieces)
    assert pieces[-1].usage_metadata or any(piece.usage_metadata for piece in pieces)


def calls_tools(**more):
    def case():
        bound = model(**more).bind_tools([count_goats])
        question = HumanMessage('/tool count_goats {"colour": "white"}')
        asked = bound.invoke([question])
        assert asked.tool_calls[0]["args"] == {"colour": "white"}, asked
        result = ToolMessage(count_goats.invoke(asked.tool_calls[0]["args"]), tool_call_id=asked.tool_calls[0]["id"])
        answer = bound.invoke([question, asked, result])
        assert "3 white goats" in answer.text, answer

    return case


def streams_objects():
    parts = list(model().with_structured_output(Herd, method="json_schema").stream(said))
    assert parts[-1] == Herd(goats=12, cows=3), parts


run_cases(
    json_schema=structured("json_schema"),
    function_calling=structured("function_calling"),
    json_schema_of_responses=structured("json_schema", use_responses_api=True),
    function_calling_of_responses=structured("function_calling", use_responses_api=True),
    streams_words=streamed,
    streams_objects=streams_objects,
    calls_tools=calls_tools(),
    calls_tools_by_responses=calls_tools(use_responses_api=True),
)
