"""Answer a question in a LangChain chain whose retriever is a Spanwise knowledge base.

It needs no API key: a fake model takes the place of a language model. To use a real one, replace
it, for example by `ChatOpenAI(model="gpt-5-mini")` of `langchain-openai`.

    pip install 'spanwise[langchain]'
    python examples/langchain_chain.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from spanwise import KnowledgeBase
from spanwise.integrations.langchain import SpanwiseRetriever, spanwise_tools

REPORTS = Path(__file__).resolve().parent / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
PROMPT = ChatPromptTemplate.from_template(
    "Answer the question from the passages. Cite them by number.\n\n{passages}\n\n{question}"
)


def numbered(documents: list[Document]) -> str:
    """Return the passages for the prompt, each with its number and place."""
    return "\n\n".join(
        f"[{number}] {document.metadata['citation']}\n{document.page_content}"
        for number, document in enumerate(documents, 1)
    )


def main(folder: Path) -> str:
    """Print the passages, run the chain, list the tools, and return the answer."""
    with KnowledgeBase(folder / "reports.kb") as kb:
        kb.add(REPORTS)
        retriever = SpanwiseRetriever(knowledge_base=kb, budget_tokens=250)
        print(numbered(retriever.invoke(QUESTION)))

        model = FakeListChatModel(responses=["Freight and energy cost more. [1]"])
        chain = (
            {"passages": retriever | numbered, "question": RunnablePassthrough()}
            | PROMPT
            | model
            | StrOutputParser()
        )
        answer = chain.invoke(QUESTION)
        print(f"\nAnswer: {answer}")

        tools = {tool.name: tool for tool in spanwise_tools(kb, token_budget=1_000)}
        print(f"\nTools for an agent: {', '.join(tools)}")
        print(tools["outline"].invoke({"document_id": "annual-report-2023.md"}))
    return answer


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ".demo"))
