"""What tests share: edges that are faked, and helpers."""
