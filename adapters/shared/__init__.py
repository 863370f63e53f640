"""What several adapters share: deadlines, values and outcomes from what machines say."""
