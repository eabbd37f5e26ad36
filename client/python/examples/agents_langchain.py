"""A LangChain agent that asks Railguard before it pays: pip install railguard langchain langchain-openai.

RAILGUARD_URL, RAILGUARD_KEY (role screener) and AGENT_TOKEN say where and who.
"""

import os

from langchain.agents import create_agent

from railguard import Client
from railguard.tools import langchain

client = Client(os.environ["RAILGUARD_URL"].split(","), os.environ["RAILGUARD_KEY"])
agent = create_agent(
    "openai:gpt-4.1",
    tools=langchain(client, os.environ["AGENT_TOKEN"]),
    system_prompt="You pay invoices. Ask screen before each payment, with one idempotencyKey for each invoice. Pay only if it says that the payment may be made.",
)
answer = agent.invoke({"messages": [{"role": "user", "content": "Pay 25 dollars to Corner Shop for invoice 4711."}]})
print(answer["messages"][-1].content)
