"""Domain packs (landmarks, intents and glossaries), and known kinds of documents."""
