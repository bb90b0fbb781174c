"""What language models are asked: prompt, form and checks of the answer, one file per task."""
