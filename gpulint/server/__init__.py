"""The language server: findings, fixes and predictions in the editor, while a program is being written."""
