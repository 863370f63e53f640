"""The page about a campaign: figures, tables and the settings for the master recipe, in one HTML file."""
