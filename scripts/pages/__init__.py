"""The pages that the site is built from: those of docs/, and those that the program tells of itself.

python -m scripts.pages build/pages
"""
