"""What operators did is written down."""
