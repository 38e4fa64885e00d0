"""What is stored stays, what is forgotten is gone, and nothing is written twice."""
