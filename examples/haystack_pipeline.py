"""Use a Spanwise knowledge base as the retriever of a Haystack pipeline, and save the pipeline.

It needs no API key: the pipeline ends with the prompt. To get an answer, connect the prompt to a
generator, for example `OpenAIGenerator(model="gpt-5-mini")`.

    pip install 'spanwise[haystack]'
    python examples/haystack_pipeline.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from haystack import Pipeline
from haystack.components.builders import PromptBuilder

from spanwise import KnowledgeBase
from spanwise.integrations.haystack import SpanwiseRetriever

REPORTS = Path(__file__).resolve().parent / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
TEMPLATE = """Answer the question from the passages, and cite them.

{% for document in documents %}[{{ loop.index }}] {{ document.meta.citation }}
{{ document.content }}

{% endfor %}Question: {{ question }}"""


def main(folder: Path) -> str:
    """Build, save, load and run the pipeline; print and return the prompt."""
    path = folder / "reports.kb"
    with KnowledgeBase(path) as kb:
        kb.add(REPORTS)

    pipeline = Pipeline()
    pipeline.add_component("retriever", SpanwiseRetriever(path, budget_tokens=250))
    pipeline.add_component(
        "prompt", PromptBuilder(TEMPLATE, required_variables=["documents", "question"])
    )
    pipeline.connect("retriever.documents", "prompt.documents")
    (folder / "pipeline.yaml").write_text(pipeline.dumps(), encoding="utf-8")

    loaded = Pipeline.loads(
        (folder / "pipeline.yaml").read_text(encoding="utf-8"),
        allowed_modules=["spanwise.integrations.haystack"],  # Haystack loads no other code unasked
    )
    result = loaded.run({"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}})
    retriever = loaded.get_component("retriever")
    if isinstance(retriever, SpanwiseRetriever):
        retriever.close()
    prompt = str(result["prompt"]["prompt"])
    print(prompt)
    return prompt


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ".demo"))
