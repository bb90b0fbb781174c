"""Generation of questions from documents with a language model, and checks of the questions."""
