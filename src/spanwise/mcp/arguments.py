"""Arguments of the tools for agents, with the descriptions that a model reads."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Question = Annotated[str, Field(description="A complete question.")]
Where = Annotated[
    str,
    Field(
        description='Filter on metadata, such as: company = "Nike" and year >= 2018. Fields and '
        "values are those that `list_documents` shows. Empty for all documents."
    ),
]
Documents = Annotated[
    list[str], Field(description="Ids of the documents to search. Empty for all documents.")
]
Budget = Annotated[
    int, Field(description="Maximum number of tokens of the output, from 100 to 200,000.")
]
DocumentId = Annotated[
    str, Field(description="Id of a document, as `search` and `list_documents` show it.")
]
Base = Annotated[
    str,
    Field(
        description="Name of the knowledge base. Required if several contain the id. To add a "
        "document, required if there are several knowledge bases."
    ),
]
SearchedBase = Annotated[
    str, Field(description="Name of the only knowledge base to use. Empty for all of them.")
]
DocumentPosition = Annotated[int, Field(description="Position of the first document, from 0.")]
SectionNumber = Annotated[
    int, Field(description="Number of a section from `outline`; 0 for no section.")
]
Pages = Annotated[
    str, Field(description='Pages from 1, such as "12" or "12-14"; empty for no pages.')
]
Offset = Annotated[
    int,
    Field(
        description="Offset of the first character, to read from a place of `search` or to "
        "continue; 0 for the beginning."
    ),
]
