"""Domain packs (landmarks, intents and glossary) and known kinds of documents."""
