"""Where documents come from: folders and addresses."""
