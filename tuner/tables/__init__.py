"""A campaign as tidy tables, out to spreadsheets and in again, and its recipe."""
