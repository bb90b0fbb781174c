"""Domain packs: landmarks, intents and vocabulary of a kind of document."""
