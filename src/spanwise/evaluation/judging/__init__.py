"""How good whole answers are: asked, graded by a model that knows the right ones, and counted."""
