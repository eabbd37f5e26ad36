"""An agent of OpenAI's Agents SDK that asks Railguard before it pays: pip install railguard openai-agents.

RAILGUARD_URL, RAILGUARD_KEY (role screener) and AGENT_TOKEN say where and who.
"""

import os

from agents import Agent, Runner

from railguard import Client
from railguard.tools import openai_agents

client = Client(os.environ["RAILGUARD_URL"].split(","), os.environ["RAILGUARD_KEY"])
agent = Agent(
    name="buyer",
    instructions="You pay invoices. Ask screen before each payment, with one idempotencyKey for each invoice. Pay only if it says that the payment may be made.",
    tools=openai_agents(client, os.environ["AGENT_TOKEN"]),
)
print(Runner.run_sync(agent, "Pay 25 dollars to Corner Shop for invoice 4711.").final_output)
