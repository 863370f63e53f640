"""What several adapters share: values, signals, and how a part is ordered from registers or nodes."""
