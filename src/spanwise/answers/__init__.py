"""From a question to an answer with checked quotes, and on to the next question."""
