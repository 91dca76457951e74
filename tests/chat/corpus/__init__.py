"""Outputs of chat models, one file for each family; `corpus` says how to add one."""
